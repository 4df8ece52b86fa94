//! Bounce-back: requests and responses on one connection, from either end.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, Tos, WallTime};
use tapeline_engine::{
    Answer, HistogramCell, HistogramRecorder, ReceiveCell, RequestBurst, RequestPlan,
    RequestResponseCell, RequestResponseHistograms, RequestStamp, Requester, Respond, Responder,
    ResponsePlan, ServerTimes,
};
use tapeline_report::HistogramKind;
use tapeline_wire::iperf2::{Bounceback, Timestamp, fill_pattern, limits};

use super::tcp_flow::TcpFlow;
use crate::plan::{ClientPlan, LatencyPlan, RequestResponsePlan};
use crate::run::context::Context;
use crate::sampler::{CounterCell, FlowHistogram};

/// Silence after which the system asks whether the client of an idle session is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Numbers bounce-back requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BouncebackStamp {
    pub(crate) settings: Bounceback,
}

impl RequestStamp for BouncebackStamp {
    fn stamp(&mut self, request: &mut [u8], number: u32, wall: WallTime) {
        self.settings.id = number;
        self.settings.client_send = Timestamp::from(wall);
        self.settings.write(request);
    }

    fn is_response(&self, response: &[u8]) -> bool {
        let head = response.first_chunk().map(Bounceback::parse);
        matches!(head, Some(Ok(reply)) if reply.id == self.settings.id)
    }

    fn server_times(&self, response: &[u8]) -> Option<ServerTimes> {
        let reply = Bounceback::parse(response.first_chunk()?).ok()?;
        Some(ServerTimes {
            received: reply.server_receive?.into(),
            sent: reply.server_send?.into(),
        })
    }
}

/// Answers bounce-back requests: length and hold are those of the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BouncebackAnswer {
    pub(crate) reply_length: usize,
    pub(crate) hold: Duration,
}

impl Respond for BouncebackAnswer {
    fn read(&mut self, request: &[u8]) -> Answer {
        match request.first_chunk().map(Bounceback::parse) {
            Some(Ok(request)) if !request.stop => Answer::Reply {
                length: self.reply_length,
                hold: self.hold,
            },
            _ => Answer::End,
        }
    }

    fn stamp(&mut self, buffer: &mut [u8], received: WallTime, sent: WallTime) {
        Bounceback::stamp_reply(buffer, Timestamp::from(received), Timestamp::from(sent));
    }
}

/// What a client asks for.
pub(crate) struct RequestPart {
    pub(crate) exchange: RequestResponsePlan,
    pub(crate) latency: LatencyPlan,
    /// Type of service that the server is to use too.
    pub(crate) tos: Option<Tos>,
    pub(crate) deadline: Option<MonoTime>,
    /// Stop after so many bytes of requests.
    pub(crate) bytes: Option<u64>,
}

impl RequestPart {
    /// Of a plan for requests and responses.
    pub(crate) fn for_plan(
        plan: &ClientPlan,
        exchange: RequestResponsePlan,
        deadline: Option<MonoTime>,
    ) -> Self {
        Self {
            exchange,
            latency: plan.latency,
            tos: plan.socket.tos,
            deadline,
            bytes: plan.byte_limit(),
        }
    }

    fn settings(&self) -> Bounceback {
        let exchange = &self.exchange;
        Bounceback {
            request_size: exchange.request,
            quickack: exchange.quickack,
            clock_synchronised: self.latency.trip_times,
            tos: self.tos,
            hold_micros: super::banner::micros(exchange.hold),
            reply_size: (exchange.response != exchange.request).then_some(exchange.response),
            ..Bounceback::default()
        }
    }

    /// A burst with nothing in it, or without a period, is none.
    fn burst(&self) -> Option<RequestBurst> {
        let (requests, period) = self.exchange.burst?;
        (requests > 0 && !period.is_zero()).then_some(RequestBurst { requests, period })
    }
}

/// Longest time without a byte from the peer while a response is awaited.
fn idle_timeout(flow: &TcpFlow, hold: Duration) -> Duration {
    flow.idle_timeout + hold
}

