// Two meshes that exchange the values of steps: every value arrives, within its credit and in its
// step; what is not of the cluster is hung up on; who is gone or silent is noticed.
#include "cluster/mesh.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cluster/damage.h"
#include "cluster/samples.h"
#include "cluster/test_host.h"
#include "gmock/gmock.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::IsSame;
using test::ScriptedStream;
using test::TappedStream;
using test::TestHost;
using test::TestNetwork;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;
constexpr char kSecret[] = "the secret of a cluster";
using Item = Rendezvous::Item;

// What a receive has been told.
struct Received {
  bool has_come = false;
  absl::StatusOr<Item> item;
  Rendezvous::RecvCallback callback() {
    return [this](absl::StatusOr<Item> got) {
      EXPECT_FALSE(has_come);
      has_come = true;
      item = std::move(got);
    };
  }
};

// Processes 1 and 2, with a channel between them that process 2 has dialled.
class Pair {
 public:
  explicit Pair(int64_t failure_nanos = 3600 * kSecond, bool needs_checksum = false)
      : network_([this](std::unique_ptr<ByteStream> stream) {
          auto& counts = counts_[num_streams_++ % 2];
          return std::make_unique<TappedStream>(std::move(stream), counts);
        }) {
    for (auto& counts : counts_) {
      counts = std::make_shared<TappedStream::Counts>();
      counts->needs_checksum = needs_checksum;
      counts->keeps = true;
    }
    const Mesh::Callbacks callbacks = {
        .on_lost = [this](const Peer& peer, const absl::Status&) { lost_.push_back(peer.name); },
        .on_message =
            [this](const Peer& peer, absl::string_view message) {
              told_.push_back(absl::StrCat(peer.name, ": ", message));
            }};
    one_ = std::make_unique<Mesh>(host_one_, Mesh::Options{1, 0, failure_nanos}, callbacks);
    two_ = std::make_unique<Mesh>(host_two_, Mesh::Options{2, 0, failure_nanos}, callbacks);
    EXPECT_TRUE(one_->Expect(2, "worker two", {}, Transport::kAuto, kSecret, false).ok());
    EXPECT_TRUE(
        two_->Expect(1, "worker one", host_one_.channel_address(), Transport::kAuto, kSecret, true)
            .ok());
    Move();
    EXPECT_NE(one_->Find(2), nullptr);
    EXPECT_NE(two_->Find(1), nullptr);
  }

  // Everything that can travel does.
  void Move() {
    for (int i = 0; i < 40; ++i) {
      if (one_ != nullptr) one_->Tick();
      if (two_ != nullptr) two_->Tick();
    }
  }
  void PutForward(int64_t nanos) {
    host_one_.PutForward(nanos);
    host_two_.PutForward(nanos);
  }

  std::shared_ptr<StepRendezvous> BeginOne(uint64_t step) {
    auto got = one_->Begin(
        step, std::make_shared<const Routes>(Routes{{"one", nullptr}, {"two", one_->Find(2)}}),
        MakeRef<MemoryBudget>());
    EXPECT_TRUE(got.ok()) << got.status();
    return *std::move(got);
  }
  std::shared_ptr<StepRendezvous> BeginTwo(uint64_t step, int64_t budget = int64_t{1} << 40) {
    auto got = two_->Begin(
        step, std::make_shared<const Routes>(Routes{{"one", two_->Find(1)}, {"two", nullptr}}),
        MakeRef<MemoryBudget>(budget));
    EXPECT_TRUE(got.ok()) << got.status();
    return *std::move(got);
  }
  void End(uint64_t step) {
    one_->End(step);
    two_->End(step);
    Move();
  }

  Mesh& one() { return *one_; }
  Mesh& two() { return *two_; }
  void EndOne() { one_ = nullptr; }
  // Bytes that process 1 has sent so far.
  TappedStream::Counts& from_one() { return *counts_[1]; }
  TappedStream::Counts& from_two() { return *counts_[0]; }
  const std::vector<std::string>& lost() const { return lost_; }
  const std::vector<std::string>& told() const { return told_; }

