// If, Case, While and calls: their functions are vectorised, and get one argument more, how many
// rows there are.
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/calls.h"
#include "passes/vectorize/body.h"

namespace gyre::vectorize {
namespace {

// Of an argument: what is true of it in all calls.
RowValue ArgumentOf(Rows rows, const ValueInfo& info) {
  return {rows, {info.shape, info.handle, {}, {}}};
}

// What the node passes to its functions.
std::vector<RowValue> ArgumentsOf(const BatchedBody& body, const Node& structured) {
  std::vector<RowValue> args;
  for (size_t i = NumSelectorInputs(structured); i < structured.inputs.size(); ++i) {
    const BatchedBody::Value& value = body.At(structured.inputs[i]);
    args.push_back(ArgumentOf(value.rows, value.info));
  }
  return args;
}

absl::Status NeedSameSelectors(const BatchedBody& body, const Node& structured) {
  for (int i = 0; i < NumSelectorInputs(structured); ++i) {
    if (body.At(structured.inputs[i]).rows != Rows::kSame)
      return batch::Refuse(SelectorOf(structured) == Selector::kIndex
                               ? "its index differs from row to row"
                               : "its condition differs from row to row");
  }
  return absl::OkStatus();
}

// Adds to `rows` what `more` says. True if that was news.
absl::StatusOr<bool> JoinRows(const std::vector<RowValue>& more, std::vector<Rows>& rows) {
  bool is_news = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::optional<Rows> joined = Join(rows[i], more[i].rows);
    if (!joined) return batch::Refuse("a list differs from row to row in some places only");
    is_news |= *joined != rows[i];
    rows[i] = *joined;
  }
  return is_news;
}

// The structured node with other functions, inputs, and the number of rows.
void AddStructured(BatchedBody& body, const Node& structured, std::vector<Expr> inputs,
                   const std::vector<std::pair<std::string, AttrValue>>& functions,
                   const std::vector<Rows>& results) {
  AttrMap attrs = structured.attrs;
  for (const absl::string_view types : {"Tin", "T", "output_shapes", "_output_shapes"})
    attrs.Erase(types);
  for (const auto& [name, function] : functions) attrs.Set(name, function);
  inputs.push_back(body.rows());
  const std::vector<Expr> outputs =
      body.AddLike(structured, structured.op_name, inputs, std::move(attrs));
  for (int slot = 0; slot < structured.num_outputs(); ++slot)
    body.Set({structured.id, slot}, outputs[slot], results[slot]);
}

std::vector<Expr> InputsOf(const BatchedBody& body, const Node& structured) {
  std::vector<Expr> inputs;
  for (const Endpoint& input : structured.inputs) inputs.push_back(body.At(input).expr);
  return inputs;
}

// Functions that take the same arguments and whose results must be held alike.
absl::Status VectorizeBranches(BatchedBody& body, const Node& structured) {
  GYRE_RETURN_IF_ERROR(NeedSameSelectors(body, structured));
  const std::vector<RowValue> args = ArgumentsOf(body, structured);
  const std::vector<Callee> callees = CalleesOf(body.transform().program(), structured);
  std::vector<Rows> rows(structured.num_outputs(), Rows::kSame);
  for (size_t i = 0; i < callees.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const RowsFunction made,
                          body.transform().Vectorize(callees[i].function, args, {}));
    if (i == 0) {
      for (size_t k = 0; k < rows.size(); ++k) rows[k] = made.results[k].rows;
    }
    GYRE_RETURN_IF_ERROR(JoinRows(made.results, rows).status());
  }
  std::vector<FunctionRef> functions;
  for (const Callee& callee : callees) {
    GYRE_ASSIGN_OR_RETURN(const RowsFunction made,
                          body.transform().Vectorize(callee.function, args, {.rows = rows}));
    functions.push_back({made.name, nullptr});
  }
  std::vector<std::pair<std::string, AttrValue>> attrs;
  const std::vector<Structure::Functions>& named = structured.op->structure.functions;
  if (named.size() == 1) {  // a list of functions
    attrs.emplace_back(std::string(named[0].attr), functions);
  } else {
    for (size_t i = 0; i < callees.size(); ++i)
      attrs.emplace_back(std::string(callees[i].attr), functions[i]);
  }
  AddStructured(body, structured, InputsOf(body, structured), attrs, rows);
  return absl::OkStatus();
}

