#include "grad/memory_policy.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "grad/saved_values.h"
#include "grad/sites.h"
#include "grad/unique_names.h"
#include "ir/builder.h"
#include "ir/calls.h"
#include "ir/expr.h"
#include "passes/edit/effects.h"

namespace gyre::grad {
namespace {

// Writes loops of segments in place of loops.
class Segmenter {
 public:
  Segmenter(const Program& program, absl::string_view other)
      : program_(program), other_(other), effects_(program), names_(program) {}

  absl::StatusOr<std::shared_ptr<const Program>> Run() {
    ProgramBuilder builder(program_);
    GYRE_ASSIGN_OR_RETURN(std::optional<Function> main, Rewrite(program_.main()));
    if (main) builder.SetMain(*std::move(main));
    bool changed = main.has_value();
    for (const auto& [name, function] : program_.functions()) {
      GYRE_ASSIGN_OR_RETURN(std::optional<Function> rewritten, Rewrite(*function));
      if (!rewritten) continue;
      builder.SetFunction(*std::move(rewritten));
      changed = true;
    }
    if (!changed) return nullptr;
    for (Function& function : made_) builder.SetFunction(std::move(function));
    return builder.Build();
  }

 private:
  // The function with loops of segments; nothing if there is none to be made.
  absl::StatusOr<std::optional<Function>> Rewrite(const Function& function) {
    std::optional<FunctionBuilder> builder;
    for (const Node& node : function.nodes) {
      if (node.kind() != OpKind::kWhile) continue;
      const absl::StatusOr<MemoryPolicy> policy =
          ParseMemoryPolicy(node.attrs.GetOr<std::string>(kMemoryAttr, std::string(other_)));
      if (!policy.ok()) return Annotate(policy.status(), absl::StrCat("loop '", node.name, "'"));
      if (policy->kind == MemoryPolicy::Kind::kSave || !effects_.Of(node).IsPure()) continue;
      if (node.attrs.Has(kSegmentsAttr)) continue;
      if (!builder) builder.emplace(program_.ops(), function);
      GYRE_ASSIGN_OR_RETURN(Node segmented, Segmented(node, *policy));
      builder->Replace(node.id, std::move(segmented));
    }
    if (!builder) return std::nullopt;
    return builder->Build();
  }

  // The loop whose body runs up to k trips of what was its body.
  absl::StatusOr<Node> Segmented(const Node& loop, const MemoryPolicy& policy) {
    const std::vector<Callee> callees = CalleesOf(program_, loop);
    const std::string cond = callees[0].function.name, body = callees[1].function.name;
    const Function* function = program_.FindFunction(body);
    if (function == nullptr)
      return absl::NotFoundError(absl::StrCat("there is no function '", body, "'"));
    GYRE_ASSIGN_OR_RETURN(const std::string segment, MakeSegment(loop, cond, *function));
    FunctionBuilder builder(program_.ops(), names_.Unique(absl::StrCat(body, "_segments")));
    ExprBuilder exprs(builder);
    std::vector<Expr> inputs = Args(*function, exprs);
    inputs.push_back(exprs.Constant(Tensor::Scalar(policy.every)));
    std::vector<DType> types = TypesOf(*function);
    types.push_back(DType::kInt64);
    const std::vector<Expr> outputs = exprs.Ops("PartitionedCall", inputs,
                                                {{"f", FunctionRef{segment, nullptr}},
                                                 {"Tout", types},
                                                 {std::string(kRecomputeAttr), true}},
                                                static_cast<int>(types.size()));
    GYRE_RETURN_IF_ERROR(exprs.status());
    const std::vector<bool> invariant = InvariantVars(*function, 0);
    for (size_t i = 0; i < invariant.size(); ++i)
      builder.Return(function->results[i].name, (invariant[i] ? inputs[i] : outputs[i]).endpoint());
    Node segmented = loop;
    SetFunctions({cond, Keep(builder.Build())}, segmented);
    segmented.attrs.Set(std::string(kSegmentsAttr), true);
    return segmented;
  }

