// Groups of two ranks in one process: what they compute, and what they make of a rank that sends
// garbage.
#include "cluster/group/group.h"

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "gmock/gmock.h"
#include "ops/evaluate.h"
#include "support/cluster/test_host.h"

namespace gyre::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMs = 1'000'000;

GroupSettings SettingsOf(int rank, test::TestHost& zero, test::TestHost& one) {
  GroupSettings settings;
  settings.rank = rank;
  settings.members = {{10, zero.channel_address()}, {11, one.channel_address()}};
  settings.secret = "the secret of a group";
  settings.failure_nanos = 20 * kSecond;
  return settings;
}

// One collective of a rank, which has no run around it: what comes of it.
absl::StatusOr<Tensor> Call(Group& group, Collective collective,
                            int64_t deadline_nanos = Cancellation::kNoDeadline,
                            const std::string& node_name = "node") {
  Cancellation cancellation(deadline_nanos);
  RunEnv env;
  env.cancellation = &cancellation;
  Node node;
  node.name = node_name;
  KernelContext ctx(node, env, Tag(), {}, {});
  absl::StatusOr<Tensor> result = absl::UnknownError("not called back");
  group.Start(ctx, std::move(collective),
              [&](absl::StatusOr<Tensor> got) { result = std::move(got); });
  return result;
}

Collective Reduce(Tensor input) {
  Collective collective{.kind = Collective::Kind::kReduce};
  collective.dtype = input.dtype();
  collective.input = std::move(input);
  return collective;
}

class TwoRanks : public ::testing::Test {
 protected:
  TwoRanks() : zero_(host_zero_, SettingsOf(0, host_zero_, host_one_)) {}

  // Ticks, as owners of groups do.
  void TickBoth(Group& one) {
    ticks_.push_back(host_zero_.Every(kMs, [this] { zero_.Tick(); }));
    ticks_.push_back(host_one_.Every(kMs, [&one] { one.Tick(); }));
  }
  ~TwoRanks() override { ticks_.clear(); }

  test::TestNetwork network_;
  test::TestHost host_zero_{network_, "zero"}, host_one_{network_, "one"};
  Group zero_;
  std::vector<std::shared_ptr<void>> ticks_;
};

TEST_F(TwoRanks, MeetInOneCollectiveAfterTheOther) {
  Group one(host_one_, SettingsOf(1, host_zero_, host_one_));
  std::thread other([&] {
    ASSERT_TRUE(one.Connect(SystemClock().NowNanos() + kSecond * 60).ok());
    for (int i = 0; i < 100; ++i) {
      const auto sum = Call(one, Reduce(Tensor::Vector<float>({1, 2, 3})));
      ASSERT_TRUE(sum.ok()) << sum.status();
      EXPECT_THAT(sum->values<float>(), ElementsAre(11, 22, 33));
    }
  });
  ASSERT_TRUE(zero_.Connect(SystemClock().NowNanos() + kSecond * 60).ok());
  for (int i = 0; i < 100; ++i) {
    const auto sum = Call(zero_, Reduce(Tensor::Vector<float>({10, 20, 30})));
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_THAT(sum->values<float>(), ElementsAre(11, 22, 33));
  }
  other.join();
}

TEST_F(TwoRanks, SayWhoDisagrees) {
  Group one(host_one_, SettingsOf(1, host_zero_, host_one_));
  std::string theirs;
  std::thread other([&] {
    ASSERT_TRUE(one.Connect(SystemClock().NowNanos() + kSecond * 60).ok());
    theirs = Call(one, Reduce(Tensor::Vector<float>({1, 2})), Cancellation::kNoDeadline, "there")
                 .status()
                 .ToString();
  });
  ASSERT_TRUE(zero_.Connect(SystemClock().NowNanos() + kSecond * 60).ok());
  const std::string mine =
      Call(zero_, Reduce(Tensor::Vector<double>({1})), Cancellation::kNoDeadline, "here")
          .status()
          .ToString();
  other.join();
  for (const std::string& text : {mine, theirs}) {
    EXPECT_THAT(text, HasSubstr("INVALID_ARGUMENT: the ranks disagree: rank "));
    EXPECT_THAT(text, HasSubstr("float64 [1]"));
    EXPECT_THAT(text, HasSubstr("float32 [2]"));
    EXPECT_THAT(text, HasSubstr("node here (all_reduce)"));
    EXPECT_THAT(text, HasSubstr("node there (all_reduce)"));
  }
}

