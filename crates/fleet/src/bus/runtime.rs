//! The thread that waits.

use std::future::Future;

use crate::bus::error::BusError;

/// Carries a future out on this thread.
pub(crate) fn block_on<T>(
    future: impl Future<Output = Result<T, BusError>>,
) -> Result<T, BusError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| BusError::Host {
        what: "wait for a server".to_owned(),
        cause: error.to_string(),
    })?;
    runtime.block_on(future)
}
