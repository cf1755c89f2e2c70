// function, declare: named functions and calls of them.
//
// A function stands in the scope where it was made; its captures are Values of that scope, and
// inputs of every call; without captures it can be called everywhere. A function that calls itself
// is traced on the assumption that it captures nothing and has no effects; if that turns out wrong,
// again with what was found.
#include "front/traced_function.h"

#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "front/body.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "grad/memory_policy.h"
#include "gyre/control_flow.h"
#include "ir/shape_inference.h"
#include "ir/value_info.h"

namespace gyre::internal {
namespace {

// How the nodes that call a function are named: in files, names of nodes begin with no '_', as
// those of functions may.
std::string CallName(absl::string_view function) {
  const size_t first = function.find_first_not_of('_');
  return first == absl::string_view::npos ? "call" : std::string(function.substr(first));
}

}  // namespace

class TracedFunction {
 public:
  TracedFunction(std::string name, ScopePtr scope, const std::source_location& where)
      : name_(std::move(name)), scope_(std::move(scope)), line_(LineOf(where)) {}

  void Declare(std::vector<TensorSpec> args, std::vector<TensorSpec> results);
  void Define(const BodyFn& fn, const std::source_location& where);
  void RunAgainForGradients() { runs_again_ = true; }
  bool NeedsItsScope() const;
  // The results, and the number of the trace.
  // `shapes`: of the arguments, as far as the function is to know them; none: all that is known.
  std::pair<std::vector<Value>, int> Call(const Leaves& args, absl::Span<const PartialShape> shapes,
                                          const BodyFn& fn, const std::source_location& where);

 private:
  // The function for one signature, as far as callers need to know it.
  struct Trace {
    std::string function;
    std::vector<DType> types;
    std::vector<ValueInfo> results;
    std::vector<Value> captures;  // of scope_
    std::vector<Access> accesses;
    bool is_stateful = false;
    bool is_done = false;
    // Calls before it was done: in its own body, which can be traced again, and elsewhere.
    bool called_itself = false;
    bool was_called_early = false;
  };

  std::unique_ptr<Trace> NewTrace() const;
  static std::string SignatureOf(const Leaves& args, const std::vector<ValueInfo>& infos);
  int FindOrTrace(const Leaves& args, const std::vector<ValueInfo>& infos, const BodyFn& fn,
                  const std::source_location& where);
  void RunTrace(Trace& trace, const std::vector<BodyArg>& args, const BodyFn& fn,
                const std::source_location& where);
  TracedBody TraceOnce(const Trace& trace, const std::vector<BodyArg>& args, const BodyFn& fn,
                       const std::source_location& where);
  static bool Learn(Trace& trace, const Scope& scope);
  void CheckDeclaredArgs(const Leaves& args, const std::vector<ValueInfo>& infos,
                         const std::source_location& where) const;
  void CheckDeclaredResults(const TracedBody& body, const std::source_location& where) const;
  void CheckTrace(const Trace& trace, const TracedBody& body,
                  const std::source_location& where) const;
  void CheckIsInReach(const std::source_location& where) const;
  bool IsInOpenBody(const Scope* scope) const;
  static void RefineResults(Scope& scope, NodeId id, bool always,
                            const std::source_location& where);
  // `knows_less`: than what is known of the arguments here.
  std::vector<Value> AddCallNode(const ScopePtr& scope, Trace& trace, const Leaves& args,
                                 bool knows_less, const std::source_location& where) const;

