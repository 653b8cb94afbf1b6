// Compiled once per instruction set; LABELBOOST_ISA names the variant.
#include "kernels.hpp"

#include "cholesky.hpp"
#include "label_bins.hpp"
#include "losses.hpp"
#include "predict.hpp"
#include "scores.hpp"
#include "screen.hpp"
#include "sums.hpp"

#define LABELBOOST_JOIN_(a, b) a##b
#define LABELBOOST_JOIN(a, b) LABELBOOST_JOIN_(a, b)
#define LABELBOOST_TEXT_(a) #a
#define LABELBOOST_TEXT(a) LABELBOOST_TEXT_(a)

namespace labelboost {

extern const Kernels LABELBOOST_JOIN(kernels_, LABELBOOST_ISA);
const Kernels LABELBOOST_JOIN(kernels_, LABELBOOST_ISA) = {
    LABELBOOST_TEXT(LABELBOOST_ISA),
    update_gradient,
    loss_value,
    add_diagonal,
    add_joint,
    subtract,
    score_diagonal,
    score_joint_lanes,
    score_lanes,
    factorise,
    screen_joint,
    screen_diagonal,
    map_to_bins,
    aggregate_joint,
    add_heads,
    screen_known,
};

}  // namespace labelboost
