//! Which agents are there.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::MonoTime;

use crate::job::Epoch;
use crate::message::Beat;
use crate::names::HostName;

/// An agent without a beat for so long is away: two beats were lost.
pub const AWAY: Duration = Duration::from_secs(80);

#[derive(Clone, Debug)]
struct Presence {
    address: Arc<str>,
    epoch: Epoch,
    last: MonoTime,
    is_away: bool,
}

impl Presence {
    fn is_there(&self, now: MonoTime) -> bool {
        !self.is_away && now.since(self.last) < AWAY
    }
}

/// The agents that were ever heard of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    agents: HashMap<HostName, Presence>,
}

impl Agents {
    /// An agent is there. Returns whether it was before.
    pub(crate) fn heard(&mut self, beat: &Beat, now: MonoTime) -> bool {
        let Some(presence) = self.agents.get_mut(&beat.host) else {
            let presence = Presence {
                address: Arc::clone(&beat.address),
                epoch: beat.epoch,
                last: now,
                is_away: false,
            };
            self.agents.insert(beat.host.clone(), presence);
            return false;
        };
        let was_there = presence.is_there(now);
        if presence.address != beat.address {
            presence.address = Arc::clone(&beat.address);
        }
        presence.epoch = beat.epoch;
        presence.last = now;
        presence.is_away = false;
        was_there
    }

    /// No message reaches the agent.
    pub(crate) fn lost(&mut self, host: &HostName) {
        if let Some(agent) = self.agents.get_mut(host) {
            agent.is_away = true;
        }
    }

    /// Whether orders are likely to reach it.
    pub(crate) fn is_there(&self, host: &HostName, now: MonoTime) -> bool {
        let agent = self.agents.get(host);
        agent.is_some_and(|agent| agent.is_there(now))
    }

    /// What others test towards.
    pub(crate) fn address(&self, host: &HostName) -> &str {
        let agent = self.agents.get(host);
        agent.map(|agent| &*agent.address).unwrap_or_default()
    }
}
