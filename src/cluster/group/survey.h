// Survey: what a rank finds out about a run in which nothing comes: it asks all ranks where they
// are, itself among them, again and again.
//
// A rank that has ended the run will not come. Ranks that all wait, and have done nothing since the
// last time, wait for each other: for ever, if it stays so for long enough. A rank that computes,
// or has not begun, may still come. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cluster/proto/group.pb.h"

namespace gyre::cluster {

class Survey {
 public:
  explicit Survey(int num_ranks) : answers_(static_cast<size_t>(num_ranks)) {}

  // Whether to ask now: the last time is long enough ago, and answered.
  bool IsDue(int64_t now) const;
  // Asks: the number of the question.
  uint64_t Ask(int64_t now);
  // False: of an old question.
  bool Note(int rank, const proto::Whereabouts& answer, int64_t now);
  // So many nanoseconds has everybody waited for somebody else, as far as is known.
  int64_t stalled_nanos() const { return stalled_nanos_; }
  // Null: that rank has not answered.
  const proto::Whereabouts* answer(int rank) const {
    const auto& answer = answers_[static_cast<size_t>(rank)];
    return answer ? &*answer : nullptr;
  }
  // Something has come.
  void Reset() { stalled_since_.reset(), stalled_nanos_ = 0; }

 private:
  uint64_t number_ = 0;
  int64_t asked_nanos_ = 0;
  std::vector<std::optional<proto::Whereabouts>> answers_;
  std::vector<uint64_t> activities_;  // of all ranks, when they were first found waiting
  std::optional<int64_t> stalled_since_;
  int64_t stalled_nanos_ = 0;
};

// "node x in loop while, iteration 3", for people.
std::string PlaceText(const std::string& node,
                      const std::vector<std::pair<std::string, int64_t>>& loops);

}  // namespace gyre::cluster
