//! What must hold for any bytes in the place of orders.

use tapeline_remote::Order;

use crate::fuzz::order_world::OrderWorld;
use crate::message::AgentOrder;

/// Gives each line to an agent as an order; an empty one lets time pass. What the agent starts goes to `starts`.
/// The agent knows the epoch 5, and its owner allows tests of a minute with 192.0.2.0/24.
///
/// # Panics
/// An order of an older epoch leads to anything but its refusal; an order has no answer, or two; a test starts
/// without a slot, twice, beside another exclusive one, for longer than the owner allows or with others; a slot
/// never becomes free.
pub fn orders(bytes: &[u8], starts: &mut dyn FnMut(&Order)) {
    let mut world = OrderWorld::new(starts);
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            world.time_passes();
            continue;
        }
        if let Ok(order) = AgentOrder::read(line) {
            world.order(order);
        }
    }
    world.ends();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(lines: &[&str]) -> usize {
        let mut started = 0;
        orders(lines.join("\n").as_bytes(), &mut |_| started += 1);
        started
    }

    fn line(epoch: u64, action: &str) -> String {
        format!(r#"{{"job":"j","attempt":1,"epoch":{epoch},{action}}}"#)
    }

    #[test]
    fn only_good_orders_start_tests() {
        let reserve = |epoch, peer: &str| {
            let options = r#""class":"exclusive","options":[]"#;
            line(
                epoch,
                &format!(r#""do":"reserve","seconds":10,"peer":"{peer}",{options}"#),
            )
        };
        let run = |epoch, host: &str| {
            let options = format!(r#"[["client","{host}:5001"],["time","10"]]"#);
            line(
                epoch,
                &format!(r#""do":"run","live":false,"options":{options}"#),
            )
        };
        let (good, host) = (reserve(5, "192.0.2.7"), "192.0.2.7");
        assert_eq!(started(&[&good, &run(5, host)]), 1);
        assert_eq!(started(&[&good, &run(5, host), &run(5, host)]), 1);
        assert_eq!(started(&[&good, "", &run(9, host)]), 1);
        assert_eq!(started(&[&run(5, host)]), 0);
        assert_eq!(started(&[&good, &run(4, host)]), 0);
        assert_eq!(started(&[&reserve(4, host), &run(5, host)]), 0);
        assert_eq!(started(&[&good, &run(5, "198.51.100.1")]), 0);
        assert_eq!(
            started(&[&reserve(5, "198.51.100.1"), &run(5, "198.51.100.1")]),
            0
        );
        assert_eq!(started(&[&good, "", "", "", "", &run(5, host)]), 0);
    }
}
