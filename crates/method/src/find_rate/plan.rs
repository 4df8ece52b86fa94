//! What `find-rate` is asked for.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_base::BitRate;
use tapeline_dialect::Networks;
use tapeline_stats::{LossGoal, RateSearchPlan};

use crate::common::{Common, PeerKind};
use crate::error::RunError;

/// Length of a full trial that nothing else decides.
const TRIAL: Duration = Duration::from_secs(5);
/// Length of the trials of RFC 2544 and TST009.
const LABORATORY_TRIAL: Duration = Duration::from_secs(60);
/// Length of the first trials.
const FIRST_TRIAL: Duration = Duration::from_secs(1);
/// The lowest load, bits per second.
const LOWEST: u64 = 100_000;
/// Where searches begin.
const START: u64 = 1_000_000;
/// The highest load in networks that one may flood, and elsewhere.
const HIGHEST: u64 = 10_000_000_000;
const HIGHEST_ELSEWHERE: u64 = 1_000_000_000;
/// Round trip of a path that is not measured yet.
const ROUND_TRIP: Duration = Duration::from_millis(100);
/// What a trial takes to begin and to end.
const TRIAL_ENDS: Duration = Duration::from_millis(200);
/// More pause behind each invalid trial in a row, of which there are four at most: what disturbed it may
/// be over then.
const INVALID_PAUSE: Duration = Duration::from_secs(1);
const INVALID_IN_A_ROW: u32 = 4;
/// Most trials of a goal.
const MOST_TRIALS: usize = 40;
/// Ethernet frames of RFC 2544, bytes.
const RFC2544_FRAMES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// What an Ethernet frame has besides an IP packet: header and FCS.
const ETHERNET: u32 = 18;
/// The smallest payload of a datagram of a test.
pub(crate) const SMALLEST_PAYLOAD: u32 = 16;

/// A laboratory's procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Laboratory {
    /// RFC 2544.
    Rfc2544,
    /// ETSI GS NFV-TST 009.
    Tst009,
}

/// Which datagrams are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DatagramSizes {
    /// The largest that the path carries.
    #[default]
    Largest,
    /// Payloads, bytes.
    Payloads(Vec<u32>),
    /// Ethernet frames, bytes.
    Frames(Vec<u32>),
}

impl DatagramSizes {
    /// The frames of RFC 2544.
    #[must_use]
    pub fn rfc2544() -> Self {
        Self::Frames(RFC2544_FRAMES.to_vec())
    }
}

/// What `find-rate` is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct FindRatePlan {
    /// As for all methods.
    pub common: Common,
    /// `--loss`: acceptable shares, percent; one to three.
    pub loss_percent: Vec<f64>,
    /// `--resolution`: relative distance of the bounds at which a search ends, percent.
    pub resolution_percent: f64,
    /// `-l`, `--frames`.
    pub sizes: DatagramSizes,
    /// `--rfc2544`, `--tst009`.
    pub laboratory: Option<Laboratory>,
    /// `--loss-curve`.
    pub loss_curve: bool,
}

impl FindRatePlan {
    /// Towards a host, with everything else at its default.
    #[must_use]
    pub fn new(common: Common) -> Self {
        Self {
            common,
            loss_percent: vec![0.0],
            resolution_percent: 0.5,
            sizes: DatagramSizes::default(),
            laboratory: None,
            loss_curve: false,
        }
    }

    /// Length of a full trial. iperf3 knows whole seconds only.
    pub(crate) fn trial(&self) -> Duration {
        let default = match self.laboratory {
            Some(_) => LABORATORY_TRIAL,
            None => TRIAL,
        };
        let time = self.common.time_or(default);
        match self.common.peer {
            PeerKind::Iperf3 => Duration::from_secs(time.as_secs_f64().ceil().max(1.0) as u64),
            PeerKind::Auto => time,
        }
    }

    /// The pause behind a trial of this length: for stragglers, and until queues are empty.
    pub(crate) fn settle(&self, trial: Duration, round_trip: Duration) -> Duration {
        let stragglers = Duration::from_secs(2);
        let stragglers = match trial < stragglers {
            true => (round_trip * 3).min(stragglers),
            false => stragglers,
        };
        stragglers
            + match self.laboratory {
                Some(Laboratory::Rfc2544) => Duration::from_secs(5),
                _ => Duration::from_millis(500),
            }
    }

