//! Forward-backward in single precision on sixteen chains at a time.
//!
//! The quantities are those of [`super::chain`]. Each lane of the vectors runs through a stream of sequences, one after another: where one ends
//! the next begins, so that lanes hardly wait for each other. A product with M costs one operation for each of its entries and sixteen
//! tokens, and no entry without a weight costs anything.
//!
//! Rounding: α is normalised at every position, and so is α ∘ β, so errors do not grow with the length of a sequence. What remains is a
//! relative error of a few 2⁻²⁴ · max(labels^½, |ψ|), and of 2⁻²⁴·e^−w where a sparse product c·Σ + D cancels ([`DENSE_BELOW`]).

use super::many::{Many, Member};
use crate::graph::{BEGIN, Chain, END, PAIR, SharedSum, Table};
use crate::math::lanes::{self, Borders, Lanes, Lines, Pairs, TOGETHER, WIDE};

/// Every α and γ is at least exp(−spread)/labels². e^−60 stays above the smallest f32 (e^−87) with thousands of labels.
const SAFE_SPREAD: f64 = 60.0;
/// Beyond this, the rounding of a log-potential itself (2⁻²⁴ of it) matters.
const LARGEST: f32 = 100.0;
/// In a line with a weight below this, all pairs are multiplied: e^5·2⁻²⁴ ≈ 9e-6 is the largest relative error of c·Σ + D.
const DENSE_BELOW: f64 = -5.0;
/// The numbers of α in a group of sequences: together with γ they stay in the cache.
const GROUP: usize = 1 << 18;
/// The least number of sequences in a group, so that streams have about equal lengths.
const SEQUENCES: usize = 4 * WIDE;
/// If a sequence is longer than this share of all of its group, one at a time is faster: with a dense table, whose products fill vectors
/// anyway, and with a sparse one.
const BUSY: [usize; 2] = [8, 2];
/// A product of scales is turned into a logarithm when it leaves `1/LARGE … LARGE`.
const LARGE: f64 = 1e200;

/// M in both orientations.
#[derive(Debug)]
enum Matrix {
    /// All entries, `[labels][stride]`.
    Dense { m: Vec<f32>, mt: Vec<f32>, stride: usize },
    /// The lines of a sparse table.
    Sparse { columns: Lines, rows: Lines },
}

/// The engine, with the shared tables and scratch memory.
#[derive(Debug)]
pub(super) struct ChainLanes {
    matrix: Matrix,
    pairs: Pairs,
    /// Where the sum of each pair goes.
    place: Vec<u32>,
    begin: Vec<f32>,
    end: Vec<f32>,
    /// The shifts of one pair and of both boundaries.
    shift: [f64; 2],
    /// The spread of the shared tables; ∞ if they do not suit single precision.
    spread: f64,
    steps: Vec<Step>,
    /// e, later γ, and α: `[step][label]`.
    e: Vec<Lanes>,
    alpha: Vec<Lanes>,
    /// β, later μ, of a step.
    beta: Vec<Lanes>,
    /// α·γᵀ summed up for each pair.
    sums: Vec<Lanes>,
    /// max ψ and 1/c of each step.
    max: Vec<Lanes>,
    scale: Vec<Lanes>,
}

/// A position in every stream.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// The row of each lane in the array of own tables; the lane is idle if its weights and `member` are 0.
    row: [u32; WIDE],
    /// The number of its example plus 1.
    member: [u32; WIDE],
    borders: Borders,
    /// The weight of its example, and the same for the pair that ends here.
    weight: Lanes,
    pair_weight: Lanes,
}

impl Default for ChainLanes {
    fn default() -> Self {
        ChainLanes {
            matrix: Matrix::Sparse { columns: Lines::default(), rows: Lines::default() },
            pairs: Pairs::default(),
            place: Vec::new(),
            begin: Vec::new(),
            end: Vec::new(),
            shift: [0.0; 2],
            spread: f64::INFINITY,
            steps: Vec::new(),
            e: Vec::new(),
            alpha: Vec::new(),
            beta: Vec::new(),
            sums: Vec::new(),
            max: Vec::new(),
            scale: Vec::new(),
        }
    }
}

