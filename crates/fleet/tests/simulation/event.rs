//! What is to happen in a world, and when.

use std::sync::Arc;

use tapeline_fleet::Expected;
use tapeline_fleet::{
    AgentEffect, AgentInput, AgentOrder, Answer, Ask, Beat, CallId, CollectorEffect,
    CollectorInput, ControllerEffect, ControllerInput, Delivery, How, JobEvent, JobId, ReplyId,
    ResultKey, Stored, Target,
};

/// A machine that has a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Node {
    Agent(usize),
    Controller(usize),
    Collector,
}

/// What goes into a machine.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Agent(AgentInput),
    Controller(ControllerInput),
    Collector(CollectorInput),
}

/// What comes out of a machine.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Agent(AgentEffect),
    Controller(ControllerEffect),
    Collector(CollectorEffect),
}

/// A controller's process and its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    pub(crate) controller: usize,
    pub(crate) generation: u64,
    pub(crate) call: CallId,
}

/// What reaches the server.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Order {
        caller: Caller,
        host: usize,
        order: AgentOrder,
    },
    Answer {
        reply: ReplyId,
        answer: Answer,
    },
    Beat(Arc<Beat>),
    Write {
        caller: Caller,
        target: Target,
        expected: Expected,
    },
    ReadJob {
        caller: Caller,
        job: JobId,
    },
    ReadLease {
        caller: Caller,
    },
    Ask(Ask),
    Event {
        controller: usize,
        event: JobEvent,
    },
    Result(ResultKey),
    Stored {
        host: usize,
        stored: Stored,
    },
    Acknowledge(Delivery),
}

/// What is to happen.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// Something reaches the process of that generation.
    Input(Node, u64, Box<Input>),
    /// A process does what its machine wanted.
    Carry(Node, u64, Box<Effect>),
    Tick(Node, u64),
    /// A message reaches the server.
    Message(Box<Message>),
    /// A call is not waited for any longer.
    Timeout(Caller),
    /// A process of a test ends.
    ProcessEnds {
        host: usize,
        process: u64,
        how: How,
    },
    /// A process starts again.
    Restart(Node),
    /// A process connects to the server.
    Connect(Node, u64),
    BusReturns,
    /// What is not acknowledged is delivered again.
    Redeliver(u64),
    Submit(u64),
    Cancel(JobId),
    Fault,
    FaultEnds(Ending),
}

/// What ends with a fault.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Cut(Node),
    FullDisk(usize),
    Stuck(usize),
    Database,
}
