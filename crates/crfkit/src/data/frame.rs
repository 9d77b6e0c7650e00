//! The keys of observations, made of the values of a sequence.

use super::lookup::Keys;
use super::observer::UNSEEN;
use super::template::{Macro, Row, Template};

/// The values of one sequence, padding included.
pub(super) struct Frame<'a> {
    pub(super) values: &'a [u32],
    pub(super) several: &'a [u32],
    pub(super) extractors: usize,
    pub(super) padding: usize,
    pub(super) len: usize,
    pub(super) rows: usize,
    /// Whether no template has several values or a number.
    pub(super) plain: bool,
}

impl Frame<'_> {
    /// The value of a macro at position t. Rows beyond the padding are equal to its outermost row.
    #[inline]
    fn value(&self, one: &Macro, t: usize) -> u32 {
        if let Row::Relative(offset) = one.row {
            let row = (self.padding + t).wrapping_add_signed(offset as isize);
            if row < self.rows {
                return self.values[row * self.extractors + one.extractor];
            }
        }
        self.far_value(one, t)
    }

    /// The value of a macro whose row is beyond the padding, or not counted from position t.
    #[cold]
    fn far_value(&self, one: &Macro, t: usize) -> u32 {
        let row = match one.row {
            Row::Relative(offset) => (self.padding + t) as i64 + i64::from(offset),
            Row::FromStart(after) => self.padding as i64 + i64::from(after),
            Row::FromEnd(before) => (self.padding + self.len) as i64 - 1 - i64::from(before),
        };
        let row = row.clamp(0, self.rows as i64 - 1) as usize;
        self.values[row * self.extractors + one.extractor]
    }

    /// The key and the value of an observation that has a number as its value. There is none if the number is 0 or outside the sequence.
    pub(super) fn number<'k>(
        &self,
        template: &Template,
        t: usize,
        measured: &[f64],
        keys: &'k mut Keys,
    ) -> Option<(&'k [u8], f64)> {
        let number = template.number?;
        let at = self.value(&template.macros[number], t);
        let found = self.several.get(at as usize..)?;
        let (name, amount) = (found[0], measured[found[1] as usize]);
        keys.text.clear();
        keys.text.extend_from_slice(&template.skeleton.to_le_bytes());
        for (m, one) in template.macros.iter().enumerate() {
            let value = if m == number { name } else { self.value(one, t) };
            if value == UNSEEN {
                return None;
            }
            keys.text.extend_from_slice(&value.to_le_bytes());
        }
        (amount != 0.0).then_some((&keys.text, amount))
    }

    /// Writes a key for every value of the macro `many` of a template.
    fn several_keys(&self, template: &Template, many: usize, t: usize, keys: &mut Keys) {
        let at = self.value(&template.macros[many], t);
        let others = template.macros.iter().enumerate().filter(|(m, _)| *m != many);
        if at == UNSEEN || others.clone().any(|(_, one)| self.value(one, t) == UNSEEN) {
            return;
        }
        let (count, values) =
            self.several[at as usize..].split_first().expect("values begin with their number");
        for value in &values[..*count as usize] {
            keys.text.extend_from_slice(&template.skeleton.to_le_bytes());
            for (m, one) in template.macros.iter().enumerate() {
                let value = if m == many { *value } else { self.value(one, t) };
                keys.text.extend_from_slice(&value.to_le_bytes());
            }
            keys.ends.push(keys.text.len());
        }
    }

    /// Appends the keys of the templates at position t, except those with an unknown value.
    #[inline]
    pub(super) fn keys(&self, templates: &[Template], t: usize, keys: &mut Keys) {
        if self.plain {
            return self.plain_keys(templates, t, keys);
        }
        keys.text.truncate(keys.end());
        for template in templates {
            // Numbers come later, with their values.
            match template.many {
                Some(many) => self.several_keys(template, many, t, keys),
                None if template.number.is_some() => {}
                None => self.one_key(template, t, keys),
            }
        }
    }

    fn one_key(&self, template: &Template, t: usize, keys: &mut Keys) {
        let start = keys.text.len();
        keys.text.extend_from_slice(&template.skeleton.to_le_bytes());
        let mut known = true;
        for one in &template.macros {
            let value = self.value(one, t);
            known &= value != UNSEEN;
            keys.text.extend_from_slice(&value.to_le_bytes());
        }
        match known {
            true => keys.ends.push(keys.text.len()),
            false => keys.text.truncate(start),
        }
    }

    /// The same if every template has one value: this is the path of training, so it writes into memory that is already allocated.
    fn plain_keys(&self, templates: &[Template], t: usize, keys: &mut Keys) {
        let mut at = keys.end();
        let Keys { text, ends, .. } = keys;
        for template in templates {
            let length = 4 + 4 * template.macros.len();
            if text.len() < at + length {
                text.resize(at + length, 0);
            }
            let (first, others) = text[at..at + length].split_at_mut(4);
            first.copy_from_slice(&template.skeleton.to_le_bytes());
            let mut known = true;
            for (one, place) in template.macros.iter().zip(others.as_chunks_mut().0) {
                let value = self.value(one, t);
                known &= value != UNSEEN;
                *place = value.to_le_bytes();
            }
            if known {
                at += length;
                ends.push(at);
            }
        }
    }

    /// Overwrites `steps` with the templates as labelling uses them.
    pub(super) fn steps(&self, templates: &[Template], steps: &mut Vec<Step>) {
        steps.clear();
        steps.extend(templates.iter().map(|template| self.step(template).unwrap_or(Step::Other)));
    }

    /// The step of a template that has one to three macros with one value each, none of which reads a row beyond the padding.
    fn step(&self, template: &Template) -> Option<Step> {
        let place = |one: &Macro| {
            let Row::Relative(offset) = one.row else { return None };
            let first = self.padding.checked_add_signed(offset as isize)?;
            (first + self.len <= self.rows).then_some(first * self.extractors + one.extractor)
        };
        if template.many.is_some() || template.number.is_some() {
            return None;
        }
        let (places, count) = match &template.macros[..] {
            [a] => ([place(a)?; 3], 1),
            [a, b] => ([place(a)?, place(b)?, place(a)?], 2),
            [a, b, c] => ([place(a)?, place(b)?, place(c)?], 3),
            _ => return None,
        };
        Some(Step::Values { skeleton: template.skeleton.to_le(), places, count })
    }
}

/// How labelling looks up the observations of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// By the hash of its skeleton, whose bytes are in little-endian order, and of the values at these places, counted from the first value
    /// that position t of a frame can reach. There are `count` of them; the others repeat the first.
    Values {
        /// The number of the skeleton.
        skeleton: u32,
        /// Where its values are.
        places: [usize; 3],
        /// How many values there are.
        count: usize,
    },
    /// By the hash of its key.
    Other,
}
