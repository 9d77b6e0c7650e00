//! Patches, arrays and their features: NumPy's files, built-in features of pictures, numbers of pairs.

use crate::archives::{Method as Zip, npz};
use crfkit::data::images::{Image, Mask};
use crfkit::data::sites::{PairFeatures, Sites};
use crfkit::graph::Neighbours;
use crfkit::grid::{Decode, Engine, GridBuilder, GridDomain, GridTagger, SiteFeatures, SiteNumbers, Tables};
use crfkit::math::random::Random;
use crfkit::train::{self, Init, Method, Settings, TrainOptions};
use std::sync::Arc;

/// A file as `numpy.save` writes it, of version 1.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    file
}

/// Float64 in C order.
fn doubles(shape: &str, values: &[f64]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f8", false, shape, &data)
}

fn image(bytes: &[u8]) -> Image {
    Image::read(bytes, "a.npy").unwrap()
}

fn refused(bytes: &[u8]) -> String {
    Sites::read(bytes, "a.npz").unwrap_err().to_string()
}

#[test]
fn arrays_of_every_type_and_order_are_read() {
    let expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let whole = |bytes: &dyn Fn(u8) -> Vec<u8>| (1..=6).flat_map(bytes).collect::<Vec<u8>>();
    let cases: [(&str, Vec<u8>); 11] = [
        ("|u1", whole(&|n| vec![n])),
        ("|i1", whole(&|n| vec![n])),
        ("<u2", whole(&|n| vec![n, 0])),
        (">i2", whole(&|n| vec![0, n])),
        ("<i4", whole(&|n| i32::from(n).to_le_bytes().to_vec())),
        (">u4", whole(&|n| u32::from(n).to_be_bytes().to_vec())),
        ("<i8", whole(&|n| i64::from(n).to_le_bytes().to_vec())),
        ("<u8", whole(&|n| u64::from(n).to_le_bytes().to_vec())),
        ("<f4", whole(&|n| f32::from(n).to_le_bytes().to_vec())),
        (">f8", whole(&|n| f64::from(n).to_be_bytes().to_vec())),
        ("<f2", [0x3c00u16, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600].map(u16::to_le_bytes).concat()),
    ];
    for (descr, data) in &cases {
        let read = image(&npy(descr, false, "(1, 2, 3)", data));
        assert_eq!((read.height, read.width, read.channels), (1, 2, 3), "{descr}");
        assert_eq!(read.values, expected, "{descr}");
        // The same bytes with the first index running fastest.
        let read = image(&npy(descr, true, "(2, 3)", data));
        assert_eq!((read.height, read.width, read.channels), (2, 3, 1), "{descr}");
        assert_eq!(read.values, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0], "{descr}");
    }
    let fortran = image(&npy("|u1", true, "(1, 2, 3)", &[1, 4, 2, 5, 3, 6]));
    assert_eq!(fortran.values, expected);
    assert_eq!(image(&npy("|i1", false, "(1, 1)", &[0xff])).values, [-1.0]);
    let negative = (-2i64).to_le_bytes();
    assert_eq!(image(&npy("<i8", false, "(1, 1)", &negative)).values, [-2.0]);
}

#[test]
fn masks_may_be_arrays_of_whole_numbers() {
    let mask = Mask::read(&npy("<i4", false, "(1, 2)", &[7, 0, 0, 0, 255, 0, 0, 0])[..], "m.npy").unwrap();
    assert_eq!(mask, Mask { height: 1, width: 2, values: vec![7, 255] });
    let truths = Mask::read(&npy("|b1", false, "(2, 1)", &[1, 0])[..], "m.npy").unwrap();
    assert_eq!(truths, Mask { height: 2, width: 1, values: vec![1, 0] });
    let many = Mask::read(&npy("<u2", false, "(1, 2)", &[44, 1, 255, 255])[..], "m.npy").unwrap();
    assert_eq!(many.values, [300, 65535]);
    let again = Mask::read(&many.to_png().unwrap()[..], "m.png").unwrap();
    assert_eq!(again, many, "16 bits per pixel");
    let refused = |bytes: &[u8]| Mask::read(bytes, "m.npy").unwrap_err().to_string();
    assert!(refused(&npy("<i4", false, "(1, 1)", &[0, 0, 1, 0])).contains("the value 65536"));
    assert!(
        refused(&doubles("(1, 1)", &[1.0])).starts_with("m.npy: the mask has numbers that are not whole")
    );
    assert!(refused(&npy("|i1", false, "(1, 1)", &[0xff])).contains("the value -1"));
    assert!(refused(&npy("|u1", false, "(1, 1, 1, 1)", &[0])).contains("(height, width)"));
    assert!(refused(&npy("|u1", false, "(1, 1, 1)", &[1])).contains("sets of labels"));
    assert!(refused(&npy("|u1", false, "(0, 3)", &[])).contains("no pixels"));
    assert!(refused(&npz(&[], Zip::Stored)).contains("m.npy: "));
}

