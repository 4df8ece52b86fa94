//! The modules of a crate, what they define and what they import.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Item, UseTree, Visibility};

use super::syntax::{self, Code, Oddity, WrittenPath};
use super::tree::{Tree, folder_of, join, name_of};

/// Place of a module in [`CrateMap::modules`].
pub(crate) type ModuleId = usize;

/// A module: a file, or a part of one.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) file: String,
    pub(crate) parent: Option<ModuleId>,
    /// The module that `crate` means.
    pub(crate) root: ModuleId,
    pub(crate) names: HashMap<String, Vec<Meaning>>,
    /// Paths of `use path::*`.
    pub(crate) globs: Vec<Vec<String>>,
    /// The folder of the files of its inner modules.
    folder: String,
}

/// What a name of a module stands for.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Module(ModuleId),
    Item,
    Macro,
    Alias(Vec<String>),
    Import(Vec<String>),
}

/// How a file refers to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Use,
    Code,
    Macro,
}

/// A path that stands in product code.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) module: ModuleId,
    pub(crate) path: WrittenPath,
    pub(crate) manner: Manner,
}

/// A fault that shows while files are read.
#[derive(Debug)]
pub(crate) struct ReadFault {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// All of a crate that the rules ask for.
#[derive(Debug, Default)]
pub(crate) struct CrateMap {
    pub(crate) modules: Vec<Module>,
    pub(crate) references: Vec<Reference>,
    /// Types of inherent `impl`s.
    pub(crate) impls: Vec<Reference>,
    /// First item in a facade that is neither a `mod` line nor a re-export.
    pub(crate) facade_code: BTreeMap<String, (usize, &'static str)>,
    /// Files of product code, and files of unit tests.
    pub(crate) product: BTreeSet<String>,
    pub(crate) tests: BTreeSet<String>,
    pub(crate) faults: Vec<ReadFault>,
    /// The module of lib.rs, which the binary names by the crate's name.
    pub(crate) lib_root: Option<ModuleId>,
}

impl CrateMap {
    /// Follows the `mod` lines of a crate from its roots on.
    pub(crate) fn read(tree: &Tree, folder: &str) -> Self {
        let mut map = Self::default();
        let source = format!("{folder}/src");
        for root in tree.below(folder).filter(|path| {
            let inside = path.strip_prefix(&source).unwrap_or_default();
            matches!(inside, "/lib.rs" | "/main.rs") || inside.starts_with("/bin/")
        }) {
            let id = map.add_module(root, None, folder_of(root).to_owned());
            if name_of(root) == "lib.rs" {
                map.lib_root = Some(id);
            }
            map.read_file(tree, root, id, false);
        }
        map
    }

    fn add_module(&mut self, file: &str, parent: Option<ModuleId>, folder: String) -> ModuleId {
        let id = self.modules.len();
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            root: parent.map_or(id, |parent| self.modules[parent].root),
            names: HashMap::new(),
            globs: Vec::new(),
            folder,
        });
        id
    }

