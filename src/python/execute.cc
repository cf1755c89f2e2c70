#include "python/execute.h"

#include <algorithm>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/hash_map.h"
#include "front/op_call.h"
#include "ops/functions/registry.h"
#include "ops/registry.h"
#include "python/arrays/convert.h"
#include "python/arrays/items.h"
#include "python/arrays/list_scan.h"
#include "python/attrs.h"
#include "python/dtype.h"
#include "python/graph.h"
#include "python/lines.h"
#include "python/settings.h"
#include "python/tape.h"

namespace gyre::python {
namespace {

// One input, flat: a Tensor, or a value that is yet to get its dtype.
struct Input {
  nb::object object;           // not valid: `literal` has its dtype
  PyTensor* tensor = nullptr;  // null: `literal`
  Tensor literal;
  int formal = 0;

  DType dtype() const { return tensor != nullptr ? tensor->dtype() : literal.dtype(); }
};
using Inputs = absl::InlinedVector<Input, 4>;

bool TakesList(const ArgDef& arg) {
  return !arg.number_attr.empty() || !arg.type_list_attr.empty();
}

Input ToInput(nb::handle value, int formal) {
  Input input{.formal = formal};
  input.tensor = AsTensor(value);
  if (input.tensor != nullptr) {
    input.object = nb::borrow(value);
    return input;
  }
  input.object = Unwrapped(value);
  if (AsTensor(input.object) == nullptr && HoldsTensors(input.object))
    input.object = Convert(input.object);
  input.tensor = AsTensor(input.object);
  return input;
}

Inputs Flatten(const OpDef& op, absl::Span<const nb::handle> inputs) {
  if (inputs.size() != op.inputs.size()) {
    ThrowTypeError(
        absl::StrCat(op.name, " takes ", op.inputs.size(), " inputs, not ", inputs.size()));
  }
  Inputs flat;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int formal = static_cast<int>(i);
    if (!TakesList(op.inputs[i])) {
      flat.push_back(ToInput(inputs[i], formal));
      continue;
    }
    if (PyList_Check(inputs[i].ptr()) == 0 && PyTuple_Check(inputs[i].ptr()) == 0) {
      ThrowTypeError(absl::StrCat("input '", op.inputs[i].name, "' of ", op.name,
                                  " is a list of tensors, not ", TypeNameOf(inputs[i])));
    }
    for (const nb::handle item : nb::iter(inputs[i])) flat.push_back(ToInput(item, formal));
  }
  return flat;
}

int RankOf(DType dtype) {
  if (IsComplex(dtype)) return 3;
  if (IsFloating(dtype)) return 2;
  return IsInteger(dtype) ? 1 : 0;
}

// The dtype that all inputs of a type attribute have: what is given, what its tensors say, or what
// its literals have in common. Tensors of different dtypes are an error that names both.
class TypeAttrs {
 public:
  TypeAttrs(const OpDef& op, const AttrMap& attrs, Inputs& inputs)
      : op_(op), attrs_(attrs), inputs_(inputs) {}

