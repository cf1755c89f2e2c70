// Sessions from programs written down as text (ir/text/printer.h), for tests of engines.
#pragma once

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "gyre/core/session.h"

namespace gyre::testing {

// %y takes from a queue what the target %put puts there, in the same run: 16.
inline constexpr char kDequeueBeforeEnqueue[] = R"(
graph {
  %q = FIFOQueueV2() component_types=[float32] shared_name="q" : resource
  %x = Const() value=float32{4} : float32
  %y = QueueDequeueV2(%q) component_types=[float32] : float32
  %slow = Square(%x) : float32
  %put = QueueEnqueueV2(%q, %slow)
}
)";

// A session for `text`; a failed test and null when it does not parse.
std::unique_ptr<Session> SessionFor(const std::string& text, const SessionOptions& options = {});

// The first fetch as a scalar T; a failed test and T() when the run fails.
template <typename T>
T RunScalar(Session& session, const Feeds& feeds, const std::string& fetch,
            const RunOptions& options = {}) {
  const absl::StatusOr<std::vector<Tensor>> result = session.Run(feeds, {fetch}, {}, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return T();
  EXPECT_EQ((*result)[0].dtype(), DTypeOf<T>);
  EXPECT_EQ((*result)[0].num_elements(), 1);
  return (*result)[0].scalar<T>();
}

// The status of a run that fetches one thing.
absl::Status RunStatus(Session& session, const Feeds& feeds, const std::string& fetch,
                       const RunOptions& options = {});

}  // namespace gyre::testing
