#include "python_rules.hpp"

#include <initializer_list>
#include <stdexcept>

namespace nb = nanobind;

namespace labelboost {
namespace {

// Found once, and never given back: Python may be gone when static objects are destroyed.
PyObject* from_buffer() {
    static PyObject* const function = nb::module_::import_("numpy").attr("frombuffer").inc_ref().ptr();
    return function;
}

PyObject* interned(const char* name) {
    PyObject* const string = PyUnicode_InternFromString(name);
    if (string == nullptr) throw nb::python_error();
    return string;
}

struct Field {
    PyObject* name;
    nb::handle value;
};

nb::object new_instance(nb::handle type, std::initializer_list<Field> fields) {
    auto instance = nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type.ptr()), 0));
    if (!instance.is_valid()) throw nb::python_error();
    for (const Field& field : fields) {
        // Not by the class, which refuses to change anything.
        if (PyObject_GenericSetAttr(instance.ptr(), field.name, field.value.ptr()) != 0) throw nb::python_error();
    }
    return instance;
}

class Sequence {
public:
    explicit Sequence(nb::handle source) : items_(nb::steal(PySequence_Fast(source.ptr(), "not a sequence"))) {
        if (!items_.is_valid()) throw nb::python_error();
    }
    std::size_t size() const { return static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items_.ptr())); }
    nb::handle operator[](std::size_t i) const { return PySequence_Fast_ITEMS(items_.ptr())[i]; }

private:
    nb::object items_;
};

}  // namespace

nb::object read_only_array(std::span<const double> values) {
    const nb::bytes buffer(values.data(), values.size_bytes());
    return nb::steal(PyObject_CallOneArg(from_buffer(), buffer.ptr()));
}

nb::tuple rule_to_python(const LearnedRule& rule) {
    nb::list features, operators, values;
    for (const Condition& condition : rule.conditions) {
        features.append(condition.feature);
        operators.append(static_cast<int>(condition.op));
        values.append(condition.value);
    }
    return nb::make_tuple(features, operators, values, read_only_array(rule.head), rule.coverage, rule.gain);
}

RuleMaker::RuleMaker(nb::type_object rule, nb::type_object condition, nb::tuple operators, nb::object missing)
    : rule_(std::move(rule)),
      condition_(std::move(condition)),
      operators_(std::move(operators)),
      missing_(std::move(missing)) {
    for (const nb::object* const type : {&rule_, &condition_}) {
        constexpr unsigned long kDefinedInPython = Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_HAVE_GC;
        const unsigned long flags = PyType_GetFlags(reinterpret_cast<PyTypeObject*>(type->ptr()));
        if ((flags & kDefinedInPython) != kDefinedInPython) throw std::invalid_argument("not a class with slots");
    }
}

nb::object RuleMaker::make_condition(nb::handle feature, nb::handle code, nb::handle value) const {
    static PyObject* const names[] = {interned("feature"), interned("operator"), interned("value"), interned("missing")};
    const auto place = static_cast<std::size_t>(nb::cast<std::uint8_t>(nb::int_(code)));
    if (place >= operators_.size()) throw std::invalid_argument("an operator is unknown");
    nb::object condition = new_instance(condition_, {{names[0], feature},
                                                     {names[1], operators_[place]},
                                                     {names[2], value},
                                                     {names[3], missing_}});
    // Numbers and strings refer to nothing: the garbage collector need not look for cycles here, as in tuples of them.
    PyObject_GC_UnTrack(condition.ptr());
    return condition;
}

nb::object RuleMaker::make(const nb::tuple& raw) const {
    static PyObject* const names[] = {interned("conditions"), interned("head"), interned("coverage"), interned("gain")};
    if (raw.size() != 6) throw std::invalid_argument("a rule must have six parts");
    const Sequence features(raw[0]), codes(raw[1]), values(raw[2]);
    if (codes.size() != features.size() || values.size() != features.size()) {
        throw std::invalid_argument("conditions differ in length");
    }
    const auto conditions = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(features.size())));
    if (!conditions.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < features.size(); ++i) {
        PyTuple_SET_ITEM(conditions.ptr(), static_cast<Py_ssize_t>(i),
                         make_condition(features[i], codes[i], values[i]).release().ptr());
    }
    return new_instance(rule_, {{names[0], conditions}, {names[1], raw[3]}, {names[2], raw[4]}, {names[3], raw[5]}});
}

}  // namespace labelboost
