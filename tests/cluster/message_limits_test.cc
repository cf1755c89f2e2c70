// What is too large for one message is refused by name, before anything is sent, and leaves the
// session as it was.
#include <gmock/gmock.h>

#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using test::Workers;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMost = 1000;

constexpr char kProgram[] = R"(graph {
  %x = Placeholder() dtype=float32 shape=(?) : float32[?]
  %s = Placeholder() dtype=string shape=(?) : string[?]
  %n = Placeholder() dtype=int32 shape=(1) : int32[1]
  %one = Const() value=float32{1} : float32
  %ones = Fill(%n, %one) : float32[?] on "/job:worker/task:1"
  %y = Neg(%x) : float32[?] on "/job:worker/task:1"
  %same = Identity(%s) : string[?] on "/job:worker/task:1"
})";

std::unique_ptr<Session> SmallSession(Workers& workers, int64_t most, const std::string& text) {
  cluster::ClusterSettings settings = workers.Settings();
  settings.most_payload_bytes = most;
  const auto engine = workers.Connect(settings);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return SessionFor(text, SessionOptions{.cluster = *engine});
}

Tensor Floats(int64_t n) { return *Tensor::Make(DType::kFloat, *Shape::Make({n})); }
Tensor Strings(size_t bytes) { return Tensor::Vector<std::string>({std::string(bytes, 'x')}); }

std::string RefusalOf(Session& session, const Feeds& feeds,
                      const std::vector<std::string>& fetches) {
  const absl::Status status = session.Run(feeds, fetches).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  return std::string(status.message());
}

TEST(MessageLimits, OfFeedsNameTheOneThatIsTooLarge) {
  Workers workers(2);
  const auto session = SmallSession(workers, kMost, kProgram);
  EXPECT_THAT(RefusalOf(*session, {{"x", Floats(251)}}, {"y:0"}),
              AllOf(HasSubstr("feed 'x:0' holds 1004 bytes; 1000 are the most"),
                    HasSubstr("variable on the worker")));
  EXPECT_THAT(RefusalOf(*session, {{"s", Strings(1000)}}, {"same:0"}),
              HasSubstr("feed 's:0' holds 1018 bytes; 1000 are the most"));
  EXPECT_THAT(RefusalOf(*session, {{"x", Floats(125)}, {"s", Strings(500)}}, {"y:0", "same:0"}),
              AllOf(HasSubstr(" bytes, and those before it "), HasSubstr("; 1000 are the most")));
  const auto fits = session->Run({{"x", Floats(200)}}, {"y:0"});
  EXPECT_TRUE(fits.ok()) << fits.status();
}

// As large as they come: three times what protobuf can carry. Its memory is never touched.
TEST(MessageLimits, OfFeedsAreThoseOfTheProtocol) {
  Workers workers(2);
  const auto session = workers.SessionFor(kProgram);
  EXPECT_THAT(RefusalOf(*session, {{"x", Floats(1'600'000'000)}}, {"y:0"}),
              HasSubstr("feed 'x:0' holds 6400000000 bytes; 1990000000 are the most"));
  const auto fits = session->Run({{"x", Floats(3)}}, {"y:0"});
  EXPECT_TRUE(fits.ok()) << fits.status();
}

TEST(MessageLimits, OfFetchesNameTheOneThatIsTooLargeAndItsWorker) {
  Workers workers(2, nullptr, kMost);
  const auto session = workers.SessionFor(kProgram);
  const auto n = [](int32_t size) { return Feeds{{"n", Tensor::Vector<int32_t>({size})}}; };
  EXPECT_THAT(RefusalOf(*session, n(300), {"ones:0"}),
              AllOf(HasSubstr("fetch 'ones:0' holds 1200 bytes; 1000 are the most"),
                    HasSubstr("on worker 1 (")));
  const auto fits = session->Run(n(200), {"ones:0"});
  EXPECT_TRUE(fits.ok()) << fits.status();
}

TEST(MessageLimits, OfProgramsTellTheirSize) {
  Workers workers(2);
  std::string zeros = "0";
  for (int i = 1; i < 300; ++i) absl::StrAppend(&zeros, ", ", i);
  const auto session =
      SmallSession(workers, kMost,
                   absl::StrCat("graph {\n  %c = Const() value=float32[300]{", zeros,
                                "} : float32[300]\n  %y = Neg(%c) : "
                                "float32[300] on \"/job:worker/task:1\"\n}"));
  EXPECT_THAT(RefusalOf(*session, {}, {"y:0"}),
              AllOf(HasSubstr("the program holds 1"), HasSubstr("; 1000 are the most")));
}

// A text that no message can carry is cut, and says so; the run does not wait for the rest.
TEST(MessageLimits, OfPrintedTextCutIt) {
  Workers workers(1, nullptr, kMost);
  std::mutex mutex;
  std::string printed;
  SessionOptions options;
  options.print = [&](absl::string_view, absl::string_view text) {
    const std::lock_guard lock(mutex);
    printed += std::string(text);
  };
  const auto session = workers.SessionFor(R"(graph {
    %s = Placeholder() dtype=string shape=() : string
    %print = PrintV2(%s) output_stream="stdout"
  })",
                                          options);
  const auto run = session->Run({{"s", Tensor::Scalar(std::string(1500, 'x'))}}, {}, {"print"});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(printed, std::string(1000, 'x') + "… (501 more bytes cannot leave the worker)\n");
}

}  // namespace
}  // namespace gyre::testing
