//! A server's end of a control connection: bytes in, steps out.
//!
//! The cookie has been read; who listens decides which connections are control connections.

use std::collections::VecDeque;

use tapeline_wire::iperf3::{
    DecodeError, ErrorCode, Parameters, Results, ServerError, State, limits,
};

use super::client_control::ControlFailure;
use super::message_buffer::{Arrived, MessageBuffer};

/// What the driver of a control connection is to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerStep {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Answer these wishes with [`ServerControl::admit`] or [`ServerControl::refuse`].
    Parameters(Box<Parameters>),
    /// Data may flow.
    Run,
    /// The client says that the test is over: stop, then call [`ServerControl::stopped`].
    Stop,
    /// The client's results: answer with [`ServerControl::results`].
    TheirResults(Results),
    /// All is sent.
    Finished,
    /// The test is over without an end in order; what is to be sent was sent before.
    Failed(ControlFailure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The parameters are next.
    Asking,
    /// The driver decides.
    Deciding,
    /// Data connections are coming.
    Creating,
    /// Data flows.
    Running,
    /// The driver stops the traffic.
    Stopping,
    /// The client's results are next.
    Awaiting,
    /// The driver is to hand over its results.
    Giving,
    /// The client's last word is next.
    Closing,
    /// Over.
    Over,
}

/// A server's end of a control connection, without IO.
#[derive(Debug)]
pub(crate) struct ServerControl {
    phase: Phase,
    buffer: MessageBuffer,
    steps: VecDeque<ServerStep>,
}

impl ServerControl {
    /// A connection whose cookie has been read.
    pub(crate) fn new() -> Self {
        let ask = vec![State::ParameterExchange.byte()];
        Self {
            phase: Phase::Asking,
            buffer: MessageBuffer::new(limits::MAX_CLIENT_RESULTS),
            steps: VecDeque::from([ServerStep::Send(ask)]),
        }
    }

