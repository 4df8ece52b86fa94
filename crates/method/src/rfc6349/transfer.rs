//! One run of TCP: as it is ordered, and what it came to.

use std::time::{Duration, Instant};

use tapeline_base::Transport;
use tapeline_dialect::{Arrangement, ClientPlan, ClientWorkload, HeldWindow, Iperf3Client, Limit};
use tapeline_report::Event;
use tapeline_report::document::{Report, SenderDetails};
use tapeline_report::method::Direction;
use tapeline_report::method::rfc6349::{RunPhase, TransferRun};
use tapeline_stats::rfc6349::{IdealRate, WindowEvidence, efficiency_percent, transfer_time_ratio};
use tapeline_wire::iperf3::{self as wire, Parameters};

use super::buffers::Buffers;
use super::connects::ConnectProbes;
use super::course::{Course, Window};
use super::samples::Sampling;
use crate::common::PeerKind;
use crate::error::RunError;
use crate::run::Run;

/// Payload of the segments that bytes on the way are counted in, on most paths.
const SEGMENT: u64 = 1460;

/// What is known of the path when runs begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathFigures {
    pub(crate) round_trip: Duration,
    pub(crate) ideal: Option<IdealRate>,
}

/// What a run came to in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Transferred {
    pub(crate) run: TransferRun,
    /// What is known of the window, where the run was to hold one.
    pub(crate) window: Option<WindowEvidence>,
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) phase: RunPhase,
    /// Both at once where there are two.
    pub(crate) directions: Vec<Direction>,
    pub(crate) connections: u32,
    /// Of each connection; `None` is the system's own.
    pub(crate) window: Option<u64>,
    pub(crate) window_percent: Option<f64>,
    /// Instead of what all tests use.
    pub(crate) congestion: Option<String>,
    pub(crate) counted: Window,
}

impl Transfer {
    /// One connection with the system's own windows.
    pub(crate) fn new(phase: RunPhase, direction: Direction, counted: Window) -> Self {
        Self {
            phase,
            directions: vec![direction],
            connections: 1,
            window: None,
            window_percent: None,
            congestion: None,
            counted,
        }
    }

    fn length(&self) -> Duration {
        self.counted.ramp + self.counted.time
    }

    fn window(&self) -> Option<u32> {
        let window = self.window?;
        Some(u32::try_from(window).unwrap_or(u32::MAX).max(1))
    }

    fn sends(&self) -> bool {
        self.directions.contains(&Direction::Up)
    }

    fn plan(&self, run: &Run<'_>, round_trip: Duration) -> ClientPlan {
        let plan = run.client_plan(Transport::Tcp, self.directions[0]);
        let mut socket = plan.socket.clone();
        if self.sends() {
            socket.held_window = self
                .window()
                .map(|bytes| HeldWindow::new(bytes, round_trip));
        } else {
            socket.window_clamp = self.window();
        }
        if self.congestion.is_some() {
            socket.congestion.clone_from(&self.congestion);
        }
        let workload = match self.directions.len() {
            1 => plan.workload,
            _ => ClientWorkload::Stream(Arrangement::FullDuplex),
        };
        ClientPlan {
            limit: Limit::Time(self.length()),
            parallel: self.connections as usize,
            socket,
            workload,
            ..plan
        }
    }

    fn iperf3_plan(&self, run: &Run<'_>, round_trip: Duration) -> Iperf3Client {
        let plan = run.iperf3_plan(Transport::Tcp, self.directions[0]);
        let window = self.window();
        let congestion = self.congestion.clone();
        Iperf3Client {
            held_window: window
                .filter(|_| self.sends())
                .map(|bytes| HeldWindow::new(bytes, round_trip)),
            window_clamp: window.filter(|_| !self.sends()),
            parameters: Parameters {
                omit: self.counted.ramp.as_secs_f64().ceil() as u32,
                time: self.counted.time.as_secs_f64().ceil().max(1.0) as u32,
                parallel: self.connections,
                direction: match self.directions.len() {
                    1 => plan.parameters.direction,
                    _ => wire::Direction::Bidirectional,
                },
                congestion: congestion.or(plan.parameters.congestion),
                ..plan.parameters
            },
            ..plan
        }
    }

