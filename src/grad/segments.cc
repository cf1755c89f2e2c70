#include "grad/segments.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/pass_through.h"
#include "base/status.h"
#include "grad/memory_policy.h"
#include "grad/saved_values.h"
#include "ir/calls.h"

namespace gyre::grad {
namespace {

// Segments of segments of … iterations, above the segments of iterations. With m = 16 already a
// million times as many iterations as one segment has.
constexpr int kLevels = 4;
// Half of the bytes are for what iterations save, half for variables: of at most so many
// checkpoints per m, on the way through all levels.
constexpr int64_t kCheckpointsPerFan = 2 * kLevels;

Expr Int64(ExprBuilder& exprs, int64_t value) { return exprs.Constant(Tensor::Scalar(value)); }

}  // namespace

absl::StatusOr<Segments> Segments::Make(GradientTransform& transform, const Node& loop) {
  Segments segments(transform);
  const std::vector<Callee> callees = CalleesOf(transform.program(), loop);
  GYRE_ASSIGN_OR_RETURN(const Function* cond, transform.Find(callees[0].function));
  GYRE_ASSIGN_OR_RETURN(segments.body_, transform.Find(callees[1].function));
  if (cond->results.size() != 1)
    return absl::InvalidArgumentError(absl::StrCat("'", cond->name, "' is no condition of a loop"));
  segments.cond_ = cond->name;
  segments.cond_type_ = cond->results[0].dtype;
  segments.invariant_ = InvariantVariables(*segments.body_, 0);
  for (const FunctionResult& result : segments.body_->results)
    segments.types_.push_back(result.dtype);
  return segments;
}

std::vector<Expr> Segments::Args(ExprBuilder& exprs) const {
  std::vector<Expr> args;
  for (const FunctionArg& arg : body_->args)
    args.push_back(exprs.At(exprs.function().Arg(arg.name, arg.dtype, arg.shape)));
  return args;
}

// What is handed on untouched is seen to be that.
void Segments::Return(const std::vector<Expr>& args, const std::vector<Expr>& results,
                      ExprBuilder& exprs) const {
  if (!exprs.status().ok()) return;
  for (size_t i = 0; i < types_.size(); ++i)
    exprs.function().Return(body_->results[i].name,
                            (invariant_[i] ? args[i] : results[i]).endpoint());
}

Expr Segments::GoesOn(const std::vector<Expr>& vars, ExprBuilder& exprs) {
  const Expr goes_on =
      exprs.Op("PartitionedCall", vars,
               {{"f", FunctionRef{cond_, nullptr}}, {"Tout", std::vector<DType>{cond_type_}}});
  return cond_type_ == DType::kBool ? goes_on : exprs.Op("ToBool", {goes_on});
}

std::vector<Expr> Segments::CallLevel(const std::string& name, const std::vector<Expr>& vars,
                                      Expr k, Expr m, Expr most, bool again, ExprBuilder& exprs) {
  std::vector<Expr> inputs(vars.begin(), vars.begin() + types_.size());
  inputs.insert(inputs.end(), {k, m, most});
  std::vector<DType> types = types_;
  types.push_back(DType::kInt64);
  std::vector<Expr> outputs =
      exprs.Ops("PartitionedCall", inputs,
                {{"f", FunctionRef{name, nullptr}},
                 {"Tout", types},
                 {std::string(again ? kRecomputeAttr : kSegmentsAttr), true},
                 // Each is called by several: written into all of them, loops within loops would
                 // multiply.
                 {std::string(kNoInlineAttr), true}},
                static_cast<int>(types.size()));
  for (size_t i = 0; i < types_.size(); ++i) {
    if (invariant_[i]) outputs[i] = vars[i];
  }
  return outputs;
}

absl::StatusOr<std::string> Segments::LevelCondition() {
  if (!level_condition_.empty()) return level_condition_;
  FunctionBuilder builder(transform_.ops(), absl::StrCat(cond_, "_within"));
  ExprBuilder exprs(builder);
  const std::vector<Expr> vars = Args(exprs);
  std::vector<Expr> counts;
  for (const char* name : {"iterations", "k", "m", "most"})
    counts.push_back(exprs.At(builder.Arg(name, DType::kInt64)));
  const Expr within = exprs.Op("Less", {counts[0], counts[3]});
  const Expr both = exprs.Op("LogicalAnd", {within, GoesOn(vars, exprs)});
  GYRE_RETURN_IF_ERROR(exprs.status());
  builder.Return("goes_on", both.endpoint());
  return level_condition_ = transform_.Add(builder.Build());
}

absl::StatusOr<std::string> Segments::LevelBody(int level) {
  std::optional<FunctionBuilder> builder;
  if (level == 0) {
    builder.emplace(transform_.ops(), *body_);
  } else {
    builder.emplace(transform_.ops(), body_->name);
  }
  ExprBuilder exprs(*builder);
  std::vector<Expr> args;
  if (level > 0) args = Args(exprs);
  std::vector<Expr> counts;
  for (const char* name : {"iterations", "k", "m", "most"})
    counts.push_back(exprs.At(builder->Arg(name, DType::kInt64)));
  if (level > 0) {
    GYRE_ASSIGN_OR_RETURN(const std::string inner, Level(level - 1));
    const Expr most = level == 1 ? counts[1] : counts[2];
    Return(args, CallLevel(inner, args, counts[1], counts[2], most, /*again=*/true, exprs), exprs);
  }
  const Expr next = counts[0] + 1.0;
  GYRE_RETURN_IF_ERROR(exprs.status());
  builder->Return("iterations", next.endpoint());
  for (size_t i = 1; i < counts.size(); ++i) builder->Return("count", counts[i].endpoint());
  Function body = builder->Build();
  body.name = absl::StrCat(body_->name, "_level_", level);
  return transform_.Add(std::move(body));
}

absl::StatusOr<std::string> Segments::Level(int level) {
  if (static_cast<size_t>(level) < levels_.size()) return levels_[level];
  GYRE_ASSIGN_OR_RETURN(const std::string body, LevelBody(level));
  GYRE_ASSIGN_OR_RETURN(const std::string condition, LevelCondition());
  FunctionBuilder builder(transform_.ops(), absl::StrCat(body_->name, "_segment_", level));
  ExprBuilder exprs(builder);
  const std::vector<Expr> args = Args(exprs);
  std::vector<Expr> inputs = args;
  inputs.push_back(Int64(exprs, 0));
  for (const char* name : {"k", "m", "most"})
    inputs.push_back(exprs.At(builder.Arg(name, DType::kInt64)));
  AttrMap attrs{{"cond", FunctionRef{condition, nullptr}},
                {"body", FunctionRef{body, nullptr}},
                // Of what is kept here, nothing is left when the segment is over.
                {std::string(kMemoryAttr), std::string("save")}};
  if (level > 0) attrs.Set(std::string(kSegmentsAttr), true);
  // Iterations in flight hold memory that nobody has reckoned with.
  attrs.Set("parallel_iterations", int64_t{1});
  const std::vector<Expr> outputs =
      exprs.Ops("StatelessWhile", inputs, std::move(attrs), static_cast<int>(inputs.size()));
  Return(args, outputs, exprs);
  GYRE_RETURN_IF_ERROR(exprs.status());
  builder.Return("iterations", outputs[types_.size()].endpoint());
  levels_.push_back(transform_.Add(builder.Build()));
  return levels_.back();
}

absl::StatusOr<std::string> Segments::RecomputeBody(int64_t iterations) {
  GYRE_ASSIGN_OR_RETURN(const std::string segment, Level(0));
  FunctionBuilder builder(transform_.ops(), absl::StrCat(body_->name, "_segments"));
  ExprBuilder exprs(builder);
  const std::vector<Expr> args = Args(exprs);
  const Expr most = Int64(exprs, iterations);
  Return(args, CallLevel(segment, args, most, most, most, /*again=*/true, exprs), exprs);
  GYRE_RETURN_IF_ERROR(exprs.status());
  return transform_.Add(builder.Build());
}

// Of a handle, what its variable holds; kInvalid where that is not known, or is no number.
std::vector<DType> Segments::TypesOfAdjoints() const {
  std::vector<DType> types = types_;
  const FunctionShapes& shapes = transform_.ShapesOf(body_->name);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != DType::kResource) continue;
    const std::optional<HandleInfo>& variable = shapes.at({body_->arg_nodes[i], 0}).handle;
    const bool is_wanted = variable && invariant_[i];
    types[i] = is_wanted ? variable->dtype : DType::kInvalid;
  }
  return types;
}

