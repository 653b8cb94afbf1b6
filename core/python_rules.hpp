// Rules on their way to Python. It takes microseconds to learn one, so that ways that are common elsewhere would take longer
// than all the rest: this is for module.cpp only.
#pragma once

#include <nanobind/nanobind.h>

#include <span>

#include "booster.hpp"

namespace labelboost {

// An array that nobody can write to.
nanobind::object read_only_array(std::span<const double> values);

// Makes the immutable rules that users see. Both classes have slots, which are filled directly: that is what their
// constructors do, but these take three times as long.
class RuleMaker {
public:
    // operators: by their code; missing: what a missing value does to every condition.
    RuleMaker(nanobind::type_object rule, nanobind::type_object condition, nanobind::tuple operators,
              nanobind::object missing);
    nanobind::object make(const LearnedRule& rule) const;

private:
    nanobind::object make_condition(const Condition& condition) const;

    nanobind::object rule_, condition_;
    nanobind::tuple operators_;
    nanobind::object missing_;
};

}  // namespace labelboost
