#include "cli/trace/chain.h"

#include <algorithm>

#include "base/hash_map.h"

namespace gyre::cli {
namespace {

constexpr size_t kMostLoops = 16;

// Finds, for each firing and each loop around it, the longest chain in that loop that ends there:
// firings come after what they waited for, so one pass does.
class Chains {
 public:
  explicit Chains(const TraceRun& run) : run_(run) {}

  std::map<int64_t, TraceChain> Find() {
    if (run_.after.empty()) return {};
    begins_.reserve(run_.firings.size() + 1);
    for (const TraceFiring& firing : run_.firings) Add(firing);
    return std::move(longest_);
  }

 private:
  using Loops = std::vector<int64_t>;  // around a place, outermost first

  const Loops& LoopsAround(int64_t place) {
    static const Loops kNone;
    const auto known = loops_.find(place);
    if (known != loops_.end()) return known->second;
    Loops loops;
    auto it = run_.places.find(place);
    for (; it != run_.places.end(); it = run_.places.find(it->second.parent))
      if (it->second.kind == TracePlace::Kind::kLoop) loops.push_back(it->first);
    std::reverse(loops.begin(), loops.end());
    if (loops.size() > kMostLoops) loops.resize(kMostLoops);
    return loops.empty() && place < 0 ? kNone
                                      : loops_.emplace(place, std::move(loops)).first->second;
  }

  void Add(const TraceFiring& firing) {
    const Loops loops = LoopsAround(firing.place);
    const size_t begin = chains_.size();
    chains_.resize(begin + loops.size());
    for (uint32_t a = firing.after_begin; a < firing.after_end; ++a) {
      const auto source = index_.find(run_.after[a]);
      if (source == index_.end()) continue;
      const Loops& theirs = LoopsAround(run_.firings[source->second].place);
      const size_t shared = std::min(loops.size(), theirs.size());
      for (size_t i = 0; i < shared && loops[i] == theirs[i]; ++i) {
        const TraceChain& before = chains_[begins_[source->second] + i];
        if (before.time >= chains_[begin + i].time) chains_[begin + i] = before;
      }
    }
    for (size_t i = 0; i < loops.size(); ++i) {
      TraceChain& chain = chains_[begin + i];
      chain.time += static_cast<double>(firing.end - firing.begin);
      ++chain.firings;
      TraceChain& longest = longest_[loops[i]];
      if (chain.time > longest.time) longest = chain;
    }
    if (firing.id >= 0) index_.try_emplace(firing.id, begins_.size());
    begins_.push_back(begin);
  }

  const TraceRun& run_;
  HashMap<int64_t, Loops> loops_;          // by place
  HashMap<int64_t, size_t> index_;         // by id, of the firings seen
  std::vector<size_t> begins_;             // by firing: where its chains begin
  std::vector<TraceChain> chains_;         // one per firing and loop around it
  std::map<int64_t, TraceChain> longest_;  // by loop
};

}  // namespace

std::map<int64_t, TraceChain> LongestChains(const TraceRun& run) { return Chains(run).Find(); }

}  // namespace gyre::cli
