#include "exec/dataflow/origin.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/function_copies.h"
#include "exec/fused/group.h"
#include "exec/sequential/loop.h"
#include "ir/where.h"

namespace gyre::dataflow {
namespace {

// Deep recursion and nesting would print for ever.
constexpr int kMaxLoopsShown = 16;
constexpr size_t kMaxAround = 64;

// A place in the program: a scope of the lowered function, and the iteration that runs in it.
struct Place {
  const FunctionPlan* plan = nullptr;
  const Iteration* iteration = nullptr;
  int scope = 0;
};

const LoweredScope& ScopeOf(const Place& place) { return place.plan->lowered.scopes[place.scope]; }

Place Outside(const Place& place) {
  const LoweredScope& scope = ScopeOf(place);
  const Iteration* const around =
      scope.is_loop() ? place.iteration->frame->parent_iteration : place.iteration;
  return {place.plan, around, scope.parent};
}

// A loop's own plumbing, and calls of its functions, run in its frame, but stand where it stands.
bool IsPartOfLoop(const Place& place, const NodeOrigin& origin) {
  return origin.is_plumbing && place.scope > 0 && ScopeOf(place).structured == origin.node;
}

// A constant of a loop's body fires once, before the loop: it stands where it fires.
int ScopeOutsideOfLoops(const FunctionPlan& plan, const Iteration* iteration, int scope) {
  const std::vector<LoweredScope>& scopes = plan.lowered.scopes;
  int loops = 0;  // around the scope that the iteration is not in
  for (int s = scope; s > 0; s = scopes[s].parent) loops += scopes[s].is_loop() ? 1 : 0;
  for (; iteration->frame->parent != nullptr; iteration = iteration->frame->parent_iteration)
    --loops;
  for (; loops > 0; scope = scopes[scope].parent) loops -= scopes[scope].is_loop() ? 1 : 0;
  return scope;
}

Place PlaceOf(Ready where) {
  const FunctionPlan& plan = *where.iteration->frame->activation->plan;
  int scope = plan.infos[where.node().value()].origin.scope;
  if (plan.nodes[where.node().value()].opcode == Opcode::kConst)
    scope = ScopeOutsideOfLoops(plan, where.iteration, scope);
  return {&plan, where.iteration, scope};
}

// The tag of an iteration of the frames that the function itself opens.
Tag OwnTag(const Iteration& iteration) {
  absl::InlinedVector<const Iteration*, 8> unknown;
  const Iteration* known = &iteration;
  const uint64_t* id = nullptr;
  for (; known->frame->parent != nullptr; known = known->frame->parent_iteration) {
    id = known->frame->known_ids[0].Find(0);
    if (id != nullptr) break;
    unknown.push_back(known);
  }
  Tag tag = id == nullptr ? known->frame->activation->tag : Tag{*id, known->number};
  for (auto i = unknown.rbegin(); i != unknown.rend(); ++i) {
    tag = {ChildFrameId(tag, (*i)->frame->plan->frame.name), (*i)->number};
    (*i)->frame->known_ids[0].Keep(0, tag.frame);
  }
  return tag;
}

// Where the id of a loop's scope is kept; null for other scopes: theirs depends on the iteration.
KnownId* KnownIdOf(const Place& place, const LoweredScope& scope) {
  const bool has_place = scope.is_loop() && scope.callee >= 0 && scope.callee < 2;
  return has_place ? &place.iteration->frame->known_ids[1 + scope.callee] : nullptr;
}

Tag TagOf(Place place) {
  absl::InlinedVector<Place, 8> unknown;
  const uint64_t* id = nullptr;
  for (; place.scope > 0; place = Outside(place)) {
    const KnownId* const known = KnownIdOf(place, ScopeOf(place));
    id = known == nullptr ? nullptr : known->Find(place.scope);
    if (id != nullptr) break;
    unknown.push_back(place);
  }
  Tag tag = id == nullptr ? OwnTag(*place.iteration) : Tag{*id, place.iteration->number};
  for (auto inner = unknown.rbegin(); inner != unknown.rend(); ++inner) {
    const LoweredScope& scope = ScopeOf(*inner);
    tag = {ChildFrameId(tag, CalleeFrameName(*scope.structured, *scope.function)),
           scope.is_loop() ? inner->iteration->number : 0};
    if (KnownId* const known = KnownIdOf(*inner, scope)) known->Keep(inner->scope, tag.frame);
  }
  return tag;
}

// The loop that runs as one kernel, if `where` is one; null otherwise.
const sequential::RegisterLoop* LoopAt(Ready where) {
  const PlanNode& p = where.iteration->nodes[where.node()];
  if (p.opcode != Opcode::kLoop || where.dead()) return nullptr;
  return static_cast<const sequential::RegisterLoop*>(p.attrs);
}

// What such a loop that has paused has left.
const Tensor& StateOfLoopAt(Ready where) {
  return where.iteration->inputs[where.iteration->nodes[where.node()].first_input];
}

std::string LoopText(const Iteration* iteration) {
  std::string text;
  int shown = 0;
  for (; iteration->frame->parent != nullptr; iteration = iteration->frame->parent_iteration) {
    if (++shown > kMaxLoopsShown) return absl::StrCat(text, "\n  … and in the loops around that");
    absl::StrAppend(&text, "\n  in iteration ", iteration->number, " of loop \"",
                    iteration->frame->plan->frame.name, "\"");
  }
  return text;
}

}  // namespace

std::vector<Surrounding> Around(Ready where) {
  std::vector<Surrounding> around;
  Place place = PlaceOf(where);
  while (around.size() < kMaxAround) {
    for (; place.scope > 0; place = Outside(place)) {
      const LoweredScope& scope = ScopeOf(place);
      around.push_back({SurroundingKind(*scope.structured, scope.callee), scope.structured->name,
                        scope.function == nullptr ? "" : absl::string_view(scope.function->name),
                        scope.is_loop() ? place.iteration->number : scope.callee,
                        TagOf(place).frame});
    }
    for (const Iteration* i = place.iteration; i->frame->parent != nullptr;
         i = i->frame->parent_iteration) {
      around.push_back(
          {Surrounding::Kind::kLoop, i->frame->plan->frame.name, "", i->number, OwnTag(*i).frame});
    }
    const Activation& activation = *place.iteration->frame->activation;
    const Ready caller = activation.caller;
    if (caller.iteration == nullptr) break;
    place = PlaceOf(caller);
    const NodeInfo& info = place.plan->infos[caller.node().value()];
    const bool is_loop = IsPartOfLoop(place, info.origin) && ScopeOf(place).is_loop();
    around.push_back({SurroundingKind(*info.origin.node, info.origin.callee),
                      info.origin.node->name, info.callee->source->name,
                      is_loop ? caller.iteration->number : info.origin.callee,
                      activation.tag.frame});
    if (is_loop) place = Outside(place);
  }
  std::reverse(around.begin(), around.end());
  return around;
}

RunProgress ProgressAt(Ready where) {
  RunProgress progress;
  const PlanNode& p = where.iteration->nodes[where.node()];
  progress.node = p.node->name;
  for (const Surrounding& s : Around(where)) {
    if (s.kind == Surrounding::Kind::kBranch || s.kind == Surrounding::Kind::kCall) continue;
    progress.loops.push_back({std::string(s.name), s.iteration, s.instance});
  }
  if (const auto* const loop = LoopAt(where); loop != nullptr) {
    for (const auto& [node, iteration] : sequential::PlaceOf(*loop, StateOfLoopAt(where)))
      progress.loops.push_back({node->name, iteration, 0});
  }
  return progress;
}

TokenOrigin TokenOriginOf(Ready where, std::vector<int>* sources) {
  const Frame& frame = *where.iteration->frame;
  const FunctionPlan& plan = *frame.activation->plan;
  const Node& node = plan.lowered.function.nodes[where.node().value()];
  for (const Endpoint& input : node.inputs) sources->push_back(input.node);
  sources->insert(sources->end(), node.control_inputs.begin(), node.control_inputs.end());
  const Tag own = OwnTag(*where.iteration);
  const Tag outer = frame.parent == nullptr ? Tag() : OwnTag(*frame.parent_iteration);
  return {.graph = &plan,
          .node = static_cast<int>(where.node().value()),
          .sources = *sources,
          .frame = own.frame,
          .iteration = own.iteration,
          .outer_frame = outer.frame,
          .outer_iteration = outer.iteration};
}

Tag TagOf(Ready where) { return TagOf(PlaceOf(where)); }

Tag CalleeTag(Ready structured) {
  const Place place = PlaceOf(structured);
  const NodeInfo& info = place.plan->infos[structured.node().value()];
  const bool part = IsPartOfLoop(place, info.origin) && ScopeOf(place).is_loop();
  const Tag outside = TagOf(part ? Outside(place) : place);
  return {ChildFrameId(outside, CalleeFrameName(*info.origin.node, *info.callee->source)),
          part ? structured.iteration->number : 0};
}

std::string Locate(Ready where, const absl::Status& status) {
  if (where.iteration == nullptr) return "";
  std::string inside = sequential::WhereInside(status);
  if (const auto* const loop = LoopAt(where); inside.empty() && loop != nullptr)
    inside = sequential::WhereInside(*loop, StateOfLoopAt(where));
  Place place = PlaceOf(where);
  const auto id = fused::FailedOp(status).value_or(static_cast<NodeId>(where.node().value()));
  const NodeOrigin& origin = place.plan->lowered.origins[id];
  if (id != static_cast<NodeId>(where.node().value())) place.scope = origin.scope;
  std::string text = inside.empty() ? NodeText(*origin.node) : inside;
  if (IsPartOfLoop(place, origin)) {
    if (ScopeOf(place).is_loop())
      absl::StrAppend(&text, ", in iteration ", place.iteration->number);
    place = Outside(place);
  }
  if (absl::EndsWith(text, kMoreCalls)) return text;
  int64_t shown = inside.empty() ? 0 : absl::c_count(inside, '\n') - 1;
  for (;; ++shown) {
    if (place.scope == 0) absl::StrAppend(&text, LoopText(place.iteration));
    const Ready caller = place.iteration->frame->activation->caller;
    if (place.scope == 0 && caller.iteration == nullptr) return text;
    if (shown == kMaxCallsShown) return absl::StrCat(text, kMoreCalls);
    if (place.scope > 0) {
      const LoweredScope& scope = ScopeOf(place);
      absl::StrAppend(&text, CallText(*scope.structured, scope.callee, *scope.function,
                                      place.iteration->number));
      place = Outside(place);
      continue;
    }
    place = PlaceOf(caller);
    const NodeInfo& info = place.plan->infos[caller.node().value()];
    absl::StrAppend(&text, CallText(*info.origin.node, info.origin.callee, *info.callee->source,
                                    caller.iteration->number));
    if (IsPartOfLoop(place, info.origin)) place = Outside(place);
  }
}

}  // namespace gyre::dataflow
