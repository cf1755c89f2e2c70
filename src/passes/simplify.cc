#include "passes/simplify.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/work.h"
#include "passes/edit/body.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/shapes.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::Body;
using passes::Rewrite;

constexpr absl::string_view kOwnGradient = "_gradient_op_type";

bool IsFloat(DType type) {
  return type == DType::kFloat || type == DType::kDouble || type == DType::kHalf ||
         type == DType::kBfloat16;
}

// How many bits of magnitude an integer type has, sign apart; 0 for what is none.
int IntegerBits(DType type) {
  switch (type) {
    case DType::kInt8:
      return 7;
    case DType::kUint8:
      return 8;
    case DType::kInt16:
      return 15;
    case DType::kUint16:
      return 16;
    case DType::kInt32:
      return 31;
    case DType::kUint32:
      return 32;
    case DType::kInt64:
      return 63;
    case DType::kUint64:
      return 64;
    default:
      return 0;
  }
}

bool IsSigned(DType type) { return IntegerBits(type) % 2 == 1; }

// Every value of `from` is one of `to`, and comes back from there.
bool Widens(DType from, DType to) {
  if (from == to) return true;
  const int from_bits = IntegerBits(from);
  const int to_bits = IntegerBits(to);
  if (from_bits > 0 && to_bits > 0)
    return from_bits <= to_bits && (IsSigned(to) || !IsSigned(from));
  if (from_bits > 0) return to == DType::kDouble && from_bits <= 32;
  if (to == DType::kDouble) return IsFloat(from);
  return to == DType::kFloat && (from == DType::kHalf || from == DType::kBfloat16);
}

template <typename T>
bool AllAreFloat(const Tensor& tensor, double wanted) {
  const absl::Span<const T> values = tensor.values<T>();
  return std::all_of(values.begin(), values.end(), [&](T v) {
    const double value = static_cast<double>(static_cast<float>(v));
    return value == wanted && std::signbit(value) == std::signbit(wanted);
  });
}

template <typename T>
bool AllAreInteger(const Tensor& tensor, double wanted) {
  const absl::Span<const T> values = tensor.values<T>();
  return std::all_of(values.begin(), values.end(),
                     [&](T v) { return v == static_cast<T>(wanted); });
}

// All elements are `wanted` (0, -0.0 or 1), the sign of zero included.
bool IsAll(const Tensor& tensor, double wanted) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return AllAreFloat<float>(tensor, wanted);
    case DType::kDouble: {
      const auto values = tensor.values<double>();
      return std::all_of(values.begin(), values.end(), [&](double v) {
        return v == wanted && std::signbit(v) == std::signbit(wanted);
      });
    }
    case DType::kHalf:
      return AllAreFloat<Half>(tensor, wanted);
    case DType::kBfloat16:
      return AllAreFloat<BFloat16>(tensor, wanted);
    case DType::kInt8:
      return AllAreInteger<int8_t>(tensor, wanted);
    case DType::kUint8:
      return AllAreInteger<uint8_t>(tensor, wanted);
    case DType::kInt16:
      return AllAreInteger<int16_t>(tensor, wanted);
    case DType::kUint16:
      return AllAreInteger<uint16_t>(tensor, wanted);
    case DType::kInt32:
      return AllAreInteger<int32_t>(tensor, wanted);
    case DType::kUint32:
      return AllAreInteger<uint32_t>(tensor, wanted);
    case DType::kInt64:
      return AllAreInteger<int64_t>(tensor, wanted);
    case DType::kUint64:
      return AllAreInteger<uint64_t>(tensor, wanted);
    default:
      return false;
  }
}

