//! First stage: the command line, cut as `getopt_long(3)` cuts it.
//!
//! Words that are no option are left out, as iperf3 does; the first fault ends the reading.

use std::ffi::OsString;

use lexopt::Arg;

use super::options::{Found, Spec, by_letter, by_name};
use crate::options::Arity;

/// An option with its value.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) spec: &'static Spec,
    /// As typed; bytes that are no UTF-8 are replaced.
    pub(super) value: Option<String>,
}

impl Given {
    /// The value, empty for a switch.
    pub(super) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// One piece of the line: an option, or getopt's complaint without the program's name.
pub(super) type Piece = Result<Given, String>;

/// Cuts the words behind the program's name; nothing follows a fault.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Vec<Piece> {
    let mut parser = lexopt::Parser::from_args(arguments);
    parser.set_short_equals(false);
    let mut pieces = Vec::new();
    loop {
        let piece = match parser.next() {
            Ok(None) => return pieces,
            Ok(Some(Arg::Value(_))) => continue,
            Ok(Some(Arg::Short(letter))) => read_letter(letter, &mut parser),
            Ok(Some(Arg::Long(name))) => {
                let name = name.to_owned();
                read_name(&name, &mut parser)
            }
            Err(error) => Err(error.to_string()),
        };
        let faulty = piece.is_err();
        pieces.push(piece);
        if faulty {
            return pieces;
        }
    }
}

fn text(value: OsString) -> String {
    value.to_string_lossy().into_owned()
}

fn read_letter(letter: char, parser: &mut lexopt::Parser) -> Piece {
    let Some(spec) = by_letter(letter) else {
        return Err(format!("invalid option -- '{letter}'"));
    };
    // A letter's value is not optional to getopt: `-d4` is `-d -4`.
    let value = match spec.arity {
        Arity::Switch | Arity::Optional => None,
        Arity::Required => match parser.optional_value().map_or_else(|| parser.value(), Ok) {
            Ok(value) => Some(text(value)),
            Err(_) => return Err(format!("option requires an argument -- '{letter}'")),
        },
    };
    Ok(Given { spec, value })
}

fn read_name(name: &str, parser: &mut lexopt::Parser) -> Piece {
    let attached = parser.optional_value().map(text);
    let word = match &attached {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    };
    let (spec, whole) = match by_name(name) {
        Found::One(spec, whole) => (spec, whole),
        Found::Ambiguous(candidates) => {
            let list: String = candidates
                .iter()
                .map(|name| format!(" '--{name}'"))
                .collect();
            return Err(format!(
                "option '--{word}' is ambiguous; possibilities:{list}"
            ));
        }
        Found::Unknown => return Err(format!("unrecognized option '--{word}'")),
    };
    let value = match (spec.arity, attached) {
        (Arity::Switch, Some(_)) => {
            return Err(format!("option '--{whole}' doesn't allow an argument"));
        }
        (Arity::Required, None) => match parser.value() {
            Ok(value) => Some(text(value)),
            Err(_) => return Err(format!("option '--{whole}' requires an argument")),
        },
        (_, attached) => attached,
    };
    Ok(Given { spec, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `port=7`, `udp`, `!fault`.
    fn pieces(line: &str) -> Vec<String> {
        let words = line.split_whitespace().map(OsString::from);
        let shown = |piece| match piece {
            Ok(Given {
                spec,
                value: Some(value),
            }) => format!("{}={value}", spec.names[0]),
            Ok(given) => given.spec.names[0].to_owned(),
            Err(fault) => format!("!{fault}"),
        };
        parse(words).into_iter().map(shown).collect()
    }

    #[test]
    fn options_come_in_any_order_and_words_are_left_out() {
        assert_eq!(
            pieces("one -c h two -u -p7 --time=5 --bitr 1M -- -R"),
            ["client=h", "udp", "port=7", "time=5", "bitrate=1M"]
        );
        assert_eq!(
            pieces("-uRc h -i -1"),
            ["udp", "reverse", "client=h", "interval=-1"]
        );
        assert_eq!(pieces("--cntl-ka 5 --cntl-ka=5"), ["cntl-ka", "cntl-ka=5"]);
        assert_eq!(pieces("-d1 --debug=2"), ["debug", "one-off", "debug=2"]);
        assert_eq!(pieces("--linux cubic"), ["congestion=cubic"]);
    }

    #[test]
    fn the_first_fault_ends_the_line_in_the_words_of_getopt() {
        for (line, fault) in [
            ("-u -Q -R", "invalid option -- 'Q'"),
            ("-u --foo=1", "unrecognized option '--foo=1'"),
            ("-u -c", "option requires an argument -- 'c'"),
            ("-u --extra", "option '--extra-data' requires an argument"),
            (
                "-u --no-delay=1",
                "option '--no-delay' doesn't allow an argument",
            ),
            (
                "-u --bi=5",
                "option '--bi=5' is ambiguous; possibilities: '--bitrate' '--bidir' '--bind' \
                 '--bind-dev'",
            ),
        ] {
            assert_eq!(
                pieces(line),
                ["udp".to_owned(), format!("!{fault}")],
                "{line}"
            );
        }
    }
}