/// Cells of a client's histograms as its worker and the reporter see them.
fn histograms(
    flow: &TcpFlow,
    latency: &LatencyPlan,
) -> (RequestResponseHistograms, Vec<FlowHistogram>) {
    let plan = latency.histograms.unwrap_or_default();
    let mut flow_histograms = Vec::new();
    let mut recorder = |kind| {
        let cell = Arc::new(HistogramCell::new(plan.into(), flow.intervals()));
        flow_histograms.push(FlowHistogram {
            kind,
            cell: Arc::clone(&cell),
            in_micros: plan.in_micros,
            by_interval: latency.histograms.is_some(),
        });
        Some(HistogramRecorder::new(cell))
    };
    let (transmit, receive) = if latency.trip_times {
        (
            recorder(HistogramKind::Transmit),
            recorder(HistogramKind::Receive),
        )
    } else {
        (None, None)
    };
    let round_trips = recorder(HistogramKind::RoundTrip);
    let filled = RequestResponseHistograms {
        round_trips,
        transmit,
        receive,
    };
    (filled, flow_histograms)
}

/// Asks and waits for answers.
pub(crate) fn request(flow: TcpFlow, context: &Arc<Context>, part: &RequestPart) {
    let cell = Arc::new(RequestResponseCell::new(flow.intervals()));
    let settings = part.settings();
    let mut request = vec![0; settings.request_size as usize];
    fill_pattern(&mut request);
    let requests = part.bytes.map(|bytes| {
        bytes
            .div_ceil(u64::from(settings.request_size.max(1)))
            .max(1)
    });
    let (filled, flow_histograms) = histograms(&flow, &part.latency);
    let work = Requester::new(
        RequestPlan {
            conn: Arc::clone(&flow.conn),
            request,
            response_length: settings.reply_length() as usize,
            burst: part.burst(),
            quickack: part.exchange.quickack,
            yield_spin: context.techniques.yield_spins(),
            one_way: part.latency.trip_times,
            deadline: part.deadline,
            requests,
            idle_timeout: idle_timeout(&flow, part.exchange.hold),
            cell: Arc::clone(&cell),
            histograms: filled,
            stop: flow.stop.clone(),
            stamp: BouncebackStamp { settings },
        },
        flow.start,
    );
    let cell = CounterCell::Exchange(cell);
    flow.run(context, cell, flow_histograms, true, Box::new(work));
}

/// Answers requests as the first one asks. A server's rows show what it read and the bytes
/// of both directions.
pub(crate) fn respond(
    flow: TcpFlow,
    context: &Arc<Context>,
    first: &Bounceback,
    already: &[u8],
    deadline: Option<MonoTime>,
) {
    let cell = Arc::new(ReceiveCell::new(flow.intervals()));
    let (request, reply) = (first.request_size as usize, first.reply_length() as usize);
    let mut buffer = vec![0; request.max(reply).max(already.len())];
    fill_pattern(&mut buffer);
    buffer[..already.len()].copy_from_slice(already);
    // An idle client may ask again after any time, so only the system can report that it is
    // gone.
    let _ = flow.conn.set_keepalive(KEEPALIVE);
    let work = Responder::new(
        ResponsePlan {
            conn: Arc::clone(&flow.conn),
            request_length: request,
            buffer,
            already: already.len(),
            read_length: u64::from(limits::DEFAULT_TCP_LENGTH),
            quickack: first.quickack,
            yield_spin: context.techniques.yield_spins(),
            deadline,
            idle_timeout: flow.idle_timeout,
            cell: Arc::clone(&cell),
            stop: flow.stop.clone(),
            respond: BouncebackAnswer {
                reply_length: reply,
                hold: Duration::from_micros(u64::from(first.hold_micros)),
            },
        },
        flow.start,
    );
    let cell = CounterCell::TcpReceive(cell);
    flow.run(context, cell, Vec::new(), false, Box::new(work));
}
