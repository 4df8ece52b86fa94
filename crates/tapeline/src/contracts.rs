//! What must hold for any bytes that the program itself reads, one function for each decoder. Fuzz targets
//! and the replay of their corpora share them.

use crate::cli::config_file;
use crate::files::input;
use crate::run;

#[cfg(feature = "prometheus")]
use crate::http;

/// A contract panics when an input breaks it.
pub type Contract = fn(&[u8]);

/// The contracts by the names of their fuzz targets.
pub const CONTRACTS: &[(&str, Contract)] = &[
    ("config_file", config_file::contract),
    ("permit_key_file", input::secret_contract),
    ("remote_orders", run::orders_contract),
    ("remote_replies", tapeline_remote::fuzz::replies),
    #[cfg(feature = "fleet")]
    ("agent_orders", run::agent_contract),
    #[cfg(feature = "prometheus")]
    ("http_request", http::contract),
];

/// Gives an input to the decoder of this name.
///
/// # Panics
/// The contract is broken, or has another name.
pub fn run(name: &str, input: &[u8]) {
    let known = CONTRACTS.iter().find(|(known, _)| *known == name);
    let (_, contract) = known.expect("a known contract");
    contract(input);
}

#[cfg(test)]
mod tests {
    use tapeline_testkit::captures::seeds;

    use super::*;

    #[test]
    fn requests_of_scrapers_are_seeds() {
        let scrape = "GET /metrics HTTP/1.1\r\nHost: [::1]:9184\r\nAccept-Encoding: gzip\r\n\
                      X-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\n";
        let probe = "HEAD /probe?target=%5B%3A%3A1%5D&port=5201&a+b=&=c HTTP/1.0\r\n\r\n";
        seeds::expect("http_request", "scrape", scrape.as_bytes());
        seeds::expect("http_request", "probe", probe.as_bytes());
    }

    #[test]
    fn files_of_operators_are_seeds() {
        let good = "port = 5_201\n# a comment\npermit-key = true\nudp = false\n\
                    trust = ['10.0.0.0/8', \"::1\"]\ninterval = 0.5\none-at-a-time = true\n\
                    [limits]\ntests = 0x10\nduration = '10m'\n";
        seeds::expect("config_file", "options-and-limits", good.as_bytes());
        let inline =
            "\u{feff}limits = { tests = 1, 'streams' = \"2\" }\r\nmetrics = \"\"\"\n[::]:9\"\"\"";
        seeds::expect("config_file", "inline", inline.as_bytes());
        for (name, wrong) in [
            ("twice", "port = 1\nport = 2"),
            ("unknown", "prt = 1979-05-27"),
            ("nested", "[[limits]]\ntests = [[1], {a = nan}]"),
        ] {
            seeds::expect("config_file", name, wrong.as_bytes());
        }
        seeds::expect("permit_key_file", "line", b"open sesame\r\n");
        seeds::expect("permit_key_file", "bytes", b"\xff\0\r");
    }

    #[test]
    fn sessions_are_seeds() {
        let orders = r#"{"id":1,"do":"hello","v":1}
{"id":2,"do":"serve","allow":["192.0.2.9"],"options":[["udp"]]}
{"id":3,"do":"run","options":[["client","h:5"],["time","1"],["reverse"],["rendered","text,csv"]],"live":true}
{"id":4,"do":"stop","which":3}
{"id":5,"do":"clock","t1":1.5}
"#;
        seeds::expect("remote_orders", "session", orders.as_bytes());
        let wrong = r#"{"id":1,"do":"hello","v":2}
{"id":2,"do":"run","options":[["client","h"],["fileinput","/etc/passwd"]]}
{"id":3,"do":"serve","tests":"any","options":[["port","5001"],["flow","-F x"]]}
{"do":"stop"}
"#;
        seeds::expect("remote_orders", "wrong", wrong.as_bytes());
        let replies = r#"Welcome
{"id":1,"hello":{"version":"0.1.0","v":1,"system":"S","addresses":["::1"],"cpus":1,"time":1.5}}
{"id":2,"listening":{"tcp":41877,"udp":41877}}
{"id":3,"event":{"event":"rendered","data":{"form":"text","out":"a","err":""}}}
{"id":3,"end":{"schema":"tapeline-report/1"},"code":0}
{"id":4,"stopped":true}
{"id":5,"t2":1.5,"t3":2.5}
{"id":null,"error":{"id":"usage","text":"no"}}
{"id":6,"newer":1}
"#;
        seeds::expect("remote_replies", "session", replies.as_bytes());
        seeds::expect("remote_replies", "login", b"Welcome\x1b[2J\r\n");
    }

    #[cfg(feature = "fleet")]
    #[test]
    fn orders_to_agents_are_seeds() {
        let test = r#"{"job":"j/1","attempt":1,"epoch":5,"do":"reserve","seconds":10,"class":"exclusive","peer":"192.0.2.7","options":[["time","10"]]}
{"job":"j/1","attempt":1,"epoch":5,"do":"run","options":[["client","192.0.2.7:5001"],["time","10"],["udp"]],"live":true}

{"job":"j/1","attempt":1,"epoch":5,"do":"renew","seconds":0}
"#;
        seeds::expect("agent_orders", "client", test.as_bytes());
        let serving = r#"{"job":"j","attempt":2,"epoch":7,"do":"reserve","seconds":5,"class":"background","peer":"192.0.2.9","options":[]}
{"job":"j","attempt":2,"epoch":7,"do":"serve","options":[["udp"]],"allow":["192.0.2.9"]}
{"job":"j","attempt":2,"epoch":7,"do":"release"}
{"job":"j","attempt":2,"epoch":6,"do":"release"}
"#;
        seeds::expect("agent_orders", "server", serving.as_bytes());
        let wrong = r#"{"job":"j","attempt":1,"epoch":4,"do":"reserve","seconds":10,"class":"exclusive","peer":"192.0.2.7","options":[]}
{"job":"j","attempt":1,"epoch":5,"do":"run","options":[["client","192.0.2.7"],["fileinput","/etc/passwd"]],"live":false}
{"job":"k","attempt":1,"epoch":5,"do":"reserve","seconds":10,"class":"exclusive","peer":"198.51.100.7","options":[]}
{"job":"k","attempt":1,"epoch":5,"do":"reserve","seconds":90,"class":"exclusive","peer":"192.0.2.7","options":[["time","0"]]}
"#;
        seeds::expect("agent_orders", "wrong", wrong.as_bytes());
    }

    #[test]
    fn every_decoder_keeps_its_contract_on_every_seed() {
        for (target, contract) in CONTRACTS {
            let seeds = seeds::all(target);
            assert!(seeds.len() > 1, "only {} seeds of {target}", seeds.len());
            for seed in seeds {
                contract(&seed);
            }
        }
    }
}
