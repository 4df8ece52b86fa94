//! The rules, and what breaks them.

use std::collections::BTreeMap;
use std::fmt;

use super::arrows::Arrows;
use super::crate_map::{CrateMap, is_facade, oddities};
use super::floors::Floors;
use super::names::Names;
use super::syntax::Oddity;
use super::tree::{Tree, crate_of, folder_of, join, name_of};

/// Rust files that a folder may hold.
const MAX_FILES: usize = 20;

/// Folders of `crates/sys/src` with the halves of its types that belong to one system, of which a
/// build has one.
const SYSTEMS: [&str; 3] = ["linux", "bsd", "windows"];
/// Folders next to them for what several systems share.
const SHARED: [&str; 2] = ["unix", "fallback"];

/// What each finding breaks. The numbers are those in CONTRIBUTING.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Folder,
    Circle,
    Floor,
    Facade,
    Impl,
    Tests,
    PathAttribute,
    Visibility,
    Pages,
    Reading,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "rule 1: a folder holds at most 20 files",
            Self::Circle => "rule 2: no circle of files",
            Self::Floor => "rule 2: imports run down only",
            Self::Facade => {
                "rule 3: lib.rs and mod.rs hold docs, mod lines and re-exports; no x.rs beside x/"
            }
            Self::Impl => "rule 4: inherent methods stand in the file of their type",
            Self::Tests => "rule 6: product files are not named like tests",
            Self::PathAttribute => "rule 6: no #[path] into another crate",
            Self::Visibility => "rule 7: pub(crate), not pub(super)",
            Self::Pages => "rule 10: pages name places that exist",
            Self::Reading => "what cannot be read cannot be checked",
        })
    }
}

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// From 1 on; 0 when the file or folder as a whole is meant.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) rule: Rule,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {} ({})", self.what, self.rule)
    }
}

/// All findings in one crate, by rule and place.
pub(crate) fn check(tree: &Tree, krate: &str, floors: Option<&Floors>) -> Vec<Finding> {
    let map = CrateMap::read(tree, krate);
    let arrows = Arrows::read(&map, &library_name(krate));
    let mut check = Check {
        krate,
        findings: Vec::new(),
    };
    check.folders(tree);
    check.circles(&arrows);
    if let Some(floors) = floors {
        check.floors(&map, &arrows, floors);
    }
    check.facades(tree, &map);
    check.impls(&map);
    check.names_of_files(tree, &map);
    check.oddities(tree);
    for fault in &map.faults {
        check.add(&fault.file, fault.line, fault.what.clone(), Rule::Reading);
    }
    check.findings.sort_by(|a, b| {
        (a.rule, &a.file, a.line, &a.what).cmp(&(b.rule, &b.file, b.line, &b.what))
    });
    check.findings
}

/// A crate's name in code.
pub(crate) fn library_name(krate: &str) -> String {
    match name_of(krate) {
        "tapeline" => "tapeline".to_owned(),
        name if krate.starts_with("crates/") => format!("tapeline_{name}"),
        name => name.to_owned(),
    }
}

