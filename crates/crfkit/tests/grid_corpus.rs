//! smd-crf-2006 section 5.1 on Kumar and Hebert's noisy pictures: 50 noisy copies of one picture, 40 to learn from.

#[path = "common/corpora.rs"]
mod corpora;

use corpora::real_text;
use crfkit::data::images::{Image, Mask};
use crfkit::graph::Neighbours;
use crfkit::grid::{
    Decode, Engine, GridTagger, Init, Layout, Pictures, PixelErrors, Settings, Start, Tables, train,
};
use crfkit::optim::Control;
use crfkit::train::{Event, Listener, Method, Settings as Training};
use std::sync::Arc;

const SIDE: usize = 64;
const TRAIN: usize = 40;
/// The mask value of `?`.
const UNLABELLED: u8 = 255;

struct Silent;

impl Listener for Silent {
    fn event(&mut self, _: &Event) -> crfkit::Result<Control> {
        Ok(Control::Continue)
    }
}

fn mask(text: &str) -> Mask {
    let value = |c: char| c.to_digit(10).map_or(UNLABELLED, |digit| digit as u8);
    Mask { height: SIDE, width: SIDE, values: text.lines().flat_map(str::chars).map(value).collect() }
}

fn images(text: &str) -> Vec<Image> {
    let image = |rows: &str| {
        let values = rows.lines().skip(1).flat_map(str::split_whitespace);
        let values = values.map(|number| number.parse().unwrap()).collect();
        Image { height: SIDE, width: SIDE, channels: 1, values }
    };
    text.split('#').skip(1).map(image).collect()
}

/// Per cent of wrong pixels in the pictures that training has not seen.
fn error(neighbours: Neighbours, engine: Engine, mask: &Mask, images: &[Image]) -> f64 {
    let (unlabelled, tables) = (Some(UNLABELLED), Tables::Ising);
    let mut pictures =
        Pictures::new(Layout { labels: vec![0, 1], unlabelled, channels: 1, neighbours, tables }).unwrap();
    images[..TRAIN].iter().for_each(|image| pictures.add(image, mask, "train").unwrap());
    assert_eq!(pictures.labelled(), TRAIN * (SIDE * SIDE - 2));
    let training = Training { optimizer: Method::Lbfgs, passes: Some(10), ..Training::default() };
    let settings = Settings { inference: engine, init: Init::Logistic, training };
    let model = Arc::new(train(pictures, &settings, Start::default(), &mut Silent).unwrap().model);
    let mut tagger = GridTagger::new(model.clone(), engine);
    let mut errors = PixelErrors::default();
    for image in &images[TRAIN..] {
        tagger.image(image, "test").unwrap();
        let labels = tagger.labels(Decode::MaxMarginal).unwrap().to_vec();
        errors.add(&model.layout, mask, &tagger.mask(&labels), "test").unwrap();
    }
    errors.percent()
}

#[test]
fn loopy_bp_is_as_good_as_mean_field_and_both_beat_logistic_regression() {
    let name = "loopy_bp_is_as_good_as_mean_field_and_both_beat_logistic_regression";
    let Some(labels) = real_text(name, "grids/kh_denoise64/label.txt") else { return };
    let Some(noisy) = real_text(name, "grids/kh_denoise64/noisy.txt") else { return };
    let (mask, images) = (mask(&labels), images(&noisy));
    assert_eq!((mask.values.len(), images.len()), (SIDE * SIDE, 50));
    let logistic = error(Neighbours::None, Engine::LoopyBp, &mask, &images);
    let mean_field = error(Neighbours::Four, Engine::MeanField, &mask, &images);
    let loopy_bp = error(Neighbours::Four, Engine::LoopyBp, &mask, &images);
    println!("error: logistic {logistic:.2} %  mean-field {mean_field:.2} %  loopy-bp {loopy_bp:.2} %");
    assert!(loopy_bp <= mean_field + 0.1 && mean_field < logistic, "{loopy_bp} {mean_field} {logistic}");
}
