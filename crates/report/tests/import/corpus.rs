//! The corpus of the fuzz target holds recordings of every source, and whatever is in it keeps the contract.

use std::fs;

use tapeline_report::fuzz;
use tapeline_testkit::captures::seeds;

use super::recordings;

/// Recordings that are seeds: folder and end of the name.
const SEEDS: &[(&str, &str)] = &[
    ("documents", "/tcp-client.json"),
    ("documents", "/refused.json"),
    ("iperf3", "/tcp.json"),
    ("iperf3", "/udp-loss.json"),
    ("iperf3", "/tcp-bidir.server.json"),
    ("iperf3", "/client-sigint-stream.json"),
    ("iperf3", "/err-bitrate-limit.json"),
    ("iperf3", "/text-tcp-verbose.txt"),
    ("iperf3", "/text-tcp-bidir.txt"),
    ("iperf3", "/text-udp-P2.txt"),
    ("iperf3", "/text-timestamps.txt"),
    ("import", "/iperf3-bidir-3.9.json"),
    ("import", "/iperf2-tcp_P2_y_C-2.0.14a.client.txt"),
    ("import", "/iperf2-text-udp_e-2.0.14a.server.txt"),
    ("import", "/iperf2-text-tcp_e-2.1.8.client.txt"),
    ("iperf2", "/tcp_P2_e.client.txt"),
    ("iperf2", "/udp_e.client.txt"),
    ("iperf2", "/udp_d.server.txt"),
    ("iperf2", "/tcp_bounceback.client.txt"),
    ("iperf2", "/tcp_fullduplex_y_c_e.client.txt"),
    ("iperf2", "/udp_triptimes_y_c_e.server.txt"),
    ("iperf2", "/tcp_bounceback_y_c_e.client.txt"),
    ("iperf2", "/udp_y_C.client.txt"),
];

#[test]
fn recordings_are_seeds() {
    for (folder, end) in SEEDS {
        let file = &recordings(folder, end)[0];
        let name = file.file_name().expect("a name").to_string_lossy();
        seeds::expect("import", &name, &fs::read(file).expect("bytes"));
    }
    let series = r#"{"schema":"tapeline-series/1","series":{"excluded":[{"run":1,"reason":"warm_up"}]},
        "runs":[{"schema":"tapeline-report/1","test":{},"sum":{},"streams":[],"intervals":[{}]}]}"#;
    seeds::expect("import", "series", series.as_bytes());
    let large = "+0000:20261120231224.676483,1.1.1.1,9,1.1.1.2,5001,1,0.0,1.0,18446744073709551615,1,0.1,\
        18446744073709551615,18446744073709551615,0.0,0,1,0,0,1.0\n";
    let names = "time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,jitter,errors,\
        datagrams,errpercent,outoforder,readcnt,readtimeo,readerrlen,pps\n";
    seeds::expect(
        "import",
        "large-counts",
        format!("{names}{large}").as_bytes(),
    );
}

#[test]
fn every_seed_keeps_the_contract() {
    let all = seeds::all("import");
    assert!(all.len() > 20, "{}", all.len());
    for seed in all {
        fuzz::import(&seed);
        // Cut anywhere.
        for cut in (0..seed.len()).step_by(47) {
            fuzz::import(&seed[..cut]);
        }
    }
}
