#include "front/body.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/hash_map.h"
#include "base/stack.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "passes/for_results.h"

namespace gyre::internal {

std::string TracedBody::MadeAt(size_t i) const {
  const std::string& line = scope->function().node(results[i].node).source;
  return line.empty() ? "" : absl::StrCat(", made at ", line);
}

std::string FunctionBase(const Scope& scope, const std::string& name) {
  const std::shared_ptr<GraphState> graph = scope.graph();
  if (!graph->follows_session_rules() || !scope.is_main()) return name;
  return absl::StrReplaceAll(graph->session_names()->Claim(name, /*take=*/false), {{"/", "_"}});
}

TracedBody TraceBody(const ScopePtr& parent, const std::string& function_name,
                     Scope::Description description, const std::vector<BodyArg>& args,
                     const BodyFn& fn, const std::source_location& where) {
  if (StackIsNearlyFull()) {
    const std::string line = LineOf(where);
    Throw(absl::ResourceExhaustedError(
        absl::StrCat(StackError().message(), line.empty() ? "" : "\n  at ", line)));
  }
  const Tracing tracing(parent, function_name, std::move(description));
  TracedBody body;
  body.scope = tracing.scope();
  std::vector<Value> values;
  for (const BodyArg& arg : args)
    values.push_back(body.scope->AddArg(arg.name, arg.dtype, arg.info, arg.promised));
  Leaves results = fn(values);
  body.results = UseAll(*body.scope, results.values, where);
  body.paths = std::move(results.paths);
  return body;
}

std::vector<Value> JoinCaptures(const std::vector<TracedBody>& bodies) {
  HashSet<Endpoint> seen;
  std::vector<Value> joined;
  for (const TracedBody& body : bodies) {
    for (const Value& capture : body.scope->captures()) {
      if (seen.insert({capture.node(), capture.slot()}).second) joined.push_back(capture);
    }
  }
  return joined;
}

void FinishBodies(std::vector<TracedBody>& bodies, const std::vector<Value>& captures) {
  for (TracedBody& body : bodies) {
    body.scope->SetCaptures(captures);
    std::vector<std::pair<std::string, Endpoint>> results;
    for (size_t i = 0; i < body.results.size(); ++i) {
      results.emplace_back(
          absl::StrCat("result_", absl::StrReplaceAll(body.paths[i], {{".", "_"}})),
          body.results[i]);
    }
    body.scope->Finish(results, /*is_part=*/true);
  }
}

std::vector<Value> AddCall(const ScopePtr& scope, Call call, const std::vector<TracedBody>& bodies,
                           const std::source_location& where) {
  NodeRequest request;
  request.accesses.emplace();
  bool is_stateful = false;
  for (const TracedBody& body : bodies) {
    is_stateful |= body.scope->is_stateful();
    for (const Access& access : body.scope->accesses()) request.accesses->push_back(access);
    for (const Operation& operation : body.scope->awaited()) request.awaited.push_back(operation);
  }
  request.op = is_stateful ? call.stateful_op : call.op;
  request.inputs = std::move(call.inputs);
  request.attrs = std::move(call.attrs);
  if (is_stateful && call.op != "PartitionedCall" && scope->graph()->follows_session_rules())
    request.attrs.Set(std::string(kForResultsAttr), true);
  request.name = std::move(call.name);
  request.where = where;
  request.infos = std::move(call.infos);
  const NodeId node = scope->Add(std::move(request));
  std::vector<Value> outputs;
  for (int i = 0; i < static_cast<int>(call.output_types.size()); ++i)
    outputs.push_back(scope->ValueAt({node, i}));
  return outputs;
}

std::string Component(const std::string& path) {
  return path.empty() ? "the value" : absl::StrCat("component '", path, "'");
}

std::vector<Endpoint> UseAll(Scope& scope, const std::vector<Value>& values,
                             const std::source_location& where) {
  std::vector<Endpoint> endpoints;
  for (const Value& value : values) endpoints.push_back(scope.Use(value, where));
  return endpoints;
}

ValueInfo ShapeOnly(const ValueInfo& info) { return {info.shape, info.handle, {}, {}}; }

}  // namespace gyre::internal
