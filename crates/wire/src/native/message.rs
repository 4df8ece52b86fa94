//! The messages of a control connection, and why bytes of one are no message.

use std::num::{NonZeroU32, NonZeroU64};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::method::{Done, Methods, Order, Ready, Sample, Status};
use super::sentence::{MAX_SENTENCE, beginning, readable, tame};

/// What the client's side of a control connection begins with: no iperf 2 header, no iperf3 cookie.
pub const PREAMBLE: [u8; 8] = *b"TAPELINE";

/// Bytes in front of a body: kind and length.
pub const FRAME_HEADER: usize = 4;

/// Largest body of a message, bytes.
pub const MAX_BODY: usize = 1 << 20;

/// Largest body that a server takes of a client that it has welcomed, bytes.
pub const MAX_FROM_CLIENT: usize = 256 << 10;

/// First kind that a receiver skips when it does not know it.
const FIRST_OPTIONAL_KIND: u8 = 64;

/// Kind of [`Message::About`].
const ABOUT: u8 = FIRST_OPTIONAL_KIND;

/// Kind of [`Message::Granted`].
const GRANTED: u8 = 65;

/// Kinds of the messages of methods.
const ORDER: u8 = 66;
const READY: u8 = 67;
const DECLINED: u8 = 68;
const STATUS: u8 = 69;
const SAMPLE: u8 = 70;
const DONE: u8 = 71;

/// Longest order, and longest answer to one, bytes.
const MAX_ORDER: usize = 4096;

/// Longest report of how an order ended, bytes.
const MAX_DONE: usize = 256 << 10;

/// The program at one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// Its name.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The system that it runs on.
    pub system: String,
}

impl Program {
    /// Fit to be shown.
    fn tamed(self) -> Self {
        Self {
            program: tame(&self.program),
            version: tame(&self.version),
            system: tame(&self.system),
        }
    }
}

/// Who the client is, and what it wants of the server's threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The client.
    #[serde(flatten)]
    pub client: Program,
    /// CPU on which the server's threads of this test are to run, as far as each of them serves one stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

impl From<Program> for About {
    fn from(client: Program) -> Self {
        Self { client, cpu: None }
    }
}

impl About {
    /// Fit to be shown.
    fn tamed(self) -> Self {
        Self {
            client: self.client.tamed(),
            ..self
        }
    }
}

/// The object in a Welcome.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Greeting {
    #[serde(flatten)]
    program: Program,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe_key: Option<NonZeroU64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    methods: Option<Methods>,
}

/// What a client says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The number in its marks.
    pub test: NonZeroU32,
    /// The number in an answer of the server.
    pub token: NonZeroU32,
    /// Lowest version that it speaks.
    pub lowest: u8,
    /// Highest version that it speaks.
    pub highest: u8,
}

/// Readings of both clocks: request and reply, nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReply {
    /// Number of the request.
    pub number: u32,
    /// The client sent the request.
    pub request_sent: u64,
    /// The server received it.
    pub request_received: u64,
    /// The server sent the reply.
    pub reply_sent: u64,
}

/// What an end has sent or received so far, in all flows of the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Since the first flow's start, nanoseconds.
    pub elapsed: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Datagrams.
    pub datagrams: u64,
    /// Flows under way.
    pub flows: u32,
    /// Processor time of the process since the first flow's start, nanoseconds.
    pub processor: u64,
}

/// One message of a control connection (`docs/dev/protocol.md`, section 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Which test the connection is for.
    Hello(Hello),
    /// The server takes part.
    Welcome {
        /// The version that is spoken from here on.
        version: u8,
        /// The server.
        server: Program,
        /// What probes must carry to be answered, where it answers any.
        probe_key: Option<NonZeroU64>,
        /// The methods that it takes orders for, where it takes any.
        methods: Option<Methods>,
    },
    /// The server does not, and why.
    Refused(String),
    /// The client's clock.
    ClockRequest {
        /// Number, counted up by the client.
        number: u32,
        /// When the request was sent, nanoseconds since 1970.
        sent: u64,
    },
    /// Both clocks.
    ClockReply(ClockReply),
    /// Running counters.
    Progress(Progress),
    /// The client's flows have ended.
    Finished,
    /// One end's results: a JSON object.
    Results(String),
    /// The test shall end now, and why; nothing where it has shown what it was for.
    Stop(String),
    /// The sender gives up, and why.
    Error(String),
    /// The client is done.
    Goodbye,
    /// The client, which will send its results too.
    About(About),
    /// What the server lets the test have.
    Granted(Granted),
    /// What the server is to do for a method.
    Order(Box<Order>),
    /// It is ready to.
    Ready(Ready),
    /// It does not, and why.
    Declined(String),
    /// What has arrived of a load.
    Status(Status),
    /// The state of a TCP sender of the server.
    Sample(Sample),
    /// The order has ended.
    Done(Box<Done>),
}

