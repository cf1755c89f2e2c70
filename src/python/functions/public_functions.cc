// Functions of ops/functions/registry.h: what the package makes its functions
// of, and calls of those that are formulas. Their ops run at once, or go to the graph that is
// current, one by one, so that tapes see them as they see all others.
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/functions/registry.h"
#include "python/arrays/convert.h"
#include "python/arrays/items.h"
#include "python/attrs.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/functions/formula_runner.h"
#include "python/functions/training.h"
#include "python/graph.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

using Kind = Parameter::Kind;

bool IsTensor(nb::handle value) {
  if (AsTensor(value) != nullptr) return true;
  return !IsPythonNumber(value) && nb::hasattr(value, "__gyre_tensor__");
}

std::optional<int32_t> AsAxis(nb::handle value) {
  if (PyIndex_Check(value.ptr()) == 0) return std::nullopt;
  const nb::object index = Own(PyNumber_Index(value.ptr()));
  int overflows = 0;
  const long long n = PyLong_AsLongLongAndOverflow(index.ptr(), &overflows);
  if (overflows != 0 || n < std::numeric_limits<int32_t>::min() ||
      n > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(n);
}

// The arguments of one call.
class Arguments {
 public:
  Arguments(const PublicFunction& function, const nb::tuple& given, FormulaRunner& runner)
      : function_(function), given_(given), runner_(runner) {}

  std::vector<Argument> All() {
    std::vector<Argument> arguments;
    for (size_t i = 0; i < function_.parameters.size(); ++i) arguments.push_back(One(i));
    return arguments;
  }

 private:
  Argument One(size_t i) {
    const Parameter& parameter = function_.parameters[i];
    const nb::handle value = given_[i];
    if (parameter.kind == Kind::kAxes) return Axes(value);
    if (parameter.kind == Kind::kShape) return Shape(parameter, value);
    if (parameter.kind != Kind::kTensor) return {.plain = Plain(parameter, value)};
    if (value.is_none() && parameter.is_optional) return {};
    Argument argument;
    argument.is_default = IsDefault(parameter, value);
    if (AsTensor(value) != nullptr && parameter.group != 0) {
      argument.tensor = runner_.Add(nb::borrow(value));
      return argument;
    }
    // A number is no node until an op takes it, unless several may; a default may be for none.
    const bool is_number = IsPythonNumber(value);
    const bool has_type = !is_number && (IsTensor(value) || HoldsTensors(value));
    std::optional<DType> wanted = has_type ? std::nullopt : TypeOf(parameter.group);
    if (wanted && argument.is_default && !Takes(*wanted, value)) wanted = std::nullopt;
    const bool is_loose = is_number && (CurrentGraph() == nullptr || argument.is_default);
    argument.tensor =
        is_loose ? runner_.Constant(ToTensor(value, wanted)) : runner_.Add(Convert(value, wanted));
    return argument;
  }

  // That numbers among the tensors of a letter take: that of the first tensor, or what the numbers
  // have in common; nullopt: each its own. Defaults count only beside numbers alone: they turn no
  // list or array into what it is not.
  std::optional<DType> TypeOf(char group) {
    if (group == 0) return std::nullopt;
    std::vector<DType> own, of_defaults;
    bool has_array = false;
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      const Parameter& parameter = function_.parameters[i];
      const nb::handle value = given_[i];
      if (parameter.group != group || value.is_none()) continue;
      if (AsTensor(value) != nullptr) return AsTensor(value)->dtype();
      if (IsTensor(value) || HoldsTensors(value)) return AsTensor(Convert(value))->dtype();
      has_array |= !IsPythonNumber(value);
      (IsDefault(parameter, value) ? of_defaults : own).push_back(ToTensor(value).dtype());
    }
    if (!has_array) own.insert(own.end(), of_defaults.begin(), of_defaults.end());
    for (const DType dtype : own) {
      if (IsFloating(dtype) || IsComplex(dtype)) return dtype;
    }
    return own.empty() ? std::nullopt : std::optional(own[0]);
  }

  // Whether a number can be of this type.
  static bool Takes(DType dtype, nb::handle number) {
    if (IsFloating(dtype) || IsComplex(dtype)) return true;
    return IsInteger(dtype) && PyFloat_Check(number.ptr()) == 0;
  }

  static bool IsDefault(const Parameter& parameter, nb::handle value) {
    if (!parameter.default_value || !IsPythonNumber(value)) return false;
    const PlainValue& fallback = *parameter.default_value;
    const auto* number = std::get_if<double>(&fallback);
    const auto* integer = std::get_if<int64_t>(&fallback);
    const double given = PyFloat_AsDouble(value.ptr());
    if (given == -1 && PyErr_Occurred() != nullptr) PyErr_Clear();
    return (number != nullptr && given == *number) ||
           (integer != nullptr && given == static_cast<double>(*integer));
  }

  Argument Axes(nb::handle value) {
    if (value.is_none()) return {};
    if (IsTensor(value)) return {.tensor = runner_.Add(Convert(value))};
    if (const std::optional<int32_t> axis = AsAxis(value))
      return {.axes = std::vector{*axis}, .is_one_axis = true};
    const nb::object list = Own(PySequence_List(value.ptr()));
    std::vector<int32_t> axes;
    for (const nb::handle item : nb::iter(list)) {
      const std::optional<int32_t> axis = IsTensor(item) ? std::nullopt : AsAxis(item);
      if (!axis) return {.tensor = runner_.Add(Convert(list, DType::kInt32))};
      axes.push_back(*axis);
    }
    return {.axes = std::move(axes)};
  }

  Argument Shape(const Parameter& parameter, nb::handle value) {
    if (value.is_none() && parameter.is_optional) return {};
    if (IsTensor(value)) return {.tensor = runner_.Add(Convert(value))};
    // Of what is reshaped, one size follows from the others.
    const bool may_follow = function_.op == "Reshape";
    std::optional<std::vector<int32_t>> sizes = KnownSizes(value, may_follow);
    // Some are known at run time only, or not at all, or it is an object for shapes.
    if (!sizes) {
      const nb::object vector = nb::module_::import_("gyre._impl.convert")
                                    .attr("dims_tensor")(value, "int32", may_follow);
      return {.tensor = runner_.Add(Convert(vector))};
    }
    return {.tensor = runner_.Ints(*sizes),
            .dims = std::vector<int64_t>(sizes->begin(), sizes->end())};
  }

  // A size, or a list of sizes, of which None counts as -1 if it `may_follow` from the others;
  // nullopt for all else.
  static std::optional<std::vector<int32_t>> KnownSizes(nb::handle value, bool may_follow) {
    const bool is_list = PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0;
    const nb::object list = is_list ? nb::borrow(value) : nb::object(nb::make_tuple(value));
    std::vector<int32_t> sizes;
    for (const nb::handle item : nb::iter(list)) {
      const std::optional<int32_t> size = item.is_none() && is_list && may_follow ? -1
                                          : IsTensor(item)                        ? std::nullopt
                                                                                  : AsAxis(item);
      if (!size) return std::nullopt;
      sizes.push_back(*size);
    }
    return sizes;
  }

  static std::vector<int64_t> Integers(nb::handle value) {
    const bool is_one = PyIndex_Check(value.ptr()) != 0;
    const nb::object list = is_one ? nb::object(nb::make_tuple(value)) : nb::borrow(value);
    std::vector<int64_t> integers;
    for (const nb::handle item : nb::iter(list)) integers.push_back(Integer(item));
    return integers;
  }

  static int64_t Integer(nb::handle value) {
    const nb::object index = Own(PyNumber_Index(value.ptr()));
    const long long n = PyLong_AsLongLong(index.ptr());
    if (n == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return n;
  }

  static PlainValue Plain(const Parameter& parameter, nb::handle value) {
    if (value.is_none() && parameter.kind != Kind::kBool && parameter.default_value)
      return *parameter.default_value;
    switch (parameter.kind) {
      case Kind::kBool: {
        const int truth = PyObject_IsTrue(value.ptr());
        if (truth < 0) throw nb::python_error();
        return truth != 0;
      }
      case Kind::kInt:
        return Integer(value);
      case Kind::kInts:
        return Integers(value);
      case Kind::kFloat: {
        const double x = PyFloat_AsDouble(value.ptr());
        if (x == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
        return x;
      }
      case Kind::kType:
        return ToDType(value);
      default: {
        std::string text;
        StringOf(value, &text);
        return text;
      }
    }
  }

  const PublicFunction& function_;
  const nb::tuple& given_;
  FormulaRunner& runner_;
};

nb::object CallFunction(nb::handle function_name, nb::handle given, nb::handle name) {
  const absl::string_view asked = TextOf(function_name, "the name of a function");
  const PublicFunction* const found = Functions().Find(asked);
  if (found == nullptr || found->formula == nullptr)
    ThrowValueError(absl::StrCat("there is no function of several ops '", asked, "'"));
  const PublicFunction& function = *found;
  const nb::tuple items = ItemsOf(given, "arguments");
  if (nb::len(items) != function.parameters.size())
    ThrowTypeError(
        absl::StrCat(function.name(), " takes ", function.parameters.size(), " arguments"));
  FormulaRunner runner(name.is_none() ? "" : TextOf(name, "a name"));
  FormulaContext context(runner, Arguments(function, items, runner).All());
  const std::vector<Term> results = function.formula(context);
  if (function.results.empty()) return runner.TensorOf(results[0]);
  nb::list list;
  for (const Term& result : results) list.append(runner.TensorOf(result));
  return nb::tuple(list);
}

absl::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "tensor";
    case Kind::kAxes:
      return "axes";
    case Kind::kShape:
      return "shape";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kInts:
      return "ints";
    case Kind::kFloat:
      return "float";
    case Kind::kType:
      return "type";
    case Kind::kString:
      return "string";
  }
  return "";
}