// Rank 1 knows the secret, and says what it likes.
TEST_F(TwoRanks, SurviveARankThatSendsGarbage) {
  Mesh::Options options;
  options.incarnation = 11;
  Mesh mesh(host_one_, options, {});
  ASSERT_TRUE(mesh.Expect(10, "rank 0", host_zero_.channel_address(), Transport::kAuto,
                          "the secret of a group", true)
                  .ok());
  std::atomic<bool> ends{false};
  std::thread polls([&] {
    while (!ends) mesh.Tick();
  });
  ASSERT_TRUE(zero_.Connect(SystemClock().NowNanos() + kSecond * 60).ok());
  while (mesh.Find(10) == nullptr) std::this_thread::yield();
  const RankWays ways(1, {"rank 0", "rank 1"});
  const auto routes = std::make_shared<const Routes>(Routes{{"0", mesh.Find(10)}, {"1", nullptr}});

  proto::Contribution sound;
  sound.set_kind(static_cast<int>(Collective::Kind::kReduce));
  sound.set_has_input(true);
  sound.set_dtype(static_cast<int>(DType::kFloat));
  sound.add_dims(2);
  sound.set_node("node");
  sound.set_data(std::string(8, '\1'));
  std::vector<proto::Contribution> messages(12, sound);
  messages[1].set_kind(77);
  messages[2].set_kind(-1);
  messages[3].set_merge(99);
  messages[4].set_dtype(12345);
  messages[5].set_dtype(-7);
  messages[6].add_dims(1LL << 62);
  messages[7].set_data("short");
  messages[8].set_data(std::string(5000, 'x'));
  messages[9].clear_data();  // its pieces never come
  messages[10].add_members(-3);
  messages[11].set_kind(static_cast<int>(Collective::Kind::kBroadcast));
  std::vector<std::string> bytes;
  for (const auto& message : messages) bytes.push_back(message.SerializeAsString());
  std::mt19937_64 random(20261127);
  for (int i = 0; i < 300; ++i) {
    std::string mutated = bytes[0];
    for (int flips = 0; flips < 1 + i % 4; ++flips)
      mutated[random() % mutated.size()] = static_cast<char>(random());
    mutated.resize(random() % 8 == 0 ? random() % mutated.size() : mutated.size());
    bytes.push_back(std::move(mutated));
  }

  int refused = 0;
  for (size_t run = 1; run <= bytes.size(); ++run) {
    auto step = mesh.Begin(run, routes, nullptr);
    ASSERT_TRUE(step.ok()) << step.status();
    // Found by the keys of a collective outside of any loop: where a sound rank sends it.
    std::thread sends([&] {
      const auto* const begin = reinterpret_cast<const uint8_t*>(bytes[run - 1].data());
      const Tensor value =
          Tensor::FromValues<uint8_t>(absl::MakeConstSpan(begin, bytes[run - 1].size()),
                                      Shape::Vector(static_cast<int64_t>(bytes[run - 1].size())));
      EXPECT_TRUE((*step)
                      ->Send(ways.to[0].contributions, Exchange::TagOf(Tag(), 0, 0), {value, false})
                      .ok());
      mesh.Flush();
    });
    const auto got =
        Call(zero_, Reduce(Tensor::Vector<float>({1, 2})), SystemClock().NowNanos() + 100 * kMs);
    sends.join();
    mesh.End(run);
    if (run == 1) {
      EXPECT_TRUE(got.ok()) << got.status();
    }
    if (got.ok()) continue;
    ++refused;
    if (!absl::IsDeadlineExceeded(got.status())) {
      EXPECT_THAT(std::string(got.status().message()), HasSubstr("rank 1"));
    }
  }
  EXPECT_GT(refused, 100);
  ends = true;
  polls.join();
}

TEST(Survey, FindsWhoWaitsForEachOther) {
  Survey survey(2);
  const auto answer = [](uint64_t number, proto::Whereabouts::State state, uint64_t activity) {
    proto::Whereabouts told;
    told.set_number(number);
    told.set_state(state);
    told.set_activity(activity);
    return told;
  };
  EXPECT_TRUE(survey.IsDue(0));
  uint64_t number = survey.Ask(0);
  EXPECT_FALSE(survey.IsDue(kMs));
  EXPECT_TRUE(survey.Note(0, answer(number, proto::Whereabouts::IDLE, 3), kMs));
  EXPECT_EQ(survey.stalled_nanos(), 0);
  EXPECT_TRUE(survey.Note(1, answer(number, proto::Whereabouts::IDLE, 5), 2 * kMs));
  EXPECT_FALSE(survey.Note(1, answer(number + 1, proto::Whereabouts::IDLE, 5), 2 * kMs));
  number = survey.Ask(kSecond);
  survey.Note(0, answer(number, proto::Whereabouts::IDLE, 3), kSecond);
  survey.Note(1, answer(number, proto::Whereabouts::IDLE, 5), kSecond);
  EXPECT_EQ(survey.stalled_nanos(), kSecond);
  // Something has happened since.
  number = survey.Ask(2 * kSecond);
  survey.Note(0, answer(number, proto::Whereabouts::IDLE, 4), 2 * kSecond);
  survey.Note(1, answer(number, proto::Whereabouts::IDLE, 5), 2 * kSecond);
  EXPECT_EQ(survey.stalled_nanos(), 0);
  // Somebody computes.
  number = survey.Ask(3 * kSecond);
  survey.Note(0, answer(number, proto::Whereabouts::BUSY, 4), 3 * kSecond);
  survey.Note(1, answer(number, proto::Whereabouts::IDLE, 5), 3 * kSecond);
  EXPECT_EQ(survey.stalled_nanos(), 0);
}

}  // namespace
}  // namespace gyre::cluster
