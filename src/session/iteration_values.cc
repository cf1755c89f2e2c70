#include <algorithm>
#include <cstring>
#include <mutex>

#include "gyre/core/debug.h"
#include "session/surroundings.h"
#include "session/watched_value.h"

namespace gyre {
namespace {

// What keeping a value takes besides its bytes, about.
constexpr int64_t kEntryBytes = 160;

struct Kept {
  uint64_t instance = 0;  // of the innermost loop
  IterationValue value;
};

Kept Keep(const Firing& firing, Tensor value) {
  Kept kept;
  for (size_t i = 0; i < firing.around.size(); ++i) {
    const Surrounding& s = firing.around[i];
    if (!IsLoop(s.kind)) continue;
    kept.value.iterations.push_back(s.iteration);
    kept.value.loops.emplace_back(s.name);
    kept.instance = LoopInstance(firing.around, i);
  }
  kept.value.value = std::move(value);
  return kept;
}

// Whether they are the iterations 0, 1, … of one loop, alike enough to be rows of one tensor.
bool CanStack(const std::vector<Kept>& kept) {
  if (kept.empty()) return false;
  const Kept& first = kept.front();
  for (size_t i = 0; i < kept.size(); ++i) {
    const IterationValue& v = kept[i].value;
    if (v.iterations.size() != 1 || v.iterations[0] != static_cast<int64_t>(i)) return false;
    if (kept[i].instance != first.instance || v.loops != first.value.loops) return false;
    if (v.value.dtype() != first.value.value.dtype() || !IsTrivial(v.value.dtype())) return false;
    if (v.value.shape() != first.value.value.shape()) return false;
  }
  return true;
}

}  // namespace

struct IterationValues::State {
  std::vector<WatchedOutput> outputs;
  int64_t max_bytes = 0;
  mutable std::mutex mutex;  // guards what follows
  int64_t bytes = 0;
  std::vector<std::vector<Kept>> kept;  // by output
  std::vector<int64_t> left_out;

  std::vector<Kept> Sorted(size_t i) const {
    std::vector<Kept> sorted;
    {
      const std::lock_guard lock(mutex);
      sorted = kept[i];
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const Kept& a, const Kept& b) {
      return a.value.iterations < b.value.iterations;
    });
    return sorted;
  }
};

IterationValues::IterationValues(std::vector<WatchedOutput> outputs, int64_t max_bytes)
    : state_(std::make_unique<State>()) {
  state_->kept.resize(outputs.size());
  state_->left_out.resize(outputs.size());
  state_->outputs = std::move(outputs);
  state_->max_bytes = max_bytes;
}

IterationValues::~IterationValues() = default;

absl::Status IterationValues::OnFired(const Firing& firing) {
  for (size_t i = 0; i < state_->outputs.size(); ++i) {
    std::optional<Tensor> value = ValueOf(state_->outputs[i], firing);
    if (!value) continue;
    const std::lock_guard lock(state_->mutex);
    const int64_t bytes = static_cast<int64_t>(value->bytes()) + kEntryBytes;
    if (bytes > state_->max_bytes - state_->bytes) {
      ++state_->left_out[i];
      continue;
    }
    state_->bytes += bytes;
    state_->kept[i].push_back(Keep(firing, *std::move(value)));
  }
  return absl::OkStatus();
}

RemoteWatch IterationValues::remote() const {
  return {.firings = false, .values = false, .outputs = state_->outputs};
}

std::vector<IterationValue> IterationValues::Get(size_t i) const {
  std::vector<IterationValue> values;
  for (Kept& kept : state_->Sorted(i)) values.push_back(std::move(kept.value));
  return values;
}

std::optional<Tensor> IterationValues::Stacked(size_t i) const {
  const std::vector<Kept> kept = state_->Sorted(i);
  if (!CanStack(kept) || left_out(i) > 0) return std::nullopt;
  const Tensor& first = kept.front().value.value;
  std::vector<int64_t> dims = {static_cast<int64_t>(kept.size())};
  for (int d = 0; d < first.rank(); ++d) dims.push_back(first.dim(d));
  const absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return std::nullopt;
  absl::StatusOr<Tensor> stacked = Tensor::Make(first.dtype(), *shape);
  if (!stacked.ok()) return std::nullopt;
  char* to = static_cast<char*>(stacked->mutable_raw_data());
  for (const Kept& row : kept) {
    if (first.bytes() > 0) std::memcpy(to, row.value.value.raw_data(), first.bytes());
    to += first.bytes();
  }
  return *std::move(stacked);
}

int64_t IterationValues::left_out(size_t i) const {
  const std::lock_guard lock(state_->mutex);
  return state_->left_out[i];
}

}  // namespace gyre
