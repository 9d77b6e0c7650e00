//! The one check of settings.

use super::{BatchOf, Compute, Criterion, Init, Kind, Method, Settings};
use crate::ability::Ability;
use crate::loss::Pieces;
use crate::optim::Prior;
use crate::{Error, Result};

impl Settings {
    /// Rejects values that make no sense for models of this kind, before any work starts.
    pub fn check(&self, kind: Kind) -> Result<()> {
        self.check_dense_columns()?;
        self.check_pieces(kind)?;
        self.check_kind(kind)?;
        self.check_init(kind)?;
        self.check_order(kind)?;
        self.check_segments(kind)?;
        self.check_margin(kind)?;
        self.check_choose()?;
        self.check_compute(kind)?;
        self.optimizer.check(self.objective)?;
        self.parameters.check(self.optimizer)?;
        let [sigma, sigma_pairs] = self.sigmas();
        let prior = Prior { sigma_pairs, ..Prior::gaussian(sigma) };
        let l1 = if self.choose.l1 { 1.0 } else { self.l1 };
        self.optimizer.optimizer(self).check(&prior, l1)
    }

    fn check_choose(&self) -> Result<()> {
        let refuse = |why: &str| Err(Error::Setting(why.into()));
        if self.choose.sigma && !self.sigma.is_finite() {
            return refuse(
                "there is no Gaussian prior here, so there is no `sigma` to choose: give a number",
            );
        }
        if self.choose.any() && self.objective == Criterion::Perceptron {
            return refuse(
                "`objective` perceptron has no penalty to choose: give numbers for `sigma` and `l1`",
            );
        }
        Ok(())
    }

    /// The numbers in which passes compute: single precision is for methods that see all examples, or the marginals of each, and for the
    /// likelihood of chains. Everything else computes in double precision.
    pub(crate) fn numbers(&self, kind: Kind) -> Compute {
        use Method::{Auto, Bfgs, Cg, Ctjpgis, Gis, Lbfgs, Pgis, Saga, Tjpgis};
        let sees_all = [Auto, Lbfgs, Bfgs, Cg, Saga, Gis, Pgis, Tjpgis, Ctjpgis].contains(&self.optimizer);
        match kind == Kind::Chain && self.objective == Criterion::Likelihood && sees_all {
            true => self.compute,
            false => Compute::F64,
        }
    }

    fn check_compute(&self, kind: Kind) -> Result<()> {
        match self.compute == Compute::F32 && self.numbers(kind) != Compute::F32 {
            true => Err(Error::Setting(format!(
                "`compute` f32 is for `objective` likelihood of chains by auto, saga, lbfgs, bfgs, cg and iterative scaling, not for \
                 `objective` {} by {}: leave it out",
                self.objective.name(),
                self.optimizer.name()
            ))),
            false => Ok(()),
        }
    }

    fn check_dense_columns(&self) -> Result<()> {
        let refuse = |what: &str, value: f64, need: &str| {
            Err(Error::Setting(format!("{what} is {value}, but it must be {need}")))
        };
        // 1/σ² must be a number.
        for (name, sigma) in [("`sigma`", Some(self.sigma)), ("`sigma_pairs`", self.sigma_pairs)] {
            match sigma {
                Some(sigma) if sigma.is_nan() || sigma <= 0.0 => {
                    return refuse(name, sigma, "a positive number (inf for no prior)");
                }
                Some(sigma) if (sigma * sigma).recip().is_infinite() => {
                    return Err(Error::Setting(format!(
                        "{name} is {sigma:e}, but it must be a larger number: its square is too close to 0"
                    )));
                }
                _ => {}
            }
        }
        if !(self.l1 >= 0.0 && self.l1.is_finite()) {
            return refuse("`l1`", self.l1, "0 or a positive number");
        }
        if !self.prior_mean.value().is_finite() {
            return refuse("`prior_mean`", self.prior_mean.value(), "a finite number");
        }
        if self.passes == Some(0) {
            return refuse("`passes`", 0.0, "at least 1");
        }
        match self.shrink {
            Some(threshold) if threshold.is_nan() || threshold < 0.0 => {
                refuse("`shrink`", threshold, "0 or a positive number")
            }
            _ => Ok(()),
        }
    }

    fn check_pieces(&self, kind: Kind) -> Result<()> {
        if self.pieces.is_some() && !self.objective.has_pieces() {
            return Err(Error::Setting(format!(
                "`pieces` is not a setting of `objective` {}, only of piecewise and piecewise-pseudo",
                self.objective.name()
            )));
        }
        if self.batch_of == BatchOf::Pieces && !self.objective.has_pieces() {
            return Err(Error::Setting(format!(
                "`batch_of` pieces does not apply to `objective` {}, only to piecewise and piecewise-pseudo",
                self.objective.name()
            )));
        }
        if self.pieces == Some(Pieces::Bethe) {
            if self.objective != Criterion::Piecewise {
                return Err(Error::Setting(format!(
                    "`pieces` bethe corrects log Z of the pieces, so it is for `objective` piecewise only: with {} use shared-unary",
                    self.objective.name()
                )));
            }
            if self.batch_of == BatchOf::Pieces {
                return Err(Error::Setting(
                    "`pieces` bethe corrects whole graphs: leave out `batch_of` pieces, or use `pieces` shared-unary".into(),
                ));
            }
        }
        if kind != Kind::Chain {
            return Ok(());
        }
        Criterion::check_pieces(self.pieces.unwrap_or_default())?;
        match self.batch_of {
            BatchOf::Graphs => Ok(()),
            BatchOf::Pieces => {
                Err(Error::Setting("`batch_of` pieces is for graphs other than chains: leave it out".into()))
            }
        }
    }