impl Message {
    /// Bytes of the whole message, of which the front is given; `None` when even its length is not
    /// there yet.
    ///
    /// # Errors
    /// [`DecodeError`] for kinds that must be known and are not, and for lengths that cannot be: before
    /// a receiver has made room for the body.
    pub fn announced_length(front: &[u8]) -> Result<Option<usize>, DecodeError> {
        let Some(&[kind, a, b, c]) = front.first_chunk::<FRAME_HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let fits = match kind {
            1 | 4 => length == 12,
            2 => (4..=MAX_SENTENCE).contains(&length),
            5 => length == 28,
            6 => length == 36,
            7 | 11 => length == 0,
            3 | 9 | 10 => length <= MAX_SENTENCE,
            8 => length <= MAX_BODY,
            ABOUT if length > MAX_SENTENCE => false,
            GRANTED => length == Granted::LENGTH,
            ORDER | READY => length <= MAX_ORDER,
            DECLINED => length <= MAX_SENTENCE,
            STATUS => length == Status::LENGTH,
            SAMPLE => length == Sample::LENGTH,
            DONE => length <= MAX_DONE,
            FIRST_OPTIONAL_KIND.. => length <= MAX_BODY,
            _ => return Err(DecodeError::Kind(kind)),
        };
        if fits {
            Ok(Some(FRAME_HEADER + length))
        } else {
            Err(DecodeError::Length { kind, length })
        }
    }

    /// Decodes a whole message; `None` for one that is to be skipped.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are cut or are no message.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, DecodeError> {
        let kind = bytes.first().copied().unwrap_or(0);
        let cut = DecodeError::Length {
            kind,
            length: bytes.len(),
        };
        let length = Self::announced_length(bytes)?.ok_or_else(|| cut.clone())?;
        let body = bytes.get(FRAME_HEADER..length).ok_or(cut)?;
        let unreadable = |why: &str| DecodeError::Body {
            kind,
            why: why.to_owned(),
        };
        let sentence = || readable(body).ok_or_else(|| unreadable("no UTF-8 text"));
        Ok(Some(match kind {
            1 => Self::Hello(Hello::read(body).ok_or_else(|| unreadable("a number is 0"))?),
            2 => {
                let greeting: Greeting = serde_json::from_slice(&body[4..])
                    .map_err(|error| unreadable(&error.to_string()))?;
                Self::Welcome {
                    version: body[0],
                    server: greeting.program.tamed(),
                    probe_key: greeting.probe_key,
                    methods: greeting.methods.map(Methods::tamed),
                }
            }
            3 => Self::Refused(sentence()?),
            4 => Self::ClockRequest {
                number: number(body, 0),
                sent: long(body, 4),
            },
            5 => Self::ClockReply(ClockReply {
                number: number(body, 0),
                request_sent: long(body, 4),
                request_received: long(body, 12),
                reply_sent: long(body, 20),
            }),
            6 => Self::Progress(Progress {
                elapsed: long(body, 0),
                bytes: long(body, 8),
                datagrams: long(body, 16),
                flows: number(body, 24),
                processor: long(body, 28),
            }),
            7 => Self::Finished,
            8 => Self::Results(
                std::str::from_utf8(body)
                    .map_err(|_| unreadable("no UTF-8 text"))?
                    .to_owned(),
            ),
            9 => Self::Stop(sentence()?),
            10 => Self::Error(sentence()?),
            11 => Self::Goodbye,
            ABOUT => {
                let about: About = object(body).map_err(|why| unreadable(&why))?;
                Self::About(about.tamed())
            }
            GRANTED => Self::Granted(Granted::read([0, 8, 16].map(|at| long(body, at)))),
            ORDER => {
                let order: Order = object(body).map_err(|why| unreadable(&why))?;
                Self::Order(Box::new(order.tamed()))
            }
            READY => Self::Ready(object(body).map_err(|why| unreadable(&why))?),
            DECLINED => Self::Declined(sentence()?),
            STATUS => Self::Status(Status::parse(body).ok_or_else(|| unreadable("cut"))?),
            SAMPLE => Self::Sample(Sample::parse(body).ok_or_else(|| unreadable("cut"))?),
            DONE => {
                let done: Done = object(body).map_err(|why| unreadable(&why))?;
                Self::Done(Box::new(done.tamed()))
            }
            _ => return Ok(None),
        }))
    }

    /// Appends the message. Sentences are cut to what a peer takes; results beyond
    /// [`MAX_BODY`] are sent as an empty object.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[self.kind(), 0, 0, 0]);
        match self {
            Self::Hello(hello) => hello.write(out),
            Self::Welcome {
                version,
                server,
                probe_key,
                methods,
            } => {
                out.extend_from_slice(&[*version, 0, 0, 0]);
                let greeting = Greeting {
                    program: server.clone(),
                    probe_key: *probe_key,
                    methods: methods.clone(),
                };
                // A structure of texts and a number, written to memory, cannot fail.
                let _ = serde_json::to_writer(&mut *out, &greeting);
            }
            Self::ClockRequest { number, sent } => {
                out.extend_from_slice(&number.to_be_bytes());
                out.extend_from_slice(&sent.to_be_bytes());
            }
            Self::ClockReply(reply) => {
                out.extend_from_slice(&reply.number.to_be_bytes());
                for time in [reply.request_sent, reply.request_received, reply.reply_sent] {
                    out.extend_from_slice(&time.to_be_bytes());
                }
            }
            Self::Progress(progress) => {
                for count in [progress.elapsed, progress.bytes, progress.datagrams] {
                    out.extend_from_slice(&count.to_be_bytes());
                }
                out.extend_from_slice(&progress.flows.to_be_bytes());
                out.extend_from_slice(&progress.processor.to_be_bytes());
            }
            Self::About(about) => {
                let _ = serde_json::to_writer(&mut *out, about);
            }
            Self::Granted(granted) => granted.write(out),
            Self::Results(object) if object.len() > MAX_BODY => out.extend_from_slice(b"{}"),
            Self::Results(object) => out.extend_from_slice(object.as_bytes()),
            Self::Order(order) => {
                let _ = serde_json::to_writer(&mut *out, order);
            }
            Self::Ready(ready) => {
                let _ = serde_json::to_writer(&mut *out, ready);
            }
            Self::Done(done) => {
                let _ = serde_json::to_writer(&mut *out, done);
            }
            Self::Status(status) => out.extend_from_slice(&status.encode()),
            Self::Sample(sample) => out.extend_from_slice(&sample.encode()),
            Self::Refused(words)
            | Self::Stop(words)
            | Self::Error(words)
            | Self::Declined(words) => {
                out.extend_from_slice(beginning(words).as_bytes());
            }
            Self::Finished | Self::Goodbye => {}
        }
        let [_, length @ ..] = ((out.len() - start - FRAME_HEADER) as u32).to_be_bytes();
        out[start + 1..start + FRAME_HEADER].copy_from_slice(&length);
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Hello(_) => 1,
            Self::Welcome { .. } => 2,
            Self::Refused(_) => 3,
            Self::ClockRequest { .. } => 4,
            Self::ClockReply(_) => 5,
            Self::Progress(_) => 6,
            Self::Finished => 7,
            Self::Results(_) => 8,
            Self::Stop(_) => 9,
            Self::Error(_) => 10,
            Self::Goodbye => 11,
            Self::About(_) => ABOUT,
            Self::Granted(_) => GRANTED,
            Self::Order(_) => ORDER,
            Self::Ready(_) => READY,
            Self::Declined(_) => DECLINED,
            Self::Status(_) => STATUS,
            Self::Sample(_) => SAMPLE,
            Self::Done(_) => DONE,
        }
    }
}

