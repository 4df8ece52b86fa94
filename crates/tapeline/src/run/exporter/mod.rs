//! `tapeline exporter`: tests on demand of Prometheus.
//!
//! ```text
//! GET /probe?target=HOST ─► Order ─► probe (a client's test) ─► Report ─► metrics
//! GET /metrics ─► the exporter's own counters
//! ```
//!
//! Parameters and names are those of the exporter for iperf3 that is most used, so that
//! configurations and dashboards go on working; tapeline's own come beside them.

mod order;
mod probe;

use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tapeline_base::ExitCode;
use tapeline_report::prometheus::{ExporterMetrics, MEDIA_TYPE, ProbeResult};
use tapeline_sys::reason;

use super::metrics::{listen, tell};
use super::{cannot, signals};
use crate::http::{Request, Response, Status};
use crate::plan::ExporterPlan;
use order::Order;

/// Probes that run at the same time.
const MOST_PROBES: u64 = 32;

/// The page at the root.
const PAGE: &str = "<!DOCTYPE html><html lang=\"en\"><title>tapeline exporter</title>\
    <h1>tapeline exporter</h1>\
    <p><a href=\"/metrics\">/metrics</a>: the exporter itself</p>\
    <p>/probe?target=HOST: a test towards a server of iperf3; with port=, period=5s, \
    reverse_mode=true, bitrate=100M, bind=ADDRESS, transport=udp, parallel=4; with peer=tapeline \
    towards a server of tapeline or iperf 2</p></html>\n";

/// Answers until it is told to end.
pub(crate) fn exporter(plan: &ExporterPlan) -> ExitCode {
    let (end, ended) = mpsc::channel();
    let caught = signals::on_interrupt(move || {
        // Fails only when nobody waits any more.
        let _ = end.send(());
    });
    if let Err(error) = caught {
        return cannot(&format!("signals cannot be caught: {error}"));
    }
    let desk = Desk {
        plan: plan.clone(),
        metrics: Mutex::new(ExporterMetrics::new(env!("CARGO_PKG_VERSION"))),
    };
    let answer = move |request: &Request| desk.answer(request);
    match listen(&plan.address, Arc::new(answer)) {
        Ok(local) => tell(&format!("probes at http://{local}/probe?target=HOST")),
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
            "/" => Response::ok("text/html; charset=utf-8", PAGE),
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
        let prepared = match probe::Prepared::new(&order, self.plan.techniques) {
            Ok(prepared) => prepared,
            Err(why) => return self.refuse(Status::BadRequest, &why),
        };
        if !self.metrics().begin(MOST_PROBES) {
            return self.refuse(Status::Busy, "as many probes run as may");
        }
        let mut running = Running {
            desk: self,
            begun: Instant::now(),
            success: false,
        };
        let (success, report) = match prepared.run(order.deadline) {
            Ok(outcome) => outcome,
            Err(error) => return Response::refusal(Status::Busy, &reason(&error)),
        };
        running.success = success;
        let result = ProbeResult {
            target: &order.target,
            port: order.port,
            success,
            duration: running.begun.elapsed(),
            report: &report,
        };
        Response::ok(MEDIA_TYPE, result.text())
    }

    fn refuse(&self, status: Status, why: &str) -> Response {
        self.metrics().refused();
        Response::refusal(status, why)
    }

    fn metrics(&self) -> MutexGuard<'_, ExporterMetrics> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
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
