//! Images that a model has labelled.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

/// The bytes of a PNG file. The page embeds them as a `data:` URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Png(pub Vec<u8>);

impl Serialize for Png {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("data:image/png;base64,{}", STANDARD.encode(&self.0)))
    }
}

/// One image: the input, the gold labels, the prediction and its probabilities.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GridSample {
    /// The name of the image on the page.
    pub name: String,
    /// The input of the model.
    pub input: Option<Png>,
    /// The gold labels.
    pub truth: Option<Png>,
    /// The predicted labels.
    pub prediction: Option<Png>,
    /// The probability of the foreground, or of the predicted label.
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
