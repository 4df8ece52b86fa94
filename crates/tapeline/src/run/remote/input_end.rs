//! A test that was ordered ends with its input.

use std::io;
use std::time::Duration;

use tapeline_remote::END_WITH_INPUT;
use tapeline_sys::Interrupts;

/// Time for a test to end in order once its input has ended.
const ENDING: Duration = Duration::from_secs(5);

/// Takes the end of standard input for an interrupt, and again five seconds later, where whoever
/// started this process wants that: nothing outlives who ordered it.
pub(crate) fn end_with_input() {
    if std::env::var_os(END_WITH_INPUT).is_none() {
        return;
    }
    // Without a thread nobody could end the test in order: its process would be killed.
    let _ = std::thread::Builder::new().name("input".into()).spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        if let Ok(interrupts) = Interrupts::install() {
            interrupts.raise();
            std::thread::sleep(ENDING);
            interrupts.raise();
        }
    });
}
