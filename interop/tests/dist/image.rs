//! The image: its user, its entry point, and what it does.

use std::path::Path;
use std::process::Command;

use interop::{Invocation, Transport, await_listening, free_port, installed, skip};

use crate::archives::{is_root, own_folder, printed, root};

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn the_image_serves_and_measures() {
    const NAME: &str = "the image";
    if !is_root() || installed("buildah").is_none() {
        skip(NAME, "no buildah, or no root: apt-get install buildah");
        return;
    }
    let Some(folder) = own_folder() else {
        skip(NAME, "there is no static program of this machine");
        return;
    };
    let place = tempfile::tempdir().expect("a folder");
    let buildah = |words: &[&str]| {
        let mut buildah = Command::new("buildah");
        buildah.args(["--storage-driver", "vfs", "--root"]);
        buildah.arg(place.path().join("root"));
        buildah.arg("--runroot").arg(place.path().join("run"));
        printed(buildah.args(words))
    };
    let file = root().join("packaging/container/Containerfile");
    let (file, context) = (
        file.to_str().expect("a path"),
        folder.to_str().expect("a path"),
    );
    buildah(&[
        "bud",
        "--isolation",
        "chroot",
        "-t",
        "tapeline",
        "-f",
        file,
        context,
    ]);
    let configuration = buildah(&["inspect", "--type", "image", "tapeline"]);
    let configuration: serde_json::Value =
        serde_json::from_str(&configuration).expect("what buildah inspects");
    let set = &configuration["OCIv1"]["config"];
    assert_eq!(set["User"], "65532:65532", "{set}");
    assert_eq!(set["Entrypoint"][0], "/tapeline", "{set}");
    let container = buildah(&["from", "tapeline"]);
    let container = container.trim();
    let mounted = buildah(&["mount", container]);
    let mounted = Path::new(mounted.trim());
    // As its user, with its files, on this machine's network.
    let within = |program: &str, line: &str| {
        Invocation::for_executable("chroot", "chroot")
            .args([
                "--userspec=65532:65532",
                mounted.to_str().expect("a path"),
                program,
            ])
            .line(line)
    };
    let port = free_port();
    let server = within("/tapeline", &format!("-s -p {port}"))
        .spawn()
        .expect("a server");
    await_listening(&server, Transport::Tcp, port).expect("a server");
    for program in ["/tapeline", "/as/iperf", "/as/iperf3"] {
        let done = within(program, &format!("-c 127.0.0.1 -p {port} -t 1")).run();
        let done = done.expect("a run");
        assert_eq!(done.code(), Some(0), "{done}");
        assert!(done.stdout.contains("bit"), "{done}");
    }
    drop(server);
    buildah(&["umount", container]);
    buildah(&["rm", container]);
}
