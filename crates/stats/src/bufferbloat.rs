//! How much longer the path takes while it is loaded, and the grade that this gets (methodology 12).

use std::time::Duration;

/// The scale that is in common use for home connections (DSLReports): how many milliseconds a load adds to the
/// round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferbloatGrade {
    /// Less than 5 ms.
    APlus,
    /// Less than 30 ms.
    A,
    /// Less than 60 ms.
    B,
    /// Less than 200 ms.
    C,
    /// Less than 400 ms.
    D,
    /// 400 ms or more.
    F,
}

impl BufferbloatGrade {
    /// Shortest load that is graded.
    pub const LEAST_LOAD: Duration = Duration::from_secs(5);
    /// Fewest round trips under load that are graded.
    pub const LEAST_SAMPLES: u64 = 50;

    /// The grade of a median round trip that a load makes longer by `seconds`.
    #[must_use]
    pub fn of_increase(seconds: f64) -> Self {
        let upper = [
            (5e-3, Self::APlus),
            (30e-3, Self::A),
            (60e-3, Self::B),
            (200e-3, Self::C),
            (400e-3, Self::D),
        ];
        let fits = upper.into_iter().find(|(limit, _)| seconds < *limit);
        fits.map_or(Self::F, |(_, grade)| grade)
    }

    /// `A+`, `A`, `B`, `C`, `D` or `F`.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_grade_ends_where_the_scale_says() {
        let graded = [-3.0, 4.9, 5.0, 29.9, 30.0, 60.0, 200.0, 399.9, 400.0];
        let letters = graded.map(|millis| BufferbloatGrade::of_increase(millis * 1e-3).letter());
        assert_eq!(letters, ["A+", "A+", "A", "A", "B", "C", "D", "D", "F"]);
    }
}