impl Many<Chain> for ChainLanes {
    fn prepare(&mut self, shared: &[Table<f64>]) {
        let (pair, begin, end) = (&shared[PAIR], &shared[BEGIN], &shared[END]);
        let labels = pair.labels;
        self.spread = match pair.steps == 1.0 && begin.steps == 1.0 && end.steps == 1.0 {
            true => pair.spread + begin.spread.max(end.spread),
            false => f64::INFINITY,
        };
        self.shift = [pair.shift, begin.shift + end.shift];
        narrow(&begin.exp.plane(0)[..labels], &mut self.begin);
        narrow(&end.exp.plane(0)[..labels], &mut self.end);
        match &pair.sparse {
            Some(_) => self.prepare_sparse(pair),
            None => {
                self.pairs.start = (0..=labels).map(|i| (i * labels) as u32).collect();
                self.pairs.column = (0..labels * labels).map(|k| (k % labels) as u32).collect();
                self.place =
                    (0..labels * labels).map(|k| (k / labels * pair.stride + k % labels) as u32).collect();
                let (mut m, mut mt) = (Vec::new(), Vec::new());
                narrow(pair.exp.plane(0), &mut m);
                narrow(pair.exp_t.plane(0), &mut mt);
                self.matrix = Matrix::Dense { m, mt, stride: pair.stride };
            }
        }
        self.sums.clear();
        self.sums.resize(self.pairs.column.len(), [0.0; WIDE]);
    }

    fn log_z(
        &mut self,
        members: &[Member<Chain>],
        own: &mut [f32],
        sum: &mut SharedSum<f64>,
        log_z: &mut [f64],
    ) {
        let labels = self.begin.len();
        let mut group: Vec<u32> = Vec::new();
        let mut size = 0;
        for (k, member) in members.iter().enumerate() {
            log_z[k] = match member.graph.len {
                0 => 0.0,
                _ if !self.suits(member, own) => f64::NAN,
                len => {
                    group.push(k as u32);
                    size += len * labels;
                    self.shift[1] + (len - 1) as f64 * self.shift[0]
                }
            };
            let full = size >= GROUP && group.len() >= SEQUENCES || k + 1 == members.len();
            if full && !group.is_empty() {
                group.sort_by_key(|&k| std::cmp::Reverse(members[k as usize].graph.len));
                let long = self.too_long(members, &group);
                group[..long].iter().for_each(|&k| log_z[k as usize] = f64::NAN);
                self.streams(members, &group[long..]);
                self.forward(own, log_z);
                self.backward(own);
                group.clear();
                size = 0;
            }
        }
        self.flush(members, own, sum, log_z);
    }
}

impl ChainLanes {
    /// Makes lines of a table of which few pairs have a weight.
    fn prepare_sparse(&mut self, pair: &Table<f64>) {
        let Some(sparse) = &pair.sparse else { return };
        let (labels, stride) = (pair.labels, pair.stride);
        let place = |entry: u32| (entry as usize / stride, entry as usize % stride);
        let count = |line: &dyn Fn(u32) -> usize| {
            let mut start = vec![0u32; labels + 1];
            sparse.entries.iter().for_each(|&entry| start[line(entry) + 1] += 1);
            (0..labels).for_each(|k| start[k + 1] += start[k]);
            start
        };
        self.pairs.start = count(&|entry| place(entry).0);
        self.place.clone_from(sparse.places());
        self.pairs.column = sparse.entries.iter().map(|&entry| place(entry).1 as u32).collect();
        let (log, exp, constant) = (sparse.logarithms(), sparse.exponentials(), sparse.constant());
        // By columns, the pairs of each; by rows they are in order already.
        let by_column = count(&|entry| place(entry).1);
        let mut next = by_column.clone();
        let mut order = vec![0u32; sparse.entries.len()];
        for (k, &entry) in sparse.entries.iter().enumerate() {
            let at = &mut next[place(entry).1];
            order[*at as usize] = k as u32;
            *at += 1;
        }
        let lines =
            |start: &[u32], pair_of: &dyn Fn(usize) -> usize, input: &dyn Fn(u32) -> usize, all: &[f64]| {
                let mut lines = Lines { start: vec![0], ..Lines::default() };
                for line in 0..labels {
                    let pairs = (start[line] as usize..start[line + 1] as usize).map(pair_of);
                    let dense = pairs.clone().any(|k| log.at(k) < DENSE_BELOW);
                    if dense {
                        lines.across.extend(0..labels as u32);
                        lines.d.extend(all[line * stride..][..labels].iter().map(|x| *x as f32));
                    } else {
                        lines.across.extend(pairs.clone().map(|k| input(sparse.entries[k]) as u32));
                        lines.d.extend(pairs.map(|k| (exp.at(k) - constant) as f32));
                    }
                    lines.constant.push(if dense { 0.0 } else { constant as f32 });
                    lines.start.push(lines.d.len() as u32);
                }
                lines
            };
        let columns = lines(&by_column, &|at| order[at] as usize, &|e| place(e).0, pair.exp_t.plane(0));
        let rows = lines(&self.pairs.start, &|at| at, &|e| place(e).1, pair.exp.plane(0));
        self.matrix = Matrix::Sparse { columns, rows };
    }

