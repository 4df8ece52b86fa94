//! Recorded runs as the tests read them.

use std::fs;
use std::path::{Path, PathBuf};

/// One stream of one end of a recorded run.
pub(crate) struct Transcript {
    /// `tcp_e.client.txt`.
    pub(crate) name: String,
    /// Options of this end.
    pub(crate) options: Vec<String>,
    /// Lines without newline.
    pub(crate) lines: Vec<String>,
}

impl Transcript {
    /// Whether this end was given an option.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// What follows an option.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let at = self.options.iter().position(|given| given == option)?;
        self.options.get(at + 1).map(String::as_str)
    }
}

/// All recorded streams, in alphabetic order.
pub(crate) fn transcripts() -> Vec<Transcript> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/iperf2");
    let mut paths = files(&root);
    paths.extend(files(&root.join("signals")));
    paths.sort();
    let list: Vec<Transcript> = paths.iter().filter_map(|path| transcript(path)).collect();
    assert!(
        list.len() > 250,
        "only {} recorded streams found",
        list.len()
    );
    list
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .expect("the folder of recorded runs")
        .map(|entry| entry.expect("a folder entry").path())
        .collect()
}

fn transcript(path: &Path) -> Option<Transcript> {
    let name = path.file_name()?.to_str()?.to_owned();
    let (run, stream) = name.split_once('.')?;
    let (end, kind) = stream.split_once('.')?;
    if !matches!(kind, "txt" | "err" | "stderr") {
        return None;
    }
    let command = fs::read_to_string(path.with_file_name(format!("{run}.cmd"))).unwrap_or_default();
    let options = command
        .lines()
        .find_map(|line| line.strip_prefix(end)?.strip_prefix(':'))
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let text = fs::read_to_string(path).expect("a recorded stream");
    Some(Transcript {
        name,
        options,
        lines: text.lines().map(str::to_owned).collect(),
    })
}

/// Runs that only the grammar is compared with.
pub(crate) const GRAMMAR_ONLY: &[&str] = &[
    "tcp_F",
    "tcp_P2_incrdstip",
    "tcp_P2_sumdstip",
    "tcp_P2_triptimes_histograms",
    "tcp_P2_triptimes_y_c_e",
    "tcp_X_triptimes",
    "tcp_bounceback_hist",
    "tcp_bounceback_key_hide",
    "tcp_bounceback_load",
    "tcp_bounceback_load_down2",
    "tcp_bounceback_triptimes",
    "tcp_burst",
    "tcp_burst_triptimes",
    "tcp_connectonly",
    "tcp_connectonly_3",
    "tcp_connectonly_e",
    "tcp_connectonly_n",
    "tcp_fqrate",
    "tcp_fqratestep",
    "tcp_histograms_client",
    "tcp_if",
    "tcp_incrdstport",
    "tcp_isoch",
    "tcp_isoch_hist",
    "tcp_isoch_triptimes",
    "tcp_isoch_y_C",
    "tcp_isoch_y_c_e",
    "tcp_nearcong",
    "tcp_permitkey",
    "tcp_permitkey_bad",
    "tcp_permitkey_gen",
    "tcp_rxclamp",
    "tcp_skiprx",
    "tcp_synctransferid",
    "tcp_triptimes",
    "tcp_triptimes_P2",
    "tcp_triptimes_R",
    "tcp_triptimes_fullduplex",
    "tcp_triptimes_histograms",
    "tcp_triptimes_legacyserver",
    "tcp_triptimes_y_C",
    "tcp_triptimes_y_c_e",
    "tcp_txstart",
    "tcp_writeprefetch",
    "tcp_writetimes",
    "tcp_writetimes_R",
    "tcp_writetimes_histograms",
    "udp_P2_histograms",
    "udp_P2_sumdstip",
    "udp_P2_triptimes",
    "udp_P2_triptimes_sumonly",
    "udp_P2_triptimes_y_c_e",
    "udp_burst",
    "udp_histograms",
    "udp_histograms_arg",
    "udp_if_isoch",
    "udp_incrdstip",
    "udp_isoch",
    "udp_isoch_p",
    "udp_isoch_triptimes_hist",
    "udp_isoch_y_C",
    "udp_isoch_y_c_e",
    "udp_jitterhist",
    "udp_jitterhist_arg",
    "udp_l2checks",
    "udp_markov",
    "udp_markov_legacy",
    "udp_mcast_noif",
    "udp_ssm",
    "udp_sync",
    "udp_triptimes",
    "udp_triptimes_legacyserver",
    "udp_triptimes_y_C",
    "udp_triptimes_y_c_e",
    "udp_txdelay",
    "udp_workload",
];
