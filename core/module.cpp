// The Python module labelboost._core: converts arguments, checks sizes, releases the GIL. No arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "booster.hpp"
#include "columns.hpp"
#include "decode.hpp"
#include "distinct_rows.hpp"
#include "forest.hpp"
#include "kernels/kernels.hpp"
#include "matrix.hpp"
#include "predict.hpp"
#include "python_rules.hpp"
#include "random.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace labelboost {
namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using StridedMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <typename T>
using OwnedVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using OwnedMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <typename T>
std::span<const T> span_of(const Vector<T>& array) {
    return {array.data(), array.size()};
}

template <typename T>
DenseMatrix<T> matrix_of(const StridedMatrix<T>& array) {
    return {array.data(), array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Runs `work` without the GIL. Signals are looked at on the main thread, so Ctrl-C ends it soon.
template <typename Work>
auto run_interruptibly(const Work& work) {
    Interrupt interrupt([] {
        const nb::gil_scoped_acquire gil;
        return PyErr_CheckSignals() != 0;
    });
    try {
        const nb::gil_scoped_release release;
        return work(interrupt);
    } catch (const Interrupted&) {
        throw nb::python_error();  // set by PyErr_CheckSignals
    }
}

template <typename T>
OwnedMatrix<T> new_matrix(std::size_t rows, std::size_t columns, T value) {
    auto values = std::make_unique<T[]>(rows * columns);
    std::fill_n(values.get(), rows * columns, value);
    T* data = values.get();
    nb::capsule owner(values.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return OwnedMatrix<T>(data, {rows, columns}, owner);
}

template <typename T, typename Source>
OwnedVector<T> new_vector(const Source& source) {
    auto values = std::make_unique<T[]>(source.size());
    std::copy(source.begin(), source.end(), values.get());
    T* data = values.get();
    nb::capsule owner(values.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return OwnedVector<T>(data, {source.size()}, owner);
}

// Offsets of compressed rows (or columns): from 0 up to the number of entries, never falling.
template <typename T>
void check_offsets(std::span<const T> offsets, std::size_t entries) {
    require(!offsets.empty() && offsets.front() == 0, "offsets must start with 0");
    require(std::is_sorted(offsets.begin(), offsets.end()), "offsets must not fall");
    require(static_cast<std::size_t>(offsets.back()) == entries, "the last offset must be the number of entries");
}

void check_indices(std::span<const std::int32_t> indices, std::size_t size) {
    for (const std::int32_t index : indices) {
        require(index >= 0 && static_cast<std::size_t>(index) < size, "an index is out of range");
    }
}

void check_sorted_unique(std::span<const std::int32_t> indices, std::span<const std::int32_t> indptr) {
    for (std::size_t j = 0; j + 1 < indptr.size(); ++j) {
        for (std::int32_t i = indptr[j] + 1; i < indptr[j + 1]; ++i) {
            require(indices[static_cast<std::size_t>(i - 1)] < indices[static_cast<std::size_t>(i)],
                    "indices must be sorted and unique");
        }
    }
}

template <typename T>
std::shared_ptr<Columns> columns_dense(const StridedMatrix<T>& x, const Vector<std::uint8_t>& nominal,
                                       std::size_t max_bins, std::size_t threads) {
    require(nominal.size() == x.shape(1), "nominal needs one entry per feature");
    return run_interruptibly([&](Interrupt& interrupt) {
        ThreadPool pool(threads);
        return std::make_shared<Columns>(columns_from_dense(matrix_of(x), span_of(nominal), max_bins, pool, interrupt));
    });
}

template <typename T>
std::shared_ptr<Columns> columns_csc(const Vector<T>& data, const Vector<std::int32_t>& indices,
                                     const Vector<std::int32_t>& indptr, std::size_t examples,
                                     const Vector<std::uint8_t>& nominal, std::size_t max_bins, std::size_t threads) {
    check_offsets(span_of(indptr), indices.size());
    check_indices(span_of(indices), examples);
    check_sorted_unique(span_of(indices), span_of(indptr));
    require(data.size() == indices.size(), "data and indices must have the same length");
    require(nominal.size() + 1 == indptr.size(), "nominal needs one entry per feature");
    return run_interruptibly([&](Interrupt& interrupt) {
        ThreadPool pool(threads);
        return std::make_shared<Columns>(columns_from_csc(span_of(data), span_of(indices), span_of(indptr), examples,
                                                          span_of(nominal), max_bins, pool, interrupt));
    });
}

Loss loss_from_name(const std::string& name) {
    if (name == "example_logistic") return Loss::example_logistic;
    if (name == "label_logistic") return Loss::label_logistic;
    if (name == "labelset_softmax") return Loss::labelset_softmax;
    throw std::invalid_argument("unknown loss: " + name);
}

template <typename T>
std::vector<T> vector_of(const Vector<T>& array) {
    return {array.data(), array.data() + array.size()};
}

void check_conditions(const RuleArrays& rules) {
    check_offsets<std::int64_t>(rules.conditions, rules.features.size());
    check_indices(rules.features, rules.n_features);
    require(rules.operators.size() == rules.features.size() && rules.values.size() == rules.features.size(),
            "conditions differ in length");
    require(rules.features.size() < std::numeric_limits<std::int32_t>::max(), "there are too many conditions");
    const auto last_operator = static_cast<std::uint8_t>(Operator::not_equal);
    for (const std::uint8_t op : rules.operators) require(op <= last_operator, "an operator is unknown");
    for (const double value : rules.values) require(!std::isnan(value), "a condition's value is missing");
}

void make_ensemble(Ensemble* self, const Vector<std::int64_t>& conditions, const Vector<std::int32_t>& features,
                   const Vector<std::uint8_t>& operators, const Vector<double>& values,
                   const Vector<std::int64_t>& heads, const Vector<std::int32_t>& head_labels,
                   const Vector<double>& head_scores, std::size_t n_features, std::size_t n_labels) {
    // Copied: nobody can change what has been checked.
    RuleArrays rules{vector_of(conditions),  vector_of(features),    vector_of(operators), vector_of(values), vector_of(heads),
                     vector_of(head_labels), vector_of(head_scores), n_features,           n_labels};
    check_conditions(rules);
    check_offsets<std::int64_t>(rules.heads, rules.head_labels.size());
    check_indices(rules.head_labels, n_labels);
    require(rules.head_scores.size() == rules.head_labels.size(), "heads differ in length");
    require(rules.heads.size() == rules.conditions.size(), "there must be as many heads as bodies");
    new (self) Ensemble(std::move(rules));
}

// Sums of products, as they are, differ in few bits where rows differ in few values.
OwnedVector<std::uint64_t> mixed(std::vector<std::uint64_t> keys) {
    for (std::uint64_t& key : keys) key = mix(key);
    return new_vector<std::uint64_t>(keys);
}

template <typename T>
void register_row_keys(nb::module_& module) {
    module.def(
        "row_keys",
        [](const StridedMatrix<T>& x) {
            std::vector<std::uint64_t> keys(x.shape(0));
            run_interruptibly([&](Interrupt& interrupt) { add_up_row_keys(matrix_of(x), keys.data(), interrupt); });
            return mixed(std::move(keys));
        },
        "x"_a.noconvert());
}

template <typename T>
void register_any_infinite(nb::module_& module) {
    module.def(
        "any_infinite",
        [](const StridedMatrix<T>& x) {
            return run_interruptibly([&](Interrupt& interrupt) {
                return any_infinite(matrix_of(x), interrupt);
            });
        },
        "x"_a.noconvert());
}

template <typename T>
void register_columns(nb::class_<Columns>& columns) {
    columns.def_static("from_dense", &columns_dense<T>, "x"_a.noconvert(), "nominal"_a, "max_bins"_a, "n_threads"_a);
    columns.def_static("from_csc", &columns_csc<T>, "data"_a.noconvert(), "indices"_a, "indptr"_a, "n_examples"_a,
                       "nominal"_a, "max_bins"_a, "n_threads"_a);
}

LabelSets checked_label_sets(const Matrix<std::uint8_t>& sets, const Vector<double>& weights,
                             const Vector<std::int32_t>& set_of, const Matrix<std::uint8_t>& labels) {
    require(sets.shape(1) == labels.shape(1), "label sets and labels differ in the number of labels");
    require(weights.size() == sets.shape(0), "there must be a weight for each label set");
    require(set_of.size() == labels.shape(0), "there must be a label set for each example");
    for (const double weight : span_of(weights)) require(weight > 0.0, "label sets must have positive weights");
    check_indices(span_of(set_of), sets.shape(0));
    return {{sets.data(), sets.size()}, sets.shape(1), span_of(weights), span_of(set_of)};
}

nb::tuple tree_to_python(const LearnedTree& tree, std::size_t labels) {
    std::vector<std::int32_t> features, left, right;
    std::vector<std::uint8_t> operators, missing_left, missing_seen;
    std::vector<double> values;
    std::vector<std::int64_t> coverage;
    std::int32_t leaves = 0;
    for (const TreeNode& node : tree.nodes) {
        features.push_back(node.condition.feature);
        operators.push_back(static_cast<std::uint8_t>(node.condition.op));
        values.push_back(node.condition.value);
        missing_left.push_back(node.missing_left);
        missing_seen.push_back(node.missing_seen);
        left.push_back(node.is_leaf() ? leaves++ : node.left);
        right.push_back(node.right);
        coverage.push_back(static_cast<std::int64_t>(node.coverage));
    }
    auto heads = new_matrix<double>(static_cast<std::size_t>(leaves), labels, 0.0);
    double* row = heads.data();
    for (const std::vector<double>& head : tree.heads) row = std::copy(head.begin(), head.end(), row);
    return nb::make_tuple(new_vector<std::int32_t>(features), new_vector<std::uint8_t>(operators),
                          new_vector<double>(values), new_vector<std::uint8_t>(missing_left),
                          new_vector<std::uint8_t>(missing_seen), new_vector<std::int32_t>(left),
                          new_vector<std::int32_t>(right), new_vector<std::int64_t>(coverage), heads,
                          new_vector<double>(tree.gains));
}

// The regions of one step: examples[offsets[i]] .. examples[offsets[i + 1]] get the head in row i.
void replay(Booster& self, const Vector<std::int64_t>& offsets, const Vector<std::int32_t>& examples,
            const Matrix<double>& heads) {
    check_offsets(span_of(offsets), examples.size());
    check_indices(span_of(examples), self.examples());
    require(heads.shape(0) + 1 == offsets.size(), "there must be as many heads as regions");
    require(heads.shape(1) == self.labels(), "heads have the wrong number of labels");
    std::vector<std::uint8_t> seen(self.examples(), 0);
    for (const std::int32_t example : span_of(examples)) {
        require(seen[static_cast<std::size_t>(example)]++ == 0, "regions must not overlap");
    }
    std::vector<std::vector<std::int32_t>> covered;
    std::vector<std::vector<double>> scores;
    for (std::size_t i = 0; i < heads.shape(0); ++i) {
        const auto part = span_of(examples).subspan(static_cast<std::size_t>(offsets.data()[i]),
                                                    static_cast<std::size_t>(offsets.data()[i + 1] - offsets.data()[i]));
        const double* head = heads.data() + i * self.labels();
        covered.emplace_back(part.begin(), part.end());
        scores.emplace_back(head, head + self.labels());
    }
    run_interruptibly([&](Interrupt& interrupt) { self.replay(covered, scores, interrupt); });
}

std::vector<std::int32_t> checked_tickets(std::span<const std::int32_t> tickets, std::size_t examples) {
    require(tickets.size() <= std::numeric_limits<std::int32_t>::max(), "there are too many tickets");
    check_indices(tickets, examples);
    std::vector<bool> seen(examples, false);
    for (const std::int32_t example : tickets) seen[static_cast<std::size_t>(example)] = true;
    require(std::find(seen.begin(), seen.end(), false) == seen.end(), "every example needs a ticket");
    return {tickets.begin(), tickets.end()};
}

void register_booster(nb::module_& module) {
    nb::class_<Booster>(module, "Booster")
        .def(
            "__init__",
            [](Booster* self, std::shared_ptr<Columns> columns, const Matrix<std::uint8_t>& labels,
               const Vector<double>& weights, const std::string& loss, bool single_head, bool use_bins,
               double bin_ratio, std::int32_t bins_per_sign, bool exact_aggregation, double learning_rate, double l2,
               bool bootstrap, std::size_t max_features, std::size_t max_conditions, std::size_t min_coverage,
               std::uint64_t seed, std::size_t threads, const std::optional<Matrix<std::uint8_t>>& sets,
               const std::optional<Vector<double>>& set_weights, const std::optional<Vector<std::int32_t>>& set_of,
               const std::optional<Vector<std::int32_t>>& tickets, bool profiled, bool trees, double subsample,
               std::size_t max_depth, std::size_t max_leaves, bool best_first, bool flat_divisions) {
                require(labels.shape(0) == columns->examples, "labels and features differ in length");
                require(weights.size() == columns->examples, "weights and features differ in length");
                require(labels.shape(0) > 0 && labels.shape(1) > 0, "there must be examples and labels");
                require(!columns->features.empty(), "there must be features");
                LabelSets label_sets;
                if (loss_from_name(loss) == Loss::labelset_softmax) {
                    require(sets && set_weights && set_of, "the loss over label sets needs to know them");
                    label_sets = checked_label_sets(*sets, *set_weights, *set_of, labels);
                }
                std::vector<std::int32_t> owners;
                if (tickets) owners = checked_tickets(span_of(*tickets), columns->examples);
                const Settings settings{.loss = loss_from_name(loss),
                                        .single_head = single_head,
                                        .use_bins = use_bins,
                                        .bins = {bin_ratio, bins_per_sign, exact_aggregation},
                                        .learning_rate = learning_rate,
                                        .l2 = l2,
                                        .bootstrap = bootstrap,
                                        .subsample = subsample,
                                        .max_features = max_features,
                                        .max_conditions = max_conditions,
                                        .min_coverage = min_coverage,
                                        .seed = seed,
                                        .trees = trees,
                                        .max_depth = max_depth,
                                        .max_leaves = max_leaves,
                                        .best_first = best_first,
                                        .flat_divisions = flat_divisions};
                run_interruptibly([&](Interrupt& interrupt) {
                    new (self) Booster(std::move(columns), {labels.data(), labels.size()},
                                       {weights.data(), weights.data() + weights.size()}, std::move(label_sets),
                                       std::move(owners), settings, threads, profiled, interrupt);
                });
            },
            "columns"_a, "labels"_a.noconvert(), "weights"_a.noconvert(), nb::kw_only(), "loss"_a, "single_head"_a,
            "use_bins"_a, "bin_ratio"_a, "bins_per_sign"_a, "exact_aggregation"_a, "learning_rate"_a, "l2"_a,
            "bootstrap"_a, "max_features"_a, "max_conditions"_a, "min_coverage"_a, "seed"_a, "n_threads"_a,
            "sets"_a.noconvert() = nb::none(), "set_weights"_a.noconvert() = nb::none(),
            "set_of"_a.noconvert() = nb::none(), "tickets"_a.noconvert() = nb::none(), "profiled"_a = false,
            "trees"_a = false, "subsample"_a = 1.0, "max_depth"_a = 0, "max_leaves"_a = 0, "best_first"_a = true,
            "flat_divisions"_a = false)
        .def("add_default_rule",
             [](Booster& self, RuleMaker& maker) {
                 return maker.make(
                     run_interruptibly([&](Interrupt& interrupt) { return self.add_default_rule(interrupt); }));
             },
             "maker"_a)
        .def(
            "learn_rule",
            [](Booster& self, std::uint64_t attempt, RuleMaker& maker) -> nb::object {
                const auto rule =
                    run_interruptibly([&](Interrupt& interrupt) { return self.learn_rule(attempt, interrupt); });
                return rule ? maker.make(*rule) : nb::none();
            },
            "attempt"_a, "maker"_a)
        .def(
            "learn_tree",
            [](Booster& self, std::uint64_t attempt) -> std::optional<nb::tuple> {
                require(self.grows_trees(), "this booster was made for rules");
                const auto tree =
                    run_interruptibly([&](Interrupt& interrupt) { return self.learn_tree(attempt, interrupt); });
                if (!tree) return std::nullopt;
                return tree_to_python(*tree, self.labels());
            },
            "attempt"_a)
        .def("replay", &replay, "offsets"_a, "examples"_a, "heads"_a)
        .def("mean_loss", &Booster::mean_loss)
        .def("activity_seconds",
             [](Booster& self) {
                 const auto [other, summing, evaluating] = self.activity_seconds();
                 return nb::make_tuple(evaluating, summing, other);
             })
        .def("scores", [](const Booster& self) {
            auto scores = new_matrix<double>(self.examples(), self.labels(), 0.0);
            for (std::size_t n = 0; n < self.examples(); ++n) {
                self.copy_scores(n, scores.data() + n * self.labels());
            }
            return scores;
        });
}

// After how many rules scores are wanted (without stops: after all), and the scores of the first ones if they are known.
using Stops = std::optional<Vector<std::int64_t>>;
using Start = std::optional<Matrix<double>>;

template <typename Ensemble>
Stages checked_stages(const Ensemble& ensemble, std::size_t examples, const Stops& stops, std::size_t first,
                      const Start& start, std::int64_t& all) {
    all = static_cast<std::int64_t>(ensemble.size());
    const std::span<const std::int64_t> given = stops ? span_of(*stops) : std::span<const std::int64_t>(&all, 1);
    require(!given.empty() && given.back() <= all, "stops must not lie behind the last rule");
    require(given.front() >= static_cast<std::int64_t>(first), "stops must not lie before the first rule");
    require(std::is_sorted(given.begin(), given.end()), "stops must not fall");
    if (!start) return {given, first, nullptr};
    require(start->shape(0) == examples && start->shape(1) == ensemble.n_labels(), "start has the wrong shape");
    return {given, first, start->data()};
}

template <typename Ensemble, typename T>
OwnedMatrix<double> predict_dense(const Ensemble& self, const StridedMatrix<T>& x, std::size_t threads,
                                  const Stops& stops, std::size_t first, const Start& start) {
    require(x.shape(1) == self.n_features(), "wrong number of features");
    std::int64_t all;
    const Stages stages = checked_stages(self, x.shape(0), stops, first, start, all);
    auto scores = new_matrix<double>(stages.stops.size() * x.shape(0), self.n_labels(), 0.0);
    run_interruptibly([&](Interrupt& interrupt) {
        ThreadPool pool(threads);
        self.predict_dense(x.data(), x.shape(0), x.stride(0), x.stride(1), stages, scores.data(), pool, interrupt);
    });
    return scores;
}

template <typename Ensemble, typename T>
OwnedMatrix<double> predict_csr(const Ensemble& self, const Vector<T>& data, const Vector<std::int32_t>& indices,
                                const Vector<std::int32_t>& indptr, std::size_t threads, const Stops& stops,
                                std::size_t first, const Start& start) {
    check_offsets(span_of(indptr), indices.size());
    check_indices(span_of(indices), self.n_features());
    check_sorted_unique(span_of(indices), span_of(indptr));
    require(data.size() == indices.size(), "data and indices must have the same length");
    std::int64_t all;
    const Stages stages = checked_stages(self, indptr.size() - 1, stops, first, start, all);
    auto scores = new_matrix<double>(stages.stops.size() * (indptr.size() - 1), self.n_labels(), 0.0);
    run_interruptibly([&](Interrupt& interrupt) {
        ThreadPool pool(threads);
        self.predict_csr(span_of(data), span_of(indices), span_of(indptr), stages, scores.data(), pool, interrupt);
    });
    return scores;
}

template <typename Ensemble>
void register_prediction(nb::class_<Ensemble>& type) {
    type.def("predict_dense", &predict_dense<Ensemble, double>, "x"_a.noconvert(), "n_threads"_a, "stops"_a = nb::none(),
             "first"_a = 0, "start"_a = nb::none());
    type.def("predict_dense", &predict_dense<Ensemble, float>, "x"_a.noconvert(), "n_threads"_a, "stops"_a = nb::none(),
             "first"_a = 0, "start"_a = nb::none());
    type.def("predict_csr", &predict_csr<Ensemble, double>, "data"_a.noconvert(), "indices"_a, "indptr"_a, "n_threads"_a,
             "stops"_a = nb::none(), "first"_a = 0, "start"_a = nb::none());
    type.def("predict_csr", &predict_csr<Ensemble, float>, "data"_a.noconvert(), "indices"_a, "indptr"_a, "n_threads"_a,
             "stops"_a = nb::none(), "first"_a = 0, "start"_a = nb::none());
}

void make_forest(Forest* self, const Vector<std::int64_t>& trees, const Vector<std::int32_t>& features,
                 const Vector<std::uint8_t>& operators, const Vector<double>& values,
                 const Vector<std::uint8_t>& missing_left, const Vector<std::int32_t>& left,
                 const Vector<std::int32_t>& right, const Vector<double>& default_head, const Matrix<double>& heads,
                 std::size_t n_features) {
    const std::size_t nodes = features.size();
    check_offsets(span_of(trees), nodes);
    require(operators.size() == nodes && values.size() == nodes && missing_left.size() == nodes &&
                left.size() == nodes && right.size() == nodes,
            "there must be as many entries as nodes");
    require(heads.shape(1) == default_head.size(), "heads differ in the number of labels");
    const auto copy = [](const auto& vector) { return std::vector(vector.data(), vector.data() + vector.size()); };
    TreeArrays arrays{copy(trees),        copy(features), copy(operators),    copy(values), copy(missing_left),
                      copy(left),         copy(right),    copy(default_head), copy(heads),  n_features};
    const char* const fault = arrays.fault();
    require(fault == nullptr, fault);
    new (self) Forest(std::move(arrays));
}

void register_forest(nb::module_& module) {
    using State = std::tuple<Vector<std::int64_t>, Vector<std::int32_t>, Vector<std::uint8_t>, Vector<double>,
                             Vector<std::uint8_t>, Vector<std::int32_t>, Vector<std::int32_t>, Vector<double>,
                             Matrix<double>, std::size_t>;
    auto type = nb::class_<Forest>(module, "Forest");
    type.def("__init__", &make_forest, "trees"_a, "features"_a, "operators"_a, "values"_a, "missing_left"_a, "left"_a,
             "right"_a, "default_head"_a, "heads"_a, "n_features"_a);
    register_prediction(type);
    type.def("__getstate__", [](const Forest& self) {
        const TreeArrays& trees = self.arrays();
        auto heads = new_matrix<double>(trees.heads.size() / trees.n_labels(), trees.n_labels(), 0.0);
        std::copy(trees.heads.begin(), trees.heads.end(), heads.data());
        return nb::make_tuple(new_vector<std::int64_t>(trees.trees), new_vector<std::int32_t>(trees.features),
                              new_vector<std::uint8_t>(trees.operators), new_vector<double>(trees.values),
                              new_vector<std::uint8_t>(trees.missing_left), new_vector<std::int32_t>(trees.left),
                              new_vector<std::int32_t>(trees.right), new_vector<double>(trees.default_head), heads,
                              trees.n_features);
    });
    type.def("__setstate__", [](Forest& self, const State& state) {
        std::apply([&](const auto&... part) { make_forest(&self, part...); }, state);
    });
}

void register_ensemble(nb::module_& module) {
    using State = std::tuple<Vector<std::int64_t>, Vector<std::int32_t>, Vector<std::uint8_t>, Vector<double>,
                             Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, std::size_t, std::size_t>;
    auto type = nb::class_<Ensemble>(module, "Ensemble");
    register_prediction(type);
    type.def("__init__", &make_ensemble, "conditions"_a, "features"_a, "operators"_a, "values"_a, "heads"_a,
             "head_labels"_a, "head_scores"_a, "n_features"_a, "n_labels"_a)
        .def("__getstate__",
             [](const Ensemble& self) {
                 const RuleArrays rules = self.arrays();
                 return nb::make_tuple(new_vector<std::int64_t>(rules.conditions),
                                       new_vector<std::int32_t>(rules.features),
                                       new_vector<std::uint8_t>(rules.operators), new_vector<double>(rules.values),
                                       new_vector<std::int64_t>(rules.heads),
                                       new_vector<std::int32_t>(rules.head_labels),
                                       new_vector<double>(rules.head_scores), rules.n_features, rules.n_labels);
             })
        .def("__setstate__", [](Ensemble& self, const State& state) {
            std::apply([&](const auto&... part) { make_ensemble(&self, part...); }, state);
        });
}

KnownVectors known_vectors(const std::string& loss, const Matrix<double>& scores, const Matrix<std::uint8_t>& known) {
    require(scores.shape(1) == known.shape(1), "scores and label vectors differ in the number of labels");
    require(known.shape(0) > 0 && known.shape(1) > 0, "there must be known label vectors");
    require(loss != "labelset_softmax", "the loss over label sets has another way of decoding");
    return {loss_from_name(loss), scores.data(), scores.shape(0), known.data(), known.shape(0), known.shape(1)};
}

void register_decoding(nb::module_& module) {
    module.def(
        "decode_known",
        [](const std::string& loss, const Matrix<double>& scores, const Matrix<std::uint8_t>& known,
           std::size_t threads) {
            const KnownVectors input = known_vectors(loss, scores, known);
            std::vector<std::int32_t> position(input.examples);
            run_interruptibly([&](Interrupt& interrupt) {
                ThreadPool pool(threads);
                decode_known(input, position.data(), pool, interrupt);
            });
            return new_vector<std::int32_t>(position);
        },
        "loss"_a, "scores"_a.noconvert(), "known"_a.noconvert(), "n_threads"_a);
    module.def(
        "known_marginals",
        [](const std::string& loss, const Matrix<double>& scores, const Matrix<std::uint8_t>& known,
           std::size_t threads) {
            const KnownVectors input = known_vectors(loss, scores, known);
            auto probabilities = new_matrix<double>(input.examples, input.labels, 0.0);
            run_interruptibly([&](Interrupt& interrupt) {
                ThreadPool pool(threads);
                known_marginals(input, probabilities.data(), pool, interrupt);
            });
            return probabilities;
        },
        "loss"_a, "scores"_a.noconvert(), "known"_a.noconvert(), "n_threads"_a);
}

}  // namespace
}  // namespace labelboost

NB_MODULE(_core, module) {
    using namespace labelboost;
    // A model that a thread still holds at exit is no leak.
    nb::set_leak_warnings(false);
    auto columns = nb::class_<Columns>(module, "Columns");
    columns.def_prop_ro("n_examples", [](const Columns& self) { return self.examples; });
    columns.def_prop_ro("n_features", [](const Columns& self) { return self.features.size(); });
    columns.def_prop_ro("any_infinite", &Columns::any_infinite);
    columns.def("row_keys", [](const Columns& self) -> std::optional<OwnedVector<std::uint64_t>> {
        if (self.row_keys.empty()) return std::nullopt;
        return mixed(self.row_keys);
    });
    register_columns<double>(columns);
    register_columns<float>(columns);
    register_row_keys<double>(module);
    register_row_keys<float>(module);
    register_any_infinite<double>(module);
    register_any_infinite<float>(module);
    register_booster(module);
    nb::class_<RuleMaker>(module, "RuleMaker")
        .def(nb::init<nb::type_object, nb::type_object, nb::tuple, nb::object>(), "rule"_a, "condition"_a, "operators"_a,
             "missing"_a)
        .def("pack",
             [](const RuleMaker& self, const nb::sequence& rules, const Matrix<double>& heads, std::size_t n_features) {
                 RuleArrays packed = self.pack(rules, n_features, heads.shape(1));
                 check_conditions(packed);
                 require(heads.shape(0) == packed.rules(), "there must be a head for each rule");
                 return Ensemble(std::move(packed), heads.data());
             },
             "rules"_a, "heads"_a.noconvert(), "n_features"_a);
    register_ensemble(module);
    register_forest(module);
    register_decoding(module);
    module.def(
        "distinct_rows",
        [](const Matrix<std::uint8_t>& matrix, const Vector<double>& weights) {
            require(matrix.shape(0) == weights.size(), "there must be a weight for each row");
            const DistinctRows rows = run_interruptibly([&](Interrupt& interrupt) {
                return distinct_rows({matrix.data(), matrix.size()}, matrix.shape(1), span_of(weights), interrupt);
            });
            return nb::make_tuple(new_vector<std::int64_t>(rows.first), new_vector<double>(rows.weights),
                                  new_vector<std::int32_t>(rows.number));
        },
        "matrix"_a, "weights"_a);
    module.def("first_draw_of_numpy", &first_draw_of_numpy, "seed"_a);
    module.def("instruction_set", [] { return std::string(active_kernels().name); });
}
