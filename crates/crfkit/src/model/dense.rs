//! The rows of frequent observations, stored as complete tables for speed.

use super::Rows;
use crate::math::Real;

/// The weights of the most frequent observations, spread out to whole padded tables. Adding such a row takes a few
/// vector additions instead of a walk over its labels. Rows are numbered by frequency, so these are the first ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dense<R = f64> {
    rows: usize,
    /// Distance between rows.
    stride: usize,
    /// One plane for each component of a scalar.
    planes: [Vec<R>; 2],
    /// Where the rows begin in each plane: at the beginning of a line of the cache, so that no vector lies in two.
    first: [usize; 2],
}

/// Bytes in a line of the cache.
const LINE: usize = 64;

impl<R: Real> Dense<R> {
    /// How many rows fit into `bytes` bytes; 0 if spreading them out does not pay.
    pub(crate) fn fitting(rows: &Rows, bytes: usize) -> usize {
        if rows.stride() > R::WIDEST || rows.lines > 1 || !rows.basis.is_empty() {
            0
        } else {
            (bytes / (size_of::<R>() * rows.stride())).min(rows.len)
        }
    }

    /// The number of rows that are spread out: all rows with a smaller number are.
    #[inline]
    pub(crate) fn rows(&self) -> u32 {
        self.rows as u32
    }

    /// Spreads out the first `count` rows of θ (one vector per plane). `run` executes the tasks it is given, in any
    /// order.
    pub(crate) fn spread(
        &mut self,
        rows: &Rows,
        count: usize,
        theta: &[&[f64]],
        run: impl Fn(&mut [R], usize, &(dyn Fn(usize, &mut [R]) + Sync)),
    ) {
        /// How many rows one task spreads out.
        const TASK: usize = 512;
        let stride = rows.stride();
        (self.rows, self.stride) = (count, stride);
        for (plane, theta) in theta.iter().enumerate() {
            let tables = &mut self.planes[plane];
            let most = LINE / size_of::<R>();
            // Behind the rows is one of zeros, which stands for all that are not spread out.
            tables.resize((count + 1) * stride + most, R::default());
            let first = tables.as_ptr().align_offset(LINE).min(most);
            self.first[plane] = first;
            run(&mut tables[first..first + count * stride], TASK * stride, &|task, tables| {
                tables.fill(R::default());
                for (k, table) in tables.chunks_exact_mut(stride).enumerate() {
                    rows.gather(theta, (task * TASK + k) as u32, 1.0, table);
                }
            });
        }
    }

    /// Adds the rows that are spread out to some tables. For each there are the numbers of its rows, and where it begins in `out`. Rows that
    /// are not spread out are left to the caller.
    #[inline]
    pub(crate) fn add<'a>(
        &self,
        plane: usize,
        tables: impl Iterator<Item = (&'a [u32], usize)>,
        out: &mut [R],
    ) {
        R::add_rows(&self.planes[plane][self.first[plane]..], self.stride, self.rows(), tables, out);
    }
}
