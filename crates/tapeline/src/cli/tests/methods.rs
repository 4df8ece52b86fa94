//! What all methods have in common on the command line.

use tapeline_method::{DirectionChoice, MethodPlan, PeerKind};

use super::*;
use crate::cli::rules::METHODS;
use crate::plan::MethodJob;

fn job(text: &str) -> MethodJob {
    let resolution = line(Native, text);
    match resolution.outcome {
        Ok(Plan::Method(job)) => *job,
        other => panic!("{text}: {other:?} {:?}", resolution.messages),
    }
}

fn refusal(text: &str) -> String {
    let resolution = line(Native, text);
    assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{text}");
    said(&resolution).join("\n")
}

fn words() -> impl Iterator<Item = &'static str> {
    MethodPlan::WORDS.iter().map(|(word, _)| *word)
}

#[test]
fn every_method_takes_what_is_common() {
    for word in words() {
        let plain = job(&format!("{word} h"));
        let common = plain.plan.common();
        assert_eq!((common.host.as_str(), common.port), ("h", 5001), "{word}");
        assert_eq!(common.direction, DirectionChoice::Both, "{word}");
        assert_eq!(common.peer, PeerKind::Auto, "{word}");
        assert!(common.control && !plain.only_plan, "{word}");
        assert_eq!((common.budget, plain.repeat), (None, None), "{word}");
        let asked = job(&format!(
            "{word} [::1]:7 -6 --direction up --budget 10m --plan --no-control -S ef -f k \
             --fail-if-limited --repeat 3 --hide-ips"
        ));
        let common = asked.plan.common();
        assert_eq!((common.host.as_str(), common.port), ("::1", 7), "{word}");
        assert_eq!(common.family, Family::V6, "{word}");
        assert_eq!(common.direction, DirectionChoice::Up, "{word}");
        assert_eq!(common.budget, Some(10_000_000), "{word}");
        assert_eq!(common.tos, Some(Tos(0xb8)), "{word}");
        assert!(!common.control && asked.only_plan, "{word}");
        assert!(asked.presentation.fail_if_host_limited, "{word}");
        assert_eq!(asked.repeat.map(|repeat| repeat.most), Some(3), "{word}");
        let reverse = job(&format!("{word} h -R -p 9"));
        let common = reverse.plan.common();
        assert_eq!(common.direction, DirectionChoice::Down, "{word}");
        assert_eq!(common.port, 9, "{word}");
    }
}

#[test]
fn other_options_and_wrong_values_are_refused_by_name() {
    let mut rules: Vec<&str> = METHODS.iter().map(|rule| rule.name).collect();
    for word in words() {
        for (rule, text, part) in [
            (
                "",
                "h --isochronous",
                format!("--isochronous does not apply to {word}"),
            ),
            ("", "h -u", format!("-u does not apply to {word}")),
            ("", "h -c g", format!("-c does not apply to {word}")),
            ("", "", format!("{word} needs a host")),
            ("", "h g", format!("{word} takes one host")),
            (
                "",
                "h --direction left",
                "'left' is none of up, down, both".into(),
            ),
            ("", "h --budget 0", "'0' is nothing to move".into()),
            ("", "h:x", "HOST:PORT needs a port".into()),
            ("", "h:7 -p 8", "the port is given twice".into()),
            ("", "h -p 5-6", "takes one port".into()),
            ("", "h -t 0", "needs an end".into()),
            ("", "h -b 100pps", "a rate in bits per second".into()),
            (
                "",
                "h --pass nonsense=1",
                format!("{word} has no limit \"nonsense\""),
            ),
            ("plan_is_text", "h --plan --json", "--plan is text".into()),
            (
                "one_direction",
                "h -R --direction up",
                "leave out one of them".into(),
            ),
            (
                "forms_are_own",
                "h -f iperf3-json",
                "a method has --json".into(),
            ),
        ] {
            if word == "try" && text.is_empty() {
                // Without a host it is this machine that is tried.
                continue;
            }
            let heard = refusal(&format!("{word} {text}"));
            assert!(heard.starts_with("error: "), "{word} {text}: {heard}");
            assert!(heard.contains(&part), "{word} {text}: {heard}");
            rules.retain(|known| *known != rule);
        }
    }
    assert!(rules.is_empty() || words().next().is_none(), "{rules:?}");
    for option in ["--direction up", "--pass default", "--budget 5", "--plan"] {
        let heard = refusal(&format!("-c h {option}"));
        assert!(heard.contains("does not apply to a client"), "{heard}");
    }
}

#[test]
fn limits_add_up_and_the_last_of_a_name_counts() {
    for word in words() {
        let criteria = MethodPlan::criteria(word);
        for criterion in criteria {
            let name = criterion.name;
            let job = job(&format!("{word} h --pass {name}=1 --pass {name}=2.5"));
            let limits: Vec<_> = job.limits.iter().map(|one| one.limit).collect();
            assert_eq!(limits, [2.5], "{word} {name}");
            let heard = refusal(&format!("{word} h --pass {name}=x"));
            assert!(heard.contains("needs a number"), "{heard}");
            let typo = format!("{name}x");
            let heard = refusal(&format!("{word} h --pass {typo}=1"));
            assert!(heard.contains("did you mean"), "{heard}");
        }
        let defaults = criteria.iter().filter(|one| one.default.is_some()).count();
        if defaults > 0 {
            let job = job(&format!("{word} h --pass default"));
            assert_eq!(job.limits.len(), defaults, "{word}");
        } else {
            let heard = refusal(&format!("{word} h --pass default"));
            assert!(heard.contains("has no default limits"), "{heard}");
        }
    }
}

#[test]
fn every_method_has_its_own_help() {
    for word in words() {
        for option in ["-h", "--help"] {
            let outcome = line(Native, &format!("{word} {option}")).outcome;
            assert_eq!(outcome, Ok(Plan::Help(HelpPage::Method(word))));
        }
    }
}
