//! What a server grants for an order: which task, for how long, how much and how fast.

use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use tapeline_base::Bytes;
use tapeline_wire::native::{Methods, Order, OrderDirection};

use crate::plan::{Limits, METHODS, Networks};

/// Longest search for a path MTU, with what belongs to it.
const LONGEST_MTU: Duration = Duration::from_secs(60);
/// Longest load: an hour, and the time around it.
const LONGEST_LOAD: Duration = Duration::from_secs(3660);
/// Rate towards addresses that are not private, unless the client names another: bits per second.
const USUAL_RATE: u64 = 1_000_000_000;

/// What a client may order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Probes of the client are answered.
    MtuUp,
    /// The server searches.
    MtuDown,
    /// The server receives a load.
    CapacityUp,
    /// The server sends one.
    CapacityDown,
    /// The server tells the state of its TCP senders in this test.
    Samples(NonZeroU32),
}

impl Task {
    /// # Errors
    /// The sentence that says what is wrong with the order.
    fn of(order: &Order) -> Result<Self, String> {
        match (order.method.as_str(), order.direction) {
            ("mtu", OrderDirection::Up) => Ok(Self::MtuUp),
            ("mtu", OrderDirection::Down) => Ok(Self::MtuDown),
            ("capacity", OrderDirection::Up) => Ok(Self::CapacityUp),
            ("capacity", OrderDirection::Down) => Ok(Self::CapacityDown),
            ("samples", _) => match order.parameters.test {
                Some(test) => Ok(Self::Samples(test)),
                None => Err("samples of which test?".to_owned()),
            },
            _ => Err("this server does not know the method".to_owned()),
        }
    }

    /// Whether datagrams belong to it.
    pub(crate) fn has_datagrams(self) -> bool {
        !matches!(self, Self::Samples(_))
    }

    /// Whether the server sends datagrams that answer none.
    pub(crate) fn sends(self) -> bool {
        matches!(self, Self::MtuDown | Self::CapacityDown)
    }

    fn longest(self) -> Duration {
        match self {
            Self::MtuUp | Self::MtuDown => LONGEST_MTU,
            Self::CapacityUp | Self::CapacityDown | Self::Samples(_) => LONGEST_LOAD,
        }
    }
}

/// What a server grants for an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) task: Task,
    pub(crate) time: Duration,
    /// Payload of the load, bytes.
    pub(crate) bytes: Option<NonZeroU64>,
    /// Bits per second of IP packets of the load.
    pub(crate) bits_per_second: Option<NonZeroU64>,
}

/// The methods that a client at this address may order.
pub(crate) fn methods(limits: &Limits, client: IpAddr) -> Methods {
    let foreign = !limits.trusted.contain(client);
    let allowed = METHODS
        .iter()
        .filter(|(name, _)| !foreign || limits.methods.allow(name));
    Methods(
        allowed
            .map(|(name, version)| ((*name).to_owned(), *version))
            .collect(),
    )
}

/// What a client at this address is granted for its order; `longest` is the longest test of anybody.
///
/// # Errors
/// The sentence that says why it is granted nothing.
pub(crate) fn terms(
    order: &Order,
    limits: &Limits,
    client: IpAddr,
    longest: Option<Duration>,
) -> Result<Terms, String> {
    let task = Task::of(order)?;
    let foreign = !limits.trusted.contain(client);
    if foreign && !limits.methods.allow(&order.method) {
        return Err("this server does not take the order (limit: methods)".to_owned());
    }
    let most = longest
        .into_iter()
        .chain(foreign.then_some(limits.longest))
        .fold(task.longest(), Duration::min);
    let time = order.seconds.min(most);
    if time.is_zero() {
        return Err("no time for it".to_owned());
    }
    let asked = &order.parameters;
    let least = |own: Option<u64>, asked: Option<NonZeroU64>| {
        let own = own.and_then(NonZeroU64::new);
        own.into_iter().chain(asked).min()
    };
    let limit = |limit: Option<u64>| limit.filter(|_| foreign);
    let mut rate = least(limit(limits.rate.map(|rate| rate.0)), asked.bits_per_second);
    if task.sends() {
        if foreign && limits.method_udp_rate.0 == 0 {
            let why = "this server sends no datagrams for a method (limit: method-udp-rate)";
            return Err(why.to_owned());
        }
        rate = least(limit(Some(limits.method_udp_rate.0)), rate);
        if !Networks::default().contain(client) && asked.bits_per_second.is_none() {
            rate = least(Some(USUAL_RATE), rate);
        }
    }
    Ok(Terms {
        task,
        time,
        bytes: least(limit(limits.bytes.map(|Bytes(bytes)| bytes)), asked.bytes),
        bits_per_second: rate,
    })
}

