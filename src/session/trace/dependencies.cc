#include "session/trace/dependencies.h"

#include <tuple>

#include "base/hash_map.h"

namespace gyre::trace {
namespace {

// How a node's token travels from where it fires to where it is taken.
enum class Travel : uint8_t { kStays, kEnters, kLeaves, kNext };

Travel TravelOf(const std::string& op) {
  if (op == "Enter" || op == "RefEnter") return Travel::kEnters;
  if (op == "Exit" || op == "RefExit") return Travel::kLeaves;
  if (op == "NextIteration" || op == "RefNextIteration") return Travel::kNext;
  return Travel::kStays;
}

// A node, and the frame and iteration in which its token is found.
using Found = std::tuple<const void*, int, uint64_t, int64_t>;

std::pair<uint64_t, int64_t> OuterOf(const Timeline& timeline, uint64_t frame) {
  const auto it = timeline.outers.find(frame);
  return it == timeline.outers.end() ? std::pair<uint64_t, int64_t>() : it->second;
}

}  // namespace

std::vector<std::vector<int32_t>> FindDependencies(const Timeline& timeline) {
  HashMap<std::pair<const void*, int>, Travel> travels;
  for (const NodeEntry& node : timeline.nodes)
    if (node.graph != nullptr) travels[{node.graph, node.number}] = TravelOf(node.op);

  // What leaves a loop is found outside; what enters one and what goes on, where it fired.
  HashMap<Found, int32_t> fired;
  for (size_t i = 0; i < timeline.firings.size(); ++i) {
    const FiringEntry& firing = timeline.firings[i];
    const NodeEntry& node = timeline.nodes[firing.node];
    if (node.graph == nullptr) continue;
    std::pair<uint64_t, int64_t> at(firing.frame, firing.iteration);
    if (TravelOf(node.op) == Travel::kLeaves) at = OuterOf(timeline, firing.frame);
    fired.try_emplace({node.graph, node.number, at.first, at.second}, static_cast<int32_t>(i));
  }

  std::vector<std::vector<int32_t>> after(timeline.firings.size());
  for (size_t i = 0; i < timeline.firings.size(); ++i) {
    const FiringEntry& firing = timeline.firings[i];
    const NodeEntry& node = timeline.nodes[firing.node];
    const bool is_merge = node.op == "Merge" || node.op == "RefMerge";
    for (const int source : node.sources) {
      const auto travel = travels.find({node.graph, source});
      if (travel == travels.end()) continue;
      std::pair<uint64_t, int64_t> at(firing.frame, firing.iteration);
      if (travel->second == Travel::kNext) --at.second;
      if (travel->second == Travel::kEnters) {
        if (is_merge && firing.iteration > 0) continue;  // what entered was merged in iteration 0
        at = OuterOf(timeline, firing.frame);
      }
      const auto it = fired.find({node.graph, source, at.first, at.second});
      if (it != fired.end() && it->second < static_cast<int32_t>(i)) after[i].push_back(it->second);
    }
  }
  return after;
}

}  // namespace gyre::trace
