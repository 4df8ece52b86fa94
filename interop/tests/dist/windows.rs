//! The program for Windows, run by Wine beside Linux. Times that Wine measures prove nothing, so none is
//! judged.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use interop::{
    Family, Invocation, Program, ServerSpec, Transport, await_listening, free_port, installed, skip,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::archives::{folder, printed};
use crate::every_peer;

const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Where Debian has it without a link in the path.
const WINE: &str = "/usr/lib/wine/wine64";
/// What Windows 8 and later have, and Wine before 9 has not.
const RANDOM: &str = r"
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    return RtlGenRandom(data, (ULONG)size);
}
";
const LIMIT: Duration = Duration::from_secs(20);

/// A Windows with nothing in it but the program.
struct Windows {
    wine: PathBuf,
    place: TempDir,
}

impl Windows {
    /// Nothing where there can be none, which is said.
    #[track_caller]
    fn new(name: &str) -> Option<Self> {
        let wine = installed("wine64")
            .or_else(|| Some(WINE.into()).filter(|path: &PathBuf| path.is_file()));
        let Some(wine) = wine else {
            skip(name, "no wine64: apt-get install wine64");
            return None;
        };
        let Some(folder) = folder("x86_64-windows") else {
            skip(
                name,
                "it was not built: apt-get install gcc-mingw-w64-x86-64-posix zip",
            );
            return None;
        };
        let place = tempfile::tempdir().expect("a folder");
        let program = place.path().join("tapeline.exe");
        std::fs::copy(folder.join("tapeline.exe"), program).expect("a copy");
        let source = place.path().join("random.c");
        std::fs::write(&source, RANDOM).expect("a source");
        let mut compile = Command::new(COMPILER);
        compile.args(["-shared", "-o"]);
        compile.arg(place.path().join("bcryptprimitives.dll"));
        printed(compile.arg(source).arg("-ladvapi32"));
        Some(Self { wine, place })
    }

    fn line(&self, line: &str) -> Invocation {
        let path = |path: &Path| path.to_str().expect("a path").to_owned();
        Invocation::for_executable("wine", &self.wine)
            .args([path(&self.place.path().join("tapeline.exe"))])
            .line(line)
            .env("WINEPREFIX", &path(&self.place.path().join("prefix")))
            .env("WINEDEBUG", "-all")
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        let server = self.wine.with_file_name("wineserver");
        let mut end = Command::new(server);
        end.env("WINEPREFIX", self.place.path().join("prefix"));
        // Without it, what Wine has started ends by itself after some seconds.
        let _ = end.arg("-k").status();
    }
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn windows_measures_with_every_peer() {
    let name = "windows_measures_with_every_peer";
    if let Some(reason) = every_peer::missing() {
        skip(name, &reason);
        return;
    }
    let Some(windows) = Windows::new(name) else {
        return;
    };
    every_peer::measure_with(|line| windows.line(line));
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn windows_says_what_linux_says() {
    let Some(windows) = Windows::new("windows_says_what_linux_says") else {
        return;
    };
    let run = |line: &str| windows.line(line).run().expect("a run");
    let tried = run("try -t 2");
    assert_eq!(tried.code(), Some(0), "{tried}");
    assert!(tried.stdout.contains("TCP up"), "{tried}");
    assert!(tried.stdout.contains("UDP up"), "{tried}");

    let port = free_port();
    let refused = run(&format!("-c 127.0.0.1 -p {port} -t 1"));
    assert_eq!(refused.code(), Some(1), "{refused}");
    assert!(refused.stderr.contains("connection refused"), "{refused}");

    let server = windows.line(&format!("-s -p {port}")).spawn();
    let server = server.expect("a server");
    await_listening(&server, Transport::Tcp, port).expect("a server");
    let second = run(&format!("-s -p {port}"));
    assert_eq!(second.code(), Some(1), "{second}");
    assert!(
        second.stderr.contains("in use by another program"),
        "{second}"
    );

    let client = Invocation::new(Program::Tapeline).line(&format!("-c 127.0.0.1 -p {port} -t 1"));
    assert_eq!(client.run().expect("a run").code(), Some(0));
    let logged =
        |log: &str| log.contains("started: TCP, 1 stream, to server") && log.contains("done: ");
    assert!(server.wait_for(LIMIT, logged), "{}", server.stdout());
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn windows_keeps_results_and_claims_no_more_than_it_knows() {
    let Some(windows) = Windows::new("windows_keeps_results_and_claims_no_more_than_it_knows")
    else {
        return;
    };
    let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4).start();
    let server = server.expect("a server");
    let to = format!("-c 127.0.0.1 -p {}", server.port());
    let done = windows.line(&format!("{to} -t 1 --json --save")).run();
    let done = done.expect("a run");
    let document: Value = serde_json::from_str(&done.stdout).expect("a document");
    assert!(
        document["sum"]["receiver"]["bytes"].as_u64() > Some(0),
        "{done}"
    );
    // Wine has no SIO_TCP_INFO.
    for unknown in ["retransmits", "rtt_ms", "cwnd_bytes"] {
        assert_eq!(
            document["sum"]["sender"][unknown],
            Value::Null,
            "{unknown}: {done}"
        );
    }
    let history = windows.line("history").run().expect("a run");
    assert!(
        history.stdout.contains("TCP forward, 1 stream"),
        "{history}"
    );

    // Ctrl-C: what was measured is printed.
    let running = windows.line(&format!("{to} -t 60 -i 0.5")).spawn();
    let running = running.expect("a client");
    assert!(
        running.wait_for(LIMIT, |text| text.contains("0.50-1.00")),
        "{}",
        running.stdout()
    );
    running.interrupt();
    let done = running.wait().expect("an end");
    assert!(
        done.stdout.contains("Trust        partial: interrupted"),
        "{done}"
    );
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn windows_has_the_page() {
    let Some(windows) = Windows::new("windows_has_the_page") else {
        return;
    };
    let port = free_port();
    let web = windows
        .line(&format!("web --listen 127.0.0.1:{port}"))
        .spawn();
    let web = web.expect("the page");
    await_listening(&web, Transport::Tcp, port).expect("the page");
    let mut browser = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let request = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    browser.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    browser.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("<title>tapeline"), "{answer}");
}
