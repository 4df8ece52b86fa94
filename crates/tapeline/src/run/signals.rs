//! Both stages of an interrupt: the first ends the test in order, the second at once.

use std::io;

use tapeline_sys::{Interrupts, Signal, Wait, exit_now};

/// The latest of the signals that are caught.
pub(crate) fn latest() -> Option<Signal> {
    Interrupts::install().ok()?.latest()
}

/// SIGHUP ends the test in order too.
///
/// # Errors
/// When the handlers cannot be had.
pub(crate) fn include_hangup() -> io::Result<()> {
    Interrupts::install()?.include_hangup()
}

/// Calls `first` on the first SIGINT, SIGTERM or SIGALRM. A second one ends the process
/// at once; whole lines written so far stay written.
///
/// # Errors
/// When the handlers or their thread cannot be had.
pub(crate) fn on_interrupt(first: impl FnOnce() + Send + 'static) -> io::Result<()> {
    watch(Interrupts::install()?, first, || {})
}

/// The same, and calls `wished` on each SIGHUP.
///
/// # Errors
/// When the handlers or their thread cannot be had.
pub(crate) fn on_interrupt_or_wish(
    first: impl FnOnce() + Send + 'static,
    wished: impl FnMut() + Send + 'static,
) -> io::Result<()> {
    let interrupts = Interrupts::install()?;
    interrupts.include_wishes()?;
    watch(interrupts, first, wished)
}

fn watch(
    interrupts: Interrupts,
    first: impl FnOnce() + Send + 'static,
    mut wished: impl FnMut() + Send + 'static,
) -> io::Result<()> {
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let mut seen = 0;
            let mut first = Some(first);
            loop {
                match interrupts.wait(seen, Wait::Forever) {
                    Ok(count) if count > seen => {
                        seen = count;
                        if let Some(first) = first.take() {
                            first();
                        }
                        if count > 1 {
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
