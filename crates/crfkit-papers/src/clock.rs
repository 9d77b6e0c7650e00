//! CPU seconds of a thread. Apart from cache effects, they are the same on a busy machine as on a quiet one.

use cpu_time::ThreadTime;

/// Runs `work` and returns the CPU seconds of this thread that it took.
pub fn seconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = ThreadTime::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}

/// The smallest time of several runs.
pub fn least_seconds(runs: usize, mut work: impl FnMut()) -> f64 {
    (0..runs).map(|_| seconds(&mut work).1).fold(f64::INFINITY, f64::min)
}

/// The power p of the best fit y ∝ x^p: the slope of a line through the points on logarithmic axes.
pub fn power(points: &[[f64; 2]]) -> f64 {
    let logs: Vec<[f64; 2]> = points.iter().map(|point| point.map(f64::ln)).collect();
    let mean = |k: usize| logs.iter().map(|p| p[k]).sum::<f64>() / logs.len() as f64;
    let [x, y] = [mean(0), mean(1)];
    let slope = |p: &[f64; 2]| [(p[0] - x) * (p[1] - y), (p[0] - x) * (p[0] - x)];
    let [above, below] = logs.iter().map(slope).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_of_a_power_is_found() {
        let points = [100.0, 150.0, 500.0].map(|x: f64| [x, 3.0 * x.powf(1.7)]);
        assert!((power(&points) - 1.7).abs() < 1e-12);
    }

    #[test]
    fn sleep_is_no_work() {
        let (_, seconds) = seconds(|| std::thread::sleep(std::time::Duration::from_millis(30)));
        assert!(seconds < 0.02, "{seconds}");
    }
}