#[test]
fn bad_arrays_are_refused_with_their_names() {
    let good = doubles("(1, 2, 1)", &[1.0, 2.0]);
    for end in 0..good.len() {
        assert!(
            Sites::read(&good[..end], "cut.npy").unwrap_err().to_string().starts_with("cut.npy: "),
            "{end}"
        );
    }
    assert!(
        refused(&[&good[..], b"x"].concat())
            .starts_with("a.npz: 17 bytes of numbers, but its shape [1, 2, 1] needs 16")
    );
    assert!(refused(&npy("<c16", false, "(1, 1)", &[0; 16])).contains("the type <c16"));
    assert!(refused(&npy("|O", false, "(1, 1)", &[0; 8])).contains("the type |O"));
    assert!(refused(&npy("|u1", false, "(3,)", &[0; 3])).contains("its shape is [3]"));
    assert!(refused(&npy("|u1", false, "(99999999999, 99999999999)", &[])).contains("too large"));
    assert!(refused(&npy("|u1", false, "(-1, 2)", &[])).contains("shape"));
    assert!(refused(&npy("|u1", false, "(0, 2)", &[])).contains("no pixels"));
    let header = "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 1), }\n";
    let length = (header.len() as u16).to_le_bytes();
    let records: Vec<u8> = [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), &[0; 4]].concat();
    assert!(refused(&records).contains("records"));
    let newer: Vec<u8> = [&b"\x93NUMPY\x09\x00"[..], &good[8..]].concat();
    assert!(refused(&newer).contains("version 9"));
}

/// Two sites beside each other over two below, in an archive.
fn square(more: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let nodes = ("nodes", doubles("(2, 2, 1)", &[1.0, 2.0, 4.0, 8.0]));
    npz(&[&[nodes][..], more].concat(), Zip::Deflated)
}

#[test]
fn archives_have_numbers_of_sites_and_of_pairs() {
    let pair = |sites: &Sites, i: usize, j: usize| sites.pair(i, j).collect::<Vec<f64>>();
    let plain = Sites::read(&square(&[])[..], "a.npz").unwrap();
    assert_eq!((pair(&plain, 0, 1), pair(&plain, 1, 3)), (vec![1.0], vec![6.0]));

    let compare = doubles("(2, 2, 2)", &[0.0, 0.0, 1.0, -1.0, 2.0, 3.0, 5.0, 8.0]);
    let compared = Sites::read(&square(&[("compare", compare)])[..], "a.npz").unwrap();
    assert_eq!((compared.nodes.channels, compared.pair_channels()), (1, 2));
    assert_eq!(pair(&compared, 0, 1), [1.0, 1.0]);
    assert_eq!(pair(&compared, 1, 3), [4.0, 9.0]);

    let [horizontal, vertical] =
        [("(2, 1)", [10.0, 20.0]), ("(1, 2)", [30.0, 40.0])].map(|(s, v)| doubles(s, &v));
    let given = square(&[("horizontal", horizontal.clone()), ("vertical", vertical.clone())]);
    let given = Sites::read(&given[..], "a.npz").unwrap();
    let all = [(0, 1), (2, 3), (0, 2), (1, 3)].map(|(i, j)| pair(&given, i, j)).concat();
    assert_eq!(all, [10.0, 20.0, 30.0, 40.0]);

    assert!(refused(&square(&[("horizontal", horizontal.clone())])).contains("`horizontal` and `vertical`"));
    assert!(
        refused(&square(&[("horizontal", vertical), ("vertical", horizontal)]))
            .contains("but must have [2, 1, 1]")
    );
    assert!(refused(&square(&[("edges", doubles("(1, 1)", &[0.0]))])).contains("`edges`"));
    assert!(refused(&square(&[("compare", doubles("(1, 1)", &[0.0]))])).contains("must have [2, 2, 1]"));
    let hole = doubles("(2, 2, 1)", &[1.0, 2.0, f64::NAN, 4.0]);
    assert!(refused(&square(&[("compare", hole)])).starts_with("a.npz: row 1, column 0, number 0 is NaN"));
    let none = npz(&[("x", doubles("(1, 1)", &[0.0]))], Zip::Stored);
    assert!(refused(&none).contains("no array `nodes`"));
    let whole = square(&[]);
    for end in (4..whole.len()).step_by(5) {
        assert!(refused(&whole[..end]).starts_with("a.npz: "));
    }
}

