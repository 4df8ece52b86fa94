use std::sync::mpsc::Sender;
use std::time::Duration;

use tapeline_base::{Placement, WallTime};
use tapeline_report::{Measure, Notice, PeerProgress, Phase, Row, Span, Subject, UdpSend};

use super::*;

/// Writes one line for each row and one for each notice.
struct Marks;

impl Renderer for Marks {
    fn render(&mut self, event: &Event, out: &mut Output) {
        out.stdout.push_str(match event {
            Event::Row(_) => "row\n",
            _ => "notice\n",
        });
    }
}

/// Says that a write has begun, then waits for leave to take it.
struct Slow {
    begun: Sender<()>,
    leave: Receiver<()>,
    written: Sender<u8>,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.begun.send(());
        let _ = self.leave.recv();
        for byte in bytes {
            let _ = self.written.send(*byte);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails always, counting.
struct Full(Sender<()>);

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(());
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn printer_thread(
    writer: impl Write + Send + 'static,
    role: Role,
) -> (PrinterThread, Interruption) {
    let interruption = Interruption::new().expect("a wake-up channel");
    let printer_thread = PrinterThread {
        progress: None,
        renderer: Box::new(Marks),
        writer: Box::new(writer),
        errors: Box::new(io::stderr()),
        role,
        interruption: interruption.clone(),
        failed: false,
    };
    (printer_thread, interruption)
}

fn row() -> Event {
    Event::Row(Row {
        subject: Subject::Sum { flows: 1 },
        phase: Phase::Interval,
        span: Span {
            start: Duration::ZERO,
            end: Duration::from_secs(1),
        },
        ended: WallTime::from_nanos(0),
        bytes: 0,
        endpoints: None,
        trip_times: false,
        placement: Placement::default(),
        measure: Measure::UdpSend(UdpSend::default()),
    })
}

#[test]
fn rows_that_a_slow_output_cannot_take_are_dropped_and_counted() {
    let (begun, has_begun) = mpsc::channel();
    let (leave, leaves) = mpsc::channel();
    let (written, text) = mpsc::channel();
    let slow = Slow {
        begun,
        leave: leaves,
        written,
    };
    let (printer_thread, _) = printer_thread(slow, Role::Client);
    let printer = Printer::run(printer_thread, 2).expect("a thread");
    let queue = printer.events.clone();
    let mut sink = printer.sink();
    sink(row());
    has_begun.recv().expect("a write");
    // The output is stuck with one row; two more wait, the others do not.
    for _ in 0..10 {
        sink(row());
    }
    // What is reported next to the rows does not wait for its place either.
    sink(Event::PeerProgress(PeerProgress::default()));
    assert_eq!(queue.dropped(), 8);
    drop(leave);
    // A condition waits for its place and is never dropped.
    sink(Event::Notice(Notice::Interrupted));
    drop(sink);
    assert_eq!(printer.finish(ExitCode::Success), ExitCode::Success);
    let text: Vec<u8> = text.try_iter().collect();
    assert_eq!(text, b"row\nrow\nrow\nnotice\n");
    assert_eq!(
        not_shown(8),
        "warning: 8 interval rows were not shown: the output was too slow"
    );
}

#[test]
fn a_client_ends_when_it_cannot_report() {
    let (failed, failures) = mpsc::channel();
    let (printer_thread, interruption) = printer_thread(Full(failed), Role::Client);
    let printer = Printer::run(printer_thread, 8).expect("a thread");
    let mut sink = printer.sink();
    sink(row());
    failures.recv().expect("an attempt");
    sink(row());
    drop(sink);
    assert_eq!(printer.finish(ExitCode::Success), ExitCode::Failure);
    assert!(interruption.is_raised());
    assert_eq!(failures.iter().count(), 0, "it wrote on");
}

#[test]
fn a_server_goes_on_when_it_cannot_report() {
    let (failed, failures) = mpsc::channel();
    let (printer_thread, interruption) = printer_thread(Full(failed), Role::Server);
    let printer = Printer::run(printer_thread, 8).expect("a thread");
    let mut sink = printer.sink();
    sink(row());
    failures.recv().expect("an attempt");
    sink(row());
    drop(sink);
    assert_eq!(printer.finish(ExitCode::Success), ExitCode::Failure);
    assert!(!interruption.is_raised());
    assert_eq!(failures.iter().count(), 1, "there may be room again");
}
