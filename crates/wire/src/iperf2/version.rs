//! The version that a peer announces.

use std::fmt;

/// The release state of a peer (low four bits of the second version word).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReleaseState {
    /// Under development (0).
    Development,
    /// Release candidate (1); what the 2.2.1 release says.
    Candidate,
    /// Second release candidate (2).
    Candidate2,
    /// Released (3).
    Release,
    /// Private build (4).
    Private,
    /// Built from the master branch (5).
    Master,
    /// A state that no known version sends (6..=15).
    Unknown(u8),
}

impl ReleaseState {
    const fn from_bits(bits: u32) -> Self {
        match bits & 0xf {
            0 => Self::Development,
            1 => Self::Candidate,
            2 => Self::Candidate2,
            3 => Self::Release,
            4 => Self::Private,
            5 => Self::Master,
            other => Self::Unknown(other as u8),
        }
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Development => 0,
            Self::Candidate => 1,
            Self::Candidate2 => 2,
            Self::Release => 3,
            Self::Private => 4,
            Self::Master => 5,
            Self::Unknown(bits) => bits as u32 & 0xf,
        }
    }

    /// The suffix that 2.2.1 prints after the numbers.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Development => "-dev",
            Self::Candidate => "-rc",
            Self::Candidate2 => "-rc2",
            Self::Release => "",
            Self::Private => "-private",
            Self::Master => "-master",
            Self::Unknown(_) => "-unk",
        }
    }
}

/// The version that a peer announces in extended headers and acknowledgements.
/// Compare with [`PeerVersion::number`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerVersion {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub patch: u16,
    /// Release state.
    pub state: ReleaseState,
}

impl PeerVersion {
    /// What the 2.2.1 release announces; shown as `2.2.1-rc`.
    pub const IPERF_2_2_1: Self = Self {
        major: 2,
        minor: 2,
        patch: 1,
        state: ReleaseState::Candidate,
    };

    /// The bits of the second word that say something: third number and state.
    const LOWER_BITS: u32 = 0xffff_000f;

    /// From the two version words; `None` when either is empty (version unknown).
    #[must_use]
    pub const fn from_words(upper: u32, lower: u32) -> Option<Self> {
        if upper == 0 || lower & Self::LOWER_BITS == 0 {
            return None;
        }
        Some(Self {
            major: (upper >> 16) as u16,
            minor: upper as u16,
            patch: (lower >> 16) as u16,
            state: ReleaseState::from_bits(lower),
        })
    }

    /// The two version words.
    #[must_use]
    pub const fn to_words(self) -> (u32, u32) {
        let upper = (self.major as u32) << 16 | self.minor as u32;
        (upper, (self.patch as u32) << 16 | self.state.bits())
    }

    /// The three numbers, for comparisons.
    #[must_use]
    pub const fn number(self) -> (u16, u16, u16) {
        (self.major, self.minor, self.patch)
    }
}

/// As 2.2.1 prints it inside `(peer ...)`.
impl fmt::Display for PeerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{}.{}{}",
            self.major,
            self.minor,
            self.patch,
            self.state.suffix()
        )
    }
}

/// The words of a version that may be unknown.
pub(crate) fn version_words(version: Option<PeerVersion>) -> (u32, u32) {
    version.map_or((0, 0), PeerVersion::to_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_versions_print_as_the_reference_does() {
        let shown = |upper, lower| PeerVersion::from_words(upper, lower).unwrap().to_string();
        assert_eq!(shown(0x0002_0002, 0x0001_0001), "2.2.1-rc");
        assert_eq!(shown(0x0002_0001, 0x0008_0003), "2.1.8");
        assert_eq!(shown(0x0002_0000, 0x000d_0000), "2.0.13-dev");
        assert_eq!(
            PeerVersion::IPERF_2_2_1.to_words(),
            (0x0002_0002, 0x0001_0001)
        );
    }

    #[test]
    fn a_zero_word_means_unknown() {
        assert_eq!(PeerVersion::from_words(0, 0x0001_0001), None);
        assert_eq!(PeerVersion::from_words(0x0002_0002, 0), None);
        assert_eq!(PeerVersion::from_words(0x0002_0002, 0x0000_fff0), None);
    }

    #[test]
    fn every_state_survives_the_words() {
        for bits in 0..16 {
            let version = PeerVersion::from_words(0x0002_0002, 0x0001_0000 | bits).unwrap();
            assert_eq!(version.to_words(), (0x0002_0002, 0x0001_0000 | bits));
        }
    }
}
