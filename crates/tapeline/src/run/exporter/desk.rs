//! What the exporter answers.

use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::Instant;

use tapeline_base::{ExitCode, MutexExt};
use tapeline_report::prometheus::{ExporterMetrics, MEDIA_TYPE, MethodProbe, ProbeResult};
use tapeline_sys::reason;

use super::order::{Order, PARAMETERS};
use super::probe::{Outcome, Prepared};
use crate::http::{Request, Response, Status};
use crate::message::cannot;
use crate::plan::ExporterPlan;
use crate::run::metrics::{listen, log};
use crate::run::signals;

/// Probes that run at the same time.
const MAX_PROBES: u64 = 32;

/// The page at the root.
fn page() -> String {
    let rows = PARAMETERS.map(|parameter| {
        format!(
            "<tr><td><code>{}</code><td>{}<td>{}",
            parameter.name, parameter.meaning, parameter.default
        )
    });
    format!(
        "<!DOCTYPE html><html lang=\"en\"><title>tapeline exporter</title>\
         <h1>tapeline exporter</h1>\
         <p><a href=\"/metrics\">/metrics</a>: the exporter itself</p>\
         <p><code>/probe?target=HOST</code>: a test towards a server, and its results</p>\
         <table><tr><th>parameter<th>meaning<th>default{}</table></html>\n",
        rows.concat()
    )
}

/// Answers until it is asked to end.
pub(crate) fn exporter(plan: &ExporterPlan) -> ExitCode {
    let (end, ended) = mpsc::channel();
    let first = move || {
        // Fails only when nobody waits any more.
        let _ = end.send(());
    };
    let caught = signals::on_interrupt(first, || {});
    if let Err(error) = caught {
        return cannot(&format!("signals cannot be caught: {error}"));
    }
    let desk = Desk {
        plan: plan.clone(),
        metrics: Mutex::new(ExporterMetrics::new(env!("CARGO_PKG_VERSION"))),
    };
    let answer = move |request: &Request| desk.answer(request);
    match listen(&plan.address, Arc::new(answer)) {
        Ok(local) => log(&format!("probes at http://{local}/probe?target=HOST")),
        Err(code) => return code,
    }
    // Nothing else can end the channel.
    let _ = ended.recv();
    ExitCode::Success
}

/// What all answers share.
struct Desk {
    plan: ExporterPlan,
    metrics: Mutex<ExporterMetrics>,
}

impl Desk {
    fn answer(&self, request: &Request) -> Response {
        match request.path.as_str() {
            "/" => Response::ok("text/html; charset=utf-8", page()),
            "/metrics" => Response::ok(MEDIA_TYPE, self.metrics().text()),
            "/probe" if request.head_only => Status::MethodNotAllowed.into(),
            "/probe" => self.probe(request),
            "/health" | "/ready" => Response::ok("text/plain; charset=utf-8", "OK\n"),
            _ => Status::NotFound.into(),
        }
    }

    fn probe(&self, request: &Request) -> Response {
        let order = match Order::read(request) {
            Ok(order) => order,
            Err(why) => return self.refuse(Status::BadRequest, &why),
        };
        let allowed = &self.plan.targets;
        if !allowed.is_empty() && !allowed.contains(&order.target) {
            let why = format!("'{}' is none of this exporter's targets", order.target);
            return self.refuse(Status::Forbidden, &why);
        }
        let prepared = match Prepared::new(&order, self.plan.techniques) {
            Ok(prepared) => prepared,
            Err(why) => return self.refuse(Status::BadRequest, &why),
        };
        if !self.metrics().begin(MAX_PROBES) {
            return self.refuse(Status::Busy, "as many probes run as may");
        }
        let mut running = Running {
            desk: self,
            begun: Instant::now(),
            success: false,
        };
        let outcome = match prepared.run(order.deadline) {
            Ok(outcome) => outcome,
            Err(error) => return Response::refusal(Status::Busy, &reason(&error)),
        };
        running.success = outcome.success();
        let duration = running.begun.elapsed();
        let (target, port) = (order.target.as_str(), order.port);
        let text = match &outcome {
            Outcome::Test(success, report) => ProbeResult {
                target,
                port,
                success: *success,
                duration,
                report,
            }
            .text(),
            Outcome::Method(success, document) => MethodProbe {
                target,
                port,
                success: *success,
                duration,
                document,
            }
            .text(),
        };
        Response::ok(MEDIA_TYPE, text)
    }

    fn refuse(&self, status: Status, why: &str) -> Response {
        self.metrics().refused();
        Response::refusal(status, why)
    }

    fn metrics(&self) -> MutexGuard<'_, ExporterMetrics> {
        self.metrics.lock_unpoisoned()
    }
}

/// A probe under way; its end is counted however it ends.
struct Running<'a> {
    desk: &'a Desk,
    begun: Instant,
    success: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.desk.metrics().end(self.success, self.begun.elapsed());
    }
}
