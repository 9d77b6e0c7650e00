//! What the experiments do otherwise than the papers, or where a paper says nothing.

/// The section of the page.
pub(super) const DEVIATIONS: &str = "\
## Where we deviate from the papers

What a paper does not state had to be chosen, and some methods cannot be run as printed. This list holds for all experiments, unless \
one says otherwise.

- **Features.** None of the papers lists its features in full. Ours are templates in the spirit of those it cites, without word lists, \
Brill's lexicon and feature induction.
- **SMD** (smd, psa). The growth of a gain in one step is at most 1.1, gains are at least 10⁻⁸ η₀, and v restarts from 0 where it is not \
finite; the paper bounds only the decrease, by ½. On text, weights that a batch does not touch catch up later (lazy updates), also in \
`smd-literal`; on images all weights move in every step, as in the paper.
- **Order of the data** (smd, psa). Online methods shuffle the examples before every pass; smd permutes NLPBA once.
- **F in the first pass** (smd). It is measured after 5, 10, 20, 50 and 100 % of the pass, not after every batch.
- **Start.** Text: weights of 0; the slides begin with small random ones. Images: as in the paper.
- **PSA.** `PSA` changes gains by a rule that other programs have under the name of Huang, Chang and Hsu (2007), a text that we have not seen. \
`PSA as printed` is eq. 5; its bounds, 0.9 and 1.1 for the factor and η₀ for the gain, are ours, since the paper does not state them. b = 1, η₀ = 0.1 \
and σ = 1 are ours too. On BioCreative II SMD has the constants of smd for NLPBA.
- **PGIS and CTJPGIS.** S is the maximum over all labellings; the paper's, over those of the training data, is no bound. Where eq. 3 is undefined, as for every \
weight whose feature does not occur, or would make the objective rise, the exact solution is taken. γ is at most 0.999, a value chosen on base NP among four: without a \
bound every jump fails. An *iteration* is an evaluation of the training set; the paper's seconds per iteration, equal for its three methods, say that \
its iterations are the same.
- **Images** (smd). The shapes, and the noise of standard deviation 0.5, are ours. LBP has a damping of 0.1 and stops at a change of 10⁻⁵ or after 200 \
iterations. t in the gain η₀/t of ASG counts steps. Training makes 100 passes by LBP and 30 by MF and PL.
- **BioCreative II** (psa). No parts of speech and no stems. Figures show exact matches; where it is said, alternative mentions count, as in the paper.
- **Pieces** (pwpl). The pair factors of the paper see the words. Here single labels see them, and a piece is a pair with the table of its right label \
(`edge`), except in the experiments named `-pairs`. ML on factorial chains is exact, and by BP only on skip chains.
- **Data of pwpl.** Parts of speech are from the public sample of the Wall Street Journal, and seminar announcements are split at random.
- **PW in ep.** Section 3.6 of ep has all features on pairs. Here, but for table 1, words and spellings are seen by single labels, with `edge` pieces.
- **σ in ep.** The paper gives none. CRF and PW have the best of 1, 2, 4 and 8 on the held-out sentences, EP2 has 1. With more than 2,000 sentences \
the CRF is trained by `auto`, which stops a few tenths of a per cent above the optimum.
- **Zeros in ep.** A pair of tags that was never seen has the factor e⁻¹² instead of 0, and a tag that a known word never had e⁻¹⁰⁰. u of EP2 has one feature more, \
which every word has and whose prior mean is the logarithm of the tag's frequency; v is used for pairs of tags that were never seen.

";
