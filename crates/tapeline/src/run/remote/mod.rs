//! `tapeline remote`: tests that are ordered from elsewhere.

mod input_end;
mod rendered_forms;
mod session;

pub(crate) use input_end::end_with_input;
pub(crate) use rendered_forms::RenderedForms;
pub(crate) use session::remote;
