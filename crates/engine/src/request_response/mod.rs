//! Requests and their answers on one connection.

mod requester;
mod responder;

pub use requester::{
    RequestBurst, RequestPlan, RequestResponseHistograms, RequestStamp, Requester, ServerTimes,
};
pub use responder::{Answer, Respond, Responder, ResponsePlan};
