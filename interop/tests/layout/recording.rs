//! Recorded runs, and networks like those of the recordings.

use std::path::Path;

use interop::{Namespace, NamespacePair, Transport};
use tapeline_report::Build;

/// Where the recordings of a build are.
fn folder(build: Build) -> &'static Path {
    Path::new(match build {
        Build::Plain => concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../crates/report/tests/golden/iperf2"
        ),
        Build::FastSampling => concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../crates/report/tests/golden/iperf2-fast-sampling"
        ),
    })
}

/// A recorded run.
pub(crate) struct Recording {
    pub(crate) server: Option<String>,
    pub(crate) client: Option<String>,
    /// What each side printed: the client, the server.
    pub(crate) printed: [String; 2],
}

impl Recording {
    pub(crate) fn load(name: &str, build: Build) -> Self {
        Self::load_from(folder(build), name)
    }

    pub(crate) fn load_from(folder: &Path, name: &str) -> Self {
        let read = |end: &str| {
            let path = folder.join(format!("{name}.{end}"));
            std::fs::read_to_string(&path).unwrap_or_default()
        };
        let commands = read("cmd");
        assert!(!commands.is_empty(), "no recording {name}");
        let line = |side: &str| {
            let line = commands.lines().find_map(|line| line.strip_prefix(side))?;
            // The only quotes are around a word without blanks.
            let line = line.replace('\'', "").trim().to_owned();
            (!line.is_empty()).then_some(line)
        };
        Self {
            server: line("server:"),
            client: line("client:"),
            printed: [read("client.txt"), read("server.txt")],
        }
    }

    pub(crate) fn transport(&self) -> Transport {
        let line = self.server.as_ref().or(self.client.as_ref());
        let udp = |line: &String| line.split(' ').any(|word| word == "-u" || word == "-U");
        if line.is_some_and(udp) {
            Transport::Udp
        } else {
            Transport::Tcp
        }
    }

    /// A port on which its server listens, the last one of a range.
    pub(crate) fn port(&self) -> u16 {
        let line = self.server.as_deref().unwrap_or_default();
        let mut words = line.split(' ').skip_while(|word| *word != "-p").skip(1);
        let port = words.next().and_then(|ports| ports.rsplit('-').next());
        port.map_or(5001, |port| port.parse().expect("a port"))
    }
}

/// Two hosts with the addresses and routes of the recordings.
pub(crate) fn hosts() -> std::io::Result<NamespacePair> {
    let pair = NamespacePair::new()?;
    let interface = Namespace::INTERFACE;
    for (namespace, host, others) in [(&pair.client, 1, 11..15), (&pair.server, 2, 3..7)] {
        namespace.ip(&format!("address add 192.168.77.{host}/24 dev {interface}"))?;
        for other in others {
            namespace.ip(&format!(
                "address add 192.168.77.{other}/24 dev {interface}"
            ))?;
        }
        namespace.ip(&format!(
            "address add 2001:db8:77::{host}/64 dev {interface} nodad"
        ))?;
        namespace.ip(&format!(
            "route add 224.0.0.0/4 dev {interface} src 192.168.77.{host}"
        ))?;
    }
    Ok(pair)
}
