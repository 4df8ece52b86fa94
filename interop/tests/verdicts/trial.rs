//! One run of a situation.

use std::io;
use std::sync::RwLock;
use std::time::Duration;

use interop::{
    Family, Finished, Invocation, NamespacePair, PacketFilter, Places, Program, Server, ServerSpec,
    Transport, free_port,
};
use serde_json::{Value, json};

use crate::cause::{Grade, Said};
use crate::host::Hold;
use crate::network::{Network, Seed, shown};
use crate::situation::{Direction, Run, Setting, Situation};

/// Time for a client, and for what it waits for at its end.
const TIMEOUT: Duration = Duration::from_secs(40);

/// Time that a server may take for its document when its client has ended.
const SUMMARY: Duration = Duration::from_secs(15);

/// Held by those that want the machine for themselves, and shared by the others.
static MACHINE: RwLock<()> = RwLock::new(());

/// A run of a situation: with whom, which way, and by which numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial {
    pub(crate) situation: &'static Situation,
    pub(crate) run: Run,
    pub(crate) seed: u64,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) said: Said,
    pub(crate) grade: Grade,
    /// Whether the relay lost packets that it should have carried.
    overrun: bool,
    /// All that led there, for the log and for messages.
    pub(crate) record: Value,
}

/// Why there is no outcome.
pub(crate) enum Missing {
    /// This machine cannot make the situation.
    Skipped(String),
    /// Something failed.
    Failed(String),
}

impl From<io::Error> for Missing {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Trial {
    /// Its name, which is unique.
    pub(crate) fn name(&self) -> String {
        let name = self.situation.name;
        format!("{name}, {}, seed {}", self.run, self.seed)
    }

    /// Runs it, and again alone where a neighbour may have been the limit: one that takes the
    /// processor, the relay's too, makes another situation.
    pub(crate) fn run(&self) -> Result<Outcome, Missing> {
        if self.situation.setting != Setting::Alone {
            let outcome = {
                let _machine = MACHINE.read();
                self.run_now()?
            };
            let disturbed = outcome.said.is_of_processors() || outcome.overrun;
            if !(outcome.grade.misleads() && disturbed) {
                return Ok(outcome);
            }
        }
        let _machine = MACHINE.write();
        self.run_now()
    }

    fn run_now(&self) -> Result<Outcome, Missing> {
        let missing = [Program::Tapeline, self.run.peer]
            .into_iter()
            .find_map(Program::missing);
        if let Some(reason) = missing.or_else(NamespacePair::unavailable) {
            return Err(Missing::Skipped(reason));
        }
        let its = self.situation;
        let mut seed = Seed::new(its.name, self.seed);
        let (data, answers) = (seed.varied(its.data), seed.varied(its.back));
        let (there, back) = match self.run.direction {
            Direction::Forward => (data, answers),
            Direction::Reverse => (answers, data),
        };
        let skipped = |error: io::Error| Missing::Skipped(error.to_string());
        let network = Network::new(&there, &back, &mut seed).map_err(skipped)?;
        let _shaped = network.shape(&there, &back)?;
        let hosts = network.hosts();
        let (sends, receives) = match self.run.direction {
            Direction::Forward => (&hosts.client, &hosts.server),
            Direction::Reverse => (&hosts.server, &hosts.client),
        };
        Network::limit(sends, its.send_memory, 0)?;
        Network::limit(receives, 0, its.receive_memory)?;
        let [sending, receiving] =
            [its.sending_host, its.receiving_host].map(|host| Hold::new(host).map_err(skipped));
        let (sending, receiving) = (sending?, receiving?);
        let (client_hold, server_hold) = match self.run.direction {
            Direction::Forward => (sending, receiving),
            Direction::Reverse => (receiving, sending),
        };
        let mut server = self.server(hosts)?;
        if let Some(server) = &mut server {
            server_hold.confine(server.process().id())?;
        }
        let port = server.as_ref().map_or_else(free_port, Server::port);
        let _filter = match data.filtered_one_in {
            0 => None,
            period => {
                let places = Places::one(period, 1);
                let filter = PacketFilter::drop_arriving(&hosts.server, port, places);
                Some(filter.map_err(skipped)?)
            }
        };
        let _competitor = self.competitor(hosts)?;
        let client = self.client(hosts, port).spawn()?;
        client_hold.confine(client.id())?;
        let client = client.wait()?;
        if let (true, Some(server)) = (self.run.calls, &mut server) {
            let complete = |out: &str| out.contains("\"schema\"") && out.ends_with('\n');
            server.process().wait_for(SUMMARY, complete);
        }
        let overrun = network.is_overrun()?;
        let network = format!("there: {}; back: {}", shown(&there), shown(&back));
        let server = server.map(Server::kill).transpose()?;
        self.outcome(&client, server.as_ref(), network, overrun)
    }

