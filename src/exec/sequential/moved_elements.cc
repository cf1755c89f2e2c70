#include "exec/sequential/moved_elements.h"

#include <utility>

#include "ops/evaluate.h"
#include "ops/registry.h"

namespace gyre::sequential {
namespace {

using compiled::Stretch;

constexpr size_t kMaxStretches = 64;

// The node as it is for elements of another type.
std::optional<Node> WithElements(const Node& node, DType dtype) {
  if (node.op->outputs.empty()) return std::nullopt;
  Node other = node;
  other.attrs.Set(node.op->outputs[0].type_attr, dtype);
  absl::StatusOr<NodeSignature> signature = ResolveSignature(*node.op, other.attrs);
  if (!signature.ok()) return std::nullopt;
  other.signature = *std::move(signature);
  return other;
}

// Elements of all inputs that are moved are numbered from 1, so that a zero is told from them.
template <typename T>
class Numbering {
 public:
  absl::StatusOr<Tensor> Next(const Shape& shape, uint32_t input) {
    GYRE_ASSIGN_OR_RETURN(Tensor numbers, Tensor::Make(DTypeOf<T>, shape));
    for (T& number : numbers.mutable_values<T>()) {
      number = static_cast<T>(places_.size() + 1);
      places_.push_back({input, static_cast<uint32_t>(&number - numbers.values<T>().data())});
    }
    return numbers;
  }

  // As stretches; false: these are no numbers of elements, or too many stretches.
  bool Read(const Tensor& numbers, uint32_t output, std::vector<Stretch>& stretches) const {
    uint32_t to = 0;
    for (const T number : numbers.values<T>()) {
      if (number < 0 || static_cast<size_t>(number) > places_.size()) return false;
      const auto [input, from] =
          number == 0 ? Place{compiled::kZeros, 0} : places_[static_cast<size_t>(number) - 1];
      Stretch* const last = stretches.empty() ? nullptr : &stretches.back();
      const bool follows = last != nullptr && last->output == output && last->input == input &&
                           (input == compiled::kZeros || last->from + last->size == from);
      if (follows) {
        ++last->size;
      } else {
        stretches.push_back({output, to, input, from, 1});
      }
      ++to;
    }
    return stretches.size() <= kMaxStretches;
  }

 private:
  struct Place {
    uint32_t input, element;
  };
  std::vector<Place> places_;
};

template <typename T>
std::optional<std::vector<Stretch>> Find(const Node& node, absl::Span<const DenseOperand> inputs,
                                         absl::Span<const Shape> outputs) {
  const std::optional<Node> numbered = WithElements(node, DTypeOf<T>);
  if (!numbered || inputs.size() != numbered->signature.inputs.size()) return std::nullopt;
  Numbering<T> numbering;
  std::vector<Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_moved = numbered->signature.inputs[i].dtype != node.signature.inputs[i].dtype;
    if (!is_moved && inputs[i].constant == nullptr) return std::nullopt;
    if (is_moved && !inputs[i].shape) return std::nullopt;
    absl::StatusOr<Tensor> value =
        is_moved ? numbering.Next(*inputs[i].shape, static_cast<uint32_t>(i)) : *inputs[i].constant;
    if (!value.ok()) return std::nullopt;
    values.push_back(*std::move(value));
  }
  RunEnv env;
  const auto moved = EvaluateNode(Ops(), *numbered, std::move(values), env);
  if (!moved.ok() || moved->size() != outputs.size()) return std::nullopt;
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& numbers = (*moved)[i];
    if (numbers.dtype() != DTypeOf<T> || numbers.shape() != outputs[i] ||
        !numbering.Read(numbers, static_cast<uint32_t>(i), stretches))
      return std::nullopt;
  }
  return stretches;
}

}  // namespace

std::optional<std::vector<Stretch>> FindMovedElements(const Node& node,
                                                      absl::Span<const DenseOperand> inputs,
                                                      absl::Span<const Shape> outputs) {
  if (node.op == nullptr || !node.op->traits.moves_elements || node.signature.outputs.empty())
    return std::nullopt;
  return node.signature.outputs[0].dtype == DType::kInt64 ? Find<int32_t>(node, inputs, outputs)
                                                          : Find<int64_t>(node, inputs, outputs);
}

}  // namespace gyre::sequential
