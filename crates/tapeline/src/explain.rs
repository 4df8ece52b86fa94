//! `tapeline explain ID`: what a warning means, or a rule.

use crate::explanations::{Explanation, GROUPS, TOPICS};

/// All warnings, in the order of their groups.
fn warnings() -> impl Iterator<Item = &'static Explanation> {
    GROUPS.iter().flat_map(|group| group.warnings)
}

/// Whether a warning or a rule has this name.
pub(crate) fn knows(name: &str) -> bool {
    warning(name, usize::MAX).is_some()
}

/// The name, an example and the meaning of a warning or a rule, in lines of at most `width` columns.
pub(crate) fn warning(name: &str, width: usize) -> Option<String> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let known = warnings().chain(TOPICS).find(|known| known.id == name)?;
    let example = wrap(known.example, 2, width).join("\n");
    let meaning = wrap(known.meaning, 0, width).join("\n");
    Some(format!("{}\n\n{example}\n\n{meaning}", known.id))
}

/// Column of the examples in the list.
const INDENT: usize = 28;

/// The names of all warnings, with their examples.
pub(crate) fn list(width: usize) -> String {
    let mut text = String::from("\"tapeline explain ID\" explains a warning:\n");
    for group in GROUPS {
        text.push_str(&format!("\n{}:\n", group.title));
        for warning in group.warnings {
            let mut lines = wrap(warning.example, INDENT, width);
            lines[0].replace_range(
                ..INDENT,
                &format!("{:<INDENT$}", format!("  {}", warning.id)),
            );
            text.push_str(&lines.join("\n"));
            text.push('\n');
        }
    }
    text.push_str("\nRules:\n");
    for topic in TOPICS {
        text.push_str(&format!("  {}\n", topic.id));
    }
    text.trim_end().to_owned()
}

/// Breaks a text at blanks into lines of at most `width` columns, `indent` of them blank.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.len() > indent && line.len() + 1 + word.len() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            if line.len() > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_is_explained_once() {
        let mut known: Vec<&str> = warnings().map(|known| known.id).collect();
        known.sort_unstable();
        let mut ids = tapeline_report::document::WARNING_IDS.to_vec();
        ids.sort_unstable();
        assert_eq!(known, ids);
        for name in ids {
            let text = warning(name, 80).unwrap_or_else(|| panic!("{name} is not explained"));
            assert!(text.len() > name.len() + 60, "{text}");
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        }
    }

    /// The limits of the text are those that judge.
    #[test]
    fn rules_are_explained_by_their_limits() {
        use tapeline_stats::UseLimits;

        let text = warning("try-uses", usize::MAX).expect("a rule");
        for limits in [UseLimits::CALLS, UseLimits::GAMES] {
            for (good, fair, unit) in [
                (limits.delay_ms.0, limits.delay_ms.1, "ms"),
                (limits.loss_percent.0, limits.loss_percent.1, "%"),
                (limits.jitter_ms.0, limits.jitter_ms.1, "ms"),
            ] {
                for value in [good, fair] {
                    assert!(text.contains(&format!(" {value} {unit}")), "{value} {unit}");
                }
            }
        }
        let (good, fair) = UseLimits::WEB_RATE;
        for rate in [good, fair] {
            assert!(text.contains(&format!(" {} Mbit/s", rate / 1e6)), "{rate}");
        }
    }

    #[test]
    fn names_are_forgiving_and_the_list_is_complete() {
        assert_eq!(
            warning("Rate_Not_Reached", 80),
            warning("rate-not-reached", 80)
        );
        assert_eq!(warning("nothing-of-the-kind", 80), None);
        let list = list(80);
        assert!(list.lines().all(|line| line.len() <= 80), "{list}");
        for known in warnings() {
            let listed = |line: &&str| line.split_whitespace().next() == Some(known.id);
            assert_eq!(list.lines().filter(listed).count(), 1, "{}", known.id);
        }
    }
}
