//! What limited a test, as a document says it and as the truth has it.

use std::fmt;

use serde_json::Value;

/// A cause, by its name in documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    Network,
    SenderCpu,
    ReceiverCpu,
    SendBuffer,
    ReceiveWindow,
    ReceiveBuffer,
    RequestedRate,
    Input,
    Application,
    Pacing,
    Measurement,
    /// No verdict, or one that names nothing.
    Nothing,
}

impl Cause {
    pub(crate) const ALL: [Self; 12] = [
        Self::Network,
        Self::SenderCpu,
        Self::ReceiverCpu,
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::ReceiveBuffer,
        Self::RequestedRate,
        Self::Input,
        Self::Application,
        Self::Pacing,
        Self::Measurement,
        Self::Nothing,
    ];

    /// Its name in documents.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::SenderCpu => "sender_cpu",
            Self::ReceiverCpu => "receiver_cpu",
            Self::SendBuffer => "send_buffer",
            Self::ReceiveWindow => "receive_window",
            Self::ReceiveBuffer => "receive_buffer",
            Self::RequestedRate => "requested_rate",
            Self::Input => "input",
            Self::Application => "application",
            Self::Pacing => "pacing",
            Self::Measurement => "measurement",
            Self::Nothing => "nothing",
        }
    }

    /// The cause of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.id() == name)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// How sure a verdict is, by its name in documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    pub(crate) const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    /// Its name in documents.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The confidence of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.id() == name)
    }
}

/// A verdict, as far as it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) cause: Cause,
    pub(crate) confidence: Confidence,
}

impl Said {
    /// The verdict of a document.
    pub(crate) fn from_verdict(verdict: &Value) -> Result<Self, String> {
        let unknown = || format!("not a verdict: {verdict}");
        let nothing = Self {
            cause: Cause::Nothing,
            confidence: Confidence::Low,
        };
        if verdict.is_null() || verdict["limited_by"].is_null() {
            return Ok(nothing);
        }
        let word = |member: &str| verdict[member].as_str().unwrap_or_default();
        if word("limited_by") == "unknown" {
            return Ok(nothing);
        }
        Ok(Self {
            cause: Cause::named(word("limited_by")).ok_or_else(unknown)?,
            confidence: Confidence::named(word("confidence")).ok_or_else(unknown)?,
        })
    }

    /// Whether it is a cause that other programs on the machine can be.
    pub(crate) const fn is_of_processors(self) -> bool {
        matches!(
            self.cause,
            Cause::SenderCpu | Cause::ReceiverCpu | Cause::Pacing | Cause::Measurement
        )
    }
}

/// What limits a test in truth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Truth {
    /// The cause; several where each of them is true.
    pub(crate) right: &'static [Cause],
    /// Further causes that may be named with low confidence.
    pub(crate) borne: &'static [Cause],
}

impl Truth {
    /// What `said` is worth.
    pub(crate) fn grade(self, said: Said) -> Grade {
        if self.right.contains(&said.cause) {
            return Grade::Right;
        }
        match (said.cause, said.confidence) {
            (Cause::Nothing, _) => Grade::Unknown,
            (cause, Confidence::Low) if self.borne.contains(&cause) => Grade::Borne,
            (_, Confidence::Low) => Grade::WrongLow,
            (_, Confidence::Medium) => Grade::WrongMedium,
            (_, Confidence::High) => Grade::WrongHigh,
        }
    }
}

/// What a verdict is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    Right,
    /// Nothing was named although there is a cause.
    Unknown,
    /// An acceptable cause, with low confidence.
    Borne,
    WrongLow,
    WrongMedium,
    WrongHigh,
}

impl Grade {
    pub(crate) const ALL: [Self; 6] = [
        Self::Right,
        Self::Unknown,
        Self::Borne,
        Self::WrongLow,
        Self::WrongMedium,
        Self::WrongHigh,
    ];

    /// Its name in the log and in tables.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Unknown => "unknown",
            Self::Borne => "accepted, low",
            Self::WrongLow => "wrong, low",
            Self::WrongMedium => "WRONG, medium",
            Self::WrongHigh => "WRONG, high",
        }
    }

    /// Whether a reader is misled.
    pub(crate) const fn misleads(self) -> bool {
        matches!(self, Self::WrongMedium | Self::WrongHigh)
    }
}
