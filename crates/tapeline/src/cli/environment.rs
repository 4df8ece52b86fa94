//! Environment variables: those that stand for options, and the one that leaves out optimisations.

use std::ffi::OsString;

use tapeline_dialect::{Technique, Techniques};

use super::options::table::all;
use super::parse::Arity;
use super::spec::{Given, OptionId, OptionSpec, Origin};

/// The value of `--permit-key`, which others can see on a command line.
pub(crate) const KEY: &str = "TAPELINE_PERMIT_KEY";

/// Whether results are kept, as with `--save` (`1`) or `--no-save` (`0`).
pub(crate) const SAVE: &str = "TAPELINE_SAVE";

/// Names optimisations that are left out, with commas between them.
const WITHOUT: &str = "TAPELINE_WITHOUT";

/// Seconds and millionths, with a comma between them: by how much this process's clock is to be wrong.
#[cfg(debug_assertions)]
const CLOCK: &str = "TAPELINE_CLOCK";

/// Seconds, and seconds after the start, with a comma between them: by how much this process's clock
/// jumps, and when.
#[cfg(debug_assertions)]
const CLOCK_STEP: &str = "TAPELINE_CLOCK_STEP";

/// Makes the clock jump, where a test wants it so.
#[cfg(debug_assertions)]
pub(crate) fn step_clock() {
    let wanted = std::env::var(CLOCK_STEP).unwrap_or_default();
    if let Some((step, after)) = wanted.split_once(',')
        && let (Ok(step), Ok(after)) = (step.parse::<f64>(), after.parse::<f64>())
        && let Ok(after) = std::time::Duration::try_from_secs_f64(after)
    {
        std::thread::spawn(move || {
            std::thread::sleep(after);
            tapeline_sys::displace_wall_clock((step * 1e9) as i64, 0.0);
        });
    }
}

/// Makes the clock wrong, where a test wants it so.
#[cfg(debug_assertions)]
pub(crate) fn displace_clock() {
    let wanted = std::env::var(CLOCK).unwrap_or_default();
    if let Some((offset, drift)) = wanted.split_once(',')
        && let (Ok(offset), Ok(drift)) = (offset.parse::<f64>(), drift.parse::<f64>())
    {
        tapeline_sys::displace_wall_clock((offset * 1e9) as i64, drift * 1e-6);
    }
}

/// The optimisations that a run may use.
///
/// # Errors
/// A sentence for the user about a name that is none.
pub(crate) fn techniques(
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Techniques, String> {
    let names = variable(WITHOUT).unwrap_or_default();
    let names = names.to_string_lossy();
    let names = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names
        .into_iter()
        .try_fold(Techniques::default(), |techniques, name| {
            let technique = Technique::named(name).ok_or_else(|| {
                let known = Technique::ALL.map(Technique::name).join(", ");
                format!("{WITHOUT}: '{name}' is none of {known}")
            })?;
            Ok(techniques.without(technique))
        })
}

/// The options set by variables, in iperf 2's order of reading. A switch counts as given
/// whenever its variable is defined, even if empty.
pub(crate) fn read(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Given> {
    variables()
        .into_iter()
        .filter_map(|(name, spec)| {
            let value = variable(name)?;
            Some(Given {
                spec,
                spelled: name.to_owned(),
                value: (spec.arity == Arity::Required).then_some(value),
                origin: Origin::Environment(name),
                letter_with_equals: false,
            })
        })
        .collect()
}

/// The options set by variables that only tapeline has.
pub(crate) fn read_own(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Given> {
    let given = |id: OptionId, name: &'static str, value: Option<OsString>| {
        let spec = all().find(|spec| spec.id == id)?;
        Some(Given {
            spec,
            spelled: name.to_owned(),
            value,
            origin: Origin::Environment(name),
            letter_with_equals: false,
        })
    };
    let key = variable(KEY).and_then(|key| given(OptionId::PermitKey, KEY, Some(key)));
    let save = variable(SAVE).and_then(|value| match value.to_str() {
        Some("1") => given(OptionId::Save, SAVE, None),
        Some("0") => given(OptionId::NoSave, SAVE, None),
        _ => None,
    });
    key.into_iter().chain(save).collect()
}

/// Every variable and its option, in the order of reading.
pub(crate) fn variables() -> Vec<(&'static str, &'static OptionSpec)> {
    let mut ranked: Vec<_> = all()
        .filter_map(|spec| spec.variable.map(|(rank, name)| (rank, name, spec)))
        .collect();
    ranked.sort_unstable_by_key(|(rank, ..)| *rank);
    ranked
        .into_iter()
        .map(|(_, name, spec)| (name, spec))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// iperf 2.2.1's variables in its order, with the letters that they stand for, and the one that its
    /// packages would need.
    const ORDER: &str = "\
        IPERF_IPV6_DOMAIN IPERF_SINGLECLIENT IPERF_BANDWIDTH IPERF_CLIENT IPERF_DUALTEST \
        IPERF_ENHANCEDREPORTS IPERF_FORMAT IPERF_INTERVAL IPERF_LEN IPERF_PRINT_MSS IPERF_NUM \
        IPERF_PORT IPERF_TRADEOFF IPERF_SERVER IPERF_TIME IPERF_UDP TCP_WINDOW_SIZE \
        IPERF_REPORTEXCLUDE IPERF_REPORTSTYLE IPERF_BIND IPERF_COMPAT IPERF_DAEMON \
        IPERF_FILE_INPUT IPERF_STDIN_INPUT IPERF_MSS IPERF_NODELAY IPERF_LISTENPORT \
        IPERF_PARALLEL IPERF_TOS IPERF_TTL IPERF_SINGLE_UDP IPERF_SUGGEST_WIN_SIZE \
        IPERF_PEER_DETECT IPERF_CONGESTION_CONTROL IPERF_FASTSAMPLING";
    const LETTERS: &str = "V1bcdefilmnprstuwxyBCDFIMNLPSTUWXZ";

    #[test]
    fn variables_are_read_in_the_order_of_the_reference() {
        let ours: Vec<_> = variables();
        let names: Vec<_> = ours.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ORDER.split_whitespace().collect::<Vec<_>>());
        let letters: String = ours.iter().filter_map(|(_, spec)| spec.short).collect();
        assert_eq!(letters, LETTERS);
    }

    #[test]
    fn optimisations_are_left_out_by_name() {
        let read =
            |text: &'static str| techniques(&move |name| (name == WITHOUT).then(|| text.into()));
        assert_eq!(techniques(&|_| None), Ok(Techniques::default()));
        assert_eq!(read(""), Ok(Techniques::default()));
        let two = Techniques::default()
            .without(Technique::UdpSegmentation)
            .without(Technique::PolledWorkers);
        assert_eq!(read("udp-segmentation, polled-workers"), Ok(two));
        let refusal = read("receive-buffer,gso").expect_err("no such name");
        assert!(refusal.starts_with("TAPELINE_WITHOUT: 'gso' is none of udp-segmentation, "));
        assert_eq!(refusal.lines().count(), 1);
    }

    #[test]
    fn an_empty_variable_sets_its_switch() {
        let given = read(&|name| match name {
            "IPERF_UDP" => Some(OsString::new()),
            "IPERF_PORT" => Some("7".into()),
            _ => None,
        });
        assert_eq!(given.len(), 2);
        assert_eq!(
            (given[0].spelled.as_str(), given[0].text()),
            ("IPERF_PORT", "7".into())
        );
        assert_eq!(
            (given[1].spelled.as_str(), &given[1].value),
            ("IPERF_UDP", &None)
        );
    }
}