    /// Rejects settings that only some kinds of model can use.
    fn check_kind(&self, kind: Kind) -> Result<()> {
        let refuse = |why: &str| Err(Error::Setting(why.into()));
        self.propagation.check()?;
        if let Some(engine) = self.inference {
            self.propagation.check_for(engine)?;
        }
        if kind == Kind::Chain {
            if !self.propagation.is_default() {
                return refuse(
                    "`bp_iterations`, `damping`, `schedule`, `bp_tolerance` and `restarts` are for graphs with loops: chains are \
                     solved exactly",
                );
            }
            if self.inference.is_some() {
                return refuse(
                    "`inference` is for factorial and skip chains, graphs and images: chains are solved exactly",
                );
            }
        } else {
            if self.objective.direction().is_some() {
                let name = self.objective.name();
                return refuse(&format!(
                    "`objective` {name} predicts one token from the next: it is for chains only"
                ));
            }
            if self.boundaries {
                return refuse("`boundaries` is for chains only: leave it out");
            }
            if self.constraint.is_some() || self.temperature.is_some() {
                return refuse("`constraint` and `temperature` are for chains only: leave them out");
            }
        }
        if self.temperature.is_some_and(|t| !(t.is_finite() && t > 0.0)) {
            return refuse("`temperature` must be a positive number");
        }
        if self.sigma_of.is_empty() {
            return Ok(());
        }
        if kind != Kind::Graph {
            return refuse(
                "`sigma_of` names a type of graphs from a file: for other kinds of model there is `sigma_pairs`",
            );
        }
        if let Some((name, sigma)) = self.sigma_of.iter().find(|(_, s)| !(s.is_finite() && **s > 0.0)) {
            return refuse(&format!("`sigma_of` {name}={sigma}: σ must be a positive number"));
        }
        let finite = self.sigma.is_finite() && self.sigma_pairs.is_none_or(f64::is_finite);
        match finite && self.l1 == 0.0 && self.prior_mean.value() == 0.0 {
            true => Ok(()),
            false => refuse(
                "`sigma_of` is for a Gaussian prior around 0 on all weights: give a finite `sigma`, and leave `l1` and \
                 `prior_mean` out",
            ),
        }
    }

    /// Rejects what second-order chains do not have.
    fn check_order(&self, kind: Kind) -> Result<()> {
        let refuse = |why: String| Err(Error::Setting(why));
        match (self.order, kind) {
            (1, _) => return Ok(()),
            (2, Kind::Chain) => {}
            (2, _) => return refuse("`order` 2 is for chains only: leave it out".into()),
            (order, _) => return refuse(format!("`order` is {order}, but chains are of order 1 or 2")),
        }
        let criterion = self.objective;
        if criterion.has_pieces() {
            return refuse(format!(
                "`objective` {} is for chains of order 1, because pieces of three labels take as long as the whole chain: with `order` 2 use \
                 likelihood or pseudolikelihood",
                criterion.name()
            ));
        }
        if self.compute == Compute::F32 {
            return refuse("`compute` f32 is for chains of order 1: with `order` 2 use auto or f64".into());
        }
        match self.optimizer.needs().contains(&Ability::Dual) {
            true => refuse(format!(
                "`optimizer` {} is for chains of order 1: with `order` 2 use saga or lbfgs",
                self.optimizer.name()
            )),
            false => Ok(()),
        }
    }

    /// Rejects what chains with segments do not have.
    fn check_segments(&self, kind: Kind) -> Result<()> {
        let Some(longest) = self.segments else { return Ok(()) };
        let (refuse, criterion) = (|why: String| Err(Error::Setting(why)), self.objective);
        if kind != Kind::Chain || self.order != 1 {
            return refuse("`segments` is for chains of order 1 only: leave it out".into());
        }
        if !(1..=Settings::MOST_TOKENS).contains(&longest) {
            return refuse(format!(
                "`segments` is {longest}, but a segment has from 1 to {} tokens",
                Settings::MOST_TOKENS
            ));
        }
        if criterion.direction().is_some()
            || criterion.has_pieces()
            || criterion == Criterion::Pseudolikelihood
        {
            return refuse(format!(
                "`objective` {} does not support segments: use likelihood, marginal, softmax-margin, max-margin or perceptron",
                criterion.name()
            ));
        }
        if self.compute == Compute::F32 {
            return refuse("`compute` f32 does not support segments: use auto or f64".into());
        }
        match self.optimizer.needs().iter().any(|need| matches!(need, Ability::Dual | Ability::Counts)) {
            true => refuse(format!(
                "`optimizer` {} does not support segments: use auto, saga or lbfgs",
                self.optimizer.name()
            )),
            false => Ok(()),
        }
    }

    fn check_init(&self, kind: Kind) -> Result<()> {
        let refuse = |why: &str| Err(Error::Setting(why.into()));
        let default = self.init == Settings::for_kind(kind).init;
        if !(default || self.init == Init::Zero) && self.optimizer == Method::Sdca {
            return refuse(
                "sdca starts from the gold labels, not from weights: leave out `init`, or use `optimizer` saga",
            );
        }
        match (self.init, kind) {
            (Init::Logistic, Kind::Chain | Kind::Linked) => {
                refuse("`init` logistic is for images and graphs only; a file of that name is ./logistic")
            }
            (Init::Empirical, Kind::Linked | Kind::Graph | Kind::Grid) => {
                refuse("`init` empirical is for chains only: start from zero, random weights or a model")
            }
            _ => Ok(()),
        }
    }
}
