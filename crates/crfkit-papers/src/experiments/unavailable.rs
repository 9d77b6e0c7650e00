//! What cannot be tested, because the data are not to be had.

use crate::experiment::{Experiment, Outcome, Part, none};
use serde_json::Value;

/// smd-crf-2006 section 4.2 names BioCreAtIvE task 1A.
pub const BIOCREATIVE_1A: Experiment = Experiment {
    id: "smd-biocreative-1a",
    row: 74,
    title: "smd section 4.2: BioCreAtIvE task 1A",
    version: 1,
    data: &[],
    needs: &[],
    tolerance: "none: the paper has no number",
    part: Part::Paper,
    review: none,
    inconsistent: None,
    settings: |_| Value::Null,
    run: |_| {
        let why = "The data of BioCreAtIvE task 1A are not available, and the paper says only that the results were similar.";
        Ok(Outcome { not_testable: Some(why.into()), ..Outcome::default() })
    },
};
