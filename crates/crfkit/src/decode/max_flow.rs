//! Maximum flow and minimum cut (Boykov and Kolmogorov 2004). Two search trees grow from source and sink until they
//! meet; the path between them is saturated, and the trees are repaired instead of rebuilt. This is fast on grids.

use std::collections::VecDeque;

/// Which tree a node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Free,
    Source,
    Sink,
}

/// How a node is attached to its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    None,
    /// Attached to the terminal itself.
    Terminal,
    /// Detached, waiting for a new parent.
    Orphan,
    /// Attached by this arc, which leads to the parent.
    Arc(u32),
}

/// A flow network: each node has a terminal capacity, and pairs of nodes have arcs in both directions.
#[derive(Debug, Default)]
pub(super) struct MaxFlow {
    /// The first arc of each node, and the end; the arcs of a node are adjacent.
    first: Vec<u32>,
    /// For each arc: the node it leads to, its residual capacity, and the reverse arc.
    head: Vec<u32>,
    residual: Vec<f64>,
    sister: Vec<u32>,
    /// The arc of each pair, in the order given.
    arc: Vec<u32>,
    /// Residual capacity: from the source if positive, to the sink if negative.
    terminal: Vec<f64>,
    side: Vec<Side>,
    parent: Vec<Parent>,
    /// When the distance to the terminal was last computed, and that distance.
    time: Vec<u32>,
    distance: Vec<u32>,
    now: u32,
    active: VecDeque<u32>,
    is_active: Vec<bool>,
    orphans: VecDeque<u32>,
}

/// The largest number of paths to fill per node and arc; a few are usual. Rounding could otherwise let capacities of very different sizes
/// send the same flow to and fro for ever.
const PATHS: usize = 64;

impl MaxFlow {
    /// Builds the network of `nodes` nodes and these pairs, with all capacities 0.
    pub(crate) fn build(&mut self, nodes: usize, pairs: impl Iterator<Item = [usize; 2]> + Clone) {
        self.first.clear();
        self.first.resize(nodes + 1, 0);
        for pair in pairs.clone() {
            pair.iter().for_each(|&v| self.first[v + 1] += 1);
        }
        for v in 0..nodes {
            self.first[v + 1] += self.first[v];
        }
        let arcs = self.first[nodes] as usize;
        let mut next = self.first.clone();
        self.head.resize(arcs, 0);
        self.sister.resize(arcs, 0);
        self.arc.clear();
        for [a, b] in pairs {
            let (forth, back) = (next[a], next[b]);
            (next[a], next[b]) = (forth + 1, back + 1);
            (self.head[forth as usize], self.head[back as usize]) = (b as u32, a as u32);
            (self.sister[forth as usize], self.sister[back as usize]) = (back, forth);
            self.arc.push(forth);
        }
        self.clear();
    }

    /// Sets all capacities to 0.
    pub(crate) fn clear(&mut self) {
        let nodes = self.first.len() - 1;
        self.residual.clear();
        self.residual.resize(self.head.len(), 0.0);
        self.terminal.clear();
        self.terminal.resize(nodes, 0.0);
    }

    /// Adds capacity, a finite number, from the source to `v` if positive, from `v` to the sink if negative.
    pub(crate) fn add_terminal(&mut self, v: usize, capacity: f64) {
        self.terminal[v] += capacity;
    }

    /// Adds capacity, finite and not negative, to the arc of a pair from its first to its second node.
    pub(crate) fn add_arc(&mut self, pair: usize, capacity: f64) {
        self.residual[self.arc[pair] as usize] += capacity;
    }

    /// After [`MaxFlow::run`]: whether `v` is on the sink side of the minimum cut that has the fewest such nodes.
    pub(crate) fn on_sink_side(&self, v: usize) -> bool {
        self.side[v] == Side::Sink
    }

    /// Fills the network. Gives up after so many paths that only rounding can be to blame: the cut is then one near the minimum.
    pub(crate) fn run(&mut self) {
        self.start();
        let mut paths = PATHS * (self.terminal.len() + self.head.len() + 1);
        while let Some(&v) = self.active.front() {
            let v = v as usize;
            if self.side[v] == Side::Free {
                self.active.pop_front();
                self.is_active[v] = false;
                continue;
            }
            let meeting = self.grow(v);
            self.now += 1;
            match meeting {
                // The node stays active: it may also touch the other tree elsewhere.
                Some(arc) => {
                    if paths == 0 {
                        return;
                    }
                    paths -= 1;
                    self.augment(arc);
                    while let Some(orphan) = self.orphans.pop_front() {
                        self.adopt(orphan as usize);
                    }
                }
                None => {
                    self.active.pop_front();
                    self.is_active[v] = false;
                }
            }
        }
    }

    fn start(&mut self) {
        let nodes = self.terminal.len();
        self.side.clear();
        self.side.resize(nodes, Side::Free);
        self.parent.clear();
        self.parent.resize(nodes, Parent::None);
        self.is_active.clear();
        self.is_active.resize(nodes, false);
        for list in [&mut self.time, &mut self.distance] {
            list.clear();
            list.resize(nodes, 0);
        }
        self.now = 0;
        self.active.clear();
        for v in 0..nodes {
            let capacity = self.terminal[v];
            if capacity != 0.0 {
                self.side[v] = if capacity > 0.0 { Side::Source } else { Side::Sink };
                self.parent[v] = Parent::Terminal;
                self.distance[v] = 1;
                self.activate(v);
            }
        }
    }

    fn activate(&mut self, v: usize) {
        if !self.is_active[v] {
            self.is_active[v] = true;
            self.active.push_back(v as u32);
        }
    }

