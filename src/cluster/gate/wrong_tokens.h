// WrongTokens: what wrong tokens cost those who show them. The answer comes later with each one of
// the same host's, and of hosts that have shown one, only so many tokens are looked at in a second.
// A host that has been quiet for a minute is forgotten. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/hash_map.h"

namespace gyre::cluster {

class WrongTokens {
 public:
  // Of one host, and of all of them.
  static constexpr int kMostTries = 1000;
  static constexpr int kMostTriesOfAll = 4000;
  static constexpr int64_t kPerNanos = 1'000'000'000;
  static constexpr int64_t kFirstDelayNanos = 100'000'000;
  static constexpr int64_t kMostDelayNanos = 1'000'000'000;
  static constexpr int64_t kForgetNanos = 60'000'000'000;
  static constexpr int64_t kReportNanos = 10'000'000'000;

  // Whether a token of `host` is to be looked at now.
  bool MayTry(const std::string& host, int64_t now);
  // It was wrong: after how long to say so.
  int64_t Add(const std::string& host, int64_t now);
  // Who has shown how many since the last report, for people; empty where there is none, or it is
  // too early for another.
  std::string Report(int64_t now);

 private:
  struct Host {
    int wrong = 0;   // since it was last quiet
    int untold = 0;  // since the last report
    int tries = 0;   // in the second that began at `second`
    int64_t last = 0;
  };
  void Forget(int64_t now);

  HashMap<std::string, Host> hosts_;
  int64_t second_ = 0;  // when it began
  int tries_ = 0;       // of all hosts, since then
  int untold_ = 0;
  int64_t next_report_ = 0;
};

}  // namespace gyre::cluster
