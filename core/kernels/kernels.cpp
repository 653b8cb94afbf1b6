// Compiled once per instruction set; LABELBOOST_ISA names the variant.
#include "kernels.hpp"

#include "cholesky.hpp"
#include "covering.hpp"
#include "draws.hpp"
#include "infinite.hpp"
#include "label_bins.hpp"
#include "leaps.hpp"
#include "losses.hpp"
#include "packed.hpp"
#include "predict.hpp"
#include "profiles.hpp"
#include "ranked.hpp"
#include "residuals.hpp"
#include "scores.hpp"
#include "screen.hpp"
#include "short_lists.hpp"
#include "sums.hpp"

#define LABELBOOST_JOIN_(a, b) a##b
#define LABELBOOST_JOIN(a, b) LABELBOOST_JOIN_(a, b)
#define LABELBOOST_TEXT_(a) #a
#define LABELBOOST_TEXT(a) LABELBOOST_TEXT_(a)

namespace labelboost {

extern const Kernels LABELBOOST_JOIN(kernels_, LABELBOOST_ISA);
const Kernels LABELBOOST_JOIN(kernels_, LABELBOOST_ISA) = {
    LABELBOOST_TEXT(LABELBOOST_ISA),
    any_infinite_float,
    any_infinite_double,
    draw,
    keep_ranks,
    add_scores,
    example_gradient,
    advance_gradients,
    label_gradients,
    softmax,
    advance_distribution,
    add_marginals,
    loss_value,
    add_diagonal,
    add_rounded_diagonal,
    add_joint,
    add_profile,
    bound_gain,
    pack_residuals,
    pack_signed,
    add_ranked_rows,
    bound_residual,
    add_hessian_product,
    add_row,
    subtract,
    score_flat,
    score_diagonal,
    score_joint_lanes,
    score_lanes,
    factorise,
    back_substitute,
    solve_factored,
    screen_joint,
    screen_signed,
    screen_diagonal,
    leap_joint,
    leap_signed,
    leap_diagonal,
    add_up_splits,
    promising_regions,
    score_regions,
    pack_joint,
    pack_diagonal,
    pack_sums,
    add_sorted_sums,
    add_rows,
    add_floats,
    score_packed,
    score_packed_sums,
    score_packed_flat,
    score_packed_diagonal,
    map_to_bins,
    aggregate_gram,
    add_binned_gram,
    add_binned_products,
    multiply_gram,
    sum_of_pairs,
    sum_over_bins,
    add_heads,
    screen_known,
};

}  // namespace labelboost