    fn arcs(&self, v: usize) -> std::ops::Range<usize> {
        self.first[v] as usize..self.first[v + 1] as usize
    }

    /// The residual capacity for a tree of this side to grow along an arc.
    fn capacity_outwards(&self, arc: usize, side: Side) -> f64 {
        self.residual[if side == Side::Source { arc } else { self.sister[arc] as usize }]
    }

    /// The residual capacity, in the direction of the flow, of an arc that leads towards this side's terminal.
    fn capacity_inwards(&self, arc: usize, side: Side) -> f64 {
        self.residual[if side == Side::Source { self.sister[arc] as usize } else { arc }]
    }

    /// Adds free neighbours to v's tree. Returns an arc from the source's tree to the sink's, if one with capacity is
    /// found.
    fn grow(&mut self, v: usize) -> Option<usize> {
        let side = self.side[v];
        for arc in self.arcs(v) {
            if self.capacity_outwards(arc, side) <= 0.0 {
                continue;
            }
            let w = self.head[arc] as usize;
            if self.side[w] == Side::Free {
                self.side[w] = side;
                self.hang(w, self.sister[arc], v);
                self.activate(w);
            } else if self.side[w] != side {
                return Some(if side == Side::Source { arc } else { self.sister[arc] as usize });
            } else if self.time[w] <= self.time[v] && self.distance[w] > self.distance[v] {
                self.hang(w, self.sister[arc], v); // a shorter way to the terminal
            }
        }
        None
    }

    fn hang(&mut self, w: usize, arc: u32, below: usize) {
        self.parent[w] = Parent::Arc(arc);
        self.time[w] = self.time[below];
        self.distance[w] = self.distance[below] + 1;
    }

    /// Sends as much flow as possible along the path through `middle`, from the source's tree to the sink's.
    fn augment(&mut self, middle: usize) {
        let (tail, head) = (self.head[self.sister[middle] as usize] as usize, self.head[middle] as usize);
        let mut flow = self.residual[middle];
        for start in [tail, head] {
            let mut v = start;
            while let Parent::Arc(arc) = self.parent[v] {
                flow = flow.min(self.capacity_inwards(arc as usize, self.side[v]));
                v = self.head[arc as usize] as usize;
            }
            flow = flow.min(self.terminal[v].abs());
        }
        self.residual[middle] -= flow;
        self.residual[self.sister[middle] as usize] += flow;
        for start in [tail, head] {
            let mut v = start;
            while let Parent::Arc(arc) = self.parent[v] {
                let (arc, sister) = (arc as usize, self.sister[arc as usize] as usize);
                let (along, back) = if self.side[v] == Side::Source { (sister, arc) } else { (arc, sister) };
                self.residual[along] -= flow;
                self.residual[back] += flow;
                if self.residual[along] <= 0.0 {
                    self.residual[along] = 0.0;
                    self.parent[v] = Parent::Orphan;
                    self.orphans.push_front(v as u32);
                }
                v = self.head[arc] as usize;
            }
            let left = self.terminal[v].abs() - flow;
            if left <= 0.0 {
                self.terminal[v] = 0.0;
                self.parent[v] = Parent::Orphan;
                self.orphans.push_front(v as u32);
            } else {
                self.terminal[v] = if self.side[v] == Side::Source { left } else { -left };
            }
        }
    }

    /// The distance from `v` to its terminal, if `v` is connected to it. Caches the distance along the way.
    fn origin(&mut self, v: usize) -> Option<u32> {
        let (mut w, mut steps) = (v, 0);
        let distance = loop {
            if self.time[w] == self.now {
                break steps + self.distance[w];
            }
            steps += 1;
            match self.parent[w] {
                Parent::Arc(arc) => w = self.head[arc as usize] as usize,
                Parent::Terminal => {
                    (self.time[w], self.distance[w]) = (self.now, 1);
                    break steps;
                }
                Parent::None | Parent::Orphan => return None,
            }
        };
        let (mut w, mut left) = (v, distance);
        while self.time[w] != self.now {
            (self.time[w], self.distance[w]) = (self.now, left);
            left -= 1;
            let Parent::Arc(arc) = self.parent[w] else { break };
            w = self.head[arc as usize] as usize;
        }
        Some(distance)
    }

    /// Finds the new parent nearest to the terminal for an orphan. If there is none, frees the node and makes its
    /// children orphans.
    fn adopt(&mut self, v: usize) {
        let side = self.side[v];
        let mut best: Option<(u32, usize)> = None;
        for arc in self.arcs(v) {
            let w = self.head[arc] as usize;
            if self.capacity_inwards(arc, side) > 0.0
                && self.side[w] == side
                && let Some(distance) = self.origin(w)
                && best.is_none_or(|(nearest, _)| distance < nearest)
            {
                best = Some((distance, arc));
            }
        }
        if let Some((distance, arc)) = best {
            self.parent[v] = Parent::Arc(arc as u32);
            (self.time[v], self.distance[v]) = (self.now, distance + 1);
            return;
        }
        self.side[v] = Side::Free;
        self.parent[v] = Parent::None;
        for arc in self.arcs(v) {
            let w = self.head[arc] as usize;
            if self.side[w] != side {
                continue;
            }
            if self.capacity_inwards(arc, side) > 0.0 {
                self.activate(w);
            }
            if self.parent[w] == Parent::Arc(self.sister[arc]) {
                self.parent[w] = Parent::Orphan;
                self.orphans.push_back(w as u32);
            }
        }
    }
}
