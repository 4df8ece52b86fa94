//! Where the data of a benchmark go.

use std::net::IpAddr;

use interop::{Family, Invocation, Namespace, NamespacePair};

use super::row::PathKind;

/// The way from the client to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The loopback interface: segments of 64 KiB.
    Loopback,
    /// A veth pair between two namespaces: Ethernet frames of 1500 bytes.
    Cable(&'a NamespacePair),
}

impl<'a> Path<'a> {
    /// A server's process at its end.
    pub(crate) fn at_server(self, invocation: Invocation) -> Invocation {
        match self {
            Self::Loopback => invocation,
            Self::Cable(pair) => invocation.within(&pair.server),
        }
    }

    /// A client's process at its beginning.
    pub(crate) fn at_client(self, invocation: Invocation) -> Invocation {
        match self {
            Self::Loopback => invocation,
            Self::Cable(pair) => invocation.within(&pair.client),
        }
    }

    /// The server's address.
    pub(crate) fn address(self) -> IpAddr {
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

    /// Which it is.
    pub(crate) const fn kind(self) -> PathKind {
        match self {
            Self::Loopback => PathKind::Loopback,
            Self::Cable(_) => PathKind::Veth,
        }
    }
}