  const std::string name_;
  const ScopePtr scope_;
  const std::string line_;
  std::vector<std::unique_ptr<Trace>> traces_;
  std::map<std::string, int> by_signature_;  // of a function that was not declared
  std::optional<std::vector<TensorSpec>> declared_args_, declared_results_;
  const Scope* open_body_ = nullptr;  // that is being traced
  bool runs_again_ = false;
};

std::unique_ptr<TracedFunction::Trace> TracedFunction::NewTrace() const {
  auto trace = std::make_unique<Trace>();
  trace->function = scope_->graph()->UniqueFunctionName(name_);
  return trace;
}

// ---- Declared functions

void TracedFunction::Declare(std::vector<TensorSpec> args, std::vector<TensorSpec> results) {
  std::unique_ptr<Trace> trace = NewTrace();
  for (const TensorSpec& result : results) {
    trace->types.push_back(result.dtype);
    trace->results.push_back({result.shape, {}, {}, {}});
  }
  traces_.push_back(std::move(trace));
  declared_args_ = std::move(args);
  declared_results_ = std::move(results);
}

void TracedFunction::Define(const BodyFn& fn, const std::source_location& where) {
  if (!declared_args_) {
    ThrowInvalid(absl::StrCat("function '", name_, "' was not declared, and so needs no define"),
                 where);
  }
  Trace& trace = *traces_[0];
  if (trace.is_done || open_body_ != nullptr)
    ThrowInvalid(absl::StrCat("function '", name_, "' is defined a second time"), where);
  std::vector<BodyArg> args;
  for (const TensorSpec& spec : *declared_args_)
    args.push_back({"arg", spec.dtype, {spec.shape, {}, {}, {}}, spec.shape});
  RunTrace(trace, args, fn, where);
}

void TracedFunction::CheckDeclaredArgs(const Leaves& args, const std::vector<ValueInfo>& infos,
                                       const std::source_location& where) const {
  const std::vector<TensorSpec>& declared = *declared_args_;
  if (args.values.size() != declared.size()) {
    ThrowInvalid(absl::StrCat("function '", name_, "' takes ", declared.size(), " values, not ",
                              args.values.size()),
                 where);
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    const DType dtype = args.values[i].dtype();
    if (dtype == declared[i].dtype && declared[i].shape.Intersect(infos[i].shape).ok()) continue;
    ThrowInvalid(absl::StrCat("function '", name_, "' takes ", DTypeName(declared[i].dtype), " ",
                              declared[i].shape.ToString(), " as ", Component(args.paths[i]),
                              ", but is given ", DTypeName(dtype), " ", infos[i].shape.ToString()),
                 where);
  }
}

void TracedFunction::CheckDeclaredResults(const TracedBody& body,
                                          const std::source_location& where) const {
  const std::vector<TensorSpec>& declared = *declared_results_;
  if (body.results.size() != declared.size()) {
    ThrowInvalid(absl::StrCat("function '", name_, "' is declared to return ", declared.size(),
                              " values, but returns ", body.results.size()),
                 where);
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    const PartialShape& shape = body.info(i).shape;
    const bool fits = declared[i].shape.Widen(shape) == declared[i].shape;
    if (body.dtype(i) == declared[i].dtype && fits) continue;
    ThrowInvalid(absl::StrCat("function '", name_, "' is declared to return ",
                              DTypeName(declared[i].dtype), " ", declared[i].shape.ToString(),
                              " as ", Component(body.paths[i]), ", but returns ",
                              DTypeName(body.dtype(i)), " ", shape.ToString(), body.MadeAt(i)),
                 where);
  }
}

// ---- Tracing

// Traces again as long as the body has called itself on assumptions that turn out wrong.
void TracedFunction::RunTrace(Trace& trace, const std::vector<BodyArg>& args, const BodyFn& fn,
                              const std::source_location& where) {
  TracedBody body = TraceOnce(trace, args, fn, where);
  while (Learn(trace, *body.scope) && trace.called_itself) {
    body.scope->Discard();
    body = TraceOnce(trace, args, fn, where);
  }
  CheckTrace(trace, body, where);
  if (!declared_results_) {
    for (size_t i = 0; i < body.results.size(); ++i) {
      trace.types.push_back(body.dtype(i));
      trace.results.push_back(ShapeOnly(body.info(i)));
    }
  }
  body.scope->SetCaptures(trace.captures);
  std::vector<std::pair<std::string, Endpoint>> results;
  for (const Endpoint result : body.results) results.emplace_back("result", result);
  body.scope->Finish(results, /*is_part=*/false);
  trace.is_done = true;
}

TracedBody TracedFunction::TraceOnce(const Trace& trace, const std::vector<BodyArg>& args,
                                     const BodyFn& fn, const std::source_location& where) {
  const auto closes = [this](void*) { open_body_ = nullptr; };
  const std::unique_ptr<void, decltype(closes)> close(this, closes);
  const BodyFn open_and_call = [&](absl::Span<const Value> values) {
    open_body_ = scope_->graph()->scope().get();
    return fn(values);
  };
  TracedBody body =
      TraceBody(scope_, trace.function, {absl::StrCat("function '", name_, "'"), line_}, args,
                open_and_call, where);
  if (declared_results_) CheckDeclaredResults(body, where);
  return body;
}

// Adds what the body turned out to use and touch. True if that was news.
bool TracedFunction::Learn(Trace& trace, const Scope& scope) {
  bool is_news = scope.is_stateful() && !trace.is_stateful;
  trace.is_stateful |= scope.is_stateful();
  HashSet<Endpoint> known;
  for (const Value& capture : trace.captures) known.insert({capture.node(), capture.slot()});
  for (const Value& capture : scope.captures()) {
    if (!known.insert({capture.node(), capture.slot()}).second) continue;
    trace.captures.push_back(capture);
    is_news = true;
  }
  for (const Access& access : scope.accesses()) {
    const auto& accesses = trace.accesses;
    if (std::find(accesses.begin(), accesses.end(), access) != accesses.end()) continue;
    trace.accesses.push_back(access);
    is_news = true;
  }
  return is_news;
}

void TracedFunction::CheckTrace(const Trace& trace, const TracedBody& body,
                                const std::source_location& where) const {
  if (trace.was_called_early && (!trace.captures.empty() || trace.is_stateful)) {
    ThrowInvalid(
        absl::StrCat("function '", name_,
                     "' has effects, or uses values of outside, but another one called it before "
                     "it was defined: define it first, or hand it what it uses"),
        where);
  }
  if (!body.scope->awaited().empty()) {
    ThrowInvalid(absl::StrCat("control_dependencies in function '", name_,
                              "' name an operation outside of it"),
                 where);
  }
}

// ---- Calls

std::string TracedFunction::SignatureOf(const Leaves& args, const std::vector<ValueInfo>& infos) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < args.values.size(); ++i) {
    parts.push_back(absl::StrCat(DTypeName(args.values[i].dtype()), infos[i].shape.ToString()));
    if (!infos[i].handle) continue;
    absl::StrAppend(&parts.back(), "<", DTypeName(infos[i].handle->dtype),
                    infos[i].handle->shape.ToString(), ">");
  }
  return absl::StrJoin(parts, ",");
}

