use crfkit::data::{attributes::*, columns::*, corpus::*, observer::Source, presets, text::*};
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::model::{Features, Keep};
use crfkit::optim::*;
use crfkit::risk::Risk;
use std::time::Instant;
struct W(Instant, f64);
impl Watch for W {
    fn step(&mut self, p: &Progress, _s: &dyn Fn() -> State) -> crfkit::Result<Control> {
        if let Some(f) = p.objective {
            if p.theta.is_some() {
                println!(
                    "{:.1} {:.3}s {:.4} {:.4}",
                    p.passes,
                    self.0.elapsed().as_secs_f64(),
                    f,
                    p.gradient_norm.unwrap_or(0.0)
                );
            }
        }
        Ok(Control::Continue)
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = Instant::now();
    let c = if a[1].ends_with(".attr") || a[1].ends_with("attributes") {
        let mut r =
            AttributeReader::new(Lines::new(std::fs::File::open(&a[1]).unwrap(), "x", Encoding::Utf8));
        let mut b = CorpusBuilder::new(Source::Attributes);
        let mut s = Attributes::default();
        while r.read(&mut s).unwrap() {
            b.add_attributes(&s);
        }
        b.finish(1).unwrap()
    } else {
        let tpl = presets::preset("chunking").unwrap().compile(2).unwrap();
        let mut r = ColumnReader::new(Lines::new(std::fs::File::open(&a[1]).unwrap(), "x", Encoding::Utf8));
        let mut b = CorpusBuilder::new(Source::Templates(tpl));
        let mut s = Columns::default();
        while r.read(&mut s).unwrap() {
            b.add_columns(&s, 2).unwrap();
        }
        b.finish(1).unwrap()
    };
    println!("read {:?} {}", t.elapsed(), c.alphabet.node.len());
    let keep = if a[2] == "all" { Keep::All } else { Keep::Observed };
    let f = Features::new(&c.data, c.labels.len(), [c.alphabet.node.len(), 0], keep, true, false);
    println!("features {:?} {}", t.elapsed(), f.dim());
    let risk = Risk::new(Likelihood(ForwardBackward), f, c.data, 1).unwrap();
    let sigma: f64 = a[3].parse().unwrap();
    let p = Problem { objective: &risk, prior: Prior::gaussian(sigma), l1: 0.0 };
    let w = &mut W(Instant::now(), 0.0);
    let np: usize = a[5].parse().unwrap();
    let eta: f64 = a[6].parse().unwrap();
    let ad = AdaGrad { eta0: eta, schedule: Schedule { batch: 8, passes: np, seed: 1 } };
    let mut th = vec![0.0; risk.dim()];
    let mut scale = vec![];
    if np > 0 {
        struct Q<'a>(&'a mut W, Vec<f64>, Vec<f64>);
        impl Watch for Q<'_> {
            fn step(&mut self, p: &Progress, s: &dyn Fn() -> State) -> crfkit::Result<Control> {
                if p.theta.is_some() {
                    let st = s();
                    self.1 = std::mem::replace(&mut self.2, st.vectors["squares"].clone());
                }
                self.0.step(p, s)
            }
        }
        let mut q = Q(w, vec![], vec![]);
        th = ad.minimize(&p, State::start(th), &mut q).unwrap().theta;
        let pr = 1.0 / (sigma * sigma);
        if a[7] == "f" {
            scale =
                (0..risk.dim()).map(|i| 1.0 / (pr + q.2[i] - q.1.get(i).copied().unwrap_or(0.0))).collect();
        }
        if a[7] == "s" {
            scale = (0..risk.dim()).map(|i| 1.0 / (pr + q.2[i] / np as f64)).collect();
        }
    }
    let m = Lbfgs { memory: a[4].parse().unwrap(), scale, ..Default::default() };
    let r = m.minimize(&p, State::start(th), &mut W(Instant::now(), 0.0)).unwrap();
    println!("{:?} {} {:?}", r.stop, r.passes, t.elapsed());
}
