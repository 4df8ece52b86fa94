//! A build without a live view: there is none to be had.

use std::io::Write;

use tapeline_base::ExitCode;
use tapeline_report::document::RunInfo;
use tapeline_report::{Event, Renderer};

/// Never is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behind {}

impl Behind {
    pub(crate) fn wanted(_: bool) -> Option<Self> {
        None
    }

    pub(crate) fn text(&self, _: Box<dyn Renderer + Send>) -> Box<dyn Renderer + Send> {
        match *self {}
    }

    pub(crate) fn out(&self) -> Box<dyn Write + Send> {
        match *self {}
    }

    pub(crate) fn errors(&self) -> Box<dyn Write + Send> {
        match *self {}
    }

    pub(crate) fn view(self, _: &RunInfo) -> Result<View, ExitCode> {
        match self {}
    }

    pub(crate) fn print(self) {
        match self {}
    }
}

/// Never is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {}

impl View {
    pub(crate) fn sink(&self) -> Box<dyn FnMut(Event) + Send> {
        match *self {}
    }

    pub(crate) fn close(self) -> Behind {
        match self {}
    }
}

/// Never is: the command line refuses `--tui`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MethodView {}

impl MethodView {
    pub(crate) fn start(_: &str, _: &RunInfo) -> Result<Self, ExitCode> {
        Err(ExitCode::Usage)
    }

    pub(crate) fn sink(&self) -> Box<dyn FnMut(Event) + Send> {
        match *self {}
    }

    pub(crate) fn close(self) {
        match self {}
    }
}
