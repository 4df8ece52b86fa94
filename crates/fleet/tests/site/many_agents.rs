//! Many agents on one thread.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use tapeline_fleet::{
    AgentHost, AgentSettings, AgentStart, AttemptKey, Kept, MachineClock, OneAgent, ResultKey,
    ResultMessage, StopSwitch, TestEvents, run_agents,
};
use tapeline_remote::Order;

use crate::server::Site;

/// Nothing on this host takes so long.
const PATIENCE: Duration = Duration::from_secs(20);
const HOSTS: [&str; 3] = ["ams1", "fra1", "osl1"];

/// A host that is given nothing to do.
struct IdleHost;

impl AgentHost for IdleHost {
    fn lock(&mut self) -> bool {
        true
    }
    fn unlock(&mut self) {}
    fn start(&mut self, _: &AttemptKey, _: Order, _: &TestEvents) {}
    fn stop(&mut self, _: &AttemptKey) {}
    fn ended(&mut self, _: &AttemptKey) {}
    fn keep(&mut self, _: &Kept) {}
    fn spool(&mut self, _: &ResultMessage) -> Option<u64> {
        None
    }
    fn unspool(&mut self, _: &ResultKey) {}
    fn spooled(&mut self, _: &ResultKey) -> Option<ResultMessage> {
        None
    }
}

fn agent(folder: &Path, host: &str) -> OneAgent {
    let path = folder.join(format!("{host}.toml"));
    OneAgent {
        settings: AgentSettings::read(&path).expect("settings"),
        start: AgentStart {
            version: "test".to_owned(),
            kept: Kept::default(),
            spooled: Vec::new(),
        },
        host: Box::new(IdleHost),
    }
}

#[test]
fn many_agents_serve_on_one_thread_and_end_together() {
    let name = "many_agents_serve_on_one_thread_and_end_together";
    let Some(site) = Site::start(name, &HOSTS) else {
        return;
    };
    let folder = site.folder.path().to_owned();
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let agents = HOSTS.map(|host| agent(&folder, host)).into();
        let (switch, stop) = StopSwitch::new();
        let mut waiting = BTreeSet::new();
        let served = run_agents(
            agents,
            Duration::from_millis(1),
            &MachineClock::new(|_| 0),
            &stop,
            &mut |host, what| {
                assert_eq!(what, "waits for orders", "{host}");
                waiting.insert(host.to_string());
                if waiting.len() == HOSTS.len() {
                    switch.stop();
                }
            },
        );
        let _ = sender.send((served, waiting));
    });
    let (served, waiting) = ended.recv_timeout(PATIENCE).expect("an end");
    assert_eq!(served, Ok(()));
    assert_eq!(waiting, HOSTS.map(str::to_owned).into());
}