struct Check<'a> {
    krate: &'a str,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn add(&mut self, file: &str, line: usize, what: String, rule: Rule) {
        self.findings.push(Finding {
            file: file.to_owned(),
            line,
            what,
            rule,
        });
    }

    /// A file as messages name it next to another one of its crate.
    fn short<'b>(&self, file: &'b str) -> &'b str {
        let inside = file.strip_prefix(self.krate).unwrap_or(file);
        inside.strip_prefix("/src/").unwrap_or(inside)
    }

    /// The folder of a file of `sys` that is not for all systems.
    fn half<'b>(&self, file: &'b str) -> Option<&'b str> {
        let (folder, _) = self.short(file).split_once('/')?;
        let half = SYSTEMS.contains(&folder) || SHARED.contains(&folder);
        (half && self.krate == "crates/sys").then_some(folder)
    }

    /// Whether an arrow can close a circle. A system's half may name the types of the interface,
    /// which is its other half; and no build holds two systems.
    fn can_close(&self, from: &str, to: &str) -> bool {
        match (self.half(from), self.half(to)) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(from), Some(to)) => {
                from == to || !(SYSTEMS.contains(&from) && SYSTEMS.contains(&to))
            }
        }
    }

    fn folders(&mut self, tree: &Tree) {
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for file in tree.below(&format!("{}/src", self.krate)) {
            *sizes.entry(folder_of(file)).or_default() += 1;
        }
        for (folder, files) in sizes {
            if files > MAX_FILES {
                self.add(folder, 0, format!("{files} files"), Rule::Folder);
            }
        }
    }

    fn circles(&mut self, arrows: &Arrows) {
        let arrows = &arrows.only(|from, to| self.can_close(from, to));
        for circle in arrows.circles() {
            let mut what = format!("circle of {} files", circle.len());
            let names: Vec<&str> = circle.iter().map(|file| self.short(file)).collect();
            if circle.len() > 2 {
                what.push_str(&format!(": {}", names.join(", ")));
            }
            // Short rings in it: all of two files, or else one of the shortest.
            let mut rings: Vec<Vec<&str>> = Vec::new();
            for (from, to, _) in arrows.all() {
                if !circle.contains(from) || !circle.contains(to) {
                    continue;
                }
                let Some(mut ring) = arrows.way(to, from) else {
                    continue;
                };
                // Each ring is found from all of its files: keep it from the first one.
                if ring.iter().min() == ring.last() {
                    ring.insert(0, from);
                    rings.push(ring);
                }
            }
            rings.sort_by_key(Vec::len);
            let shortest = rings.first().map_or(0, Vec::len);
            rings.retain(|ring| ring.len() <= shortest.max(3));
            for ring in rings {
                what.push_str("\n   ");
                for pair in ring.windows(2) {
                    if let Some(place) = arrows.place(pair[0], pair[1]) {
                        what.push_str(&format!(
                            " {}:{} uses {} of {};",
                            self.short(pair[0]),
                            place.line,
                            place.path,
                            self.short(pair[1])
                        ));
                    }
                }
            }
            let first = circle.first().copied().unwrap_or_default();
            self.add(first, 0, what, Rule::Circle);
        }
    }

    fn floors(&mut self, map: &CrateMap, arrows: &Arrows, floors: &Floors) {
        let inside = format!("{}/src/", self.krate);
        let place = |file: &str| floors.place(file.strip_prefix(&inside).unwrap_or(file));
        // The crate's own roots stand above all.
        let is_root = |file: &str| {
            let file = file.strip_prefix(&inside).unwrap_or(file);
            matches!(file, "lib.rs" | "main.rs") || file.starts_with("bin/")
        };
        let is_bare_facade = |file: &str| is_facade(file) && !map.facade_code.contains_key(file);
        for file in &map.product {
            if place(file).is_none() && !is_root(file) && !is_bare_facade(file) {
                self.add(
                    file,
                    0,
                    "has no place in xtask/src/layers/floors.rs".to_owned(),
                    Rule::Floor,
                );
            }
        }
        for (from, to, where_) in arrows.all() {
            let (Some((from_floor, from_name)), Some((to_floor, to_name))) =
                (place(from), place(to))
            else {
                continue;
            };
            if from_name == to_name || from_floor < to_floor {
                continue;
            }
            let relation = if from_floor == to_floor {
                "are neighbours that do not know each other".to_owned()
            } else {
                format!("stand the other way round: {to_name} is above {from_name}")
            };
            let what = format!(
                "{} is in {}, and {from_name} and {to_name} {relation}",
                where_.path,
                self.short(to)
            );
            self.add(from, where_.line, what, Rule::Floor);
        }
    }

    fn facades(&mut self, tree: &Tree, map: &CrateMap) {
        for (file, (line, what)) in &map.facade_code {
            self.add(file, *line, format!("holds {what}"), Rule::Facade);
        }
        for file in &map.product {
            let Some(folder) = file.strip_suffix(".rs") else {
                continue;
            };
            let product = tree
                .below(folder)
                .find(|inner| map.product.contains(*inner));
            if !is_facade(file)
                && name_of(file) != "main.rs"
                && let Some(inner) = product
            {
                let what = format!("stands beside the folder of {}", self.short(inner));
                self.add(file, 0, what, Rule::Facade);
            }
        }
    }

    fn impls(&mut self, map: &CrateMap) {
        let names = Names::new(map);
        let mut away = Vec::new();
        for block in &map.impls {
            let file = &map.modules[block.module].file;
            let targets = names.resolve_type(block.module, &block.path.segments);
            let homes = || {
                targets
                    .iter()
                    .map(|target| &map.modules[target.module].file)
            };
            if targets.is_empty() || homes().any(|home| home == file) || self.half(file).is_some() {
                continue;
            }
            let what = format!(
                "impl {} stands away from {}",
                block.path.segments.join("::"),
                homes().next().map_or("its file", |home| self.short(home))
            );
            away.push((file.clone(), block.path.line, what));
        }
        away.sort();
        away.dedup();
        for (file, line, what) in away {
            self.add(&file, line, what, Rule::Impl);
        }
    }

    fn names_of_files(&mut self, tree: &Tree, map: &CrateMap) {
        for file in &map.product {
            let name = name_of(file);
            if matches!(name, "test.rs" | "tests.rs" | "simulation.rs")
                || name.ends_with("_checks.rs")
            {
                let what = "is product code under the name of a test".to_owned();
                self.add(file, 0, what, Rule::Tests);
            }
        }
        for file in tree.below(&format!("{}/src", self.krate)) {
            if !map.product.contains(file) && !map.tests.contains(file) {
                let what = "no mod line leads to it".to_owned();
                self.add(file, 0, what, Rule::Reading);
            }
        }
    }

    fn oddities(&mut self, tree: &Tree) {
        for file in tree.below(self.krate) {
            let mut relative = Vec::new();
            for oddity in oddities(tree.text(file).unwrap_or_default()) {
                match oddity {
                    Oddity::RelativeVisibility { line } => relative.push(line),
                    Oddity::PathAttribute { value, line } => {
                        let target = join(folder_of(file), &value);
                        if crate_of(&target) != Some(self.krate) {
                            let what = format!("takes {target} by its path");
                            self.add(file, line, what, Rule::PathAttribute);
                        }
                    }
                }
            }
            if let Some(first) = relative.first() {
                let what = format!(
                    "{} visibilities that depend on the file's place",
                    relative.len()
                );
                self.add(file, *first, what, Rule::Visibility);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "crates/dialect/src/lib.rs";

    const FLOORS: Floors = Floors {
        krate: "crates/dialect",
        floors: &[&["top"], &["left", "right"], &["ground"]],
    };

    /// Findings in a crate of these files below its `src`, as `file:line what`.
    fn found(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files
            .iter()
            .map(|(file, _)| format!("crates/dialect/src/{file}"))
            .collect();
        let files: Vec<(&str, &str)> = paths
            .iter()
            .zip(files)
            .map(|(path, (_, text))| (path.as_str(), *text))
            .collect();
        broken(rule, &Tree::new(&files))
    }

    fn broken(rule: Rule, tree: &Tree) -> Vec<String> {
        let findings = check(tree, "crates/dialect", Some(&FLOORS));
        findings
            .iter()
            .filter(|finding| finding.rule == rule)
            .map(|finding| {
                let file = finding.file.trim_start_matches("crates/dialect/");
                format!("{file}:{} {}", finding.line, finding.what)
            })
            .collect()
    }

    #[test]
    fn a_circle_is_found_through_all_forms_of_imports() {
        let ring = |second: &str| {
            found(
                Rule::Circle,
                &[
                    ("lib.rs", "mod a; mod b; mod c;"),
                    ("a.rs", "use crate::{b::{self, B}, c as d};\npub struct A;"),
                    ("b.rs", second),
                    ("c.rs", "fn c(d: super::b::B) {}"),
                ],
            )
        };
        for second in [
            "use super::a::A;",
            "use crate::{a::*};",
            "use {super::{a::{A as X}}};",
            "fn b() { let a = crate::a::A; }",
            "fn b() { matches!(x, Some(crate::a::A)); }",
            "fn b() { use crate::a; a::f(); }",
            "macro_rules! m { () => { $crate::a::A } }",
            "mod inner { use super::super::a::A; }",
            "#[cfg(any(test, fuzzing))] use super::a::A;",
            "fn b<T: crate::a::A>() {}",
        ] {
            let circles = ring(second);
            assert_eq!(circles.len(), 1, "{second}: {circles:?}");
            assert!(
                circles[0].starts_with("src/a.rs:0 circle of"),
                "{circles:?}"
            );
            assert!(circles[0].contains("b.rs:1 uses"), "{circles:?}");
        }
        for second in [
            "pub struct B;",
            "use std::a::A; use other::a::A;",
            "#[cfg(test)] use super::a::A;",
            "#[cfg(all(test, unix))] fn b() { super::a::f() }",
            "#[test] fn b() { super::a::f() }",
            "#[cfg(test)] mod tests { use crate::a::A; }",
            "struct B { #[cfg(test)] a: super::a::A }",
            "impl B { #[cfg(test)] fn b() { super::a::f() } }",
            "/// See [`A`](crate::a::A).\npub struct B;",
        ] {
            assert_eq!(ring(second), Vec::<String>::new(), "{second}");
        }
    }

    #[test]
    fn a_facade_makes_no_circle_and_hides_none() {
        let facade = "//! Docs.\nmod x; mod y;\npub(crate) use x::X; use y::*; pub use y::Y as Z;";
        let through = |x: &str, y: &str| {
            let files = [
                ("lib.rs", "mod a; pub use a::X;"),
                ("a/mod.rs", facade),
                ("a/x.rs", x),
                ("a/y.rs", y),
            ];
            assert!(found(Rule::Facade, &files).is_empty());
            found(Rule::Circle, &files)
        };
        assert!(through("use super::Z;", "pub struct Y;").is_empty());
        assert!(through("use crate::a; fn x(y: a::Z) {}", "pub struct Y;").is_empty());
        for back in [
            "use super::X; pub struct Y;",
            "use crate::X; pub struct Y;",
            "pub struct Y; fn y() { crate::a::X::new() }",
        ] {
            let circles = through("use super::Y;\npub struct X;", back);
            assert_eq!(circles.len(), 1, "{back}");
            assert!(circles[0].contains("a/y.rs:1 uses"), "{back}: {circles:?}");
        }
        // Code in it makes it a file like all others.
        let circles = found(
            Rule::Circle,
            &[
                ("lib.rs", "mod a; "),
                ("a/mod.rs", "mod x;\nuse x::X;\npub struct A(X);"),
                ("a/x.rs", "use super::A; pub struct X;"),
            ],
        );
        assert_eq!(circles.len(), 1);
        assert!(circles[0].contains("a/mod.rs:2 uses x::X of a/x.rs;"));
    }

    #[test]
    fn macros_and_files_for_some_systems_are_followed() {
        let circles = found(
            Rule::Circle,
            &[
                (
                    "lib.rs",
                    "mod m;\n#[cfg(unix)] mod a;\n#[cfg(windows)] #[path = \"w.rs\"] mod a;",
                ),
                ("m.rs", "macro_rules! all { () => {} }\nuse super::a::f;"),
                ("a.rs", "all!();"),
                ("w.rs", "use crate::m::all;"),
            ],
        );
        // A macro belongs to the outer modules only: `a.rs` calls it without knowing `m.rs`.
        assert_eq!(circles.len(), 1);
        assert!(circles[0].contains("w.rs:1 uses crate::m::all of m.rs;"));
        let outer = |call: &str| {
            let outer = "macro_rules! all { () => {} }\nfn write() {}\nmod a;\nuse a::f;";
            found(
                Rule::Circle,
                &[("lib.rs", "mod m;"), ("m.rs", outer), ("m/a.rs", call)],
            )
            .len()
        };
        assert_eq!(outer("pub fn f() { all!() }"), 1);
        assert_eq!(outer("pub fn f() { write!() }"), 0);
    }

    #[test]
    fn imports_run_down_only() {
        let files = |left: &'static str, ground: &'static str| {
            [
                (
                    "lib.rs",
                    "mod top; mod left; mod right; mod ground; pub use top::T;",
                ),
                ("top/mod.rs", "mod t; pub use t::T;"),
                (
                    "top/t.rs",
                    "use crate::{left::L, right, ground::G}; pub struct T;",
                ),
                ("left.rs", left),
                ("right/mod.rs", "pub(crate) mod r;"),
                ("right/r.rs", "use crate::ground::G;"),
                ("ground.rs", ground),
            ]
        };
        assert!(found(Rule::Floor, &files("use crate::ground::G;", "")).is_empty());
        assert_eq!(
            found(Rule::Floor, &files("\nuse crate::right::r;", "")),
            [
                "src/left.rs:2 crate::right::r is in right/r.rs, and left and right are neighbours \
              that do not know each other"
            ]
        );
        // The facade of the crate lends no floor.
        assert_eq!(
            found(Rule::Floor, &files("", "fn g() { crate::T::new() }")),
            [
                "src/ground.rs:1 crate::T::new is in top/t.rs, and ground and top stand the other \
              way round: top is above ground"
            ]
        );
        let lost = [("lib.rs", "mod lost;"), ("lost.rs", "")];
        assert_eq!(
            found(Rule::Floor, &lost),
            ["src/lost.rs:0 has no place in xtask/src/layers/floors.rs"]
        );
    }

    #[test]
    fn inherent_methods_stand_with_their_type() {
        let with = |user: &str| {
            found(
                Rule::Impl,
                &[
                    ("lib.rs", "mod home; mod user; pub use home::{A, D};"),
                    (
                        "home.rs",
                        "pub struct A;\nimpl A {}\npub trait D {}\ntype Short = A;\nimpl Short {}",
                    ),
                    ("user.rs", user),
                ],
            )
        };
        for away in [
            "use super::home::A;\nimpl A {}",
            "\nimpl crate::A {}",
            "use crate::home::A as B;\nimpl<T> B {}",
            "\nimpl dyn crate::D {}",
        ] {
            let findings = with(away);
            assert_eq!(findings.len(), 1, "{away}: {findings:?}");
            assert!(
                findings[0].starts_with("src/user.rs:2 impl "),
                "{findings:?}"
            );
            assert!(findings[0].ends_with("stands away from home.rs"));
        }
        for here in [
            "use super::home::A;\nimpl Clone for A {}\nstruct B;\nimpl B {}\nimpl<T> From<T> for A {}",
            "#[cfg(test)] mod tests { impl crate::A {} }",
            "#[cfg(test)] impl crate::A {}",
        ] {
            assert_eq!(with(here), Vec::<String>::new(), "{here}");
        }
    }

    #[test]
    fn halves_of_types_for_one_system_are_no_fault_in_sys() {
        let tree = Tree::new(&[
            ("crates/sys/src/lib.rs", "mod linux; mod conn;"),
            (
                "crates/sys/src/conn.rs",
                "use crate::linux::conn::open; pub struct Conn;",
            ),
            ("crates/sys/src/linux/mod.rs", "pub(crate) mod conn;"),
            (
                "crates/sys/src/linux/conn.rs",
                "use crate::conn::Conn;\nimpl Conn {}",
            ),
        ]);
        assert_eq!(check(&tree, "crates/sys", None), Vec::new());
    }

    #[test]
    fn a_folder_has_an_end() {
        let names: Vec<String> = (0..MAX_FILES).map(|number| format!("f{number}")).collect();
        let mods: String = names.iter().map(|name| format!("mod {name};")).collect();
        let paths: Vec<String> = names.iter().map(|name| format!("a/{name}.rs")).collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        files.push(("lib.rs", "mod a;"));
        assert_eq!(found(Rule::Folder, &files), Vec::<String>::new());
        files.push(("a/mod.rs", &mods));
        assert_eq!(found(Rule::Folder, &files), ["src/a:0 21 files"]);
    }

    #[test]
    fn facades_hold_no_code() {
        for (text, what) in [
            ("fn f() {}", "a function"),
            ("mod inner { fn f() {} }", "a module with its code"),
            ("impl A {}", "an impl"),
            ("const A: u8 = 1;", "a constant"),
            ("names! { struct A; }", "a macro"),
        ] {
            let text = format!("//! Docs.\n{text}");
            assert_eq!(
                found(Rule::Facade, &[("lib.rs", &text)]),
                [format!("src/lib.rs:2 holds {what}")]
            );
        }
        let good = "//! Docs.\nmod a;\npub use a::*;\n#[cfg(test)]\nmod tests { fn f() {} }";
        assert!(found(Rule::Facade, &[("lib.rs", good), ("a.rs", "")]).is_empty());
    }

    #[test]
    fn a_file_stands_next_to_the_folder_of_its_tests_only() {
        let files = |inner: &'static str| {
            [
                ("lib.rs", "mod a;"),
                ("a.rs", inner),
                ("a/b.rs", "fn b() {}"),
                ("a/tests.rs", "fn t() {}"),
            ]
        };
        assert_eq!(
            found(Rule::Facade, &files("mod b;")),
            ["src/a.rs:0 stands beside the folder of a/b.rs"]
        );
        assert!(found(Rule::Facade, &files("#[cfg(test)] mod tests;")).is_empty());
    }

    #[test]
    fn product_code_has_no_name_of_a_test_and_no_file_is_lost() {
        let files = [
            ("lib.rs", "mod test; mod a_checks; #[cfg(test)] mod tests;"),
            ("test.rs", ""),
            ("a_checks.rs", ""),
            ("tests.rs", ""),
            ("alone.rs", ""),
        ];
        assert_eq!(found(Rule::Tests, &files).len(), 2);
        assert_eq!(
            found(Rule::Reading, &files),
            ["src/alone.rs:0 no mod line leads to it"]
        );
        let missing = [("lib.rs", "\nmod gone;\nmod bad;"), ("bad.rs", "fn {")];
        let faults = found(Rule::Reading, &missing);
        assert_eq!(faults.len(), 2);
        assert!(faults[0].starts_with("src/bad.rs:1 is not understood"));
        assert_eq!(faults[1], "src/lib.rs:2 the file of module gone is missing");
    }

    #[test]
    fn files_of_other_crates_and_relative_visibilities_are_found() {
        let tree = Tree::new(&[
            (
                LIBRARY,
                "#[cfg(test)]\nmod tests { pub(super) fn f() {} pub(in crate::a) fn g() {} }",
            ),
            (
                "crates/dialect/tests/all.rs",
                "#[path = \"help/mod.rs\"] mod help;\n#[cfg_attr(unix, path = \"../../wire/a.rs\")] mod a;",
            ),
        ]);
        assert_eq!(
            broken(Rule::Visibility, &tree),
            ["src/lib.rs:2 2 visibilities that depend on the file's place"]
        );
        assert_eq!(
            broken(Rule::PathAttribute, &tree),
            ["tests/all.rs:2 takes crates/wire/a.rs by its path"]
        );
    }

    #[test]
    fn findings_name_place_and_rule() {
        let finding = Finding {
            file: "crates/a/src/b.rs".to_owned(),
            line: 7,
            what: "holds a type".to_owned(),
            rule: Rule::Floor,
        };
        assert_eq!(
            finding.to_string(),
            "crates/a/src/b.rs:7: holds a type (rule 2: imports run down only)"
        );
    }
}