    /// Whether single precision holds all numbers of an example. NaN does not suit.
    fn suits(&self, member: &Member<Chain>, own: &[f32]) -> bool {
        let Chain { len, labels, own_pairs, triples, segments } = *member.graph;
        let stride = member.graph.stride();
        let [low, high] = lanes::range(&own[member.start..member.start + len * stride], stride, labels);
        let spread = f64::from(high - low) + self.spread;
        !own_pairs
            && !triples
            && segments.is_none()
            && spread < SAFE_SPREAD
            && high < LARGEST
            && low > -LARGEST
    }

    /// How many of the first, longest examples of a group leave too many lanes without work.
    fn too_long(&self, members: &[Member<Chain>], group: &[u32]) -> usize {
        let busy = BUSY[usize::from(matches!(self.matrix, Matrix::Sparse { .. }))];
        let len = |k: &u32| members[*k as usize].graph.len;
        let mut total: usize = group.iter().map(len).sum();
        let lasts = |k: &&u32| {
            let lasts = total < busy * len(k);
            total -= if lasts { len(k) } else { 0 };
            lasts
        };
        group.iter().take_while(lasts).count()
    }

    /// Distributes the examples of a group over the lanes: the longest first, each to the lane that is shortest so far.
    fn streams(&mut self, members: &[Member<Chain>], group: &[u32]) {
        self.steps.clear();
        let mut used = [0; WIDE];
        for &k in group.iter() {
            let member = &members[k as usize];
            let (len, stride, weight) = (member.graph.len, member.graph.stride(), member.weight as f32);
            let lane = (0..WIDE).min_by_key(|&lane| used[lane]).unwrap_or(0);
            let start = used[lane];
            used[lane] += len;
            if self.steps.len() < start + len {
                // A lane without an example begins and ends at every step, with weight 0.
                let idle = Borders { first: [1.0; WIDE], last: [1.0; WIDE] };
                self.steps.resize(start + len, Step { borders: idle, ..Step::default() });
            }
            for (t, step) in self.steps[start..start + len].iter_mut().enumerate() {
                step.row[lane] = (member.start + t * stride) as u32;
                step.member[lane] = k + 1;
                step.borders.first[lane] = f32::from(u8::from(t == 0));
                step.borders.last[lane] = f32::from(u8::from(t + 1 == len));
                step.weight[lane] = weight;
                step.pair_weight[lane] = if t == 0 { 0.0 } else { weight };
            }
        }
    }

    /// Fills e and α, and adds to log Z.
    fn forward(&mut self, own: &[f32], log_z: &mut [f64]) {
        let labels = self.begin.len();
        let size = self.steps.len() * labels;
        for array in [&mut self.e, &mut self.alpha] {
            array.resize(size.max(array.len()), [0.0; WIDE]);
        }
        self.beta.resize(labels, [0.0; WIDE]);
        self.max.resize(self.steps.len(), [0.0; WIDE]);
        self.scale.resize(self.steps.len(), [0.0; WIDE]);
        for (t, step) in self.steps.iter().enumerate() {
            let e = &mut self.e[t * labels..(t + 1) * labels];
            for lane in 0..WIDE {
                if step.member[lane] == 0 {
                    e.iter_mut().for_each(|e| e[lane] = 0.0);
                } else {
                    let row = &own[step.row[lane] as usize..][..labels];
                    e.iter_mut().zip(row).for_each(|(e, u)| e[lane] = *u);
                }
            }
            lanes::exp(e, &mut self.max[t]);
            let (before, alpha) = self.alpha.split_at_mut(t * labels);
            let alpha = &mut alpha[..labels];
            match before.len().checked_sub(labels) {
                None => alpha.fill([0.0; WIDE]),
                Some(from) => self.matrix.row_product(&before[from..], alpha),
            }
            self.scale[t] = lanes::advance(alpha, e, [&self.begin, &self.end], &step.borders);
        }
        let mut product = [1.0; WIDE];
        for (t, step) in self.steps.iter().enumerate() {
            for lane in (0..WIDE).filter(|&lane| step.member[lane] > 0) {
                let log_z = &mut log_z[step.member[lane] as usize - 1];
                *log_z += f64::from(self.max[t][lane]);
                product[lane] *= f64::from(self.scale[t][lane]);
                if product[lane] > LARGE || product[lane] < 1.0 / LARGE || step.borders.last[lane] > 0.0 {
                    *log_z -= product[lane].ln();
                    product[lane] = 1.0;
                }
            }
        }
    }

