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
std::vector<RowValue> ArgumentsOf(const Body& body, const Node& site) {
  std::vector<RowValue> args;
  for (size_t i = NumSelectorInputs(site); i < site.inputs.size(); ++i) {
    const Body::Value& value = body.At(site.inputs[i]);
    args.push_back(ArgumentOf(value.rows, value.info));
  }
  return args;
}

absl::Status NeedSameSelectors(const Body& body, const Node& site) {
  for (int i = 0; i < NumSelectorInputs(site); ++i) {
    if (body.At(site.inputs[i]).rows != Rows::kSame)
      return batch::Refuse(site.kind() == OpKind::kCase ? "its index differs from row to row"
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

// The site with other functions, inputs, and the number of rows.
void AddSite(Body& body, const Node& site, std::vector<Expr> inputs,
             const std::vector<std::pair<std::string, AttrValue>>& functions,
             const std::vector<Rows>& results) {
  AttrMap attrs = site.attrs;
  for (const absl::string_view types : {"Tin", "T", "output_shapes", "_output_shapes"})
    attrs.Erase(types);
  for (const auto& [name, function] : functions) attrs.Set(name, function);
  inputs.push_back(body.rows());
  const std::vector<Expr> outputs = body.AddLike(site, site.op_name, inputs, std::move(attrs));
  for (int slot = 0; slot < site.num_outputs(); ++slot)
    body.Set({site.id, slot}, outputs[slot], results[slot]);
}

std::vector<Expr> InputsOf(const Body& body, const Node& site) {
  std::vector<Expr> inputs;
  for (const Endpoint& input : site.inputs) inputs.push_back(body.At(input).expr);
  return inputs;
}

// Functions that take the same arguments and whose results must be held alike.
absl::Status VectorizeBranches(Body& body, const Node& site) {
  GYRE_RETURN_IF_ERROR(NeedSameSelectors(body, site));
  const std::vector<RowValue> args = ArgumentsOf(body, site);
  const std::vector<Callee> callees = CalleesOf(body.transform().program(), site);
  std::vector<Rows> rows(site.num_outputs(), Rows::kSame);
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
  if (site.kind() == OpKind::kCase) {
    attrs.emplace_back("branches", functions);
  } else {
    for (size_t i = 0; i < callees.size(); ++i)
      attrs.emplace_back(std::string(callees[i].attr), functions[i]);
  }
  AddSite(body, site, InputsOf(body, site), attrs, rows);
  return absl::OkStatus();
}

// The gradient of a function that has one of its own, for all rows:
//
//   gradient(arguments, rows, adjoints) -> adjoints of arguments, rows
//
// What is the same for all rows gets the sum of what they contribute.
absl::StatusOr<std::string> VectorizeGradient(Transform& transform, const std::string& name,
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

absl::Status VectorizeCall(Body& body, const Node& site) {
  Transform& transform = body.transform();
  const std::vector<Callee> callees = CalleesOf(transform.program(), site);
  if (callees.size() != 1 || !site.attrs.Has("f")) return batch::Refuse("it is no plain call");
  GYRE_RETURN_IF_ERROR(NeedSameSelectors(body, site));
  const std::vector<RowValue> args = ArgumentsOf(body, site);
  const auto& gradients = transform.program().gradient_functions();
  const auto gradient = gradients.find(callees[0].function.name);
  ResultRequest request;
  if (gradient != gradients.end()) request.rows.assign(site.num_outputs(), Rows::kStacked);
  GYRE_ASSIGN_OR_RETURN(const RowsFunction made,
                        transform.Vectorize(callees[0].function, args, request));
  if (gradient != gradients.end()) {
    GYRE_ASSIGN_OR_RETURN(std::string name,
                          VectorizeGradient(transform, gradient->second, args, made.results));
    transform.SetGradient(made.name, std::move(name));
  }
  std::vector<Rows> rows;
  for (const RowValue& result : made.results) rows.push_back(result.rows);
  AddSite(body, site, InputsOf(body, site), {{"f", FunctionRef{made.name, nullptr}}}, rows);
  return absl::OkStatus();
}

// State that differs from row to row anywhere in the loop is stacked from the start.
absl::Status VectorizeWhile(Body& body, const Node& site) {
  Transform& transform = body.transform();
  const auto* cond = site.attrs.Get<FunctionRef>("cond");
  const auto* step = site.attrs.Get<FunctionRef>("body");
  if (cond == nullptr || step == nullptr) return batch::Refuse("it names no functions");
  std::vector<RowValue> state = ArgumentsOf(body, site);
  std::vector<Rows> rows;
  for (size_t i = 0; i < state.size(); ++i) {
    state[i] = ArgumentOf(state[i].rows, body.OutputInfo(site, static_cast<int>(i)));
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
    const Body::Value& value = body.At(site.inputs[i]);
    if (rows[i] == Rows::kStacked) {
      GYRE_ASSIGN_OR_RETURN(const Expr stacked, body.Stacked(value));
      inputs.push_back(stacked);
    } else {
      inputs.push_back(value.expr);
    }
  }
  AddSite(
      body, site, std::move(inputs),
      {{"cond", FunctionRef{condition.name, nullptr}}, {"body", FunctionRef{made.name, nullptr}}},
      rows);
  return absl::OkStatus();
}

}  // namespace

absl::Status VectorizeSite(Body& body, const Node& node) {
  switch (node.kind()) {
    case OpKind::kIf:
    case OpKind::kCase:
      return VectorizeBranches(body, node);
    case OpKind::kWhile:
      return VectorizeWhile(body, node);
    case OpKind::kCall:
      return VectorizeCall(body, node);
    default:
      return batch::Refuse("there is no rule for this op");
  }
}

}  // namespace gyre::vectorize
