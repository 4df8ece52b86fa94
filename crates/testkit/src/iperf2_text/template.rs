//! A small pattern language for lines, and its matcher.
//!
//! A template is literal text with placeholders. A placeholder accepts exactly what the
//! printing side can produce, padding included, and yields a field:
//!
//! | Placeholder | Accepts |
//! |---|---|
//! | `{n}` `{n:8}` | integer; right-aligned in at least that many columns |
//! | `{c}` `{c:8}` | integer or `-` (the kernel does not report it) |
//! | `{f3}` `{f3:6}` | fixed-point number with that many decimals, 1 to 4 |
//! | `{g}` | C's `%.2g` |
//! | `{p}` | network power: whole, two or six decimals, `NAN`, `OBL` |
//! | `{q}` | quantity: three significant digits, at least four wide, unit (`1.26 GByte`) |
//! | `{z}` | quantity, or a lone `0` |
//! | `{T}` `{R}` | quantity with `s` (transfer), with `s/sec` (rate) |
//! | `{h}` | lower-case hexadecimal digits |
//! | `{proto}` | `TCP`, `UDP`, either with ` (v6)` |
//! | `{date}` | `2026-11-20 23:05:56 (UTC)`, with or without `.108` |
//! | `{text}` | any text up to the literal that follows, or to the end |

/// Matches the whole of `line`; the fields in their order, padding removed.
pub(crate) fn matches<'a>(template: &str, line: &'a str) -> Option<Vec<&'a str>> {
    let mut fields = Vec::new();
    let rest = prefix(template, line, &mut fields)?;
    rest.is_empty().then_some(fields)
}

/// Matches the beginning of `line`; what follows the match.
pub(crate) fn prefix<'a>(
    template: &str,
    line: &'a str,
    fields: &mut Vec<&'a str>,
) -> Option<&'a str> {
    let mut template = template;
    let mut line = line;
    while let Some(open) = template.find('{') {
        line = line.strip_prefix(&template[..open])?;
        let close = open + template[open..].find('}')?;
        let placeholder = &template[open + 1..close];
        template = &template[close + 1..];
        let literal = template.split('{').next().unwrap_or_default();
        let (field, rest) = field(placeholder, literal, line)?;
        fields.push(field);
        line = rest;
    }
    line.strip_prefix(template)
}

/// One placeholder: its field and what follows.
fn field<'a>(placeholder: &str, literal: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let (kind, width) = match placeholder.split_once(':') {
        Some((kind, width)) => (kind, width.parse().ok()?),
        None => (placeholder, 0),
    };
    match kind {
        "n" => aligned(line, width, integer),
        "c" => aligned(line, width, count),
        "f1" => aligned(line, width, |text| fixed(text, 1)),
        "f2" => aligned(line, width, |text| fixed(text, 2)),
        "f3" => aligned(line, width, |text| fixed(text, 3)),
        "f4" => aligned(line, width, |text| fixed(text, 4)),
        "g" => split_nonzero(
            line,
            span(line, |c| c.is_ascii_digit() || ".e+-".contains(c)),
        ),
        "p" => split_nonzero(line, power(line)?),
        "q" => quantity(line, ""),
        "z" => quantity(line, "").or_else(|| line.starts_with("0 ").then(|| line.split_at(1))),
        "T" => quantity(line, "s"),
        "R" => quantity(line, "s/sec"),
        "h" => split_nonzero(line, span(line, |c| matches!(c, '0'..='9' | 'a'..='f'))),
        "proto" => protocol(line),
        "date" => date(line),
        "text" => text(line, literal),
        _ => None,
    }
}

/// A field of at least `width` columns, filled with blanks on the left.
fn aligned(
    line: &str,
    width: usize,
    length: impl Fn(&str) -> Option<usize>,
) -> Option<(&str, &str)> {
    let blanks = span(line, |c| c == ' ');
    let body = &line[blanks..];
    let length = length(body)?;
    let fits = if blanks == 0 {
        length >= width
    } else {
        blanks + length == width
    };
    fits.then(|| body.split_at(length))
}

fn integer(text: &str) -> Option<usize> {
    let sign = usize::from(text.starts_with('-'));
    let digits = span(&text[sign..], |c| c.is_ascii_digit());
    (digits > 0).then_some(sign + digits)
}

fn count(text: &str) -> Option<usize> {
    integer(text).or_else(|| text.starts_with('-').then_some(1))
}

fn fixed(text: &str, decimals: usize) -> Option<usize> {
    if text.starts_with("-nan") {
        return Some(4);
    }
    let whole = integer(text)?;
    let fraction = text[whole..].strip_prefix('.')?;
    (span(fraction, |c| c.is_ascii_digit()) == decimals).then_some(whole + 1 + decimals)
}

fn power(text: &str) -> Option<usize> {
    if text.starts_with("NAN") || text.starts_with("OBL") {
        return Some(3);
    }
    let whole = integer(text)?;
    match text[whole..].strip_prefix('.') {
        None => Some(whole),
        Some(fraction) => {
            let decimals = span(fraction, |c| c.is_ascii_digit());
            matches!(decimals, 2 | 6).then_some(whole + 1 + decimals)
        }
    }
}