  void Resolve() {
    CheckTensors();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].tensor == nullptr) Convert(i);
    }
  }

 private:
  const ArgDef& ArgOf(const Input& input) const { return op_.inputs[input.formal]; }

  void CheckTensors() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string& attr = ArgOf(inputs_[i]).type_attr;
      if (attr.empty() || inputs_[i].tensor == nullptr) continue;
      for (size_t j = 0; j < i; ++j) {
        if (inputs_[j].tensor == nullptr || ArgOf(inputs_[j]).type_attr != attr ||
            inputs_[i].dtype() == inputs_[j].dtype()) {
          continue;
        }
        ThrowMixedTypes(absl::StrCat(
            op_.name, " takes tensors of one dtype: '", ArgOf(inputs_[j]).name, "' is ",
            DTypeName(inputs_[j].dtype()), ", but '", ArgOf(inputs_[i]).name, "' is ",
            DTypeName(inputs_[i].dtype()), "; convert one of them with cast"));
      }
    }
  }

  // nullopt: the literal decides.
  std::optional<DType> Wanted(size_t i) const {
    const ArgDef& arg = ArgOf(inputs_[i]);
    if (arg.dtype != DType::kInvalid) return arg.dtype;
    if (!arg.type_list_attr.empty()) {
      const auto* types = attrs_.Get<std::vector<DType>>(arg.type_list_attr);
      size_t place = 0;
      for (size_t j = 0; j < i; ++j) place += inputs_[j].formal == inputs_[i].formal ? 1 : 0;
      if (types == nullptr || place >= types->size()) return std::nullopt;
      return (*types)[place];
    }
    if (const DType* given = attrs_.Get<DType>(arg.type_attr)) return *given;
    for (const Input& input : inputs_) {
      if (input.tensor != nullptr && ArgOf(input).type_attr == arg.type_attr) return input.dtype();
    }
    return CommonOfLiterals(arg.type_attr);
  }

  std::optional<DType> CommonOfLiterals(const std::string& attr) const {
    std::optional<DType> common;
    bool is_alone = true;
    bool all_integers = true;
    for (const Input& input : inputs_) {
      if (ArgOf(input).type_attr != attr || input.tensor != nullptr) continue;
      const DType own =
          input.object.is_valid() ? ToTensor(input.object).dtype() : input.literal.dtype();
      is_alone &= !common.has_value();
      all_integers &= IsInteger(own);
      if (!common || RankOf(own) > RankOf(*common)) common = own;
      if (IsInteger(own) && IsInteger(*common) && own == DType::kInt64) common = own;
    }
    const AttrDef* def = op_.FindAttr(attr);
    const DType* fallback =
        def != nullptr && def->default_value ? std::get_if<DType>(&*def->default_value) : nullptr;
    // "an index is int32 unless it says otherwise"
    if (fallback != nullptr && all_integers && IsInteger(*fallback) && common == DType::kInt32)
      return *fallback;
    if (is_alone) return std::nullopt;
    return common;
  }

  void Convert(size_t i) {
    Input& input = inputs_[i];
    if (!input.object.is_valid()) return;
    try {
      input.literal = ToTensor(input.object, Wanted(i));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
      const std::string text = absl::StrCat("input '", ArgOf(input).name, "' of ", op_.name, ": ",
                                            TextOf(nb::str(error.value()), "an error"));
      if (error.matches(PyExc_TypeError)) ThrowTypeError(text);
      ThrowValueError(text);
    }
  }

  const OpDef& op_;
  const AttrMap& attrs_;
  Inputs& inputs_;
};

// ---- At once

std::vector<nb::object> ExecuteNow(const OpDef& op, Inputs& inputs, AttrMap attrs) {
  absl::InlinedVector<eager::EagerTensor, 4> tensors;
  for (Input& input : inputs) {
    if (input.tensor != nullptr) {
      tensors.push_back(ToEager(*input.tensor));
    } else {
      tensors.emplace_back(std::move(input.literal), 0);
    }
  }
  std::vector<nb::object> outputs;
  for (eager::EagerTensor& result :
       TheContext().Execute(op, absl::MakeSpan(tensors), std::move(attrs)))
    outputs.push_back(WrapEager(std::move(result)));
  return outputs;
}

// ---- In a graph

// Graphs of sessions are exchanged with TensorFlow, which refuses other names.
void CheckSessionName(absl::string_view name) {
  constexpr absl::string_view kSigns = "_.\\-/>";
  const bool is_valid = std::all_of(name.begin(), name.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(kSigns, c);
  });
  if (is_valid) return;
  ThrowValueError(absl::StrCat("'", name, "' is not a valid node name: graphs of sessions name ",
                               "nodes in letters of ASCII, digits and ", kSigns));
}

