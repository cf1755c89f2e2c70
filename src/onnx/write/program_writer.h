// ProgramWriter: functions of a program as nodes of the model that is being written. Calls are
// written in place, If and Case as If, While and For as Loop. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/effects.h"
#include "base/hash_map.h"
#include "ir/calls.h"
#include "ir/program.h"
#include "ir/shape_inference.h"
#include "onnx/export.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {

class ProgramWriter {
 public:
  using Variables = std::map<std::string, OnnxVariable>;

  // All of these must outlive it.
  ProgramWriter(const Program& program, const ShapeTable& shapes, const Variables& variables,
                ModelWriter& model);

  // The values of `wanted`, endpoints of the main graph, where `given` are known already.
  ModelValues WriteMain(const HashMap<Endpoint, ModelValue>& given,
                        const std::vector<Endpoint>& wanted);
  // In which nodes the failure is: "node 'x' (Op), in node 'y' (While)".
  const std::string& where() const { return where_; }

 private:
  friend class LoopWriter;

  using Values = HashMap<Endpoint, ModelValue>;

  // Nodes that `wanted` need, in their order; then these values.
  ModelValues Write(const Function& function, Values values, const std::vector<Endpoint>& wanted);
  // A function of the program with these arguments, in the place of a call.
  ModelValues Call(const FunctionRef& ref, const ModelValues& args);
  // Null, with a failure, for one that may not be written here.
  const Function* Enter(const FunctionRef& ref);
  void Leave() { inside_.pop_back(); }
  Values ArgsOf(const Function& function, const ModelValues& args);

  void WriteNode(const Function& function, const Node& node, Values& values);
  ModelValues WriteOutputs(const Function& function, const Node& node, const ModelValues& inputs);
  ModelValues WritePlain(const Node& node, const ModelValues& inputs,
                         const std::vector<const ValueInfo*>& infos);
  ModelValues WriteVariable(const Node& node);
  ModelValues WriteIf(const Node& node, const ModelValues& inputs);
  ModelValues WriteCase(const std::vector<Callee>& branches, size_t first, const ModelValue& index,
                        const ModelValues& args, const Node& node);
  // One of two, in graphs of their own.
  using BranchFn = std::function<ModelValues()>;
  ModelValues WriteBranches(const Node& node, const ModelValue& condition, const BranchFn& then,
                            const BranchFn& otherwise);
  // Fails where a node runs that changes what outlives the run. Of structured nodes that `needed`
  // counts that is found out when their functions are written.
  void RefuseEffects(const Function& function, const std::vector<bool>& runs,
                     const std::vector<bool>& needed);

  const FunctionShapes& ShapesOf(const Function& function) const;

  const Program& program_;
  const ShapeTable& shapes_;
  const Variables& variables_;
  ModelWriter& model_;
  Emitter e_;
  const std::set<std::string> recursive_;
  const Effects effects_;
  std::vector<const Function*> inside_;
  std::vector<Endpoint> wanted_;                     // of the main graph
  std::map<std::string, std::string> initializers_;  // by variable
  std::string where_;
};

// A While or For as a Loop: what iterations change is carried, the rest is seen from inside. A list
// to which each iteration adds one element, and that nobody looks at meanwhile, is what the Loop
// collects.
ModelValues WriteLoop(ProgramWriter& writer, const Function& function, const Node& node,
                      const ModelValues& inputs);

}  // namespace gyre::onnx
