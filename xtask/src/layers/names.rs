//! Which file a path means.

use super::crate_map::{CrateMap, Meaning, Module, ModuleId};

/// What a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The module that it is, or that defines it.
    pub(crate) module: ModuleId,
    /// The item's name; nothing for a module.
    pub(crate) item: Option<String>,
    /// Whether the item was found, not only its module.
    pub(crate) found: bool,
}

/// Paths on the way, so that imports in a ring end.
type Way<'a> = Vec<(ModuleId, &'a str)>;

/// Looks names up in the modules of a crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'m> {
    modules: &'m [Module],
}

impl<'m> Names<'m> {
    pub(crate) fn new(map: &'m CrateMap) -> Self {
        Self {
            modules: &map.modules,
        }
    }

    /// What `path` stands for in a module: nothing for other crates' items and for local names,
    /// several when different builds see different items.
    pub(crate) fn resolve(&self, module: ModuleId, path: &[String]) -> Vec<Target> {
        self.resolve_on(module, path, &mut Vec::new())
    }

    fn resolve_on<'a>(
        &'a self,
        module: ModuleId,
        path: &'a [String],
        way: &mut Way<'a>,
    ) -> Vec<Target> {
        let mut here = module;
        let mut rest = path;
        let mut rooted = false;
        while let Some((first, others)) = rest.split_first() {
            here = match first.as_str() {
                "crate" => self.modules[here].root,
                "self" => here,
                "super" => match self.modules[here].parent {
                    Some(parent) => parent,
                    None => return Vec::new(),
                },
                _ => break,
            };
            rooted = true;
            rest = others;
        }
        let Some((first, others)) = rest.split_first() else {
            let module = Target {
                module: here,
                item: None,
                found: true,
            };
            return if rooted { vec![module] } else { Vec::new() };
        };
        let found = self.look_up(here, first, others.is_empty(), way);
        if found.is_empty() && rooted {
            return vec![Target {
                module: here,
                item: Some(first.clone()),
                found: false,
            }];
        }
        self.go_on(found, others, way)
    }

    /// Follows the rest of a path behind what its beginning means.
    fn go_on<'a>(
        &'a self,
        from: Vec<Target>,
        rest: &'a [String],
        way: &mut Way<'a>,
    ) -> Vec<Target> {
        let Some((name, others)) = rest.split_first() else {
            return from;
        };
        let mut targets = Vec::new();
        for target in from {
            // What follows a type is one of its own items.
            if target.item.is_some() {
                targets.push(target);
                continue;
            }
            let found = self.look_up(target.module, name, others.is_empty(), way);
            if found.is_empty() {
                targets.push(Target {
                    item: Some(name.clone()),
                    found: false,
                    ..target
                });
            } else {
                targets.extend(self.go_on(found, others, way));
            }
        }
        targets
    }

    fn look_up<'a>(
        &'a self,
        module: ModuleId,
        name: &'a str,
        last: bool,
        way: &mut Way<'a>,
    ) -> Vec<Target> {
        if way.contains(&(module, name)) {
            return Vec::new();
        }
        way.push((module, name));
        let targets = self.look_up_new(module, name, last, way);
        way.pop();
        targets
    }

    fn look_up_new<'a>(
        &'a self,
        module: ModuleId,
        name: &'a str,
        last: bool,
        way: &mut Way<'a>,
    ) -> Vec<Target> {
        let meanings = self.modules[module].names.get(name);
        let modules: Vec<Target> = meanings
            .into_iter()
            .flatten()
            .filter_map(|meaning| match meaning {
                Meaning::Module(id) => Some(Target {
                    module: *id,
                    item: None,
                    found: true,
                }),
                _ => None,
            })
            .collect();
        // Only a module can stand before `::` next to a function of its name.
        if !last && !modules.is_empty() {
            return modules;
        }
        let mut targets = modules;
        for meaning in meanings.into_iter().flatten() {
            match meaning {
                Meaning::Module(_) => {}
                Meaning::Item | Meaning::Macro | Meaning::Alias(_) => targets.push(Target {
                    module,
                    item: Some(name.to_owned()),
                    found: true,
                }),
                Meaning::Import(path) => targets.extend(self.resolve_on(module, path, way)),
            }
        }
        if targets.is_empty() && meanings.is_none() {
            for glob in &self.modules[module].globs {
                for target in self.resolve_on(module, glob, way) {
                    if target.item.is_none() {
                        targets.extend(self.look_up(target.module, name, last, way));
                    }
                }
            }
        }
        targets.dedup();
        targets
    }

    /// What the type of an inherent `impl` stands for, behind all aliases.
    pub(crate) fn resolve_type(&self, module: ModuleId, path: &[String]) -> Vec<Target> {
        let mut targets = self.resolve(module, path);
        // Aliases of aliases are rare; rings of them do not compile.
        for _ in 0..4 {
            targets = targets
                .into_iter()
                .flat_map(|target| match self.alias(&target) {
                    Some(path) => self.resolve(target.module, path),
                    None => vec![target],
                })
                .collect();
        }
        targets
    }

    fn alias(&self, target: &Target) -> Option<&[String]> {
        let meanings = self.modules[target.module]
            .names
            .get(target.item.as_ref()?)?;
        meanings.iter().find_map(|meaning| match meaning {
            Meaning::Alias(path) => Some(path.as_slice()),
            _ => None,
        })
    }

    /// The module that defines the macro of this name which is the nearest outwards.
    pub(crate) fn resolve_macro(&self, module: ModuleId, name: &str) -> Option<ModuleId> {
        let mut here = Some(module);
        while let Some(module) = here {
            for meaning in self.modules[module].names.get(name).into_iter().flatten() {
                match meaning {
                    Meaning::Macro => return Some(module),
                    Meaning::Import(path) => {
                        let mut targets = self.resolve(module, path).into_iter();
                        if let Some(target) = targets.find(|target| self.is_macro(target)) {
                            return Some(target.module);
                        }
                    }
                    _ => {}
                }
            }
            here = self.modules[module].parent;
        }
        None
    }

    fn is_macro(&self, target: &Target) -> bool {
        let names = &self.modules[target.module].names;
        target.item.as_ref().is_some_and(|name| {
            let meanings = names.get(name).into_iter().flatten();
            meanings
                .into_iter()
                .any(|meaning| matches!(meaning, Meaning::Macro))
        })
    }
}
