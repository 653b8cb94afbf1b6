// Rules on their way to Python and back. It takes microseconds to learn one, so that ways that are common elsewhere would take
// longer than all the rest: this is for module.cpp only.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "booster.hpp"
#include "predict.hpp"

namespace labelboost {

// An array that nobody can write to.
nanobind::object read_only_array(std::span<const double> values);

// A class with slots, and no cycles of references through them. These are filled and read directly: attributes by name take
// five times as long.
class SlottedClass {
public:
    SlottedClass(nanobind::type_object type, std::initializer_list<const char*> slots);

    // One value per slot, in their order.
    nanobind::object make(std::initializer_list<nanobind::object> values) const;
    // What is in a slot, which must not be empty, of an instance; raises TypeError if it is none.
    nanobind::handle get(nanobind::handle instance, std::size_t slot) const;

private:
    nanobind::type_object type_;
    std::vector<std::ptrdiff_t> offsets_;
};

// Makes the immutable rules that users see, and reads them again.
class RuleMaker {
public:
    // operators: by their code; missing: what a missing value does to every condition.
    RuleMaker(nanobind::type_object rule, nanobind::type_object condition, nanobind::tuple operators,
              nanobind::object missing);
    nanobind::object make(const LearnedRule& rule);
    // The conditions of rules, one rule after the other, for prediction. Without their heads.
    RuleArrays pack(nanobind::sequence rules, std::size_t n_features, std::size_t n_labels) const;

private:
    // Rules have many conditions in common, and nobody can change them: one object will do. Of those that share a place
    // the newest is remembered.
    struct Made {
        Condition key{-1, Operator::equal, 0.0};
        nanobind::object condition;
    };
    nanobind::object condition(const Condition& condition);
    std::uint8_t code(nanobind::handle name) const;

    SlottedClass rule_, condition_;
    nanobind::tuple operators_;
    nanobind::object missing_;
    std::array<Made, 4096> made_;
};

}  // namespace labelboost
