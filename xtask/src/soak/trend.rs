//! Whether something grows.

/// A straight line through points, by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// By how much it rises for each unit to the right; 0 for fewer than two places.
    pub(crate) slope: f64,
}

impl Trend {
    pub(crate) fn fit(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let points: Vec<(f64, f64)> = points.collect();
        let count = points.len().max(1) as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
        let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let shared: f64 = points
            .iter()
            .map(|(x, y)| (x - mean_x) * (y - mean_y))
            .sum();
        let slope = if spread > 0.0 { shared / spread } else { 0.0 };
        Self { slope }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_noise_has_none() {
        let rising = (0..10).map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x)));
        assert!((Trend::fit(rising).slope - 2.0).abs() < 1e-9);
        let level = [(0.0, 1.0), (1.0, -1.0), (2.0, -1.0), (3.0, 1.0)];
        assert!(Trend::fit(level.into_iter()).slope.abs() < 1e-9);
        assert!(Trend::fit([(1.0, 5.0)].into_iter()).slope.abs() < 1e-9);
        assert!(Trend::fit(std::iter::empty()).slope.abs() < 1e-9);
    }
}
