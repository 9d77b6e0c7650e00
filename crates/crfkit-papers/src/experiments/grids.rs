//! Grid tasks: shapes that we draw with noise, and man-made structure in photographs. Both use the Ising form of
//! smd-crf-2006 section 5: φ_i = exp(y_i θ_ν·h_i), φ_ij = exp(y_i y_j θ_ε·h_ij), y = ±1.

use crate::corpora::{DENOISE, MANMADE};
use crate::experiment::Context;
use crate::graph_learning::GraphTask;
use crfkit::data::dataset::Dataset;
use crfkit::data::sites::{PairFeatures, Sites};
use crfkit::graph::build::PairTables;
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Grid, Label, NODES, Neighbours, UNLABELLED};
use crfkit::grid::{SiteFeatures, SiteNumbers};
use crfkit::infer::Tree;
use crfkit::loss::PartialLikelihood;
use crfkit::math::random::Random;
use crfkit::math::simd;
use crfkit::model::{Features, Keep, TableKind, TableShapes};
use crfkit::train::{Method, Settings};
use crfkit::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// One image: the features of its sites, from which the edge features follow, and the labels.
#[derive(Clone, Debug)]
pub struct Image {
    /// The numbers of rows and columns of sites.
    pub size: [usize; 2],
    /// h_i of each site, row by row.
    pub nodes: Vec<Vec<f64>>,
    /// The values that edge features compare: h_ij = [1, |m_i − m_j|].
    pub edges: Vec<Vec<f64>>,
    /// 0 for y = −1, 1 for y = 1, [`UNLABELLED`] if it is not known.
    pub labels: Vec<Label>,
}

impl Image {
    /// Some columns of the image.
    pub fn columns(&self, columns: std::ops::Range<usize>) -> Image {
        let [height, width] = self.size;
        let kept: Vec<usize> = (0..height * width).filter(|i| columns.contains(&(i % width))).collect();
        Image {
            size: [height, columns.len()],
            nodes: kept.iter().map(|&i| self.nodes[i].clone()).collect(),
            edges: kept.iter().map(|&i| self.edges[i].clone()).collect(),
            labels: kept.iter().map(|&i| self.labels[i]).collect(),
        }
    }

    /// The image with a neighbour's label, the upper one's if it is known, in place of a label that is not known.
    pub fn completed(mut self) -> Image {
        let width = self.size[1];
        for i in 0..self.labels.len() {
            if self.labels[i] == UNLABELLED {
                let known = |&j: &usize| self.labels[j] != UNLABELLED;
                let near = [i.wrapping_sub(width), i.wrapping_sub(1), i + 1, i + width];
                let near = near.into_iter().filter(|&j| j < self.labels.len()).find(known);
                self.labels[i] = near.map_or(0, |j| self.labels[j]);
            }
        }
        self
    }
}

/// y θ·h as a table of weights: −1 for label 0, 1 for label 1.
fn node_basis() -> Vec<Vec<f64>> {
    let mut table = vec![0.0; simd::padded(2)];
    table[..2].copy_from_slice(&[-1.0, 1.0]);
    vec![table]
}

/// y y' θ·h: 1 for equal labels, −1 for different ones.
fn edge_basis() -> Vec<Vec<f64>> {
    let stride = simd::padded(2);
    let mut table = vec![0.0; 2 * stride];
    table[..2].copy_from_slice(&[1.0, -1.0]);
    table[stride..stride + 2].copy_from_slice(&[-1.0, 1.0]);
    vec![table]
}

/// The grid of images of this size.
pub fn grid(size: [usize; 2]) -> Grid {
    let [height, width] = size;
    Grid {
        height,
        width,
        labels: 2,
        neighbours: Neighbours::Four,
        pairs: PairTables::Own,
        directions_tied: true,
    }
}