int TracedFunction::FindOrTrace(const Leaves& args, const std::vector<ValueInfo>& infos,
                                const BodyFn& fn, const std::source_location& where) {
  const std::string signature = SignatureOf(args, infos);
  if (const auto it = by_signature_.find(signature); it != by_signature_.end()) return it->second;
  if (open_body_ != nullptr) {
    ThrowInvalid(absl::StrCat("function '", name_,
                              "' calls itself: declare it, with the types of "
                              "its results, and define it then"),
                 where);
  }
  CheckIsInReach(where);
  std::vector<BodyArg> body_args;
  for (size_t i = 0; i < infos.size(); ++i)
    body_args.push_back({"arg", args.values[i].dtype(), infos[i], {}});
  std::unique_ptr<Trace> trace = NewTrace();
  RunTrace(*trace, body_args, fn, where);
  traces_.push_back(std::move(trace));
  const int index = static_cast<int>(traces_.size()) - 1;
  by_signature_.emplace(signature, index);
  return index;
}

bool TracedFunction::NeedsItsScope() const {
  return traces_.empty() || absl::c_any_of(traces_, [](const std::unique_ptr<Trace>& trace) {
           return !trace->is_done || !trace->captures.empty();
         });
}

void TracedFunction::CheckIsInReach(const std::source_location& where) const {
  if (scope_->graph()->IsBeingTraced(scope_)) return;
  ThrowInvalid(
      absl::StrCat("function '", name_, "' was made in ", scope_->description().what, " at ",
                   scope_->description().line, ", and cannot be called outside of it"),
      where);
}

std::pair<std::vector<Value>, int> TracedFunction::Call(const Leaves& args,
                                                        absl::Span<const PartialShape> shapes,
                                                        const BodyFn& fn,
                                                        const std::source_location& where) {
  const ScopePtr scope = scope_->graph()->scope();
  if (NeedsItsScope()) CheckIsInReach(where);
  std::vector<ValueInfo> infos;
  for (const Value& value : args.values)
    infos.push_back(ShapeOnly(scope->info(scope->Use(value, where))));
  for (size_t i = 0; i < std::min(infos.size(), shapes.size()); ++i) infos[i].shape = shapes[i];
  int index = 0;
  if (declared_args_) {
    CheckDeclaredArgs(args, infos, where);
  } else {
    index = FindOrTrace(args, infos, fn, where);
  }
  return {AddCallNode(scope, *traces_[index], args, !shapes.empty(), where), index};
}

bool TracedFunction::IsInOpenBody(const Scope* scope) const {
  while (scope != nullptr && scope != open_body_) scope = scope->parent().get();
  return scope != nullptr;
}

