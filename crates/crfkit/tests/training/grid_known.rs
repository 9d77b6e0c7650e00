//! Images of whose labels something is known: sets of labels in training, restricted answers, and the arrays that say so.

use crate::corpora::Record;
use crfkit::answers::Answers;
use crfkit::data::images::{Image, Mask, MaskFile};
use crfkit::data::label_masks::LabelMask;
use crfkit::data::npz::{npy, npz};
use crfkit::data::sites::{PairFeatures, Sites};
use crfkit::domain::Dev;
use crfkit::graph::{Label, Neighbours};
use crfkit::grid::{
    Decode, Engine, GridBuilder, GridCorpus, GridDomain, GridImage, GridModel, GridTagger, SiteFeatures,
    Tables,
};
use crfkit::math::random::Random;
use crfkit::model::Precision;
use crfkit::tag::{Judgement, Tagger};
use crfkit::train::{Criterion, Kind, Method, Scaling, Settings, TrainOptions, TrainingObjective};
use std::sync::Arc;

const LABELS: usize = 3;
/// The possible labels of the six pixels of an image, 2 × 3: one, all, and some.
const SETS: [[bool; LABELS]; 6] = [
    [true, false, false],
    [true, true, true],
    [false, true, true],
    [true, true, true],
    [true, false, true],
    [false, false, true],
];

fn agrees(labels: &[Label]) -> bool {
    labels.iter().zip(SETS).all(|(label, set)| set[*label as usize])
}

fn sets() -> LabelMask {
    LabelMask::new(&[2, 3, LABELS], SETS.concat()).unwrap()
}

fn sites(random: &mut Random) -> Sites {
    let values = (0..6).map(|_| 2.0 * random.uniform() - 1.0).collect();
    Image { height: 2, width: 3, channels: 1, values }.into()
}

fn domain(sites: &Sites) -> GridDomain {
    GridDomain {
        tables: Tables::Full,
        ..GridDomain::new(vec![0, 1, 2], SiteFeatures::default(), sites, "x").unwrap()
    }
}

fn corpus(images: &[GridImage]) -> crfkit::Result<GridCorpus> {
    let mut builder = GridBuilder::new(domain(&images[0].sites))?;
    images.iter().try_for_each(|image| builder.add_image(image))?;
    builder.finish()
}

fn model(domain: GridDomain, random: &mut Random) -> Arc<GridModel> {
    let features = domain.all_features();
    let weights: Vec<f64> = (0..features.dim()).map(|_| 3.0 * random.uniform() - 1.5).collect();
    let settings = Settings::for_kind(Kind::Grid);
    Arc::new(GridModel { domain, features: features.into(), weights: weights.into(), settings })
}

/// All labellings of six pixels with their scores.
fn ranked(model: &Arc<GridModel>, sites: &Sites) -> Vec<(Vec<Label>, f64)> {
    let mut tagger = Tagger::new(model.clone());
    let answers = tagger.load(&GridImage::new(sites.clone(), "x")).unwrap();
    let labelling = |k: u32| (0..6).map(|v| k / 3u32.pow(v) % 3).collect::<Vec<Label>>();
    (0..729).map(labelling).map(|labels| (labels.clone(), answers.score(&labels))).collect()
}

fn log_sum<'a>(scores: impl Iterator<Item = &'a (Vec<Label>, f64)>) -> f64 {
    scores.map(|(_, score)| score.exp()).sum::<f64>().ln()
}

#[test]
fn sets_of_labels_are_summed_over() {
    let mut random = Random::new(41);
    for _ in 0..4 {
        let sites = sites(&mut random);
        let model = model(domain(&sites), &mut random);
        let image = GridImage { sets: Some(sets()), ..GridImage::new(sites.clone(), "x") };
        let settings = Settings {
            optimizer: Method::Lbfgs,
            inference: Some(Engine::Exact),
            sigma: f64::INFINITY,
            scaling: Scaling::None,
            ..Settings::for_kind(Kind::Grid)
        };
        let objective = TrainingObjective::new(corpus(&[image]).unwrap(), &settings, 1).unwrap();
        let all = ranked(&model, &sites);
        let expected = log_sum(all.iter()) - log_sum(all.iter().filter(|(labels, _)| agrees(labels)));
        let found = objective.value_grad(&model.weights).unwrap().0;
        assert!((found - expected).abs() < 1e-9, "{found} against {expected}");
    }
}