    /// Bytes have arrived.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        if let Err(error) = self.buffer.push(bytes) {
            self.refuse_bytes(error);
        }
    }

    /// The client has closed its direction.
    pub(crate) fn closed(&mut self) {
        self.buffer.close();
    }

    /// The wishes can be met: the client may open its data connections.
    pub(crate) fn admit(&mut self) {
        if self.phase == Phase::Deciding {
            self.say(&[State::CreateStreams]);
            self.phase = Phase::Creating;
        }
    }

    /// All data connections are there.
    pub(crate) fn streams_ready(&mut self) {
        if self.phase == Phase::Creating {
            self.say(&[State::TestStart, State::TestRunning]);
            self.steps.push_back(ServerStep::Run);
            self.phase = Phase::Running;
        }
    }

    /// The traffic has stopped and is counted.
    pub(crate) fn stopped(&mut self) {
        if self.phase == Phase::Stopping {
            self.say(&[State::ExchangeResults]);
            self.phase = Phase::Awaiting;
        }
    }

    /// The own results, in answer to the client's.
    pub(crate) fn results(&mut self, results: &Results) {
        if self.phase == Phase::Giving {
            let mut message = Vec::new();
            results.encode(&mut message);
            message.push(State::DisplayResults.byte());
            self.steps.push_back(ServerStep::Send(message));
            self.phase = Phase::Closing;
        }
    }

    /// Ends the test for a reason that the client can read.
    pub(crate) fn refuse(&mut self, code: ErrorCode, errno: u32) {
        if self.phase != Phase::Over {
            let error = ServerError { code, errno };
            let mut message = Vec::new();
            error.encode(&mut message);
            self.steps.push_back(ServerStep::Send(message));
            self.fail(ControlFailure::Refused(error));
        }
    }

    /// There is no room for the test.
    pub(crate) fn deny(&mut self) {
        if self.phase != Phase::Over {
            self.say(&[State::AccessDenied]);
            self.fail(ControlFailure::Busy);
        }
    }

    /// The server was asked to end.
    pub(crate) fn terminate(&mut self) {
        if self.phase != Phase::Over {
            self.say(&[State::ServerTerminate]);
            self.phase = Phase::Over;
        }
    }

    /// The next step; `None` until something happens.
    pub(crate) fn next(&mut self) -> Option<ServerStep> {
        // An error's first byte is no step yet: its rest may be here already.
        while self.steps.is_empty() {
            let before = self.phase;
            self.read();
            if self.phase == before {
                break;
            }
        }
        self.steps.pop_front()
    }

    fn say(&mut self, states: &[State]) {
        let bytes = states.iter().map(|state| state.byte()).collect();
        self.steps.push_back(ServerStep::Send(bytes));
    }

    fn fail(&mut self, failure: ControlFailure) {
        if self.phase != Phase::Over {
            self.phase = Phase::Over;
            self.steps.push_back(ServerStep::Failed(failure));
        }
    }

    /// Replies to the client that its bytes cannot be understood.
    fn refuse_bytes(&mut self, error: DecodeError) {
        let code = match (&error, self.phase) {
            (DecodeError::Refused(code), _) => *code,
            (_, Phase::Asking) => ErrorCode::RECEIVE_PARAMETERS,
            (_, Phase::Awaiting) => ErrorCode::RECEIVE_RESULTS,
            _ => ErrorCode::UNKNOWN_MESSAGE,
        };
        if self.phase != Phase::Over {
            let mut message = Vec::new();
            ServerError { code, errno: 0 }.encode(&mut message);
            self.steps.push_back(ServerStep::Send(message));
            self.fail(ControlFailure::Unexpected(error));
        }
    }

    /// Reads one message.
    fn read(&mut self) {
        match self.phase {
            // Nothing is read before the driver has answered, or after the end.
            Phase::Over | Phase::Deciding | Phase::Stopping | Phase::Giving => {}
            Phase::Asking if !self.buffer.holds_state() => {
                self.read_message(limits::MAX_PARAMETERS, Self::take_parameters);
            }
            Phase::Awaiting if !self.buffer.holds_state() => {
                self.read_message(limits::MAX_CLIENT_RESULTS, Self::take_results);
            }
            Phase::Asking | Phase::Creating | Phase::Running | Phase::Awaiting | Phase::Closing => {
                match self.buffer.state() {
                    Ok(Arrived::Message(state)) => self.take(state),
                    Ok(Arrived::Incomplete) => {}
                    Ok(Arrived::Closed) if self.phase == Phase::Closing => self.finish(),
                    Ok(Arrived::Closed) => self.fail(ControlFailure::Closed),
                    Err(error) => self.refuse_bytes(error),
                }
            }
        }
    }

    fn read_message(&mut self, max: usize, take: fn(&mut Self, &[u8]) -> Result<(), DecodeError>) {
        let taken = match self.buffer.message(max) {
            Ok(Arrived::Message(json)) => take(self, &json),
            Ok(Arrived::Incomplete) => Ok(()),
            Ok(Arrived::Closed) => {
                self.fail(ControlFailure::Closed);
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            self.refuse_bytes(error);
        }
    }

    fn take_parameters(&mut self, json: &[u8]) -> Result<(), DecodeError> {
        let parameters = Box::new(Parameters::parse(json)?);
        self.phase = Phase::Deciding;
        self.steps.push_back(ServerStep::Parameters(parameters));
        Ok(())
    }

    fn take_results(&mut self, json: &[u8]) -> Result<(), DecodeError> {
        let results = Results::parse(json)?;
        self.phase = Phase::Giving;
        self.steps.push_back(ServerStep::TheirResults(results));
        Ok(())
    }

    fn take(&mut self, state: State) {
        match (self.phase, state) {
            (_, State::ClientTerminate) => {
                // As 3.22: the client learns that it was understood.
                let error = ServerError {
                    code: ErrorCode::CLIENT_TERMINATED,
                    errno: 0,
                };
                let mut message = Vec::new();
                error.encode(&mut message);
                self.steps.push_back(ServerStep::Send(message));
                self.fail(ControlFailure::Terminated);
            }
            (Phase::Running, State::TestEnd) => {
                self.phase = Phase::Stopping;
                self.steps.push_back(ServerStep::Stop);
            }
            (Phase::Closing, State::Done) => self.finish(),
            // A 3.22 client that gives up says so.
            (_, State::Done) => self.fail(ControlFailure::Closed),
            (_, state) => {
                let mut message = Vec::new();
                let code = ErrorCode::UNKNOWN_MESSAGE;
                ServerError { code, errno: 0 }.encode(&mut message);
                self.steps.push_back(ServerStep::Send(message));
                self.fail(ControlFailure::OutOfTurn(state));
            }
        }
    }

    fn finish(&mut self) {
        self.phase = Phase::Over;
        self.steps.push_back(ServerStep::Finished);
    }
}
