#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "gyre/graph.h"
#include "ir/program.h"
#include "session/onnx/onnx_file.h"

namespace gyre {

using internal::GraphState;
using internal::ValueOrThrow;

namespace {

void RequireMain(const internal::Scope* scope, const GraphState& graph, absl::string_view what) {
  if (scope == graph.main().get()) return;
  internal::Throw(absl::InvalidArgumentError(
      absl::StrCat(what, " must be a value of the main graph of the session's graph, not ",
                   scope == nullptr ? "an empty one"
                                    : absl::StrCat("one of ", scope->description().what, " at ",
                                                   scope->description().line))));
}

std::vector<std::string> NamesOf(const std::vector<Value>& values, const GraphState& graph,
                                 absl::string_view what) {
  std::vector<std::string> names;
  for (const Value& value : values) {
    RequireMain(value.scope().get(), graph, what);
    names.push_back(value.name());
  }
  return names;
}

std::vector<std::string> NamesOf(const std::vector<Operation>& operations,
                                 const GraphState& graph) {
  std::vector<std::string> names;
  for (const Operation& operation : operations) {
    RequireMain(operation.scope().get(), graph, "what is run");
    names.push_back(operation.name());
  }
  return names;
}

Feeds NamedFeeds(const FeedList& feeds, const GraphState& graph) {
  Feeds named;
  for (const auto& [value, tensor] : feeds) {
    RequireMain(value.scope().get(), graph, "what is fed");
    named.emplace_back(value.name(), tensor);
  }
  return named;
}

// Whether what computes a node's outputs reads variables, or calls functions that may.
bool ReadsState(const Function& main, NodeId node) {
  HashSet<NodeId> seen = {node};
  std::vector<NodeId> pending = {node};
  while (!pending.empty()) {
    const Node& next = main.node(pending.back());
    pending.pop_back();
    const Effect effect = next.op->traits.effect;
    const bool touches_input = effect == Effect::kRead && !next.inputs.empty();
    if (touches_input || effect == Effect::kWrite || effect == Effect::kIo) return true;
    for (const Endpoint& input : next.inputs) {
      if (seen.insert(input.node).second) pending.push_back(input.node);
    }
  }
  return false;
}

}  // namespace

struct GraphSession::State {
  std::shared_ptr<GraphState> graph;
  SessionOptions options;
  std::mutex mutex;
  std::unique_ptr<Session> session;  // guarded by mutex; replaced when the graph has grown
  size_t num_initialized = 0;        // of the graph's initializers
  std::set<std::string> restored;    // names of variables that need no initial value any more

  // Initializers that can be run at once, and how many of the graph's are behind us then.
  struct Group {
    std::vector<Operation> operations;
    size_t end = 0;
  };

  // The initializers that have not been run: an initial value may be made of variables that were
  // made before it.
  std::vector<Group> FreshInitializers() const {
    const std::vector<Operation>& all = graph->initializers();
    const Function& main = graph->main()->function();
    std::vector<Group> groups;
    for (size_t i = num_initialized; i < all.size(); ++i) {
      const std::vector<Endpoint>& inputs = main.node(all[i].node()).inputs;
      const AttrMap& handle = main.node(inputs[0].node).attrs;
      if (restored.contains(handle.GetOr<std::string>("shared_name", ""))) continue;
      if (groups.empty() || ReadsState(main, inputs[1].node)) groups.emplace_back();
      groups.back().operations.push_back(all[i]);
      groups.back().end = i + 1;
    }
    return groups;
  }

  // The names of the last effects of the main graph.
  std::vector<std::string> Effects() const {
    std::vector<std::string> names;
    for (const NodeId id : graph->main()->last_effects())
      names.push_back(graph->main()->function().node(id).name);
    return names;
  }
};

GraphSession::GraphSession(Graph& graph, const SessionOptions& options)
    : state_(std::make_unique<State>()) {
  state_->graph = graph.state();
  state_->options = options;
  session();
}
GraphSession::~GraphSession() = default;

Session& GraphSession::session() {
  const std::lock_guard lock(state_->mutex);
  std::shared_ptr<const Program> program = state_->graph->program();
  if (state_->session == nullptr) {
    state_->session = ValueOrThrow(Session::Create(std::move(program), state_->options));
  } else if (&state_->session->program() != program.get()) {
    state_->session = ValueOrThrow(state_->session->WithProgram(std::move(program)));
  }
  return *state_->session;
}

void GraphSession::initialize(const FeedList& feeds, const RunOptions& options) {
  for (const State::Group& group : state_->FreshInitializers()) {
    eval(std::vector<Value>(), feeds, group.operations, options);
    state_->num_initialized = group.end;
  }
}

std::vector<Tensor> GraphSession::run(const std::vector<Value>& fetches, const FeedList& feeds,
                                      const RunOptions& options) {
  return ValueOrThrow(session().Run(NamedFeeds(feeds, *state_->graph),
                                    NamesOf(fetches, *state_->graph, "what is fetched"),
                                    state_->Effects(), options));
}

std::vector<Tensor> GraphSession::eval(const std::vector<Value>& fetches, const FeedList& feeds,
                                       const std::vector<Operation>& targets,
                                       const RunOptions& options) {
  return ValueOrThrow(session().Run(NamedFeeds(feeds, *state_->graph),
                                    NamesOf(fetches, *state_->graph, "what is fetched"),
                                    NamesOf(targets, *state_->graph), options));
}

Tensor GraphSession::eval(const Value& fetch, const FeedList& feeds, const RunOptions& options) {
  return eval(std::vector<Value>{fetch}, feeds, {}, options)[0];
}

std::vector<Tensor> GraphSession::Callable::operator()(absl::Span<const Tensor> feeds,
                                                       const RunOptions& options) const {
  return ValueOrThrow(callable_.Run(feeds, options));
}

GraphSession::Callable GraphSession::prepare(const std::vector<Value>& fetches,
                                             const std::vector<Value>& placeholders,
                                             const std::vector<Operation>& targets) {
  return Callable(ValueOrThrow(session().Prepare(
      NamesOf(placeholders, *state_->graph, "what is fed"),
      NamesOf(fetches, *state_->graph, "what is fetched"), NamesOf(targets, *state_->graph))));
}

Tensor GraphSession::value_of(const Variable& variable) {
  RequireMain(variable.handle().scope().get(), *state_->graph, "a variable");
  Tensor value = ValueOrThrow(session().ReadVariables({variable.name()}))[0];
  if (!value.has_value()) {
    internal::Throw(absl::FailedPreconditionError(
        absl::StrCat("variable '", variable.name(), "' has no value yet: initialize it first")));
  }
  return value;
}

void GraphSession::save(const std::string& folder, const SaveOptions& options) {
  const absl::Status status = SaveCheckpoint(session(), folder, options);
  if (!status.ok()) internal::Throw(status);
}

std::vector<std::string> GraphSession::restore(const std::string& path,
                                               const RestoreOptions& options) {
  std::vector<std::string> names = ValueOrThrow(RestoreCheckpoint(session(), path, options));
  state_->restored.insert(names.begin(), names.end());
  return names;
}

void GraphSession::export_onnx(const std::string& path, const std::vector<Value>& outputs,
                               const std::vector<Value>& inputs) {
  const OnnxSource source =
      ValueOrThrow(SourceOf(session(), NamesOf(inputs, *state_->graph, "an input"),
                            NamesOf(outputs, *state_->graph, "an output")));
  const absl::Status status = SaveAsOnnx(source, path);
  if (!status.ok()) internal::Throw(status);
}

}  // namespace gyre
