//! Observations whose value is not 1, or 0.

use super::Dataset;

impl<G> Dataset<G> {
    /// Whether an observation may have a value other than 1.
    pub(crate) fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// Removes the observations whose value is 0, which add nothing to any score, and the values too if all that are left are 1: tables
    /// without values take a faster path. Features must be known already, since an observation of value 0 has been seen.
    pub(crate) fn drop_zeros(&mut self) {
        if !self.values.contains(&0.0) {
            return;
        }
        let (mut kept, mut start) = (0, 0);
        for table in 0..self.first_observation.len().saturating_sub(1) {
            let end = self.first_observation[table + 1];
            for i in start..end {
                if self.values[i] != 0.0 {
                    self.observations[kept] = self.observations[i];
                    self.values[kept] = self.values[i];
                    kept += 1;
                }
            }
            start = end;
            self.first_observation[table + 1] = kept;
        }
        self.observations.truncate(kept);
        self.observations.shrink_to_fit();
        self.values.truncate(kept);
        if self.values.iter().all(|value| *value == 1.0) {
            self.values.clear();
        }
        self.values.shrink_to_fit();
    }
}
