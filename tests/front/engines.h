// What tests of the front end share: a graph that is current, sessions of each engine for it, and
// messages of errors. One test, one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "gyre/gyre.h"
#include "ir/program.h"

namespace gyre::testing {

// Tests that hold for every engine, and for programs after all passes: TEST_P(Name, …), where Name
// is an alias of this class.
class OnEngine : public ::testing::TestWithParam<std::string> {
 protected:
  // What the graph computes, in a session of its own whose variables are initialised.
  template <typename T>
  T Eval(const Value& value, const FeedList& feeds = {}) {
    const Tensor result = EvalTensor(value, feeds);
    EXPECT_EQ(result.dtype(), DTypeOf<T>);
    EXPECT_EQ(result.num_elements(), 1) << result.shape().ToString();
    return result.scalar<T>();
  }
  template <typename T>
  std::vector<T> EvalVector(const Value& value, const FeedList& feeds = {}) {
    const Tensor result = EvalTensor(value, feeds);
    EXPECT_EQ(result.dtype(), DTypeOf<T>);
    return {result.values<T>().begin(), result.values<T>().end()};
  }
  Tensor EvalTensor(const Value& value, const FeedList& feeds = {}) {
    GraphSession session(graph, options());
    session.initialize();
    return session.eval(value, feeds);
  }

  // Runs the program once and returns what it printed.
  std::string Printed(const FeedList& feeds = {}) {
    GraphSession session(graph, options());
    session.initialize();
    printed_.clear();
    session.run({}, feeds);
    return printed_;
  }

  SessionOptions options() {
    const bool is_optimized = GetParam() == "optimized";
    return {.engine = is_optimized ? EngineKind::kDataflow : *ParseEngineKind(GetParam()),
            .form = is_optimized ? ProgramForm::kOptimized : ProgramForm::kImported,
            .print = [this](absl::string_view, absl::string_view text) {
              absl::StrAppend(&printed_, text);
            }};
  }

  Graph graph;

 private:
  GraphScope in_{graph};
  std::string printed_;
};

inline std::string EngineName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

#define GYRE_ON_EACH_ENGINE(Suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite,                                          \
                           ::testing::Values("reference", "dataflow", "optimized"), \
                           ::gyre::testing::EngineName)

// The message of the Error that `build` throws; a failed test if there is none.
inline std::string ErrorOf(const std::function<void()>& build) {
  try {
    build();
  } catch (const Error& error) {
    return std::string(error.status().message());
  }
  ADD_FAILURE() << "no error";
  return "";
}

// "file.cc:12" of the line that calls it, as errors name it.
inline std::string Here(int below = 0,
                        std::source_location where = std::source_location::current()) {
  return absl::StrCat(where.file_name(), ":", where.line() + below);
}

inline void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_TRUE(absl::StrContains(text, part)) << "no '" << part << "' in: " << text;
}

inline Value Scalar(DType dtype) { return placeholder(dtype, PartialShape::Scalar()); }
inline Value Int() { return Scalar(DType::kInt32); }
inline Value Float() { return Scalar(DType::kFloat); }
inline Tensor I(int32_t value) { return Tensor::Scalar<int32_t>(value); }
inline Tensor F(float value) { return Tensor::Scalar<float>(value); }

}  // namespace gyre::testing