// A function is traced for shapes. What is known of the values of arguments, sizes mostly, may tell
// more of the shapes of results.
void TracedFunction::RefineResults(Scope& scope, NodeId id, bool always,
                                   const std::source_location& where) {
  const Node& node = scope.function().node(id);
  const auto is_open = [&](int slot) { return !scope.info({id, slot}).shape.IsFullyKnown(); };
  const auto has_value = [&](const Endpoint& e) {
    const ValueInfo& info = scope.info(e);
    return info.as_shape || (info.constant.has_value() && (info.constant.dtype() == DType::kInt32 ||
                                                           info.constant.dtype() == DType::kInt64));
  };
  std::vector<int> open;
  for (int slot = 0; slot < node.num_outputs(); ++slot) {
    if (is_open(slot)) open.push_back(slot);
  }
  if (open.empty() || !(always || absl::c_any_of(node.inputs, has_value))) return;
  Function call;
  call.nodes.push_back(node);
  std::vector<ValueInfo> infos;
  for (const Endpoint& input : node.inputs) infos.push_back(scope.info(input));
  const absl::StatusOr<std::vector<ValueInfo>> found =
      InferNode(*scope.graph()->ProgramOf(call), node, std::move(infos));
  if (!found.ok()) return;  // an error of the run, if there is one
  for (const int slot : open) {
    if (static_cast<size_t>(slot) < found->size())
      scope.RefineShape({id, slot}, (*found)[slot].shape, where);
  }
}

std::vector<Value> TracedFunction::AddCallNode(const ScopePtr& scope, Trace& trace,
                                               const Leaves& args, bool knows_less,
                                               const std::source_location& where) const {
  if (!trace.is_done) {
    (IsInOpenBody(scope.get()) ? trace.called_itself : trace.was_called_early) = true;
  }
  NodeRequest request;
  request.op = trace.is_stateful ? "StatefulPartitionedCall" : "PartitionedCall";
  request.name = CallName(name_);
  request.where = where;
  request.inputs = UseAll(*scope, args.values, where);
  for (const Endpoint e : UseAll(*scope, trace.captures, where)) request.inputs.push_back(e);
  request.attrs.Set("f", FunctionRef{trace.function, nullptr});
  if (runs_again_) request.attrs.Set(std::string(grad::kRecomputeAttr), true);
  request.infos = trace.results;
  request.accesses = trace.accesses;
  // A gradient may have made the function return more than it was written to.
  std::vector<DType> types = trace.types;
  if (const Function* function = scope->graph()->FindFunction(trace.function)) {
    for (size_t i = types.size(); i < function->results.size(); ++i)
      types.push_back(function->results[i].dtype);
  }
  request.attrs.Set("Tout", std::move(types));
  const NodeId node = scope->Add(std::move(request));
  if (trace.is_done) RefineResults(*scope, node, knows_less, where);
  std::vector<Value> results;
  for (int i = 0; i < static_cast<int>(trace.types.size()); ++i)
    results.push_back(scope->ValueAt({node, i}));
  return results;
}

// ---- What the templates call

std::shared_ptr<TracedFunction> MakeFunction(const std::string& name,
                                             const std::source_location& where) {
  return std::make_shared<TracedFunction>(name, GraphState::Current(where)->scope(), where);
}

std::shared_ptr<TracedFunction> MakeFunctionOfMain(const std::string& name,
                                                   const std::source_location& where) {
  return std::make_shared<TracedFunction>(name, GraphState::Current(where)->main(), where);
}

std::shared_ptr<TracedFunction> Declare(const std::string& name, std::vector<TensorSpec> args,
                                        std::vector<TensorSpec> results,
                                        const std::source_location& where) {
  std::shared_ptr<TracedFunction> function = MakeFunction(name, where);
  function->Declare(std::move(args), std::move(results));
  return function;
}

void Define(TracedFunction& function, const BodyFn& body, const std::source_location& where) {
  function.Define(body, where);
}

void RunAgainForGradients(TracedFunction& function) { function.RunAgainForGradients(); }

bool NeedsItsScope(const TracedFunction& function) { return function.NeedsItsScope(); }

std::pair<std::vector<Value>, int> CallFunction(TracedFunction& function, const Leaves& args,
                                                const BodyFn& body,
                                                const std::source_location& where) {
  return function.Call(args, {}, body, where);
}

std::vector<Value> CallFunctionOfShapes(TracedFunction& function, const Leaves& args,
                                        absl::Span<const PartialShape> shapes, const BodyFn& body,
                                        const std::source_location& where) {
  return function.Call(args, shapes, body, where).first;
}

}  // namespace gyre::internal
