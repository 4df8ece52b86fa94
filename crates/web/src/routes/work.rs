//! What most answers need.

use crate::refusal::Refusal;
use crate::site::Site;

/// Does what waits for files, away from the connections.
pub(crate) async fn off<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Refusal::Failed("a fault of this program".to_owned())))
}

/// Nothing changes on a page that only shows.
pub(crate) fn writable(site: &Site) -> Result<(), Refusal> {
    if site.read_only {
        let why = "this page only shows: it was started with --read-only";
        return Err(Refusal::Forbidden(why.to_owned()));
    }
    Ok(())
}