std::vector<nb::object> ExecuteInGraph(const OpDef& op, const std::shared_ptr<GraphCore>& graph,
                                       Inputs& inputs, const AttrMap& attrs,
                                       absl::string_view name) {
  graph->RequireGrowing();
  UseLineProvider();
  const std::source_location nowhere;
  gyre::internal::OpCall call(op.name, nowhere);
  size_t next = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    std::vector<Operand> operands;
    for (; next < inputs.size() && inputs[next].formal == static_cast<int>(i); ++next) {
      const Input& input = inputs[next];
      if (input.tensor != nullptr) {
        operands.emplace_back(ValueIn(*graph, input.object), nowhere);
      } else {
        operands.emplace_back(input.literal, nowhere);
      }
    }
    call.In(operands);
  }
  for (const auto& [attr, value] : attrs) call.Attr(attr, value);
  if (graph->follows_session_rules()) CheckSessionName(name);
  if (!name.empty()) call.Name(std::string(name));
  const CurrentGraphScope current(graph);
  std::vector<nb::object> outputs;
  for (const Value& value : call.All()) outputs.push_back(WrapSymbolic(value, graph));
  return outputs;
}

// The graph that the op belongs to; null: none, it runs at once.
std::shared_ptr<GraphCore> GraphFor(const Inputs& inputs) {
  if (CurrentGraph() != nullptr && !CurrentGraph()->follows_session_rules())
    return SharedCurrentGraph();
  for (const Input& input : inputs) {
    if (input.tensor == nullptr || !input.tensor->is_symbolic()) continue;
    // By the rules of sessions, a graph's tensors may be used while another graph is current.
    if (CurrentGraph() == nullptr) return GraphLeftOpen(*input.tensor);
    if (input.tensor->follows_session_rules()) return input.tensor->graph;
  }
  return CurrentGraph() == nullptr ? nullptr : SharedCurrentGraph();
}

// Lists that hold no tensors, kept so that no other object gets their address: lists may share
// theirs, and each is looked into once.
struct ListsWithout {
  std::vector<nb::object> lists;
  HashSet<PyObject*> known;
};

// As HoldsTensors, of a list that `depth` others contain.
bool HoldsTensorsAt(nb::handle list, size_t depth, ListsWithout& without) {
  PyObject* const o = list.ptr();
  const bool is_list = PyList_Check(o) != 0;
  if (!is_list && PyTuple_Check(o) == 0) return false;
  CheckDepth(depth);
  if (depth > 0 && without.known.contains(o)) return false;
  const Py_ssize_t size = is_list ? PyList_Size(o) : PyTuple_Size(o);
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const borrowed = is_list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i);
    if (borrowed == nullptr) throw nb::python_error();  // code of the user has shortened the list
    if (IsPythonNumber(borrowed)) continue;
    const nb::object item = nb::borrow(borrowed);
    if (AsTensor(item) != nullptr || HoldsTensorsAt(item, depth + 1, without)) return true;
    if (!IsList(item) && nb::hasattr(item, "__gyre_tensor__")) return true;
  }
  if (depth > 0) {
    without.known.insert(o);
    without.lists.push_back(nb::borrow(list));
  }
  return false;
}

// How long each list is and what it holds, where lists differ in length: from the inputs, one
// behind the other, that cannot be told. Attributes that are given stay.
void SetListAttrs(const OpDef& op, const Inputs& inputs, AttrMap& attrs) {
  const auto length_attr = [](const ArgDef& arg) {
    return arg.type_list_attr.empty() ? arg.number_attr : arg.type_list_attr;
  };
  const ArgDef* first = nullptr;
  bool may_differ = false;
  for (const ArgDef& arg : op.inputs) {
    if (!TakesList(arg)) continue;
    may_differ |= first != nullptr && length_attr(arg) != length_attr(*first);
    if (first == nullptr) first = &arg;
  }
  if (!may_differ) return;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ArgDef& arg = op.inputs[i];
    if (!TakesList(arg) || attrs.Has(length_attr(arg))) continue;
    std::vector<DType> types;
    for (const Input& input : inputs) {
      if (input.formal == static_cast<int>(i)) types.push_back(input.dtype());
    }
    if (arg.type_list_attr.empty()) {
      attrs.Set(arg.number_attr, static_cast<int64_t>(types.size()));
    } else {
      attrs.Set(arg.type_list_attr, std::move(types));
    }
  }
}

