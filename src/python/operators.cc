// An operator of two eager tensors of one dtype finds its kernel in a table and runs it: nothing
// is looked up by name. All else goes the way of execute().
#include "python/operators.h"

#include <algorithm>
#include <array>

#include "eager/tape.h"
#include "python/arrays/convert.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/settings.h"

namespace gyre::python {
namespace {

constexpr size_t kNumTypes = 32;

// One op of the registry behind an operator. Filled with the GIL held; lives for ever.
struct Op {
  const char* name;
  // Of operands that cannot be broadcast together: they are not equal, which is no error.
  bool may_differ_in_shape = false;
  const OpDef* def = nullptr;
  std::array<const eager::EagerOp*, kNumTypes> by_type = {};

  const OpDef& Def() {
    if (def == nullptr) def = &FindOp(name);
    return *def;
  }
  AttrMap Attrs() const {
    AttrMap attrs;
    if (may_differ_in_shape) attrs.Set("incompatible_shape_error", false);
    return attrs;
  }
};

enum class Operator {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMatMul,
  kAnd,
  kOr,
  kXor,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
};

Op& OpOf(Operator which) {
  static Op ops[] = {{"AddV2"},         {"Sub"},       {"Mul"},          {"RealDiv"},
                     {"FloorDiv"},      {"FloorMod"},  {"Pow"},          {"BatchMatMulV2"},
                     {"BitwiseAnd"},    {"BitwiseOr"}, {"BitwiseXor"},   {"Less"},
                     {"LessEqual"},     {"Greater"},   {"GreaterEqual"}, {"Equal", true},
                     {"NotEqual", true}};
  return ops[static_cast<size_t>(which)];
}

// What its node is called where session rules name nodes.
const char* SessionNameOf(Operator which) {
  static const char* const names[] = {
      "add", "sub", "mul",  "truediv",   "floordiv", "mod",          "pow",   "matmul",  "and",
      "or",  "xor", "Less", "LessEqual", "Greater",  "GreaterEqual", "Equal", "NotEqual"};
  return names[static_cast<size_t>(which)];
}

const char* SymbolOf(Operator which) {
  static const char* const symbols[] = {"+", "-", "*", "/",  "//", "%",  "**", "@", "&",
                                        "|", "^", "<", "<=", ">",  ">=", "==", "!="};
  return symbols[static_cast<size_t>(which)];
}

// ---- The fast way

bool IsFast(const PyTensor& a, const PyTensor& b) {
  return a.eager.has_value() && b.eager.has_value() && a.eager.dtype() == b.eager.dtype() &&
         CurrentGraph() == nullptr && !eager::Recording::IsOn();
}

nb::object RunNow(Op& op, const Tensor& a, const Tensor& b) {
  Tensor inputs[] = {a, b};
  const eager::EagerOp*& known = op.by_type[static_cast<size_t>(a.dtype()) % kNumTypes];
  if (known == nullptr) [[unlikely]] {
    bool is_kept = false;
    const auto found = TheContext().ops().Find(op.Def(), inputs, op.Attrs(), is_kept);
    if (!is_kept) ThrowStatus(absl::InternalError("an operator's kernel was not kept"));
    known = found.get();
  }
  Tensor result;
  TheContext().Run(*known, absl::MakeSpan(inputs), absl::MakeSpan(&result, 1));
  return WrapEager(std::move(result));
}

// ---- Operands

// Whether `value` leaves operators to its own reflected methods.
bool IsForOthers(nb::handle value) {
  if (AsTensor(value) != nullptr || IsPythonNumber(value)) return false;
  if (nb::hasattr(value, "__gyre_tensor__")) return nb::hasattr(value, "__gyre_reflects__");
  return nb::hasattr(value, "__gyre_operand__") || !MayBeTensor(value);
}

// Whether an array's elements are texts or objects, which are of no other dtype than their own.
bool IsOfTexts(nb::handle value) {
  if (!nb::hasattr(value, "dtype")) return false;
  const nb::object dtype = value.attr("dtype");
  if (!nb::hasattr(dtype, "kind")) return false;
  const nb::object kind = dtype.attr("kind");
  if (PyUnicode_Check(kind.ptr()) == 0) return false;
  const absl::string_view letter = TextOf(kind, "the kind of a dtype");
  return letter == "S" || letter == "U" || letter == "O";
}

// `value` beside a tensor of `dtype`, which numbers, lists and arrays take: as in TensorFlow,
// numpy's values are cast, whatever that loses.
nb::object OperandOf(nb::handle value, DType dtype) {
  if (AsTensor(value) != nullptr) return nb::borrow(value);
  nb::object unwrapped = Unwrapped(value);
  PyObject* const o = unwrapped.ptr();
  if (AsTensor(unwrapped) != nullptr) return unwrapped;
  const bool is_array = !IsPythonNumber(unwrapped) && PyList_Check(o) == 0 &&
                        PyTuple_Check(o) == 0 && PyUnicode_Check(o) == 0 && PyBytes_Check(o) == 0;
  const bool keeps_own = is_array && (dtype == DType::kString || IsOfTexts(unwrapped));
  return Convert(unwrapped, keeps_own ? std::nullopt : std::optional<DType>(dtype));
}

bool IsBool(nb::handle tensor) { return AsTensor(tensor)->dtype() == DType::kBool; }

nb::object Cast(nb::handle tensor, DType dtype) {
  return Execute1("Cast", {tensor}, {{"DstT", dtype}});
}

// As TensorFlow divides: integers become floating-point numbers first.
nb::object Divide(nb::handle a, nb::handle b) {
  const DType dtype = AsTensor(a)->dtype();
  if (!IsInteger(dtype) || AsTensor(b)->dtype() != dtype) return Execute1("RealDiv", {a, b});
  const DType real = DTypeSize(dtype) <= 2 ? DType::kFloat : DType::kDouble;
  return Execute1("RealDiv", {Cast(a, real), Cast(b, real)});
}

// As TensorFlow adds strings: joined element by element, a scalar to each element.
nb::object Join(nb::handle a, nb::handle b) {
  nb::list parts;
  parts.append(a);
  parts.append(b);
  return Execute1("StringJoin", {parts}, {{"N", int64_t{2}}});
}

nb::object MatMul(nb::handle a, nb::handle b) {
  const PartialShape x = AsTensor(a)->shape();
  const PartialShape y = AsTensor(b)->shape();
  const bool are_matrices = x.has_rank() && y.has_rank() && x.rank() == 2 && y.rank() == 2;
  return Execute1(are_matrices ? "MatMul" : "BatchMatMulV2", {a, b});
}

bool BroadcastsForSure(const PartialShape& a, const PartialShape& b) {
  const auto is_scalar = [](const PartialShape& s) { return s.has_rank() && s.rank() == 0; };
  if (is_scalar(a) || is_scalar(b)) return true;
  if (!a.has_rank() || !b.has_rank()) return false;
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const int64_t x = a.dim(a.rank() - i);
    const int64_t y = b.dim(b.rank() - i);
    if (x != 1 && y != 1 && (x != y || x < 0)) return false;
  }
  return true;
}

nb::object Apply(Operator which, nb::handle a, nb::handle b) {
  switch (which) {
    case Operator::kAdd:
      if (AsTensor(a)->dtype() == DType::kString) return Join(a, b);
      break;
    case Operator::kDiv:
      return Divide(a, b);
    case Operator::kMatMul:
      return MatMul(a, b);
    case Operator::kAnd:
      if (IsBool(a)) return Execute1("LogicalAnd", {a, b});
      break;
    case Operator::kOr:
      if (IsBool(a)) return Execute1("LogicalOr", {a, b});
      break;
    case Operator::kXor:
      if (IsBool(a)) return Execute1("NotEqual", {a, b});
      break;
    default:
      break;
  }
  Op& op = OpOf(which);
  const bool may_differ = op.may_differ_in_shape && a.ptr() != b.ptr() &&
                          !BroadcastsForSure(AsTensor(a)->shape(), AsTensor(b)->shape());
  const nb::handle inputs[] = {a, b};
  return Execute(op.Def(), inputs, may_differ ? op.Attrs() : AttrMap())[0];
}

// Whether the table's kernel is what the operator means for the dtype.
bool IsPlain(Operator which, DType dtype) {
  switch (which) {
    case Operator::kAdd:
      return dtype != DType::kString;
    case Operator::kDiv:
      return !IsInteger(dtype);
    case Operator::kMatMul:
      return false;
    case Operator::kAnd:
    case Operator::kOr:
    case Operator::kXor:
      return dtype != DType::kBool;
    default:
      return true;
  }
}

// Whether operations on the tensor belong to its own graph, which is not current.
bool IsElsewhere(const PyTensor& tensor) {
  if (!tensor.is_symbolic() || CurrentGraph() == tensor.graph.get()) return false;
  return CurrentGraph() == nullptr ||
         (tensor.follows_session_rules() && CurrentGraph()->follows_session_rules());
}

// In a graph that follows session rules: the node has the operator's name, and a number the name of
// the node's input. Nothing for operands that other rules see to first.
nb::object ApplyNamed(Operator which, nb::handle a, nb::handle b) {
  const PyTensor* x = AsTensor(a);
  const PyTensor* y = AsTensor(b);
  if ((x == nullptr && !IsPythonNumber(a)) || (y == nullptr && !IsPythonNumber(b))) return {};
  const PyTensor& tensor = x != nullptr ? *x : *y;
  if (!tensor.follows_session_rules() || !IsPlain(which, tensor.dtype())) return {};
  if (x != nullptr && y != nullptr && x->dtype() != y->dtype()) return {};
  const CurrentGraphScope scope(IsElsewhere(tensor) ? tensor.graph : SharedCurrentGraph());
  const nb::handle inputs[] = {a, b};
  return Execute(OpOf(which).Def(), inputs, AttrMap(), SessionNameOf(which))[0];
}

// Whether two objects are one output of one node. Only asked where session rules hold.
bool IsSameOutput(const PyTensor& a, nb::handle b) {
  const PyTensor* other = AsTensor(b);
  return other != nullptr && other->is_symbolic() &&
         a.symbolic.scope() == other->symbolic.scope() &&
         a.symbolic.node() == other->symbolic.node() && a.symbolic.slot() == other->symbolic.slot();
}

nb::object ApplyAny(Operator which, nb::handle a, nb::handle b) {
  const PyTensor* x = AsTensor(a);
  const PyTensor* y = AsTensor(b);
  if ((x != nullptr && x->is_symbolic()) || (y != nullptr && y->is_symbolic())) {
    if (nb::object result = ApplyNamed(which, a, b); result.is_valid()) return result;
  }
  if (x != nullptr && y != nullptr) {
    if (IsFast(*x, *y) && IsPlain(which, x->eager.dtype()))
      return RunNow(OpOf(which), x->eager, y->eager);
    if (x->dtype() != y->dtype()) {
      ThrowMixedTypes(absl::StrCat("the operands of ", SymbolOf(which), " are of dtypes ",
                                   DTypeName(x->dtype()), " and ", DTypeName(y->dtype()),
                                   "; convert one of them with cast"));
    }
    return Apply(which, a, b);
  }
  const nb::handle other = x == nullptr ? a : b;
  const PyTensor& tensor = x == nullptr ? *y : *x;
  if (tensor.eager.has_value() && IsPythonNumber(other) && CurrentGraph() == nullptr &&
      !eager::Recording::IsOn() && IsPlain(which, tensor.eager.dtype())) {
    const Tensor number = ToTensor(other, tensor.eager.dtype());
    return x == nullptr ? RunNow(OpOf(which), number, tensor.eager)
                        : RunNow(OpOf(which), tensor.eager, number);
  }
  if (IsForOthers(other)) return nb::borrow(Py_NotImplemented);
  // An operand that becomes a constant belongs to the graph of the symbolic one.
  std::optional<CurrentGraphScope> scope;
  if (IsElsewhere(tensor)) scope.emplace(GraphLeftOpen(tensor));
  const nb::object converted = OperandOf(other, tensor.dtype());
  return x == nullptr ? ApplyAny(which, converted, b) : ApplyAny(which, a, converted);
}

template <Operator which>
PyObject* Binary(PyObject* a, PyObject* b) {
  return Guarded([&] { return ApplyAny(which, a, b); });
}

PyObject* Power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() of tensors takes no modulus");
    return nullptr;
  }
  return Binary<Operator::kPow>(a, b);
}

