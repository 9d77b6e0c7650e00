//! The search for a step length along a descent direction.

/// The function along the direction: returns value and slope at a step length.
pub(super) type Along<'a> = dyn FnMut(f64) -> (f64, f64) + 'a;

/// Sufficient decrease: f(t) ≤ f(0) + C1·t·f′(0).
const C1: f64 = 1e-4;
/// Curvature condition, |f′(t)| ≤ C2·|f′(0)|, for directions whose natural step is 1: those of Newton and
/// quasi-Newton methods.
pub(super) const NEWTON_C2: f64 = 0.9;
/// The same for conjugate gradients, which need nearly exact searches.
pub(super) const CONJUGATE_C2: f64 = 0.1;
/// The largest number of evaluations.
const TRIALS: usize = 20;

/// Finds a step that satisfies the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms
/// 3.5 and 3.6, with cubic interpolation). It starts with `step`; `c2` is the constant of the second condition. The
/// last evaluation is at the step that is returned. `None` if no step decreases the function.
pub(super) fn wolfe(f0: f64, slope0: f64, step: f64, c2: f64, along: &mut Along) -> Option<f64> {
    let enough = |t: f64, f: f64| f <= f0 + C1 * t * slope0;
    let mut low = Point { t: 0.0, f: f0, slope: slope0 };
    let mut high: Option<Point> = None;
    let mut t = step;
    let mut last = 0.0;
    for _ in 0..TRIALS {
        let (f, slope) = along(t);
        last = t;
        let point = Point { t, f, slope };
        if !f.is_finite() || !enough(t, f) || (f >= low.f && low.t > 0.0) {
            high = Some(point);
        } else if slope.abs() <= -c2 * slope0 {
            return Some(t);
        } else {
            // The minimum lies on the side to which the slope points.
            if high.is_none() && slope < 0.0 {
                low = point;
                t *= 2.5;
                continue;
            }
            if slope * (high.as_ref().map_or(t + 1.0, |h| h.t) - t) >= 0.0 {
                high = Some(low);
            }
            low = point;
        }
        let Some(high) = &high else { continue };
        t = between(&low, high);
        if (high.t - low.t).abs() <= 1e-12 * low.t.abs().max(1e-12) {
            break;
        }
    }
    // Out of trials: accept the best point that decreases enough.
    if low.t > 0.0 && low.f < f0 {
        if last != low.t {
            along(low.t);
        }
        return Some(low.t);
    }
    None
}

#[derive(Clone, Copy)]
struct Point {
    t: f64,
    f: f64,
    slope: f64,
}

/// The minimum of the cubic through two points, kept away from both.
fn between(a: &Point, b: &Point) -> f64 {
    let middle = 0.5 * (a.t + b.t);
    if !b.f.is_finite() {
        return a.t + 0.1 * (b.t - a.t);
    }
    let d1 = a.slope + b.slope - 3.0 * (a.f - b.f) / (a.t - b.t);
    let radicand = d1 * d1 - a.slope * b.slope;
    if radicand < 0.0 || !radicand.is_finite() {
        return middle;
    }
    let d2 = (b.t - a.t).signum() * radicand.sqrt();
    let t = b.t - (b.t - a.t) * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2);
    let (low, high) = (a.t.min(b.t), a.t.max(b.t));
    let margin = 0.1 * (high - low);
    if t.is_finite() { t.clamp(low + margin, high - margin) } else { middle }
}

/// Backtracking for OWL-QN: halves the step until `accept` returns true. `None` after too many trials.
pub(super) fn backtrack(step: f64, mut accept: impl FnMut(f64) -> bool) -> Option<f64> {
    let mut t = step;
    for _ in 0..TRIALS {
        if accept(t) {
            return Some(t);
        }
        t *= 0.5;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wolfe_conditions_hold_on_awkward_functions() {
        type Function = fn(f64) -> (f64, f64);
        let functions: [(&str, Function); 4] = [
            ("quadratic", |t| ((t - 3.0) * (t - 3.0), 2.0 * (t - 3.0))),
            ("far minimum", |t| {
                (-(t / 100.0).tanh() + 1e-4 * t, -(1.0 - (t / 100.0).tanh().powi(2)) / 100.0 + 1e-4)
            }),
            ("near minimum", |t| ((t * 1e4 - 1.0).powi(2), 2e4 * (t * 1e4 - 1.0))),
            ("quartic", |t| (t.powi(4) - 2.0 * t, 4.0 * t.powi(3) - 2.0)),
        ];
        for (name, f) in functions {
            for c2 in [NEWTON_C2, CONJUGATE_C2] {
                let (f0, slope0) = f(0.0);
                let mut last = 0.0;
                let t = wolfe(f0, slope0, 1.0, c2, &mut |t| {
                    last = t;
                    f(t)
                })
                .unwrap_or_else(|| panic!("{name}: no step"));
                assert_eq!(t, last, "{name}: the caller's buffers hold the accepted point");
                let (value, slope) = f(t);
                assert!(value <= f0 + C1 * t * slope0, "{name}: decrease");
                assert!(slope.abs() <= c2 * slope0.abs(), "{name}: curvature {c2}");
            }
        }
    }

    #[test]
    fn no_step_where_nothing_decreases() {
        assert_eq!(wolfe(0.0, -1.0, 1.0, NEWTON_C2, &mut |t| (t, 1.0)), None);
        assert_eq!(wolfe(0.0, -1.0, 1.0, NEWTON_C2, &mut |_| (f64::NAN, f64::NAN)), None);
    }
}
