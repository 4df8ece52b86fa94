//! What a mode is.

use crate::check::Check;

/// How an end says what it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `-J`.
    Document,
    /// `--json-stream`.
    Events,
    /// Neither.
    Text,
}

/// One mode of a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// Unique.
    pub(crate) name: &'static str,
    /// Options of the client; see [`crate::place::Place`] for the words that stand for something.
    pub(crate) client: &'static str,
    /// Options of the server.
    pub(crate) server: &'static str,
    /// The client's options under the name `tapeline`, where they exist.
    pub(crate) own: Option<&'static str>,
    pub(crate) client_form: Form,
    pub(crate) server_form: Form,
    /// What must hold in addition to what holds after every test.
    pub(crate) checks: &'static [Check],
}

/// A mode whose ends both write a document.
pub(crate) const fn mode(name: &'static str, client: &'static str) -> Mode {
    Mode {
        name,
        client,
        server: "",
        own: None,
        client_form: Form::Document,
        server_form: Form::Document,
        checks: &[],
    }
}

impl Mode {
    /// With these options of the server.
    pub(crate) const fn served(mut self, options: &'static str) -> Self {
        self.server = options;
        self
    }

    /// Also under the name `tapeline`, with these options.
    pub(crate) const fn own(mut self, options: &'static str) -> Self {
        self.own = Some(options);
        self
    }

    /// With these checks.
    pub(crate) const fn checks(mut self, checks: &'static [Check]) -> Self {
        self.checks = checks;
        self
    }

    /// With such a client.
    pub(crate) const fn client_form(mut self, form: Form) -> Self {
        self.client_form = form;
        self
    }

    /// With such a server.
    pub(crate) const fn server_form(mut self, form: Form) -> Self {
        self.server_form = form;
        self
    }

    /// Whether its data is carried by UDP.
    pub(crate) fn is_udp(&self) -> bool {
        self.client.split(' ').any(|word| word == "-u")
    }

    /// Whether the server alone sends.
    pub(crate) fn is_reverse(&self) -> bool {
        self.client.split(' ').any(|word| word == "-R")
    }

    /// Whether both ends send.
    pub(crate) fn is_bidirectional(&self) -> bool {
        self.client.split(' ').any(|word| word == "--bidir")
    }

    /// Whether it ends with an amount.
    pub(crate) fn has_amount(&self) -> bool {
        let amounts = ["-n", "-k", "-F"];
        self.client.split(' ').any(|word| amounts.contains(&word))
    }

    /// Whether it runs over IPv6.
    pub(crate) fn is_v6(&self) -> bool {
        self.client.split(' ').any(|word| word == "-6")
    }
}
