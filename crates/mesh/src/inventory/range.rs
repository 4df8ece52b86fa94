//! Ranges in names: `web[01:20].example`, `db-[a:f]`.

/// Most names of one pattern.
const MOST: usize = 100_000;

/// The names that a pattern stands for; itself without a range. A step may follow: `[0:8:2]`.
///
/// # Errors
/// What is wrong with it, as the rest of a sentence.
pub(crate) fn names(pattern: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = pattern.split_once('[') else {
        return Ok(vec![pattern.to_owned()]);
    };
    let Some((range, after)) = rest.split_once(']') else {
        return Err(format!("\"{pattern}\" has a [ without ]"));
    };
    let wrong = || format!("\"[{range}]\" of \"{pattern}\" is no range such as [01:20] or [a:f]");
    let members = members(range).ok_or_else(wrong)?;
    let endings = names(after)?;
    if members.len().saturating_mul(endings.len()) > MOST {
        return Err(format!("\"{pattern}\" stands for more than {MOST} names"));
    }
    let all = members.iter().flat_map(|member| {
        let endings = endings.iter();
        endings.map(move |ending| format!("{before}{member}{ending}"))
    });
    Ok(all.collect())
}

fn members(range: &str) -> Option<Vec<String>> {
    let mut parts = range.split(':');
    let (first, last) = (parts.next()?, parts.next()?);
    let step = parts.next().map_or(Some(1), |step| step.parse().ok())?;
    if parts.next().is_some() || step == 0 {
        return None;
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(last) || !(first.is_empty() || digits(first)) {
        let (first, last) = (one_letter(first)?, one_letter(last)?);
        let letters = (first..=last).step_by(step);
        return Some(letters.map(String::from).collect()).filter(|all: &Vec<_>| !all.is_empty());
    }
    // An empty beginning is 0. With a leading zero all have as many digits.
    let width = if first.starts_with('0') {
        first.len()
    } else {
        0
    };
    let from: usize = if first.is_empty() {
        0
    } else {
        first.parse().ok()?
    };
    let to: usize = last.parse().ok()?;
    let numbers = (from..=to).step_by(step).take(MOST + 1);
    let all: Vec<String> = numbers.map(|number| format!("{number:0width$}")).collect();
    Some(all).filter(|all| !all.is_empty())
}

fn one_letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    letters.next().is_none().then_some(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_its_names() {
        for (pattern, expected) in [
            ("web", "web"),
            ("web[1:3]", "web1 web2 web3"),
            (
                "web[08:10].example",
                "web08.example web09.example web10.example",
            ),
            ("web[:2]", "web0 web1 web2"),
            ("db-[a:e:2]", "db-a db-c db-e"),
            ("[a:b][1:2]x", "a1x a2x b1x b2x"),
        ] {
            assert_eq!(names(pattern).expect(pattern).join(" "), expected);
        }
    }

    #[test]
    fn what_is_no_range_is_named() {
        for (pattern, said) in [
            ("a[1:2", "without ]"),
            ("a[]", "no range"),
            ("a[1]", "no range"),
            ("a[3:1]", "no range"),
            ("a[c:a]", "no range"),
            ("a[1:5:0]", "no range"),
            ("a[1:c]", "no range"),
            ("a[1:2:3:4]", "no range"),
            ("a[1:99999999]", "more than 100000 names"),
            ("a[1:1000][1:1000]", "more than 100000 names"),
        ] {
            let why = names(pattern).expect_err(pattern);
            assert!(why.contains(said), "{pattern}: {why}");
        }
    }
}
