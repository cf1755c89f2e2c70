#include "gyre/graph.h"

#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "front/graph_state.h"

namespace gyre {

using internal::GraphState;
using internal::ScopePtr;

namespace {

Value AddPlaceholder(const ScopePtr& scope, DType dtype, PartialShape shape,
                     const std::string& name, const std::source_location& where) {
  if (!scope->is_main()) {
    internal::ThrowInvalid(
        absl::StrCat("a placeholder can only be made in the main graph, not in ",
                     scope->description().what, ": make it outside, and use it here"),
        where);
  }
  AttrMap attrs;
  attrs.Set("dtype", dtype);
  attrs.Set("shape", std::move(shape));
  return scope->ValueAt(
      {scope->Add({.op = "Placeholder", .attrs = std::move(attrs), .name = name, .where = where}),
       0});
}

}  // namespace

Graph::Graph() : state_(GraphState::Make()) {}
Graph::~Graph() = default;

Value Graph::placeholder(DType dtype, PartialShape shape, const std::string& name,
                         std::source_location where) {
  return AddPlaceholder(state_->scope(), dtype, std::move(shape), name, where);
}

Value Graph::constant(const Tensor& value, const std::string& name, std::source_location where) {
  const ScopePtr& scope = state_->scope();
  return scope->ValueAt(scope->AddConstant(value, name, where));
}

Operation Graph::initializer(std::source_location where) {
  const ScopePtr& main = state_->main();
  return Operation(main, main->Add({.op = "NoOp",
                                    .name = "initializer",
                                    .where = where,
                                    .awaited = state_->initializers()}));
}

std::shared_ptr<const Program> Graph::program() const { return state_->program(); }

GraphScope::GraphScope(Graph& graph) { GraphState::PushCurrent(graph.state()); }
GraphScope::~GraphScope() { GraphState::PopCurrent(); }

BuildScope device(std::string name) {
  return GraphState::Current({})->Set({.device = std::move(name)});
}

BuildScope name_scope(const std::string& name) {
  return GraphState::Current({})->Set({.prefix = absl::StrCat(name, "/")});
}

BuildScope control_dependencies(std::vector<Operation> before) {
  return GraphState::Current({})->Set({.awaited = std::move(before)});
}

Value placeholder(DType dtype, PartialShape shape, const std::string& name,
                  std::source_location where) {
  return AddPlaceholder(GraphState::Current(where)->scope(), dtype, std::move(shape), name, where);
}

Value placeholder(DType dtype, Dims shape, const std::string& name, std::source_location where) {
  return placeholder(dtype, PartialShape(std::move(shape)), name, where);
}

Value constant(const Tensor& value, const std::string& name, std::source_location where) {
  const ScopePtr scope = GraphState::Current(where)->scope();
  return scope->ValueAt(scope->AddConstant(value, name, where));
}

}  // namespace gyre
