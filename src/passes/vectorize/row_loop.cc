// The loop that a node becomes when its rows cannot be computed together, if the sizes of its
// results are known, and so the same in all rows:
//
//   i, rows, out', in, same = While(0, rows, reserved, rows of stacked inputs, other inputs)
//     while i < rows:  out[i] = node(in[i], same)
//   outputs = stacked out'
#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "base/status.h"
#include "passes/vectorize/body.h"

namespace gyre::vectorize {
namespace {

bool IsTensor(DType dtype) { return dtype != DType::kVariant && dtype != DType::kResource; }

// The shape of a list's elements, as list ops take it: -1 where a size is not known.
Expr ElementShape(ExprBuilder& b, const PartialShape& shape) {
  if (!shape.has_rank()) return b.Int(-1);
  std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
  return b.Ints(dims);
}

class RowLoop {
 public:
  RowLoop(BatchedBody& body, const Node& node) : body_(body), node_(node) {}

  absl::Status Add() {
    GYRE_RETURN_IF_ERROR(CheckValues());
    BatchTransform& transform = body_.transform();
    const std::string name = absl::StrCat(body_.name(), "_", node_.op_name);
    FunctionBuilder step(transform.ops(), transform.UniqueName(absl::StrCat(name, "_row")));
    FunctionBuilder cond(transform.ops(), transform.UniqueName(absl::StrCat(name, "_more_rows")));
    const std::vector<Expr> state = InitialState();
    GYRE_RETURN_IF_ERROR(body_.builder().status());
    for (FunctionBuilder* function : {&step, &cond}) AddArguments(state, *function);
    GYRE_RETURN_IF_ERROR(WriteCondition(cond));
    GYRE_RETURN_IF_ERROR(WriteStep(state, step));
    AttrMap attrs = {{"cond", FunctionRef{cond.name(), nullptr}},
                     {"body", FunctionRef{step.name(), nullptr}},
                     {"parallel_iterations", kWindow}};
    const bool is_pure = transform.effects().Of(node_).IsPure();
    const std::vector<Expr> results =
        body_.builder().Ops(is_pure ? "StatelessWhile" : "While", state, std::move(attrs),
                            static_cast<int>(state.size()));
    for (int slot = 0; slot < node_.num_outputs(); ++slot) Stack(slot, results[kFirst + slot]);
    transform.Add(cond.Build());
    transform.Add(step.Build());
    return body_.builder().status();
  }

 private:
  static constexpr int64_t kWindow = 64;  // rows in flight
  static constexpr int kFirst = 2;        // of the state: what comes behind counter and number

  absl::Status CheckValues() const {
    for (const Endpoint& input : node_.inputs) {
      const BatchedBody::Value& value = body_.At(input);
      if (value.rows == Rows::kElements) return batch::Refuse("one of its inputs is a list");
    }
    for (int slot = 0; slot < node_.num_outputs(); ++slot) {
      const NodeSignature::Slot& output = node_.signature.outputs[slot];
      if (!IsTensor(output.dtype) || output.is_ref)
        return batch::Refuse(absl::StrCat("it makes a ", DTypeName(output.dtype), " for each row"));
      if (!body_.OutputInfo(node_, slot).shape.IsFullyKnown())
        return batch::Refuse("its results may be of another size in each row");
    }
    return absl::OkStatus();
  }

  std::vector<Expr> InitialState() {
    ExprBuilder& b = body_.builder();
    std::vector<Expr> state = {b.Int(0), body_.rows()};
    for (int slot = 0; slot < node_.num_outputs(); ++slot) {
      state.push_back(b.Op("TensorListReserve",
                           {ElementShape(b, body_.OutputInfo(node_, slot).shape), body_.rows()},
                           {{"element_dtype", node_.signature.outputs[slot].dtype}}));
    }
    for (const Endpoint& input : node_.inputs) {
      const BatchedBody::Value& value = body_.At(input);
      state.push_back(
          value.rows == Rows::kSame
              ? value.expr
              : b.Op("TensorListFromTensor", {value.expr, ElementShape(b, value.info.shape)}));
    }
    return state;
  }

  void AddArguments(const std::vector<Expr>& state, FunctionBuilder& function) const {
    for (size_t i = 0; i < state.size(); ++i) {
      const size_t input = i - kFirst - node_.num_outputs();
      PartialShape shape;
      if (i < kFirst || state[i].dtype() == DType::kVariant) {
        shape = PartialShape::Scalar();
      } else if (i >= static_cast<size_t>(kFirst + node_.num_outputs())) {
        shape = body_.At(node_.inputs[input]).info.shape;
      }
      const std::string name = i == 0 ? "i" : i == 1 ? "rows" : absl::StrCat("state_", i);
      (void)function.Arg(name, state[i].dtype(), shape);
    }
  }

  static Endpoint Argument(const FunctionBuilder& function, size_t i) {
    return {function.function().arg_nodes[i], 0};
  }

  absl::Status WriteCondition(FunctionBuilder& function) const {
    GYRE_ASSIGN_OR_RETURN(const Endpoint more,
                          function.Add1("Less", {Argument(function, 0), Argument(function, 1)}));
    function.Return("more", more);
    return absl::OkStatus();
  }

  absl::Status WriteStep(const std::vector<Expr>& state, FunctionBuilder& function) const {
    ExprBuilder b(function);
    b.set_style({absl::StrCat(node_.name, "/"), node_.device, node_.source});
    const auto argument = [&](size_t i) { return b.At(Argument(function, i)); };
    const Expr i = argument(0);
    const size_t first_input = kFirst + node_.num_outputs();
    std::vector<Endpoint> inputs;
    for (size_t k = 0; k < node_.inputs.size(); ++k) {
      const BatchedBody::Value& value = body_.At(node_.inputs[k]);
      Expr input = argument(first_input + k);
      if (value.rows == Rows::kStacked) {
        input = b.Op("TensorListGetItem", {input, i, ElementShape(b, value.info.shape)},
                     {{"element_dtype", value.expr.dtype()}});
      }
      GYRE_RETURN_IF_ERROR(b.status());
      inputs.push_back(input.endpoint());
    }
    const NodeId node = function.Copy(node_, std::move(inputs), {});
    std::vector<Expr> next = {i + 1, argument(1)};
    for (int slot = 0; slot < node_.num_outputs(); ++slot) {
      next.push_back(b.Op("TensorListSetItem", {argument(kFirst + slot), i, b.At({node, slot})}));
    }
    for (size_t k = next.size(); k < state.size(); ++k) next.push_back(argument(k));
    GYRE_RETURN_IF_ERROR(b.status());
    for (size_t k = 0; k < next.size(); ++k)
      function.Return(absl::StrCat("next_", k), next[k].endpoint());
    if (body_.transform().effects().Of(node_).IsOrdered())
      function.ReturnControl(function.node(node).name, node);
    return absl::OkStatus();
  }

  void Stack(int slot, Expr list) {
    ExprBuilder& b = body_.builder();
    const AttrMap attrs = {{"element_dtype", node_.signature.outputs[slot].dtype}};
    const Expr shape = ElementShape(b, body_.OutputInfo(node_, slot).shape);
    body_.Set({node_.id, slot}, b.Op("TensorListStack", {list, shape}, attrs), Rows::kStacked);
  }

  BatchedBody& body_;
  const Node& node_;
};

}  // namespace

absl::Status AddRowLoop(BatchedBody& body, const Node& node) { return RowLoop(body, node).Add(); }

}  // namespace gyre::vectorize