/// Every objective takes sets, those of one label or of all are what a mask says, and a pixel with several is not scored.
#[test]
fn every_objective_takes_sets_of_labels() {
    let mut random = Random::new(42);
    let sites = sites(&mut random);
    let some = GridImage { sets: Some(sets()), ..GridImage::new(sites.clone(), "x") };
    let known = |few: u16| Mask { height: 2, width: 3, values: vec![0, 9, few, 9, few, 2] };
    let plain = |few| GridImage { mask: Some(known(few)), ..GridImage::new(sites.clone(), "x") };
    let simple: Vec<bool> =
        [0, 7, 1, 7, 1, 2].iter().flat_map(|&y| (0..3).map(move |l| y == 7 || y == l)).collect();
    let simple = LabelMask::new(&[2, 3, LABELS], simple).unwrap();
    let simple = GridImage { sets: Some(simple), ..GridImage::new(sites.clone(), "x") };
    for objective in Criterion::ALL.into_iter().filter(|objective| objective.direction().is_none()) {
        for inference in [Engine::Exact, Engine::LoopyBp] {
            let train = |image: &GridImage| {
                let layout = GridDomain { unlabelled: Some(9), ..domain(&sites) };
                let mut builder = GridBuilder::new(layout).unwrap();
                builder.add_image(image).unwrap();
                let corpus = builder.finish().unwrap();
                let settings = Settings {
                    objective,
                    passes: Some(4),
                    inference: Some(inference),
                    ..Settings::for_kind(Kind::Grid)
                };
                let features = corpus.features(&settings);
                let start = TrainOptions { threads: 1, ..TrainOptions::default() };
                crfkit::train::train(corpus, features, &settings, start, &mut Record::default())
                    .unwrap()
                    .model
            };
            let bytes = |image: &GridImage| train(image).to_bytes(Precision::F64).unwrap();
            assert!(bytes(&simple) == bytes(&plain(1)), "{objective:?} {inference:?}");
            assert!(bytes(&some) != bytes(&plain(9)), "{objective:?} {inference:?} learns nothing from sets");
        }
    }
    let mut judgement = Judgement::new(1);
    Tagger::new(model(domain(&sites), &mut random))
        .judge(&some, Decode::MaxMarginal, &mut judgement)
        .unwrap();
    assert_eq!(judgement.overall().total, 2);
}

/// Exact answers are those given the restriction, by enumeration, and all decoders obey it.
#[test]
fn restricted_answers_equal_enumeration() {
    let mut random = Random::new(43);
    for round in 0..6 {
        let sites = sites(&mut random);
        let neighbours = [Neighbours::Four, Neighbours::Eight, Neighbours::None][round % 3];
        let model = model(GridDomain { neighbours, ..domain(&sites) }, &mut random);
        let free = GridImage::new(sites.clone(), "x");
        let image = GridImage { allowed: Some(sets()), ..free.clone() };
        let all = ranked(&model, &sites);
        let kept: Vec<_> = all.iter().filter(|(labels, _)| agrees(labels)).collect();
        let log_z = log_sum(kept.iter().copied());
        let best = kept.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
        let mut tagger = GridTagger::with_engine(model.clone(), Engine::Exact);
        let answers = tagger.load(&image).unwrap();
        for (v, label) in (0..6).flat_map(|v| (0..3).map(move |label| (v, label))) {
            let with = kept.iter().filter(|(labels, _)| labels[v] == label);
            let expected: f64 = with.map(|(_, score)| (score - log_z).exp()).sum();
            assert!((answers.probability_of(v, label).unwrap() - expected).abs() < 1e-9);
        }
        for decode in [Decode::Best, Decode::Exact] {
            let labels = answers.labels(decode).unwrap().to_vec();
            assert!(agrees(&labels) && (answers.score(&labels) - best).abs() < 1e-9, "{decode:?}");
        }
        for engine in Engine::ALL {
            let mut tagger = GridTagger::with_engine(model.clone(), engine);
            tagger.load(&image).unwrap();
            for decode in
                [Decode::MaxMarginal, Decode::Best, Decode::Icm, Decode::MaxProduct, Decode::AlphaExpansion]
            {
                assert!(agrees(tagger.labels(decode).unwrap()), "{engine:?} {decode:?}");
            }
            // The next image is free again.
            tagger.load(&free).unwrap();
            assert!(tagger.answers().probability_of(0, 1).unwrap() > 0.0);
        }
    }
}