    fn read_file(&mut self, tree: &Tree, file: &str, module: ModuleId, test: bool) {
        let Some(text) = tree.text(file) else {
            return;
        };
        if test {
            self.tests.insert(file.to_owned());
        } else {
            self.product.insert(file.to_owned());
        }
        let parsed = match syn::parse_file(text) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.faults.push(ReadFault {
                    file: file.to_owned(),
                    line: error.span().start().line,
                    what: format!("is not understood: {error}"),
                });
                return;
            }
        };
        if is_facade(file)
            && !test
            && let Some(found) = first_code(&parsed.items)
        {
            self.facade_code.entry(file.to_owned()).or_insert(found);
        }
        self.read_items(tree, &parsed.items, module, test);
    }

    fn read_items(&mut self, tree: &Tree, items: &[Item], module: ModuleId, test: bool) {
        for item in items {
            let test = test || syntax::is_test(syntax::attributes(item));
            match item {
                Item::Mod(item) => self.read_module(tree, item, module, test),
                _ if test => {}
                Item::Use(item) => self.read_use(item, module, true),
                _ => self.read_code(item, module),
            }
        }
    }

    fn read_module(&mut self, tree: &Tree, item: &syn::ItemMod, parent: ModuleId, test: bool) {
        let name = item.ident.to_string();
        let outer = &self.modules[parent];
        let (outer_file, outer_folder) = (outer.file.clone(), outer.folder.clone());
        if let Some((_, items)) = &item.content {
            let id = self.add_module(&outer_file, Some(parent), join(&outer_folder, &name));
            self.read_items(tree, items, id, test);
            if !test {
                self.define(parent, &name, Meaning::Module(id));
            }
            return;
        }
        let chosen = syntax::path_attributes(&item.attrs);
        let mut files: Vec<String> = chosen
            .iter()
            .map(|path| join(folder_of(&outer_file), path))
            .collect();
        if files.is_empty() {
            files.push(format!("{outer_folder}/{name}.rs"));
            files.push(format!("{outer_folder}/{name}/mod.rs"));
        }
        files.retain(|file| tree.text(file).is_some());
        if files.is_empty() {
            self.faults.push(ReadFault {
                file: outer_file,
                line: item.ident.span().start().line,
                what: format!("the file of module {name} is missing"),
            });
        }
        // One for each system that has its own.
        for file in files {
            // A file that was named by an attribute is the `mod.rs` of its folder.
            let folder = if !chosen.is_empty() || name_of(&file) == "mod.rs" {
                folder_of(&file).to_owned()
            } else {
                file.trim_end_matches(".rs").to_owned()
            };
            let id = self.add_module(&file, Some(parent), folder);
            self.read_file(tree, &file, id, test);
            if !test {
                self.define(parent, &name, Meaning::Module(id));
            }
        }
    }

    fn define(&mut self, module: ModuleId, name: &str, meaning: Meaning) {
        let names = &mut self.modules[module].names;
        names.entry(name.to_owned()).or_default().push(meaning);
    }

    fn read_use(&mut self, item: &syn::ItemUse, module: ModuleId, at_top: bool) {
        if item.leading_colon.is_some() {
            return;
        }
        let mut imports = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut imports);
        // What a facade passes on is no import of its own.
        let passed_on = at_top
            && is_facade(&self.modules[module].file)
            && (!matches!(item.vis, Visibility::Inherited)
                || !self.facade_code.contains_key(&self.modules[module].file));
        for Import { path, name } in imports {
            match name {
                Some(name) => {
                    self.define(module, &name, Meaning::Import(path.segments.clone()));
                }
                None => self.modules[module].globs.push(path.segments.clone()),
            }
            if !passed_on {
                self.references.push(Reference {
                    module,
                    path,
                    manner: Manner::Use,
                });
            }
        }
    }

    fn read_code(&mut self, item: &Item, module: ModuleId) {
        match item {
            Item::Type(item) => {
                let alias = match &*item.ty {
                    syn::Type::Path(path) => Meaning::Alias(syntax::written(&path.path).segments),
                    _ => Meaning::Item,
                };
                self.define(module, &item.ident.to_string(), alias);
            }
            Item::Impl(item) if item.trait_.is_none() => {
                if let Some(path) = type_path(&item.self_ty) {
                    self.impls.push(Reference {
                        module,
                        path,
                        manner: Manner::Code,
                    });
                }
            }
            Item::Macro(item) if !item.mac.path.is_ident("macro_rules") => {
                // What a macro makes of its words is unknown: each may be a name of this module.
                for name in defined_by_macro(item.mac.tokens.clone()) {
                    self.define(module, &name, Meaning::Item);
                }
            }
            Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    self.define(module, &name.to_string(), Meaning::Macro);
                }
            }
            _ => {
                if let Some(name) = defined_name(item) {
                    self.define(module, &name, Meaning::Item);
                }
            }
        }
        let mut code = Code::default();
        code.visit_item(item);
        for item in &code.uses {
            self.read_use(item, module, false);
        }
        let with = |manner: Manner| {
            move |path| Reference {
                module,
                path,
                manner,
            }
        };
        self.references
            .extend(code.paths.into_iter().map(with(Manner::Code)));
        self.references
            .extend(code.macros.into_iter().map(with(Manner::Macro)));
    }
}

