//! A client's test whose server may be tapeline: its mark, its flows, and what the server answers
//! on them.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tapeline_base::{FlowId, FlowTag, Tos};
use tapeline_engine::Stop;
use tapeline_sys::{SocketOptions, TcpConn, UdpSocket, Waker};
use tapeline_wire::native::{Mark, Refusal, VERSIONS};

use super::answer::Answer;
use super::answer_watch::{LentSocket, Watched};
use super::client_session::Session;
use super::own_flow::OwnFlow;
use crate::context::Context;
use crate::reporter::Following;

/// How a test's traffic ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrafficEnd {
    InOrder,
    /// The user does not want to wait.
    Interrupted,
    /// Something did not go well, as perhaps nobody was there.
    Failed,
}

impl TrafficEnd {
    /// Of a run that has `failed`, or not.
    pub(crate) fn of(failed: bool, context: &Context) -> Self {
        match (context.stop().is_raised(), failed) {
            (true, _) => Self::Interrupted,
            (false, true) => Self::Failed,
            (false, false) => Self::InOrder,
        }
    }
}

/// How far a test is.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) flows: Vec<OwnFlow>,
    /// Sockets that the thread has not taken over yet.
    pub(super) watched: Vec<(FlowId, Watched)>,
    /// How the traffic has ended.
    pub(super) ended: Option<TrafficEnd>,
    /// The server that has refused the test.
    pub(super) refused: Option<(SocketAddr, Refusal)>,
}

impl State {
    /// The first flow on which the server has answered.
    pub(super) fn recognised(&self) -> Option<OwnFlow> {
        self.flows.iter().find(|flow| flow.token.is_some()).cloned()
    }
}

/// What a test shares with the thread that keeps its control connection.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) number: NonZeroU32,
    pub(super) following: Arc<Following>,
    pub(super) waker: Waker,
    state: Mutex<State>,
    /// Ends the test's flows.
    pub(super) stop: Stop,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A flow begins.
    fn add(&self, flow: OwnFlow) {
        for tag in flow.tags() {
            self.following.add(tag);
        }
        self.lock().flows.push(flow);
    }

    /// The server has answered on a flow.
    pub(super) fn answered(&self, id: FlowId, answer: Answer) {
        let mut state = self.lock();
        let State { flows, refused, .. } = &mut *state;
        let own = |flow: &&mut OwnFlow| flow.tags().any(|tag| tag.id == id);
        let Some(flow) = flows.iter_mut().find(own) else {
            return;
        };
        match answer {
            Answer::Taken(mark) if flow.token.is_none() => flow.token = Some(mark.number),
            // Without a part of its flows a test is another one. Nobody else knows its number.
            Answer::Refused(refusal) if refusal.test == self.number => {
                refused.get_or_insert((flow.peer, refusal));
                self.stop.raise();
            }
            Answer::Taken(_) | Answer::Refused(_) => return,
        }
        drop(state);
        self.waker.wake();
    }

    fn is_refused(&self) -> bool {
        self.lock().refused.is_some()
    }
}

/// A client's test that can be recognised.
#[derive(Debug)]
pub(crate) struct ClientTest {
    shared: Arc<Shared>,
    thread: JoinHandle<bool>,
}

/// Takes flows of a test that the server opens.
#[derive(Clone, Debug)]
pub(crate) struct TestFlows {
    shared: Arc<Shared>,
}

impl TestFlows {
    /// The server's data begins to arrive.
    pub(crate) fn receives(&self, tag: FlowTag, local: SocketAddr, peer: SocketAddr) {
        self.shared.add(OwnFlow {
            token: None,
            sends: None,
            receives: Some(tag),
            local,
            peer,
            congestion: None,
        });
    }
}

/// What a flow says of the server's answers.
#[derive(Clone, Debug)]
pub(crate) struct FlowAnswers {
    shared: Arc<Shared>,
    id: FlowId,
    /// Lent to the thread while nobody else reads.
    socket: Option<LentSocket>,
}

impl FlowAnswers {
    /// Takes bytes from the server; returns whether they are its answer, and so no data.
    pub(crate) fn heard(&self, bytes: &[u8]) -> bool {
        let answer = Answer::parse(bytes);
        if let Some(answer) = answer {
            self.shared.answered(self.id, answer);
        }
        answer.is_some()
    }

    /// An answer that was read already.
    pub(crate) fn answered(&self, answer: Answer) {
        self.shared.answered(self.id, answer);
    }

    /// Whether the server does not run the test.
    pub(crate) fn is_refused(&self) -> bool {
        self.shared.is_refused()
    }

    /// From now on the flow reads its socket itself.
    pub(crate) fn take_over(&self) {
        if let Some(socket) = &self.socket {
            socket.take_back();
        }
    }
}

impl ClientTest {
    /// Begins to listen for answers; `stop` ends the test's flows, where round trips are
    /// measured beside them, `probes` is the flows' type of service. Without a thread there is none, and
    /// the test goes on without.
    pub(crate) fn begin(
        context: &Arc<Context>,
        options: SocketOptions,
        stop: &Stop,
        probes: Option<Tos>,
    ) -> Option<Self> {
        let shared = Arc::new(Shared {
            number: super::draw(),
            following: context.reporter.follow(),
            waker: Waker::new().ok()?,
            state: Mutex::default(),
            stop: stop.clone(),
        });
        let (own, context) = (Arc::clone(&shared), Arc::clone(context));
        let thread = std::thread::Builder::new()
            .name("control".into())
            .spawn(move || {
                let session = Session::new(own, context, options, probes);
                session.is_some_and(Session::run)
            })
            .ok()?;
        Some(Self { shared, thread })
    }

    /// What the headers of the test carry.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            version: *VERSIONS.end(),
            number: self.shared.number,
        }
    }

    /// The flow with this number is about to say its mark.
    pub(crate) fn flow(&self, id: FlowId, flow: OwnFlow) -> FlowAnswers {
        self.shared.add(flow);
        FlowAnswers {
            shared: Arc::clone(&self.shared),
            id,
            socket: None,
        }
    }

    /// Whether the server does not run the test.
    pub(crate) fn is_refused(&self) -> bool {
        self.shared.is_refused()
    }

    /// Takes flows that the server opens.
    pub(crate) fn flows(&self) -> TestFlows {
        TestFlows {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Looks for the answer on a connection that only sends.
    pub(crate) fn watch_tcp(&self, id: FlowId, conn: &Arc<TcpConn>) {
        self.watch(id, Watched::Tcp(Arc::clone(conn)));
    }

    /// Looks for the answer on a socket that only sends, until the flow takes it over.
    pub(crate) fn watch_udp(&self, answers: &mut FlowAnswers, socket: &Arc<UdpSocket>) {
        let lent = LentSocket::new(Arc::clone(socket));
        answers.socket = Some(lent.clone());
        self.watch(answers.id, Watched::Udp(lent));
    }

    fn watch(&self, id: FlowId, watched: Watched) {
        self.shared.lock().watched.push((id, watched));
        self.shared.waker.wake();
    }

    /// The traffic has ended and was told: what the other end has to say is told too. Returns whether
    /// it has cut the test.
    pub(crate) fn finish(self, end: TrafficEnd) -> bool {
        self.shared.lock().ended = Some(end);
        self.shared.waker.wake();
        self.thread.join().unwrap_or(false)
    }
}
