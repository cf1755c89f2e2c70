#include "cluster/step_failure.h"

#include <gtest/gtest.h>

namespace gyre::cluster {
namespace {

TEST(StepFailure, SaysWhereTheOthersWereAndNothingOfThoseThatDoNotKnow) {
  const absl::Status gone = absl::UnavailableError("worker 1 (b) is gone: Socket closed");
  const absl::Status failure = StepFailure(
      gone, {{"worker 0 (a)", true,
              absl::UnavailableError("worker 1 (b) is gone: shared memory was closed\n"
                                     "  at node x (Mul)\n  in iteration 3")},
             {"worker 1 (b)", true, absl::UnavailableError("worker 1 (b) is gone: Socket closed")},
             {"worker 2 (c)", true, absl::CancelledError("the step was given up")},
             {"worker 3 (d)", true,
              absl::CancelledError("worker 1 (b) is gone: Socket closed\n  at node y (Add)")},
             {"worker 4 (e)", false, absl::OkStatus()}});
  EXPECT_EQ(failure.message(),
            "worker 1 (b) is gone: Socket closed\n"
            "  worker 0 (a) was at:\n  at node x (Mul)\n  in iteration 3\n"
            "  on worker 1 (b)\n"
            "  worker 3 (d) was at:\n  at node y (Add)\n"
            "  worker 4 (e) has not stopped in time");
}

}  // namespace
}  // namespace gyre::cluster
