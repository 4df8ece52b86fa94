//! The normal distribution and Student's, to about 1e-13.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Steps after which a series or a continued fraction is at its end; they need a tenth of it.
const MAX_STEPS: u32 = 500;
/// Stands for 0 in a continued fraction, where it would divide.
const TINY: f64 = 1e-300;

/// ln Γ(x) for x > 0 (Lanczos 1964, with the coefficients of Godfrey for g = 7).
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut sum = COEFFICIENTS[0];
    for (number, coefficient) in COEFFICIENTS.iter().enumerate().skip(1) {
        sum += coefficient / (x + number as f64);
    }
    let t = x + G + 0.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularized incomplete beta function I_x(a, b), by its continued fraction
/// (Abramowitz, Stegun 26.5.8).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front =
        ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p() - a.ln();
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..=MAX_STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front.exp() * fraction
}

/// The probability that |T| is at least |t|, of Student's distribution with `degrees` (above 0).
#[must_use]
pub(crate) fn student_two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let square = t * t;
    // Near t = 0 the first argument is 1 and has lost t; the other side keeps it.
    if square < degrees {
        1.0 - incomplete_beta(0.5, degrees / 2.0, square / (degrees + square))
    } else {
        incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + square))
    }
}

/// The t that |T| exceeds with this probability (above 0, below 1).
#[must_use]
pub(crate) fn student_quantile(probability: f64, degrees: f64) -> f64 {
    bisected(|t| student_two_sided(t, degrees) > probability)
}

/// Where a condition on positive numbers ceases to hold.
fn bisected(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while holds(high) {
        low = high;
        high *= 2.0;
    }
    // Each step gives a bit.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The probability that |Z| is at least |z|, of the normal distribution.
#[must_use]
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    complementary_error(z.abs() * FRAC_1_SQRT_2)
}

/// The z that |Z| exceeds with this probability (above 0, below 1).
#[must_use]
pub(crate) fn normal_quantile(probability: f64) -> f64 {
    bisected(|z| normal_two_sided(z) > probability)
}

/// erfc(x) for x ≥ 0: its series below 2, its continued fraction above
/// (Abramowitz, Stegun 7.1.6 and 7.1.14).
fn complementary_error(x: f64) -> f64 {
    let scale = (-x * x).exp() / PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for step in 1..=MAX_STEPS {
            term *= 2.0 * x * x / (2.0 * f64::from(step) + 1.0);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return 1.0 - 2.0 * scale * sum;
    }
    // From the end inwards: x + (1/2)/(x + 1/(x + (3/2)/(x + …
    let mut fraction = x;
    for step in (1..=120).rev() {
        fraction = x + f64::from(step) / 2.0 / fraction;
    }
    scale / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!(
            (found - wanted).abs() <= 1e-12 * wanted.abs().max(1e-3),
            "{found} {wanted}"
        );
    }

    #[test]
    fn the_normal_distribution() {
        // scipy.stats.norm.sf(z) * 2
        close(normal_two_sided(0.0), 1.0);
        close(normal_two_sided(0.5), 0.617_075_077_451_973_8);
        close(normal_two_sided(1.959_963_984_540_054), 0.05);
        close(normal_two_sided(-2.828_427), 0.004_677_736_804_059_159);
        close(normal_two_sided(5.0), 5.733_031_437_583_869e-7);
    }

    #[test]
    fn students_distribution_and_back() {
        // One degree is Cauchy's, two have a formula of their own.
        close(student_two_sided(1.0, 1.0), 0.5);
        close(student_two_sided(2.0, 2.0), 1.0 - 2.0 / 6.0_f64.sqrt());
        close(student_two_sided(0.0, 7.3), 1.0);
        for degrees in [1.0, 1.7, 2.0, 9.4, 30.0, 1e4] {
            for probability in [0.9, 0.1, 0.05, 0.01] {
                let t = student_quantile(probability, degrees);
                close(student_two_sided(t, degrees), probability);
            }
        }
        close(student_quantile(0.05, 2.0), 4.302_652_729_749_464);
    }
}
