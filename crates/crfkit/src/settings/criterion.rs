//! The objectives, selected by name.

use crate::ability::Ability;
use crate::decode::{Decode, Direction, Viterbi};
use crate::graph::Chain;
use crate::infer::ForwardBackward;
use crate::loss::{
    BethePieces, ChainPiecewise, ChainPiecewisePseudolikelihood, Likelihood, Loss, Marginal, MaxMargin, Memm,
    Perceptron, Pieces, Pseudolikelihood, SoftmaxMargin,
};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The training criterion: the loss of one example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Criterion {
    /// The negative conditional log-likelihood (smd-crf-2006 eq. 7).
    #[default]
    Likelihood,
    /// The pseudolikelihood (smd-crf-2006 eq. 13, pwpl-2007 eq. 3).
    Pseudolikelihood,
    /// The piecewise likelihood (pwpl-2007 eq. 4).
    Piecewise,
    /// The piecewise pseudolikelihood (pwpl-2007 eq. 6).
    PiecewisePseudo,
    /// The maximum-entropy Markov model: each label given the previous one.
    Memm,
    /// The maximum-entropy Markov model from right to left: each label given the next one.
    MemmBackward,
    /// The perceptron (Collins 2002): best score − gold score.
    Perceptron,
    /// The marginal loss (Domke 2013): the marginal probability of each gold label, as the engine computes it.
    Marginal,
    /// The softmax margin (Gimpel and Smith 2010): the likelihood, with a cost for each wrong label added to the scores.
    SoftmaxMargin,
    /// The structured hinge loss (Taskar, Guestrin and Koller 2004): best score plus cost − gold score.
    MaxMargin,
}

/// A computation that is generic over the loss. See [`Criterion::loss`].
pub(crate) trait WithLoss {
    /// The result of the computation.
    type Out;
    /// Runs the computation with this loss.
    fn with<L: Loss<Graph = Chain> + 'static>(self, loss: L) -> Self::Out;
}

impl Criterion {
    /// All criteria.
    pub const ALL: [Criterion; 10] = [
        Criterion::Likelihood,
        Criterion::Pseudolikelihood,
        Criterion::Piecewise,
        Criterion::PiecewisePseudo,
        Criterion::Memm,
        Criterion::MemmBackward,
        Criterion::Perceptron,
        Criterion::Marginal,
        Criterion::SoftmaxMargin,
        Criterion::MaxMargin,
    ];

