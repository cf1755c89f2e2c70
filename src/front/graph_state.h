// GraphState: what a Graph owns: the scopes that are being traced, the functions that are finished,
// and the settings that BuildScopes make.
//
// Shared by the Graph and by what keeps running it; Values refer to it weakly. One thread at a time
// builds; the stack of current graphs is per thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/internal_export.h"
#include "front/scope.h"
#include "front/session_names.h"
#include "gyre/graph.h"
#include "ir/program.h"
#include "passes/edit/unique_names.h"

namespace gyre::internal {

class InMainGraph;

class GYRE_INTERNAL_EXPORT GraphState : public std::enable_shared_from_this<GraphState> {
 public:
  static std::shared_ptr<GraphState> Make();
  // The graph that is current on this thread. FAILED_PRECONDITION, with the line, if there is none.
  static std::shared_ptr<GraphState> Current(const std::source_location& where);
  static void PushCurrent(std::shared_ptr<GraphState> graph);
  static void PopCurrent();

  const ScopePtr& main() const { return scopes_.front(); }
  // The innermost scope that is being traced: where nodes are added.
  const ScopePtr& scope() const { return scopes_.back(); }
  bool IsBeingTraced(const ScopePtr& scope) const;

  // What BuildScopes set. The latest device counts; prefixes join; all of the awaited are awaited,
  // but for those of settings before one that forgets them; the latest groups count.
  struct Setting {
    const Scope* scope;  // that was current
    std::optional<std::string> device;
    std::string prefix;
    std::vector<Operation> awaited;
    bool forgets_awaited = false;
    std::optional<std::vector<std::string>> colocated;  // nodes get it as attribute _class
  };
  std::vector<Setting>& settings() { return settings_; }
  // Adds a setting for what is current, until the result goes.
  BuildScope Set(Setting setting);

  // From now on, nodes run because something that is asked for needs them, by data or by control
  // edges that the user made: effects have no order by themselves. Names are SessionNames. What
  // graphs of TensorFlow's sessions mean.
  void FollowSessionRules() { session_names_ = std::make_unique<SessionNames>(); }
  bool follows_session_rules() const { return session_names_ != nullptr && program_rules_ == 0; }
  // Null in graphs that do not.
  SessionNames* session_names() const { return session_names_.get(); }

  // A name that no function has and no other call returns.
  std::string UniqueFunctionName(const std::string& wanted);
  std::string UniqueVariableName(const std::string& wanted);
  // Adds or replaces.
  void AddFunction(Function function);
  void EraseFunction(const std::string& name);
  // Says which function computes the gradient of another one.
  void SetGradientFunction(const std::string& function, const std::string& gradient);
  // Null when there is no such function.
  const Function* FindFunction(const std::string& name) const;

  // A number for a resource: the same for the same non-empty name.
  ResourceKey KeyForResource(const std::string& name);

  // `main` with the functions that it needs.
  std::shared_ptr<const Program> ProgramOf(const Function& main) const;
  // The main graph so far; the same program until something changes.
  std::shared_ptr<const Program> program();
  void MarkChanged() { program_is_current_ = false; }

  // Assignments of initial values.
  std::vector<Operation>& initializers() { return initializers_; }

 private:
  friend class Tracing;
  friend class InMainGraph;
  friend class ProgramRules;
  GraphState() = default;
  std::set<std::string> ReachableFunctions(const Function& main) const;
  void Update(ProgramBuilder& program, const Program* base, const Function& main) const;

  std::vector<ScopePtr> scopes_;  // the main graph, then those being traced, each inside the last
  std::vector<Setting> settings_;
  std::map<std::string, Function> functions_;
  std::map<std::string, std::string> gradient_functions_;
  passes::UniqueNames function_names_, variable_names_;
  std::map<std::string, ResourceKey> named_resources_;
  ResourceKey last_resource_ = kHost;
  std::vector<Operation> initializers_;
  std::unique_ptr<SessionNames> session_names_;
  int program_rules_ = 0;     // how many ProgramRules live
  std::mutex program_mutex_;  // sessions on several threads may ask for the program
  // The last snapshot, and what has been added or replaced since.
  std::shared_ptr<const Program> program_;
  bool program_is_current_ = false;
  std::set<std::string> changed_functions_;
};

// Traces a body: while it lives, nodes are added to a new scope inside `parent`.
class Tracing {
 public:
  Tracing(const ScopePtr& parent, std::string function_name, Scope::Description description);
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  const ScopePtr& scope() const { return scope_; }

 private:
  std::shared_ptr<GraphState> graph_;
  ScopePtr scope_;
};

// While it lives, effects keep the order of the program, also in a graph that otherwise follows
// session rules: for bodies of functions, which mean the same wherever they are called.
class ProgramRules {
 public:
  explicit ProgramRules(std::shared_ptr<GraphState> graph) : graph_(std::move(graph)) {
    ++graph_->program_rules_;
  }
  ~ProgramRules() { --graph_->program_rules_; }
  ProgramRules(const ProgramRules&) = delete;
  ProgramRules& operator=(const ProgramRules&) = delete;

 private:
  const std::shared_ptr<GraphState> graph_;
};

// While it lives, nodes are added to the main graph, whatever body is being traced and whatever
// BuildScopes have set: for what a body needs to stand outside of it, once.
class GYRE_INTERNAL_EXPORT InMainGraph {
 public:
  explicit InMainGraph(std::shared_ptr<GraphState> graph);
  ~InMainGraph();
  InMainGraph(const InMainGraph&) = delete;
  InMainGraph& operator=(const InMainGraph&) = delete;

 private:
  std::shared_ptr<GraphState> graph_;
  std::vector<GraphState::Setting> settings_;  // set aside
};

}  // namespace gyre::internal
