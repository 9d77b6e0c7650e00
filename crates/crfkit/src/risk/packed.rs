//! Occurrences in less memory.

use super::occurrences::Occurrences;
use crate::math::simd::LANES;

/// [`Occurrences`] whose numbers are stored in few bits wherever they fit. They always do in a block of a few hundred tables. Unpacking costs about
/// 1 % of what a visit of its examples does.
pub(super) enum Packed {
    /// The rows, how often each occurs, the tables as multiples of [`LANES`], and the values.
    Narrow { rows: RowNumbers, counts: Box<[u8]>, tables: Box<[u16]>, values: Box<[f64]> },
    /// Occurrences with a number that does not fit, unpacked.
    Wide(Occurrences),
}

/// Numbers of rows in ascending order.
pub(super) enum RowNumbers {
    /// The distance of each from the one before, and of the first one from 0.
    Gaps(Box<[u16]>),
    /// The numbers themselves, if a gap is too large.
    All(Box<[u32]>),
}

impl RowNumbers {
    fn new(rows: &[u32]) -> Self {
        let mut last = 0;
        let gap = |&row: &u32| u16::try_from(row - std::mem::replace(&mut last, row)).ok();
        rows.iter()
            .map(gap)
            .collect::<Option<_>>()
            .map_or_else(|| RowNumbers::All(rows.into()), RowNumbers::Gaps)
    }
}

impl Packed {
    /// Packs occurrences.
    pub(crate) fn new(of: Occurrences) -> Self {
        let unit = LANES as u32;
        let tables = of.tables.iter().map(|table| match table % unit {
            0 => u16::try_from(table / unit).ok(),
            _ => None,
        });
        let counts = of.first.windows(2).map(|pair| u8::try_from(pair[1] - pair[0]).ok());
        match (tables.collect::<Option<Box<[u16]>>>(), counts.collect::<Option<Box<[u8]>>>()) {
            (Some(tables), Some(counts)) => {
                Packed::Narrow { rows: RowNumbers::new(&of.rows), counts, tables, values: of.values.into() }
            }
            _ => Packed::Wide(of),
        }
    }

    /// Overwrites `out` with the occurrences.
    pub(crate) fn unpack(&self, out: &mut Occurrences) {
        match self {
            Packed::Wide(of) => out.clone_from(of),
            Packed::Narrow { rows, counts, tables, values } => {
                let Occurrences { rows: all, first, tables: offsets, values: amounts } = out;
                [&mut *all, &mut *first, &mut *offsets].into_iter().for_each(Vec::clear);
                amounts.clear();
                amounts.extend_from_slice(values);
                offsets.extend(tables.iter().map(|&table| u32::from(table) * LANES as u32));
                match rows {
                    RowNumbers::All(rows) => all.extend_from_slice(rows),
                    RowNumbers::Gaps(gaps) => add_up(gaps, all),
                }
                first.push(0);
                add_up(counts, first);
            }
        }
    }
}

/// Appends the sums of the numbers so far.
fn add_up<T: Copy + Into<u32>>(numbers: &[T], sums: &mut Vec<u32>) {
    let mut sum = 0;
    sums.extend(numbers.iter().map(|&number| {
        sum += number.into();
        sum
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let narrow = (vec![0, 8, 16, 80_000, 0, 524_280], vec![]);
        let odd = (vec![3, 8, 17, 80_001, 5, 6], vec![1.0, -2.5, 0.0, 1e300, 4.0, 0.5]);
        let far = (vec![0, 8, 16, 80_000, 0, 524_288], vec![]);
        for (tables, values) in [narrow, odd, far] {
            let of = Occurrences {
                rows: vec![0, 1, 127, 128, 4_000_000_000],
                first: vec![0, 1, 3, 4, 5, 6],
                tables,
                values,
            };
            let mut back = Occurrences { rows: vec![9], first: vec![7], tables: vec![1], values: vec![2.0] };
            Packed::new(of.clone()).unpack(&mut back);
            assert_eq!(back, of);
        }
        let near = Occurrences {
            rows: vec![65_535, 131_070],
            first: vec![0, 255, 256],
            tables: vec![8; 256],
            values: vec![],
        };
        let packed = Packed::new(near.clone());
        assert!(
            matches!(packed, Packed::Narrow { rows: RowNumbers::Gaps(_), .. }),
            "the gaps fit into 16 bits"
        );
        let mut back = Occurrences::default();
        packed.unpack(&mut back);
        assert_eq!(back, near);
        let tables: Vec<u32> = (0..256).map(|k| k % 8 * 8).collect();
        let often = Occurrences { rows: vec![7], first: vec![0, 256], tables, values: vec![] };
        let packed = Packed::new(often.clone());
        assert!(matches!(packed, Packed::Wide(_)), "the count of a row may exceed 8 bits");
        let mut back = Occurrences::default();
        packed.unpack(&mut back);
        assert_eq!(back, often);
    }
}
