//! What a terminal can show.

/// What the terminal can show, and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Colours.
    pub colour: bool,
    /// Keys that are typed on it are read.
    pub keys: bool,
}
