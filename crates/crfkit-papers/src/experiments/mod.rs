//! The experiments, one per file, or one file for those that share their data.

mod costs;
mod ep_claims;
mod ep_days;
mod ep_label_bias;
mod ep_shares;
mod ep_start;
mod ep_text;
mod ep_toy;
mod grids;
mod memm;
mod method_costs;
mod psa_claims;
mod psa_table;
mod psa_text;
mod pwpl_graphs;
mod pwpl_operations;
mod pwpl_pairs;
mod pwpl_stochastic;
mod pwpl_synthetic;
mod pwpl_text;
mod reviews;
mod slides;
mod slides_plots;
mod slopes;
mod slopes_small;
mod smd_collapse;
mod smd_denoise;
mod smd_grid_claims;
mod smd_grids;
mod smd_text;
mod smd_theory;
mod speedups;
mod text_tasks;
mod unavailable;
mod why_annealing;
mod why_articles;
mod why_dutch;
mod why_edges;
mod why_empirical;
mod why_features;
mod why_few_features;
mod why_fields;
mod why_first_pass;
mod why_grids;
mod why_lists;
mod why_nlpba;
mod why_psa;
mod why_stopping;
mod why_text;

use crate::experiment::Experiment;

/// All experiments; those whose results others use come first.
pub const ALL: &[Experiment] = &[
    smd_text::FIGURE_1,
    smd_text::FIGURE_2,
    smd_grids::FIGURE_3,
    smd_grids::FIGURE_4,
    smd_grids::FIGURE_5,
    smd_grids::FIGURE_6,
    slides::MEAN_FIELD,
    slides::BETHE,
    slides::SLIDES_PL,
    slides_plots::LEARNING,
    psa_text::TABLE_1_CONLL,
    psa_text::TABLE_1_NLPBA,
    psa_text::TABLE_1_BC2,
    psa_text::FIGURE_1_CONLL,
    psa_text::FIGURE_1_NLPBA,
    psa_text::FIGURE_1_BC2,
    psa_text::OTHERS_CONLL,
    psa_text::OTHERS_NLPBA,
    psa_text::OTHERS_BC2,
    pwpl_synthetic::FIGURE_3,
    pwpl_text::POS,
    pwpl_graphs::CHUNK,
    pwpl_text::NER,
    pwpl_pairs::PAIRS,
    pwpl_graphs::CHUNK_PAIRS,
    pwpl_graphs::SKIP,
    ep_label_bias::TABLE_1,
    ep_text::TABLE_2,
    ep_text::TABLE_3,
    ep_text::TABLE_4,
    ep_text::TABLE_5,
    ep_text::TABLE_6,
    ep_text::TABLE_7,
    ep_shares::SHARES,
    ep_days::DAYS,
    smd_text::CLAIMS_1,
    smd_text::LITERAL,
    smd_text::CLAIMS_2,
    smd_text::SCALE,
    unavailable::BIOCREATIVE_1A,
    smd_grid_claims::CLAIMS_SHAPES,
    smd_denoise::DENOISE_64,
    smd_collapse::COLLAPSE,
    smd_grid_claims::CLAIMS_MANMADE,
    smd_text::PERMUTATIONS,
    smd_theory::NO_VALUE,
    smd_theory::PSEUDOLIKELIHOOD,
    psa_claims::CLAIMS,
    psa_text::ENSEMBLE,
    costs::PSA,
    pwpl_synthetic::STUDY,
    pwpl_synthetic::DENSE_STUDY,
    pwpl_synthetic::APART,
    pwpl_synthetic::FIGURE_3_APART,
    costs::PWPL,
    slopes::PASS,
    speedups::PWPL,
    memm::GLOBAL,
    pwpl_stochastic::STOCHASTIC,
    pwpl_text::CLAIMS,
    slopes::OPERATIONS,
    ep_toy::MAXIMA,
    ep_toy::SCORES,
    ep_toy::EIGHT,
    ep_toy::REGULARISED,
    ep_toy::EQUATION_10,
    ep_claims::CLAIMS,
    why_text::FEATURES,
    why_text::STEPS,
    why_nlpba::MEASURES,
    why_text::GAINS,
    why_grids::JUMPS,
    why_grids::SHORT_STEPS,
    why_grids::NOISE,
    why_fields::IMAGES,
    why_fields::MEAN_FIELD,
    slopes_small::SMALL,
    pwpl_graphs::SKIP_ONLINE,
    why_psa::FIRST_PASS,
    why_empirical::SENTENCES,
    why_empirical::SIGMA_1,
    why_empirical::PIECES,
    why_features::FEATURES,
    why_annealing::ANNEALING,
    why_edges::EDGES,
    why_few_features::FEW,
    why_stopping::STOPPING,
    why_first_pass::BATCHES,
    why_articles::ARTICLES,
    why_lists::LEXICON,
    why_lists::NAMES,
    why_dutch::EP2,
    pwpl_operations::OPERATIONS,
    method_costs::HESS_VEC,
    method_costs::RACE,
    ep_start::START,
];