    /// Runs it; the result has an entry for each of its directions, none where nothing came.
    pub(crate) fn perform(
        &self,
        run: &mut Run<'_>,
        figures: &[PathFigures],
    ) -> Result<Vec<Option<Transferred>>, RunError> {
        let round_trip = figures
            .first()
            .map(|path| path.round_trip)
            .unwrap_or_default();
        let mut courses = vec![Course::default(); self.directions.len()];
        let mut began = None;
        // Of a plain peer that sends, its kernel's handshakes are all that can be timed.
        let connects = ConnectProbes::default();
        let mut observe = |event: &Event| {
            match event {
                Event::Connected(_) => {
                    began.get_or_insert_with(Instant::now);
                }
                Event::Row(row) if row.bytes > 0 => connects.begin(),
                _ => {}
            }
            for (course, direction) in courses.iter_mut().zip(&self.directions) {
                course.observe(event, *direction);
            }
        };
        let receives = self.directions.contains(&Direction::Down);
        let sampling = receives
            .then(|| Sampling::begin(run, self.length()))
            .flatten();
        let probed = (receives && sampling.is_none())
            .then(|| run.common().address())
            .transpose()?;
        let local = match probed {
            Some(server) => run.common().local(server)?,
            None => None,
        };
        let report = std::thread::scope(|scope| {
            if let Some(server) = probed {
                let device = run.common().device.clone();
                let connects = &connects;
                scope.spawn(move || connects.run(server, local, device));
            }
            let report = match run.common().peer {
                PeerKind::Auto => {
                    let mut plan = self.plan(run, round_trip);
                    plan.test_number = sampling.map(|sampling| sampling.test);
                    run.client_test(&plan, &mut observe)
                }
                PeerKind::Iperf3 => {
                    let plan = self.iperf3_plan(run, round_trip);
                    run.client_test_iperf3(&plan, &mut observe)
                }
            };
            connects.end();
            report
        })?;
        let samples = sampling.map(|_| Sampling::end(run));
        let counted = self.counted_by(run.common().peer);
        let runs = courses.iter_mut().zip(&self.directions).zip(figures);
        let runs = runs.map(|((course, direction), path)| {
            if *direction == Direction::Down
                && let Some(began) = began
            {
                course.connects = connects.round_trips(began);
                if let (Some(sampling), Some(samples)) = (sampling, &samples) {
                    let lead = began.saturating_duration_since(sampling.began);
                    course.peer_samples(samples, lead.as_secs_f64());
                }
            }
            let mut summary = course.summary(counted, round_trip.as_secs_f64() * 1e3)?;
            if *direction == Direction::Down {
                approximate_efficiency(&mut summary, &report, course.segment);
            }
            let window = self.complete(&mut summary, path, *direction);
            Some(Transferred {
                run: summary,
                window,
            })
        });
        Ok(runs.collect())
    }

    /// iperf3's tests have whole seconds.
    fn counted_by(&self, peer: PeerKind) -> Window {
        let whole = |time: Duration| Duration::from_secs(time.as_secs_f64().ceil() as u64);
        match peer {
            PeerKind::Auto => self.counted,
            PeerKind::Iperf3 => Window {
                ramp: whole(self.counted.ramp),
                time: whole(self.counted.time).max(Duration::from_secs(1)),
            },
        }
    }

    /// Enters what follows from the order and the path; returns what is known of the window.
    fn complete(
        &self,
        summary: &mut TransferRun,
        figures: &PathFigures,
        direction: Direction,
    ) -> Option<WindowEvidence> {
        summary.phase = self.phase;
        summary.window_percent = self.window_percent;
        summary.window_asked_bytes = self.window;
        // A window that was asked for is no verdict.
        if self.window.is_some() {
            let held = ["application", "receive_window", "requested_rate"];
            summary.limited_by = summary.limited_by.take().filter(|verdict| {
                verdict
                    .limited_by
                    .is_some_and(|limit| !held.contains(&limit))
            });
        }
        let evidence = window_evidence(summary, figures, direction);
        let Some(ideal) = figures.ideal else {
            return evidence;
        };
        let (seconds, bytes) = (summary.seconds, summary.bytes);
        summary.ttr = transfer_time_ratio(seconds, bytes, ideal.bits_per_second);
        let of_all = |rate: f64| (rate * f64::from(self.connections)).min(ideal.bits_per_second);
        let expected = match evidence {
            Some(evidence) => evidence.expected().map(of_all),
            None => Some(ideal.bits_per_second),
        };
        summary.expected_bits_per_second = expected;
        summary.ttr_window = expected
            .filter(|_| evidence.is_some())
            .and_then(|expected| transfer_time_ratio(seconds, bytes, expected));
        evidence
    }
}

/// What is known of the window of a run that was to hold one.
fn window_evidence(
    run: &TransferRun,
    figures: &PathFigures,
    direction: Direction,
) -> Option<WindowEvidence> {
    let asked = run.window_asked_bytes?;
    let share = f64::from(run.connections.max(1));
    Some(WindowEvidence {
        asked,
        used: run.window_used_bytes,
        segment: SEGMENT,
        rate: run.bits_per_second / share,
        ideal: figures.ideal.map(|ideal| ideal.bits_per_second),
        round_trip: figures.round_trip.as_secs_f64(),
        lossless: run.retransmitted_bytes.is_none_or(|bytes| bytes == 0),
        // A receiver offers what was asked for, where its buffer has room.
        surely_held: direction == Direction::Down && Buffers::own().receive_window(asked),
    })
}

/// What an iperf3 server that sends says of segments that it sent again, as bytes: approximate.
fn approximate_efficiency(summary: &mut TransferRun, report: &Report, segment: Option<u64>) {
    if summary.transmitted_bytes.is_some() {
        return;
    }
    let segments: Option<Vec<u64>> = report
        .streams
        .iter()
        .filter(|stream| stream.direction == tapeline_report::FlowDirection::Reverse)
        .map(|stream| match &stream.sender.details {
            Some(SenderDetails::Tcp { retransmits, .. }) => *retransmits,
            _ => None,
        })
        .collect();
    let iperf3 = report.peer.program.as_deref() == Some("iperf3");
    let (Some(segments), Some(segment), true) = (segments, segment, iperf3) else {
        return;
    };
    if segments.is_empty() {
        return;
    }
    let again: u64 = segments.iter().sum();
    let bytes = again * segment;
    summary.retransmitted_segments = Some(again);
    summary.retransmitted_bytes = Some(bytes);
    summary.transmitted_bytes = Some(summary.bytes + bytes);
    summary.efficiency_percent = efficiency_percent(summary.bytes + bytes, bytes);
}
