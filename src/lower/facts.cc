#include "lower/facts.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "analysis/order.h"
#include "analysis/pass_through.h"
#include "analysis/refusals.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/type_attrs.h"

namespace gyre::lower {
namespace {

// How far a value is followed through calls: C++ recursion must not depend on data.
constexpr int kMaxCallsFollowed = 16;

}  // namespace

ProgramFacts::ProgramFacts(const Program& program)
    : program_(program),
      effects_(program),
      program_size_(static_cast<int64_t>(program.main().nodes.size())) {
  for (const auto& [name, function] : program.functions())
    program_size_ += static_cast<int64_t>(function->nodes.size());
}

const FunctionFacts& ProgramFacts::Of(const Function& function) {
  const auto [it, is_new] = facts_.try_emplace(&function);
  if (is_new) it->second = std::make_unique<FunctionFacts>(Examine(function));
  return *it->second;
}

FunctionFacts ProgramFacts::Examine(const Function& function) const {
  FunctionFacts facts;
  const size_t n = function.nodes.size();
  const RunSignature signature = CallSignature(function);
  const std::vector<bool> needed = NeededNodes(function, signature);
  const std::vector<bool> for_results =
      NeededNodes(function, {.feeds = {}, .fetches = signature.fetches, .targets = {}});
  facts.order = ProducersFirst(function, needed);
  facts.has_effect.resize(n);
  facts.must_run.resize(n);
  facts.uses_arg.resize(function.args.size());
  facts.inlinable =
      static_cast<size_t>(std::count(needed.begin(), needed.end(), true)) == facts.order.size();
  for (const NodeId id : facts.order) {
    const Node& node = function.node(id);
    facts.has_effect[id] = OwnEffects(node).TouchesState();
    if (node.kind() == OpKind::kArg) {
      const int64_t index = node.attrs.GetOr<int64_t>("index", -1);
      if (index < 0 || index >= static_cast<int64_t>(function.args.size())) {
        facts.inlinable = false;
      } else {
        facts.uses_arg[index] = true;
      }
    }
    facts.has_references |= HasReferences(node);
    if (node.op == nullptr || MovesDeadness(node) || IsGeneric(node) || !CalleesFit(node)) {
      facts.inlinable = false;
    }
  }
  for (const FunctionArg& arg : function.args) {
    if (arg.dtype == DType::kInvalid) facts.inlinable = false;
  }
  for (const NodeId target : signature.targets) facts.must_run[target] = !for_results[target];
  return facts;
}

bool ProgramFacts::CalleesFit(const Node& node) const { return CheckCallees(program_, node).ok(); }

bool ProgramFacts::Finishes(const Callee& callee) const {
  return effects_.OfFunction(callee.function.name).HasToFinish();
}

bool ProgramFacts::StructuredFinishes(const Node& structured) const {
  const std::vector<Callee> callees = CalleesOf(program_, structured);
  return std::any_of(callees.begin(), callees.end(),
                     [&](const Callee& callee) { return Finishes(callee); });
}

const Function* ProgramFacts::CalledRecursively(const Node& node) const {
  if (node.kind() != OpKind::kCall) return nullptr;
  const std::vector<Callee> callees = CalleesOf(program_, node);
  if (callees.size() != 1) return nullptr;
  const Function* const function = program_.FindFunction(callees[0].function.name);
  return function != nullptr && IsRecursive(*function) ? function : nullptr;
}

// What goes in and out of a body becomes nodes, too.
int64_t ProgramFacts::OwnSize(const Function& function) {
  return static_cast<int64_t>(Of(function).order.size() + function.args.size() +
                              function.results.size());
}

// The functions that `function` calls, once for each call of it that may be written out.
std::vector<const Function*> ProgramFacts::InlinedBy(const Function& function) {
  std::vector<const Function*> inlined;
  for (const NodeId id : Of(function).order) {
    const Node& node = function.node(id);
    if (!IsStructured(node.kind())) continue;
    for (const Callee& callee : CalleesOf(program_, node)) {
      const Function* const called = program_.FindFunction(callee.function.name);
      const bool stays =
          called == nullptr || (node.kind() == OpKind::kCall && IsRecursive(*called));
      if (!stays) inlined.push_back(called);
    }
  }
  return inlined;
}

// Depth first, on a stack of its own: a chain of calls may be as long as the file.
int64_t ProgramFacts::ExpandedSize(const Function& callee) {
  struct Visit {
    const Function* function;
    std::vector<const Function*> inlined;
    size_t next = 0;
    int64_t size = 0;
  };
  std::vector<Visit> visits;
  const auto enter = [&](const Function& function) {
    // Until it is known, what leads back here stays a call.
    expanded_sizes_[&function] = 1;
    visits.push_back({&function, InlinedBy(function), 0, OwnSize(function)});
  };
  if (!expanded_sizes_.contains(&callee)) enter(callee);
  while (!visits.empty()) {
    Visit& visit = visits.back();
    if (visit.next == visit.inlined.size()) {
      expanded_sizes_[visit.function] = visit.size;
      visits.pop_back();
      continue;
    }
    const Function& next = *visit.inlined[visit.next];
    const auto known = expanded_sizes_.find(&next);
    if (known == expanded_sizes_.end()) {
      enter(next);
      continue;
    }
    visit.size = std::min(kHuge, visit.size + known->second);
    ++visit.next;
  }
  return expanded_sizes_.at(&callee);
}

int ProgramFacts::PassedArgument(const Function& function, int result) {
  return PassedArgument(function, result, 0);
}

int ProgramFacts::PassedArgument(const Function& function, int result, int depth) {
  if (depth > kMaxCallsFollowed || result >= static_cast<int>(function.results.size())) return -1;
  // Until it is known, nothing is: what leads back here passes nothing on.
  const auto [it, is_new] = passed_.try_emplace({&function, result}, -1);
  if (!is_new) return it->second;
  const int argument = FollowToArgument(function, function.results[result].value, depth);
  passed_[{&function, result}] = argument;
  return argument;
}

int ProgramFacts::FollowToArgument(const Function& function, Endpoint e, int depth) {
  while (true) {
    const Node& node = function.node(e.node);
    if (node.kind() == OpKind::kArg) return ArgumentOf(function, e);
    if (node.kind() != OpKind::kCall && !IsLoop(node.kind())) return -1;
    if (!CalleesFit(node) || StructuredFinishes(node)) return -1;
    const Function* callee = program_.FindFunction(CalleesOf(program_, node).back().function.name);
    const int argument = PassedArgument(*callee, e.slot, depth + 1);
    const int input = argument < 0 ? -1 : InputOfArg(node, argument);
    if (input < 0 || (IsLoop(node.kind()) && argument != e.slot + NumCounterArgs(node))) return -1;
    e = node.inputs[input];
  }
}

void ProgramFacts::InferMainShapes(const std::vector<Endpoint>& feeds) {
  ShapeOptions options;
  for (const Endpoint& feed : feeds) {
    const Node& node = program_.main().node(feed.node);
    PartialShape shape = PartialShape::Unknown();
    if (node.kind() == OpKind::kPlaceholder) {
      shape = node.attrs.GetOr<PartialShape>("shape", PartialShape::Unknown());
    }
    if (std::find(scalars_.begin(), scalars_.end(), feed) != scalars_.end())
      shape = PartialShape::Scalar();
    options.fed.emplace(feed, std::move(shape));
  }
  absl::StatusOr<ShapeTable> table = InferShapes(program_, options);
  if (table.ok()) shapes_ = std::make_unique<ShapeTable>(*std::move(table));
}

const PartialShape* ProgramFacts::ShapeOf(const Function& function, Endpoint e) const {
  if (shapes_ == nullptr) return nullptr;
  const bool is_main = &function == &program_.main();
  if (is_main && absl::c_linear_search(scalars_, e)) return &scalar_;  // whatever computes it
  const FunctionShapes* shapes = is_main ? &shapes_->main : shapes_->Find(function.name);
  return shapes == nullptr ? nullptr : &shapes->at(e).shape;
}

bool ProgramFacts::IsScalar(const Function& function, Endpoint e) const {
  const PartialShape* const shape = ShapeOf(function, e);
  return shape != nullptr && shape->has_rank() && shape->rank() == 0;
}

bool ProgramFacts::IsNoScalar(const Function& function, Endpoint e) const {
  const PartialShape* const shape = ShapeOf(function, e);
  return shape != nullptr && shape->has_rank() && shape->rank() != 0;
}

std::optional<Shape> ProgramFacts::KnownShape(const Function& function, Endpoint e) const {
  const PartialShape* const partial = ShapeOf(function, e);
  return partial == nullptr ? std::nullopt : partial->ToShape();
}

int64_t ProgramFacts::NumElements(const Function& function, Endpoint e) const {
  const std::optional<Shape> shape = KnownShape(function, e);
  return shape ? shape->num_elements() : -1;
}

}  // namespace gyre::lower
