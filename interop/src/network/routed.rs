//! Two hosts with two routers between them: one on the way there, one on the way back.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::namespace::{Namespace, run_tool};
use crate::Family;

/// A cable of a [`RoutedPair`], named by what is at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cable {
    /// Client and the router on the way there.
    ClientThere,
    /// That router and the server.
    ThereServer,
    /// Server and the router on the way back.
    ServerBack,
    /// That router and the client.
    BackClient,
}

impl Cable {
    /// All of them, in the order of a round trip.
    pub const ALL: [Self; 4] = [
        Self::ClientThere,
        Self::ThereServer,
        Self::ServerBack,
        Self::BackClient,
    ];

    const fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// Client, server and two routers. Packets to the server pass `there`, packets to the client `back`.
///
/// Each host has the interfaces `there` and `back`; each router `client` and `server`.
#[derive(Debug)]
pub struct RoutedPair {
    /// Where clients run.
    pub client: Namespace,
    /// Where servers run.
    pub server: Namespace,
    /// The router from client to server.
    pub there: Namespace,
    /// The router from server to client.
    pub back: Namespace,
}

impl RoutedPair {
    /// Makes the network; every cable carries packets of 1500 bytes.
    ///
    /// # Errors
    /// As [`crate::NamespacePair::new`].
    pub fn new() -> io::Result<Self> {
        let pair = Self {
            client: Namespace::new("c")?,
            server: Namespace::new("s")?,
            there: Namespace::new("t")?,
            back: Namespace::new("b")?,
        };
        for cable in Cable::ALL {
            pair.lay(cable)?;
        }
        for router in [&pair.there, &pair.back] {
            router.set("net.ipv4.ip_forward", "1")?;
            router.set("net.ipv6.conf.all.forwarding", "1")?;
        }
        for family in Family::ALL {
            pair.set_routes(family)?;
        }
        Ok(pair)
    }

    /// The ends of a cable, with its interface and the number of the host in its network.
    fn ends(&self, cable: Cable) -> [(&Namespace, &'static str, u8); 2] {
        match cable {
            Cable::ClientThere => [(&self.client, "there", 1), (&self.there, "client", 2)],
            Cable::ThereServer => [(&self.there, "server", 1), (&self.server, "there", 2)],
            Cable::ServerBack => [(&self.server, "back", 1), (&self.back, "server", 2)],
            Cable::BackClient => [(&self.back, "client", 1), (&self.client, "back", 2)],
        }
    }

    fn lay(&self, cable: Cable) -> io::Result<()> {
        let [(one, first, _), (other, second, _)] = self.ends(cable);
        run_tool(
            "ip",
            &format!(
                "link add {first} netns {} type veth peer name {second} netns {}",
                one.name(),
                other.name()
            ),
        )?;
        for (host, interface, number) in self.ends(cable) {
            for family in Family::ALL {
                let (length, flags) = match family {
                    Family::V4 => (24, ""),
                    // Without duplicate address detection the address is usable at once.
                    Family::V6 => (64, " nodad"),
                };
                let address = address(family, cable, number);
                host.ip(&format!(
                    "address add {address}/{length} dev {interface}{flags}"
                ))?;
            }
            host.ip(&format!("link set {interface} up"))?;
            // Answers come in by another interface than the one that leads there.
            host.set(&format!("net.ipv4.conf.{interface}.rp_filter"), "0")?;
            host.set("net.ipv4.conf.all.rp_filter", "0")?;
        }
        Ok(())
    }

    fn set_routes(&self, family: Family) -> io::Result<()> {
        let to_server = network(family, Cable::ThereServer);
        let to_client = network(family, Cable::ClientThere);
        let by = |cable, number| address(family, cable, number);
        let route = |host: &Namespace, network: &str, router: IpAddr| {
            host.ip(&format!("route add {network} via {router}"))
        };
        route(&self.client, &to_server, by(Cable::ClientThere, 2))?;
        // Not every server answers from the address that it was asked at.
        self.server.ip(&format!(
            "route add {to_client} via {} src {}",
            by(Cable::ServerBack, 2),
            self.server_address(family)
        ))?;
        // The way back leads to the client; what the router itself sends to the server goes along, too.
        route(&self.back, &to_client, by(Cable::BackClient, 2))?;
        route(&self.back, &to_server, by(Cable::ServerBack, 1))?;
        Ok(())
    }

    /// Makes a cable carry packets of at most `bytes`, in both directions.
    ///
    /// # Errors
    /// The system refuses.
    pub fn set_mtu(&self, cable: Cable, bytes: u16) -> io::Result<()> {
        for (host, interface, _) in self.ends(cable) {
            host.ip(&format!("link set {interface} mtu {bytes}"))?;
        }
        Ok(())
    }

    /// Limits what each router forwards to `rate` bits per second of Ethernet frames, with a queue
    /// of 20 ms.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn limit(&self, rate: u64) -> io::Result<()> {
        for (router, interface) in [(&self.there, "server"), (&self.back, "client")] {
            router.tc(&format!(
                "qdisc replace dev {interface} root tbf rate {rate}bit burst 32k latency 20ms"
            ))?;
        }
        Ok(())
    }

    /// Forgets what the hosts have learnt about paths.
    ///
    /// # Errors
    /// The system refuses.
    pub fn forget_paths(&self) -> io::Result<()> {
        for host in [&self.client, &self.server] {
            host.ip("-4 route flush cache")?;
            host.ip("-6 route flush cache")?;
        }
        Ok(())
    }

    /// The server's address, on the way there.
    #[must_use]
    pub const fn server_address(&self, family: Family) -> IpAddr {
        address(family, Cable::ThereServer, 2)
    }

    /// The client's address.
    #[must_use]
    pub const fn client_address(&self, family: Family) -> IpAddr {
        address(family, Cable::ClientThere, 1)
    }

    /// The address from which the router on the way there reports what it cannot forward.
    #[must_use]
    pub const fn there_address(&self, family: Family) -> IpAddr {
        address(family, Cable::ClientThere, 2)
    }

    /// The same of the router on the way back.
    #[must_use]
    pub const fn back_address(&self, family: Family) -> IpAddr {
        address(family, Cable::ServerBack, 2)
    }
}

const fn address(family: Family, cable: Cable, host: u8) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::new(10, 78, cable.number(), host)),
        Family::V6 => {
            let network = cable.number() as u16;
            IpAddr::V6(Ipv6Addr::new(0xfd78, 0, 0, network, 0, 0, 0, host as u16))
        }
    }
}

fn network(family: Family, cable: Cable) -> String {
    let length = match family {
        Family::V4 => 24,
        Family::V6 => 64,
    };
    format!("{}/{length}", address(family, cable, 0))
}
