//! Sums and functions that the compiler turns into instructions on several numbers at once.
//!
//! All of it is inlined into the function that is compiled for the processor's instructions. The standard library's
//! `exp` is a call for each number, and it has no error function.

/// Numbers that are summed side by side. A sum from left to right would wait for each addition.
const LANES: usize = 8;

/// Adding this to a number of at most four million in size leaves its whole part, rounded to even, in the last bits.
const ROUNDER: f32 = 12_582_912.0;

/// The nearest whole number, for numbers of at most four million in size.
#[inline(always)]
pub(crate) fn rounded(value: f32) -> f32 {
    (value + ROUNDER) - ROUNDER
}

#[inline(always)]
pub(crate) fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += of(*value);
        }
    }
    let rest: f32 = rest.iter().map(|value| of(*value)).sum();
    lanes.iter().sum::<f32>() + rest
}

/// The largest of the values; the least number there is where there is none.
#[inline(always)]
pub(crate) fn largest(values: &[f32]) -> f32 {
    // Not `max`, which has more to do for what is no number.
    let of = |one: f32, other: f32| if one > other { one } else { other };
    let mut lanes = [f32::MIN; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = of(*value, *lane);
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::MIN, of)
}

/// e to the power of `x`, to seven digits; 0 below -87, and no more than e to the power of 87.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // x = n ln 2 + r, so that the result is 2^n e^r with r of at most 0.35 in size. ln 2 is in two parts, of which the
    // first times n has no rounding.
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    // Taylor's series: its first missing term is 0.35^7 / 7!, 1.3e-7.
    let power = 1.0 / 720.0;
    let power = power * r + 1.0 / 120.0;
    let power = power * r + 1.0 / 24.0;
    let power = power * r + 1.0 / 6.0;
    let power = power * r + 0.5;
    let power = power * r + 1.0;
    let power = power * r + 1.0;
    // The last bits of `shifted` are n, which becomes the exponent: -126 to 126, so that it neither wraps nor is infinite.
    let exponent = shifted.to_bits().wrapping_sub(ROUNDER.to_bits());
    f32::from_bits(power.to_bits().wrapping_add(exponent << 23))
}

/// Gauss's error linear unit, x Φ(x), with the error function by Abramowitz and Stegun, 7.1.26 (to 1.5e-7).
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let far = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * far);
    let tail = 1.061_405_4;
    let tail = tail * t - 1.453_152;
    let tail = tail * t + 1.421_413_7;
    let tail = tail * t - 0.284_496_74;
    let tail = tail * t + 0.254_829_6;
    let erf = 1.0 - tail * t * exp(-far * far);
    0.5 * x * (1.0 + erf.copysign(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_e_are_right_to_six_digits() {
        for step in -870..=870 {
            let x = step as f32 / 10.0;
            let (found, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((found - right).abs() <= 2e-6 * right, "{x}: {found}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e30) < 1e-37 && exp(f32::INFINITY).is_finite());
    }

    #[test]
    fn the_unit_is_right_where_it_is_known() {
        // From tables of the normal distribution.
        for (x, right) in [
            (0.0, 0.0),
            (0.5, 0.345_731_2),
            (1.0, 0.841_344_7),
            (-1.0, -0.158_655_3),
            (2.0, 1.954_499_7),
            (-3.0, -0.004_049_7),
            (9.0, 9.0),
            (-9.0, 0.0),
        ] {
            assert!((gelu(x) - right).abs() < 1e-6, "{x}: {}", gelu(x));
        }
    }

    #[test]
    fn numbers_are_rounded_to_even_and_summed() {
        let wholes = [-3.5, -0.5, 0.5, 1.5, 126.6].map(rounded);
        assert_eq!(wholes, [-4.0, 0.0, 0.0, 2.0, 127.0]);
        let values: Vec<f32> = (1..=19).map(|value| value as f32).collect();
        assert_eq!(sum(&values, |value| 2.0 * value), 380.0);
        assert_eq!(largest(&values), 19.0);
        assert_eq!(largest(&[-2.0, -1.0]), -1.0);
    }
}
