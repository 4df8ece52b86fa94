//! A build without a live view: there is none to be had.

use std::io::Write;

use tapeline_base::ExitCode;
use tapeline_report::document::Occasion;
use tapeline_report::{Event, Renderer};

/// Never is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behind {}

impl Behind {
    pub(super) fn wanted(_: bool) -> Option<Self> {
        None
    }

    pub(super) fn text(&self, _: Box<dyn Renderer + Send>) -> Box<dyn Renderer + Send> {
        match *self {}
    }

    pub(super) fn out(&self) -> Box<dyn Write + Send> {
        match *self {}
    }

    pub(super) fn errors(&self) -> Box<dyn Write + Send> {
        match *self {}
    }

    pub(super) fn view(self, _: &Occasion) -> Result<View, ExitCode> {
        match self {}
    }

    pub(super) fn print(self) {
        match self {}
    }
}

/// Never is.
#[derive(Clone, Copy, Debug)]
pub(super) enum View {}

impl View {
    pub(super) fn sink(&self) -> Box<dyn FnMut(Event) + Send> {
        match *self {}
    }

    pub(super) fn close(self) -> Behind {
        match self {}
    }
}
