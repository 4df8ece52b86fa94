//! How many tests run at a time.

use crate::order::Class;

/// Tests of the class [`Class::Background`] that may run at a time.
const MOST_BACKGROUND: usize = 4;

/// Why a test has to wait.
///
/// # Errors
/// As many of its class run already.
pub(crate) fn admit(class: Class, running: impl Iterator<Item = Class>) -> Result<(), String> {
    let same = running.filter(|one| *one == class).count();
    match class {
        Class::Exclusive if same > 0 => Err("an exclusive test runs".to_owned()),
        Class::Background if same >= MOST_BACKGROUND => {
            Err(format!("{MOST_BACKGROUND} tests run in the background"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_exclusive_and_four_are_in_the_background() {
        use Class::{Background, Exclusive};
        let admits = |class, running: &[Class]| admit(class, running.iter().copied()).is_ok();
        assert!(admits(Exclusive, &[]) && admits(Exclusive, &[Background; 4]));
        assert!(!admits(Exclusive, &[Exclusive]));
        assert!(admits(
            Background,
            &[Exclusive, Background, Background, Background]
        ));
        assert!(!admits(Background, &[Background; 4]));
    }
}