std::optional<std::vector<int64_t>> Integers(const Tensor* tensor) {
  if (tensor == nullptr || tensor->rank() > 1) return std::nullopt;
  if (tensor->dtype() == DType::kInt32) {
    const auto values = tensor->values<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() != DType::kInt64) return std::nullopt;
  const auto values = tensor->values<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

// One function while its nodes are looked at, producers first.
class Simplifier {
 public:
  Simplifier(const passes::Effects& effects, const FunctionShapes& shapes, Rewrite& rewrite)
      : shapes_(shapes),
        rewrite_(rewrite),
        body_(ReadBody(rewrite.function(), effects, rewrite.run().feeds)) {}

  void Simplify();

  // For rules. Inputs are those that the node has now.
  Endpoint Input(const Node& node, int i) const { return rewrite_.Resolve(node.inputs[i]); }
  DType Type(Endpoint e) const { return rewrite_.node(e.node).signature.outputs[e.slot].dtype; }
  const Tensor* Constant(const Node& node, int i) const {
    const NodeId id = Input(node, i).node;
    return IsFixed(id) ? nullptr : passes::ConstantValue(rewrite_.node(id));
  }
  // The node that makes input i, if it is a pure `op` that may be looked through; null otherwise.
  const Node* Maker(const Node& node, int i, absl::string_view op) const {
    const Node& maker = rewrite_.node(Input(node, i).node);
    const bool is_it = maker.op_name == op && maker.op != nullptr && !IsFixed(maker.id) &&
                       maker.control_inputs.empty() && !maker.attrs.Has(kOwnGradient);
    return is_it ? &maker : nullptr;
  }
  PartialShape ShapeOf(Endpoint e) const {
    if (const Tensor* value = passes::ConstantValue(rewrite_.node(e.node)))
      return PartialShape(value->shape());
    return shapes_.at(e).shape;
  }
  // Elementwise with x, a value of `shape` leaves x's shape as it is.
  bool KeepsShape(Endpoint x, const Shape& shape) const;
  // Both are known to have one shape.
  bool SameShape(Endpoint a, Endpoint b) const;
  // Nothing that e waits for comes in an order with others: it may be left out.
  bool IsFree(Endpoint e) const {
    return static_cast<size_t>(e.node) >= body_.after_effects.size() ||
           !body_.after_effects[e.node];
  }
  Rewrite& rewrite() { return rewrite_; }

 private:
  void ForwardAll(const Node& node);
  bool IsFixed(NodeId id) const {
    return static_cast<size_t>(id) < body_.is_fixed.size() && body_.is_fixed[id];
  }

  const FunctionShapes& shapes_;
  Rewrite& rewrite_;
  const Body body_;
};

bool Simplifier::KeepsShape(Endpoint x, const Shape& shape) const {
  if (shape.IsScalar()) return true;
  const PartialShape known = ShapeOf(x);
  if (!known.has_rank() || known.rank() < shape.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i) {
    const int64_t dim = shape.dim(shape.rank() - i);
    if (dim != 1 && dim != known.dim(known.rank() - i)) return false;
  }
  return true;
}

bool Simplifier::SameShape(Endpoint a, Endpoint b) const {
  if (a == b) return true;
  const PartialShape first = ShapeOf(a);
  const PartialShape second = ShapeOf(b);
  return first.IsFullyKnown() && second.IsFullyKnown() && first == second;
}

// What a node's only output equals, or nothing. A rule may also edit the node for the better.
using Rule = std::optional<Endpoint> (*)(Simplifier&, const Node&);
using Answer = std::optional<Endpoint>;

// The other input if input i is all `neutral`.
Answer IfNeutral(const Simplifier& s, const Node& node, int i, double neutral) {
  const Tensor* constant = s.Constant(node, i);
  const Endpoint other = s.Input(node, 1 - i);
  if (constant == nullptr || !IsAll(*constant, neutral) || !s.KeepsShape(other, constant->shape()))
    return std::nullopt;
  return other;
}

Answer Add(Simplifier& s, const Node& node) {
  const double zero = IsFloat(node.signature.outputs[0].dtype) ? -0.0 : 0.0;
  const Answer left = IfNeutral(s, node, 1, zero);
  return left ? left : IfNeutral(s, node, 0, zero);
}

Answer Sub(Simplifier& s, const Node& node) { return IfNeutral(s, node, 1, 0.0); }

Answer Mul(Simplifier& s, const Node& node) {
  const Answer left = IfNeutral(s, node, 1, 1.0);
  return left ? left : IfNeutral(s, node, 0, 1.0);
}

Answer Div(Simplifier& s, const Node& node) { return IfNeutral(s, node, 1, 1.0); }

// Of floats these round: x / 1 is x only for integers.
Answer IntegerDiv(Simplifier& s, const Node& node) {
  return IsFloat(node.signature.outputs[0].dtype) ? std::nullopt : IfNeutral(s, node, 1, 1.0);
}

// Twice is not at all.
Answer Involution(Simplifier& s, const Node& node) {
  const Node* inner = s.Maker(node, 0, node.op_name);
  return inner == nullptr ? std::nullopt : Answer(s.Input(*inner, 0));
}

Answer Identity(Simplifier& s, const Node& node) { return s.Input(node, 0); }

Answer AddN(Simplifier& s, const Node& node) {
  return node.inputs.size() == 1 ? Answer(s.Input(node, 0)) : std::nullopt;
}

// `neutral` and x is x; the other value wins, where it has the result's shape.
Answer Logical(Simplifier& s, const Node& node, bool neutral) {
  for (const int i : {0, 1}) {
    const Tensor* constant = s.Constant(node, i);
    const Endpoint other = s.Input(node, 1 - i);
    if (constant == nullptr || !constant->shape().IsScalar()) continue;
    if (constant->scalar<bool>() == neutral) return other;
    const PartialShape shape = s.ShapeOf(other);
    if (shape.has_rank() && shape.rank() == 0 && s.IsFree(other)) return s.Input(node, i);
  }
  return std::nullopt;
}

Answer LogicalAnd(Simplifier& s, const Node& node) { return Logical(s, node, true); }
Answer LogicalOr(Simplifier& s, const Node& node) { return Logical(s, node, false); }

Answer Select(Simplifier& s, const Node& node) {
  const Tensor* condition = s.Constant(node, 0);
  if (condition == nullptr || !condition->shape().IsScalar()) return std::nullopt;
  const int taken = condition->scalar<bool>() ? 1 : 2;
  const Endpoint other = s.Input(node, 3 - taken);
  if (!s.IsFree(other) || !s.SameShape(s.Input(node, 1), s.Input(node, 2))) return std::nullopt;
  return s.Input(node, taken);
}

// Reshape and BroadcastTo: to the shape that the input has anyway.
bool ChangesNoShape(const Simplifier& s, const Node& node) {
  const auto dims = Integers(s.Constant(node, 1));
  const PartialShape shape = s.ShapeOf(s.Input(node, 0));
  return dims && shape.IsFullyKnown() &&
         std::equal(dims->begin(), dims->end(), shape.dims().begin(), shape.dims().end());
}

Answer BroadcastTo(Simplifier& s, const Node& node) {
  return ChangesNoShape(s, node) ? Answer(s.Input(node, 0)) : std::nullopt;
}

// Of a chain of reshapes only the last one counts: the elements stay.
Answer Reshape(Simplifier& s, const Node& node) {
  const Node* inner = s.Maker(node, 0, "Reshape");
  if (inner != nullptr && s.IsFree(s.Input(*inner, 1))) {
    const Endpoint source = s.Input(*inner, 0);
    s.rewrite().Edit(node.id).inputs[0] = source;
  }
  return ChangesNoShape(s, node) ? Answer(s.Input(node, 0)) : std::nullopt;
}

bool IsInOrder(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Dimension i of the result is dimension outer[i] of the inner result: inner[outer[i]] of x.
Answer Transpose(Simplifier& s, const Node& node) {
  const auto outer = Integers(s.Constant(node, 1));
  if (!outer) return std::nullopt;
  if (IsInOrder(*outer)) return s.Input(node, 0);
  const Node* inner_node = s.Maker(node, 0, "Transpose");
  const auto inner = inner_node == nullptr ? std::nullopt : Integers(s.Constant(*inner_node, 1));
  if (!inner || inner->size() != outer->size()) return std::nullopt;
  std::vector<int64_t> both;
  for (const int64_t i : *outer) {
    if (i < 0 || i >= static_cast<int64_t>(inner->size())) return std::nullopt;
    both.push_back((*inner)[i]);
  }
  return IsInOrder(both) ? Answer(s.Input(*inner_node, 0)) : std::nullopt;
}

// Through a wider type and back, or on: the detour changes nothing.
Answer Cast(Simplifier& s, const Node& node) {
  const Endpoint x = s.Input(node, 0);
  const DType to = node.signature.outputs[0].dtype;
  if (s.Type(x) == to) return x;
  const Node* inner = s.Maker(node, 0, "Cast");
  if (inner == nullptr) return std::nullopt;
  const Endpoint source = s.Input(*inner, 0);
  const DType from = s.Type(source);
  if (!Widens(from, s.Type(x))) return std::nullopt;
  if (from == to) return source;
  if (IntegerBits(from) == 0 || IntegerBits(s.Type(x)) == 0) return std::nullopt;
  Node& direct = s.rewrite().Edit(node.id);
  direct.inputs[0] = source;
  direct.attrs.Set("SrcT", from);
  direct.signature.inputs[0].dtype = from;
  return std::nullopt;
}

const absl::flat_hash_map<absl::string_view, Rule>& Rules() {
  static const auto* const rules = new absl::flat_hash_map<absl::string_view, Rule>{
      {"Add", Add},
      {"AddN", AddN},
      {"AddV2", Add},
      {"BroadcastTo", BroadcastTo},
      {"Cast", Cast},
      {"Conj", Involution},
      {"Div", Div},
      {"FloorDiv", IntegerDiv},
      {"Identity", Identity},
      {"Invert", Involution},
      {"LogicalAnd", LogicalAnd},
      {"LogicalNot", Involution},
      {"LogicalOr", LogicalOr},
      {"Mul", Mul},
      {"Neg", Involution},
      {"RealDiv", Div},
      {"Reshape", Reshape},
      {"Select", Select},
      {"SelectV2", Select},
      {"Sub", Sub},
      {"Transpose", Transpose},
      {"TruncateDiv", IntegerDiv},
  };
  return *rules;
}

// No output comes before all inputs have: that matters only where one of them has an order.
void Simplifier::ForwardAll(const Node& node) {
  const auto is_free = [&](Endpoint e) { return IsFree(e); };
  if (node.inputs.size() > 1 && !std::all_of(node.inputs.begin(), node.inputs.end(), is_free))
    return;
  for (int i = 0; i < node.num_outputs(); ++i) rewrite_.Replace({node.id, i}, Input(node, i));
  rewrite_.Drop(node.id);
}

void Simplifier::Simplify() {
  for (const NodeId id : body_.order) {
    SpendWork();
    const Node& node = rewrite_.node(id);
    if (!body_.IsPure(id) || !node.control_inputs.empty() || node.attrs.Has(kOwnGradient)) continue;
    if (node.op_name == "IdentityN") {
      ForwardAll(node);
      continue;
    }
    const auto rule = Rules().find(node.op_name);
    if (rule == Rules().end()) continue;
    const std::optional<Endpoint> equal = rule->second(*this, node);
    if (!equal) continue;
    rewrite_.Replace({id, 0}, *equal);
    rewrite_.Drop(id);
  }
}

}  // namespace

absl::StatusOr<Staged> SimplifyPass(const Staged& staged) {
  const passes::Effects effects(*staged.program);
  const passes::KnownShapes shapes(staged);
  return passes::RewriteEach(staged, [&](absl::string_view name, Rewrite& rewrite) {
    Simplifier(effects, shapes.Of(name), rewrite).Simplify();
    return absl::OkStatus();
  });
}

}  // namespace gyre
