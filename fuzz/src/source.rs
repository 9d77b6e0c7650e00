//! Structured data made from bytes: whatever the bytes are, they describe something small and valid.

/// Bytes that are used up. After the last one there are zeros.
pub struct Source<'a>(pub &'a [u8]);

impl Source<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.byte() as usize % n
    }

    /// A multiple of 1/16 within ±8, so that ties are frequent; or, rarely, a number far beyond.
    pub fn score(&mut self) -> f64 {
        match self.byte() as i8 {
            127 => 700.0,
            -128 => -700.0,
            126 => 0.1 + f64::from(self.byte()) / 1024.0,
            score => f64::from(score) / 16.0,
        }
    }

    /// Whether there are bytes left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
