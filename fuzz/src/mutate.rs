//! Random changes to inputs, for engines without their own.

use crfkit::math::random::Random;

/// Changes an input.
pub type Mutator = fn(&mut Vec<u8>, &mut Random);

/// The largest input that changes make.
const LARGEST: usize = 1 << 16;

/// Changes bytes: one flipped or replaced, a stretch removed, repeated, copied or made anew.
pub fn bytes(input: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(input.len() + 1);
    let length = (1 + random.below(8)).min(input.len() - at);
    match random.below(7) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = EXTREME[random.below(EXTREME.len())],
        2 => drop(input.drain(at..at + length)),
        3 => {
            let copy = input[at..at + length].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, copy);
        }
        4 => input.insert(at, random.below(256) as u8),
        5 if random.below(4) == 0 => input.truncate(at),
        _ => {
            let token = TOKENS[random.below(TOKENS.len())];
            input.splice(at..at, token.bytes());
        }
    }
    input.truncate(LARGEST);
}

const EXTREME: [u8; 8] = [0, 1, 0x7F, 0x80, 0xFF, b'\n', b' ', b'0'];

/// Pieces of the texts that crfkit reads.
const TOKENS: [&str; 50] = [
    "\n",
    "\n\n",
    "\t",
    " ",
    "\r\n",
    "\\",
    "\"",
    "'",
    "?",
    "|",
    ":",
    "=",
    "O",
    "B-X",
    "I-X",
    "é",
    "\u{FEFF}",
    "%x[0,0]",
    "%t[-1,0,\"\\a+\"]",
    "U:",
    "B",
    "*",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "null",
    "\"weight\":",
    "1e308",
    "-1",
    "0.5",
    "NaN",
    "99999999999999999999",
    "\"features\":",
    "and ",
    "not ",
    "same(0)",
    "matches(0,\"^\\u\")",
    "%seen[0,0]",
    "\"weights\":",
    "@weight:",
    "\tdelete\n",
    "\tforbid\n",
    "-0",
    "1e-320",
    "HTTP/1.1\r\n",
    "Host: localhost:8080\r\n",
    "\r\n\r\n",
];

/// Overwrites four bytes by an extreme number in single precision, counted from the end, where arrays have their numbers.
pub fn single(input: &mut [u8], random: &mut Random) {
    const REALS: [f32; 10] =
        [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, 1e-30, 1e30, 1e18, -0.0, f32::INFINITY, f32::NAN];
    let numbers = input.len() / 4;
    if numbers > 0 {
        let at = input.len() - 4 * (1 + random.below(numbers.min(64)));
        input[at..at + 4].copy_from_slice(&REALS[random.below(REALS.len())].to_le_bytes());
    }
}

/// Changes one section of a model file or a checkpoint, or its head, and makes length and checksum right again.
pub fn sections(input: &mut Vec<u8>, random: &mut Random) {
    let Some(mut all) = super::sections::split(input) else { return bytes(input, random) };
    if all.is_empty() {
        return bytes(input, random);
    }
    let [at, other] = [0; 2].map(|_| random.below(all.len()));
    match random.below(12) {
        0 => all.swap(at, other),
        1 => drop(all.remove(at)),
        2 => all.insert(at, all[other].clone()),
        3 => all[at].1 = all[other].1.clone(),
        4 | 5 => json(&mut all[0].1, random),
        6..=8 => numbers(&mut all[at].1, random),
        _ => bytes(&mut all[at].1, random),
    }
    *input = super::sections::join(input, &all);
}

/// Overwrites an aligned number of four or eight bytes by an extreme one.
fn numbers(content: &mut [u8], random: &mut Random) {
    const WORDS: [u32; 6] = [0, 1, 2, u32::MAX, i32::MAX as u32, 1 << 16];
    const REALS: [f64; 8] = [f64::NAN, f64::INFINITY, 1e100, -1e100, 5e-324, f64::MAX, -0.0, 1.0];
    if random.below(2) == 0 && content.len() >= 4 {
        let at = random.below(content.len() / 4) * 4;
        content[at..at + 4].copy_from_slice(&WORDS[random.below(WORDS.len())].to_le_bytes());
    } else if content.len() >= 8 {
        let at = random.below(content.len() / 8) * 8;
        content[at..at + 8].copy_from_slice(&REALS[random.below(REALS.len())].to_le_bytes());
    }
}

/// Replaces a value somewhere in a JSON text.
fn json(content: &mut Vec<u8>, random: &mut Random) {
    use serde_json::{Value, json};
    let Ok(mut root) = serde_json::from_slice::<Value>(content) else { return bytes(content, random) };
    let mut here = &mut root;
    loop {
        let count = match here {
            Value::Array(list) => list.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        };
        if count == 0 || random.below(8) == 0 {
            break;
        }
        let at = random.below(count);
        here = match here {
            Value::Array(list) => &mut list[at],
            Value::Object(map) => map.values_mut().nth(at).expect("there are so many"),
            _ => unreachable!("others have no parts"),
        };
    }
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(2),
        json!(65_536),
        json!(1e9),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("x"),
        json!("\n\0é"),
        json!([]),
        json!({}),
    ];
    match here {
        Value::Array(list) if random.below(2) == 0 => list.extend(list.clone()),
        Value::String(text) if random.below(2) == 0 => text.push_str("é\0"),
        Value::Number(number) if random.below(2) == 0 => *number = (number.as_i64().unwrap_or(0) + 1).into(),
        other => *other = others[random.below(others.len())].clone(),
    }
    *content = serde_json::to_vec(&root).expect("a value can be written");
}