#[test]
fn patches_have_means_and_expansions() {
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    let given: Sites = Image { height: 4, width: 5, channels: 1, values }.into();
    let describe = |numbers, patch, quadratic| SiteFeatures { numbers, patch, quadratic }.extract(&given);
    let means = describe(SiteNumbers::Values, 2, false).unwrap().into_owned();
    // The fifth column is left out.
    assert_eq!((means.nodes.height, means.nodes.width), (2, 2));
    assert_eq!(means.nodes.values, [3.0, 5.0, 13.0, 15.0]);
    assert!(describe(SiteNumbers::Values, 6, false).unwrap_err().contains("less than one patch"));

    let colours: Sites =
        Image { height: 1, width: 2, channels: 3, values: vec![1.0, 0.0, 0.0, 0.5, 0.5, 0.5] }.into();
    let grey = SiteFeatures { numbers: SiteNumbers::Intensity, ..SiteFeatures::default() };
    let grey = grey.extract(&colours).unwrap().into_owned().nodes;
    assert_eq!(grey.channels, 1);
    assert!((grey.values[0] - 0.2126).abs() < 1e-12 && (grey.values[1] - 0.5).abs() < 1e-12);

    let quadratic = SiteFeatures { quadratic: true, ..SiteFeatures::default() };
    let wide = quadratic.extract(&colours).unwrap().into_owned();
    assert_eq!(wide.nodes.pixel(1), [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]);
    assert_eq!(wide.pair(0, 1).collect::<Vec<_>>(), [0.5, 0.5, 0.5], "pairs compare the numbers themselves");
    let large: Sites = Image { height: 1, width: 1, channels: 1, values: vec![1e200] }.into();
    assert!(quadratic.extract(&large).unwrap_err().contains("finite"));
}

/// Waves of this direction, in parts of π, in a picture of 32 × 32 pixels.
fn waves(directions: &[f64]) -> Sites {
    let mut values = vec![0.5; 32 * 32];
    for (i, value) in values.iter_mut().enumerate() {
        let (y, x) = ((i / 32) as f64, (i % 32) as f64);
        for direction in directions {
            let (sin, cos) = (std::f64::consts::PI * direction).sin_cos();
            *value += 0.25 * (0.8 * (cos * x + sin * y)).sin();
        }
    }
    Image { height: 32, width: 32, channels: 1, values }.into()
}

