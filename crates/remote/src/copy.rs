//! This program, put on a host that has none.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::executable::{Executable, NotExecutable};
use crate::reply_reader::printable;
use crate::running::set_apart;
use crate::session::BEGINNING;
use crate::session_error::{SessionError, SessionFault, system_text};
use crate::transport::{FarProgram, Transport, ssh_command};

/// Says what the host is, and the checksum of the copy that it has.
const LOOK: &str = concat!(
    "exec sh -c 'uname -sm; sha256sum ~/.cache/tapeline/",
    env!("CARGO_PKG_VERSION"),
    "/tapeline 2>/dev/null; exit 0'"
);
/// Takes a checksum on a line and then the program; nothing is there until it is whole and checked.
const TAKE: &str = concat!(
    "exec sh -c 'umask 077; d=~/.cache/tapeline/",
    env!("CARGO_PKG_VERSION"),
    "; p=\"$d/.tapeline.$$\"; read -r sum; mkdir -p \"$d\" && trap \"rm -f \\\"$p\\\"\" EXIT && cat >\"$p\" && \
     echo \"$sum  $p\" | sha256sum -c - >/dev/null && chmod 700 \"$p\" && mv -f \"$p\" \"$d/tapeline\"'"
);
/// Time for the program to get there.
const COPYING: Duration = Duration::from_secs(600);
/// Between two looks whether ssh has ended.
const PAUSE: Duration = Duration::from_millis(10);
/// What is kept of what a call prints, bytes.
const SAID: u64 = 4096;

/// Puts `binary`, a static program of this version, into `~/.cache/tapeline/VERSION` of the user at a
/// destination of ssh, unless it is there. What reaches it is returned.
///
/// # Errors
/// The host is not reached, is of another kind than the program, or does not take it; or the program
/// cannot be read, or needs libraries.
pub fn copy_program(destination: &str, binary: &Path) -> Result<Transport, SessionError> {
    let transport = Transport::Ssh {
        destination: destination.to_owned(),
        program: FarProgram::Copied,
    };
    let failed = |fault| SessionError::new(&transport, fault);
    if let Err(why) = ssh_command(destination, LOOK) {
        return Err(failed(SessionFault::NoDestination(why)));
    }
    let call = |order| {
        let mut command = Command::new("");
        if let Ok(ssh) = ssh_command(destination, order) {
            command = ssh;
        }
        command
    };
    copy_by(&call, binary).map_err(failed)?;
    Ok(transport)
}