/// Images as graphs; without edges for logistic regression.
fn dataset(images: &[Image], edges: bool) -> Result<Dataset<FactorGraph>> {
    let mut graphs: HashMap<[usize; 2], FactorGraph> = HashMap::new();
    let mut data = Dataset::new();
    for image in images {
        let push = |data: &mut Dataset<FactorGraph>, h: &mut dyn Iterator<Item = f64>| {
            h.enumerate().for_each(|(k, value)| data.push_observation(k as u32, value));
            data.finish_table();
        };
        for h in &image.nodes {
            push(&mut data, &mut h.iter().copied());
        }
        let [height, width] = image.size;
        for i in 0..height * width {
            let (row, column) = (i / width, i % width);
            let steps = [(column + 1 < width, i + 1), (row + 1 < height, i + width)];
            for (_, j) in steps.into_iter().filter(|&(there, _)| edges && there) {
                let differences = image.edges[i].iter().zip(&image.edges[j]).map(|(a, b)| (a - b).abs());
                push(&mut data, &mut std::iter::once(1.0).chain(differences));
            }
        }
        let graph = match graphs.get(&image.size) {
            Some(graph) => graph.clone(),
            None if edges => grid(image.size).build()?,
            None => {
                let mut builder = FactorGraphBuilder::new(vec![2; height * width])?;
                for v in 0..height * width {
                    builder.add_own(NODES, &[v])?;
                }
                builder.build()?
            }
        };
        graphs.insert(image.size, graph.clone());
        data.finish_example(graph, image.labels.iter().copied(), 1.0);
    }
    Ok(data)
}

fn task(train: &[Image], test: &[Image], edges: bool) -> Result<GraphTask> {
    let (data, test_data) = (dataset(train, edges)?, dataset(test, edges)?);
    let widths = train.first().map_or([0; 2], |image| [image.nodes[0].len(), image.edges[0].len() + 1]);
    let node = TableKind { observations: widths[0], dense: 0, lines: 1, columns: 2, basis: node_basis() };
    let edge = TableKind { observations: widths[1], dense: 0, lines: 2, columns: 2, basis: edge_basis() };
    let kinds = if edges { vec![node, edge] } else { vec![node] };
    let features = Features::new(&data, TableShapes { kinds, node_kinds: 1, shared: Vec::new() }, Keep::All);
    Ok(GraphTask { data, test: test_data, features: Arc::new(features) })
}

/// A grid task, with its starting point: θ_ν from logistic regression, θ_ε = 0.5 (smd-crf-2006 section 5).
pub struct GridTask {
    /// The graphs.
    pub task: GraphTask,
    /// The starting point of training.
    pub start: Vec<f64>,
    /// The test images.
    pub test: Vec<Image>,
}

impl GridTask {
    /// Fits the logistic regression.
    pub fn new(train: &[Image], test: Vec<Image>) -> Result<Self> {
        let alone = task(train, &test, false)?;
        let settings = Settings { optimizer: Method::Lbfgs, ..Settings::default() };
        let zeros = vec![0.0; alone.features.dim()];
        let mut start = alone.learn(PartialLikelihood::new(Tree), &settings, zeros, &|_| 0.0)?.theta;
        let task = task(train, &test, true)?;
        start.resize(task.features.dim(), 0.5);
        Ok(GridTask { task, start, test })
    }

    /// The weights of logistic regression, without edges.
    pub fn logistic(&self) -> Vec<f64> {
        let edges = self.task.features.rows[1].base;
        self.start.iter().enumerate().map(|(i, &w)| if i < edges { w } else { 0.0 }).collect()
    }
}

/// A normal variate (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.uniform()).cos()
}

/// Shapes on a dark background (two to four discs, rectangles and triangles) with Gaussian noise: s_i = label +
/// sd·N(0, 1).
pub fn shapes(seed: u64, images: usize, side: usize, sd: f64) -> Vec<Image> {
    let mut random = Random::new(seed);
    let mut draw = || {
        let mut labels = vec![0; side * side];
        for _ in 0..2 + random.below(3) {
            let kind = random.below(3);
            let scale = side as f64;
            let [x, y, r] = [
                random.uniform() * scale,
                random.uniform() * scale,
                (0.08 + 0.14 * random.uniform()) * scale,
            ];
            let stretch = 0.5 + random.uniform();
            for (i, label) in labels.iter_mut().enumerate() {
                let (dx, dy) = ((i % side) as f64 - x, ((i / side) as f64 - y) * stretch);
                let inside = match kind {
                    0 => dx * dx + dy * dy < r * r,
                    1 => dx.abs() < r && dy.abs() < r,
                    _ => dy.abs() < r && dx.abs() < (r - dy) / 2.0,
                };
                *label |= Label::from(inside);
            }
        }
        let pixels: Vec<f64> = labels.iter().map(|&y| f64::from(y) + sd * normal(&mut random)).collect();
        noisy_image(side, &pixels, labels)
    };
    (0..images).map(|_| draw()).collect()
}