// The gradient of a function that has one of its own, for all rows:
//
//   gradient(arguments, rows, adjoints) -> adjoints of arguments, rows
//
// What is the same for all rows gets the sum of what they contribute.
absl::StatusOr<std::string> VectorizeGradient(BatchTransform& transform, const std::string& name,
                                              const std::vector<RowValue>& args,
                                              const std::vector<RowValue>& results) {
  const Function* const row = transform.program().FindFunction(name);
  if (row == nullptr || row->results.size() != args.size())
    return batch::Refuse(absl::StrCat("'", name, "' does not return a gradient for each argument"));
  std::vector<RowValue> all = args;
  for (const RowValue& result : results) all.push_back(ArgumentOf(result.rows, result.info));
  GYRE_ASSIGN_OR_RETURN(
      const RowsFunction made,
      transform.Vectorize(FunctionRef{name, nullptr}, all,
                          {.rows = std::vector<Rows>(args.size(), Rows::kStacked)}));
  FunctionBuilder builder(transform.ops(), transform.UniqueName(absl::StrCat(made.name, "_sum")));
  std::vector<Endpoint> inputs;
  Endpoint rows;
  for (size_t i = 0; i <= all.size(); ++i) {
    if (i == args.size()) rows = builder.Arg("rows", DType::kInt32, PartialShape::Scalar());
    if (i < all.size()) inputs.push_back(builder.Arg(row->args[i].name, row->args[i].dtype));
  }
  inputs.push_back(rows);
  std::vector<DType> types;
  for (const FunctionResult& result : row->results) types.push_back(result.dtype);
  GYRE_ASSIGN_OR_RETURN(
      const NodeId call,
      builder.Add(row->stateful ? "StatefulPartitionedCall" : "PartitionedCall", inputs,
                  {{"f", FunctionRef{made.name, nullptr}}, {"Tout", types}}));
  ExprBuilder b(builder);
  for (size_t i = 0; i < args.size(); ++i) {
    Expr gradient = b.At({call, static_cast<int32_t>(i)});
    const bool is_number = IsFloating(types[i]) || IsComplex(types[i]);
    if (args[i].rows == Rows::kSame)
      gradient = is_number ? Sum(gradient, b.Int(0)) : ZerosLike(b.At(inputs[i]));
    GYRE_RETURN_IF_ERROR(b.status());
    builder.Return(row->results[i].name, gradient.endpoint());
  }
  builder.Return("rows", rows);
  std::string sum = builder.name();
  transform.Add(builder.Build());
  return sum;
}

absl::Status VectorizeCall(BatchedBody& body, const Node& structured) {
  BatchTransform& transform = body.transform();
  const std::vector<Callee> callees = CalleesOf(transform.program(), structured);
  if (callees.size() != 1 || !structured.attrs.Has("f"))
    return batch::Refuse("it is no plain call");
  GYRE_RETURN_IF_ERROR(NeedSameSelectors(body, structured));
  const std::vector<RowValue> args = ArgumentsOf(body, structured);
  const auto& gradients = transform.program().gradient_functions();
  const auto gradient = gradients.find(callees[0].function.name);
  ResultRequest request;
  if (gradient != gradients.end()) request.rows.assign(structured.num_outputs(), Rows::kStacked);
  GYRE_ASSIGN_OR_RETURN(const RowsFunction made,
                        transform.Vectorize(callees[0].function, args, request));
  if (gradient != gradients.end()) {
    GYRE_ASSIGN_OR_RETURN(std::string name,
                          VectorizeGradient(transform, gradient->second, args, made.results));
    transform.SetGradient(made.name, std::move(name));
  }
  std::vector<Rows> rows;
  for (const RowValue& result : made.results) rows.push_back(result.rows);
  AddStructured(body, structured, InputsOf(body, structured),
                {{"f", FunctionRef{made.name, nullptr}}}, rows);
  return absl::OkStatus();
}

// State that differs from row to row anywhere in the loop is stacked from the start.
absl::Status VectorizeWhile(BatchedBody& body, const Node& structured) {
  BatchTransform& transform = body.transform();
  const auto* cond = structured.attrs.Get<FunctionRef>("cond");
  const auto* step = structured.attrs.Get<FunctionRef>("body");
  if (cond == nullptr || step == nullptr) return batch::Refuse("it names no functions");
  std::vector<RowValue> state = ArgumentsOf(body, structured);
  std::vector<Rows> rows;
  for (size_t i = 0; i < state.size(); ++i) {
    state[i] = ArgumentOf(state[i].rows, body.OutputInfo(structured, static_cast<int>(i)));
    rows.push_back(state[i].rows);
  }
  for (bool is_news = true; is_news;) {
    GYRE_ASSIGN_OR_RETURN(const RowsFunction made, transform.Vectorize(*step, state, {}));
    GYRE_ASSIGN_OR_RETURN(is_news, JoinRows(made.results, rows));
    for (size_t i = 0; i < state.size(); ++i) state[i].rows = rows[i];
  }
  GYRE_ASSIGN_OR_RETURN(const RowsFunction condition, transform.Vectorize(*cond, state, {}));
  if (condition.results[0].rows != Rows::kSame)
    return batch::Refuse("its condition differs from row to row");
  GYRE_ASSIGN_OR_RETURN(const RowsFunction made,
                        transform.Vectorize(*step, state, {.rows = rows, .returns_rows = true}));
  std::vector<Expr> inputs;
  for (size_t i = 0; i < rows.size(); ++i) {
    const BatchedBody::Value& value = body.At(structured.inputs[i]);
    if (rows[i] == Rows::kStacked) {
      GYRE_ASSIGN_OR_RETURN(const Expr stacked, body.Stacked(value));
      inputs.push_back(stacked);
    } else {
      inputs.push_back(value.expr);
    }
  }
  AddStructured(
      body, structured, std::move(inputs),
      {{"cond", FunctionRef{condition.name, nullptr}}, {"body", FunctionRef{made.name, nullptr}}},
      rows);
  return absl::OkStatus();
}

}  // namespace

absl::Status VectorizeStructured(BatchedBody& body, const Node& node) {
  if (IsConditional(node.kind())) return VectorizeBranches(body, node);
  if (HasCondition(node)) return VectorizeWhile(body, node);
  if (node.kind() == OpKind::kCall) return VectorizeCall(body, node);
  return batch::Refuse("there is no rule for this op");
}

}  // namespace gyre::vectorize
