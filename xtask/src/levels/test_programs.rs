//! The programs that hold the tests, built once for all levels: who builds each package for itself gets
//! other features of the same crates, and so compiles most of them several times.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::shell::{self, Result, cargo};

/// A program with tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    package: String,
    /// `--lib` and `--bin` for the tests inside of those; else the name of the program.
    pub(crate) name: String,
    executable: PathBuf,
    /// Words in front of those of the test harness.
    words: &'static [&'static str],
    folder: PathBuf,
}

/// The package whose documentation has programs that run. Its name stands for all packages: of one alone,
/// others would be compiled anew.
const DOCUMENTED: &str = "tapeline-embed";
const DOCUMENTATION: &[&str] = &["test", "--doc", "--workspace", "--all-features", "--"];

/// All of them.
pub(crate) struct TestPrograms(Vec<TestProgram>);

impl TestPrograms {
    /// Builds them, and the program under test with all features, for those that test what the
    /// default ones do not have.
    ///
    /// # Errors
    /// Something does not compile.
    pub(crate) fn build() -> Result<Self> {
        let mut build = cargo();
        build.args(["test", "--quiet", "--workspace", "--all-features"]);
        build.args(["--no-run", "--message-format", "json-render-diagnostics"]);
        println!("$ {}", shell::shown(&build));
        let messages = shell::read(&mut build)?;
        let mut programs: Vec<TestProgram> = messages.lines().filter_map(read).collect();
        programs.push(TestProgram {
            package: DOCUMENTED.to_owned(),
            name: "--doc".to_owned(),
            executable: cargo().get_program().into(),
            words: DOCUMENTATION,
            folder: shell::root().to_owned(),
        });
        Ok(Self(programs))
    }

    /// Those of `package`: the named ones, or all where none is named.
    pub(crate) fn of<'a>(
        &'a self,
        package: &'a str,
        names: &'a [&str],
    ) -> impl Iterator<Item = &'a TestProgram> {
        self.0.iter().filter(move |program| {
            program.package == package
                && (names.is_empty() || names.contains(&program.name.as_str()))
        })
    }
}

impl TestProgram {
    /// A call of it in its package's folder, as cargo would make it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .args(self.words)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// What cargo says of a test program it has built.
fn read(message: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(message).ok()?;
    let executable = message["executable"].as_str()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let id = message["package_id"].as_str()?;
    let (source, version) = id.rsplit_once('#')?;
    // A folder of the same name stands for the package's.
    let package = match version.split_once('@') {
        Some((name, _)) => name,
        None => source.rsplit_once('/')?.1,
    };
    let name = match message["target"]["kind"][0].as_str()? {
        "test" => message["target"]["name"].as_str()?.to_owned(),
        kind => format!("--{kind}"),
    };
    Some(TestProgram {
        package: package.to_owned(),
        name,
        executable: executable.into(),
        words: &[],
        folder: folder.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, kind: &str, is_test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"{id}","manifest_path":"/t/crates/base/Cargo.toml",
            "target":{{"kind":["{kind}"],"name":"recorded"}},"profile":{{"test":{is_test}}},"executable":"/t/x"}}"#
        )
    }

    #[test]
    fn a_program_is_known_by_its_package_and_kind() {
        let id = "path+file:///t/crates/base#tapeline-base@0.1.0";
        let program = read(&message(id, "test", true)).expect("a program");
        assert_eq!(
            (program.package.as_str(), program.name.as_str()),
            ("tapeline-base", "recorded")
        );
        assert_eq!(program.folder, Path::new("/t/crates/base"));
        let program = read(&message("path+file:///t/interop#0.1.0", "lib", true));
        let program = program.expect("a program");
        assert_eq!(
            (program.package.as_str(), program.name.as_str()),
            ("interop", "--lib")
        );
        assert_eq!(read(&message(id, "bin", false)), None);
        assert_eq!(read(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn programs_are_chosen_by_package_and_name() {
        let of = |package: &str, name: &str| TestProgram {
            package: package.to_owned(),
            name: name.to_owned(),
            executable: PathBuf::new(),
            words: &[],
            folder: PathBuf::new(),
        };
        let all = TestPrograms(vec![of("a", "--lib"), of("a", "x"), of("b", "x")]);
        assert_eq!(all.of("a", &[]).count(), 2);
        assert_eq!(all.of("a", &["x"]).count(), 1);
        assert_eq!(all.of("b", &["--lib"]).count(), 0);
    }
}