nb::object DefaultToPython(const PlainValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return nb::bool_(*flag);
  if (const auto* integer = std::get_if<int64_t>(&value)) return nb::int_(*integer);
  if (const auto* number = std::get_if<double>(&value)) return nb::float_(*number);
  if (const auto* dtype = std::get_if<DType>(&value)) return ToStr(DTypeName(*dtype));
  if (const auto* text = std::get_if<std::string>(&value)) return ToStr(*text);
  return nb::none();
}

nb::list PublicFunctions() {
  nb::list found;
  for (const PublicFunction* function : Functions().All()) {
    nb::list names, parameters;
    for (const std::string& name : function->names) names.append(ToStr(name));
    for (const Parameter& parameter : function->parameters) {
      nb::dict info;
      info["name"] = ToStr(parameter.name);
      info["kind"] = ToStr(KindName(parameter.kind));
      info["optional"] = parameter.is_optional;
      if (parameter.default_value) info["default"] = DefaultToPython(*parameter.default_value);
      parameters.append(info);
    }
    nb::dict info;
    info["names"] = names;
    info["doc"] = ToStr(function->doc);
    info["parameters"] = parameters;
    info["results"] = function->results.empty() ? size_t{1} : function->results.size();
    found.append(info);
  }
  return found;
}

}  // namespace

void BindPublicFunctions(nb::module_& m) {
  m.def("public_functions", &PublicFunctions,
        "Functions that are more than an op with its inputs: names, documentation, parameters.");
  m.def("call_function", &CallFunction, nb::arg("function"), nb::arg("arguments"),
        nb::arg("name").none() = nb::none(),
        "Calls one of them, by its own name, with all its arguments.");
  BindTraining(m);
}

}  // namespace gyre::python
