// Bodies of branches, loops and functions: tracing them, and what the node that calls them needs to
// know of them. Owned by the construct that is being built; one thread.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "front/scope.h"
#include "gyre/control_flow.h"

namespace gyre::internal {

// What a body is told of one of its arguments.
struct BodyArg {
  std::string name;
  DType dtype = DType::kInvalid;
  ValueInfo info;
  PartialShape promised;  // in all calls
};

// A body that has been traced, and perhaps finished.
struct TracedBody {
  ScopePtr scope;
  std::vector<Endpoint> results;   // in the scope
  std::vector<std::string> paths;  // of the results in their structure

  const std::string& name() const { return scope->function().name; }
  DType dtype(size_t i) const {
    return scope->function().node(results[i].node).signature.outputs[results[i].slot].dtype;
  }
  const ValueInfo& info(size_t i) const { return scope->info(results[i]); }
  // ", made at LINE" of result i, for messages; nothing where its line is not known, as that of a
  // constant that Python converts.
  std::string MadeAt(size_t i) const;
};

// What names of a construct's functions begin with: its name; in graphs of sessions as TensorFlow's
// begin, with that of the node that it becomes.
std::string FunctionBase(const Scope& scope, const std::string& name);

// Calls `fn` with the arguments of a new body inside `parent`.
TracedBody TraceBody(const ScopePtr& parent, const std::string& function_name,
                     Scope::Description description, const std::vector<BodyArg>& args,
                     const BodyFn& fn, const std::source_location& where);

// What any of the bodies captures, each once. All stand in the same scope.
std::vector<Value> JoinCaptures(const std::vector<TracedBody>& bodies);

// Makes functions of bodies that all take these captures.
void FinishBodies(std::vector<TracedBody>& bodies, const std::vector<Value>& captures);

// The node that calls finished bodies: `op` is what it is called if none of them has effects.
struct Call {
  std::string op;
  std::string stateful_op;
  std::vector<Endpoint> inputs;
  AttrMap attrs;
  std::string name;
  std::vector<ValueInfo> infos;
  std::vector<DType> output_types;
};
std::vector<Value> AddCall(const ScopePtr& scope, Call call, const std::vector<TracedBody>& bodies,
                           const std::source_location& where);

// "component '1'", or "the value" for the whole of a structure.
std::string Component(const std::string& path);
// Endpoints of values that are captured, or handed in, by a construct in `scope`.
std::vector<Endpoint> UseAll(Scope& scope, const std::vector<Value>& values,
                             const std::source_location& where);
// What remains true of a value when it stands for others of its kind: not its constant.
ValueInfo ShapeOnly(const ValueInfo& info);

}  // namespace gyre::internal
