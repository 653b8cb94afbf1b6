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

}  // namespace

nb::object read_only_array(std::span<const double> values) {
    const nb::bytes buffer(values.data(), values.size_bytes());
    return nb::steal(PyObject_CallOneArg(from_buffer(), buffer.ptr()));
}

RuleMaker::RuleMaker(nb::type_object rule, nb::type_object condition, nb::tuple operators, nb::object missing)
    : rule_(std::move(rule)),
      condition_(std::move(condition)),
      operators_(std::move(operators)),
      missing_(std::move(missing)) {
    constexpr auto kOperators = static_cast<std::size_t>(Operator::not_equal) + 1;
    if (operators_.size() != kOperators) throw std::invalid_argument("there must be a name for each operator");
    for (const nb::object* const type : {&rule_, &condition_}) {
        constexpr unsigned long kDefinedInPython = Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_HAVE_GC;
        const unsigned long flags = PyType_GetFlags(reinterpret_cast<PyTypeObject*>(type->ptr()));
        if ((flags & kDefinedInPython) != kDefinedInPython) throw std::invalid_argument("not a class with slots");
    }
}

nb::object RuleMaker::make_condition(const Condition& condition) const {
    static PyObject* const names[] = {interned("feature"), interned("operator"), interned("value"), interned("missing")};
    nb::object made = new_instance(condition_, {{names[0], nb::int_(condition.feature)},
                                                {names[1], operators_[static_cast<std::size_t>(condition.op)]},
                                                {names[2], nb::float_(condition.value)},
                                                {names[3], missing_}});
    // Numbers and strings refer to nothing: the garbage collector need not look for cycles here, as in tuples of them.
    PyObject_GC_UnTrack(made.ptr());
    return made;
}

nb::object RuleMaker::make(const LearnedRule& rule) const {
    static PyObject* const names[] = {interned("conditions"), interned("head"), interned("coverage"), interned("gain")};
    const auto conditions = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(rule.conditions.size())));
    if (!conditions.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
        PyTuple_SET_ITEM(conditions.ptr(), static_cast<Py_ssize_t>(i), make_condition(rule.conditions[i]).release().ptr());
    }
    return new_instance(rule_, {{names[0], conditions},
                                {names[1], read_only_array(rule.head)},
                                {names[2], nb::int_(rule.coverage)},
                                {names[3], nb::float_(rule.gain)}});
}

}  // namespace labelboost
