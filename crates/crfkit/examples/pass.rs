use crfkit::data::{attributes::*, corpus::*, observer::Source, text::*};
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::model::{Features, Keep};
use crfkit::optim::{Batch, Objective};
use crfkit::risk::Risk;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = Instant::now();
    let mut r = AttributeReader::new(Lines::new(std::fs::File::open(&a[1]).unwrap(), "x", Encoding::Utf8));
    let mut b = CorpusBuilder::new(Source::Attributes);
    let mut s = Attributes::default();
    while r.read(&mut s).unwrap() {
        b.add_attributes(&s);
    }
    println!("read {:?}", t.elapsed());
    let c = b.finish(1).unwrap();
    println!("finish {:?} obs {}", t.elapsed(), c.alphabet.node.len());
    let keep = if a.len() > 3 { Keep::All } else { Keep::Observed };
    let f = Features::new(&c.data, c.labels.len(), [c.alphabet.node.len(), 0], keep, true, false);
    println!("features {:?} {}", t.elapsed(), f.dim());
    let risk = Risk::new(Likelihood(ForwardBackward), f, c.data, a[2].parse().unwrap()).unwrap();
    let mut rng = crfkit::math::random::Random::new(1);
    let theta: Vec<f64> = (0..risk.dim()).map(|_| rng.uniform() - 0.5).collect();
    let mut g = vec![0.0; risk.dim()];
    for _ in 0..8 {
        g.fill(0.0);
        let t = Instant::now();
        let v = risk.value_grad(Batch::All, &theta, &mut g);
        println!("full {:?} {v} {}", t.elapsed(), crfkit::math::vector::norm(&g));
    }
    let mut g2 = vec![0.0; risk.dim()];
    let order: Vec<u32> = (0..risk.examples() as u32).collect();
    let t = Instant::now();
    let mut v = 0.0;
    for b in order.chunks(8) {
        v += risk.value_grad(Batch::Some(b), &theta, &mut g2);
    }
    println!("online {:?} {v}", t.elapsed());
    let d = g.iter().zip(&g2).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("max difference {d:e}");
    let mut hv = vec![0.0; risk.dim()];
    for _ in 0..3 {
        g.fill(0.0);
        hv.fill(0.0);
        let t = Instant::now();
        risk.hess_vec(Batch::All, &theta, &g2, &mut g, &mut hv);
        println!("hess_vec {:?}", t.elapsed());
    }
}