    /// More pause behind so many invalid trials in a row.
    pub(crate) fn invalid_pause(invalid: u32) -> Duration {
        INVALID_PAUSE * invalid.min(INVALID_IN_A_ROW)
    }

    /// About what a trial of this length takes with the pause behind it, seconds.
    fn trial_seconds(&self, seconds: f64) -> f64 {
        let length = Duration::from_secs_f64(seconds);
        (length + self.settle(length, ROUND_TRIP) + TRIAL_ENDS).as_secs_f64()
    }

    /// The goals of a search.
    fn goals(&self) -> Vec<LossGoal> {
        let trial = self.trial().as_secs_f64();
        let (sum, exceed) = match self.laboratory {
            Some(Laboratory::Rfc2544) => (trial, 0.0),
            Some(Laboratory::Tst009) | None => (2.0 * trial, 0.5),
        };
        let goals = self.loss_percent.iter().map(|percent| LossGoal {
            loss: percent / 100.0,
            duration_sum: sum,
            exceed,
        });
        goals.collect()
    }

    /// Whether the address is one that a load of any rate may be sent to.
    fn is_near(address: IpAddr) -> bool {
        address.is_loopback() || Networks::default().contain(address)
    }

    /// The highest load towards this address, at the IP layer.
    pub(crate) fn highest(&self, address: IpAddr) -> u64 {
        match self.common.rate {
            Some(BitRate(rate)) => rate,
            None if Self::is_near(address) => HIGHEST,
            None => HIGHEST_ELSEWHERE,
        }
    }

    /// A laboratory's procedure floods what is between the ends: nobody does that to the internet by
    /// accident (RFC 6815).
    pub(crate) fn permit(&self, server: SocketAddr) -> Result<(), RunError> {
        let name = match self.laboratory {
            Some(Laboratory::Rfc2544) => "--rfc2544",
            Some(Laboratory::Tst009) => "--tst009",
            None => return Ok(()),
        };
        if Self::is_near(server.ip()) || self.common.rate.is_some() {
            return Ok(());
        }
        let text = format!(
            "{name} is for laboratories, and {} is not in a private network",
            server.ip()
        );
        let hint = "-b RATE sets the highest rate, and allows it";
        Err(RunError::failed("usage", text).hinting(hint))
    }

    /// What is searched towards this address.
    pub(crate) fn search(&self, address: IpAddr) -> RateSearchPlan {
        let highest = self.highest(address);
        let start = match self.common.rate {
            Some(BitRate(rate)) => START.min(rate / 1000),
            None => START,
        };
        RateSearchPlan {
            goals: self.goals(),
            full_seconds: self.trial().as_secs_f64(),
            first_seconds: FIRST_TRIAL.min(self.trial()).as_secs_f64(),
            resolution: self.resolution_percent / 100.0,
            lowest: LOWEST.min(highest),
            start: start.max(LOWEST.min(highest)),
            highest,
            most_trials: MOST_TRIALS,
            most_seconds: self.most_seconds(),
        }
    }

    /// Payloads that are tried, and frames that are too small. `largest` is the largest payload of the
    /// path, `headers` the bytes of IP and UDP headers.
    pub(crate) fn payloads(&self, largest: u32, headers: u32) -> (Vec<u32>, Vec<u32>) {
        let sizes = match (&self.sizes, self.laboratory) {
            (DatagramSizes::Largest, Some(Laboratory::Rfc2544)) => &DatagramSizes::rfc2544(),
            (sizes, _) => sizes,
        };
        match sizes {
            DatagramSizes::Largest => (vec![largest], Vec::new()),
            DatagramSizes::Payloads(payloads) => (payloads.clone(), Vec::new()),
            DatagramSizes::Frames(frames) => {
                let least = headers + ETHERNET + SMALLEST_PAYLOAD;
                let fits = |frame: &&u32| **frame >= least;
                let (large, small): (Vec<&u32>, Vec<&u32>) = frames.iter().partition(fits);
                let payloads = large.iter().map(|frame| **frame - headers - ETHERNET);
                (payloads.collect(), small.into_iter().copied().collect())
            }
        }
    }

    /// How many sizes a direction is searched with, before the family of addresses is known.
    pub(crate) fn searches(&self) -> usize {
        self.payloads(1472, 28).0.len()
    }