fn bytes_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn arrays_have_sets_and_restrictions() {
    let truth: Vec<u8> = SETS.concat().into_iter().map(u8::from).collect();
    let array = npy("|b1", &[2, 3, 3], &truth);
    let weights = npy("<f8", &[2, 3], &bytes_of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(
        MaskFile::read(&array[..], "m").unwrap(),
        MaskFile { sets: Some(sets()), ..MaskFile::default() }
    );
    let archive = npz(&[("labels", array.clone()), ("weights", weights)]).unwrap();
    let file = MaskFile::read(&archive[..], "m").unwrap();
    assert_eq!((file.sets, file.mask, file.weights.unwrap()[5]), (Some(sets()), None, 6.0));
    let nodes = npy("<f8", &[2, 3], &bytes_of(&[0.0; 6]));
    let archive = npz(&[("nodes", nodes.clone()), ("allowed", array.clone())]).unwrap();
    let image = GridImage::read(&archive[..], "i").unwrap();
    assert_eq!((&image.allowed, &image.name[..]), (&Some(sets()), "i"));
    let model = model(domain(&image.sites), &mut Random::new(1));

    let refused = |found: crfkit::Result<MaskFile>| found.unwrap_err().to_string();
    for (shape, data, message) in [
        (&[2usize, 3, 3][..], [2].repeat(18), "it has 2.0 at [0, 0, 0]: 1 is a possible label"),
        (&[1, 2, 3], vec![1, 0, 0, 0, 0, 0], "no label is possible at [0, 1]"),
        (&[2, 3, 1], [1].repeat(6), "its last axis must have two or more labels"),
        (&[0, 3, 2], Vec::new(), "the image has no pixels"),
        (&[1, 1, 2, 2], [1].repeat(4), "not (height, width) or, for sets of labels, (height, width, labels)"),
    ] {
        let found = refused(MaskFile::read(&npy("|u1", shape, &data)[..], "m"));
        assert!(found.starts_with("m: ") && found.contains(&message.replace("2.0", "2")), "{found}");
    }
    let three = npz(&[("labels", array.clone()), ("weights", array.clone())]).unwrap();
    assert!(
        refused(MaskFile::read(&three[..], "m")).contains("`weights` has the shape [2, 3, 3], but [2, 3]")
    );
    assert!(Mask::read(&array[..], "m").unwrap_err().to_string().contains("sets of labels"));
    assert!(Sites::read(&archive[..], "i").unwrap_err().to_string().contains("leave it out"));
    assert!(LabelMask::new(&[2, 2], vec![true; 3]).is_err() && LabelMask::new(&[2], vec![true; 2]).is_err());

    // Restrictions are for answers, and must fit.
    for found in [
        corpus(&[GridImage {
            mask: Some(Mask { height: 2, width: 3, values: vec![0; 6] }),
            ..image.clone()
        }])
        .map(drop),
        Dev::from_inputs(&model.domain, std::slice::from_ref(&image)).map(drop),
    ] {
        let found = found.unwrap_err().to_string();
        assert!(found.starts_with("i: `allowed` restricts the answers of a model"), "{found}");
    }
    for shape in [[3, 2, 3], [2, 3, 2]] {
        let other = LabelMask::new(&shape, vec![true; shape.iter().product()]).unwrap();
        let wrong = GridImage { allowed: Some(other.clone()), ..image.clone() };
        let found = Tagger::new(model.clone()).load(&wrong).unwrap_err().to_string();
        assert!(found.contains("but [2, 3, 3] is needed here: the last axis"), "{found}");
        let wrong = GridImage { sets: Some(other), allowed: None, ..image.clone() };
        let found = corpus(std::slice::from_ref(&wrong)).unwrap_err().to_string();
        assert!(found.starts_with("i: `labels` has the shape"), "{found}");
        assert!(Dev::from_inputs(&model.domain, &[wrong]).is_err());
    }
    let mask = Some(Mask { height: 2, width: 3, values: vec![0; 6] });
    let both = GridImage { mask, sets: Some(sets()), allowed: None, ..image };
    assert!(corpus(&[both]).unwrap_err().to_string().contains("give one of both"));
}

/// A model applies only to images whose pairs have their numbers from where they came from in training.
#[test]
fn pairs_come_from_the_same_arrays_as_in_training() {
    let mut random = Random::new(44);
    let plain = sites(&mut random);
    let image =
        |height: usize, width: usize| Image { height, width, channels: 1, values: vec![0.5; height * width] };
    let given = PairFeatures::Given { horizontal: image(2, 2), vertical: image(1, 3) };
    let all = [
        plain.clone(),
        Sites { pairs: PairFeatures::Compared(image(2, 3)), ..plain.clone() },
        Sites { pairs: given, ..plain.clone() },
    ];
    for (trained, first) in all.iter().enumerate() {
        let model = model(domain(first), &mut random);
        // The file says it too.
        let model = Arc::new(GridModel::from_bytes(&model.to_bytes(Precision::F64).unwrap()).unwrap());
        for (given, sites) in all.iter().enumerate() {
            let found = GridTagger::new(model.clone()).load_image(sites, "x").map(drop);
            let Err(error) = found else {
                assert_eq!(trained, given);
                continue;
            };
            let remedy = if trained == 0 { ": leave them out" } else { ": give them" };
            assert!(trained != given && error.to_string().ends_with(remedy), "{error}");
        }
        // Models of version 0.1.0 do not say it, and take what they took.
        let old = GridDomain { pairs: None, ..model.domain.clone() };
        let old = Arc::new(GridModel { domain: old, ..GridModel::clone(&model) });
        for sites in &all {
            GridTagger::new(old.clone()).load_image(sites, "x").unwrap();
        }
    }
}