/// Whether a file should hold nothing but docs, `mod` lines and re-exports.
pub(crate) fn is_facade(file: &str) -> bool {
    matches!(name_of(file), "lib.rs" | "mod.rs")
}

struct Import {
    path: WrittenPath,
    /// Nothing for all names.
    name: Option<String>,
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, imports: &mut Vec<Import>) {
    let mut push = |mut segments: Vec<String>, ident: &syn::Ident, name: Option<String>| {
        // `use a::b::{self}` imports `a::b`.
        let own = segments.len() > 1 && segments.last().is_some_and(|last| last == "self");
        let name = if own {
            segments.pop();
            match name {
                Some(name) if name == "self" => segments.last().cloned(),
                name => name,
            }
        } else {
            name
        };
        imports.push(Import {
            path: WrittenPath {
                segments,
                line: ident.span().start().line,
            },
            name,
        });
    };
    let with = |ident: &syn::Ident| {
        let mut segments = before.clone();
        segments.push(ident.to_string());
        segments
    };
    match tree {
        UseTree::Name(leaf) => push(with(&leaf.ident), &leaf.ident, Some(leaf.ident.to_string())),
        UseTree::Rename(leaf) => {
            push(
                with(&leaf.ident),
                &leaf.ident,
                Some(leaf.rename.to_string()),
            );
        }
        UseTree::Glob(glob) => imports.push(Import {
            path: WrittenPath {
                segments: before.clone(),
                line: glob.star_token.spans[0].start().line,
            },
            name: None,
        }),
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, imports);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, imports);
            }
        }
    }
}

fn type_path(kind: &syn::Type) -> Option<WrittenPath> {
    match kind {
        syn::Type::Path(path) if path.qself.is_none() => Some(syntax::written(&path.path)),
        syn::Type::TraitObject(object) => object.bounds.iter().find_map(|bound| match bound {
            syn::TypeParamBound::Trait(bound) => Some(syntax::written(&bound.path)),
            _ => None,
        }),
        syn::Type::Paren(inner) => type_path(&inner.elem),
        _ => None,
    }
}

fn defined_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Words among a macro's tokens that may be names of types or constants.
fn defined_by_macro(tokens: TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .filter_map(|token| match token {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        })
        .filter(|word| word.starts_with(char::is_uppercase))
        .collect()
}

/// The first item of a facade that has no place there.
fn first_code(items: &[Item]) -> Option<(usize, &'static str)> {
    use syn::spanned::Spanned;
    items
        .iter()
        .filter(|item| !syntax::is_test(syntax::attributes(item)))
        .find_map(|item| {
            let what = match item {
                Item::Use(_) | Item::ExternCrate(_) => return None,
                Item::Mod(item) if item.content.is_none() => return None,
                Item::Mod(_) => "a module with its code",
                Item::Fn(_) => "a function",
                Item::Struct(_) | Item::Enum(_) | Item::Union(_) | Item::Type(_) => "a type",
                Item::Trait(_) | Item::TraitAlias(_) => "a trait",
                Item::Impl(_) => "an impl",
                Item::Const(_) | Item::Static(_) => "a constant",
                Item::Macro(_) => "a macro",
                _ => "code",
            };
            Some((item.span().start().line, what))
        })
}

/// What only a look at all tokens of a file shows.
pub(crate) fn oddities(text: &str) -> Vec<Oddity> {
    text.parse::<TokenStream>()
        .map(syntax::oddities)
        .unwrap_or_default()
}
