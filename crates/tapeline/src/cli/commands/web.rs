//! The command line of `tapeline web`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tapeline_dialect::Network;
use tapeline_web::SiteOptions;

use crate::plan::{Target, WebJob};

/// Tests at a time at most.
pub(crate) const MAX_TESTS: u32 = SiteOptions::MAX_TESTS as u32;

/// What was typed.
#[derive(Debug)]
pub(crate) struct WebWords {
    /// The value of `--listen`.
    pub(crate) listen: Option<String>,
    /// The values of `--targets`.
    pub(crate) targets: Vec<String>,
    /// The rest.
    pub(crate) job: WebJob,
}

/// What a line orders.
///
/// # Errors
/// A sentence about what is wrong with it.
pub(crate) fn job(words: WebWords) -> Result<WebJob, String> {
    let listen = words.listen.as_deref().map(address).transpose()?;
    let is_open = listen.is_some_and(|listen| !listen.ip().is_loopback());
    if is_open && words.job.key_file.is_none() {
        return Err(
            "--listen: others can reach this address; --key-file FILE says with which key"
                .to_owned(),
        );
    }
    let named: Vec<Target> = words
        .targets
        .iter()
        .flat_map(|list| targets(list))
        .collect();
    if named.iter().any(|target| target.text.is_empty()) {
        return Err("--targets needs networks and names with commas between them".to_owned());
    }
    // Whoever reaches the page from elsewhere tests nothing that was not named.
    let is_limited = is_open || !words.targets.is_empty();
    Ok(WebJob {
        listen,
        targets: is_limited.then_some(named),
        ..words.job
    })
}

/// `ADDRESS:PORT`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").and_then(|port| {
        let port = port.parse().ok()?;
        Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    });
    local
        .or_else(|| text.parse().ok())
        .ok_or_else(|| format!("--listen needs ADDRESS:PORT, not \"{text}\""))
}

fn targets(list: &str) -> Vec<Target> {
    let targets = list.split(',').map(|text| Target {
        text: text.trim().to_owned(),
        network: Network::parse(text.trim()),
    });
    targets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::resolve::resolve;
    use crate::plan::Plan;

    fn web(words: &str) -> Result<WebJob, String> {
        let words = std::iter::once("web").chain(words.split_whitespace());
        let words: Vec<_> = words.map(Into::into).collect();
        let resolution = resolve(&words);
        match resolution.outcome {
            Ok(Plan::Web(job)) => Ok(*job),
            Ok(other) => panic!("{other:?}"),
            Err(_) => Err(resolution.messages[0].text.clone()),
        }
    }

    #[test]
    fn without_options_it_is_for_this_host_alone() {
        let job = web("").expect("a job");
        assert_eq!((job.listen, job.key_file, job.targets), (None, None, None));
        assert_eq!(
            (job.tests, job.read_only, job.saves, job.opens),
            (1, false, true, false)
        );
    }

    #[test]
    fn others_need_a_key_and_test_what_was_named() {
        assert!(
            web("--listen 0.0.0.0:80")
                .expect_err("no key")
                .contains("--key-file")
        );
        let job = web("--listen 192.0.2.1:8470 --key-file k").expect("a job");
        assert_eq!(job.targets, Some(Vec::new()));
        let job = web("--listen [::1]:8470 --targets 10.0.0.0/8,lab.example").expect("a job");
        let targets = job.targets.expect("targets");
        assert_eq!(targets.len(), 2);
        assert!(targets[0].network.is_some() && targets[1].network.is_none());
        assert!(web("--listen localhost:9000").is_ok());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, part) in [
            ("--listen 8470", "ADDRESS:PORT"),
            ("--max-tests 0", "--max-tests"),
            ("--max-tests 4", "from 1 to 3"),
            ("--targets ,", "--targets"),
            ("extra", "options only"),
            ("--json", "does not apply"),
            ("--utc", "does not apply"),
            ("-- -c h", "no --"),
        ] {
            let said = web(words).expect_err(words);
            assert!(said.contains(part), "{words}: {said}");
        }
        assert!(!web("--read-only").expect("a job").saves);
    }

    #[test]
    fn every_option_has_its_effect() {
        let job = web(
            "--open --no-save --max-tests 3 --name a.example --name b.example --key-file k --history h",
        )
        .expect("a job");
        assert_eq!((job.opens, job.saves, job.tests), (true, false, 3));
        assert_eq!(job.names, ["a.example", "b.example"]);
        assert_eq!(
            (job.key_file, job.file),
            (Some("k".into()), Some("h".into()))
        );
    }
}