 private:
  std::shared_ptr<TappedStream::Counts> counts_[2];
  int num_streams_ = 0;
  TestNetwork network_;
  TestHost host_one_{network_, "one"}, host_two_{network_, "two"};
  std::vector<std::string> lost_, told_;
  std::unique_ptr<Mesh> one_, two_;
};

const TransferEdge& OneToTwo() {
  static const auto* const edge = new TransferEdge("x:0", "one", "two", 1);
  return *edge;
}
const TransferEdge& TwoToOne() {
  static const auto* const edge = new TransferEdge("y:0", "two", "one", 1);
  return *edge;
}

std::vector<Tensor> SmallAndLarge() {
  constexpr auto kEager = static_cast<int64_t>(Channel::kMaxEagerBytes);
  std::vector<Tensor> values = test::Samples();
  for (const int64_t bytes : {kEager - 1, kEager, kEager + 1, int64_t{5} << 20})
    values.push_back(test::Sample(DType::kUint8, Shape::Vector(bytes), bytes));
  values.push_back(test::Sample(DType::kFloat, Shape::Trusted({3, 1, 50'000}), 7));
  values.push_back(test::Sample(DType::kBool, Shape::Vector(2 * kEager), 7));
  values.push_back(test::Sample(DType::kString, Shape::Vector(1000), 8));
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(300'000), 9);
  values.push_back(test::ListOf(DType::kFloat, {large, Tensor(), large}));
  return values;
}

TEST(Mesh, CarriesValuesOfAllKindsAndSizesBothWays) {
  for (const bool needs_checksum : {false, true}) {
    Pair pair(3600 * kSecond, needs_checksum);
    const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
    const std::vector<Tensor> values = SmallAndLarge();
    std::vector<Received> at_two(values.size()), at_one(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const Tag tag{3, static_cast<int64_t>(i)};
      const bool receives_first = i % 2 == 0;
      if (receives_first) {
        two->RecvAsync(OneToTwo(), tag, at_two[i].callback());
        one->RecvAsync(TwoToOne(), tag, at_one[i].callback());
      }
      ASSERT_TRUE(one->Send(OneToTwo(), tag, {values[i], false}).ok());
      ASSERT_TRUE(two->Send(TwoToOne(), tag, {values[i], false}).ok());
      pair.Move();
      if (!receives_first) {
        two->RecvAsync(OneToTwo(), tag, at_two[i].callback());
        one->RecvAsync(TwoToOne(), tag, at_one[i].callback());
      }
      for (Received* const got : {&at_two[i], &at_one[i]}) {
        for (int moves = 0; moves < 20 && !got->has_come; ++moves) pair.Move();
        ASSERT_TRUE(got->has_come) << i;
        ASSERT_TRUE(got->item.ok()) << got->item.status();
        EXPECT_FALSE(got->item->is_dead);
        EXPECT_TRUE(IsSame(got->item->value, values[i]))
            << DTypeName(values[i].dtype()) << values[i].shape().ToString();
      }
    }
    EXPECT_TRUE(pair.lost().empty());
  }
}

TEST(Mesh, CarriesDeadnessAndKeepsOrderWithinAKey) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  Received got[3];
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Tensor::Scalar(1.0f), false}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Tensor(), true}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Tensor::Scalar(3.0f), false}).ok());
  for (Received& each : got) two->RecvAsync(OneToTwo(), {}, each.callback());
  pair.Move();
  ASSERT_TRUE(got[0].has_come && got[1].has_come && got[2].has_come);
  EXPECT_EQ(got[0].item->value.scalar<float>(), 1.0f);
  EXPECT_TRUE(got[1].item->is_dead);
  EXPECT_FALSE(got[1].item->value.has_value());
  EXPECT_EQ(got[2].item->value.scalar<float>(), 3.0f);
}

