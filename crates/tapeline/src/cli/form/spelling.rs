//! An option as it is written.

use tapeline_remote::GivenOption;

use crate::cli::iperf3::options::Spec;
use crate::cli::parse::Arity;
use crate::cli::spec::{OptionId as Id, OptionSpec, Remote};

/// An option as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Spelling {
    letter: Option<char>,
    name: &'static str,
    arity: Arity,
    value: Option<String>,
}

impl Spelling {
    pub(crate) fn new(spec: &OptionSpec, value: Option<String>) -> Self {
        Self {
            letter: spec.short,
            name: spec.long_name().unwrap_or_default(),
            arity: spec.arity,
            value,
        }
    }

    pub(crate) fn of_iperf3(spec: &Spec, value: Option<String>) -> Self {
        Self {
            letter: spec.letter,
            name: spec.names[0],
            arity: spec.arity,
            value,
        }
    }

    /// Its words. A value never stands where it could be taken for an option.
    pub(crate) fn words(self) -> Vec<String> {
        let name = self.name;
        match (self.letter, self.value, self.arity) {
            (Some(letter), None, _) => vec![format!("-{letter}")],
            (None, None, _) => vec![format!("--{name}")],
            (Some(letter), Some(value), Arity::Required) if value.starts_with('-') => {
                vec![format!("-{letter}{value}")]
            }
            (Some(letter), Some(value), Arity::Required) => vec![format!("-{letter}"), value],
            (None, Some(value), Arity::Required) if !value.starts_with('-') => {
                vec![format!("--{name}"), value]
            }
            (_, Some(value), _) => vec![format!("--{name}={value}")],
        }
    }
}

/// `--parallel`, or `-4`.
pub(crate) fn shown(spec: &OptionSpec) -> String {
    match spec.long_name() {
        Some(name) => format!("--{name}"),
        None => spec.shortest_name(),
    }
}

/// Whether the option can stand on a line at all.
pub(crate) fn sound(spec: &OptionSpec, given: &GivenOption) -> Result<(), String> {
    let option = shown(spec);
    if spec.id == Id::Server {
        return Err(format!("{option}: the job says who serves"));
    }
    if let Remote::No(why) = spec.remote {
        return Err(format!("{option} cannot be given here: {why}"));
    }
    match (&given.value, spec.arity) {
        (None, Arity::Required) => Err(format!("{option} needs a value")),
        (Some(_), Arity::Switch) => Err(format!("{option} takes no value")),
        (Some(value), _) if value.chars().any(char::is_control) => {
            Err(format!("{option}: a value has no control characters"))
        }
        _ => Ok(()),
    }
}