// probe(variables) -> how many bytes the gradient of an iteration would save.
absl::StatusOr<Function> Segments::Probe() {
  FunctionRequest request;
  const std::vector<DType> types = TypesOfAdjoints();
  for (size_t i = 0; i < types.size(); ++i) {
    const bool is_number = HasDerivative(types[i]) && types[i] != DType::kVariant;
    request.wanted.push_back(is_number);
    request.results.push_back(is_number && !invariant_[i]);
    request.dense.push_back(is_number && !invariant_[i]);
  }
  request.seeded.resize(types.size());
  request.arg_kinds.resize(types.size());
  request.arg_types = request.result_types = types;
  GYRE_ASSIGN_OR_RETURN(const auto gradient, transform_.Differentiate(*body_, request));
  const SavedValues saved(gradient->forward, 0, transform_.ShapesOf(body_->name), gradient->saved);
  const std::vector<Endpoint> listed = saved.listed();
  Function forward = gradient->forward;
  forward.results.clear();
  FunctionBuilder builder(transform_.ops(), std::move(forward));
  GYRE_ASSIGN_OR_RETURN(const Endpoint bytes, builder.Add1("_PayloadBytes", listed));
  builder.Return("bytes", bytes);
  Function probe = builder.Build();
  probe.name = absl::StrCat(body_->name, "_probe");
  return probe;
}

