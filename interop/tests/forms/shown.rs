//! Numbers as people read them, and what they may stand for.

/// What a number is multiplied with, to be that of the document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit(pub(crate) f64);

/// As it is.
pub(crate) const ONE: Unit = Unit(1.0);
/// Milliseconds in seconds.
pub(crate) const MILLI: Unit = Unit(1e-3);
/// Mbit/s.
pub(crate) const MEGA: Unit = Unit(1e6);

/// The unit of this name: a rate in bit/s or a size in bytes.
pub(crate) fn unit(name: &str) -> Option<Unit> {
    let scale = match name {
        "bit/s" | "B" | "s" | "ms" => 1.0,
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        "Tbit/s" => 1e12,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    Some(Unit(scale))
}

/// Whether a number rounds to what is shown, in all digits of that.
pub(crate) fn agrees(shown: &str, unit: Unit, known: f64) -> bool {
    if let Some(most) = shown.strip_prefix('<') {
        return most
            .parse::<f64>()
            .is_ok_and(|most| known.abs() < most * unit.0);
    }
    let Ok(value) = shown.parse::<f64>() else {
        return false;
    };
    let decimals = shown.split_once('.').map_or(0, |(_, digits)| digits.len());
    let half = 0.5 * 10f64.powi(-i32::try_from(decimals).unwrap_or(0));
    // Documents round too, to a thousandth.
    let known = known / unit.0;
    (value - known).abs() <= half * 1.000_1 + known.abs() * 1e-9 + 1e-6
}
