// ClockOffset: by how much a worker's clock is ahead of the client's, estimated from questions and
// answers: what it says, it said at some time between both (Cristian: Probabilistic clock
// synchronization, 1989). A value; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace gyre::cluster {

class ClockOffset {
 public:
  // The question was sent, and the answer heard, at these times of the client's clock; the worker's
  // said `theirs`. Times that no clock shows are passed over.
  void Add(int64_t sent, int64_t theirs, int64_t heard) {
    if (sent < 0 || heard < sent || theirs <= 0 || theirs > kMostNanos) return;
    const int64_t error = (heard - sent) / 2 + 1;
    if (error > ErrorAt(heard)) return;
    nanos_ = theirs - (sent + (heard - sent) / 2);
    error_ = error;
    heard_ = heard;
  }
  // To be taken from the worker's times. 0 where, as far as can be told, both look at one clock:
  // all processes of a machine do.
  int64_t nanos() const { return std::abs(nanos_) <= error_ ? 0 : nanos_; }

 private:
  // Crystals differ by so much.
  static constexpr int64_t kDriftPerMillion = 100;
  static constexpr int64_t kMostNanos = int64_t{1} << 60;

  // How far off the estimate may be by now.
  int64_t ErrorAt(int64_t now) const {
    if (heard_ < 0) return std::numeric_limits<int64_t>::max();
    return error_ + std::max<int64_t>(now - heard_, 0) / 1'000'000 * kDriftPerMillion;
  }

  int64_t nanos_ = 0, error_ = 0, heard_ = -1;
};

}  // namespace gyre::cluster
