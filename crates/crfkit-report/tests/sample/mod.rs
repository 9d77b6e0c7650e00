//! A page with every section, and with text that means harm wherever data has text.

use crfkit::eval::Evaluation;
use crfkit_report::{
    EvaluationPart, Feature, GridSample, Heaviest, ModelPart, Page, Png, Reason, ReasonPart, Run, Sample,
    Samples, Token, Transition,
};

/// Ends the element that holds the data, and runs code, if anything lets it.
pub const HOSTILE: &str = "</script><img src=x onerror=\"window.broken=1\"><!--<script>\u{2028}'&amp;";

/// A picture of one pixel.
const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3A, 0x7E, 0x9B, 0x55, 0x00,
    0x00, 0x00, 0x0A, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9C, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01,
    0x48, 0xAF, 0xA4, 0x71, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82,
];

fn run(name: &str, sigma: f64) -> Run {
    let mut log = format!(
        "{{\"event\":\"settings\",\"format\":1,\"sequences\":100,\"settings\":{{\"optimizer\":\"auto\",\"sigma\":{sigma}}}}}\n"
    );
    for pass in 1..=3 {
        let (objective, f1) = (1000.0 / f64::from(1 << pass), 80 + pass);
        log += &format!(
            "{{\"event\":\"progress\",\"passes\":{pass},\"seconds\":{pass},\"objective\":{objective}}}\n"
        );
        log += &format!(
            "{{\"event\":\"eval\",\"data\":\"dev\",\"passes\":{pass},\"seconds\":{pass},\"f1\":{f1},\"accuracy\":{f1},\"best\":true}}\n"
        );
    }
    log += "{\"event\":\"stop\",\"reason\":\"tolerance reached\",\"passes\":3,\"seconds\":3,\"objective\":125}\n";
    Run::read(log.as_bytes(), name).unwrap()
}

/// The page.
pub fn page() -> Page {
    let labels = vec![HOSTILE.to_owned(), "B-X".to_owned(), "O".to_owned()];
    let features = labels.iter().map(|label| Heaviest {
        of: label.clone(),
        features: vec![Feature { observation: HOSTILE.into(), labels: Vec::new(), weight: -1.5 }],
    });
    let transition = |previous: Option<&str>, label: Option<&str>, weight| Transition {
        previous: previous.map(str::to_owned),
        label: label.map(str::to_owned),
        weight,
    };
    let model = ModelPart {
        name: HOSTILE.into(),
        all_labels: 3,
        features: features.collect(),
        transitions: vec![
            transition(None, Some("O"), 1.0),
            transition(Some("O"), Some(HOSTILE), -2.0),
            transition(Some(HOSTILE), None, 0.5),
        ],
        labels,
    };
    let mut evaluation = Evaluation::default();
    evaluation.add_sequence(&["B-X", HOSTILE], &["B-X", "O"], None);
    let reason = || Reason {
        rival: HOSTILE.into(),
        difference: 1.5,
        parts: vec![ReasonPart {
            amount: -0.5,
            what: HOSTILE.into(),
            labels: HOSTILE.into(),
            tokens: "0".into(),
            without: HOSTILE.into(),
        }],
        others: 2,
        rest: 2.0,
    };
    let token = |gold: &str, predicted: &str| Token {
        text: HOSTILE.into(),
        gold: Some(gold.into()),
        predicted: predicted.into(),
        p: 0.75,
        p_gold: 0.25,
        reason: (gold != predicted).then(reason),
    };
    let mut evaluation = EvaluationPart::new(HOSTILE, &evaluation, Samples::default());
    evaluation.samples.push(Sample {
        place: HOSTILE.into(),
        mistake: 0.5,
        tokens: vec![token("B-X", "B-X"), token(HOSTILE, "O")],
        cut: 2,
    });
    let png = || Some(Png(PIXEL.to_vec()));
    let image =
        GridSample { name: HOSTILE.into(), input: png(), truth: png(), prediction: png(), marginals: png() };
    Page {
        runs: vec![run("first", 1.0), run(HOSTILE, 0.5)],
        model: Some(model),
        evaluations: vec![evaluation],
        images: vec![image],
        live: false,
    }
}
