//! What a word's spelling says about it: the features of Lafferty, McCallum and Pereira 2001, for words that training has not
//! seen.

/// The features of a word as a set: bit k is [`NAMES`]`[k]`.
pub type Spelling = u32;

/// The features: first character, hyphen, endings.
pub const NAMES: [&str; 12] =
    ["digit", "capital", "hyphen", "-ing", "-ogy", "-ed", "-s", "-ly", "-ion", "-tion", "-ity", "-ies"];

/// Number of features.
pub const FEATURES: usize = NAMES.len();

/// The first of [`NAMES`] that is an ending.
const FIRST_ENDING: usize = 3;

/// The spelling of `word`. Endings are compared as they are written: `-ing` is no ending of `SING`.
pub fn spelling(word: &str) -> Spelling {
    let first = word.chars().next();
    let starts = [
        first.is_some_and(char::is_numeric),
        first.is_some_and(char::is_uppercase),
        word.as_bytes().contains(&b'-'),
    ];
    let endings = NAMES[FIRST_ENDING..].iter().map(|name| word.ends_with(&name[1..]));
    starts.into_iter().chain(endings).enumerate().map(|(k, has)| Spelling::from(has) << k).sum()
}

/// The numbers of the features of a spelling, ascending.
pub fn features(spelling: Spelling) -> impl Iterator<Item = usize> + Clone {
    (0..FEATURES).filter(move |k| spelling >> k & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_the_papers() {
        let names = |word| features(spelling(word)).map(|k| NAMES[k]).collect::<Vec<_>>().join(" ");
        assert_eq!(names("house"), "");
        assert_eq!(names("Nations"), "capital -s");
        assert_eq!(names("co-operation"), "hyphen -ion -tion");
        assert_eq!(names("7-ties"), "digit hyphen -s -ies");
        assert_eq!(names("Élan"), "capital");
        assert_eq!(names("-"), "hyphen");
        assert_eq!(names("s"), "-s");
        assert_eq!(names(""), "");
        let all = ["ending", "geology", "walked", "boldly", "city"].map(names);
        assert_eq!(all, ["-ing", "-ogy", "-ed", "-ly", "-ity"]);
    }
}
