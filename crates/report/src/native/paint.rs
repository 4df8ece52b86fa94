//! Colours of what goes to a terminal.

/// Puts ANSI escape sequences around text when the terminal wants them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    /// For what frames the numbers.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// For totals and headlines.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// For what can be relied on.
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For what deserves attention.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// For what failed.
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