/// Copies it by commands that have the shell of a host carry out a constant.
fn copy_by(call: &dyn Fn(&'static str) -> Command, binary: &Path) -> Result<(), SessionFault> {
    let own = |why: String| SessionFault::NotCopied(format!("{}: {why}", binary.display()));
    let program = fs::read(binary).map_err(|error| own(system_text(&error)))?;
    let executable = Executable::read(&program).map_err(|why| {
        own(match why {
            NotExecutable::Other => "that is no program for Linux".to_owned(),
            NotExecutable::Dynamic => {
                "it needs libraries of its host; a static one is needed".to_owned()
            }
        })
    })?;
    let sum: String = Sha256::digest(&program)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let looked = Called::wait_for(call(LOOK), Vec::new(), BEGINNING)?;
    // A login may print something before.
    let mut lines = looked.out.lines().rev();
    let mut last = lines.next().unwrap_or_default();
    if last.starts_with(&sum) {
        return Ok(());
    }
    if last.contains("/.cache/tapeline/") {
        last = lines.next().unwrap_or_default();
    }
    let wanted = executable.system();
    if last != wanted {
        let is = printable(last.as_bytes(), 60);
        return Err(SessionFault::NotCopied(format!(
            "the host is {is}, the program is for {wanted}"
        )));
    }
    let mut input = format!("{sum}\n").into_bytes();
    input.extend(program);
    let taken = Called::wait_for(call(TAKE), input, COPYING)?;
    match taken.code {
        Some(0) => Ok(()),
        _ => Err(SessionFault::NotCopied(taken.err)),
    }
}

/// What a call came to.
struct Called {
    code: Option<i32>,
    out: String,
    /// The last line of standard error.
    err: String,
}

impl Called {
    /// Calls, feeds, and waits.
    fn wait_for(
        mut command: Command,
        input: Vec<u8>,
        time: Duration,
    ) -> Result<Self, SessionFault> {
        let not_started = |error: io::Error| SessionFault::NotStarted(system_text(&error));
        set_apart(&mut command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(not_started)?;
        let (to, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let until = Instant::now() + time;
        thread::scope(|scope| {
            scope.spawn(move || to.map(|mut to| to.write_all(&input)));
            let out = scope.spawn(|| out.map(said).unwrap_or_default());
            let err = scope.spawn(|| err.map(said).unwrap_or_default());
            let status = loop {
                match child.try_wait().map_err(not_started)? {
                    None if Instant::now() < until => thread::sleep(PAUSE),
                    None => {
                        let _ = child.kill();
                        let _ = child.wait();
                        return Err(SessionFault::Silent(time.as_secs()));
                    }
                    Some(status) => break status,
                }
            };
            let (out, err) = (
                out.join().unwrap_or_default(),
                err.join().unwrap_or_default(),
            );
            let last = err.lines().rfind(|line| !line.trim().is_empty());
            let err = printable(last.unwrap_or_default().as_bytes(), SAID as usize);
            match status.code() {
                // Ssh's own fault.
                code @ Some(255) => Err(SessionFault::Refused { code, said: err }),
                code => Ok(Self { code, out, err }),
            }
        })
    }
}

/// The first bytes that come; the rest is read and dropped.
fn said(mut from: impl Read) -> String {
    let mut said = Vec::new();
    let _ = (&mut from).take(SAID).read_to_end(&mut said);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&said).into_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::PathBuf;

    use super::*;
    use crate::executable::tests::program;

    /// A home of its own, gone when dropped.
    struct Home(PathBuf);

    impl Home {
        fn new(name: &str) -> Self {
            let folder = format!("tapeline-copy-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(folder);
            fs::create_dir(&path).expect("a folder");
            Self(path)
        }

        fn copy(&self, binary: &Path, before: &str) -> Result<(), SessionFault> {
            let call = |order: &'static str| {
                let mut command = Command::new("sh");
                let script = format!("{before}{order}");
                command.args(["-c", &script]).env("HOME", &self.0);
                command
            };
            copy_by(&call, binary)
        }

        fn copied(&self) -> PathBuf {
            let folder = self.0.join(".cache/tapeline");
            folder.join(env!("CARGO_PKG_VERSION")).join("tapeline")
        }
    }

    impl Drop for Home {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_program_arrives_whole_and_once() {
        let home = Home::new("whole");
        let binary = home.0.join("binary");
        let bytes = program(std::env::consts::ARCH, false);
        fs::write(&binary, &bytes).expect("a file");
        home.copy(&binary, "echo Welcome; ").expect("a copy");
        assert_eq!(fs::read(home.copied()).expect("a copy"), bytes);
        let mode = fs::metadata(home.copied()).expect("a copy").permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
        let others = fs::read_dir(home.copied().parent().expect("a folder"));
        assert_eq!(others.expect("a folder").count(), 1);
        // It is there: nothing takes its place.
        let inode = || fs::metadata(home.copied()).expect("a copy").ino();
        let before = inode();
        home.copy(&binary, "").expect("the copy");
        assert_eq!(inode(), before);
        // An older one is replaced.
        fs::write(home.copied(), "old").expect("a file");
        home.copy(&binary, "").expect("a copy");
        assert_eq!(fs::read(home.copied()).expect("a copy"), bytes);
    }

    #[test]
    fn what_does_not_fit_is_not_copied() {
        let home = Home::new("unfit");
        let binary = home.0.join("binary");
        let refused = |bytes: &[u8], before: &str| {
            fs::write(&binary, bytes).expect("a file");
            let why = home.copy(&binary, before).expect_err("refused");
            assert!(!home.copied().exists());
            match why {
                SessionFault::NotCopied(why) => why,
                other => panic!("{other:?}"),
            }
        };
        let arch = std::env::consts::ARCH;
        assert!(refused(b"#!/bin/sh", "").ends_with("no program for Linux"));
        assert!(refused(&program(arch, true), "").contains("needs libraries"));
        let other = if arch == "x86_64" {
            "aarch64"
        } else {
            "x86_64"
        };
        let why = refused(&program(other, false), "");
        assert_eq!(
            why,
            format!("the host is Linux {arch}, the program is for Linux {other}")
        );
        // What arrives is not what was sent.
        let why = refused(&program(arch, false), "{ cat; echo more; } | ");
        assert!(why.contains("did NOT match"), "{why}");
    }
}
