//! The parameter message: what a client wants, in JSON.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::datagram::CounterWidth;
use super::error::{DecodeError, ErrorCode};
use super::{limits, message};

/// What carries the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, or MPTCP where asked for.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// Who sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    #[default]
    Forward,
    /// The server (`-R`).
    Reverse,
    /// Both (`--bidir`).
    Bidirectional,
}

/// Segmentation offload of a UDP test (3.21 and later).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The sender hands over several datagrams at once (UDP_SEGMENT).
    pub send: bool,
    /// Bytes of a segment; the datagram's length counts.
    pub segment: u32,
    /// Bytes of a send call.
    pub send_buffer: u32,
    /// The receiver takes several datagrams at once (UDP_GRO).
    pub receive: bool,
    /// Bytes of a receive call.
    pub receive_buffer: u32,
}

/// Most datagrams of a send call.
const MAX_SEGMENTS: u32 = 128;

impl Offload {
    /// With the sizes that 3.22's client sends for datagrams of `length` bytes, where they are to be
    /// handed over together: as many whole ones as a call takes.
    #[must_use]
    pub fn of_datagrams(self, length: u32) -> Self {
        if !self.send || length == 0 {
            return self;
        }
        let segments = (limits::MAX_UDP_LENGTH / length).min(MAX_SEGMENTS);
        Self {
            segment: length,
            send_buffer: segments * length,
            ..self
        }
    }
}

impl Default for Offload {
    fn default() -> Self {
        Self {
            send: false,
            segment: 0,
            send_buffer: limits::MAX_UDP_LENGTH,
            receive: false,
            receive_buffer: limits::MAX_UDP_LENGTH,
        }
    }
}

/// A client's wishes. Absent keys have the server's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// What carries the data.
    pub protocol: Protocol,
    /// Seconds at the start that do not count, 0 to 600.
    pub omit: u32,
    /// Processor for the server (`-A n,m`), 0 to 1024.
    pub server_affinity: Option<u32>,
    /// Seconds that count, 0 (no limit) to 86400.
    pub time: u32,
    /// Bytes to transfer; 0 is no limit.
    pub bytes: u64,
    /// Blocks to transfer; 0 is no limit.
    pub blocks: u64,
    /// TCP_MAXSEG, bytes.
    pub segment_size: Option<u32>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// Streams in each direction, 1 to 128.
    pub parallel: u32,
    /// Who sends.
    pub direction: Direction,
    /// Data connections use MPTCP (3.19 and later).
    pub mptcp: bool,
    /// Socket buffers, bytes.
    pub window: Option<u32>,
    /// Bytes of a block, or of each datagram; `None` and 0 leave it to the server.
    pub length: Option<u32>,
    /// Bits per second of each stream; 0 is unlimited, for UDP too.
    pub rate: u64,
    /// SO_MAX_PACING_RATE, bits per second of each stream; 0 is off.
    pub pacing_rate: u64,
    /// Microseconds between two looks at the rate; without meaning since 3.16.
    pub pacing_timer: u32,
    /// Packets sent together, 0 (off) to 1000.
    pub burst: u32,
    /// Segmentation offload; sent with every UDP test since 3.21.
    pub offload: Option<Offload>,
    /// Type of service byte.
    pub tos: u8,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
    /// `-T`.
    pub title: Option<String>,
    /// `--extra-data`.
    pub extra_data: Option<String>,
    /// Congestion control wished for.
    pub congestion: Option<String>,
    /// The server's own output is to come with the results.
    pub server_output: bool,
    /// Width of packet numbers.
    pub counters: CounterWidth,
    /// Payload is a pattern rather than random bytes.
    pub repeating_payload: bool,
    /// The server sends without copying (`-Z`).
    pub zerocopy: bool,
    /// IPv4: no fragmentation on the way.
    pub dont_fragment: bool,
    /// Encrypted login.
    pub auth_token: Option<String>,
    /// Received data stays in the kernel (3.19 and later).
    pub skip_receive_copy: bool,
    /// The client's version, for information.
    pub client_version: Option<String>,
    /// Version of a client that is tapeline; other servers do not look at it.
    pub tapeline: Option<String>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            protocol: Protocol::Tcp,
            omit: 0,
            server_affinity: None,
            time: limits::DEFAULT_TIME,
            bytes: 0,
            blocks: 0,
            segment_size: None,
            nodelay: false,
            parallel: 1,
            direction: Direction::Forward,
            mptcp: false,
            window: None,
            length: None,
            rate: 0,
            pacing_rate: 0,
            pacing_timer: 1000,
            burst: 0,
            offload: None,
            tos: 0,
            flow_label: None,
            title: None,
            extra_data: None,
            congestion: None,
            server_output: false,
            counters: CounterWidth::Narrow,
            repeating_payload: false,
            zerocopy: false,
            dont_fragment: false,
            auth_token: None,
            skip_receive_copy: false,
            client_version: None,
            tapeline: None,
        }
    }
}

