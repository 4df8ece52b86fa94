//! The order of the folders of each crate, from the top to the ground.

/// Places of a crate in floors; each may use the floors below it, and no neighbour on its own.
#[derive(Debug)]
pub(crate) struct Floors {
    /// The folder of the crate.
    pub(crate) krate: &'static str,
    /// Folders and files below `src`, without `.rs`.
    pub(crate) floors: &'static [&'static [&'static str]],
}

/// The crates whose folders have an order.
pub(crate) const FLOORS: &[Floors] = &[
    Floors {
        krate: "crates/wire",
        floors: &[&["fuzz"], &["iperf2", "iperf3"], &["native", "udp_packet"]],
    },
    Floors {
        krate: "crates/engine",
        floors: &[
            &["tcp", "udp", "request_response"],
            &[
                "technique",
                "pool",
                "delay_recorder",
                "payload_source",
                "histogram",
            ],
            &["work", "counters"],
            &["pacing"],
            &["stop"],
        ],
    },
    Floors {
        krate: "crates/report",
        floors: &[
            &["fuzz"],
            &["prometheus", "gate", "import", "stored", "matrix"],
            &["comparison"],
            &["run_facts"],
            &["quantity"],
            &["method"],
            &["series", "flows"],
            &["document"],
            &["native", "iperf2", "iperf3"],
            &["tracker", "render"],
            &["style", "calendar"],
            &["model"],
        ],
    },
    Floors {
        krate: "crates/archive",
        floors: &[
            &["save"],
            &["edit", "upkeep"],
            &["query"],
            &["pending"],
            &["archive", "new_run", "stored_run"],
            &["format", "selector"],
            &["error", "id", "location"],
        ],
    },
    Floors {
        krate: "crates/screen",
        floors: &[
            &["canvas"],
            &["picture"],
            &["board"],
            &["streams", "history"],
        ],
    },
    Floors {
        krate: "crates/dialect",
        floors: &[
            &["fuzz"],
            &["client"],
            &["server"],
            &["iperf3", "iperf2"],
            &["method"],
            &["native"],
            &["policy", "run"],
            &["sampler"],
            &["plan"],
        ],
    },
    Floors {
        krate: "crates/method",
        floors: &[
            &["perform"],
            &["plan"],
            &["rfc6349"],
            &["capacity", "find_rate", "mtu", "try_host", "responsiveness"],
            &["procedure", "method_peer"],
            &["run"],
            &["baseline", "session_slot"],
            &["client_runs", "watch"],
            &["path"],
            &["phase_guard", "common"],
            &["error", "departure"],
        ],
    },
    Floors {
        krate: "crates/mesh",
        floors: &[
            &["forecast", "journal"],
            &["schedule"],
            &["inventory", "plan"],
            &["hosts_file", "pattern"],
            &["host"],
        ],
    },
    Floors {
        krate: "crates/fleet",
        floors: &[
            &["host"],
            &["fuzz"],
            &["bus/many_agents"],
            &[
                "bus/agent_loop",
                "bus/collector_loop",
                "bus/controller_loop",
                "bus/operator",
            ],
            &["bus/books"],
            &["bus/watch"],
            &["bus/records"],
            &["bus/connection", "bus/setup", "bus/requests", "bus/runtime"],
            &["bus/error", "bus/machine_clock", "bus/stop"],
            &["site"],
            &["agent", "controller", "collector", "rights"],
            &["schedule"],
            &["message"],
            &["job"],
            &["store"],
            &["clock", "names", "whole_file"],
        ],
    },
    Floors {
        krate: "crates/tapeline",
        floors: &[
            &["main_entry", "contracts"],
            &["generate", "run"],
            &["help", "http"],
            &["cli/form"],
            &["cli/invocation"],
            &["cli/refusal", "cli/third_party"],
            &["cli/resolve", "cli/commands", "cli/order", "cli/via"],
            &["cli/flows", "cli/iperf3", "cli/environment"],
            &["cli/config_file"],
            &["cli/apply", "cli/rules", "cli/build", "cli/configuration"],
            &["cli/options"],
            &["cli/values"],
            &["cli/spec"],
            &["cli/parse", "cli/settings", "cli/diagnostics"],
            &["output", "files", "explain"],
            &["identity", "explanations"],
            &["plan"],
            &["message", "presentation"],
        ],
    },
];

impl Floors {
    /// The place of a file (its path below `src`), and the number of its floor from the top.
    pub(crate) fn place(&self, file: &str) -> Option<(usize, &'static str)> {
        let mut best: Option<(usize, &'static str)> = None;
        for (floor, places) in self.floors.iter().enumerate() {
            for place in *places {
                let inside = file
                    .strip_prefix(place)
                    .is_some_and(|rest| rest.starts_with('/') || rest == ".rs");
                if inside && best.is_none_or(|(_, best)| best.len() < place.len()) {
                    best = Some((floor, place));
                }
            }
        }
        best
    }

    /// Places that none of these files is in.
    pub(crate) fn empty<'f>(&self, files: impl Iterator<Item = &'f str>) -> Vec<&str> {
        let source = format!("{}/src/", self.krate);
        let filled: Vec<&str> = files
            .filter_map(|file| self.place(file.strip_prefix(&source)?))
            .map(|(_, place)| place)
            .collect();
        let places = self.floors.iter().copied().flatten().copied();
        places.filter(|place| !filled.contains(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: Floors = Floors {
        krate: "crates/house",
        floors: &[&["roof"], &["room", "roof/beam"], &["cellar"]],
    };

    #[test]
    fn the_longest_name_is_a_files_place() {
        assert_eq!(HOUSE.place("roof/tile.rs"), Some((0, "roof")));
        assert_eq!(HOUSE.place("roof.rs"), Some((0, "roof")));
        assert_eq!(HOUSE.place("roof/beam/left.rs"), Some((1, "roof/beam")));
        assert_eq!(HOUSE.place("roofer.rs"), None);
    }

    #[test]
    fn places_without_files_are_found() {
        let files = ["crates/house/src/roof/mod.rs", "crates/house/src/room.rs"];
        assert_eq!(HOUSE.empty(files.into_iter()), ["roof/beam", "cellar"]);
    }
}
