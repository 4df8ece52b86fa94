//! A trial of a rate, and what it says for a goal.

/// A loss that is acceptable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossGoal {
    /// Share of the datagrams that may be lost, 0 to 1.
    pub loss: f64,
    /// Seconds of full trials after which no more are needed.
    pub duration_sum: f64,
    /// Share of these that may lose more.
    pub exceed: f64,
}

/// What to try next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedTrial {
    /// Bits per second.
    pub load: u64,
    /// Length.
    pub seconds: f64,
}

/// A host, not the network, may have decided a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostFault {
    /// By how much.
    pub extent: FaultExtent,
    /// So many of the losses may be the host's; `None` where it sent less than the load, and the trial
    /// says nothing of the path at all.
    pub losses: Option<u64>,
}

/// By how much a host fell short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultExtent {
    /// So little that it may only have been held up.
    Disturbed,
    /// By far.
    Limited,
}

/// What became of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialResult {
    /// As planned.
    pub trial: PlannedTrial,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams lost between the hosts.
    pub lost: u64,
    /// What a host did to it.
    pub fault: Option<HostFault>,
}

impl TrialResult {
    /// Lost share; nothing sent is nothing lost.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.share(self.lost)
    }

    fn share(&self, count: u64) -> f64 {
        count as f64 / self.sent.max(1) as f64
    }

    /// Whether it decides anything for a goal: losses that may be a host's leave open only whether the
    /// path keeps a goal that all of them break and the others do not.
    #[must_use]
    pub fn counts_for(&self, goal: &LossGoal) -> bool {
        let Some(fault) = self.fault else { return true };
        fault.losses.is_some_and(|of_host| {
            let on_the_way = self.share(self.lost.saturating_sub(of_host));
            self.loss() <= goal.loss || on_the_way > goal.loss
        })
    }

    /// Whether the path loses more than this share, at 95 %: one of few datagrams does not show it.
    pub(crate) fn surely_exceeds(&self, share: f64) -> bool {
        loss_interval(self.lost, self.sent).is_some_and(|(least, _)| least > share)
    }

    /// The rate that arrived, bits per second.
    #[must_use]
    pub fn forwarded(&self) -> f64 {
        self.trial.load as f64 * (1.0 - self.loss())
    }
}

/// Between which shares the true loss lies at 95 %, when `lost` of `sent` were lost: below 3/N
/// without losses (the rule of three), else Wilson's interval. Nothing when nothing was sent.
#[must_use]
pub fn loss_interval(lost: u64, sent: u64) -> Option<(f64, f64)> {
    if sent == 0 {
        return None;
    }
    let count = sent as f64;
    if lost == 0 {
        return Some((0.0, (3.0 / count).min(1.0)));
    }
    const Z: f64 = 1.959_964;
    let share = lost.min(sent) as f64 / count;
    let scale = 1.0 + Z * Z / count;
    let middle = (share + Z * Z / (2.0 * count)) / scale;
    let spread = share * (1.0 - share) / count + Z * Z / (4.0 * count * count);
    let half = Z / scale * spread.sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}