TEST(Mesh, RefusesWhatCannotTravel) {
  Pair pair;
  const auto one = pair.BeginOne(7);
  const absl::Status resource =
      one->Send(OneToTwo(), {}, {Tensor::FromObject(DType::kResource, nullptr), false});
  EXPECT_TRUE(absl::IsInvalidArgument(resource)) << resource;
  // Memory that nobody looks at.
  const auto huge = Tensor::External(DType::kUint8, Shape::Vector(int64_t{1} << 32),
                                     const_cast<char*>(kSecret), [] {});
  const absl::Status large = one->Send(OneToTwo(), {}, {huge, false});
  EXPECT_TRUE(absl::IsInvalidArgument(large)) << large;
  EXPECT_THAT(std::string(large.message()), HasSubstr("x:0 holds 4294967296 bytes"));
  const absl::Status nowhere = one->Send({"x:0", "one", "three", 1}, {}, {Tensor(), true});
  EXPECT_THAT(std::string(nowhere.message()), HasSubstr("no process of the cluster has a device"));
  pair.Move();
  EXPECT_TRUE(pair.lost().empty());
}

// What is offered only, its sender has: for that one has to wait.
TEST(Mesh, GivesAtOnceWhatIsHereAsAWhole) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(300'000), 9);
  Rendezvous::Item item;
  EXPECT_FALSE(two->TryRecv(OneToTwo(), {0, 0}, &item));
  EXPECT_TRUE(one->Send(OneToTwo(), {0, 0}, {Tensor::Scalar(5.0f), false}).ok());
  EXPECT_TRUE(one->Send(OneToTwo(), {0, 1}, {Tensor(), true}).ok());
  EXPECT_TRUE(one->Send(OneToTwo(), {0, 2}, {large, false}).ok());
  pair.Move();
  ASSERT_TRUE(two->TryRecv(OneToTwo(), {0, 0}, &item));
  EXPECT_EQ(item.value.scalar<float>(), 5.0f);
  ASSERT_TRUE(two->TryRecv(OneToTwo(), {0, 1}, &item));
  EXPECT_TRUE(item.is_dead);
  EXPECT_FALSE(two->TryRecv(OneToTwo(), {0, 2}, &item));
  Received got;
  two->RecvAsync(OneToTwo(), {0, 2}, got.callback());
  pair.Move();
  ASSERT_TRUE(got.has_come && got.item.ok()) << got.item.status();
  EXPECT_TRUE(IsSame(got.item->value, large));
}

// ---- Credit

constexpr int64_t kEagerBytes = 60'000;
Tensor Eager(int64_t i) { return test::Sample(DType::kUint8, Shape::Vector(kEagerBytes), i); }

// How many bytes of `n` values process 1 sends before anybody receives them.
int64_t SentUnasked(Pair& pair, uint64_t step, int n) {
  const auto one = pair.BeginOne(step);
  const int64_t before = pair.from_one().written;
  for (int i = 0; i < n; ++i) EXPECT_TRUE(one->Send(OneToTwo(), {0, i}, {Eager(i), false}).ok());
  pair.Move();
  return pair.from_one().written - before;
}

// Whether as much credit is left as there is at first, but for what is not worth a frame.
void ExpectFullCredit(Pair& pair, uint64_t step) {
  constexpr int kFew = 3 * Mesh::kCreditBytes / 4 / (kEagerBytes + 64);
  const auto two = pair.BeginTwo(step);
  EXPECT_GE(SentUnasked(pair, step, kFew), kFew * kEagerBytes);
  pair.End(step);
}

TEST(MeshCredit, IsAllThatLiesUnreadAtTheOtherEnd) {
  constexpr int kMany = 200;
  Pair pair;
  const auto two = pair.BeginTwo(1);
  const int64_t sent = SentUnasked(pair, 1, kMany);
  constexpr int64_t kFrame = 64;  // a header, and what offers hold
  EXPECT_LE(sent, Mesh::kCreditBytes + kEagerBytes + kMany * kFrame);
  EXPECT_GE(sent, Mesh::kCreditBytes);
  // What stayed behind comes when it is wanted, in any order.
  std::vector<Received> got(kMany);
  for (int i = kMany - 1; i >= 0; --i) {
    two->RecvAsync(OneToTwo(), {0, i}, got[i].callback());
    pair.Move();
    ASSERT_TRUE(got[i].has_come && got[i].item.ok()) << i;
    ASSERT_TRUE(IsSame(got[i].item->value, Eager(i))) << i;
  }
  EXPECT_GE(pair.from_one().written, kMany * kEagerBytes);
  pair.End(1);
  ExpectFullCredit(pair, 2);
}

