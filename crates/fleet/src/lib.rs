//! Tests among hosts for good (`tapeline agent`, `tapeline fleet`), over a NATS server.
//!
//! ```text
//! ScheduleSpec ─► Schedules ─► JobRecord, a key of the bucket of jobs
//!                                 │ compare-and-set
//! Controller ◄─ lease ───────────►│
//!    │ AgentOrder        ▲ Answer, Beat
//!    ▼                   │
//!  Agent: slots, limits, spool ─► a result ─► stream ─► Collector ─► database, once
//!    ▲                                                      │ Stored
//!    └──────────────────────────────────────────────────────┘
//! ```
//!
//! Agent, controller and collector are machines: something happened goes in, with the machine's own clocks;
//! what is to be done comes out. `bus` carries that out in its order, `host` what concerns a host's disk and processes.

mod agent;
mod bus;
mod clock;
mod collector;
mod controller;
pub mod fuzz;
mod host;
mod job;
mod message;
mod names;
mod rights;
mod schedule;
mod site;
mod store;
mod whole_file;

pub use agent::{
    Agent, AgentEffect, AgentInput, Identity, Kept, Limits, LimitsError, MOST_BYTES, MOST_RESULTS,
    Spooled, Wanted,
};
pub use bus::{
    AgentHost, AgentStart, BusError, Cancelled, Database, FleetCounts, MachineClock, OneAgent,
    Operator, Planner, SiteBooks, Stop, StopSwitch, TestEvent, TestEvents, run_agent, run_agents,
    run_collector, run_controller, streams,
};
pub use clock::{Minute, Now, UnixTime};
pub use collector::{Collected, Collector, CollectorEffect, CollectorInput, Delivery, Inserted};
pub use controller::{
    AWAY, CallId, Controller, ControllerEffect, ControllerInput, LeaseRecord, Link, Outcome, Reply,
    STAND_BY, STOPS, TAKES, Target, WatchInput,
};
pub use host::{LocalHost, Opened};
pub use job::{
    ATTEMPTS, Attempt, AttemptKey, Epoch, JobEvent, JobRecord, JobSpec, KEPT, NoStep, ResultKey,
    SPARE, ServerAt, State,
};
pub use message::{
    ANSWER_SECONDS, Action, AgentOrder, Answer, Ask, Beat, How, LONGEST_ORDER, NoResult, Refusal,
    ReplyId, ResultMessage, SpoolSize, Status, Stored,
};
pub use names::{
    HostName, JobId, NameError, PREFIX, ScheduleName, SiteName, Subject, UnknownSubject,
};
pub use rights::{Holder, Rights, collector_name};
pub use schedule::{Enrolled, Every, HostSet, Schedule, ScheduleError, ScheduleSpec, Schedules};
pub use site::{
    Access, AgentSettings, Change, CollectorSettings, ControllerSettings, EnrolError, Enrolment,
    FolderError, InitError, NewSite, OperatorSettings, Server, ServerError, SettingsError,
    check_address, check_group, default_settings, read_schedule,
};
pub use store::{
    Bucket, Entry, Expected, Read, Revision, Stream, StreamBounds, Written, job_key, lease_key,
};
