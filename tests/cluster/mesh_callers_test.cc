// Who calls a mesh: what is not of the cluster is hung up on, and so is who says what cannot be.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cluster/damage.h"
#include "cluster/mesh.h"
#include "cluster/mesh_pair.h"
#include "gmock/gmock.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::kSecond;
using test::kSecret;
using test::OneToTwo;
using test::Pair;
using test::Received;
using test::ScriptedStream;
using test::SmallAndLarge;
using test::TestHost;
using test::TestNetwork;
using test::TwoToOne;

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

TEST(MeshCallers, AreHungUpOnWhenTheirMessageIsTooLong) {
  Callee callee;
  FrameHeader header;
  header.kind = FrameKind::kMessage;
  const auto script = callee.Call(HelloFrame(1, 2, kSecret) +
                                  Frame(header, std::string(Channel::kMaxEagerBytes + 1, 'x')));
  EXPECT_TRUE(script->is_gone);
  EXPECT_TRUE(absl::IsInvalidArgument(callee.why())) << callee.why();
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
