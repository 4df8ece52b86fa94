//! What to do next, in words.

use tapeline_stats::{LimitedBy, TryAdvice};

use super::result::{TryDirection, TryResult};
use crate::method::phase::Direction;
use crate::native::digits;

/// The advice as a sentence or two.
pub(crate) fn text(result: &TryResult, advice: TryAdvice) -> String {
    match advice {
        TryAdvice::HostLimited(ways) => host_text(result, ways),
        TryAdvice::IdleLoss => {
            let losses = [&result.idle.up, &result.idle.down];
            let losses = losses.into_iter().filter_map(|one| one.loss_percent);
            let worst = losses.fold(0.0, f64::max);
            format!(
                "{} % of packets are lost even without load: a faulty line, or Wi-Fi at its \
                 limits. Try again over a cable.",
                digits(worst)
            )
        }
        TryAdvice::Queue(ways) => queue_text(result, ways),
        TryAdvice::Mtu => mtu_text(result),
        TryAdvice::IdleVariation => {
            "The delay varies even without load: Wi-Fi or a busy line.".to_owned()
        }
        TryAdvice::Nothing => "Nothing stands out.".to_owned(),
    }
}

/// `This computer (its CPU), not the network, limited the download.`
fn host_text(result: &TryResult, [up, down]: [bool; 2]) -> String {
    let direction = if down { Direction::Down } else { Direction::Up };
    let limit = result
        .direction(direction)
        .and_then(TryDirection::limit)
        .map(|(limit, _)| limit);
    let Some(limit) = limit else {
        return String::new();
    };
    let at_sender = matches!(
        limit,
        LimitedBy::SenderCpu | LimitedBy::SendBuffer | LimitedBy::Pacing
    );
    let here = match direction {
        Direction::Up => at_sender,
        Direction::Down => !at_sender,
    };
    let what = match limit {
        LimitedBy::SenderCpu | LimitedBy::ReceiverCpu => "CPU",
        LimitedBy::SendBuffer => "send buffer",
        LimitedBy::ReceiveWindow => "receive window",
        LimitedBy::ReceiveBuffer => "receive buffer",
        _ => "timing",
    };
    let host = if here { "This computer" } else { "The server" };
    let which = match (up, down) {
        (true, true) => "both transfers",
        (true, false) => "the upload",
        _ => "the download",
    };
    format!("{host} (its {what}), not the network, limited {which}.")
}

fn queue_text(result: &TryResult, ways: [bool; 2]) -> String {
    let held = |direction| {
        let way = result.direction(direction);
        let increase = way.and_then(|way| way.increase_ms).unwrap_or(0.0);
        digits(increase / 1e3)
    };
    let rate = |direction| {
        let way = result.direction(direction);
        shaped(way.and_then(|way| way.bits_per_second).unwrap_or(0.0))
    };
    let manager = "A router with smart queue management (fq_codel, CAKE) set to about";
    match ways {
        [true, true] => format!(
            "The weak points are the queues of both directions: they hold {} s of data up and {} \
             s down. {manager} {} upstream and {} downstream would remove them.",
            held(Direction::Up),
            held(Direction::Down),
            rate(Direction::Up),
            rate(Direction::Down)
        ),
        [true, false] => format!(
            "The weak point is the queue for outgoing traffic: it holds {} s of data. {manager} \
             {} upstream would remove it.",
            held(Direction::Up),
            rate(Direction::Up)
        ),
        _ => format!(
            "The weak point is the queue for incoming traffic: it holds {} s of data. {manager} \
             {} downstream would remove it.",
            held(Direction::Down),
            rate(Direction::Down)
        ),
    }
}

fn mtu_text(result: &TryResult) -> String {
    let Some(mtu) = result.mtu.narrower() else {
        return String::new();
    };
    if result.mtu.black_hole == Some(true) {
        return format!(
            "Packets above {mtu} bytes vanish without notice. Connections that negotiate larger \
             segments will hang: lower the MTU, or clamp the MSS. \"tapeline mtu\" says more."
        );
    }
    format!(
        "Packets of at most {mtu} bytes arrive, and IPv6 needs 1280: look for tunnels in \
         tunnels. \"tapeline mtu\" says more."
    )
}

/// A rate to set a shaper to: 95 % of what was measured, rounded down to two digits.
pub(crate) fn shaped(bits_per_second: f64) -> String {
    let megabits = bits_per_second * 0.95 / 1e6;
    match megabits {
        low if low < 1.0 => format!("{:.0} kbit/s", low * 1e3),
        low if low < 3.0 => format!("{low:.1} Mbit/s"),
        low if low < 100.0 => format!("{:.0} Mbit/s", low.floor()),
        high => {
            let step = 10f64.powf(high.log10().floor() - 1.0);
            format!("{:.0} Mbit/s", (high / step).floor() * step)
        }
    }
}
