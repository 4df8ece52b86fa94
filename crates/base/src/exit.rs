//! Exit codes: a documented interface.

/// What the process reports to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitCode {
    /// The test ran to its end.
    Success,
    /// The test could not be run or did not end as it should: refused, vanished
    /// peer, unusable address, failed output.
    Failure,
    /// The command line cannot be carried out.
    Usage,
    /// The test ran to its end, but a host limited it rather than the network
    /// (`--fail-if-host-limited`).
    Limited,
    /// A method ran to its end, and its result missed a limit (`--pass`); a gate's rule is broken.
    Missed,
    /// A gate's runs do not decide its rules.
    Undecided,
    /// A mesh ended, and some of its pairs have no result.
    Incomplete,
}

impl ExitCode {
    /// The number given to the operating system.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Limited => 3,
            Self::Missed => 4,
            Self::Undecided => 5,
            Self::Incomplete => 6,
        }
    }
}
