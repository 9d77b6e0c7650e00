//! smd-crf-2006 section 5 on Kumar and Hebert's pictures: 50 noisy copies of one picture, 40 to learn from (5.1); photographs
//! with and without buildings, 108 to learn from (5.2).

use crate::corpora;

use corpora::real_text;
use crfkit::data::images::{Image, Mask};
use crfkit::data::sites::Sites;
use crfkit::graph::Neighbours;
use crfkit::grid::{
    Decode, Engine, GridBuilder, GridDomain, GridImage, GridTagger, SiteFeatures, SiteNumbers, Tables,
};
use crfkit::optim::Updates;
use crfkit::tag::Judgement;
use crfkit::train::{self, Init, Method, Parameters, Settings, TrainOptions};
use std::sync::Arc;

const SIDE: usize = 64;
const TRAIN: usize = 40;
/// The mask value of `?`.
const UNLABELLED: u16 = 255;

fn mask(text: &str) -> Mask {
    let value = |c: char| c.to_digit(10).map_or(UNLABELLED, |digit| digit as u16);
    Mask { height: SIDE, width: SIDE, values: text.lines().flat_map(str::chars).map(value).collect() }
}

fn images(text: &str) -> Vec<Sites> {
    let image = |rows: &str| {
        let values = rows.lines().skip(1).flat_map(str::split_whitespace);
        let values = values.map(|number| number.parse().unwrap()).collect();
        Image { height: SIDE, width: SIDE, channels: 1, values }.into()
    };
    text.split('#').skip(1).map(image).collect()
}

fn lbfgs() -> Settings {
    Settings { optimizer: Method::Lbfgs, passes: Some(10), ..Settings::default() }
}

/// Per cent of wrong sites in pictures that training has not seen. Labels are 0 and 1.
fn error(
    neighbours: Neighbours,
    engine: Engine,
    sites: SiteFeatures,
    [train_set, test_set]: [&[(Sites, &Mask)]; 2],
    settings: Settings,
) -> f64 {
    let domain = GridDomain::new(vec![0, 1], sites, &train_set[0].0, "train").unwrap();
    let unlabelled = Some(UNLABELLED);
    let domain = GridDomain { unlabelled, neighbours, tables: Tables::Ising, ..domain };
    let mut builder = GridBuilder::new(domain).unwrap();
    train_set.iter().for_each(|(image, mask)| builder.add(image, mask, "train").unwrap());
    let corpus = builder.finish().unwrap();
    let settings = Settings { inference: Some(engine), init: Init::Logistic, ..settings };
    let features = train::features(&corpus, &settings);
    let trained = train::train(corpus, features, &settings, TrainOptions::default(), &mut ()).unwrap();
    let mut tagger = GridTagger::new(Arc::new(trained.model));
    let mut judgement = Judgement::new(1);
    for (image, mask) in test_set {
        let picture = GridImage { mask: Some((*mask).clone()), ..GridImage::new(image.clone(), "test") };
        tagger.judge(&picture, Decode::MaxMarginal, &mut judgement).unwrap();
    }
    100.0 - judgement.overall().percent()
}

#[test]
fn loopy_bp_is_as_good_as_mean_field_and_both_beat_logistic_regression() {
    let name = "loopy_bp_is_as_good_as_mean_field_and_both_beat_logistic_regression";
    let Some(labels) = real_text(name, "grids/kh_denoise64/label.txt") else { return };
    let Some(noisy) = real_text(name, "grids/kh_denoise64/noisy.txt") else { return };
    let (mask, images) = (mask(&labels), images(&noisy));
    assert_eq!((mask.values.len(), images.len()), (SIDE * SIDE, 50));
    let images: Vec<(Sites, &Mask)> = images.into_iter().map(|image| (image, &mask)).collect();
    let sets = [&images[..TRAIN], &images[TRAIN..]];
    let error = |neighbours, engine| error(neighbours, engine, SiteFeatures::default(), sets, lbfgs());
    let logistic = error(Neighbours::None, Engine::LoopyBp);
    let mean_field = error(Neighbours::Four, Engine::MeanField);
    let loopy_bp = error(Neighbours::Four, Engine::LoopyBp);
    println!("error: logistic {logistic:.2} %  mean-field {mean_field:.2} %  loopy-bp {loopy_bp:.2} %");
    assert!(loopy_bp <= mean_field + 0.1 && mean_field < logistic, "{loopy_bp} {mean_field} {logistic}");
}

#[test]
fn neighbours_find_buildings_in_photographs() {
    let name = "neighbours_find_buildings_in_photographs";
    let Some(labels) = real_text(name, "grids/kh_manmade/labels.txt") else { return };
    let data = std::env::var_os("CRFKIT_DATA").expect("labels were read from there");
    let directory = std::path::Path::new(&data).join("grids/kh_manmade/images");
    let mut photographs: [Vec<(Sites, Mask)>; 2] = Default::default();
    for block in labels.split('#').skip(1) {
        let (head, rows) = block.split_once('\n').unwrap();
        let (number, set) = head.trim().split_once(' ').unwrap();
        let values = rows.bytes().filter(u8::is_ascii_digit).map(|digit| u16::from(digit != b'0')).collect();
        let file = std::fs::File::open(directory.join(format!("{number}.jpg"))).unwrap();
        let sites = Sites::read(file, number).unwrap();
        photographs[usize::from(set == "test")].push((sites, Mask { height: 16, width: 24, values }));
    }
    assert_eq!(photographs.each_ref().map(Vec::len), [108, 129]);
    let sites = SiteFeatures { numbers: SiteNumbers::Orientations, patch: 16, quadratic: true };
    let sets = photographs
        .each_ref()
        .map(|set| set.iter().map(|(sites, mask)| (sites.clone(), mask)).collect::<Vec<(Sites, &Mask)>>());
    let error =
        |neighbours, settings| error(neighbours, Engine::LoopyBp, sites, [&sets[0], &sets[1]], settings);
    // SMD as in the paper; batch methods find lower values of the Bethe approximation, and label worse here.
    let parameters = Parameters {
        batch: Some(3),
        eta0: Some(1e-4),
        mu: Some(1e-3),
        lambda: Some(0.9),
        updates: Some(Updates::Dense),
        ..Parameters::default()
    };
    let smd = Settings { optimizer: Method::Smd, parameters, passes: Some(10), ..Settings::default() };
    let (alone, joined) = (error(Neighbours::None, lbfgs()), error(Neighbours::Four, smd));
    println!("error: logistic {alone:.2} %  loopy-bp {joined:.2} %");
    assert!(joined < alone, "{joined} {alone}");
}
