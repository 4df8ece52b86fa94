//! How a thread waits for what arrives.

/// What a thread that alone serves a socket does while nothing arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitMode {
    /// Sleeps, and looks before where that is worth it.
    #[default]
    Auto,
    /// Looks again and again, and keeps the processor.
    Spin,
    /// Looks again and again, and lets others run in between.
    Yield,
    /// Sleeps at once.
    Sleep,
}

impl WaitMode {
    /// Whether the thread never sleeps.
    #[must_use]
    pub const fn stays_awake(self) -> bool {
        matches!(self, Self::Spin | Self::Yield)
    }

    /// What is done between two looks.
    #[inline]
    pub fn pause(self) {
        if self == Self::Yield {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