/// The features of a patch in section 5.2: 21 of a site, 15 of a pair.
pub const PATCHES: SiteFeatures =
    SiteFeatures { numbers: SiteNumbers::Orientations, patch: 16, quadratic: true };

/// The photographs: training and test images as in the authors' files.
pub fn manmade(context: &Context) -> Result<[Vec<Image>; 2]> {
    let labels = context.corpora.text(MANMADE.files[0])?;
    let mut sets: [Vec<Image>; 2] = Default::default();
    let bad = |what: &str| Error::Setting(format!("{}: {what}", MANMADE.name));
    let mut lines = labels.lines().filter(|line| !line.is_empty());
    while let Some(head) = lines.next() {
        let mut words = head.split_whitespace().skip(1);
        let (Some(number), Some(set)) = (words.next(), words.next()) else {
            return Err(bad("a head of labels is not `# number train|test`"));
        };
        let file = format!("grids/kh_manmade/images/{number}.jpg");
        let photograph = Sites::read(context.corpora.open(&file)?, &file)?;
        let sites = PATCHES.extract(&photograph).map_err(|why| bad(&format!("{file}: {why}")))?;
        let (nodes, PairFeatures::Compared(m)) = (&sites.nodes, &sites.pairs) else {
            unreachable!("pairs compare orientations");
        };
        let all = 0..nodes.height * nodes.width;
        let mut image = Image {
            size: [nodes.height, nodes.width],
            nodes: all.clone().map(|i| [&[1.0], nodes.pixel(i)].concat()).collect(),
            edges: all.map(|i| m.pixel(i).to_vec()).collect(),
            labels: Vec::new(),
        };
        for _ in 0..nodes.height {
            let row = lines.next().ok_or_else(|| bad("labels end early"))?;
            image.labels.extend(row.bytes().map(|digit| Label::from(digit != b'0')));
        }
        if image.labels.len() != image.nodes.len() {
            return Err(bad("a photograph has not one label for each patch"));
        }
        sets[usize::from(set == "test")].push(image);
    }
    Ok(sets)
}

/// Fifty noisy copies of one image.
pub fn denoise(context: &Context) -> Result<Vec<Image>> {
    let label = |pixel: u8| match pixel {
        b'?' => UNLABELLED,
        digit => Label::from(digit == b'1'),
    };
    let [labels, noisy] = [0, 1].map(|k| context.corpora.text(DENOISE.files[k]));
    let labels: Vec<Label> = labels?.lines().flat_map(str::bytes).map(label).collect();
    let side = labels.len().isqrt();
    let image = |block: &str| {
        let numbers = block.split_whitespace().skip(1).map(str::parse);
        let pixels: Vec<f64> = numbers
            .collect::<std::result::Result<_, _>>()
            .map_err(|why| Error::Setting(format!("{}: {why}", DENOISE.files[1])))?;
        if pixels.len() != labels.len() {
            return Err(Error::Setting(format!("{}: an image of another size", DENOISE.files[1])));
        }
        Ok(noisy_image(side, &pixels, labels.clone()))
    };
    noisy?.split('#').skip(1).map(image).collect()
}

/// h_i = [1, s_i], h_ij = [1, |s_i − s_j|].
fn noisy_image(side: usize, pixels: &[f64], labels: Vec<Label>) -> Image {
    Image {
        size: [side, side],
        nodes: pixels.iter().map(|&s| vec![1.0, s]).collect(),
        edges: pixels.iter().map(|&s| vec![s]).collect(),
        labels,
    }
}

/// Square grids without inputs, one for each labelling: h_i = [1], h_ij = [1].
pub fn sites(side: usize, labels: &[Vec<Label>]) -> Result<GraphTask> {
    let image = |labels: &Vec<Label>| Image {
        size: [side, side],
        nodes: vec![vec![1.0]; side * side],
        edges: vec![Vec::new(); side * side],
        labels: labels.clone(),
    };
    let images: Vec<Image> = labels.iter().map(image).collect();
    task(&images, &[], true)
}
