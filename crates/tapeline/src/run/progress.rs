//! One line on a terminal while nothing else is printed: how far a client's test is.

use std::io::Write;
use std::time::{Duration, Instant};

use tapeline_base::{BitRate, FormatLetter};
use tapeline_report::{Event, Phase, Repetition, rate_words};

/// Time without a line after which there is one of progress.
const QUIET: Duration = Duration::from_secs(2);
/// Time between two looks.
pub(crate) const EVERY: Duration = Duration::from_millis(500);
/// Takes the cursor to the beginning of its line, and empties that.
const ERASE: &str = "\r\u{1b}[2K";

/// What a test does.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    Connecting(Option<(String, u16)>),
    Running,
    /// For what the server has counted.
    Waiting,
    /// Between two runs.
    Pause,
    Over,
}

/// A client's progress, drawn in place.
pub(crate) struct Progress<W> {
    terminal: W,
    /// How long the test is to last.
    planned: Option<Duration>,
    stage: Stage,
    /// When that began.
    since: Instant,
    /// When something else was printed last.
    printed: Instant,
    /// The server's running count.
    rate: Option<f64>,
    /// The run of a series, and how many there are at most.
    run: Option<(u32, u32)>,
    is_shown: bool,
}

impl<W: Write> Progress<W> {
    /// Of a test that begins now.
    pub(crate) fn new(terminal: W, planned: Option<Duration>, now: Instant) -> Self {
        Self {
            terminal,
            planned,
            stage: Stage::Connecting(None),
            since: now,
            printed: now,
            rate: None,
            run: None,
            is_shown: false,
        }
    }

    /// Takes what happens.
    pub(crate) fn observe(&mut self, event: &Event, now: Instant) {
        let stage = match event {
            Event::Connecting(banner) if !banner.connect_back => {
                Stage::Connecting(Some((banner.host.clone(), banner.port)))
            }
            Event::Connected(_) | Event::TestStart(_) => Stage::Running,
            Event::Row(row) if row.phase == Phase::Total => Stage::Waiting,
            Event::Repetition(Repetition::Begins { run, most, .. }) => {
                self.run = Some((*run, *most));
                self.rate = None;
                Stage::Connecting(None)
            }
            Event::Repetition(Repetition::Ends(_)) => Stage::Pause,
            Event::TestEnd(_) | Event::PeerResults(_) | Event::Repetition(_) => Stage::Over,
            Event::PeerProgress(progress) => {
                self.rate = Some(BitRate::over(progress.bytes, progress.elapsed));
                return;
            }
            _ => return,
        };
        if stage != self.stage {
            self.stage = stage;
            self.since = now;
        }
    }

    /// Draws the line where it is time for it.
    pub(crate) fn tick(&mut self, now: Instant) {
        if now.saturating_duration_since(self.printed) < QUIET {
            return;
        }
        if let Some(text) = self.text(now) {
            let _ = write!(self.terminal, "{ERASE}{text}");
            let _ = self.terminal.flush();
            self.is_shown = true;
        }
    }

    /// Makes room for what is printed now.
    pub(crate) fn give_way(&mut self, now: Instant) {
        self.printed = now;
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(self.terminal, "{ERASE}");
            let _ = self.terminal.flush();
        }
    }

    /// `run 2/3: 3 of 10 s, 938 Mbit/s`.
    fn text(&self, now: Instant) -> Option<String> {
        let stage = self.stage_text(now)?;
        Some(match self.run {
            Some((run, most)) => format!("run {run}/{most}: {stage}"),
            None => stage,
        })
    }

    fn stage_text(&self, now: Instant) -> Option<String> {
        let seconds = now.saturating_duration_since(self.since).as_secs();
        Some(match &self.stage {
            Stage::Connecting(server) => {
                let server = server.as_ref();
                let to = server.map_or_else(String::new, |(host, port)| {
                    format!(" to {host} port {port}")
                });
                format!("connecting{to}, {seconds} s (Ctrl-C stops)")
            }
            Stage::Running
                if self
                    .planned
                    .is_some_and(|planned| seconds > planned.as_secs()) =>
            {
                format!("waiting for the server, {seconds} s")
            }
            Stage::Running => {
                let of = self.planned.map_or_else(String::new, |planned| {
                    format!(" of {}", planned.as_secs_f64())
                });
                let rate = self.rate.map_or_else(String::new, |rate| {
                    format!(", {}", rate_words(rate, FormatLetter::BITS))
                });
                format!("{seconds}{of} s{rate}")
            }
            Stage::Waiting => format!("waiting for the server's results, {seconds} s"),
            Stage::Pause => format!("pause, {seconds} s"),
            Stage::Over => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::Transport;
    use tapeline_report::{ClientBanner, PeerProgress, TestEnd};

    use super::*;

    #[test]
    fn a_series_says_which_run_it_is() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut progress = Progress::new(Vec::new(), Some(Duration::from_secs(10)), start);
        progress.observe(
            &Event::Repetition(Repetition::Begins {
                run: 2,
                least: 3,
                most: 3,
            }),
            at(0),
        );
        progress.stage = Stage::Running;
        assert_eq!(progress.text(at(4)).as_deref(), Some("run 2/3: 4 of 10 s"));
        progress.observe(&Event::Repetition(Repetition::Ends(Box::default())), at(11));
        assert_eq!(
            progress.text(at(14)).as_deref(),
            Some("run 2/3: pause, 3 s")
        );
    }

    #[test]
    fn a_line_is_drawn_in_place_and_erased() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let planned = Some(Duration::from_secs(10));
        let mut progress = Progress::new(Vec::new(), planned, start);
        let drawn = |progress: &mut Progress<Vec<u8>>, seconds| {
            progress.tick(at(seconds));
            let drawn = std::mem::take(&mut progress.terminal);
            String::from_utf8(drawn).expect("text")
        };
        let banner = ClientBanner::new("192.0.2.7", 5001, Transport::Tcp);
        progress.observe(&Event::Connecting(banner), at(0));
        progress.give_way(at(0));
        assert_eq!(drawn(&mut progress, 1), "");
        assert_eq!(
            drawn(&mut progress, 4),
            "\r\u{1b}[2Kconnecting to 192.0.2.7 port 5001, 4 s (Ctrl-C stops)"
        );
        progress.give_way(at(5));
        assert_eq!(progress.terminal, b"\r\x1b[2K");
        progress.terminal.clear();
        progress.stage = Stage::Running;
        progress.since = at(5);
        let counted = PeerProgress {
            bytes: 352_000_000,
            elapsed: Duration::from_secs(3),
            ..PeerProgress::default()
        };
        progress.observe(&Event::PeerProgress(counted), at(8));
        assert_eq!(drawn(&mut progress, 8), "\r\u{1b}[2K3 of 10 s, 939 Mbit/s");
        let end = TestEnd {
            test: 1,
            cpu: Default::default(),
            peer_cpu: None,
            sender_congestion: None,
            receiver_congestion: None,
            peer_totals: Vec::new(),
            lost_behind: Vec::new(),
            peer_output: None,
            peer_tapeline: None,
            failure: None,
        };
        progress.observe(&Event::TestEnd(Box::new(end)), at(9));
        assert_eq!(drawn(&mut progress, 20), "");
    }
}
