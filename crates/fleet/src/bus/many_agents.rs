//! Many agents on one thread, each with a connection of its own: what a simulation runs.

use std::cell::RefCell;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::bus::agent_loop::{AgentHost, AgentStart, serve};
use crate::bus::error::BusError;
use crate::bus::machine_clock::MachineClock;
use crate::bus::runtime::block_on;
use crate::bus::stop::Stop;
use crate::names::HostName;
use crate::site::AgentSettings;

/// One agent among many.
pub struct OneAgent {
    /// Its settings.
    pub settings: AgentSettings,
    /// What it starts with.
    pub start: AgentStart,
    /// Its host, which must not block: it would block the others.
    pub host: Box<dyn AgentHost>,
}

/// Serves as many agents, one of which starts after each `pause`, until the end is wished for. `say` is given
/// what each of them says.
///
/// # Errors
/// The server refuses one of them, or will not do. All of them end then.
pub fn run_agents(
    agents: Vec<OneAgent>,
    pause: Duration,
    clock: &MachineClock,
    stop: &Stop,
    say: &mut dyn FnMut(&HostName, &str),
) -> Result<(), BusError> {
    let say = RefCell::new(say);
    let start = clock.now().mono;
    let serving = agents.into_iter().zip(0..).map(|(agent, before)| {
        let (say, mut stop) = (&say, stop.clone());
        async move {
            tokio::select! {
                () = stop.wished() => return Ok(()),
                () = clock.until(start + pause * before) => {}
            }
            let OneAgent {
                settings,
                start,
                mut host,
            } = agent;
            let mut say = |what: &str| say.borrow_mut()(&settings.host, what);
            serve(&settings, start, host.as_mut(), clock, stop, &mut say).await
        }
    });
    block_on(async {
        let mut serving: FuturesUnordered<_> = serving.collect();
        while let Some(ended) = serving.next().await {
            ended?;
        }
        Ok(())
    })
}
