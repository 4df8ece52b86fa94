//! Small tests, told as events.
