//! Wapiti's models.
//!
//! ```text
//! #mdl#2#77           2: a CRF (0: without label pairs, 1: a MEMM); 77 weights that are not 0. Older files have no type.
//! #rdr#7/1/0          7 patterns, over 1 column and more; 0: patterns say themselves what they are paired with
//! 11:u:w=%x[0,0],     the patterns, with their lengths in bytes
//! #qrk#4              4 labels, in the same form
//! #qrk#40             40 observations
//! 0=0x1.af7p-1        position and value of each weight
//! ```
//!
//! Observations have weights in their order: those that begin with `u` one for each label, with `b` one for each pair, with `*` both.

use super::Toolkit;
use super::assembly::Assembly;
use crate::data::observer::Source;
use crate::data::template::{Dialect, Templates};
use crate::domain::chain::ChainModel;
use crate::{Error, Result};

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8] = b"#mdl#";

fn damaged(why: impl std::fmt::Display) -> Error {
    Toolkit::Wapiti.damaged(why)
}

/// The unread rest of a file.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// The next line, which must end.
    fn line(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it is cut off"))?;
        let line = std::str::from_utf8(&self.0[..end]).map_err(|_| damaged("it is not UTF-8 text"))?;
        self.0 = &self.0[end + 1..];
        Ok(line)
    }

    /// The numbers of a line that begins with `name`.
    fn numbers(&mut self, name: &str) -> Result<Vec<u64>> {
        let line = self.line()?;
        let numbers = line.strip_prefix(name).map(|rest| rest.split(['#', '/']).map(str::parse).collect());
        match numbers {
            Some(Ok(numbers)) => Ok(numbers),
            _ => Err(damaged(format!("`{}` should be a line `{name}` with numbers", line.escape_debug()))),
        }
    }

    /// The next string: its length, a colon, the string, a comma.
    fn string(&mut self) -> Result<&'a str> {
        let wrong = || damaged("a string differs from its stated length");
        let colon = self.0.iter().take(20).position(|byte| *byte == b':').ok_or_else(wrong)?;
        let length = std::str::from_utf8(&self.0[..colon]).ok().and_then(|text| text.parse::<usize>().ok());
        let end = length.and_then(|length| length.checked_add(colon + 1)).ok_or_else(wrong)?;
        let text = self.0.get(colon + 1..end).ok_or_else(wrong)?;
        self.0 = self.0[end..].strip_prefix(b",\n").ok_or_else(wrong)?;
        std::str::from_utf8(text).map_err(|_| damaged("it is not UTF-8 text"))
    }

    /// A list of strings.
    fn strings(&mut self) -> Result<Vec<&'a str>> {
        let count = self.numbers("#qrk#")?.first().copied().unwrap_or(0);
        (0..count).map(|_| self.string()).collect()
    }
}

/// Reads a model of Wapiti.
pub fn read(bytes: &[u8]) -> Result<ChainModel> {
    let refuse = |why: &str| Err(Toolkit::Wapiti.refuse(why));
    let mut file = Rest(bytes);
    let head = file.numbers("#mdl#")?;
    match head[..] {
        [1, _] => {
            return refuse(
                "this model of Wapiti is a MEMM; crfkit reads CRFs only: train a new model with `objective` memm",
            );
        }
        [_] | [0 | 2, _] => {}
        _ => return Err(damaged("its type is unknown")),
    }
    let reader = file.numbers("#rdr#")?;
    if reader.get(2).is_some_and(|automatic| *automatic != 0) {
        return refuse(
            "this model of Wapiti adds the prefix of its observations itself (--me), which crfkit cannot do",
        );
    }
    let patterns = (0..reader[0]).map(|_| file.string()).collect::<Result<Vec<&str>>>()?;
    if patterns.is_empty() {
        return refuse(
            "this model of Wapiti has no patterns: its tokens are features, which crfkit reads as attributes; train a new model on those",
        );
    }
    let labels = file.strings()?.into_iter().map(str::to_owned).collect();
    let observations = file.strings()?;
    let mut weights = Vec::new();
    while !file.0.is_empty() {
        let line = file.line()?;
        let weight =
            line.split_once('=').and_then(|(at, w)| Some((at.parse::<u64>().ok()?, hexadecimal(w)?)));
        weights.push(weight.ok_or_else(|| damaged(format!("`{}` is not a weight", line.escape_debug())))?);
    }
    if head.last() != Some(&(weights.len() as u64)) || !weights.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(damaged("its weights are not those that it announces"));
    }
    let text = patterns.join("\n");
    let templates = Templates::compile(&text, Dialect::Wapiti, "patterns of the model").map_err(damaged)?;
    let mut model = Assembly::new(Toolkit::Wapiti, labels, Source::Templates(templates))?;
    let (count, mut first) = (model.labels.len() as u64, 0);
    let mut rest = &weights[..];
    // The weights of the next block, spread out where there are any.
    let mut block = |size: u64| {
        let (own, others) = rest.split_at(rest.partition_point(|(at, _)| *at < first + size));
        rest = others;
        let own: Vec<(u32, f64)> = own.iter().map(|&(at, w)| ((at - first) as u32, w)).collect();
        first += size;
        own
    };
    for name in observations {
        if name.starts_with(['u', '*']) {
            model.listed_observation(name, &block(count))?;
        }
        if name.starts_with(['b', '*']) {
            model.listed_pair_observation(name, &block(count * count))?;
        }
    }
    match block(0).is_empty() && rest.is_empty() {
        true => model.finish(),
        false => Err(damaged("it has more weights than its observations need")),
    }
}

/// The number that C writes as `%la`, such as `-0x1.8p-3`; `None` if it is none.
fn hexadecimal(text: &str) -> Option<f64> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, exponent) = text.strip_prefix("0x")?.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // 64 bits hold every number of 53.
    let mantissa = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok().filter(|e: &i32| e.abs() < 2000)?;
    let power = exponent - 4 * fraction.len() as i32;
    // In two steps, because 2^power alone may be too small.
    let value = mantissa as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
    Some(if negative { -value } else { value }).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn hexadecimal_numbers_are_read() {
        for (text, value) in [
            ("0x1p+0", 1.0),
            ("-0x1.8p-3", -0.1875),
            ("0x0p+0", 0.0),
            ("0x1.999999999999ap-4", 0.1),
            ("0x1.fffffffffffffp+1023", f64::MAX),
            ("0x0.0000000000001p-1022", 5e-324),
        ] {
            assert_eq!(hexadecimal(text), Some(value), "{text}");
        }
        for text in [
            "",
            "1.5",
            "0x",
            "0xp1",
            "0x1.8",
            "inf",
            "nan",
            "0x1p9999999999",
            "0x1p+1024",
            "0x1.gp1",
            "0x-1p1",
        ] {
            assert_eq!(hexadecimal(text), None, "{text}");
        }
    }
}
