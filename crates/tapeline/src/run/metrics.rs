//! `--metrics`: a server's counters and last results over HTTP.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use tapeline_base::{ExitCode, MutexExt, Role};
use tapeline_dialect::{Interruption, ReporterHandle};
use tapeline_report::document::RunInfo;
use tapeline_report::prometheus::{MEDIA_TYPE, ServerMetrics};
use tapeline_report::{Event, Output, Renderer};
use tapeline_sys::reason;

use super::printer::Printer;
use crate::http::{self, Request, Response, Status};
use crate::message::{self, CliMessage, cannot};

/// What a server's metrics are read from. It is an output among the others: a queue and a thread
/// fill it, so that neither the sampler nor the traffic waits for who reads it.
#[derive(Clone)]
pub(crate) struct Board(Arc<Mutex<ServerMetrics>>);

impl Board {
    pub(crate) fn new(run_info: RunInfo) -> Self {
        Self(Arc::new(Mutex::new(ServerMetrics::new(run_info))))
    }

    /// The output that fills it.
    ///
    /// # Errors
    /// The exit code, when there is no thread; the reason has been printed.
    pub(crate) fn output(&self, interruption: &Interruption) -> Result<Printer, ExitCode> {
        let renderer = Box::new(self.clone());
        Printer::start(
            renderer,
            Box::new(io::sink()),
            Box::new(io::sink()),
            Role::Server,
            interruption,
            None,
        )
    }

    /// Answers at an address from now on. Returns where that is.
    ///
    /// # Errors
    /// The exit code, when the address cannot be had; the reason has been printed.
    pub(crate) fn serve(
        self,
        address: &str,
        reporter: ReporterHandle,
    ) -> Result<std::net::SocketAddr, ExitCode> {
        let answer = move |request: &Request| match request.path.as_str() {
            "/" => Response::ok("text/plain; charset=utf-8", "tapeline: see /metrics\n"),
            "/metrics" => {
                let running = reporter.running_flows();
                Response::ok(MEDIA_TYPE, self.lock().text(&running))
            }
            _ => Status::NotFound.into(),
        };
        listen(address, Arc::new(answer))
    }

    fn lock(&self) -> MutexGuard<'_, ServerMetrics> {
        self.0.lock_unpoisoned()
    }
}

impl Renderer for Board {
    fn render(&mut self, event: &Event, _out: &mut Output) {
        self.lock().observe(event);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.lock().missed(rows);
    }
}

/// Answers at an address.
///
/// # Errors
/// The exit code; the reason has been printed.
pub(crate) fn listen(
    address: &str,
    handler: http::Handler,
) -> Result<std::net::SocketAddr, ExitCode> {
    http::serve(address, handler).map_err(|error| {
        let why = reason(&error);
        cannot(&format!("no metrics at {address}: {why}"))
    })
}

/// Says on standard error where something is.
pub(crate) fn log(what: &str) {
    // Without standard error it is where it is.
    let _ = message::print(&[CliMessage::err(format!("note: {what}"))]);
}
