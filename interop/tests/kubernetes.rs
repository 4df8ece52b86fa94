//! The manifests for Kubernetes (`packaging/kubernetes`) against the schemas of its resources. No cluster
//! runs here.

use std::path::{Path, PathBuf};
use std::process::Command;

use interop::skip;

/// It has the schemas of each version in it.
const VALIDATOR: &str = "kubernetes-validate==1.37.0";
/// The oldest version that is supported, and one of the newest.
const VERSIONS: [&str; 2] = ["1.30", "1.36"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/kubernetes")
}

#[test]
#[ignore = "needs a package registry: cargo xtask test packages"]
fn the_manifests_keep_the_schemas() {
    const NAME: &str = "manifests for Kubernetes";
    let place = tempfile::tempdir().expect("a folder");
    let tools = place.path().join("tools");
    let succeeds = |command: &mut Command| {
        let output = command.output();
        output.is_ok_and(|output| output.status.success())
    };
    let installed = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&tools))
        && succeeds(Command::new(tools.join("bin/pip")).args(["--quiet", "install", VALIDATOR]));
    if !installed {
        skip(
            NAME,
            "no python3 with venv, or no package registry is reached",
        );
        return;
    }
    let is_valid = |file: &Path, version: &str| {
        let mut validate = Command::new(tools.join("bin/kubernetes-validate"));
        let output = validate
            .args(["--strict", "-k", version])
            .arg(file)
            .output();
        let output = output.expect("the validator");
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    let mut resources = 0;
    for entry in std::fs::read_dir(folder()).expect("manifests") {
        let file = entry.expect("a manifest").path();
        for version in VERSIONS {
            let (valid, said) = is_valid(&file, version);
            assert!(valid, "{}: {said}", file.display());
            resources += said.matches("passed for resource").count();
        }
        // The validator sees what is wrong.
        let text = std::fs::read_to_string(&file).expect("a manifest");
        let wrong = place.path().join("wrong.yaml");
        std::fs::write(
            &wrong,
            text.replace("      containers:", "      containrs:"),
        )
        .expect("it");
        let (valid, said) = is_valid(&wrong, VERSIONS[0]);
        assert!(!valid, "{}: {said}", file.display());
    }
    assert_eq!(resources, 4 * VERSIONS.len());
}