  // segment(variables, most) -> variables, trips: up to `most` trips of the loop.
  absl::StatusOr<std::string> MakeSegment(const Node& loop, const std::string& cond,
                                          const Function& body) {
    GYRE_ASSIGN_OR_RETURN(const std::string counted_cond, CountedCondition(cond, body));
    GYRE_ASSIGN_OR_RETURN(const std::string counted_body, CountedBody(body));
    FunctionBuilder builder(program_.ops(), names_.Unique(absl::StrCat(body.name, "_segment")));
    ExprBuilder exprs(builder);
    std::vector<Expr> inputs = Args(body, exprs);
    const Expr most = exprs.At(builder.Arg("most", DType::kInt64));
    inputs.push_back(exprs.Scalar(DType::kInt64, 0));
    inputs.push_back(most);
    AttrMap attrs{{"cond", FunctionRef{counted_cond, nullptr}},
                  {"body", FunctionRef{counted_body, nullptr}},
                  // Of what is kept here, nothing is left when the segment is over.
                  {std::string(kMemoryAttr), std::string("save")}};
    if (const auto* window = loop.attrs.Get<int64_t>("parallel_iterations"))
      attrs.Set("parallel_iterations", *window);
    const std::vector<Expr> outputs =
        exprs.Ops("StatelessWhile", inputs, std::move(attrs), static_cast<int>(inputs.size()));
    GYRE_RETURN_IF_ERROR(exprs.status());
    for (size_t i = 0; i < body.results.size(); ++i)
      builder.Return(body.results[i].name, outputs[i].endpoint());
    builder.Return("trips", outputs[body.results.size()].endpoint());
    return Keep(builder.Build());
  }

  absl::StatusOr<std::string> CountedCondition(const std::string& cond, const Function& body) {
    FunctionBuilder builder(program_.ops(), names_.Unique(absl::StrCat(cond, "_counted")));
    ExprBuilder exprs(builder);
    const std::vector<Expr> inputs = Args(body, exprs);
    const Expr trips = exprs.At(builder.Arg("trips", DType::kInt64));
    const Expr most = exprs.At(builder.Arg("most", DType::kInt64));
    const Function* function = program_.FindFunction(cond);
    if (function == nullptr || function->results.size() != 1)
      return absl::InvalidArgumentError(absl::StrCat("'", cond, "' is no condition of a loop"));
    const DType type = function->results[0].dtype;
    Expr goes_on =
        exprs.Op("PartitionedCall", inputs,
                 {{"f", FunctionRef{cond, nullptr}}, {"Tout", std::vector<DType>{type}}});
    if (type != DType::kBool) goes_on = exprs.Op("ToBool", {goes_on});
    const Expr both = exprs.Op("LogicalAnd", {exprs.Op("Less", {trips, most}), goes_on});
    GYRE_RETURN_IF_ERROR(exprs.status());
    builder.Return("goes_on", both.endpoint());
    return Keep(builder.Build());
  }

  // The body with a count; what it hands on untouched is still seen to be that.
  absl::StatusOr<std::string> CountedBody(const Function& body) {
    FunctionBuilder builder(program_.ops(), body);
    ExprBuilder exprs(builder);
    const Expr trips = exprs.At(builder.Arg("trips", DType::kInt64));
    const Expr most = exprs.At(builder.Arg("most", DType::kInt64));
    const Expr next = trips + 1.0;
    GYRE_RETURN_IF_ERROR(exprs.status());
    builder.Return("trips", next.endpoint());
    builder.Return("most", most.endpoint());
    Function counted = builder.Build();
    counted.name = names_.Unique(absl::StrCat(body.name, "_counted"));
    return Keep(std::move(counted));
  }

  static std::vector<DType> TypesOf(const Function& body) {
    std::vector<DType> types;
    for (const FunctionResult& result : body.results) types.push_back(result.dtype);
    return types;
  }

  static std::vector<Expr> Args(const Function& body, ExprBuilder& exprs) {
    std::vector<Expr> args;
    for (const FunctionArg& arg : body.args)
      args.push_back(exprs.At(exprs.function().Arg(arg.name, arg.dtype, arg.shape)));
    return args;
  }

  std::string Keep(Function function) {
    made_.push_back(std::move(function));
    return made_.back().name;
  }

  const Program& program_;
  const absl::string_view other_;
  const passes::Effects effects_;
  UniqueNames names_;
  std::vector<Function> made_;
};

}  // namespace

absl::StatusOr<MemoryPolicy> ParseMemoryPolicy(absl::string_view text) {
  MemoryPolicy policy;
  if (text.empty() || text == "save") return policy;
  constexpr absl::string_view kRecompute = "recompute(";
  int64_t every = 0;
  const bool is_recompute =
      absl::StartsWith(text, kRecompute) && absl::EndsWith(text, ")") &&
      absl::SimpleAtoi(text.substr(kRecompute.size(), text.size() - kRecompute.size() - 1),
                       &every) &&
      every >= 1;
  if (!is_recompute) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text,
        "\" is no memory policy; there is save, and recompute(k) with k of at least 1"));
  }
  policy.kind = MemoryPolicy::Kind::kRecompute;
  policy.every = every;
  return policy;
}

absl::StatusOr<std::shared_ptr<const Program>> ApplyMemoryPolicies(
    std::shared_ptr<const Program> program, absl::string_view other) {
  GYRE_RETURN_IF_ERROR(ParseMemoryPolicy(other).status());
  GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Program> segmented, Segmenter(*program, other).Run());
  return segmented == nullptr ? program : segmented;
}

}  // namespace gyre::grad
