//! Where on its host a flow was handled.

/// CPUs, memory node and interface queue of one end of a flow; `None` where the system does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// CPU on which the thread that moved the data ran last.
    pub cpu: Option<u32>,
    /// Memory node (NUMA) of that CPU.
    pub numa_node: Option<u32>,
    /// CPU on which the system took in the flow's last packet (Linux: `SO_INCOMING_CPU`).
    pub incoming_cpu: Option<u32>,
    /// Number of the interface's queue through which that packet came (Linux: `SO_INCOMING_NAPI_ID`,
    /// which `ynl --family netdev --dump queue-get` lists); none where it came through no such queue,
    /// as over loopback.
    pub napi_id: Option<u32>,
}

impl Placement {
    /// These, and what `other` adds where nothing is known here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.or(other.cpu),
            numa_node: self.numa_node.or(other.numa_node),
            incoming_cpu: self.incoming_cpu.or(other.incoming_cpu),
            napi_id: self.napi_id.or(other.napi_id),
        }
    }

    /// Whether anything is known.
    #[must_use]
    pub fn is_known(self) -> bool {
        self != Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sources_add_up() {
        let thread = Placement {
            cpu: Some(1),
            numa_node: Some(0),
            ..Placement::default()
        };
        let socket = Placement {
            cpu: Some(7),
            napi_id: Some(8193),
            ..Placement::default()
        };
        let both = thread.or(socket);
        assert_eq!((both.cpu, both.numa_node), (Some(1), Some(0)));
        assert_eq!((both.incoming_cpu, both.napi_id), (None, Some(8193)));
        assert!(both.is_known() && !Placement::default().is_known());
    }
}
