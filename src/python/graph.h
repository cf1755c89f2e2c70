// Graphs while Python traces them: which one is current, and what they capture of outside.
//
// A Graph object of Python shares its GraphCore with the symbolic tensors made in it. The core
// knows the object, but does not own it: else graph and tensors would keep each other alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hash_map.h"
#include "gyre/core/options.h"
#include "gyre/graph.h"
#include "python/python.h"
#include "python/tensor.h"

namespace gyre::python {

class GraphCore {
 public:
  // `session_rules`: see GraphState::FollowSessionRules.
  GraphCore(std::string name, bool session_rules);
  bool is_for_sessions() const { return is_for_sessions_; }
  // The same, save while a function is being traced in it.
  bool follows_session_rules() const;

  Graph& graph() { return graph_; }
  const std::shared_ptr<gyre::internal::GraphState>& state() const { return graph_.state(); }
  const std::string& name() const { return name_; }

  // Of what is prepared from now on. kAuto: as the process has it.
  CompileMode compile() const { return compile_; }
  void set_compile(CompileMode mode) { compile_ = mode; }

  // Adding to it is a RuntimeError from now on, or no longer.
  void set_frozen(bool frozen) { is_frozen_ = frozen; }
  // Before each operation that Python adds, to a body, too. Throws if it is frozen or has as many
  // as it may have (SizeLimit).
  void RequireGrowing();
  // How many operations Python may add to one graph: tracing must end where Python's loops do not.
  static int64_t& SizeLimit();
  int64_t size() const { return size_; }

  // What stands for a tensor of outside in this graph. Values that may be differentiated, resources
  // and variants become placeholders of the main graph; handles of variables a resource of the same
  // name: each once. All others become constants, where they are used.
  Value Capture(nb::handle outer) { return CaptureWithId(outer).first; }
  // The same with the id that its objects in Python have.
  std::pair<Value, uint64_t> CaptureWithId(nb::handle outer);
  // Its stand-in, or the resource of an eager variable, that there is already; no value: none.
  Value FindCaptured(uint64_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? Value() : it->second.first;
  }
  // The resource of an eager variable.
  std::pair<Value, uint64_t> VariableHandle(nb::handle handle, DType dtype,
                                            const PartialShape& shape);

  // Tensors of outside with what stands for them, in the order of their use.
  struct CapturedTensor {
    nb::object outer;
    Value inner;
    uint64_t inner_id;
  };
  const std::vector<CapturedTensor>& captures() const { return captures_; }
  const std::vector<CapturedTensor>& variables() const { return variables_; }

  // The Graph object; null when there is none any more. Borrowed.
  PyObject* object = nullptr;

 private:
  Graph graph_;
  const std::string name_;
  const bool is_for_sessions_;
  bool is_frozen_ = false;
  CompileMode compile_ = CompileMode::kAuto;
  int64_t size_ = 0;  // how often RequireGrowing was called
  std::vector<CapturedTensor> captures_;
  std::vector<CapturedTensor> variables_;
  HashMap<uint64_t, std::pair<Value, uint64_t>> by_id_;  // of tensors of outside
};

// The graph that is current on this thread; null: ops run at once.
GraphCore* CurrentGraph();
const std::shared_ptr<GraphCore>& SharedCurrentGraph();  // Requirement: there is one.
// Makes a graph current while it lives; null: none.
class CurrentGraphScope {
 public:
  explicit CurrentGraphScope(std::shared_ptr<GraphCore> graph);
  ~CurrentGraphScope();
  CurrentGraphScope(const CurrentGraphScope&) = delete;
  CurrentGraphScope& operator=(const CurrentGraphScope&) = delete;
};

// The Graph object.
nb::object ToPython(const std::shared_ptr<GraphCore>& graph);
// TypeError for all else.
const std::shared_ptr<GraphCore>& ToGraph(nb::handle graph);

// The graph of a symbolic tensor that is used while none is current: ops are added to those of
// sessions then. Throws for one that has been traced: its values are those of its runs.
const std::shared_ptr<GraphCore>& GraphLeftOpen(const PyTensor& tensor);
// `tensor` as a value that can be used in `graph`.
Value ValueIn(GraphCore& graph, nb::handle tensor);
// New objects for values of the graph.
nb::list WrapAll(const std::vector<Value>& values, const std::shared_ptr<GraphCore>& graph);
// The device that a node was made for.
std::string DeviceOf(const Value& value);

}  // namespace gyre::python