    /// The server, if there is to be one.
    fn server(&self, hosts: &NamespacePair) -> io::Result<Option<Server>> {
        let its = self.situation;
        if its.setting == Setting::NoServer {
            return Ok(None);
        }
        let program = match self.run.calls {
            true => Program::Tapeline,
            false => self.run.peer,
        };
        // The others listen for both transports with one socket.
        let listens = match (program, its.transport) {
            (Program::Iperf221, transport) => transport,
            _ => Transport::Tcp,
        };
        let end = match self.run.direction {
            Direction::Forward => its.receiver,
            Direction::Reverse => its.sender,
        };
        let document = if self.run.calls { "--json" } else { "" };
        let spec = ServerSpec::new(program, listens, Family::V4);
        let spec = spec.options(its.server).options(end).options(document);
        spec.start_within(&hosts.server).map(Some)
    }

    fn client(&self, hosts: &NamespacePair, port: u16) -> Invocation {
        let its = self.situation;
        let Run {
            peer,
            calls,
            direction,
        } = self.run;
        let (end, reverse) = match direction {
            Direction::Forward => (its.sender, ""),
            Direction::Reverse => (its.receiver, "-R"),
        };
        let (program, own) = match (calls, peer) {
            (true, _) => (peer, ""),
            (false, Program::Iperf3V22) => (Program::Tapeline, "--peer iperf3 --json"),
            (false, _) => (Program::Tapeline, "--json"),
        };
        // iperf3 has another name for the congestion control.
        let theirs = |options: &str| match program {
            Program::Iperf3V22 => options.replace("-Z", "-C"),
            _ => options.to_owned(),
        };
        Invocation::new(program)
            .args(["-c", &hosts.server_address(Family::V4).to_string()])
            .args(["-p", &port.to_string()])
            .args(its.transport.options().iter().copied())
            .line(&theirs(its.client))
            .line(&theirs(end))
            .line(reverse)
            .line(own)
            .within(&hosts.client)
            .deadline(TIMEOUT)
    }

    /// Another test next to this one, from before its start on.
    fn competitor(&self, hosts: &NamespacePair) -> io::Result<Option<(Server, interop::Running)>> {
        let Some(options) = self.situation.competitor else {
            return Ok(None);
        };
        let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
        let server = spec.start_within(&hosts.server)?;
        let reverse = match self.run.direction {
            Direction::Forward => "",
            Direction::Reverse => "-R",
        };
        let client = server
            .client_to(Program::Tapeline, hosts.server_address(Family::V4))
            .line(options)
            .line(reverse)
            .args(["-t", "30", "-i", "0.1"])
            .within(&hosts.client)
            .deadline(TIMEOUT)
            .spawn()?;
        client.wait_for(TIMEOUT, |out| out.contains("0.00-"));
        Ok(Some((server, client)))
    }

    fn outcome(
        &self,
        client: &Finished,
        server: Option<&Finished>,
        network: String,
        overrun: bool,
    ) -> Result<Outcome, Missing> {
        let its = self.situation;
        let shown = || {
            let server = server.map(ToString::to_string).unwrap_or_default();
            format!("{client}--- server\n{server}")
        };
        let text = match (self.run.calls, server) {
            (true, Some(server)) => server.stdout.lines().last().unwrap_or_default(),
            _ => &client.stdout,
        };
        let document: Value = serde_json::from_str(text)
            .map_err(|error| Missing::Failed(format!("no document ({error}): {}", shown())))?;
        // What fails where it should not is judged, too: it must not mislead either.
        let failed = client.code() != Some(0);
        if its.setting == Setting::NoServer && !failed {
            let message = format!("the test ran without a server: {}", shown());
            return Err(Missing::Failed(message));
        }
        let said = Said::from_verdict(&document["verdict"]).map_err(Missing::Failed)?;
        let grade = its.truth.grade(said);
        let names = |causes: &[crate::cause::Cause]| -> Vec<&str> {
            causes.iter().map(|cause| cause.id()).collect()
        };
        let streams = document["streams"].as_array().map(|streams| {
            let parts = streams.iter().map(|stream| {
                json!({"direction": stream["direction"], "sender": stream["sender"], "receiver": stream["receiver"], "rtt": stream["rtt"]["mean_ms"]})
            });
            parts.take(4).collect::<Vec<_>>()
        });
        let directions = document["sum"]["directions"].as_array().map(|all| {
            let parts = all.iter();
            let parts = parts.map(|one| json!({"direction": one["direction"], "verdict": one["verdict"], "sender": one["sender"], "receiver": one["receiver"]}));
            parts.collect::<Vec<_>>()
        });
        let record = json!({
            "trial": self.name(),
            "situation": its.name,
            "ours": self.run.peer.is_tapeline(),
            "run": self.run.to_string(),
            "seed": self.seed,
            "right": names(its.truth.right),
            "borne": names(its.truth.borne),
            "said": said.cause.id(),
            "confidence": said.confidence.id(),
            "grade": grade.id(),
            "evidence": document["verdict"]["evidence"],
            "client": client.shown,
            "server": server.map(|server| server.shown.clone()),
            "exit": client.code(),
            "network": network,
            "overrun": overrun,
            "memory": format!("send {}, receive {}", its.send_memory, its.receive_memory),
            "hosts": format!("sending {:?}, receiving {:?}", its.sending_host, its.receiving_host),
            "directions": directions,
            "streams": streams,
            "warnings": document["warnings"],
        });
        Ok(Outcome {
            said,
            grade,
            overrun,
            record,
        })
    }
}
