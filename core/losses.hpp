// The losses. Their formulas are in kernels/losses.hpp.
#pragma once

namespace labelboost {

enum class Loss { example_logistic, label_logistic, labelset_softmax };

}  // namespace labelboost