    /// Writes weight × marginals to `own`, and adds α γᵀ to the sums of the pairs.
    fn backward(&mut self, own: &mut [f32]) {
        let labels = self.begin.len();
        for (t, step) in self.steps.iter().enumerate().rev() {
            let (e, after) = self.e.split_at_mut((t + 1) * labels);
            if t + 1 < self.steps.len() {
                self.matrix.column_product(&after[..labels], &mut self.beta);
            }
            let factors = [&step.borders.last, &self.scale[t], &step.weight];
            let alpha = &self.alpha[t * labels..(t + 1) * labels];
            lanes::retreat(&mut self.beta, &mut e[t * labels..], alpha, &self.end, factors);
            for lane in (0..WIDE).filter(|&lane| step.member[lane] > 0) {
                let row = &mut own[step.row[lane] as usize..][..labels];
                row.iter_mut().zip(&self.beta).for_each(|(mu, beta)| *mu = beta[lane]);
            }
        }
        let pairs = self.steps.len().saturating_sub(1);
        for t in 0..pairs {
            lanes::scale(&mut self.alpha[t * labels..(t + 1) * labels], &self.steps[t + 1].pair_weight);
        }
        for first in (0..pairs).step_by(TOGETHER) {
            let end = pairs.min(first + TOGETHER);
            let (alpha, gamma) = (&self.alpha[first * labels..end * labels], &self.e[(first + 1) * labels..]);
            let gamma = &gamma[..alpha.len()];
            lanes::outer_add(alpha, gamma, labels, &self.pairs, &mut self.sums);
        }
    }

    /// Adds the sums of the pairs, and the marginals of first and last labels, in double precision.
    fn flush(&mut self, members: &[Member<Chain>], own: &[f32], sum: &mut SharedSum<f64>, log_z: &[f64]) {
        let total = |lanes: &Lanes| lanes.iter().map(|x| f64::from(*x)).sum::<f64>();
        let labels = self.begin.len();
        let table = &mut sum.0[PAIR];
        let pairs = match &self.matrix {
            Matrix::Sparse { .. } => &mut table.pairs,
            Matrix::Dense { .. } => &mut table.outer,
        };
        for (&place, sum) in self.place.iter().zip(&self.sums) {
            pairs.add(place as usize, total(sum));
        }
        self.sums.fill([0.0; WIDE]);
        for (member, log_z) in members.iter().zip(log_z) {
            let (len, stride) = (member.graph.len, member.graph.stride());
            if len > 0 && !log_z.is_nan() {
                for (table, t) in [(BEGIN, 0), (END, len - 1)] {
                    for (j, mu) in own[member.start + t * stride..][..labels].iter().enumerate() {
                        sum.0[table].direct.add(j, f64::from(*mu));
                    }
                }
            }
        }
    }
}

impl Matrix {
    /// out ← x M.
    fn row_product(&self, x: &[Lanes], out: &mut [Lanes]) {
        match self {
            Matrix::Dense { m, stride, .. } => lanes::product(x, m, *stride, out),
            Matrix::Sparse { columns, .. } => lanes::product_of_lines(x, columns, out),
        }
    }

    /// out ← M x.
    fn column_product(&self, x: &[Lanes], out: &mut [Lanes]) {
        match self {
            Matrix::Dense { mt, stride, .. } => lanes::product(x, mt, *stride, out),
            Matrix::Sparse { rows, .. } => lanes::product_of_lines(x, rows, out),
        }
    }
}

/// out ← x in single precision.
fn narrow(x: &[f64], out: &mut Vec<f32>) {
    out.clear();
    out.extend(x.iter().map(|x| *x as f32));
}