impl Parameters {
    /// Data connections that the client opens.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self.direction {
            Direction::Forward | Direction::Reverse => self.parallel,
            Direction::Bidirectional => self.parallel.saturating_mul(2),
        }
    }

    /// Appends the message with its length, keys in the order of the reference.
    pub fn encode(&self, out: &mut Vec<u8>) {
        message::write(self, out);
    }

    /// Reads the message behind its length.
    ///
    /// As the reference: keys in any case, unknown keys and values of another type are left
    /// out, and of a switch only the presence counts.
    ///
    /// # Errors
    /// [`DecodeError::Json`] when it is no object, [`DecodeError::Refused`] when a number is
    /// outside its range.
    pub fn parse(json: &[u8]) -> Result<Self, DecodeError> {
        let value: Value =
            serde_json::from_slice(json).map_err(|error| DecodeError::Json(error.to_string()))?;
        let Value::Object(object) = value else {
            return Err(DecodeError::Json("not an object".into()));
        };
        read(&Keys(&object))
    }
}

/// Access to an object's values as the reference looks them up.
struct Keys<'a>(&'a Map<String, Value>);

impl Keys<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).or_else(|| {
            let mut pairs = self.0.iter();
            pairs.find_map(|(name, value)| name.eq_ignore_ascii_case(key).then_some(value))
        })
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.as_str().map(str::to_owned)
    }

    /// A number in `range`, rounded toward zero.
    fn number(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<u64>,
        otherwise: ErrorCode,
    ) -> Result<Option<u64>, DecodeError> {
        let Some(number) = self.get(key).and_then(Value::as_f64) else {
            return Ok(None);
        };
        // Exact where the text is an integer; else as a C conversion of the double.
        let exact = self.get(key).and_then(Value::as_u64);
        let value = exact.or_else(|| (number >= 0.0).then_some(number as u64));
        match value {
            Some(value) if range.contains(&value) => Ok(Some(value)),
            _ => Err(DecodeError::Refused(otherwise)),
        }
    }

    /// The same for 32-bit fields, where the range says that it fits.
    fn small(&self, key: &str, max: u32, otherwise: ErrorCode) -> Result<Option<u32>, DecodeError> {
        let number = self.number(key, 0..=u64::from(max), otherwise)?;
        Ok(number.and_then(|value| u32::try_from(value).ok()))
    }

    fn flag(&self, key: &str) -> Result<bool, DecodeError> {
        let number = self.number(key, 0..=u64::MAX, ErrorCode::RECEIVE_PARAMETERS)?;
        Ok(number.unwrap_or(0) != 0)
    }
}

