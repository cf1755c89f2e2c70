// Graph: a program while it is being built; GraphSession: runs what has been built so far.
//
//   gyre::Graph graph;
//   gyre::GraphScope in(graph);
//   gyre::Value x = gyre::placeholder(gyre::DType::kFloat, {2});
//   gyre::Value y = x * x;
//   gyre::GraphSession session(graph);
//   gyre::Tensor squares = session.eval(y, {{x, {1, 2}}});
//
// A Graph is built by one thread at a time. It only grows: what has been built never changes.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/core/session.h"
#include "gyre/state.h"
#include "gyre/value.h"

namespace gyre {

class AttrMap;  // in gyre/core/op.h

namespace internal {
class GraphState;
}

class GYRE_EXPORT Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A value that must be fed. `name` may be empty.
  Value placeholder(DType dtype, PartialShape shape, const std::string& name = "",
                    std::source_location where = std::source_location::current());
  Value constant(const Tensor& value, const std::string& name = "",
                 std::source_location where = std::source_location::current());
  // Gives all variables that there are so far their initial values, at once: these must not be made
  // of other variables. (GraphSession::initialize has no such limit.)
  Operation initializer(std::source_location where = std::source_location::current());

  // What has been built so far: the same snapshot until something is added.
  std::shared_ptr<const Program> program() const;

  // For Gyre's own use.
  const std::shared_ptr<internal::GraphState>& state() const { return state_; }

 private:
  std::shared_ptr<internal::GraphState> state_;
};

// Makes a graph current on this thread while it lives: functions without an operand, such as
// placeholder and constant, add to the current graph. Scopes nest.
class [[nodiscard]] GYRE_EXPORT GraphScope {
 public:
  explicit GraphScope(Graph& graph);
  ~GraphScope();
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;
};

// Undoes on destruction what the function that returned it did. Scopes nest, and end in the
// opposite order of their beginnings.
class [[nodiscard]] BuildScope {
 public:
  explicit BuildScope(std::function<void()> undo) : undo_(std::move(undo)) {}
  ~BuildScope() {
    if (undo_) undo_();
  }
  BuildScope(BuildScope&& other) noexcept : undo_(std::exchange(other.undo_, nullptr)) {}
  BuildScope& operator=(BuildScope&&) = delete;

 private:
  std::function<void()> undo_;
};

// Of the current graph, until the returned scope ends:
// nodes, also those in bodies that are traced meanwhile, are for this device ("/cpu:0");
GYRE_EXPORT BuildScope device(std::string name);
// names of nodes begin with `name`/;
GYRE_EXPORT BuildScope name_scope(const std::string& name);
// nodes run after these have run. A body as a whole is one such node.
GYRE_EXPORT BuildScope control_dependencies(std::vector<Operation> before);

// As the members of Graph, in the current graph. In a body, a placeholder is an error.
GYRE_EXPORT Value placeholder(DType dtype, PartialShape shape = PartialShape::Unknown(),
                              const std::string& name = "",
                              std::source_location where = std::source_location::current());
GYRE_EXPORT Value placeholder(DType dtype, Dims shape, const std::string& name = "",
                              std::source_location where = std::source_location::current());
GYRE_EXPORT Value constant(const Tensor& value, const std::string& name = "",
                           std::source_location where = std::source_location::current());
template <internal::Number T>
Value constant(T number, const std::string& name = "",
               std::source_location where = std::source_location::current()) {
  return constant(Tensor::Scalar(internal::ToElement(number)), name, where);
}
template <internal::Number T>
Value constant(std::initializer_list<T> vector, const std::string& name = "",
               std::source_location where = std::source_location::current()) {
  return constant(internal::ToVector(vector.begin(), vector.size()), name, where);
}
// A matrix. INVALID_ARGUMENT unless its rows are of one length.
template <internal::Number T>
  requires(!std::is_same_v<T, bool>)
