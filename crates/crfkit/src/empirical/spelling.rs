//! Spelling features for words not seen in training (Lafferty, McCallum and Pereira 2001).

/// The set of a word's features: bit k stands for [`NAMES`]`[k]`.
pub type Spelling = u32;

/// Names of the features: first character, hyphen, endings.
pub const NAMES: [&str; 12] =
    ["digit", "capital", "hyphen", "-ing", "-ogy", "-ed", "-s", "-ly", "-ion", "-tion", "-ity", "-ies"];

/// Number of features.
pub(crate) const FEATURES: usize = NAMES.len();

/// The first of [`NAMES`] that is an ending.
const FIRST_ENDING: usize = 3;

/// The spelling of `word`. Endings are case-sensitive: `SING` does not have the ending `-ing`.
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

/// The numbers of a spelling's features, in ascending order.
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
