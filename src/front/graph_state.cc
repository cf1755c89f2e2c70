#include "front/graph_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "ir/calls.h"
#include "ops/registry.h"

namespace gyre::internal {
namespace {

std::vector<std::shared_ptr<GraphState>>& CurrentGraphs() {
  static thread_local std::vector<std::shared_ptr<GraphState>> graphs;
  return graphs;
}

}  // namespace

std::shared_ptr<GraphState> GraphState::Make() {
  std::shared_ptr<GraphState> graph(new GraphState());
  graph->scopes_.push_back(
      std::make_shared<Scope>(graph, nullptr, "", Scope::Description{"the main graph", ""}));
  return graph;
}

std::shared_ptr<GraphState> GraphState::Current(const std::source_location& where) {
  if (CurrentGraphs().empty()) {
    Throw(absl::FailedPreconditionError(
        absl::StrCat("no graph is current: make a gyre::GraphScope, or use the graph's own "
                     "functions\n  at ",
                     LineOf(where))));
  }
  return CurrentGraphs().back();
}

BuildScope GraphState::Set(Setting setting) {
  setting.scope = scope().get();
  for (const Operation& operation : setting.awaited) scope()->AwaitOutside(operation);
  settings_.push_back(std::move(setting));
  return BuildScope([graph = shared_from_this()] { graph->settings_.pop_back(); });
}

void GraphState::PushCurrent(std::shared_ptr<GraphState> graph) {
  CurrentGraphs().push_back(std::move(graph));
}

void GraphState::PopCurrent() { CurrentGraphs().pop_back(); }

bool GraphState::IsBeingTraced(const ScopePtr& scope) const {
  return std::find(scopes_.begin(), scopes_.end(), scope) != scopes_.end();
}

std::string GraphState::UniqueFunctionName(const std::string& wanted) {
  return function_names_.Unique(wanted);
}

std::string GraphState::UniqueVariableName(const std::string& wanted) {
  return variable_names_.Unique(wanted);
}

void GraphState::AddFunction(Function function) {
  function_names_.Take(function.name);
  changed_functions_.insert(function.name);
  MarkChanged();
  std::string name = function.name;
  functions_.insert_or_assign(std::move(name), std::move(function));
}

void GraphState::EraseFunction(const std::string& name) {
  functions_.erase(name);
  function_names_.Free(name);
  changed_functions_.insert(name);
}

void GraphState::SetGradientFunction(const std::string& function, const std::string& gradient) {
  gradient_functions_[function] = gradient;
  MarkChanged();
}

const Function* GraphState::FindFunction(const std::string& name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second;
}

ResourceKey GraphState::KeyForResource(const std::string& name) {
  if (name.empty()) return ++last_resource_;
  const auto [it, is_new] = named_resources_.emplace(name, last_resource_ + 1);
  if (is_new) ++last_resource_;
  return it->second;
}

std::set<std::string> GraphState::ReachableFunctions(const Function& main) const {
  std::set<std::string> reached;
  std::vector<std::string> pending = NamedFunctions(main);
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    const Function* function = FindFunction(name);
    if (function == nullptr || !reached.insert(name).second) continue;
    for (std::string& named : NamedFunctions(*function)) pending.push_back(std::move(named));
    const auto gradient = gradient_functions_.find(name);
    if (gradient != gradient_functions_.end()) pending.push_back(gradient->second);
  }
  return reached;
}

// Makes `program` hold the functions that `main` needs. It starts as a copy of `base`, or empty;
// functions of `base` that have not changed stay shared.
void GraphState::Update(ProgramBuilder& program, const Program* base, const Function& main) const {
  const std::set<std::string> needed = ReachableFunctions(main);
  if (base != nullptr) {
    for (const auto& [name, function] : base->functions()) {
      if (!needed.contains(name)) program.EraseFunction(name);
    }
  }
  for (const std::string& name : needed) {
    const bool is_there = base != nullptr && base->FindFunction(name) != nullptr;
    if (!is_there || changed_functions_.contains(name))
      program.SetFunction(functions_.find(name)->second);
    const auto gradient = gradient_functions_.find(name);
    if (gradient != gradient_functions_.end()) program.SetGradientFunction(name, gradient->second);
  }
  program.SetMain(main);
}

std::shared_ptr<const Program> GraphState::ProgramOf(const Function& main) const {
  ProgramBuilder program(Ops());
  Update(program, nullptr, main);
  return program.Build();
}

std::shared_ptr<const Program> GraphState::program() {
  const std::lock_guard lock(program_mutex_);
  if (program_is_current_) return program_;
  ProgramBuilder program = program_ == nullptr ? ProgramBuilder(Ops()) : ProgramBuilder(*program_);
  Update(program, program_.get(), main()->function());
  program_ = program.Build();
  program_is_current_ = true;
  changed_functions_.clear();
  return program_;
}

Tracing::Tracing(const ScopePtr& parent, std::string function_name, Scope::Description description)
    : graph_(parent->graph()),
      scope_(std::make_shared<Scope>(graph_, parent, std::move(function_name),
                                     std::move(description))) {
  graph_->scopes_.push_back(scope_);
  GraphState::PushCurrent(graph_);
}

Tracing::~Tracing() {
  GraphState::PopCurrent();
  graph_->scopes_.pop_back();
}

InMainGraph::InMainGraph(std::shared_ptr<GraphState> graph)
    : graph_(std::move(graph)), settings_(std::exchange(graph_->settings_, {})) {
  graph_->scopes_.push_back(graph_->main());
  GraphState::PushCurrent(graph_);
}

InMainGraph::~InMainGraph() {
  GraphState::PopCurrent();
  graph_->scopes_.pop_back();
  graph_->settings_ = std::move(settings_);
}

}  // namespace gyre::internal
