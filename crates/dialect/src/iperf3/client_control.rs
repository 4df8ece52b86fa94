//! A client's control connection: bytes in, steps out.
//!
//! ```text
//!  cookie ─► 9 ─► parameters ─► 10 ─► streams ─► 1, 2 ─► traffic ─► 4 ─► 13 ─► results ─► 14 ─► 16
//! ```

use std::collections::VecDeque;

use tapeline_wire::iperf3::{
    Cookie, DecodeError, ErrorCode, Parameters, Results, ServerError, State, limits,
};

use super::message_buffer::{Arrived, MessageBuffer};

/// What the driver of a control connection is to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClientStep {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Open the data connections.
    OpenStreams,
    /// Set counters and clocks to zero.
    Start,
    /// Data may flow.
    Run,
    /// Hand over the own results with [`ClientControl::results`]; data may still arrive.
    GiveResults,
    /// The server's results.
    TheirResults(Results),
    /// All is sent: close the data connections, then, when all is sent, this one.
    Finished,
    /// The test is over without an end in order.
    Failed(ControlFailure),
}

/// Why a control connection ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ControlFailure {
    /// The server said why.
    Refused(ServerError),
    /// The server is busy.
    Busy,
    /// The peer ended by a signal.
    Terminated,
    /// The peer closed the connection.
    Closed,
    /// The peer sent what no iperf3 sends here.
    Unexpected(DecodeError),
    /// The peer sent this state out of turn.
    OutOfTurn(State),
}

impl ControlFailure {
    /// The number that iperf3 has for it, as a client sees it.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(error) => error.code,
            Self::Busy => ErrorCode::ACCESS_DENIED,
            Self::Terminated => ErrorCode::SERVER_TERMINATED,
            Self::Closed => ErrorCode::CONTROL_CLOSED,
            Self::Unexpected(DecodeError::State(_) | DecodeError::Cookie) | Self::OutOfTurn(_) => {
                ErrorCode::UNKNOWN_MESSAGE
            }
            Self::Unexpected(_) => ErrorCode::RECEIVE_RESULTS,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The cookie is out.
    Greeted,
    /// The parameters are out.
    Asked,
    /// The streams are being opened.
    Opening,
    /// All streams are there.
    Started,
    /// Data flows.
    Running,
    /// The end was sent.
    Ending,
    /// The driver is to hand over its results.
    Giving,
    /// The server's results are next.
    Awaiting,
    /// The server's last word is next.
    Closing,
    /// The two halves of an error are next.
    Erring,
    /// Over.
    Over,
}

/// A client's end of a control connection, without IO.
#[derive(Debug)]
pub(crate) struct ClientControl {
    phase: Phase,
    parameters: Parameters,
    buffer: MessageBuffer,
    steps: VecDeque<ClientStep>,
    /// The test is to end as soon as it runs.
    stopping: bool,
    /// The server has said something that an iperf3 server says first.
    answered: bool,
}

impl ClientControl {
    /// A connection that has just been made.
    pub(crate) fn new(cookie: Cookie, parameters: Parameters) -> Self {
        Self {
            phase: Phase::Greeted,
            parameters,
            buffer: MessageBuffer::new(limits::MAX_RESULTS),
            steps: VecDeque::from([ClientStep::Send(cookie.bytes().to_vec())]),
            stopping: false,
            answered: false,
        }
    }

