//! Small dense systems with a symmetric matrix.

use crate::math::vector::dot;

/// Overwrites the lower triangle of the symmetric `a` `[n][n]` with L, where L Lᵀ = a. Returns false if `a` is not
/// safely positive definite.
fn factor(a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let (above, row) = a.split_at_mut(i * n);
            if j < i {
                let other = &above[j * n..][..n];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            } else {
                let pivot = row[i] - dot(&row[..i], &row[..i]);
                // If the matrix is singular, what remains of the diagonal is rounding error.
                if pivot.is_nan() || pivot <= n as f64 * f64::EPSILON * row[i].abs() {
                    return false;
                }
                row[i] = pivot.sqrt();
            }
        }
    }
    true
}

/// x ← (L Lᵀ)⁻¹ x.
fn substitute(l: &[f64], x: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        x[i] = (x[i] - dot(&l[i * n..][..i], &x[..i])) / l[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] /= l[i * n + i];
        let (before, xi) = (&l[i * n..][..i], x[i]);
        for (x, l) in x.iter_mut().zip(before) {
            *x -= xi * l;
        }
    }
}

/// x ← (A + τI)⁻¹ x for the symmetric `a` `[n][n]`. τ = 0 if A is positive definite; otherwise τ makes it so (Nocedal
/// and Wright, Numerical Optimization, algorithm 3.3). Returns τ, or `None` if A is not finite.
pub(super) fn solve(a: &[f64], x: &mut [f64]) -> Option<f64> {
    let n = x.len();
    if a.iter().any(|a| !a.is_finite()) {
        return None;
    }
    let diagonal = || (0..n).map(|i| a[i * n + i]);
    let smallest = diagonal().fold(f64::INFINITY, f64::min);
    let largest = diagonal().fold(0.0, |max: f64, d| max.max(d.abs()));
    let beta = 1e-3 * if largest > 0.0 { largest } else { 1.0 };
    let mut tau = if smallest > 0.0 || n == 0 { 0.0 } else { beta - smallest };
    let mut l = a.to_vec();
    loop {
        (0..n).for_each(|i| l[i * n + i] += tau);
        if factor(&mut l, n) {
            substitute(&l, x);
            return Some(tau);
        }
        l.copy_from_slice(a);
        tau = (2.0 * tau).max(beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// A·x.
    fn times(a: &[f64], x: &[f64]) -> Vec<f64> {
        a.chunks(x.len()).map(|row| dot(row, x)).collect()
    }

    #[test]
    fn systems_are_solved() {
        let mut rng = Random::new(1);
        for n in [1, 2, 5, 17] {
            let m: Vec<f64> = (0..n * n).map(|_| rng.uniform() - 0.5).collect();
            let x: Vec<f64> = (0..n).map(|_| rng.uniform() - 0.5).collect();
            // M Mᵀ + 0.1·I is positive definite, M Mᵀ − 10·I is not.
            for shift in [0.1, -10.0] {
                let mut a: Vec<f64> =
                    (0..n * n).map(|k| dot(&m[k / n * n..][..n], &m[k % n * n..][..n])).collect();
                (0..n).for_each(|i| a[i * n + i] += shift);
                let mut found = times(&a, &x);
                if shift > 0.0 {
                    assert_eq!(solve(&a, &mut found), Some(0.0));
                } else {
                    found.clone_from(&x);
                    let tau = solve(&a, &mut found).unwrap();
                    assert!(tau > 0.0);
                    (0..n).for_each(|i| a[i * n + i] += tau);
                    found = times(&a, &found);
                }
                for (found, x) in found.iter().zip(&x) {
                    assert!((found - x).abs() < 1e-10, "{n}, {shift}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_solution_ends() {
        assert_eq!(solve(&[f64::NAN], &mut [1.0]), None);
        assert_eq!(solve(&[], &mut []), Some(0.0));
        // Singular, zero, negative.
        for a in [[1.0, 1.0, 1.0, 1.0], [0.0; 4], [-1.0, 0.0, 0.0, -5.0]] {
            let mut x = [1.0, 2.0];
            assert!(solve(&a, &mut x).unwrap() > 0.0);
            assert!(x.iter().all(|x| x.is_finite()));
        }
    }
}