#[test]
fn orientations_are_those_of_the_edges() {
    let features = SiteFeatures { numbers: SiteNumbers::Orientations, patch: 16, quadratic: false };
    let describe = |sites: &Sites| features.extract(sites).unwrap().into_owned();
    for direction in [0.15, 0.49, 0.83] {
        let sites = describe(&waves(&[direction]));
        assert_eq!((sites.nodes.height, sites.nodes.width, sites.nodes.channels), (2, 2, 5));
        assert_eq!(sites.pair_channels(), 14);
        for site in 0..4 {
            let x = sites.nodes.pixel(site);
            assert!(x[1] > x[0] && x[2] > x[0] && (x[3] - direction).abs() < 0.03, "{direction}: {x:?}");
        }
    }
    // Two directions at a right angle make a corner.
    let corner = describe(&waves(&[0.11, 0.61]));
    for site in 0..4 {
        let x = corner.nodes.pixel(site);
        assert!(x[4] > 0.9, "{x:?}");
    }
    // An even surface has no edges.
    let even: Sites = Image { height: 32, width: 32, channels: 1, values: vec![0.1; 1024] }.into();
    assert_eq!(describe(&even).nodes.values, vec![0.0; 20]);
    // Those of section 5.2: 21 features of a site, 15 of a pair.
    let paper = SiteFeatures { quadratic: true, ..features };
    let layout = GridDomain::new(vec![0, 1], paper, &waves(&[0.2]), "test").unwrap();
    let layout = GridDomain { tables: Tables::Ising, ..layout };
    assert_eq!(layout.all_features().dim(), 21 + 15);
    assert!(SiteFeatures { patch: 1, ..features }.check().is_err());
}

/// Where the pairs' own numbers tell where labels change, a model that reads them finds the borders; so they reach the right pairs.
#[test]
fn numbers_of_pairs_are_learnt_from() {
    let mut random = Random::new(5);
    let (height, width) = (6, 7);
    let mut picture = || {
        let border = 1 + random.below(width - 1);
        let labels: Vec<u16> = (0..height * width).map(|i| u16::from(i % width >= border)).collect();
        // Only the first row shows its label.
        let noisy = |i: usize| if i < width { f64::from(labels[i]) - 0.5 } else { 0.0 };
        let nodes = Image { height, width, channels: 1, values: (0..labels.len()).map(noisy).collect() };
        let edge = |i: usize| f64::from(i % (width - 1) == border - 1);
        let horizontal = Image {
            height,
            width: width - 1,
            channels: 1,
            values: (0..height * (width - 1)).map(edge).collect(),
        };
        let vertical =
            Image { height: height - 1, width, channels: 1, values: vec![0.0; (height - 1) * width] };
        let sites = Sites { nodes, pairs: PairFeatures::Given { horizontal, vertical } };
        (sites, Mask { height, width, values: labels })
    };
    let all: Vec<(Sites, Mask)> = (0..12).map(|_| picture()).collect();
    let layout = GridDomain::new(vec![0, 1], SiteFeatures::default(), &all[0].0, "test").unwrap();
    let mut builder = GridBuilder::new(layout.clone()).unwrap();
    all[..8].iter().for_each(|(sites, mask)| builder.add(sites, mask, "test").unwrap());
    let settings = Settings {
        optimizer: Method::Lbfgs,
        passes: Some(30),
        inference: Some(Engine::Exact),
        init: Init::Logistic,
        ..Settings::default()
    };
    let corpus = builder.finish().unwrap();
    let features = train::features(&corpus, &settings);
    let trained = train::train(corpus, features, &settings, TrainOptions::default(), &mut ()).unwrap();
    let mut tagger = GridTagger::new(Arc::new(trained.model));
    for (sites, mask) in &all[8..] {
        tagger.load_image(sites, "test").unwrap();
        let labels = tagger.labels(Decode::MaxMarginal).unwrap().to_vec();
        assert_eq!(&tagger.mask(&labels), mask);
    }
    let eight = GridDomain { neighbours: Neighbours::Eight, ..layout.clone() };
    let refuse = |layout: GridDomain, sites: &Sites| {
        GridBuilder::new(layout).unwrap().add(sites, &all[0].1, "p").unwrap_err().to_string()
    };
    assert!(refuse(eight, &all[0].0).contains("join four"));
    let patches =
        GridDomain { sites: SiteFeatures { patch: 2, ..SiteFeatures::default() }, ..layout.clone() };
    assert!(refuse(patches, &all[0].0).contains("p: it has numbers of pairs"));
    let compare = Image { channels: 2, values: vec![0.0; 2 * height * width], ..all[0].0.nodes };
    let other = Sites { nodes: all[0].0.nodes.clone(), pairs: PairFeatures::Compared(compare) };
    assert!(refuse(layout, &other).contains("in training, but it has other ones: give them"));
}
