//! The help of one method: what it finds out, its limits, and its options.

use tapeline_dialect::Personality;
use tapeline_method::MethodPlan;
use tapeline_report::method::Criterion;

use super::native::{in_two_columns, names};
use crate::cli::options::table::usable;
use crate::cli::spec::{Methods, OptionSpec};
use crate::explain::wrap;

/// The page, without its last line end.
pub(crate) fn page(word: &str, width: usize) -> String {
    let about = MethodPlan::WORDS.iter().find(|(its, _)| *its == word);
    let about = about.map_or("", |(_, about)| about);
    let mut lines = vec![
        format!("tapeline {word} HOST[:PORT] [OPTIONS]"),
        String::new(),
    ];
    lines.extend(wrap(&format!("{about}."), 0, width));
    let criteria = MethodPlan::criteria(word);
    if !criteria.is_empty() {
        lines.push(String::new());
        lines.push("Limits for --pass:".to_owned());
        lines.extend(
            criteria
                .iter()
                .flat_map(|criterion| limit(criterion, width)),
        );
    }
    let options = || usable(Personality::Native).filter(|spec| spec.methods.include(word));
    let own = |spec: &&OptionSpec| matches!(spec.methods, Methods::Only(_));
    for (title, listed) in [
        (
            "Its own options:",
            options().filter(own).collect::<Vec<_>>(),
        ),
        (
            "Options of all methods:",
            options().filter(|spec| !own(spec)).collect(),
        ),
    ] {
        if listed.is_empty() {
            continue;
        }
        lines.push(String::new());
        lines.push(title.to_owned());
        for spec in listed {
            let text = if own(&spec) {
                spec.explanation(Personality::Native)
            } else {
                spec.help.to_owned()
            };
            lines.extend(in_two_columns(&names(spec), &text, width));
        }
    }
    lines.join("\n")
}

/// `  mtu=BYTES    at least; default 1500`.
fn limit(criterion: &Criterion, width: usize) -> Vec<String> {
    let value = match criterion.unit {
        "" => "NUMBER".to_owned(),
        unit => unit.to_uppercase(),
    };
    let default = criterion
        .default
        .map_or_else(|| "no default".to_owned(), |it| format!("default {it}"));
    let text = format!("{} this; {default}", bound(criterion));
    in_two_columns(&format!("  {}={value}", criterion.name), &text, width)
}

fn bound(criterion: &Criterion) -> &'static str {
    match criterion.bound {
        tapeline_report::method::Bound::AtLeast => "at least",
        tapeline_report::method::Bound::AtMost => "at most",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_page_that_fits() {
        for (word, about) in MethodPlan::WORDS {
            for width in [60, 80, 100] {
                let page = page(word, width);
                assert!(page.starts_with(&format!("tapeline {word} HOST")));
                assert!(page.contains(about.split(' ').next().unwrap_or_default()));
                let wide = page.lines().find(|line| line.chars().count() > width);
                assert_eq!(wide, None, "{word} at {width}");
                for option in ["--direction", "--pass", "--budget", "--plan", "--json"] {
                    assert!(page.contains(option), "{word}: {option}");
                }
            }
        }
    }
}
