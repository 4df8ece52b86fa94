//! The static programs (`cargo xtask dist`): nothing around them, another processor, an image.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use interop::{
    Family, Invocation, Program, Server, ServerSpec, Transport, await_listening, free_port,
    installed, skip,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Builds the archives below a target folder of its own, and returns where they are.
#[track_caller]
fn build(target: Option<&Path>) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--package", "xtask", "--", "dist"]);
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    let built = command.current_dir(root()).status().expect("cargo");
    assert!(built.success(), "cargo xtask dist: {built}");
    root().join("target/dist").canonicalize().expect("archives")
}

/// The folder that an archive holds; none where it could not be built.
fn folder(architecture: &str) -> Option<PathBuf> {
    let folder = build(None).join(format!("tapeline-{VERSION}-{architecture}-linux"));
    folder.is_dir().then_some(folder)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a command prints; it succeeds.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let said = said.concat();
    assert!(output.status.success(), "{command:?}\n{said}");
    said
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn it_runs_where_nothing_else_is() {
    let Some(folder) = folder(std::env::consts::ARCH).filter(|_| is_root()) else {
        skip("an empty root", "chroot needs root");
        return;
    };
    let empty = tempfile::tempdir().expect("a folder");
    std::fs::copy(folder.join("tapeline"), empty.path().join("tapeline")).expect("a copy");
    let within = |words: &[&str]| {
        let mut chroot = Command::new("chroot");
        printed(chroot.arg(empty.path()).arg("/tapeline").args(words))
    };
    assert!(within(&["--version"]).contains(VERSION));
    let said = within(&["try", "-t", "2"]);
    assert!(said.contains("bit/s"), "{said}");
    // Everything is in it.
    let said = within(&["--as", "iperf3", "--version"]);
    assert!(said.contains("authentication"), "{said}");
    let said = within(&["fleet", "--help"]);
    assert!(said.contains("fleet init"), "{said}");
}

/// Tests in both roles on another processor, with this machine's programs at the other side.
#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn arm_measures_with_every_peer() {
    const EMULATOR: &str = "qemu-aarch64-static";
    const NAME: &str = "aarch64";
    if installed(EMULATOR).is_none() {
        skip(
            NAME,
            "no qemu-aarch64-static: apt-get install qemu-user-static",
        );
        return;
    }
    let peers = [Program::Tapeline, Program::Iperf221, Program::Iperf3V22];
    if let Some(reason) = peers.iter().find_map(|peer| peer.missing()) {
        skip(NAME, &reason);
        return;
    }
    let Some(folder) = folder("aarch64") else {
        skip(
            NAME,
            "it was not built: apt-get install gcc-aarch64-linux-gnu",
        );
        return;
    };
    let program = folder.join("tapeline");
    let program = program.to_str().expect("a path").to_owned();
    let emulated = |line: &str| {
        Invocation::for_executable(EMULATOR, EMULATOR)
            .args([program.as_str()])
            .line(line)
    };
    let mut tests = 0;
    for round in 0..5 {
        for peer in peers {
            for transport in [Transport::Tcp, Transport::Udp] {
                let udp = match transport {
                    Transport::Tcp => "",
                    Transport::Udp => "-u -b 20M -l 1200",
                };
                // As a client, in both directions.
                // iperf3's client says which transport it is.
                let listens = match peer {
                    Program::Iperf3V22 => Transport::Tcp,
                    _ => transport,
                };
                let server = ServerSpec::new(peer, listens, Family::V4).start();
                let server: Server = server.expect("a server");
                let kind = match peer {
                    Program::Iperf3V22 => "--peer iperf3",
                    _ => "",
                };
                for reverse in ["", "-R"] {
                    let line = format!(
                        "-c 127.0.0.1 -p {} -t 1 --json {kind} {udp} {reverse}",
                        server.port()
                    );
                    let done = emulated(&line).run().expect("a run");
                    let document: serde_json::Value =
                        serde_json::from_str(&done.stdout).unwrap_or_default();
                    let complete = &document["test"]["complete"];
                    assert!(
                        done.code() == Some(0) && complete == true,
                        "round {round}, {peer:?}: {done}"
                    );
                    tests += 1;
                }
            }
            // As a server.
            for transport in [Transport::Tcp, Transport::Udp] {
                let port = free_port();
                let server = emulated(&format!("-s -p {port}"))
                    .spawn()
                    .expect("a server");
                await_listening(&server, transport, port).expect("a server");
                let udp = match transport {
                    Transport::Tcp => "",
                    Transport::Udp => "-u -b 20M -l 1200",
                };
                for reverse in ["", "-R"] {
                    let client = Invocation::new(peer);
                    let line = format!("-c 127.0.0.1 -p {port} -t 1 {udp} {reverse}");
                    let done = client.line(&line).run().expect("a run");
                    assert_eq!(done.code(), Some(0), "round {round}: {done}");
                    assert!(
                        done.stdout.contains("bits/sec") || done.stdout.contains("bit/s"),
                        "{done}"
                    );
                    tests += 1;
                }
            }
        }
    }
    assert!(tests >= 100, "{tests}");
}

/// Built twice, in different folders, they are the same to the byte.
#[test]
#[ignore = "builds the program twice: cargo xtask test packages"]
fn two_builds_are_alike() {
    let sums = || {
        let target = tempfile::tempdir().expect("a folder");
        let built = build(Some(target.path()));
        std::fs::read_to_string(built.join("SHA256SUMS")).expect("checksums")
    };
    let (first, second) = (sums(), sums());
    assert!(first.contains(std::env::consts::ARCH), "{first}");
    assert_eq!(first, second);
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn the_image_serves_and_measures() {
    const NAME: &str = "the image";
    if !is_root() || installed("buildah").is_none() {
        skip(NAME, "no buildah, or no root: apt-get install buildah");
        return;
    }
    let Some(folder) = folder(std::env::consts::ARCH) else {
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