fn read(keys: &Keys<'_>) -> Result<Parameters, DecodeError> {
    let other = ErrorCode::RECEIVE_PARAMETERS;
    let large = |key: &str| keys.number(key, 0..=i64::MAX as u64, other);
    let protocol = if keys.has("udp") {
        Protocol::Udp
    } else if keys.has("sctp") {
        Protocol::Sctp
    } else {
        Protocol::Tcp
    };
    let parallel = keys.small("parallel", limits::MAX_PARALLEL, ErrorCode::STREAMS)?;
    if parallel == Some(0) {
        return Err(DecodeError::Refused(ErrorCode::STREAMS));
    }
    let burst = keys.small("burst", limits::MAX_BURST, ErrorCode::BURST)?;
    let some = |value: Option<u32>| value.filter(|value| *value > 0);
    Ok(Parameters {
        protocol,
        omit: keys
            .small("omit", limits::MAX_OMIT, ErrorCode::OMIT)?
            .unwrap_or(0),
        server_affinity: keys.small("server_affinity", 1024, ErrorCode::AFFINITY)?,
        time: keys
            .small("time", limits::MAX_TIME, ErrorCode::DURATION)?
            .unwrap_or(limits::DEFAULT_TIME),
        bytes: large("num")?.unwrap_or(0),
        blocks: large("blockcount")?.unwrap_or(0),
        segment_size: some(keys.small("MSS", limits::MAX_MSS, ErrorCode::SEGMENT_SIZE)?),
        nodelay: keys.has("nodelay"),
        parallel: parallel.unwrap_or(1),
        direction: if keys.has("bidirectional") {
            Direction::Bidirectional
        } else if keys.has("reverse") {
            Direction::Reverse
        } else {
            Direction::Forward
        },
        mptcp: keys.has("mptcp"),
        window: some(keys.small("window", limits::MAX_WINDOW, ErrorCode::WINDOW)?),
        length: length(keys, protocol)?,
        rate: large("bandwidth")?.unwrap_or(0),
        pacing_rate: large("fqrate")?.unwrap_or(0),
        pacing_timer: keys.small("pacing_timer", u32::MAX, other)?.unwrap_or(1000),
        burst: burst.unwrap_or(0),
        offload: offload(keys)?,
        tos: keys
            .small("TOS", 255, ErrorCode::TOS)?
            .and_then(|tos| u8::try_from(tos).ok())
            .unwrap_or(0),
        flow_label: some(keys.small(
            "flowlabel",
            limits::MAX_FLOW_LABEL,
            ErrorCode::TRAFFIC_CLASS,
        )?),
        title: keys.text("title"),
        extra_data: keys.text("extra_data"),
        congestion: keys.text("congestion").as_deref().map(message::shown_name),
        server_output: keys.has("get_server_output"),
        counters: if keys.has("udp_counters_64bit") {
            CounterWidth::Wide
        } else {
            CounterWidth::Narrow
        },
        repeating_payload: keys.has("repeating_payload"),
        zerocopy: keys.flag("zerocopy")?,
        dont_fragment: keys.flag("dont_fragment")?,
        auth_token: keys.text("authtoken"),
        skip_receive_copy: keys.flag("skip_rx_copy")?,
        client_version: keys.text("client_version"),
        tapeline: keys.text("tapeline"),
    })
}

fn length(keys: &Keys<'_>, protocol: Protocol) -> Result<Option<u32>, DecodeError> {
    let (max, least, code) = match protocol {
        Protocol::Udp => (
            limits::MAX_UDP_LENGTH,
            limits::MIN_UDP_LENGTH,
            ErrorCode::UDP_LENGTH,
        ),
        Protocol::Tcp | Protocol::Sctp => (limits::MAX_TCP_LENGTH, 1, ErrorCode::LENGTH),
    };
    match keys.small("len", max, code)? {
        None | Some(0) => Ok(None),
        Some(length) if length < least => Err(DecodeError::Refused(code)),
        length => Ok(length),
    }
}

fn offload(keys: &Keys<'_>) -> Result<Option<Offload>, DecodeError> {
    let names = ["gso", "gso_dg_size", "gso_bf_size", "gro", "gro_bf_size"];
    if !names.iter().any(|name| keys.has(name)) {
        return Ok(None);
    }
    let size = |key: &str| keys.small(key, u32::MAX, ErrorCode::RECEIVE_PARAMETERS);
    Ok(Some(Offload {
        send: keys.flag("gso")?,
        segment: size("gso_dg_size")?.unwrap_or(0),
        send_buffer: size("gso_bf_size")?.unwrap_or(limits::MAX_UDP_LENGTH),
        receive: keys.flag("gro")?,
        receive_buffer: size("gro_bf_size")?.unwrap_or(limits::MAX_UDP_LENGTH),
    }))
}