impl Hello {
    fn read(body: &[u8]) -> Option<Self> {
        Some(Self {
            test: NonZeroU32::new(number(body, 0))?,
            token: NonZeroU32::new(number(body, 4))?,
            lowest: body[8],
            highest: body[9],
        })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.test.get().to_be_bytes());
        out.extend_from_slice(&self.token.get().to_be_bytes());
        out.extend_from_slice(&[self.lowest, self.highest, 0, 0]);
    }
}

/// What a body holds that is JSON.
fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn number(body: &[u8], at: usize) -> u32 {
    body[at..]
        .first_chunk()
        .copied()
        .map_or(0, u32::from_be_bytes)
}

fn long(body: &[u8], at: usize) -> u64 {
    body[at..]
        .first_chunk()
        .copied()
        .map_or(0, u64::from_be_bytes)
}

/// What a test may have before it is cut, in each direction and shared alike by its streams;
/// `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Time, nanoseconds.
    pub nanoseconds: Option<NonZeroU64>,
    /// Payload, bytes.
    pub bytes: Option<NonZeroU64>,
    /// Rate, bits per second. TCP is slowed down to it, not cut.
    pub rate: Option<NonZeroU64>,
}

impl Granted {
    pub(crate) const LENGTH: usize = 24;

    /// Three numbers, 0 where there is no limit.
    pub(crate) fn read([nanoseconds, bytes, rate]: [u64; 3]) -> Self {
        Self {
            nanoseconds: NonZeroU64::new(nanoseconds),
            bytes: NonZeroU64::new(bytes),
            rate: NonZeroU64::new(rate),
        }
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        for limit in [self.nanoseconds, self.bytes, self.rate] {
            let number = limit.map_or(0, NonZeroU64::get);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// A control connection that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The connection does not begin as a control connection.
    #[error("not a control connection")]
    Preamble,
    /// A kind below 64 that no version knows.
    #[error("unknown control message {0}")]
    Kind(u8),
    /// A body of a length that its kind cannot have.
    #[error("a control message {kind} cannot have {length} bytes")]
    Length {
        /// Kind of the message.
        kind: u8,
        /// Announced length of its body, bytes.
        length: usize,
    },
    /// A body that does not hold what its kind must hold.
    #[error("a control message {kind} cannot be read: {why}")]
    Body {
        /// Kind of the message.
        kind: u8,
        /// What is wrong, in words.
        why: String,
    },
}

#[cfg(test)]
mod tests;
