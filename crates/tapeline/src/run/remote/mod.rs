//! `tapeline remote`: tests that are ordered from elsewhere.

mod input_end;
mod rendered_forms;
mod session;

pub(crate) use input_end::end_with_input;
pub(crate) use rendered_forms::RenderedForms;
#[cfg(all(feature = "fleet", any(test, fuzzing)))]
pub(crate) use session::agent_contract;
#[cfg(any(test, fuzzing))]
pub(crate) use session::contract as orders_contract;
pub(crate) use session::remote;