/// Keys in the order of the reference; switches that are off are not there at all, because
/// their presence turns them on.
impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = Writer(serializer.serialize_map(None)?);
        let protocol = match self.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Sctp => "sctp",
        };
        map.put(protocol, &true)?;
        map.put("omit", &self.omit)?;
        map.some("server_affinity", self.server_affinity.as_ref())?;
        map.put("time", &self.time)?;
        map.put("num", &self.bytes)?;
        map.put("blockcount", &self.blocks)?;
        map.some("MSS", self.segment_size.as_ref())?;
        map.switch("nodelay", self.nodelay, &true)?;
        map.put("parallel", &self.parallel)?;
        map.switch("reverse", self.direction == Direction::Reverse, &true)?;
        let both = self.direction == Direction::Bidirectional;
        map.switch("bidirectional", both, &true)?;
        map.switch("mptcp", self.mptcp, &true)?;
        map.some("window", self.window.as_ref())?;
        map.some("len", self.length.as_ref())?;
        map.switch("bandwidth", self.rate > 0, &self.rate)?;
        map.switch("fqrate", self.pacing_rate > 0, &self.pacing_rate)?;
        map.switch("pacing_timer", self.pacing_timer > 0, &self.pacing_timer)?;
        map.switch("burst", self.burst > 0, &self.burst)?;
        if let Some(offload) = &self.offload {
            map.put("gso", &u8::from(offload.send))?;
            map.put("gso_dg_size", &offload.segment)?;
            map.put("gso_bf_size", &offload.send_buffer)?;
            map.put("gro", &u8::from(offload.receive))?;
            map.put("gro_bf_size", &offload.receive_buffer)?;
        }
        map.switch("TOS", self.tos > 0, &self.tos)?;
        map.some("flowlabel", self.flow_label.as_ref())?;
        map.some("title", self.title.as_ref())?;
        map.some("extra_data", self.extra_data.as_ref())?;
        map.some("congestion", self.congestion.as_ref())?;
        map.switch("get_server_output", self.server_output, &1)?;
        map.switch(
            "udp_counters_64bit",
            self.counters == CounterWidth::Wide,
            &1,
        )?;
        map.switch("repeating_payload", self.repeating_payload, &1)?;
        map.switch("zerocopy", self.zerocopy, &1)?;
        map.switch("dont_fragment", self.dont_fragment, &1)?;
        map.some("authtoken", self.auth_token.as_ref())?;
        map.switch("skip_rx_copy", self.skip_receive_copy, &1)?;
        map.some("client_version", self.client_version.as_ref())?;
        map.some("tapeline", self.tapeline.as_ref())?;
        map.0.end()
    }
}

/// Writes what is to be said.
struct Writer<M>(M);

impl<M: SerializeMap> Writer<M> {
    fn put(&mut self, key: &str, value: &impl Serialize) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn some(&mut self, key: &str, value: Option<&impl Serialize>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(key, value))
    }

    fn switch(&mut self, key: &str, on: bool, value: &impl Serialize) -> Result<(), M::Error> {
        if on { self.put(key, value) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Parameters, DecodeError> {
        Parameters::parse(json.as_bytes())
    }

    #[test]
    fn an_empty_object_is_a_test_with_the_defaults() {
        assert_eq!(parse("{}"), Ok(Parameters::default()));
    }

    #[test]
    fn of_a_switch_the_presence_counts_and_of_a_key_not_the_case() {
        let parameters = parse(r#"{"UDP":false,"REVERSE":false,"Parallel":3}"#).expect("valid");
        assert_eq!(parameters.protocol, Protocol::Udp);
        assert_eq!(parameters.direction, Direction::Reverse);
        assert_eq!(parameters.connections(), 3);
    }

    #[test]
    fn values_of_another_type_are_left_out() {
        let parameters = parse(r#"{"time":"5","title":7,"len":null}"#).expect("valid");
        assert_eq!(parameters, Parameters::default());
    }

    #[test]
    fn numbers_outside_their_range_are_refused_with_their_code() {
        for (json, code) in [
            (r#"{"time":86401}"#, 5),
            (r#"{"time":-1}"#, 5),
            (r#"{"parallel":0}"#, 6),
            (r#"{"parallel":129}"#, 6),
            (r#"{"len":1048577}"#, 7),
            (r#"{"udp":true,"len":15}"#, 20),
            (r#"{"udp":true,"len":65508}"#, 20),
            (r#"{"window":536870913}"#, 8),
            (r#"{"MSS":32768}"#, 10),
            (r#"{"omit":601}"#, 12),
            (r#"{"burst":1001}"#, 15),
            (r#"{"TOS":256}"#, 21),
            (r#"{"num":-5}"#, 114),
            (r#"{"bandwidth":1e300}"#, 114),
            (r#"{"flowlabel":1048576}"#, 126),
            (r#"{"server_affinity":1025}"#, 132),
        ] {
            assert_eq!(
                parse(json),
                Err(DecodeError::Refused(ErrorCode(code))),
                "{json}"
            );
        }
    }

    #[test]
    fn only_objects_are_parameters() {
        for json in ["", "[]", "7", "{", "\u{0}"] {
            assert!(matches!(parse(json), Err(DecodeError::Json(_))), "{json}");
        }
    }
}
