//! Grids that a model has labelled, as pictures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

/// The bytes of a PNG file. The page has them as a `data:` address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Png(pub Vec<u8>);

impl Serialize for Png {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("data:image/png;base64,{}", STANDARD.encode(&self.0)))
    }
}

/// One grid: what the model saw, what is right, what it said and how sure it was.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GridSample {
    /// What the page calls it.
    pub name: String,
    /// What the model saw.
    pub input: Option<Png>,
    /// The right labels.
    pub truth: Option<Png>,
    /// The predicted ones.
    pub prediction: Option<Png>,
    /// Probability of the foreground, or of the predicted label.
    pub marginals: Option<Png>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_an_address_that_holds_it() {
        let json = serde_json::to_string(&Png(b"\x89PNG".to_vec())).unwrap();
        assert_eq!(json, "\"data:image/png;base64,iVBORw==\"");
    }
}