PyObject* Compare(PyObject* a, PyObject* b, int which) {
  return Guarded([&] {
    if ((which == Py_EQ || which == Py_NE) && b == Py_None) return nb::borrow(Py_NotImplemented);
    const PyTensor* const tensor = AsTensor(a);
    if ((which == Py_EQ || which == Py_NE) && tensor != nullptr && tensor->follows_session_rules())
      return nb::object(nb::bool_(IsSameOutput(*tensor, b) == (which == Py_EQ)));
    switch (which) {
      case Py_LT:
        return ApplyAny(Operator::kLess, a, b);
      case Py_LE:
        return ApplyAny(Operator::kLessEqual, a, b);
      case Py_GT:
        return ApplyAny(Operator::kGreater, a, b);
      case Py_GE:
        return ApplyAny(Operator::kGreaterEqual, a, b);
      case Py_EQ:
        return ApplyAny(Operator::kEqual, a, b);
      default:
        return ApplyAny(Operator::kNotEqual, a, b);
    }
  });
}

PyObject* Negative(PyObject* a) {
  return Guarded([&] { return Execute1("Neg", {a}); });
}
PyObject* Positive(PyObject* a) {
  return Guarded([&] { return nb::borrow(a); });
}
PyObject* Absolute(PyObject* a) {
  return Guarded([&] {
    const DType dtype = AsTensor(a)->dtype();
    if (!IsComplex(dtype)) return Execute1("Abs", {a});
    const DType real = dtype == DType::kComplex64 ? DType::kFloat : DType::kDouble;
    return Execute1("ComplexAbs", {a}, {{"Tout", real}});
  });
}
PyObject* Invert(PyObject* a) {
  return Guarded([&] { return Execute1(IsBool(a) ? "LogicalNot" : "Invert", {a}); });
}

}  // namespace

void AppendOperatorSlots(std::vector<PyType_Slot>& slots) {
  const auto add = [&](int slot, auto* function) {
    slots.push_back({slot, reinterpret_cast<void*>(function)});
  };
  add(Py_nb_add, &Binary<Operator::kAdd>);
  add(Py_nb_subtract, &Binary<Operator::kSub>);
  add(Py_nb_multiply, &Binary<Operator::kMul>);
  add(Py_nb_true_divide, &Binary<Operator::kDiv>);
  add(Py_nb_floor_divide, &Binary<Operator::kFloorDiv>);
  add(Py_nb_remainder, &Binary<Operator::kMod>);
  add(Py_nb_power, &Power);
  add(Py_nb_matrix_multiply, &Binary<Operator::kMatMul>);
  add(Py_nb_and, &Binary<Operator::kAnd>);
  add(Py_nb_or, &Binary<Operator::kOr>);
  add(Py_nb_xor, &Binary<Operator::kXor>);
  add(Py_nb_negative, &Negative);
  add(Py_nb_positive, &Positive);
  add(Py_nb_absolute, &Absolute);
  add(Py_nb_invert, &Invert);
  add(Py_tp_richcompare, &Compare);
}

}  // namespace gyre::python
