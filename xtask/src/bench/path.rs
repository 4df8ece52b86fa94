//! Where the data of a benchmark go.

use std::fmt;
use std::net::IpAddr;

use interop::{Family, Invocation, Namespace, NamespacePair, Program, Server, ServerSpec};

/// The way from the client to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The loopback interface: segments of 64 KiB.
    Loopback,
    /// A veth pair between two namespaces: Ethernet frames of 1500 bytes.
    Cable(&'a NamespacePair),
}

impl<'a> Path<'a> {
    /// Starts a server at its end.
    pub(crate) fn serve(self, spec: &ServerSpec) -> std::io::Result<Server> {
        match self {
            Self::Loopback => spec.start(),
            Self::Cable(pair) => spec.start_within(&pair.server),
        }
    }

    /// A client at its beginning.
    pub(crate) fn client(self, program: Program, server: &Server) -> Invocation {
        let client = server.client_to(program, self.address());
        match self {
            Self::Loopback => client,
            Self::Cable(pair) => client.within(&pair.client),
        }
    }

    fn address(self) -> IpAddr {
        match self {
            Self::Loopback => Family::V4.loopback(),
            Self::Cable(pair) => pair.server_address(Family::V4),
        }
    }

    /// The interface at which the server's datagrams arrive, and its namespace.
    pub(crate) const fn receiving(self) -> (Option<&'a Namespace>, &'static str) {
        match self {
            Self::Loopback => (None, "lo"),
            Self::Cable(pair) => (Some(&pair.server), Namespace::INTERFACE),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "loopback",
            Self::Cable(_) => "veth",
        })
    }
}
