//! What a process and its host have come to: read before and after a test.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_report::HostDrops;
use tapeline_sys::{CpuTime, HostCounters, process_cpu_time};

use crate::context::Context;

/// Counters of the process and its host, and both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    at: MonoTime,
    wall: WallTime,
    cpu: CpuTime,
    host: HostCounters,
}

/// What happened to the process and its host while a test ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Surroundings {
    /// How long that was.
    pub(super) time: Duration,
    /// Processor time of the process.
    pub(super) cpu: CpuTime,
    pub(super) drops: HostDrops,
    pub(super) clock_adjustment_ns: i64,
}

impl Reading {
    pub(super) fn now(context: &Context) -> Self {
        Self {
            at: context.now(),
            wall: context.wall(),
            cpu: process_cpu_time(),
            host: HostCounters::read(),
        }
    }

    /// Processor time of the process since then.
    pub(super) fn processor(&self) -> Duration {
        process_cpu_time().total().saturating_sub(self.cpu.total())
    }

    pub(super) fn since(&self, earlier: &Self) -> Surroundings {
        let time = self.at.since(earlier.at);
        let host = self.host.since(&earlier.host);
        let passed = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        Surroundings {
            time,
            cpu: CpuTime {
                user: self.cpu.user.saturating_sub(earlier.cpu.user),
                system: self.cpu.system.saturating_sub(earlier.cpu.system),
            },
            drops: HostDrops {
                udp_receive: host.udp_receive_buffer_errors,
                softnet: host.softnet_drops,
            },
            clock_adjustment_ns: self.wall.nanos_since(earlier.wall) - passed,
        }
    }
}