/// Three significant digits in at least four columns, a blank, a unit, and `plural`.
fn quantity<'a>(line: &'a str, plural: &str) -> Option<(&'a str, &'a str)> {
    let blanks = span(line, |c| c == ' ');
    let body = &line[blanks..];
    let number = span(body, |c| c.is_ascii_digit() || c == '.');
    let width_fits = if blanks == 0 {
        number >= 4
    } else {
        blanks + number == 4
    };
    if !width_fits || !three_digits(&body[..number]) {
        return None;
    }
    let unit = body[number..].strip_prefix(' ')?;
    let multiple = usize::from(unit.starts_with(['K', 'M', 'G', 'T', 'P']));
    let name = ["Byte", "bit"]
        .iter()
        .find(|name| unit[multiple..].starts_with(**name))?;
    let end = number + 1 + multiple + name.len();
    let end = end + body[end..].strip_prefix(plural).map(|_| plural.len())?;
    Some(body.split_at(end))
}

/// Whether the number has the decimals that its size asks for.
fn three_digits(number: &str) -> bool {
    match number.split_once('.') {
        None => number.len() >= 3,
        Some(("0", decimals)) => decimals.len() == 3,
        Some((whole, decimals)) => decimals.len() + whole.len() == 3 && !decimals.is_empty(),
    }
}

fn protocol(line: &str) -> Option<(&str, &str)> {
    ["TCP (v6)", "UDP (v6)", "TCP", "UDP"]
        .iter()
        .find(|name| line.starts_with(**name))
        .map(|name| line.split_at(name.len()))
}

fn date(line: &str) -> Option<(&str, &str)> {
    let shape = |text: &str, shape: &str| {
        text.len() >= shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(byte, wanted)| match wanted {
                    b'0' => byte.is_ascii_digit(),
                    _ => byte == wanted,
                })
    };
    const SECONDS: &str = "0000-00-00 00:00:00";
    const MILLIS: &str = "0000-00-00 00:00:00.000";
    let digits = [MILLIS, SECONDS]
        .iter()
        .find(|wanted| shape(line, wanted))?
        .len();
    let zone = line[digits..].strip_prefix(" (")?;
    let name = zone.find(')').filter(|length| *length > 0)?;
    Some(line.split_at(digits + 2 + name + 1))
}

fn text<'a>(line: &'a str, literal: &str) -> Option<(&'a str, &'a str)> {
    let length = if literal.is_empty() {
        line.len()
    } else {
        line.find(literal)?
    };
    split_nonzero(line, length)
}

fn split_nonzero(line: &str, length: usize) -> Option<(&str, &str)> {
    (length > 0).then(|| line.split_at(length))
}

/// Bytes at the beginning that are made of such characters.
fn span(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_part_of_the_grammar() {
        assert_eq!(
            matches("{n}{n:8} pps", "0      61 pps"),
            Some(vec!["0", "61"])
        );
        assert_eq!(matches("{n}{n:8} pps", "0     61 pps"), None);
        assert_eq!(matches("{n:2}", "123"), Some(vec!["123"]));
        assert_eq!(matches("{f3:6} ms", " 0.004 ms"), Some(vec!["0.004"]));
        assert_eq!(matches("{f3:6} ms", "0.004 ms"), None);
        assert_eq!(matches("{c:4}", "   -"), Some(vec!["-"]));
    }

    #[test]
    fn quantities_have_three_digits_in_four_columns() {
        for good in [
            "1.26 GBytes",
            " 128 KBytes",
            "0.000 Bytes",
            "1023 KBytes",
            "25034816 Bytes",
        ] {
            assert!(matches("{T}", good).is_some(), "{good}");
        }
        for bad in [
            "128 KBytes",
            "1.2 GBytes",
            "12.60 GBytes",
            " 1.26 GBytes",
            "1.26 GByte",
        ] {
            assert!(matches("{T}", bad).is_none(), "{bad}");
        }
        assert_eq!(
            matches("{R}", " 101 Mbits/sec"),
            Some(vec!["101 Mbits/sec"])
        );
    }

    #[test]
    fn dates_with_and_without_milliseconds() {
        assert!(matches("on {date}", "on 2026-11-20 23:05:56.108 (UTC)").is_some());
        assert!(matches("on {date}", "on 2026-11-20 23:05:56 (CET)").is_some());
        assert!(matches("on {date}", "on 2026-11-20 23:05 (CET)").is_none());
        assert!(matches("on {date}", "on 2026-11-20 23:05:56 ()").is_none());
    }

    #[test]
    fn no_input_panics() {
        for line in ["", "é", "2026é", "0.é", "-", "-é", " 12 Gé", "9999 PByté"] {
            for template in [
                "{n:3}", "{f3}", "{q}", "{date}", "{p}", "{g}", "{text}x", "{proto}",
            ] {
                let _ = matches(template, line);
            }
        }
    }
}
