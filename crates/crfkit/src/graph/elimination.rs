//! The order in which the variables of a graph are eliminated: min-fill, with costs that are kept up to date instead of recomputed.

use std::collections::BTreeSet;

/// The graph that is left while variables are eliminated one after the other, always the one that joins the fewest new pairs (of equal
/// ones the one with the fewest neighbours, then the first).
///
/// A variable with d neighbours, t pairs of which are joined, joins d(d − 1)/2 − t new pairs. Both numbers change only where an edge
/// comes or goes. A new edge makes one triangle with each common neighbour of its ends, found by going through the shorter list of
/// neighbours; an eliminated variable takes d − 1 triangles from each neighbour, which all are joined by then. So the leaf of a
/// star costs a constant, however many others there are.
pub(super) struct Elimination {
    neighbours: Vec<BTreeSet<usize>>,
    /// t of each variable.
    joined: Vec<usize>,
    /// By cost, as in [`Elimination::cost`], with the variable's number.
    queue: BTreeSet<(usize, usize, usize)>,
    /// The number of neighbours visited so far, which is the cost up to a logarithm.
    looks: usize,
}

impl Elimination {
    /// Over `n` variables, those of each scope joined with one another.
    pub(crate) fn new<'a>(n: usize, scopes: impl Iterator<Item = &'a [usize]>) -> Self {
        let mut neighbours = vec![BTreeSet::new(); n];
        for vars in scopes {
            for &v in vars {
                neighbours[v].extend(vars.iter().copied().filter(|&w| w != v));
            }
        }
        let mut left = Elimination { neighbours, joined: vec![0; n], queue: BTreeSet::new(), looks: 0 };
        for v in 0..n {
            let later: Vec<usize> = left.neighbours[v].range(v + 1..).copied().collect();
            for w in later {
                // Every triangle has three edges, and each of them tells its third corner.
                left.common(v, w).into_iter().for_each(|u| left.joined[u] += 1);
            }
        }
        left.queue = (0..n).map(|v| left.cost(v)).collect();
        left
    }

    /// How many pairs of neighbours of `v` are not joined, how many neighbours it has, and its number.
    fn cost(&self, v: usize) -> (usize, usize, usize) {
        let degree = self.neighbours[v].len();
        (degree * degree.saturating_sub(1) / 2 - self.joined[v], degree, v)
    }

    /// The common neighbours of two variables.
    fn common(&mut self, v: usize, w: usize) -> Vec<usize> {
        let [a, b] = [&self.neighbours[v], &self.neighbours[w]];
        let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        self.looks += few.len();
        few.iter().copied().filter(|u| many.contains(u)).collect()
    }

    /// Takes the next variable out of the queue: its number, and its neighbours in ascending order. [`Elimination::remove`] follows.
    pub(crate) fn next(&mut self) -> Option<(usize, Vec<usize>)> {
        let (_, _, v) = self.queue.pop_first()?;
        Some((v, self.neighbours[v].iter().copied().collect()))
    }

    /// Joins the neighbours `around` of `v` with one another, and takes `v` out of the graph.
    pub(crate) fn remove(&mut self, v: usize, around: &[usize]) {
        let mut before = Vec::new();
        let mut stale = |left: &Self, w: usize| before.push(left.cost(w));
        around.iter().for_each(|&w| stale(self, w));
        let (missing, degree, _) = self.cost(v);
        if missing > 0 {
            for (k, &u) in around.iter().enumerate() {
                for &w in &around[k + 1..] {
                    self.looks += 1;
                    if self.neighbours[u].contains(&w) {
                        continue;
                    }
                    let common = self.common(u, w);
                    self.joined[u] += common.len();
                    self.joined[w] += common.len();
                    for x in common {
                        stale(self, x);
                        self.joined[x] += 1;
                    }
                    self.neighbours[u].insert(w);
                    self.neighbours[w].insert(u);
                }
            }
        }
        for &w in around {
            self.looks += 1;
            self.neighbours[w].remove(&v);
            self.joined[w] -= degree - 1;
        }
        // The first cost that was noted of a variable is the one in the queue; the others are not there.
        for cost in before {
            if self.queue.remove(&cost) {
                self.queue.insert(self.cost(cost.2));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// The order, and the looks that it took.
    fn order(n: usize, scopes: &[Vec<usize>]) -> (Vec<(usize, Vec<usize>)>, usize) {
        let mut left = Elimination::new(n, scopes.iter().map(|vars| &vars[..]));
        let mut order = Vec::new();
        while let Some((v, around)) = left.next() {
            left.remove(v, &around);
            order.push((v, around));
        }
        (order, left.looks)
    }

    /// Min-fill to the letter: all costs recomputed for every variable.
    fn literal(n: usize, scopes: &[Vec<usize>]) -> Vec<(usize, Vec<usize>)> {
        let mut joined = vec![vec![false; n]; n];
        for vars in scopes {
            for (&v, &w) in vars.iter().flat_map(|v| vars.iter().map(move |w| (v, w))) {
                joined[v][w] |= v != w;
            }
        }
        let mut left: BTreeSet<usize> = (0..n).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let around = |v: usize| left.iter().copied().filter(|&w| joined[v][w]).collect::<Vec<_>>();
            let missing = |v: usize| {
                let around = around(v);
                let pairs = around.iter().flat_map(|&u| around.iter().map(move |&w| (u, w)));
                pairs.filter(|&(u, w)| u < w && !joined[u][w]).count()
            };
            let v = *left.iter().min_by_key(|&&v| (missing(v), around(v).len())).unwrap();
            let around = around(v);
            for (&u, &w) in around.iter().flat_map(|u| around.iter().map(move |w| (u, w))) {
                joined[u][w] |= u != w;
            }
            left.remove(&v);
            order.push((v, around));
        }
        order
    }

    #[test]
    fn the_order_is_that_of_min_fill() {
        let mut rng = Random::new(3);
        for n in [1, 2, 3, 5, 8, 13, 20] {
            for factors in [0, n / 2, n, 2 * n, 4 * n] {
                let scope = |rng: &mut Random| {
                    let mut vars: Vec<usize> = (0..1 + rng.below(3)).map(|_| rng.below(n)).collect();
                    vars.sort_unstable();
                    vars.dedup();
                    vars
                };
                let scopes: Vec<Vec<usize>> = (0..factors).map(|_| scope(&mut rng)).collect();
                assert_eq!(order(n, &scopes).0, literal(n, &scopes), "{n} variables, {scopes:?}");
            }
        }
        let (side, mut scopes) = (5, Vec::new());
        for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
            let at = i * side + j;
            scopes.extend((j + 1 < side).then(|| vec![at, at + 1]));
            scopes.extend((i + 1 < side).then(|| vec![at, at + side]));
        }
        assert_eq!(order(side * side, &scopes).0, literal(side * side, &scopes), "a grid");
    }

    #[test]
    fn the_work_is_linear_where_the_width_is_bounded() {
        type Shape = fn(usize) -> Vec<Vec<usize>>;
        let shapes: [(&str, Shape); 6] = [
            ("star", |n| (1..n).map(|v| vec![0, v]).collect()),
            ("star with its centre last", |n| (0..n - 1).map(|v| vec![v, n - 1]).collect()),
            ("chain", |n| (1..n).map(|v| vec![v - 1, v]).collect()),
            ("ladder", |n| {
                let rails = (2..n).map(|v| vec![v - 2, v]);
                rails.chain((0..n / 2).map(|v| vec![2 * v, 2 * v + 1])).collect()
            }),
            ("tree", |n| (1..n).map(|v| vec![(v - 1) / 2, v]).collect()),
            ("wheel", |n| {
                let rim = (2..n).map(|v| vec![v - 1, v]);
                rim.chain([vec![1, n - 1]]).chain((1..n).map(|v| vec![0, v])).collect()
            }),
        ];
        for (name, shape) in shapes {
            for n in [1000, 2000, 4000] {
                let (order, looks) = order(n, &shape(n));
                assert_eq!(order.len(), n);
                assert!(looks <= 20 * n, "{name} of {n}: {looks} looks");
            }
        }
    }
}