std::vector<nb::object> ExecuteFlat(const OpDef& op, Inputs inputs, AttrMap attrs,
                                    absl::string_view name) {
  TypeAttrs(op, attrs, inputs).Resolve();
  SetListAttrs(op, inputs, attrs);
  if (const std::shared_ptr<GraphCore> graph = GraphFor(inputs))
    return ExecuteInGraph(op, graph, inputs, attrs, name);
  return ExecuteNow(op, inputs, std::move(attrs));
}

// Lists whose elements are tensors become one by Pack, level by level; `depth` others contain it.
nb::object Pack(nb::handle list, std::optional<DType> dtype, size_t depth = 0) {
  CheckDepth(depth);
  nb::list parts;
  for (const nb::handle item : nb::iter(list)) {
    const nb::object value = Unwrapped(item);
    if (!dtype && AsTensor(value) != nullptr) dtype = AsTensor(value)->dtype();
    const bool is_nested = AsTensor(value) == nullptr && HoldsTensors(value);
    parts.append(is_nested ? Pack(value, dtype, depth + 1) : value);
    if (is_nested && !dtype) dtype = AsTensor(parts[nb::len(parts) - 1])->dtype();
  }
  AttrMap attrs;
  attrs.Set("N", static_cast<int64_t>(nb::len(parts)));
  if (dtype) attrs.Set("T", *dtype);
  return Execute1("Pack", {parts}, std::move(attrs));
}

nb::list ExecuteFromPython(nb::handle op_name, nb::handle inputs, nb::handle attrs,
                           nb::handle name) {
  const OpDef& op = FindOp(TextOf(op_name, "the name of an op"));
  const nb::tuple items = ItemsOf(inputs, "inputs");
  absl::InlinedVector<nb::handle, 4> list;
  for (const nb::handle item : items) list.push_back(item);
  nb::list outputs;
  for (nb::object& output :
       Execute(op, list, ToAttrs(op, attrs), name.is_none() ? "" : TextOf(name, "a name"))) {
    outputs.append(std::move(output));
  }
  return outputs;
}

// Types and dims of eager tensors as bytes; None if one is none, or a graph is current.
nb::object Signature(nb::handle args) {
  if (PyTuple_Check(args.ptr()) == 0) ThrowTypeError("a tuple is wanted");
  if (CurrentGraph() != nullptr) return nb::none();
  absl::InlinedVector<char, 128> bytes;
  const Py_ssize_t size = PyTuple_Size(args.ptr());
  for (Py_ssize_t i = 0; i < size; ++i) {
    const PyTensor* tensor = AsTensor(PyTuple_GetItem(args.ptr(), i));
    if (tensor == nullptr || tensor->is_symbolic()) return nb::none();
    const auto dims = tensor->eager.shape().dims();
    bytes.push_back(static_cast<char>(tensor->eager.dtype()));
    bytes.push_back(static_cast<char>(dims.size()));
    const char* from = reinterpret_cast<const char*>(dims.data());
    bytes.insert(bytes.end(), from, from + dims.size() * sizeof(int64_t));
  }
  return Own(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

}  // namespace

const OpDef& FindOp(absl::string_view name) {
  const OpDef* op = Ops().Find(name);
  if (op == nullptr) ThrowStatus(absl::NotFoundError(absl::StrCat("there is no op called ", name)));
  return *op;
}

std::vector<nb::object> Execute(const OpDef& op, absl::Span<const nb::handle> inputs, AttrMap attrs,
                                absl::string_view name) {
  return ExecuteFlat(op, Flatten(op, inputs), std::move(attrs), name);
}

std::vector<nb::object> Execute(const OpDef& op, absl::Span<const LooseInput> inputs, AttrMap attrs,
                                absl::string_view name) {
  const std::vector<int> formals = InputOfOperands(op, inputs.size());
  Inputs flat;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].literal == nullptr) {
      flat.push_back(ToInput(inputs[i].object, formals[i]));
    } else {
      flat.push_back({.literal = *inputs[i].literal, .formal = formals[i]});
    }
  }
  return ExecuteFlat(op, std::move(flat), std::move(attrs), name);
}