TEST(MeshCredit, ComesBackWhenAStepEndsWithWhatNobodyRead) {
  Pair pair;
  for (uint64_t step = 1; step < 8; ++step) {
    const auto two = pair.BeginTwo(step);
    SentUnasked(pair, step, 100);
    pair.End(step);
  }
  ExpectFullCredit(pair, 100);
}

TEST(MeshCredit, ComesBackFromStepsThatHadEndedAlready) {
  Pair pair;
  for (uint64_t step = 1; step < 8; ++step) {
    pair.two().End(step);
    SentUnasked(pair, step, 30);
    pair.End(step);
  }
  // With the next value that is read.
  const auto two = pair.BeginTwo(99);
  SentUnasked(pair, 99, 1);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.Move();
  EXPECT_TRUE(got.has_come);
  pair.End(99);
  ExpectFullCredit(pair, 100);
}

TEST(MeshCredit, ComesBackFromValuesThatDidNotFitTheBudget) {
  Pair pair;
  for (uint64_t step = 1; step < 100; ++step) {
    const auto two = pair.BeginTwo(step, 100);
    Received got;
    two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
    SentUnasked(pair, step, 1);
    ASSERT_TRUE(got.has_come);
    EXPECT_TRUE(absl::IsResourceExhausted(got.item.status())) << got.item.status();
    pair.End(step);
  }
  ExpectFullCredit(pair, 100);
}

TEST(MeshCredit, ComesBackFromStepsThatNeverBegin) {
  Pair pair;
  for (uint64_t step = 1; step < 8; ++step) {
    SentUnasked(pair, step, 60);
    pair.PutForward(61 * kSecond);
    pair.Move();
    EXPECT_TRUE(absl::IsAborted(
        pair.two().Begin(step, std::make_shared<const Routes>(), nullptr).status()));
    pair.End(step);
  }
  ExpectFullCredit(pair, 100);
}

// Large values wait until there is room in the stream, whoever sends them: who sleeps meanwhile is
// woken, so that it also waits for room.
TEST(Mesh, WakesWhoSleepsWhenTheStreamIsFull) {
  Pair pair;
  const auto one = pair.BeginOne(1), two = pair.BeginTwo(1);
  const uint64_t before = pair.one().wakes();
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Eager(1), false}).ok());
  EXPECT_EQ(pair.one().wakes(), before);
  pair.from_one().most_at_once = 100;
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {Eager(1), false}).ok());
  EXPECT_EQ(pair.one().wakes(), before + 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 2}, {Eager(1), false}).ok());
  EXPECT_EQ(pair.one().wakes(), before + 1);
}

// ---- Steps

