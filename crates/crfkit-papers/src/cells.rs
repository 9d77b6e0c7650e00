//! Text for the page: readable numbers, table cells, and settings on lines of readable length.

use serde_json::Value;

/// Significant digits of a number, unless the number it is compared with is more precise.
const DIGITS: i32 = 4;
/// The length of a line of settings.
const WIDTH: usize = 110;

/// A text in a form that is safe in a table cell.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A number with four significant digits, all digits before the decimal point, and at least `decimals` after it.
pub(crate) fn shown(x: f64, decimals: usize) -> String {
    let size = x.abs();
    if size == 0.0 || !size.is_finite() {
        return x.abs().to_string();
    }
    if size >= 1e9 || size < 10f64.powi(-(decimals as i32)).min(1e-4) {
        let text = format!("{x:.0$e}", DIGITS as usize - 1);
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits));
    }
    let whole = size.log10().floor() as i32 + 1;
    let decimals = decimals.max((DIGITS - whole).max(0) as usize);
    grouped(trimmed(&format!("{x:.decimals$}")))
}

/// A number with at most one digit after the decimal point.
pub(crate) fn tenths(x: f64) -> String {
    trimmed(&format!("{x:.1}")).to_owned()
}

/// A decimal number without trailing zeros.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The number of digits after the decimal point in the first number of a text.
pub(crate) fn decimals(text: &str) -> usize {
    let number = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let behind = number.split_once('.').filter(|(whole, _)| whole.bytes().all(|b| b.is_ascii_digit()));
    behind.map_or(0, |(_, digits)| digits.bytes().take_while(u8::is_ascii_digit).count())
}

/// A text whose numbers of five or more digits have separators: `4571807` becomes `4,571,807`.
pub(crate) fn grouped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let (digits, after) = from.split_at(from.bytes().take_while(u8::is_ascii_digit).count());
        out += before;
        let fraction = out.ends_with('.');
        for (k, digit) in digits.chars().enumerate() {
            if k > 0 && digits.len() > 4 && !fraction && (digits.len() - k) % 3 == 0 {
                out.push(',');
            }
            out.push(digit);
        }
        rest = after;
    }
    out + rest
}

/// Settings as JSON: what fits is on one line, and lists of plain values fill their lines.
pub(crate) fn settings(value: &Value) -> String {
    let mut out = String::new();
    spread(value, 0, &mut out);
    out
}

fn spread(value: &Value, indent: usize, out: &mut String) {
    let (open, close, items): (_, _, Vec<(String, &Value)>) = match value {
        Value::Array(list) => ('[', ']', list.iter().map(|item| (String::new(), item)).collect()),
        Value::Object(map) => {
            let named = |(name, item)| (format!("{}: ", Value::from(String::as_str(name))), item);
            ('{', '}', map.iter().map(named).collect())
        }
        _ => return out.push_str(&value.to_string()),
    };
    let plain = |value: &Value| !value.is_array() && !value.is_object();
    let line: Vec<String> = items.iter().map(|(name, item)| name.clone() + &one_line(item)).collect();
    if indent + line.iter().map(|item| item.len() + 2).sum::<usize>() <= WIDTH {
        *out += &format!("{open}{}{close}", line.join(", "));
        return;
    }
    let inner = indent + 2;
    out.push(open);
    let mut used = WIDTH; // the first item begins a line
    for (k, ((name, item), text)) in items.iter().zip(&line).enumerate() {
        if !plain(item) || used + text.len() + 2 > WIDTH {
            *out = format!("{}\n{}", out.trim_end(), " ".repeat(inner));
            used = inner;
        }
        *out += name;
        spread(item, inner, out);
        used = if plain(item) { used + text.len() + 2 } else { WIDTH };
        *out += if k + 1 < items.len() { ", " } else { "" };
    }
    *out += &format!("\n{}{close}", " ".repeat(indent));
}

/// JSON on one line, with spaces.
fn one_line(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(name, item)| format!("{}: {}", Value::from(name.as_str()), one_line(item)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_have_four_digits_unless_more_are_compared() {
        for (x, decimals, text) in [
            (0.0, 0, "0"),
            (93.6636, 0, "93.66"),
            (93.6, 2, "93.6"),
            (2.18891, 0, "2.189"),
            (2.502_012_1, 5, "2.50201"),
            (0.000_436_5, 3, "0.0004365"),
            (7.68e-5, 3, "7.68e-5"),
            (1e-9, 0, "1e-9"),
            (1e-5, 0, "1e-5"),
            (-8.881_784e-16, 0, "-8.882e-16"),
            (-7.719_328_7e19, 0, "-7.719e19"),
            (1492.9636, 0, "1493"),
            (726_295.976, 0, "726,296"),
            (397_564.0, 0, "397,564"),
            (4.999_999_999_999_999, 9, "5"),
        ] {
            assert_eq!(shown(x, decimals), text);
        }
    }

    #[test]
    fn long_numbers_are_grouped_and_others_left() {
        assert_eq!(grouped(">162462 of 4571807"), ">162,462 of 4,571,807");
        assert_eq!(grouped("2007, 0.123456, 85.8"), "2007, 0.123456, 85.8");
        assert_eq!(
            [decimals(">69.30"), decimals("about 10"), decimals("2.50202"), decimals("all")],
            [2, 0, 5, 0]
        );
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        assert_eq!(cell("|t| < 1.65"), "\\|t\\| < 1.65");
    }

    #[test]
    fn settings_are_json_on_short_lines() {
        let methods: Vec<Value> =
            (0..3).map(|k| json!({"optimizer": "smd", "eta0": 0.1, "l1": 0.0, "patience": 5, "seed": k, "long name": "x".repeat(50)})).collect();
        let value = json!({"methods": methods, "passes": [1, 2, 3], "none": null, "many": (0..100).collect::<Vec<_>>()});
        let text = settings(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.lines().all(|line| line.len() <= WIDTH + 2 && line == line.trim_end()), "{text}");
        assert!(text.lines().count() < 25, "{text}");
        assert_eq!(settings(&json!({"a": [1, 2], "b": "c"})), r#"{"a": [1, 2], "b": "c"}"#);
    }
}
