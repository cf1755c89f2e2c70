#include "passes/raise/contexts.h"

#include <algorithm>
#include <utility>

namespace gyre::raise {

SymbolId Contexts::AddSymbol(int outcomes, bool is_loop) {
  symbols_.push_back({outcomes, is_loop});
  return static_cast<SymbolId>(symbols_.size()) - 1;
}

std::vector<Choice> Contexts::Choices(ContextId c) const {
  std::vector<Choice> choices;
  for (; c > kAlways; c = nodes_[c].parent) choices.push_back(nodes_[c].choice);
  work_ += static_cast<int64_t>(choices.size());
  std::reverse(choices.begin(), choices.end());
  return choices;
}

std::optional<int> Contexts::ValueOf(ContextId c, SymbolId symbol) const {
  for (; c > kAlways; c = nodes_[c].parent) {
    ++work_;
    if (nodes_[c].choice.symbol == symbol) return nodes_[c].choice.value;
  }
  return std::nullopt;
}

ContextId Contexts::Child(ContextId parent, Choice choice) {
  ++work_;
  const auto [found, is_new] =
      children_.try_emplace({parent, {choice.symbol, choice.value}}, nodes_.size());
  if (is_new) nodes_.push_back({parent, choice, nodes_[parent].depth + 1});
  return found->second;
}

ContextId Contexts::With(ContextId c, Choice choice) {
  if (c == kNever) return kNever;
  if (const std::optional<int> known = ValueOf(c, choice.symbol))
    return *known == choice.value ? c : kNever;
  if (!is_loop(choice.symbol) || c == kAlways) return Child(c, choice);
  ContextId all = Child(kAlways, choice);
  for (const Choice& each : Choices(c)) all = Child(all, each);
  return all;
}

ContextId Contexts::And(ContextId a, ContextId b) {
  if (a == kNever || b == kNever) return kNever;
  if (a == b || b == kAlways) return a;
  if (a == kAlways) return b;
  if (nodes_[a].depth < nodes_[b].depth) std::swap(a, b);
  ContextId above = a;
  while (nodes_[above].depth > nodes_[b].depth) above = nodes_[above].parent, ++work_;
  if (above == b) return a;
  for (const Choice& each : Choices(b)) {
    a = With(a, each);
    if (a == kNever) return kNever;
  }
  return a;
}

std::optional<ContextId> Contexts::Or(std::vector<ContextId> any) {
  std::erase(any, kNever);
  if (any.empty()) return kNever;
  while (true) {
    std::sort(any.begin(), any.end(), [&](ContextId a, ContextId b) {
      return std::pair(nodes_[a].depth, a) > std::pair(nodes_[b].depth, b);
    });
    any.erase(std::unique(any.begin(), any.end()), any.end());
    if (any.size() == 1) return any.front();
    if (any.back() == kAlways) return kAlways;
    // The deepest, with all that differ from it in the last choice alone.
    const Node deepest = nodes_[any.front()];
    std::vector<ContextId> sides;
    for (int value = 0; value < outcomes(deepest.choice.symbol); ++value) {
      ++work_;
      const auto side = children_.find({deepest.parent, {deepest.choice.symbol, value}});
      if (side == children_.end() || std::find(any.begin(), any.end(), side->second) == any.end()) {
        return std::nullopt;
      }
      sides.push_back(side->second);
    }
    std::erase_if(
        any, [&](ContextId c) { return std::find(sides.begin(), sides.end(), c) != sides.end(); });
    any.push_back(deepest.parent);
  }
}

ContextId Contexts::Within(ContextId around, ContextId c) {
  if (c == kNever || around == kNever) return kNever;
  ContextId above = c;
  while (nodes_[above].depth > nodes_[around].depth) above = nodes_[above].parent, ++work_;
  if (above == around) return c;
  for (const Choice& each : Choices(c)) {
    const std::optional<int> known = ValueOf(around, each.symbol);
    if (known.has_value() && *known != each.value) return kNever;
    if (!known.has_value()) around = Child(around, each);
  }
  return around;
}

Choice Contexts::FirstAfter(ContextId around, ContextId c) const {
  while (nodes_[c].parent != around) c = nodes_[c].parent, ++work_;
  return nodes_[c].choice;
}

ContextId Contexts::Common(const std::vector<ContextId>& all) {
  ContextId common = kAlways;
  for (const Choice& each : Choices(all.front())) {
    const bool is_everywhere = std::all_of(
        all.begin(), all.end(), [&](ContextId c) { return ValueOf(c, each.symbol) == each.value; });
    if (is_everywhere) common = Child(common, each);
  }
  return common;
}

ContextId Contexts::Without(ContextId c, SymbolId symbol) {
  ContextId rest = kAlways;
  for (const Choice& each : Choices(c)) {
    if (each.symbol != symbol) rest = Child(rest, each);
  }
  return rest;
}

bool Contexts::Implies(ContextId b, ContextId a) const {
  if (b == kNever || a == kAlways) return true;
  if (a == kNever) return false;
  ContextId above = b;
  while (nodes_[above].depth > nodes_[a].depth) above = nodes_[above].parent, ++work_;
  if (above == a) return true;
  for (; a > kAlways; a = nodes_[a].parent) {
    if (ValueOf(b, nodes_[a].choice.symbol) != nodes_[a].choice.value) return false;
  }
  return true;
}

}  // namespace gyre::raise
