#include "python_rules.hpp"

#include <structmember.h>

#include <bit>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;

namespace labelboost {
namespace {

// The numbers of slots, as the constructor of RuleMaker lists them.
constexpr std::size_t kConditions = 0;
constexpr std::size_t kFeature = 0, kOperator = 1, kValue = 2;

// Found once, and never given back: Python may be gone when static objects are destroyed.
PyObject* from_buffer() {
    static PyObject* const function = nb::module_::import_("numpy").attr("frombuffer").inc_ref().ptr();
    return function;
}

PyObject*& slot(nb::handle instance, std::ptrdiff_t offset) {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(instance.ptr()) + offset);
}

bool same(const Condition& a, const Condition& b) {
    return a.feature == b.feature && a.op == b.op &&
           std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

// Numbers that matter to people have their digits in the upper half.
std::size_t hash(const Condition& condition) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    const auto feature = static_cast<std::uint64_t>(condition.feature) * 4 + static_cast<std::uint64_t>(condition.op);
    const auto value = std::bit_cast<std::uint64_t>(condition.value);
    return static_cast<std::size_t>(((value ^ value >> 32 ^ feature << 16) * kOdd) >> 40);
}

}  // namespace

nb::object read_only_array(std::span<const double> values) {
    const nb::bytes buffer(values.data(), values.size_bytes());
    return nb::steal(PyObject_CallOneArg(from_buffer(), buffer.ptr()));
}

SlottedClass::SlottedClass(nb::type_object type, std::initializer_list<const char*> slots) : type_(std::move(type)) {
    constexpr unsigned long kDefinedInPython = Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_HAVE_GC;
    const unsigned long flags = PyType_GetFlags(reinterpret_cast<PyTypeObject*>(type_.ptr()));
    if ((flags & kDefinedInPython) != kDefinedInPython) throw std::invalid_argument("not a class defined in Python");
    for (const char* const name : slots) {
        const nb::object descriptor = type_.attr(name);
        if (!Py_IS_TYPE(descriptor.ptr(), &PyMemberDescr_Type)) throw std::invalid_argument("not a class with slots");
        const PyMemberDef* const member = reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member;
        if (member->type != T_OBJECT_EX) throw std::invalid_argument("not a slot for an object");
        offsets_.push_back(member->offset);
    }
}

nb::object SlottedClass::make(std::initializer_list<nb::object> values) const {
    nb::object instance = nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type_.ptr()), 0));
    if (!instance.is_valid()) throw nb::python_error();
    const nb::object* value = values.begin();
    for (const std::ptrdiff_t offset : offsets_) slot(instance, offset) = (value++)->inc_ref().ptr();
    // As there are no cycles, the garbage collector need not look for any.
    PyObject_GC_UnTrack(instance.ptr());
    return instance;
}

nb::handle SlottedClass::get(nb::handle instance, std::size_t number) const {
    if (!PyObject_TypeCheck(instance.ptr(), reinterpret_cast<PyTypeObject*>(type_.ptr()))) {
        throw nb::type_error("a rule or condition is of another class");
    }
    const nb::handle value = slot(instance, offsets_[number]);
    if (!value.is_valid()) throw nb::type_error("a rule or condition is not complete");
    return value;
}

RuleMaker::RuleMaker(nb::type_object rule, nb::type_object condition, nb::tuple operators, nb::object missing)
    : rule_(std::move(rule), {"conditions", "head", "coverage", "gain"}),
      condition_(std::move(condition), {"feature", "operator", "value", "missing"}),
      operators_(std::move(operators)),
      missing_(std::move(missing)) {
    constexpr auto kOperators = static_cast<std::size_t>(Operator::not_equal) + 1;
    if (operators_.size() != kOperators) throw std::invalid_argument("there must be a name for each operator");
}

nb::object RuleMaker::condition(const Condition& condition) {
    Made& made = made_[hash(condition) % made_.size()];
    if (made.condition.is_valid() && same(made.key, condition)) return made.condition;
    nb::object added = condition_.make({nb::int_(condition.feature), operators_[static_cast<std::size_t>(condition.op)],
                                        nb::float_(condition.value), missing_});
    made.key = condition;
    made.condition = added;
    return added;
}

nb::object RuleMaker::make(const LearnedRule& rule) {
    const auto conditions = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(rule.conditions.size())));
    if (!conditions.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
        PyTuple_SET_ITEM(conditions.ptr(), static_cast<Py_ssize_t>(i), condition(rule.conditions[i]).release().ptr());
    }
    PyObject_GC_UnTrack(conditions.ptr());
    return rule_.make({conditions, read_only_array(rule.head), nb::int_(rule.coverage), nb::float_(rule.gain)});
}

std::uint8_t RuleMaker::code(nb::handle name) const {
    const std::size_t operators = operators_.size();
    for (std::size_t op = 0; op < operators; ++op) {
        if (operators_[op].is(name)) return static_cast<std::uint8_t>(op);
    }
    for (std::size_t op = 0; op < operators; ++op) {
        if (operators_[op].equal(name)) return static_cast<std::uint8_t>(op);
    }
    throw nb::value_error("the operator of a condition is unknown");
}

RuleArrays RuleMaker::pack(nb::sequence rules, std::size_t n_features, std::size_t n_labels) const {
    RuleArrays out{{0}, {}, {}, {}, {}, {}, {}, n_features, n_labels};
    std::size_t count = 0;
    for (const nb::handle rule : rules) {
        count += nb::len(nb::cast<nb::tuple>(rule_.get(rule, kConditions)));
        out.conditions.push_back(static_cast<std::int64_t>(count));
    }
    out.features.reserve(count);
    out.operators.reserve(count);
    out.values.reserve(count);
    for (const nb::handle rule : rules) {
        for (const nb::handle condition : nb::borrow<nb::tuple>(rule_.get(rule, kConditions))) {
            out.features.push_back(nb::cast<std::int32_t>(condition_.get(condition, kFeature)));
            out.operators.push_back(code(condition_.get(condition, kOperator)));
            out.values.push_back(nb::cast<double>(condition_.get(condition, kValue)));
        }
    }
    return out;
}

}  // namespace labelboost
