//! The thread that waits.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};

use crate::bus::error::BusError;

/// What lets this thread wait for many things.
pub(crate) fn runtime() -> Result<Runtime, BusError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| BusError::Host {
        what: "wait for a server".to_owned(),
        cause: error.to_string(),
    })
}

/// Carries a future out on this thread.
pub(crate) fn block_on<T>(
    future: impl Future<Output = Result<T, BusError>>,
) -> Result<T, BusError> {
    runtime()?.block_on(future)
}