std::pair<Expr, Expr> Segments::Measure(const std::vector<Expr>& vars, int64_t bytes,
                                        ExprBuilder& exprs) {
  absl::StatusOr<Function> probe = Probe();
  if (!probe.ok()) exprs.Fail(probe.status());
  if (!exprs.status().ok()) return {};
  // A loop without an iteration is not tried.
  FunctionBuilder nothing(transform_.ops(), absl::StrCat(body_->name, "_no_probe"));
  ExprBuilder none(nothing);
  (void)Args(none);
  nothing.Return("bytes", Int64(none, 0).endpoint());
  const Expr saved =
      exprs.Op("StatelessIf",
               [&] {
                 std::vector<Expr> inputs{GoesOn(vars, exprs)};
                 inputs.insert(inputs.end(), vars.begin(), vars.end());
                 return inputs;
               }(),
               {{"then_branch", FunctionRef{transform_.Add(*std::move(probe)), nullptr}},
                {"else_branch", FunctionRef{transform_.Add(nothing.Build()), nullptr}},
                {"Tout", std::vector<DType>{DType::kInt64}}});
  std::vector<Expr> kept;
  for (size_t i = 0; i < vars.size(); ++i) {
    if (!invariant_[i]) kept.push_back(vars[i]);
  }
  const Expr state = exprs.Op("_PayloadBytes", kept);
  const auto fits = [&](int64_t budget, Expr each, int64_t at_least) {
    const Expr size = exprs.Op("Maximum", {each, Int64(exprs, 1)});
    return exprs.Op("Maximum",
                    {exprs.Op("FloorDiv", {Int64(exprs, budget), size}), Int64(exprs, at_least)});
  };
  return {fits(bytes / 2, saved, 1), fits(bytes / 2 / kCheckpointsPerFan, state, 2)};
}

absl::StatusOr<std::string> Segments::Checkpointed(int64_t bytes) {
  FunctionBuilder builder(transform_.ops(), absl::StrCat(body_->name, "_checkpointed"));
  ExprBuilder exprs(builder);
  const std::vector<Expr> args = Args(exprs);
  const auto [k, m] = Measure(args, bytes, exprs);
  GYRE_RETURN_IF_ERROR(exprs.status());
  std::vector<Expr> vars = args;
  for (int level = 1; level <= kLevels; ++level) {
    GYRE_ASSIGN_OR_RETURN(const std::string segment, Level(level));
    const Expr most = level < kLevels ? m : Int64(exprs, std::numeric_limits<int64_t>::max());
    vars = CallLevel(segment, vars, k, m, most, /*again=*/false, exprs);
  }
  Return(args, vars, exprs);
  GYRE_RETURN_IF_ERROR(exprs.status());
  return transform_.Add(builder.Build());
}

}  // namespace gyre::grad
