#include "front/vectorized_map.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "front/body.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/math.h"

namespace gyre::internal {
namespace {

class VectorizedCall {
 public:
  VectorizedCall(const Leaves& rows, const VectorizedMapOptions& options,
                 const std::source_location& where)
      : rows_(rows), options_(options), where_(where), scope_(CurrentScope(rows.values, where)) {
    if (rows.values.empty()) ThrowInvalid("there is nothing to take rows of", where);
    for (size_t i = 0; i < rows.values.size(); ++i) AddRow(i);
    if (options_.name.empty()) options_.name = "vectorized_map";
  }

  // nullopt: only a loop around the whole of fn computes it, for this reason.
  std::optional<VectorizedRows> Build(const BodyFn& fn, std::string& reason) {
    TraceRow(fn);
    const TracedBody& body = bodies_[0];
    const std::vector<Value> captures = body.scope->captures();
    VectorizeRequest request{.name = scope_->graph()->UniqueFunctionName(options_.name),
                             .stacked = std::vector<bool>(rows_.values.size(), true),
                             .num_rows = num_rows_,
                             .fall_back = options_.fall_back};
    for (const BodyArg& arg : args_) request.args.push_back(arg.info);
    for (const Value& capture : captures) {
      request.stacked.push_back(false);
      request.args.push_back(scope_->info(scope_->Use(capture, where_)));
    }
    FinishBodies(bodies_, captures);
    const std::shared_ptr<const Program> program =
        scope_->graph()->ProgramOf(body.scope->function());
    absl::StatusOr<VectorizeResult> made = Vectorize(program, request);
    if (!made.ok() && absl::IsUnimplemented(made.status()) && options_.fall_back) {
      reason = std::string(made.status().message());
      return std::nullopt;
    }
    if (!made.ok()) {
      Throw(absl::Status(
          made.status().code(),
          absl::StrCat("vectorized_map: ", made.status().message(), "\n  at ", LineOf(where_))));
    }
    for (const auto& [name, function] : made->program->functions()) {
      if (program->FindFunction(name) != function.get()) scope_->graph()->AddFunction(*function);
    }
    for (const auto& [name, gradient] : made->program->gradient_functions()) {
      if (!program->gradient_functions().contains(name))
        scope_->graph()->SetGradientFunction(name, gradient);
    }
    return VectorizedRows{AddCallTo(made->function, captures), std::move(made->loops)};
  }

 private:
  void AddRow(size_t i) {
    const PartialShape& shape = rows_.values[i].shape();
    BodyArg arg = {.name = "row", .dtype = rows_.values[i].dtype()};
    if (shape.has_rank()) {
      if (shape.rank() == 0)
        ThrowInvalid(absl::StrCat(Component(rows_.paths[i]), " is a scalar, and has no rows"),
                     where_);
      arg.info.shape = PartialShape(Dims(shape.dims().begin() + 1, shape.dims().end()));
      const int64_t own = shape.dim(0);
      if (own >= 0 && num_rows_ >= 0 && own != num_rows_) {
        ThrowInvalid(absl::StrCat(Component(rows_.paths[i]), " has ", own,
                                  " rows, but what stands before it has ", num_rows_),
                     where_);
      }
      num_rows_ = std::max(num_rows_, own);
    }
    args_.push_back(std::move(arg));
  }

  void TraceRow(const BodyFn& fn) {
    const std::string name =
        scope_->graph()->UniqueFunctionName(absl::StrCat(options_.name, "_row"));
    bodies_.push_back(TraceBody(scope_, name, {"the function of vectorized_map", LineOf(where_)},
                                args_, fn, where_));
  }

  // The number of rows, which all must have: where it is not known, an assertion says so.
  Value CountRows(std::vector<Operation>& checks) const {
    const auto At = [&](const Value& value) { return Operand(value, where_); };
    const Value count = dim_of(At(rows_.values[0]), 0);
    for (size_t i = 1; i < rows_.values.size(); ++i) {
      if (num_rows_ >= 0 && HasKnownRows(0) && HasKnownRows(i)) continue;
      const Value own = dim_of(At(rows_.values[i]), 0);
      const Value agrees = OpCall("Equal", where_).In(At(count)).In(At(own)).One();
      const std::string text =
          absl::StrCat("the tensors in elems must have equally many rows, but ",
                       Component(rows_.paths[i]), " and the first have");
      checks.push_back(OpCall("Assert", where_)
                           .In(At(agrees))
                           .In(std::vector<Operand>{Operand(text, where_), At(own), At(count)})
                           .Add());
    }
    return count;
  }

  bool HasKnownRows(size_t i) const {
    const PartialShape& shape = rows_.values[i].shape();
    return shape.has_rank() && shape.dim(0) >= 0;
  }

  std::vector<Value> AddCallTo(const std::string& function, const std::vector<Value>& captures) {
    const TracedBody& body = bodies_[0];
    NodeRequest request;
    request.op = body.scope->is_stateful() ? "StatefulPartitionedCall" : "PartitionedCall";
    request.name = options_.name;
    request.where = where_;
    request.inputs = UseAll(*scope_, rows_.values, where_);
    for (const Endpoint e : UseAll(*scope_, captures, where_)) request.inputs.push_back(e);
    request.awaited = body.scope->awaited();
    request.inputs.push_back(scope_->Use(CountRows(request.awaited), where_));
    request.accesses = body.scope->accesses();
    request.attrs.Set("f", FunctionRef{function, nullptr});
    std::vector<DType> types;
    std::vector<ValueInfo> infos;
    for (size_t i = 0; i < body.results.size(); ++i) {
      types.push_back(body.dtype(i));
      infos.push_back(StackedInfo(body.info(i)));
    }
    const int num_results = static_cast<int>(types.size());
    request.attrs.Set("Tout", std::move(types));
    request.infos = std::move(infos);
    const NodeId node = scope_->Add(std::move(request));
    std::vector<Value> results;
    for (int i = 0; i < num_results; ++i) results.push_back(scope_->ValueAt({node, i}));
    return results;
  }

  ValueInfo StackedInfo(const ValueInfo& row) const {
    ValueInfo info;
    if (!row.shape.has_rank()) return info;
    Dims dims = {num_rows_};
    dims.insert(dims.end(), row.shape.dims().begin(), row.shape.dims().end());
    info.shape = PartialShape(std::move(dims));
    return info;
  }

  const Leaves& rows_;
  VectorizedMapOptions options_;
  const std::source_location where_;
  const ScopePtr scope_;
  int64_t num_rows_ = -1;
  std::vector<BodyArg> args_;
  std::vector<TracedBody> bodies_;  // one: fn, of one row
};

}  // namespace

VectorizedRows VectorizedMap(const Leaves& rows, const BodyFn& fn,
                             const VectorizedMapOptions& options,
                             const std::source_location& where) {
  std::string reason;
  if (std::optional<VectorizedRows> all = VectorizedCall(rows, options, where).Build(fn, reason))
    return *std::move(all);
  const IterationOptions iteration{LoopOptions{.name = options.name, .window = 64}, false};
  return {MapRows(rows, fn, iteration, where), {{"fn", "fn", LineOf(where), reason}}};
}

}  // namespace gyre::internal
