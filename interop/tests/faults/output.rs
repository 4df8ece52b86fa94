//! Fault 25: an output that takes nothing.

use interop::{Invocation, Program};

use crate::Fault;
use crate::subject::{SOON, Subject};

pub(crate) const FAULTS: &[Fault] = &[
    ("25 a server with a full device", full_device),
    ("25 a server with a closed output", closed_output),
    ("25 a client with a full device", client_with_full_device),
];

fn full_device() {
    let subject = Subject::by_shell("exec TAPELINE -s -p PORT >/dev/full");
    subject.serves();
    let complaints = |said: &str| said.matches("No space left").count();
    assert_eq!(complaints(&subject.said()), 1, "{}", subject.said());
    subject.recovers(SOON);
    let subject = Subject::by_shell("exec TAPELINE -s -p PORT -o /dev/full");
    subject.serves();
    assert_eq!(complaints(&subject.said()), 1, "{}", subject.said());
    subject.recovers(SOON);
}

fn closed_output() {
    let subject = Subject::by_shell("exec TAPELINE -s -p PORT > >(true)");
    subject.recovers(SOON);
    let subject = Subject::by_shell("exec TAPELINE -s -p PORT >&-");
    subject.recovers(SOON);
}

fn client_with_full_device() {
    let subject = Subject::new();
    let binary = Program::Tapeline.path().display();
    let address = subject.address();
    for output in [">/dev/full", "-o /dev/full"] {
        let words = format!(
            "exec {binary} -c 127.0.0.1 -p {} -n 100K {output}",
            address.port()
        );
        let run = Invocation::for_executable("sh", "sh")
            .args(["-c", &words])
            .run()
            .expect("it ends");
        assert_ne!(run.code(), Some(0), "{run}");
        assert_eq!(run.stderr.matches("No space left").count(), 1, "{run}");
    }
    subject.recovers(SOON);
}