    /// About how long a search takes: it rises to the highest rate, and for each goal closes in with
    /// trials that become longer, and confirms.
    pub(crate) fn search_seconds(&self) -> f64 {
        let full = self.trial().as_secs_f64();
        let first = FIRST_TRIAL.as_secs_f64().min(full);
        let highest = self.common.rate.map_or(HIGHEST_ELSEWHERE, |rate| rate.0);
        let begin = START.min(highest / 1000).max(1);
        let rise = (highest as f64 / begin as f64).log2().ceil().max(1.0) + 1.0;
        let mut of_goal = 5.0 * self.trial_seconds(full);
        let mut length = first;
        while length < full {
            of_goal += 3.0 * self.trial_seconds(length);
            length *= 2.0;
        }
        rise * self.trial_seconds(first) + of_goal * self.loss_percent.len() as f64
    }

    /// Until when a search begins trials, so that the last one ends in twice the planned time: what
    /// is certain by then is a result, while a phase beyond its limit is an error.
    fn most_seconds(&self) -> f64 {
        let last = self.trial_seconds(self.trial().as_secs_f64());
        let pause = Self::invalid_pause(INVALID_IN_A_ROW).as_secs_f64();
        2.0 * self.search_seconds() - last - pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> FindRatePlan {
        FindRatePlan::new(Common::new("192.168.1.1", 5001))
    }

    const NEAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 1, 1));
    const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

    #[test]
    fn public_addresses_are_not_flooded_by_accident() {
        let mut plan = plan();
        assert_eq!(
            [NEAR, FAR].map(|to| plan.highest(to)),
            [HIGHEST, HIGHEST_ELSEWHERE]
        );
        plan.laboratory = Some(Laboratory::Rfc2544);
        assert_eq!(plan.permit((NEAR, 1).into()), Ok(()));
        let refused = plan.permit((FAR, 1).into()).expect_err("refused");
        assert!(refused.to_string().contains("--rfc2544"), "{refused}");
        plan.common.rate = Some(BitRate(3_000_000));
        assert_eq!(plan.permit((FAR, 1).into()), Ok(()));
        let search = plan.search(FAR);
        assert_eq!(
            (search.lowest, search.start, search.highest),
            (100_000, 100_000, 3_000_000)
        );
    }

    #[test]
    fn goals_are_those_of_the_standards() {
        let goal = |laboratory| {
            let plan = FindRatePlan {
                laboratory,
                ..plan()
            };
            let search = plan.search(NEAR);
            let goal = search.goals[0];
            (search.full_seconds, goal.duration_sum, goal.exceed)
        };
        assert_eq!(goal(None), (5.0, 10.0, 0.5));
        assert_eq!(goal(Some(Laboratory::Rfc2544)), (60.0, 60.0, 0.0));
        assert_eq!(goal(Some(Laboratory::Tst009)), (60.0, 120.0, 0.5));
    }

    #[test]
    fn frames_become_payloads() {
        let mut plan = plan();
        assert_eq!(plan.payloads(1472, 28), (vec![1472], vec![]));
        plan.sizes = DatagramSizes::rfc2544();
        let (payloads, small) = plan.payloads(1472, 28);
        assert_eq!(payloads, [18, 82, 210, 466, 978, 1234, 1472]);
        assert!(small.is_empty());
        let (payloads, small) = plan.payloads(1452, 48);
        assert_eq!((payloads[0], small), (62, vec![64]));
        plan.sizes = DatagramSizes::Payloads(vec![100, 200]);
        assert_eq!(plan.payloads(1472, 28).0, [100, 200]);
        plan.sizes = DatagramSizes::Largest;
        plan.laboratory = Some(Laboratory::Rfc2544);
        assert_eq!(plan.searches(), 7);
    }

    #[test]
    fn pauses_are_those_of_the_standard() {
        let mut plan = plan();
        let pause = |plan: &FindRatePlan, seconds| {
            let trip = Duration::from_millis(20);
            plan.settle(Duration::from_secs(seconds), trip)
                .as_secs_f64()
        };
        assert_eq!((pause(&plan, 1), pause(&plan, 5)), (0.56, 2.5));
        plan.laboratory = Some(Laboratory::Rfc2544);
        assert_eq!(pause(&plan, 60), 7.0);
        assert!((30.0..150.0).contains(&FindRatePlan::new(plan.common).search_seconds()));
    }
}
