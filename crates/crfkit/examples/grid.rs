//! Learns to clean noisy images: each pixel has a label, which depends on those of its neighbours.
//!
//! `cargo run -p crfkit --example grid`

use crfkit::Trainer;
use crfkit::data::images::{Image, Mask};
use crfkit::grid::{Decode, GridBuilder, GridDomain, GridImage, GridTagger, SiteFeatures};
use crfkit::math::random::Random;
use crfkit::tag::Judgement;
use crfkit::train::Kind;
use std::sync::Arc;

const SIDE: usize = 12;

/// A disc under noise, and the disc itself.
fn picture(random: &mut Random, number: usize) -> GridImage {
    let (x, y) = (3.0 + 6.0 * random.uniform(), 3.0 + 6.0 * random.uniform());
    let inside = |pixel: usize| {
        let (row, column) = ((pixel / SIDE) as f64, (pixel % SIDE) as f64);
        u16::from((column - x).powi(2) + (row - y).powi(2) < 12.0)
    };
    let truth: Vec<u16> = (0..SIDE * SIDE).map(inside).collect();
    let noisy = truth.iter().map(|&t| f64::from(t) + 1.2 * (random.uniform() - 0.5) * 2.0).collect();
    let sites = Image { height: SIDE, width: SIDE, channels: 1, values: noisy }.into();
    let mask = Some(Mask { height: SIDE, width: SIDE, values: truth });
    GridImage { mask, ..GridImage::new(sites, &format!("image {number}")) }
}

fn main() -> crfkit::Result<()> {
    let mut random = Random::new(1);
    let pictures: Vec<GridImage> = (0..12).map(|number| picture(&mut random, number)).collect();
    let (train, test) = pictures.split_at(8);

    let domain = GridDomain::new(vec![0, 1], SiteFeatures::default(), &train[0].sites, &train[0].name)?;
    let mut builder = GridBuilder::new(domain)?;
    train.iter().try_for_each(|picture| builder.add_image(picture))?;
    let model = Trainer::for_kind(Kind::Grid).passes(20).train_corpus(builder.finish()?, None)?.model;

    let mut tagger = GridTagger::new(Arc::new(model));
    let mut judgement = Judgement::new(1);
    for picture in test {
        let labels = tagger.judge(picture, Decode::MaxMarginal, &mut judgement)?;
        for row in tagger.mask(&labels).values.chunks(SIDE) {
            println!("{}", row.iter().map(|&label| if label == 1 { '#' } else { '.' }).collect::<String>());
        }
        println!();
    }
    println!("{:.1} % of the pixels are right", judgement.overall().percent());
    Ok(())
}
