//! Which agents are there.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_base::MonoTime;

use crate::clock::UnixTime;
use crate::job::Epoch;
use crate::message::Beat;
use crate::names::HostName;

/// An agent without a beat for so long is away: two beats were lost.
pub const AWAY: Duration = Duration::from_secs(80);

#[derive(Clone, Debug)]
struct Presence {
    address: String,
    epoch: Epoch,
    last: MonoTime,
    last_wall: UnixTime,
    is_away: bool,
}

/// The agents that were ever heard of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    agents: BTreeMap<HostName, Presence>,
}

impl Agents {
    /// An agent is there.
    pub(crate) fn heard(&mut self, beat: &Beat, now: MonoTime, wall: UnixTime) {
        let presence = Presence {
            address: beat.address.clone(),
            epoch: beat.epoch,
            last: now,
            last_wall: wall,
            is_away: false,
        };
        self.agents.insert(beat.host.clone(), presence);
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
        agent.is_some_and(|agent| !agent.is_away && now.since(agent.last) < AWAY)
    }

    /// When it was there last; none: never.
    pub(crate) fn last(&self, host: &HostName) -> Option<UnixTime> {
        self.agents.get(host).map(|agent| agent.last_wall)
    }

    /// What others test towards.
    pub(crate) fn address(&self, host: &HostName) -> String {
        let agent = self.agents.get(host);
        agent.map(|agent| agent.address.clone()).unwrap_or_default()
    }

    /// The newest epoch that it is known to know.
    pub(crate) fn epoch(&self, host: &HostName) -> Option<Epoch> {
        self.agents.get(host).map(|agent| agent.epoch)
    }
}
