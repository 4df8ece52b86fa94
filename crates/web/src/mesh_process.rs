//! The process of a mesh, in a folder of its own, which nobody else can read and which goes with it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use serde_json::Value;
use tapeline_remote::{Class, NotStarted, StandardError, TestProcesses};

use crate::key::Key;
use crate::program::{MeshCommand, MeshRequest};

/// The number of its process.
const ONLY: u64 = 1;
/// A document beyond this is too large for a page, bytes.
const LONGEST: u64 = 32 << 20;

/// What it says.
#[derive(Debug)]
pub(crate) enum MeshNews {
    /// A line of its `--json-stream`.
    Event(Value),
    /// Nothing more comes.
    End {
        /// Its exit code.
        code: Option<i32>,
        /// Its result, or why there is none.
        document: Result<Vec<u8>, String>,
    },
}

/// A running mesh; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct MeshProcess {
    processes: Arc<TestProcesses>,
    threads: Vec<JoinHandle<()>>,
}

impl MeshProcess {
    /// Starts it. `each` gets what it says, on a thread of its own.
    ///
    /// # Errors
    /// There is no place for its folder, or no process.
    pub(crate) fn start(
        request: &MeshRequest,
        mut order: MeshCommand,
        mut each: impl FnMut(MeshNews) + Send + 'static,
    ) -> io::Result<Self> {
        let folder = Folder::new()?;
        folder.write(MeshCommand::HOSTS, &request.hosts)?;
        order.command.folder = Some(folder.0.clone());
        let processes = Arc::<TestProcesses>::default();
        let outputs = processes
            .start(
                ONLY,
                Class::Exclusive,
                &order.program,
                &order.command,
                StandardError::Kept,
                None,
            )
            .map_err(|why| match why {
                NotStarted::NoProcess(error) => error,
                NotStarted::Busy(why) => io::Error::other(why),
                NotStarted::Closed => io::Error::other("the page is being closed"),
            })?;
        let mut started = Self {
            processes: Arc::clone(&processes),
            threads: Vec::new(),
        };
        let its = Arc::clone(&processes);
        started.thread("mesh time", move || its.keep_time())?;
        started.thread("mesh", move || {
            let said = outputs.read(|line| {
                if let Ok(event) = serde_json::from_slice(line) {
                    each(MeshNews::Event(event));
                }
            });
            let status = processes.wait(ONLY);
            let code = status.ok().and_then(|status| status.code());
            let document = folder.document().map_err(|why| match said.as_str() {
                "" => why,
                said => said.trim_start_matches("error: ").to_owned(),
            });
            processes.close();
            // Who hears of the end may look for the folder.
            drop(folder);
            each(MeshNews::End { code, document });
        })?;
        Ok(started)
    }

    fn thread(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        self.threads.push(thread);
        Ok(())
    }

    /// Asks for its end; its result comes.
    pub(crate) fn stop(&self) {
        self.processes.stop(ONLY);
    }

    /// Asks for its end, and waits for it.
    pub(crate) fn end(mut self) {
        self.processes.close();
        for thread in self.threads.drain(..) {
            // A fault there has been said.
            let _ = thread.join();
        }
    }
}

/// Nobody waits here: the last news drops it, on its own thread.
impl Drop for MeshProcess {
    fn drop(&mut self) {
        self.processes.close();
    }
}

/// A folder that goes with this value.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        // Nobody else can know the name and be there first.
        let name = format!("tapeline-mesh-{}", Key::random().text());
        let path = std::env::temp_dir().join(name);
        let mut builder = DirBuilder::new();
        builder.recursive(false);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(self.0.join(name))?;
        file.write_all(text.as_bytes())
    }

    /// The result, without its journal, which goes with the folder.
    fn document(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let file = File::open(self.0.join(MeshCommand::DOCUMENT));
        let read = file.and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
        read.map_err(|_| "the mesh ended without a result".to_owned())?;
        if bytes.len() as u64 > LONGEST {
            return Err("the result is too large for the page".to_owned());
        }
        let document = serde_json::from_slice(&bytes);
        let mut document: Value = document.map_err(|error| format!("the result: {error}"))?;
        document["journal"] = Value::Null;
        Ok(document.to_string().into_bytes())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is gone already needs no removal.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::channel;

    use tapeline_remote::CommandLine;

    use super::*;

    fn shell(script: &str) -> (MeshRequest, MeshCommand) {
        let request = MeshRequest {
            hosts: "[hosts.a]".to_owned(),
            ..MeshRequest::default()
        };
        let command = MeshCommand {
            program: "/bin/sh".into(),
            command: CommandLine {
                words: vec!["-c".into(), script.into()],
                ..CommandLine::default()
            },
            line: String::new(),
        };
        (request, command)
    }

    /// The events, and the end.
    fn run(script: &str) -> (Vec<Value>, MeshNews) {
        let (request, command) = shell(script);
        let (say, said) = channel();
        let each = move |news| say.send(news).expect("a reader");
        let process = MeshProcess::start(&request, command, each).expect("a process");
        let mut events = Vec::new();
        let end = loop {
            match said.recv().expect("an end") {
                MeshNews::Event(event) => events.push(event),
                end => break end,
            }
        };
        process.end();
        (events, end)
    }

    #[test]
    fn the_result_comes_without_its_journal_and_nothing_is_left() {
        let (events, end) = run(r#"event() { echo "{\"event\":\"$1\",\"at\":\"$(pwd)\"}"; }
            event "$(cat hosts.toml)"
            for file in . hosts.toml; do event "$(ls -ld $file | cut -c1-10)"; done
            echo '{"journal":"j","cells":[]}' > mesh.json
            exit 6"#);
        let MeshNews::End { code, document } = end else {
            panic!("an end");
        };
        assert_eq!(code, Some(6));
        let document = document.expect("a document");
        let document: Value = serde_json::from_slice(&document).expect("JSON");
        assert_eq!(document, serde_json::json!({"journal": null, "cells": []}));
        let words: Vec<&str> = events
            .iter()
            .filter_map(|one| one["event"].as_str())
            .collect();
        assert_eq!(words, ["[hosts.a]", "drwx------", "-rw-------"]);
        let folder = events[0]["at"].as_str().expect("a folder");
        assert!(!Path::new(folder).exists());
    }

    #[test]
    fn without_a_result_it_is_said_why() {
        for (script, part) in [
            ("echo 'error: no hosts' >&2; exit 2", "no hosts"),
            ("exit 1", "without a result"),
            ("echo x > mesh.json", "the result:"),
        ] {
            let (_, end) = run(script);
            let MeshNews::End { document, .. } = end else {
                panic!("an end");
            };
            let why = document.expect_err(script);
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn it_ends_with_its_input() {
        let (request, command) = shell("echo '{}'; cat >/dev/null; echo '{\"event\":1}'");
        let (say, said) = channel();
        let each = move |news| drop(say.send(news));
        let process = MeshProcess::start(&request, command, each).expect("a process");
        assert!(matches!(said.recv(), Ok(MeshNews::Event(_))));
        process.stop();
        assert!(matches!(said.recv(), Ok(MeshNews::Event(event)) if event["event"] == 1));
        assert!(matches!(said.recv(), Ok(MeshNews::End { .. })));
        drop(process);
    }
}
