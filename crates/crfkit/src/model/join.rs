//! Features with the weights of others among them.

use super::{Features, Rows, TableWeights};

/// A weight and its place: row (0 in shared tables), entry of the table, value.
pub(crate) type Placed = (u32, u32, f64);

impl Features {
    /// These features with further weights, those of `rows` by kind and those of `tables` by shared table. Also returns a θ that has the
    /// values of these weights, and 0 elsewhere. Rows must not have a basis.
    pub(crate) fn joined(
        &self,
        mut rows: Vec<Vec<Placed>>,
        mut tables: Vec<Vec<Placed>>,
    ) -> (Features, Vec<f64>) {
        let mut base = 0;
        let (mut all_rows, mut all_tables) = (Vec::new(), Vec::new());
        for (old, more) in self.rows.iter().zip(&mut rows) {
            more.sort_unstable_by_key(|&(row, entry, _)| (row, entry));
            let rows = Rows { base, ..with_entries(old, more) };
            base += rows.weights();
            all_rows.push(rows);
        }
        for (old, more) in self.tables.iter().zip(&mut tables) {
            let mut entry = old.entry.clone();
            entry.extend(more.iter().map(|&(_, entry, _)| entry));
            entry.sort_unstable();
            entry.dedup();
            let start = base;
            base += entry.len();
            all_tables.push(TableWeights { base: start, entry, ..*old });
        }
        let joined = Features::of(all_rows, self.node_kinds, all_tables, self.lattice.clone());
        let mut theta = vec![0.0; base];
        for (rows, more) in joined.rows.iter().zip(&rows) {
            for &(row, entry, value) in more {
                theta[rows.place(row, entry)] = value;
            }
        }
        for (table, more) in joined.tables.iter().zip(&tables) {
            for (_, entry, value) in more {
                let place = table.entry.binary_search(entry).unwrap_or_else(|place| place);
                theta[table.base + place] = *value;
            }
        }
        (joined, theta)
    }
}

impl Rows {
    /// The place in θ of an entry that the row has.
    fn place(&self, row: u32, entry: u32) -> usize {
        let range = self.range(row);
        match self.complete() {
            true => {
                range.start + entry as usize / self.stride() * self.columns + entry as usize % self.stride()
            }
            false => {
                let listed = &self.entry[range.start - self.base..range.end - self.base];
                range.start + listed.binary_search(&entry).unwrap_or_else(|place| place)
            }
        }
    }
}

/// Rows with further entries, which are sorted by row.
fn with_entries(old: &Rows, more: &[Placed]) -> Rows {
    if old.complete() {
        return old.clone();
    }
    let mut new = Rows { start: vec![0].into(), entry: Vec::new().into(), ..old.clone() };
    let mut more = more.iter().peekable();
    for row in 0..old.len as u32 {
        let from = new.entry.len();
        new.entry.to_mut().extend(old.entries_of(row).map(|entry| entry as u32));
        let added = new.entry.len();
        while let Some((_, entry, _)) = more.next_if(|(of, ..)| *of == row) {
            new.entry.to_mut().push(*entry);
        }
        if new.entry.len() > added {
            new.entry[from..].sort_unstable();
            let mut kept = from;
            for k in from..new.entry.len() {
                if k == from || new.entry[k] != new.entry[kept - 1] {
                    new.entry[kept] = new.entry[k];
                    kept += 1;
                }
            }
            new.entry.to_mut().truncate(kept);
        }
        new.start.to_mut().push(new.entry.len() as u32);
    }
    new
}