Value constant(std::initializer_list<std::initializer_list<T>> rows, const std::string& name = "",
               std::source_location where = std::source_location::current()) {
  const int64_t height = static_cast<int64_t>(rows.size());
  const int64_t width = height == 0 ? 0 : static_cast<int64_t>(rows.begin()->size());
  std::vector<T> numbers;
  for (const auto& row : rows) {
    if (static_cast<int64_t>(row.size()) != width)
      throw Error(absl::InvalidArgumentError("the rows of a matrix must be of one length"));
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  const Tensor flat = internal::ToVector(numbers.data(), numbers.size());
  return constant(flat.Reshaped(Shape::Trusted({height, width})), name, where);
}

// What a formal input of an op is given: an operand, or a list of them where it takes a list.
class GYRE_EXPORT OpInput {
 public:
  template <std::convertible_to<Operand> T>
  OpInput(const T& operand, std::source_location where = std::source_location::current())
      : list_{Operand(operand, where)} {}
  OpInput(const OperandList& list) : list_(list.list()) {}
  OpInput(std::initializer_list<Operand> list) : list_(list) {}

  const std::vector<Operand>& list() const { return list_; }

 private:
  std::vector<Operand> list_;
};

// The outputs of a new node of the op called `op`: for ops of plug-ins, which have no function in
// gyre/ops.h. One of `inputs` for each formal input. Attributes that the inputs tell may be left
// out. INVALID_ARGUMENT when there is no such op, or inputs and attributes do not fit its schema or
// its shape rule.
GYRE_EXPORT std::vector<Value> call_op(
    const std::string& op, const std::vector<OpInput>& inputs,
    std::source_location where = std::source_location::current());
GYRE_EXPORT std::vector<Value> call_op(
    const std::string& op, const std::vector<OpInput>& inputs, const AttrMap& attrs,
    std::source_location where = std::source_location::current());

// Adds the ops of a plug-in, a shared library, to those of this process: see gyre/core/op.h. Throws
// what LoadPlugin returns.
GYRE_EXPORT void load_plugin(const std::string& path);

// Which tensors of a graph that is imported are replaced by what.
using ImportInputs = std::vector<std::pair<std::string, Operand>>;

// Adds the graph in a file (.pb, .pbtxt: a GraphDef; .gyre) to the current one, as far as `outputs`
// need it, and returns these: tensors of the file's main graph, by their names ("node:slot"; "node"
// means slot 0). What `inputs` name is replaced, be it a placeholder, a constant, the value of a
// variable or any other tensor, and what only leads there is left out: so weights of a trained
// model become variables here, and go on learning. Other placeholders come along; name them among
// the outputs to feed them.
//
// Loops and conditionals made of Switch and Merge become While and If, so that all that comes in
// can be differentiated. Effects of the main graph come along where `outputs` need them.
//
// NOT_FOUND: no such file, or a name that is not in it. INVALID_ARGUMENT: the file holds no sound
// graph, an input does not have the dtype of what it replaces, or a placeholder would come to stand
// in a body. UNIMPLEMENTED: primitives that have no structured form.
GYRE_EXPORT std::vector<Value> import_graph(
    const std::string& path, const std::vector<std::string>& outputs,
    const ImportInputs& inputs = {}, std::source_location where = std::source_location::current());

// The same of a graph in memory: a GraphDef, binary or text, or Gyre's own text form.
GYRE_EXPORT std::vector<Value> import_graph_from_memory(
    absl::string_view graph, const std::vector<std::string>& outputs,
    const ImportInputs& inputs = {}, std::source_location where = std::source_location::current());

// Which placeholders (or other values of the main graph) get which tensors, numbers or vectors.
using FeedList = std::vector<std::pair<Value, FeedValue>>;

// Runs a graph, and follows it as it grows: variables and queues keep their values. Errors of runs
// are thrown. Any number of threads may run what exists; while the graph is built, nobody runs it.
class GYRE_EXPORT GraphSession {
 public:
  explicit GraphSession(Graph& graph, const SessionOptions& options = {});
  ~GraphSession();

  // Gives variables that this session has not initialised yet their initial values, in the order in
  // which they were made.
  void initialize(const FeedList& feeds = {}, const RunOptions& options = {});

  // Runs the program as a function body runs: all effects of the main graph (assignments, prints,
  // assertions), each once, in program order, and what the fetches need. All placeholders that any
  // of that needs must be fed.
  std::vector<Tensor> run(const std::vector<Value>& fetches, const FeedList& feeds = {},
                          const RunOptions& options = {});
  // Runs what these values and operations need, and nothing else: among effects, those that come
  // before a needed one on the same resource.
  std::vector<Tensor> eval(const std::vector<Value>& fetches, const FeedList& feeds = {},
                           const std::vector<Operation>& targets = {},
                           const RunOptions& options = {});
  Tensor eval(const Value& fetch, const FeedList& feeds = {}, const RunOptions& options = {});

  // `eval`, looked up once and run often: what the graph is now, whatever is added to it later.
  class Callable {
   public:
    // `feeds` in the order of the placeholders given to prepare.
    std::vector<Tensor> operator()(absl::Span<const Tensor> feeds,
                                   const RunOptions& options = {}) const;
    std::vector<Tensor> operator()(std::initializer_list<Tensor> feeds) const {
      return (*this)(absl::Span<const Tensor>(feeds.begin(), feeds.size()));
    }

   private:
    friend class GraphSession;
    explicit Callable(Session::Callable callable) : callable_(std::move(callable)) {}
    Session::Callable callable_;
  };
  Callable prepare(const std::vector<Value>& fetches, const std::vector<Value>& placeholders = {},
                   const std::vector<Operation>& targets = {});

  // What a variable holds now; runs nothing. (Fetching a read runs what comes before it in the
  // program: of one that was made after a training step, that step.) FAILED_PRECONDITION while it
  // is uninitialised.
  Tensor value_of(const Variable& variable);

  // Saves variables to a folder, and restores them: SaveCheckpoint and RestoreCheckpoint of
  // gyre/core/session.h, with errors thrown. Among the variables are those of optimizers, so
  // training goes on as if it had not stopped. What has been restored counts as initialised.
  void save(const std::string& folder, const SaveOptions& options = {});
  std::vector<std::string> restore(const std::string& path, const RestoreOptions& options = {});

  // Writes `outputs` as a model of ONNX: functions of `inputs`, placeholders or other values of the
  // main graph (none given: of all placeholders that they need), called as their nodes are.
  // Variables have the values that they have in this session. UNIMPLEMENTED, naming the node, for
  // what ONNX has no form for: recursion, and what changes variables, among it.
  void export_onnx(const std::string& path, const std::vector<Value>& outputs,
                   const std::vector<Value>& inputs = {});

  // The session of the core, for the graph as it is now.
  Session& session();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gyre
