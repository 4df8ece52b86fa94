//! Both stages of an interrupt: the first ends the test in order, the second at once.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use tapeline_sys::{Interrupts, Wait, exit_now};

/// Catches the signals from here on; [`on_interrupt`] acts on those that have come meanwhile.
///
/// # Errors
/// When the handlers cannot be had.
#[cfg(feature = "tui")]
pub(crate) fn catch() -> io::Result<Interrupts> {
    Interrupts::install()
}

/// SIGHUP ends the test in order too.
///
/// # Errors
/// When the handlers cannot be had.
pub(crate) fn include_hangup() -> io::Result<()> {
    Interrupts::install()?.include_hangup()
}

/// Time for the outputs to take what was measured, when the process is to end at once.
const CLOSING: Duration = Duration::from_secs(1);

/// Calls `first` on the first SIGINT, SIGTERM or SIGALRM. A second one calls `second` and ends the
/// process, even if that takes too long; whole lines written so far stay written.
///
/// # Errors
/// When the handlers or their thread cannot be had.
pub(crate) fn on_interrupt(
    first: impl FnOnce() + Send + 'static,
    second: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    watch(Interrupts::install()?, first, second, || {})
}

/// The same, and calls `wished` on each SIGHUP.
///
/// # Errors
/// When the handlers or their thread cannot be had.
pub(crate) fn on_interrupt_or_wish(
    first: impl FnOnce() + Send + 'static,
    second: impl FnOnce() + Send + 'static,
    wished: impl FnMut() + Send + 'static,
) -> io::Result<()> {
    let interrupts = Interrupts::install()?;
    interrupts.include_wishes()?;
    watch(interrupts, first, second, wished)
}

fn watch(
    interrupts: Interrupts,
    first: impl FnOnce() + Send + 'static,
    second: impl FnOnce() + Send + 'static,
    mut wished: impl FnMut() + Send + 'static,
) -> io::Result<()> {
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let mut seen = 0;
            let mut first = Some(first);
            let mut second = Some(second);
            loop {
                match interrupts.wait(seen, Wait::Forever) {
                    Ok(count) if count > seen => {
                        seen = count;
                        if let Some(first) = first.take() {
                            first();
                        }
                        if count > 1 {
                            second.take().into_iter().for_each(within_closing);
                            #[cfg(feature = "tui")]
                            super::terminal_lease::give_back();
                            exit_now(0);
                        }
                    }
                    Ok(_) if interrupts.take_wish() => wished(),
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
        })?;
    Ok(())
}

/// Calls `last` on a thread of its own, since what it waits for may never come.
fn within_closing(last: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel::<()>();
    let spawned = std::thread::Builder::new()
        .name("closing".into())
        .spawn(move || {
            last();
            drop(done);
        });
    if spawned.is_ok() {
        let _ = is_done.recv_timeout(CLOSING);
    }
}
