//! Serving the page, from its address to its end.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, mpsc};

use tapeline_base::ExitCode;
use tapeline_sys::reason;
use tapeline_web::{Key, Site, SiteOptions, serve};

use super::browser::Way;
use super::program::ThisProgram;
use crate::message::{CliMessage, cannot, print};
use crate::plan::WebJob;
use crate::run::history::note;
use crate::run::signals;

/// Ports that are tried where none is named.
const PORTS: std::ops::RangeInclusive<u16> = 8470..=8479;

/// Serves the page until it is asked to end; `form` prints the option table as JSON.
pub(crate) fn web(job: &WebJob, form: fn() -> String) -> ExitCode {
    match served(job, form) {
        Ok(()) => ExitCode::Success,
        Err(sentence) => cannot(&sentence),
    }
}

fn served(job: &WebJob, form: fn() -> String) -> Result<(), String> {
    let key = match &job.key_file {
        Some(file) => key_of(file)?,
        None => Key::random(),
    };
    let (end, ended) = mpsc::channel();
    let first = move || {
        // Fails only when nobody waits any more.
        let _ = end.send(());
    };
    signals::on_interrupt(first, || {})
        .map_err(|error| format!("signals cannot be caught: {error}"))?;
    let listener = listener(job)?;
    let local = listener.local_addr().map_err(|error| reason(&error))?;
    let page = format!("http://{local}/#k={}", key.text());
    let is_made_up = job.key_file.is_none();
    announce(job, local, is_made_up.then_some(&page));
    // Kept until the end: a browser may take its time.
    let _way = job.opens.then(|| Way::open(&page)).and_then(|opened| {
        opened
            .inspect_err(|error| note(&format!("no browser was opened: {}", reason(error))))
            .ok()
    });
    let options = SiteOptions {
        key,
        names: job.names.clone(),
        read_only: job.read_only,
        tests: job.tests,
    };
    let site = Site::new(Arc::new(ThisProgram::new(job, form)), options, local.port());
    serve(&site, listener, ended).map_err(|error| format!("the page: {}", reason(&error)))
}

/// Says where the page is.
fn announce(job: &WebJob, local: SocketAddr, with_key: Option<&String>) {
    let page = match with_key {
        Some(page) if job.opens => format!("the page   {page}  (the key is good for this process)"),
        Some(page) => {
            format!("the page   {page}  (the key is good for this process; --open opens a browser)")
        }
        None => format!("the page   http://{local}/  (the key is in the file of --key-file)"),
    };
    let history = match &job.file {
        Some(file) if job.saves || job.read_only => file.display().to_string(),
        Some(file) => format!("{}  (new results are not kept)", file.display()),
        None => "none: there is no home folder; --history FILE names a file".to_owned(),
    };
    let mut messages = vec![CliMessage::out(format!("{page}\nhistory    {history}"))];
    if !local.ip().is_loopback() {
        let targets = match job.targets.as_deref() {
            Some([]) => "; nothing can be tested: --targets names hosts",
            _ => "",
        };
        messages.push(CliMessage::err(format!(
            "note: anyone with the key can test from this host; the page is not encrypted: \
             put a proxy with TLS before it{targets}"
        )));
    }
    // Without standard output nobody reads it.
    let _ = print(&messages);
}

fn listener(job: &WebJob) -> Result<TcpListener, String> {
    let failed = |at: &SocketAddr, error: &io::Error| {
        format!("the page cannot listen at {at}: {}", reason(error))
    };
    if let Some(at) = job.listen {
        return TcpListener::bind(at).map_err(|error| failed(&at, &error));
    }
    let mut why = String::new();
    for port in PORTS {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match TcpListener::bind(at) {
            Ok(listener) => return Ok(listener),
            Err(error) => why = failed(&at, &error),
        }
    }
    Err(format!("{why}; --listen names another port"))
}

/// The key of a file: its first line.
fn key_of(file: &Path) -> Result<Key, String> {
    let at = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{at}: {}", reason(&error)))?;
    Key::chosen(text.trim()).map_err(|why| format!("{at}: {why}"))
}