    /// Bytes have arrived.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        if let Err(error) = self.buffer.push(bytes) {
            self.fail(ControlFailure::Unexpected(error));
        }
    }

    /// The server has closed its direction.
    pub(crate) fn closed(&mut self) {
        self.buffer.close();
    }

    /// The test's time or amount is over: senders have stopped.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        if self.phase == Phase::Running {
            self.end();
        }
    }

    /// The client was asked to end: the server learns it at once.
    pub(crate) fn interrupt(&mut self) {
        if self.phase != Phase::Over {
            self.phase = Phase::Over;
            let state = State::ClientTerminate.byte();
            self.steps.push_back(ClientStep::Send(vec![state]));
        }
    }

    /// The own results, in answer to [`ClientStep::GiveResults`].
    pub(crate) fn results(&mut self, results: &Results) {
        if self.phase == Phase::Giving {
            let mut message = Vec::new();
            results.encode(&mut message);
            self.steps.push_back(ClientStep::Send(message));
            self.phase = Phase::Awaiting;
        }
    }

    /// Whether the server speaks iperf3's protocol, as far as is known.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered
    }

    /// The next step; `None` until something happens.
    pub(crate) fn next(&mut self) -> Option<ClientStep> {
        self.peek()?;
        self.steps.pop_front()
    }

    /// The next step, left where it is.
    pub(crate) fn peek(&mut self) -> Option<&ClientStep> {
        // An error's first byte is no step yet: its rest may be here already.
        while self.steps.is_empty() {
            let before = self.phase;
            self.read();
            if self.phase == before {
                break;
            }
        }
        self.steps.front()
    }

    fn end(&mut self) {
        self.phase = Phase::Ending;
        let state = State::TestEnd.byte();
        self.steps.push_back(ClientStep::Send(vec![state]));
    }

    fn fail(&mut self, failure: ControlFailure) {
        if self.phase != Phase::Over {
            self.phase = Phase::Over;
            self.steps.push_back(ClientStep::Failed(failure));
        }
    }

    /// Reads one message.
    fn read(&mut self) {
        match self.phase {
            Phase::Over => {}
            Phase::Erring => match self.buffer.server_error() {
                Arrived::Message(error) => self.fail(ControlFailure::Refused(error)),
                Arrived::Incomplete => {}
                Arrived::Closed => self.fail(ControlFailure::Closed),
            },
            Phase::Awaiting if !self.buffer.holds_state() => self.read_results(),
            _ => match self.buffer.state() {
                Ok(Arrived::Message(state)) => self.take(state),
                Ok(Arrived::Incomplete) => {}
                Ok(Arrived::Closed) => self.fail(ControlFailure::Closed),
                Err(error) => self.fail(ControlFailure::Unexpected(error)),
            },
        }
    }

    fn read_results(&mut self) {
        match self.buffer.message(limits::MAX_RESULTS) {
            Ok(Arrived::Message(json)) => match Results::parse(&json) {
                Ok(results) => {
                    self.phase = Phase::Closing;
                    self.steps.push_back(ClientStep::TheirResults(results));
                }
                Err(error) => self.fail(ControlFailure::Unexpected(error)),
            },
            Ok(Arrived::Incomplete) => {}
            Ok(Arrived::Closed) => self.fail(ControlFailure::Closed),
            Err(error) => self.fail(ControlFailure::Unexpected(error)),
        }
    }

    fn take(&mut self, state: State) {
        self.answered |= matches!(
            state,
            State::ParameterExchange
                | State::AccessDenied
                | State::ServerError
                | State::ServerTerminate
        );
        match (self.phase, state) {
            (_, State::ServerError) => self.phase = Phase::Erring,
            (_, State::AccessDenied) => self.fail(ControlFailure::Busy),
            (_, State::ServerTerminate) => {
                let done = State::Done.byte();
                self.steps.push_back(ClientStep::Send(vec![done]));
                self.fail(ControlFailure::Terminated);
            }
            (Phase::Greeted, State::ParameterExchange) => {
                let mut message = Vec::new();
                self.parameters.encode(&mut message);
                self.steps.push_back(ClientStep::Send(message));
                self.phase = Phase::Asked;
            }
            (Phase::Asked, State::CreateStreams) => {
                self.steps.push_back(ClientStep::OpenStreams);
                self.phase = Phase::Opening;
            }
            (Phase::Opening, State::TestStart) => {
                self.steps.push_back(ClientStep::Start);
                self.phase = Phase::Started;
            }
            (Phase::Started, State::TestRunning) => {
                self.steps.push_back(ClientStep::Run);
                self.phase = Phase::Running;
                if self.stopping {
                    self.end();
                }
            }
            (Phase::Ending, State::ExchangeResults) => {
                self.steps.push_back(ClientStep::GiveResults);
                self.phase = Phase::Giving;
            }
            (Phase::Closing, State::DisplayResults) => {
                let done = State::Done.byte();
                self.steps.push_back(ClientStep::Send(vec![done]));
                self.steps.push_back(ClientStep::Finished);
                self.phase = Phase::Over;
            }
            (_, state) => self.fail(ControlFailure::OutOfTurn(state)),
        }
    }
}
