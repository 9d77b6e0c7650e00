//! Occurrences in less memory.

use super::occurrences::Occurrences;
use crate::math::simd::LANES;

/// [`Occurrences`] whose numbers are stored in 16 bits wherever they fit. A block of a few hundred tables always does. Unpacking costs about
/// 1 % of what a visit of its examples does.
pub(super) enum Packed {
    /// The rows, how often each occurs, the tables as multiples of [`LANES`], and the values.
    Narrow { rows: Box<[u32]>, counts: Box<[u16]>, tables: Box<[u16]>, values: Box<[f64]> },
    /// As it is.
    Wide(Occurrences),
}

impl Packed {
    /// Packs occurrences.
    pub fn new(of: Occurrences) -> Self {
        let unit = LANES as u32;
        let tables = of.tables.iter().map(|table| match table % unit {
            0 => u16::try_from(table / unit).ok(),
            _ => None,
        });
        let counts = of.first.windows(2).map(|pair| u16::try_from(pair[1] - pair[0]).ok());
        match (tables.collect::<Option<Box<[u16]>>>(), counts.collect::<Option<Box<[u16]>>>()) {
            (Some(tables), Some(counts)) => {
                Packed::Narrow { rows: of.rows.into(), counts, tables, values: of.values.into() }
            }
            _ => Packed::Wide(of),
        }
    }

    /// Overwrites `out` with the occurrences.
    pub fn unpack(&self, out: &mut Occurrences) {
        match self {
            Packed::Wide(of) => out.clone_from(of),
            Packed::Narrow { rows, counts, tables, values } => {
                let Occurrences { rows: all, first, tables: offsets, values: amounts } = out;
                [all, first, offsets].into_iter().for_each(Vec::clear);
                amounts.clear();
                out.rows.extend_from_slice(rows);
                out.values.extend_from_slice(values);
                out.tables.extend(tables.iter().map(|&table| u32::from(table) * LANES as u32));
                let mut end = 0;
                out.first.push(0);
                out.first.extend(counts.iter().map(|&count| {
                    end += u32::from(count);
                    end
                }));
            }
        }
    }
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
        let tables: Vec<u32> = (0..70_000).map(|k| k % 8 * 8).collect();
        let often = Occurrences { rows: vec![7], first: vec![0, 70_000], tables, values: vec![] };
        let packed = Packed::new(often.clone());
        assert!(matches!(packed, Packed::Wide(_)), "the count of a row may exceed 16 bits");
        let mut back = Occurrences::default();
        packed.unpack(&mut back);
        assert_eq!(back, often);
    }
}
