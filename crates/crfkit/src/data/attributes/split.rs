//! Fields of an attribute list, split into name and value.

use memchr::memchr2;

/// A field split at its first unescaped colon.
pub(super) struct Split<'a> {
    pub(super) name: &'a str,
    /// Whether the name has escapes.
    pub(super) escaped: bool,
    pub(super) value: Option<&'a str>,
}

impl<'a> Split<'a> {
    /// Splits a field.
    pub(super) fn of(field: &'a str) -> Self {
        let bytes = field.as_bytes();
        let mut escaped = false;
        let mut at = 0;
        while let Some(found) = memchr2(b':', b'\\', &bytes[at..]) {
            at += found;
            if bytes[at] == b':' {
                return Split { name: &field[..at], escaped, value: Some(&field[at + 1..]) };
            }
            let escapes = matches!(bytes.get(at + 1), Some(b':' | b'\\'));
            escaped |= escapes;
            at += if escapes { 2 } else { 1 };
        }
        Split { name: field, escaped, value: None }
    }
}
