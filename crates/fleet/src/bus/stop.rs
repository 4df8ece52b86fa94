//! The wish that a loop ends.

use std::sync::Arc;

use tokio::sync::watch;

/// Ends a loop; its copies do the same. Dropping them ends nothing.
#[derive(Clone, Debug)]
pub struct StopSwitch(Arc<watch::Sender<bool>>);

/// What a loop looks at.
#[derive(Clone, Debug)]
pub struct Stop {
    wish: watch::Receiver<bool>,
    _switch: StopSwitch,
}

impl StopSwitch {
    /// A switch, and what it ends.
    #[must_use]
    pub fn new() -> (Self, Stop) {
        let (sender, wish) = watch::channel(false);
        let switch = Self(Arc::new(sender));
        let stop = Stop {
            wish,
            _switch: switch.clone(),
        };
        (switch, stop)
    }

    /// Wishes for the end.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Comes once the end is wished for.
    pub(crate) async fn wished(&mut self) {
        // Its switch lives as long as this.
        let _ = self.wish.wait_for(|wish| *wish).await;
    }
}
