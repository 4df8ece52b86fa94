//! How a program on another host is reached.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

/// Options of every call of ssh: it never asks, and notices within 15 seconds that a host has gone.
/// The rest, host keys above all, is as the user has configured it.
const SSH: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];

/// What starts a program whose standard streams speak orders and replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// This host; where tapeline is.
    Local(PathBuf),
    /// The system's ssh.
    Ssh {
        /// A host, `user@host`, or an alias of ssh's configuration.
        destination: String,
        /// Where tapeline is on that host.
        program: FarProgram,
    },
    /// A command in ssh's place, `kubectl exec -i pod/web3 --`; `tapeline remote` follows it.
    Command(Vec<OsString>),
}

/// Where tapeline is on another host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FarProgram {
    /// Where that host's shell finds it.
    #[default]
    InPath,
    /// In the cache of the user there, as a copy of this version.
    Copied,
}

/// A destination that ssh would take for an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDestination(pub String);

impl fmt::Display for NoDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = if self.0.is_empty() {
            "it is empty"
        } else {
            "it begins with -"
        };
        write!(f, "{:?} is no host for ssh: {why}", self.0)
    }
}

impl std::error::Error for NoDestination {}

impl FarProgram {
    /// What the shell of that host carries out: a constant, so nothing is quoted.
    const fn order(self) -> &'static str {
        match self {
            Self::InPath => "exec tapeline remote",
            Self::Copied => concat!(
                "exec ~/.cache/tapeline/",
                env!("CARGO_PKG_VERSION"),
                "/tapeline remote"
            ),
        }
    }
}

impl Transport {
    /// Over ssh, to a tapeline that the shell there finds.
    #[must_use]
    pub fn ssh(destination: &str) -> Self {
        Self::Ssh {
            destination: destination.to_owned(),
            program: FarProgram::InPath,
        }
    }

    /// The command that starts `tapeline remote`.
    ///
    /// # Errors
    /// A destination that ssh would take for an option.
    pub fn command(&self) -> Result<Command, NoDestination> {
        match self {
            Self::Local(program) => {
                let mut command = Command::new(program);
                command.args(["--as", "tapeline", "remote"]);
                Ok(command)
            }
            Self::Ssh {
                destination,
                program,
            } => ssh_command(destination, program.order()),
            Self::Command(words) => {
                let mut words = words.iter();
                let mut command = Command::new(words.next().cloned().unwrap_or_default());
                command.args(words).args(["tapeline", "remote"]);
                Ok(command)
            }
        }
    }

    /// Who is reached, for sentences.
    #[must_use]
    pub fn host(&self) -> String {
        match self {
            Self::Local(_) => "this host".to_owned(),
            Self::Ssh { destination, .. } => destination.clone(),
            Self::Command(words) => {
                let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                format!("`{}`", words.join(" "))
            }
        }
    }

    /// What reaches it, for sentences.
    pub(crate) fn means(&self) -> String {
        match self {
            Self::Local(program) => program.display().to_string(),
            Self::Ssh { .. } => "ssh".to_owned(),
            Self::Command(words) => {
                let first = words.first().map(|word| word.to_string_lossy());
                first.unwrap_or_default().into_owned()
            }
        }
    }
}

/// A call of ssh that has the shell of that host carry out `order`, a constant.
pub(crate) fn ssh_command(
    destination: &str,
    order: &'static str,
) -> Result<Command, NoDestination> {
    if destination.is_empty() || destination.starts_with('-') {
        return Err(NoDestination(destination.to_owned()));
    }
    let mut command = Command::new("ssh");
    command.args(SSH).arg(destination).arg(order);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(transport: &Transport) -> Vec<String> {
        let command = transport.command().expect("a destination");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn ssh_gets_a_constant_and_nothing_to_quote() {
        let line = words(&Transport::ssh("net@web3")).join(" ");
        assert_eq!(
            line,
            "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 \
             -o ServerAliveCountMax=3 net@web3 exec tapeline remote"
        );
    }

    #[test]
    fn options_are_no_destinations() {
        for destination in ["-oProxyCommand=x", "-", ""] {
            let refused = Transport::ssh(destination).command().expect_err("refused");
            assert_eq!(refused, NoDestination(destination.to_owned()));
        }
    }

    #[test]
    fn a_command_is_followed_by_the_program() {
        let via = ["kubectl", "exec", "-i", "pod/web3", "--"].map(OsString::from);
        let via = Transport::Command(via.to_vec());
        let line = words(&via).join(" ");
        assert_eq!(line, "kubectl exec -i pod/web3 -- tapeline remote");
        assert_eq!(via.host(), "`kubectl exec -i pod/web3 --`");
    }
}
