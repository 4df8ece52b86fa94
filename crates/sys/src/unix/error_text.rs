//! Texts of errors: those of `strerror(3)` come with the error.

pub(crate) fn of(_: i32) -> Option<&'static str> {
    None
}