#[cfg(test)]
mod tests {
    use tapeline_base::BitRate;
    use tapeline_wire::native::LoadParameters;

    use super::*;
    use crate::plan::AllowedMethods;

    const SECONDS: Duration = Duration::from_secs(10);

    fn order(method: &str, direction: OrderDirection) -> Order {
        Order {
            method: method.to_owned(),
            direction,
            seconds: SECONDS,
            parameters: LoadParameters::default(),
        }
    }

    fn foreign() -> IpAddr {
        IpAddr::from([192, 0, 2, 1])
    }

    fn own() -> IpAddr {
        IpAddr::from([127, 0, 0, 1])
    }

    fn number(value: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(value)
    }

    #[test]
    fn strangers_get_what_the_limits_say_and_friends_what_they_ask_for() {
        let down = order("capacity", OrderDirection::Down);
        let limits = Limits::default();
        let granted = terms(&down, &limits, foreign(), None).expect("terms");
        assert_eq!(granted.bits_per_second, number(100_000_000));
        assert_eq!((granted.time, granted.bytes), (SECONDS, None));
        let granted = terms(&down, &limits, own(), None).expect("terms");
        assert_eq!(granted.bits_per_second, None);
        let more = Order {
            parameters: LoadParameters {
                bits_per_second: number(5_000_000_000),
                bytes: number(1000),
                ..LoadParameters::default()
            },
            ..down.clone()
        };
        let granted = terms(&more, &limits, foreign(), None).expect("terms");
        assert_eq!(granted.bits_per_second, number(100_000_000));
        assert_eq!(granted.bytes, number(1000));
        let narrow = Limits {
            bytes: Some(Bytes(10)),
            rate: Some(BitRate(7)),
            longest: Duration::from_secs(2),
            ..Limits::default()
        };
        let granted = terms(&more, &narrow, foreign(), None).expect("terms");
        assert_eq!(granted.bits_per_second, number(7));
        assert_eq!(granted.bytes, number(10));
        assert_eq!(granted.time, Duration::from_secs(2));
        // What the client sends is not bound by what the server may send.
        let up = order("capacity", OrderDirection::Up);
        let granted = terms(&up, &limits, foreign(), None).expect("terms");
        assert_eq!(granted.bits_per_second, None);
        let second = Some(Duration::from_secs(1));
        assert_eq!(
            terms(&up, &limits, own(), second).map(|it| it.time),
            Ok(Duration::from_secs(1))
        );
    }

    #[test]
    fn a_public_address_gets_a_gigabit_unless_it_names_more() {
        let limits = Limits {
            trusted: Networks::any(),
            ..Limits::default()
        };
        let mut down = order("capacity", OrderDirection::Down);
        let granted = terms(&down, &limits, foreign(), None).expect("terms");
        assert_eq!(granted.bits_per_second, number(USUAL_RATE));
        down.parameters.bits_per_second = number(2 * USUAL_RATE);
        let granted = terms(&down, &limits, foreign(), None).expect("terms");
        assert_eq!(granted.bits_per_second, number(2 * USUAL_RATE));
    }

    #[test]
    fn what_is_not_allowed_or_makes_no_sense_is_declined() {
        let limits = Limits {
            methods: AllowedMethods::parse("mtu").expect("methods"),
            method_udp_rate: BitRate(0),
            ..Limits::default()
        };
        let declines = |order: &Order, client| terms(order, &limits, client, None).is_err();
        let (up, down) = (OrderDirection::Up, OrderDirection::Down);
        assert!(!declines(&order("mtu", up), foreign()));
        assert!(declines(&order("mtu", down), foreign()) && !declines(&order("mtu", down), own()));
        assert!(declines(&order("capacity", up), foreign()));
        assert!(!declines(&order("capacity", up), own()));
        assert!(declines(&order("samples", down), own()), "of no test");
        assert!(declines(&order("rfc6349", down), own()));
        let instant = Order {
            seconds: Duration::ZERO,
            ..order("mtu", up)
        };
        assert!(declines(&instant, own()));
        let names = |client| methods(&limits, client).0.into_keys().collect::<Vec<_>>();
        assert_eq!(names(foreign()), ["mtu"]);
        assert_eq!(names(own()), ["capacity", "mtu", "samples"]);
    }
}