    /// The criterion's name on the command line.
    pub fn name(self) -> &'static str {
        self.declaration().0
    }

    /// A description in one line.
    pub fn description(self) -> &'static str {
        self.declaration().1
    }

    /// The name and the description.
    fn declaration(self) -> (&'static str, &'static str) {
        match self {
            Criterion::Likelihood => {
                ("likelihood", "-log p(labels | observations), with inference on the whole graph")
            }
            Criterion::Pseudolikelihood => {
                ("pseudolikelihood", "-log p(label | gold labels of its neighbours), without inference")
            }
            Criterion::Piecewise => ("piecewise", "-log p of each piece of the graph, normalised separately"),
            Criterion::PiecewisePseudo => {
                ("piecewise-pseudo", "-log p of each label in each piece, given the rest of the piece")
            }
            Criterion::Memm => ("memm", "-log p(label | previous label); tagging normalises the same way"),
            Criterion::MemmBackward => {
                ("memm-backward", "-log p(label | next label); tagging normalises the same way")
            }
            Criterion::Perceptron => {
                ("perceptron", "score of the best labelling minus score of the gold labels (Collins 2002)")
            }
            Criterion::Marginal => {
                ("marginal", "-log of the marginal probability of each gold label (Domke 2013)")
            }
            Criterion::SoftmaxMargin => (
                "softmax-margin",
                "the likelihood with a cost for each wrong label in the normaliser (Gimpel and Smith 2010)",
            ),
            Criterion::MaxMargin => (
                "max-margin",
                "the structured hinge: best score plus a cost for each wrong label, minus the score of the gold labels",
            ),
        }
    }

    /// What the criterion provides to an optimiser on chains, besides the gradient of a batch. On other graphs it may
    /// provide less.
    pub fn provides(self) -> &'static [Ability] {
        struct Gives;
        impl WithLoss for Gives {
            type Out = &'static [Ability];
            fn with<L: Loss<Graph = Chain>>(self, loss: L) -> Self::Out {
                loss.provides()
            }
        }
        self.loss(Pieces::default(), Gives)
    }

    /// Whether single variables may have weights: the criterion is a sum over variables, or has a cost for each.
    pub fn uses_variable_weights(self) -> bool {
        matches!(
            self,
            Criterion::Pseudolikelihood
                | Criterion::PiecewisePseudo
                | Criterion::Memm
                | Criterion::MemmBackward
                | Criterion::Marginal
                | Criterion::SoftmaxMargin
                | Criterion::MaxMargin
        )
    }

    /// Rejects weights of variables if the criterion does not use them.
    #[doc(hidden)]
    pub fn check_weights(self, weighs: bool) -> Result<()> {
        if !weighs || self.uses_variable_weights() {
            return Ok(());
        }
        let able =
            Criterion::ALL.into_iter().filter(|c| c.uses_variable_weights() && c.direction().is_none());
        let able: Vec<&str> = able.map(Criterion::name).collect();
        Err(Error::Setting(format!(
            "`objective` {} scores all labels jointly, so single tokens and nodes cannot have weights: use one of {}",
            self.name(),
            able.join(", ")
        )))
    }

    /// Whether the criterion has pieces to choose.
    #[doc(hidden)]
    pub fn has_pieces(self) -> bool {
        matches!(self, Criterion::Piecewise | Criterion::PiecewisePseudo)
    }

    /// The direction in which a model trained by this criterion is normalised when it labels; `None` for models of
    /// whole labellings.
    #[doc(hidden)]
    pub fn direction(self) -> Option<Direction> {
        match self {
            Criterion::Memm => Some(Direction::Forward),
            Criterion::MemmBackward => Some(Direction::Backward),
            _ => None,
        }
    }

    /// How a model trained by this criterion labels, where others of its kind do so by `usual`. Losses that compare scores of whole
    /// labellings promise something about the best of them, and nothing about probabilities.
    pub(crate) fn decode(self, usual: Decode) -> Decode {
        match self {
            Criterion::Perceptron | Criterion::MaxMargin => Decode::Best,
            _ => usual,
        }
    }

    /// Rejects pieces that chains do not have.
    pub(crate) fn check_pieces(pieces: Pieces) -> Result<()> {
        match pieces {
            Pieces::Rows | Pieces::Columns | Pieces::File => Err(Error::Setting(format!(
                "`pieces` {pieces} is not for chains: choose factor|edge|shared-unary|bethe|trees|window:N"
            ))),
            _ => Ok(()),
        }
    }

    /// Calls `then` with this criterion's loss on chains.
    pub(crate) fn loss<W: WithLoss>(self, pieces: Pieces, then: W) -> W::Out {
        match self {
            Criterion::Likelihood => then.with(Likelihood(ForwardBackward)),
            Criterion::Pseudolikelihood => then.with(Pseudolikelihood::<Chain>::default()),
            Criterion::Piecewise if pieces == Pieces::Bethe => {
                then.with(BethePieces(ChainPiecewise { pieces }))
            }
            Criterion::Piecewise => then.with(ChainPiecewise { pieces }),
            Criterion::PiecewisePseudo => then.with(ChainPiecewisePseudolikelihood { pieces }),
            Criterion::Memm => then.with(Memm(Direction::Forward)),
            Criterion::MemmBackward => then.with(Memm(Direction::Backward)),
            Criterion::Perceptron => then.with(Perceptron(Viterbi)),
            Criterion::Marginal => then.with(Marginal(ForwardBackward)),
            Criterion::SoftmaxMargin => then.with(SoftmaxMargin(Likelihood(ForwardBackward))),
            Criterion::MaxMargin => then.with(MaxMargin(Viterbi)),
        }
    }
}