nb::object Execute1(absl::string_view op, std::initializer_list<nb::handle> inputs, AttrMap attrs) {
  return Execute(FindOp(op), {inputs.begin(), inputs.size()}, std::move(attrs)).at(0);
}

nb::object Unwrapped(nb::handle value) {
  PyObject* const o = value.ptr();
  if (AsTensor(value) != nullptr || IsPythonNumber(value) || PyList_Check(o) != 0 ||
      PyTuple_Check(o) != 0 || PyUnicode_Check(o) != 0 || !nb::hasattr(value, "__gyre_tensor__")) {
    return nb::borrow(value);
  }
  nb::object tensor = value.attr("__gyre_tensor__")();
  RequireTensor(tensor, "what __gyre_tensor__ returns");
  return tensor;
}

bool HoldsTensors(nb::handle list) {
  ListsWithout without;
  return HoldsTensorsAt(list, 0, without);
}

nb::object Convert(nb::handle given, std::optional<DType> dtype) {
  const nb::object value = Unwrapped(given);
  if (const PyTensor* tensor = AsTensor(value)) {
    if (dtype && tensor->dtype() != *dtype) {
      ThrowTypeError(absl::StrCat("a tensor of ", Describe(*tensor), " is no ", DTypeName(*dtype),
                                  "; convert it with cast if that is meant"));
    }
    if (CurrentGraph() == nullptr) return value;
    if (tensor->is_symbolic() && tensor->graph.get() == CurrentGraph()) return value;
    const auto& graph = SharedCurrentGraph();
    ValueIn(*graph, value);  // throws for values that are out of reach
    const auto [inner, id] = graph->CaptureWithId(value);
    return WrapSymbolic(inner, graph, id);
  }
  if (HoldsTensors(value)) {
    nb::object packed = Pack(value, dtype);
    return CurrentGraph() == nullptr ? packed : Convert(packed, dtype);
  }
  Tensor tensor = ToTensor(value, dtype);
  if (CurrentGraph() == nullptr) return WrapEager(std::move(tensor));
  CurrentGraph()->RequireGrowing();
  UseLineProvider();
  return WrapSymbolic(constant(tensor), SharedCurrentGraph());
}

void BindExecute(nb::module_& m) {
  m.def("execute", &ExecuteFromPython, nb::arg("op"), nb::arg("inputs"),
        nb::arg("attrs") = nb::none(), nb::arg("name") = nb::none(),
        "Runs an op at once, or adds it to the graph that is current; returns the outputs.");
  m.def("signature", &Signature, nb::arg("args"),
        "A key for the dtypes and dims of eager tensors; None where there is none.");
  m.def("holds_tensors", &HoldsTensors, nb::arg("value").none(),
        "Whether it is a list or a tuple that holds tensors, or what converts to them, at any "
        "depth.");
  m.def(
      "convert",
      [](nb::handle value, nb::handle dtype) { return Convert(value, ToOptionalDType(dtype)); },
      nb::arg("value").none(), nb::arg("dtype") = nb::none(),
      "A Tensor of anything; symbolic while a graph is current.");
}

void ThrowMixedTypes(const std::string& text) {
  if (CurrentGraph() == nullptr) ThrowStatus(absl::InvalidArgumentError(text));
  ThrowTypeError(text);
}

}  // namespace gyre::python
