// Experiments whose allocations fail, one at a time: what tests of faults have in common. For the
// thread of the test.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "support/transcript.h"

namespace gyre::faults {

using Results = std::vector<testing::RunResult>;

// What is done, again and again, with one of its allocations failing. Gives the same each time when
// none does.
struct Experiment {
  std::string what;
  std::function<void(Results&)> act;    // there is room for its results: adding them cannot fail
  std::function<void()> begin = [] {};  // before; what it allocates does not fail
  std::function<void()> end = [] {};
};

// Nullopt when it is what was wanted, up to where memory ran out.
std::optional<std::string> Complaint(const Results& got, const Results& want);

// What `act` adds for something that has no values.
testing::RunResult ResultOf(const absl::Status& status);

using testing::Setting;
std::vector<Setting> Settings();

// How many allocations of an experiment fail: all of them under GYRE_TEST_LONG.
int64_t Most(int64_t in_short);

// Says at the end how much was tried. What a test draws, it draws from random_.
class AllocationFaults : public ::testing::Test {
 protected:
  void TearDown() override;

  // Lets up to `most` allocations of the experiment fail, one at a time: it gives an error of the
  // user's grammar or what it gives otherwise, and afterwards it gives the same as before.
  void Try(const Experiment& experiment, int64_t most);
  // Calls `work`, which leaves nothing behind. Before, it is called with 0 for what is made once
  // and stays.
  void LeavesNothing(const std::string& what, const std::function<void(int64_t most)>& work,
                     const SessionOptions& options, int64_t most);

  std::mt19937_64 random_{testing::TestSeed()};

 private:
  // How many allocations of how many experiments have failed.
  struct Tally {
    int64_t experiments = 0;
    int64_t allocations = 0;
    int64_t failed = 0;
  };

  Tally tally_;
};

}  // namespace gyre::faults
