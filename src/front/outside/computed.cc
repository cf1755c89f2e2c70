#include "front/outside/computed.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "base/hash_map.h"
#include "front/error.h"
#include "grad/dependence.h"

namespace gyre::internal {
namespace {

// By value of a scope: the same in the body.
using Copies = HashMap<Endpoint, Endpoint>;

grad::Marks MarksOf(const Function& function, const std::vector<Endpoint>& endpoints) {
  grad::Marks marks = grad::NoMarks(function);
  for (const Endpoint& e : endpoints) marks[e.node][e.slot] = true;
  return marks;
}

// What depends on the values, which themselves count.
grad::Marks Dependents(const Scope& scope, const std::vector<Endpoint>& from,
                       const std::vector<Endpoint>& stops) {
  const std::shared_ptr<const Program> program = scope.AsProgram();
  const Function& main = program->main();
  grad::Marks marks = MarksOf(main, from);
  grad::MarkDependents(main, grad::Dependence(*program), MarksOf(main, stops), marks);
  return marks;
}

// Hands on what its variable holds, whose gradient is the variable's.
bool ReadsVariable(const Node& node) {
  return node.op != nullptr && node.op->traits.effect == Effect::kRead &&
         node.signature.inputs.size() == 1 && node.signature.inputs[0].dtype == DType::kResource;
}

class Copier {
 public:
  Copier(ScopePtr body, const Value& x, const std::source_location& where)
      : body_(std::move(body)), x_(x), where_(where) {}

  // Copies what `wanted` was made of, as far as it depends on what `copies` has.
  void Copy(Scope& scope, const std::vector<Endpoint>& wanted, Copies& copies) {
    const std::shared_ptr<const Program> program = scope.AsProgram();
    const Function& function = program->main();
    const Effects effects(*program);
    std::vector<Endpoint> begin;
    for (const auto& [from, to] : copies) begin.push_back(from);
    const grad::Dependence dependence(*program);
    grad::Marks dependents = MarksOf(function, begin);
    grad::MarkDependents(function, dependence, grad::NoMarks(function), dependents);
    grad::Marks sources = MarksOf(function, wanted);
    grad::MarkSources(function, dependence, sources);
    for (const Node& node : function.nodes) {  // inputs come before who reads them
      bool is_needed = false;
      for (int slot = 0; slot < node.num_outputs(); ++slot)
        is_needed |= dependents[node.id][slot] && sources[node.id][slot] &&
                     !copies.contains({node.id, slot});
      if (is_needed) CopyNode(scope, node, effects, copies);
    }
  }

  std::vector<Endpoint> reads() const { return reads_; }

 private:
  void CopyNode(Scope& scope, const Node& node, const Effects& effects, Copies& copies) {
    if (ReadsVariable(node)) {  // what was read, and not what would be read now
      const Endpoint here = body_->Use(scope.ValueAt({node.id, 0}), where_);
      copies.insert_or_assign(Endpoint{node.id, 0}, here);
      reads_.push_back(here);
      return;
    }
    if (!effects.Of(node).IsPure()) Refuse(node);
    NodeRequest request{.op = node.op_name,
                        .attrs = node.attrs,
                        .name = node.name,
                        .device = node.device,
                        .where = where_,
                        .source = node.source};
    for (const Endpoint& input : node.inputs) {
      const auto copy = copies.find(input);
      request.inputs.push_back(copy != copies.end() ? copy->second
                                                    : body_->Use(scope.ValueAt(input), where_));
    }
    std::vector<ValueInfo> infos;
    for (int slot = 0; slot < node.num_outputs(); ++slot)
      infos.push_back(scope.info({node.id, slot}));
    request.infos = std::move(infos);
    request.accesses.emplace();
    const NodeId made = body_->Add(std::move(request));
    for (int slot = 0; slot < node.num_outputs(); ++slot)
      copies.insert_or_assign(Endpoint{node.id, slot}, Endpoint{made, slot});
  }

  [[noreturn]] void Refuse(const Node& node) const {
    const Scope::Description& here = body_->description();
    ThrowInvalid(
        absl::StrCat("the gradient by '", x_.name(), "' is taken in ", here.what,
                     here.line.empty() ? "" : absl::StrCat(" (", here.line, ")"),
                     ", of something that was computed there from '", node.name,
                     "', which was computed from '", x_.name(),
                     "' outside and cannot be run again: compute both there, or take the gradient "
                     "outside. (What follows a return, break or continue under a condition is a "
                     "body, too.)"),
        where_);
  }

  const ScopePtr body_;
  const Value x_;
  const std::source_location where_;
  std::vector<Endpoint> reads_;  // in the body
};

}  // namespace

ComputedOutside CopyComputedOutside(const ScopePtr& body, const std::vector<Endpoint>& ys,
                                    const Value& x, const std::vector<Endpoint>& stops,
                                    const std::source_location& where) {
  std::vector<ScopePtr> path;  // from where x was made to the body
  for (ScopePtr s = body; s != nullptr; s = s == x.scope() ? nullptr : s->parent())
    path.insert(path.begin(), s);
  if (path.size() < 2) return {};
  const Endpoint own = body->Use(x, where);
  // What depends on x where the captures of each scope stand; of the last one's, what ys use.
  std::vector<std::vector<Endpoint>> wanted(path.size());  // by scope: captures of the next
  std::vector<Endpoint> begin{path[0]->Use(x, where)};
  std::vector<std::pair<Endpoint, Endpoint>> last;  // captures of the body: outside, here
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const grad::Marks outside = Dependents(*path[i], begin, {});
    begin.clear();
    Scope& inner = *path[i + 1];
    for (const Value& capture : std::vector<Value>(inner.captures())) {
      const Endpoint at{capture.node(), capture.slot()}, here = inner.Use(capture, where);
      if (!outside[at.node][at.slot]) continue;
      if (&inner != body.get()) {
        begin.push_back(here);
        wanted[i].push_back(at);
        continue;
      }
      if (here == own || std::find(stops.begin(), stops.end(), here) != stops.end()) continue;
      const grad::Marks inside = Dependents(inner, {here}, stops);
      if (std::any_of(ys.begin(), ys.end(),
                      [&](const Endpoint& y) { return inside[y.node][y.slot]; })) {
        last.emplace_back(at, here);
        wanted[i].push_back(at);
      }
    }
  }
  if (last.empty()) return {};
  Copier copier(body, x, where);
  Copies copies{{path[0]->Use(x, where), own}};
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    copier.Copy(*path[i], wanted[i], copies);
    if (i + 2 == path.size()) break;
    Copies next;
    for (const Value& capture : std::vector<Value>(path[i + 1]->captures())) {
      const auto copy = copies.find(Endpoint{capture.node(), capture.slot()});
      if (copy != copies.end()) next.emplace(path[i + 1]->Use(capture, where), copy->second);
    }
    copies = std::move(next);
  }
  ComputedOutside found;
  for (const auto& [at, here] : last) found.copies.emplace_back(here, copies.at(at));
  found.reads = copier.reads();
  return found;
}

}  // namespace gyre::internal