TEST(MeshSteps, KeepWhatComesBeforeTheyBegin) {
  Pair pair;
  const auto one = pair.BeginOne(7);
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(100'000), 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 0}, {Tensor::Scalar(5.0f), false}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {large, false}).ok());
  pair.Move();
  const auto two = pair.BeginTwo(7);
  Received small, late;
  two->RecvAsync(OneToTwo(), {0, 0}, small.callback());
  two->RecvAsync(OneToTwo(), {0, 1}, late.callback());
  pair.Move();
  ASSERT_TRUE(small.has_come && late.has_come);
  EXPECT_EQ(small.item->value.scalar<float>(), 5.0f);
  EXPECT_TRUE(IsSame(late.item->value, large));
}

TEST(MeshSteps, DropWhatComesAfterTheyEnd) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.two().End(7);
  ASSERT_TRUE(got.has_come);
  EXPECT_TRUE(absl::IsAborted(got.item.status())) << got.item.status();
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(100'000), 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 0}, {Tensor::Scalar(5.0f), false}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {large, false}).ok());
  pair.Move();
  EXPECT_TRUE(
      absl::IsAborted(pair.two().Begin(7, std::make_shared<const Routes>(), nullptr).status()));
  EXPECT_TRUE(pair.lost().empty());
}

TEST(MeshSteps, BeginOnce) {
  Pair pair;
  const auto one = pair.BeginOne(7);
  EXPECT_TRUE(
      absl::IsAborted(pair.one().Begin(7, std::make_shared<const Routes>(), nullptr).status()));
}

TEST(MeshSteps, TellEveryWaiterOfAnAbort) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  Received never_sent, never_pulled, later;
  two->RecvAsync(OneToTwo(), {0, 0}, never_sent.callback());
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(100'000), 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {large, false}).ok());
  two->RecvAsync(OneToTwo(), {0, 1}, never_pulled.callback());
  pair.two().Poll();  // process 1 does not answer
  two->Abort(absl::CancelledError("enough"));
  two->RecvAsync(OneToTwo(), {0, 2}, later.callback());
  for (const Received* const got : {&never_sent, &never_pulled, &later}) {
    ASSERT_TRUE(got->has_come);
    EXPECT_EQ(got->item.status(), absl::CancelledError("enough"));
  }
  // The answer comes nevertheless, and is nobody's.
  pair.Move();
  EXPECT_TRUE(pair.lost().empty());
}

TEST(MeshSteps, EndWithWhoTheyWaitFor) {
  Pair pair;
  const auto two = pair.BeginTwo(7);
  const PeerPtr gone = pair.two().Find(1);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.EndOne();
  // Shared memory looks for a sign of life now and then.
  for (int i = 0; i < 1000 && !got.has_come; ++i) pair.Move();
  ASSERT_TRUE(got.has_come);
  EXPECT_TRUE(absl::IsUnavailable(got.item.status())) << got.item.status();
  EXPECT_THAT(std::string(got.item.status().message()), HasSubstr("worker one is gone"));
  EXPECT_EQ(pair.lost(), std::vector<std::string>{"worker one"});
  EXPECT_EQ(pair.two().Find(1), nullptr);
  const absl::Status begun =
      pair.two().Begin(8, std::make_shared<const Routes>(Routes{{"one", gone}}), nullptr).status();
  EXPECT_TRUE(absl::IsUnavailable(begun)) << begun;
  EXPECT_THAT(std::string(begun.message()), HasSubstr("worker one"));
}

// ---- Silence

TEST(MeshSilence, IsAskedAboutWhileBothLive) {
  Pair pair(5 * kSecond);
  for (int i = 0; i < 50; ++i) {
    pair.PutForward(kSecond);
    pair.Move();
  }
  EXPECT_TRUE(pair.lost().empty());
}

TEST(MeshSilence, EndsTheChannel) {
  Pair pair(5 * kSecond);
  const auto two = pair.BeginTwo(7);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.PutForward(6 * kSecond);
  pair.two().Tick();
  ASSERT_TRUE(got.has_come);
  EXPECT_TRUE(absl::IsUnavailable(got.item.status())) << got.item.status();
  EXPECT_THAT(std::string(got.item.status().message()),
              HasSubstr("worker one is gone: nothing was heard of it for"));
}

// ---- Callers

std::string Frame(FrameHeader header, const std::string& body = "") {
  header.body_bytes = static_cast<uint32_t>(body.size());
  std::string bytes(FrameHeader::kBytes, '\0');
  EncodeHeader(header, false, bytes.data());
  return bytes + body;
}

std::string HelloFrame(uint64_t from, uint64_t to, const std::string& secret) {
  FrameHeader header;
  header.kind = FrameKind::kHello;
  header.flags = FrameHeader::kEncoded;
  return Frame(header, EncodeHello({from, to, secret}));
}

// Process 2, which processes 1 and 3 may call.
class Callee {
 public:
  explicit Callee(int64_t failure_nanos = 5 * kSecond)
      : mesh_(host_, {2, 0, failure_nanos},
              {.on_lost = [this](const Peer&, const absl::Status& why) { why_ = why; },
               .on_message = nullptr}) {
    EXPECT_TRUE(mesh_.Expect(1, "worker one", {}, Transport::kAuto, kSecret, false).ok());
    EXPECT_TRUE(mesh_.Expect(3, "worker three", {}, Transport::kAuto, "another", false).ok());
  }
  std::shared_ptr<ScriptedStream::Script> Call(std::string says) {
    auto script = std::make_shared<ScriptedStream::Script>();
    script->to_read = std::move(says);
    host_.Call(std::make_unique<ScriptedStream>(script));
    mesh_.Tick();
    return script;
  }
  TestHost& host() { return host_; }
  Mesh& mesh() { return mesh_; }
  const absl::Status& why() const { return why_; }

 private:
  TestNetwork network_;
  TestHost host_{network_, "two"};
  absl::Status why_;
  Mesh mesh_;
};

TEST(MeshCallers, AreAnsweredWhenTheyBelongToTheCluster) {
  Callee callee;
  const auto script = callee.Call(HelloFrame(1, 2, kSecret));
  EXPECT_FALSE(script->is_gone);
  EXPECT_NE(callee.mesh().Find(1), nullptr);
  EXPECT_EQ(script->written, HelloFrame(2, 1, kSecret));
}

TEST(MeshCallers, AreHungUpOnWhenTheyDoNot) {
  const std::string hello = HelloFrame(1, 2, kSecret);
  FrameHeader ping;
  FrameHeader large;
  large.kind = FrameKind::kHello;
  for (const std::string& says :
       {HelloFrame(1, 2, "guess"), HelloFrame(1, 2, ""), HelloFrame(1, 2, "another"),
        HelloFrame(1, 4, kSecret), HelloFrame(9, 2, kSecret), Frame(ping), Frame(ping) + hello,
        Frame(large, std::string(600, 'x')),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\n") + std::string(100, ' ')}) {
    Callee callee;
    EXPECT_TRUE(callee.Call(says)->is_gone) << says;
    EXPECT_EQ(callee.mesh().Find(1), nullptr);
    EXPECT_EQ(callee.mesh().Find(9), nullptr);
    // Others may call all the same.
    EXPECT_FALSE(callee.Call(hello)->is_gone);
    EXPECT_NE(callee.mesh().Find(1), nullptr);
  }
}

TEST(MeshCallers, AreHungUpOnWhenTheyBreakTheRules) {
  const std::string hello = HelloFrame(1, 2, kSecret);
  FrameHeader data;
  data.kind = FrameKind::kData;
  data.dtype = DType::kInt64;
  FrameHeader offer = data;
  offer.kind = FrameKind::kOffer;
  FrameHeader odd_offer = offer;
  odd_offer.rank = 1;
  FrameHeader text_offer = offer;
  text_offer.flags = FrameHeader::kEncoded;
  FrameHeader pulled = data;
  pulled.kind = FrameKind::kPulled;
  FrameHeader dead = data;
  dead.flags = FrameHeader::kDead;
  FrameHeader row = data;
  row.rank = 1;
  FrameHeader ping;
  ping.kind = FrameKind::kPing;
  const std::string no_elements(8, '\0');
  for (const std::string& says : {hello,                                  // twice
                                  Frame(data),                            // no value
                                  Frame(data, std::string(70'000, 'x')),  // too large
                                  Frame(row, no_elements + "xxxxxxxx"),   // not its shape
                                  Frame(row, "xxxx"), Frame(offer),       // cut off
                                  Frame(odd_offer, no_elements), Frame(text_offer, "x"),
                                  Frame(pulled, std::string(8, 'x')),  // not asked for
                                  Frame(dead, std::string(8, 'x')), Frame(ping, "x")}) {
    Callee callee;
    const auto step =
        callee.mesh().Begin(0, std::make_shared<const Routes>(Routes{{"one", nullptr}}), nullptr);
    ASSERT_TRUE(step.ok());
    const auto script = callee.Call(hello + says);
    EXPECT_TRUE(script->is_gone) << says.substr(0, 4);
    EXPECT_EQ(callee.mesh().Find(1), nullptr);
    EXPECT_FALSE(callee.why().ok());
  }
}

TEST(MeshCallers, CallOnce) {
  Callee callee;
  const auto first = callee.Call(HelloFrame(1, 2, kSecret));
  const auto second = callee.Call(HelloFrame(1, 2, kSecret));
  EXPECT_FALSE(first->is_gone);
  EXPECT_TRUE(second->is_gone);
}

// At once, even while somebody keeps the peer, so that the other end learns it.
TEST(MeshCallers, AreHungUpOnWhenTheyTalkNonsense) {
  Callee callee;
  const auto script = callee.Call(HelloFrame(1, 2, kSecret));
  const PeerPtr kept = callee.mesh().Find(1);
  ASSERT_NE(kept, nullptr);
  script->to_read = std::string(FrameHeader::kBytes, 'x');
  callee.mesh().Tick();
  EXPECT_TRUE(script->is_gone);
  EXPECT_EQ(callee.mesh().Find(1), nullptr);
}

TEST(MeshCallers, AreNotServedOnceTheirClientIsGone) {
  Callee callee;
  callee.mesh().Withdraw(kSecret);
  EXPECT_TRUE(callee.Call(HelloFrame(1, 2, kSecret))->is_gone);
  EXPECT_FALSE(callee.Call(HelloFrame(3, 2, "another"))->is_gone);
}

TEST(MeshChannels, CarryMessagesInOrder) {
  Pair pair(3600 * kSecond, true);
  pair.one().Tell(*pair.one().Find(2), "first");
  pair.one().Tell(*pair.one().Find(2), std::string(Channel::kMaxEagerBytes, 'x'));
  pair.one().Tell(*pair.one().Find(2), "last");
  pair.Move();
  ASSERT_EQ(pair.told().size(), 3u);
  EXPECT_EQ(pair.told()[0], "worker one: first");
  EXPECT_EQ(pair.told()[1],
            absl::StrCat("worker one: ", std::string(Channel::kMaxEagerBytes, 'x')));
  EXPECT_EQ(pair.told()[2], "worker one: last");
}

TEST(MeshCallers, AreHungUpOnWhenTheirMessageIsTooLong) {
  Callee callee;
  FrameHeader header;
  header.kind = FrameKind::kMessage;
  const auto script = callee.Call(HelloFrame(1, 2, kSecret) +
                                  Frame(header, std::string(Channel::kMaxEagerBytes + 1, 'x')));
  EXPECT_TRUE(script->is_gone);
  EXPECT_TRUE(absl::IsInvalidArgument(callee.why())) << callee.why();
}

// By who had dialled it.
TEST(MeshChannels, AreDialledAgainWhenTheyAreLost) {
  Pair pair(5 * kSecond);
  const PeerPtr before = pair.two().Find(1);
  pair.PutForward(6 * kSecond);
  pair.two().Tick();  // it has heard nothing
  EXPECT_EQ(pair.lost().size(), 1u);
  pair.Move();
  const PeerPtr after = pair.two().Find(1);
  ASSERT_NE(after, nullptr);
  EXPECT_NE(before, after);
  EXPECT_NE(pair.one().Find(2), nullptr);
}

TEST(MeshCallers, AreGivenUpWhenTheySayNothing) {
  Callee callee;
  const auto silent = callee.Call("");
  const auto cut_off = callee.Call(HelloFrame(1, 2, kSecret).substr(0, 30));
  callee.host().PutForward(4 * kSecond);
  callee.mesh().Tick();
  EXPECT_FALSE(silent->is_gone || cut_off->is_gone);
  callee.host().PutForward(6 * kSecond);
  callee.mesh().Tick();
  EXPECT_TRUE(silent->is_gone && cut_off->is_gone);
}

// One value may take longer than the failure time.
TEST(MeshCallers, AreHeardWhileAValueIsOnItsWay) {
  Callee callee;
  FrameHeader header;
  header.kind = FrameKind::kData;
  header.dtype = DType::kUint8;
  header.rank = 1;
  const int64_t n = 50'000;
  std::string body(sizeof(n), '\0');
  std::memcpy(body.data(), &n, sizeof(n));
  const std::string frame = Frame(header, body + std::string(n, 'x'));
  const auto script = callee.Call(HelloFrame(1, 2, kSecret));
  for (size_t at = 0; at < frame.size(); at += 1000) {
    script->to_read += frame.substr(at, 1000);
    callee.host().PutForward(3 * kSecond);
    callee.mesh().Tick();
    ASSERT_FALSE(script->is_gone) << at;
  }
}

// ---- Frames damaged on their way

// What process 1 says to process 2 in step 7: its hello, and the rest.
std::pair<std::string, std::string> Conversation(const std::vector<Tensor>& values,
                                                 bool needs_checksum) {
  Pair pair(3600 * kSecond, needs_checksum);
  const size_t hello = pair.from_one().bytes.size();
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  std::vector<Received> got(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Tag tag{0, static_cast<int64_t>(i)};
    const bool is_dead = !values[i].has_value();
    EXPECT_TRUE(one->Send(OneToTwo(), tag, {values[i], is_dead}).ok());
    two->RecvAsync(OneToTwo(), tag, got[i].callback());
  }
  Received back;
  one->RecvAsync(TwoToOne(), {}, back.callback());
  EXPECT_TRUE(two->Send(TwoToOne(), {}, {SmallAndLarge().back(), false}).ok());
  pair.Move();
  pair.PutForward(2 * kSecond);  // pings
  pair.Move();
  EXPECT_TRUE(back.has_come);
  for (const Received& each : got) EXPECT_TRUE(each.has_come);
  const std::string bytes = pair.from_one().bytes;
  return {bytes.substr(0, hello), bytes.substr(hello)};
}

TEST(MeshMalformed, EndsTheChannelAtMost) {
  const int mutations = testing::IsLongTest() ? 1'000'000 : 100'000;
  const int64_t kBudget = 1 << 20;
  const Tensor text = test::Sample(DType::kString, Shape::Vector(3), 1);
  const std::vector<Tensor> values = {Tensor::Scalar(1.0f),
                                      Tensor(),
                                      text,
                                      test::Sample(DType::kInt16, Shape::Trusted({2, 3}), 2),
                                      test::ListOf(DType::kString, {text, Tensor()}),
                                      test::Sample(DType::kUint8, Shape::Vector(66'000), 3),
                                      test::Sample(DType::kString, Shape::Vector(300), 4)};
  const std::pair<std::string, std::string> said[2] = {Conversation(values, false),
                                                       Conversation(values, true)};
  test::Damage damage(testing::TestSeed());
  int survivors = 0, arrivals = 0;
  for (int i = 0; i < mutations; ++i) {
    const bool needs_checksum = i % 8 == 0;
    const auto& [hello, rest] = said[needs_checksum ? 1 : 0];
    // The large value's elements are most of the bytes, and the least of interest.
    const bool in_front = damage.Draw(2) == 0;
    std::string bytes =
        in_front ? damage.To(rest.substr(0, 1500)) + rest.substr(1500) : damage.To(rest);
    auto callee = std::make_unique<Callee>();
    auto script = std::make_shared<ScriptedStream::Script>();
    script->needs_checksum = needs_checksum;
    script->to_read = damage.Draw(16) == 0 ? damage.To(hello) : hello;
    callee->host().Call(std::make_unique<ScriptedStream>(script));
    callee->mesh().Tick();
    PeerPtr peer = callee->mesh().Find(1);
    if (peer == nullptr) continue;
    const auto budget = MakeRef<MemoryBudget>(kBudget);
    {
      const auto step = callee->mesh().Begin(
          7, std::make_shared<const Routes>(Routes{{"one", std::move(peer)}, {"two", nullptr}}),
          budget);
      ASSERT_TRUE(step.ok()) << step.status();
      std::vector<Received> got(values.size());
      for (size_t v = 0; v < values.size(); ++v)
        (*step)->RecvAsync(OneToTwo(), {0, static_cast<int64_t>(v)}, got[v].callback());
      script->most_at_once = damage.Draw(4) == 0 ? 1 + damage.Draw(5000) : ~size_t{0};
      script->to_read = std::move(bytes);
      for (int polls = 0; polls < 3; ++polls) callee->mesh().Poll();
      survivors += callee->mesh().Find(1) == nullptr ? 0 : 1;
      callee->mesh().End(7);
      for (const Received& each : got) {
        ASSERT_TRUE(each.has_come) << i;
        arrivals += each.item.ok() ? 1 : 0;
      }
      ASSERT_LE(budget->peak(), kBudget);
    }
    callee = nullptr;  // with what had come of a value that did not end
    ASSERT_EQ(budget->used(), 0) << i;
  }
  EXPECT_GT(survivors, mutations / 100);
  EXPECT_GT(arrivals, mutations);
}

}  // namespace
}  // namespace gyre::cluster
