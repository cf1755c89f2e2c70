// _Send and _Recv: what is sent arrives once, in order, at the Recv of the same edge in the same
// iteration, dead or alive.
#include "ops/resource_run.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Attrs;
using test::IsInvalid;
using test::PendingCall;
using test::ResourceRun;
using test::Says;
using test::Values;

struct Edge {
  std::string name = "edge_1_x";
  std::string from = "cpu:0";
  std::string to = "cpu:1";
  int64_t incarnation = 1;
  Tag tag = {};

  AttrMap Attributes() const {
    return Attrs({{"tensor_name", name},
                  {"send_device", from},
                  {"recv_device", to},
                  {"send_device_incarnation", incarnation}});
  }
};

absl::Status Send(ResourceRun& run, const Edge& edge, const Tensor& value,
                  absl::string_view op = "_Send") {
  const absl::StatusOr<Node> node = MakeNode(Ops(), op, {value}, edge.Attributes());
  if (!node.ok()) return node.status();
  return EvaluateNode(Ops(), *node, {value}, run.env(), edge.tag).status();
}

// A value of the edge's type that is not there: what arrives at a dead _Send.
absl::Status SendDead(ResourceRun& run, const Edge& edge) {
  const absl::StatusOr<Node> node =
      MakeNode(Ops(), "_Send", {Tensor::Scalar(0.0f)}, edge.Attributes());
  if (!node.ok()) return node.status();
  return EvaluateNode(Ops(), *node, {Tensor()}, run.env(), edge.tag).status();
}

AttrMap RecvAttrs(const Edge& edge, DType dtype = DType::kFloat) {
  AttrMap attrs = edge.Attributes();
  attrs.Set("tensor_type", dtype);
  return attrs;
}

// A _Recv in frame 0, iteration 0, which may wait.
struct Recv : PendingCall {
  explicit Recv(ResourceRun& run, const Edge& edge = {}, DType dtype = DType::kFloat,
                absl::string_view op = "_Recv")
      : PendingCall(run, op, {}, RecvAttrs(edge, dtype)) {}
  // What came; -1 when it waits, failed, or is dead.
  float value() const { return status().ok() && !is_dead() ? output(0).scalar<float>() : -1; }
  bool is_dead() const { return done() && !output(0).has_value(); }
};

TEST(Transfer, WhatIsSentIsReceivedOnceAndInOrder) {
  ResourceRun run;
  for (const float value : {1.0f, 2.0f}) EXPECT_TRUE(Send(run, {}, Tensor::Scalar(value)).ok());
  EXPECT_EQ(Recv(run).value(), 1);
  EXPECT_EQ(Recv(run).value(), 2);
  const Recv third(run), fourth(run);
  EXPECT_FALSE(third.done());
  for (const float value : {3.0f, 4.0f}) EXPECT_TRUE(Send(run, {}, Tensor::Scalar(value)).ok());
  EXPECT_EQ(third.value(), 3);
  EXPECT_EQ(fourth.value(), 4);
}

TEST(Transfer, DeathTravelsToo) {
  ResourceRun run;
  EXPECT_TRUE(SendDead(run, {}).ok());
  EXPECT_TRUE(Send(run, {}, Tensor::Scalar(2.0f)).ok());
  const Recv first(run);
  EXPECT_TRUE(first.status().ok());
  EXPECT_TRUE(first.is_dead());
  EXPECT_EQ(Recv(run).value(), 2);
  const Recv waits(run);
  EXPECT_TRUE(SendDead(run, {}).ok());
  EXPECT_TRUE(waits.is_dead());
}

TEST(Transfer, EachEdgeIsItsOwn) {
  ResourceRun run;
  EXPECT_TRUE(Send(run, {}, Tensor::Scalar(1.0f)).ok());
  for (const Edge& other : {Edge{.name = "edge_2_x"}, Edge{.from = "cpu:2"}, Edge{.to = "cpu:2"},
                            Edge{.incarnation = 2}, Edge{.incarnation = -1}}) {
    const Recv recv(run, other);
    EXPECT_FALSE(recv.done());
    EXPECT_TRUE(Send(run, other, Tensor::Scalar(5.0f)).ok());
    EXPECT_EQ(recv.value(), 5);
  }
  EXPECT_EQ(Recv(run).value(), 1);
}

TEST(Transfer, EachIterationOfEachFrameIsItsOwn) {
  ResourceRun run;
  for (const Tag tag : {Tag{0, 1}, Tag{7, 0}, Tag{7, 1}}) {
    const float value = static_cast<float>(10 * tag.frame) + static_cast<float>(tag.iteration);
    EXPECT_TRUE(Send(run, {.tag = tag}, Tensor::Scalar(value)).ok());
  }
  const Recv outside(run);
  EXPECT_FALSE(outside.done());
  const Node node = *MakeNode(Ops(), "_Recv", {}, RecvAttrs({}));
  for (const Tag tag : {Tag{7, 1}, Tag{7, 0}, Tag{0, 1}}) {
    const float value = static_cast<float>(10 * tag.frame) + static_cast<float>(tag.iteration);
    const auto received = EvaluateNode(Ops(), node, {}, run.env(), tag);
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_EQ((*received)[0].scalar<float>(), value);
  }
  EXPECT_TRUE(Send(run, {}, Tensor::Scalar(5.0f)).ok());
  EXPECT_EQ(outside.value(), 5);
}

TEST(Transfer, EdgesHaveTheSameIdInEveryProcess) {
  const TransferEdge edge("edge_1_x", "cpu:0", "cpu:1", 255);
  EXPECT_EQ(edge.id, 0xdadcdcca46a6ff33u);
  for (const TransferEdge& other : {TransferEdge("edge_1_y", "cpu:0", "cpu:1", 255),
                                    TransferEdge("edge_1_x", "cpu:1", "cpu:0", 255),
                                    TransferEdge("edge_1_xc", "pu:0", "cpu:1", 255),
                                    TransferEdge("edge_1_x", "cpu:0", "cpu:1", 0)}) {
    EXPECT_NE(other.id, edge.id) << other.tensor_name;
  }
}

TEST(Transfer, HostFormsMeetTheOthers) {
  ResourceRun run;
  EXPECT_TRUE(Send(run, {}, Tensor::Scalar(1.0f), "_HostSend").ok());
  EXPECT_EQ(Recv(run).value(), 1);
  EXPECT_TRUE(Send(run, {}, Tensor::Scalar(2.0f)).ok());
  EXPECT_EQ(Recv(run, {}, DType::kFloat, "_HostRecv").value(), 2);
}

TEST(Transfer, AnyTypeTravelsButNotAsAnother) {
  ResourceRun run;
  EXPECT_TRUE(Send(run, {}, Tensor::Vector<std::string>({"a", "b"})).ok());
  const Recv strings(run, {}, DType::kString);
  ASSERT_TRUE(strings.status().ok());
  EXPECT_EQ(Values<std::string>(strings.output(0)), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(Send(run, {}, Tensor::Scalar(1.0f)).ok());
  EXPECT_TRUE(IsInvalid(Recv(run, {}, DType::kInt32).status(),
                        "received float32 where int32 was expected"));
}

TEST(Transfer, AbortEndsEveryWaitAndWhateverComesLater) {
  ResourceRun run;
  const Recv first(run), second(run, {.name = "other"});
  EXPECT_TRUE(Send(run, {.name = "unread"}, Tensor::Scalar(1.0f)).ok());
  run.env().rendezvous->Abort(absl::DeadlineExceededError("too late"));
  run.env().rendezvous->Abort(absl::CancelledError("the second abort"));
  EXPECT_TRUE(Says(first.status(), StatusCode::kDeadlineExceeded, "too late"));
  EXPECT_TRUE(Says(second.status(), StatusCode::kDeadlineExceeded, "too late"));
  EXPECT_TRUE(Says(Recv(run).status(), StatusCode::kDeadlineExceeded, "too late"));
  EXPECT_TRUE(Says(Recv(run, {.name = "unread"}).status(), StatusCode::kDeadlineExceeded, ""));
  EXPECT_TRUE(Says(Send(run, {}, Tensor::Scalar(1.0f)), StatusCode::kDeadlineExceeded, "too late"));
}

TEST(Transfer, WhoeverIsCalledBackMayUseTheRendezvous) {
  LocalRendezvous rendezvous;
  const TransferEdge edge("x", "cpu:0", "cpu:1", 0);
  std::vector<float> received;
  std::function<void(absl::StatusOr<Rendezvous::Item>)> next =
      [&](absl::StatusOr<Rendezvous::Item> item) {
        if (!item.ok()) return;
        received.push_back(item->value.scalar<float>());
        rendezvous.RecvAsync(edge, {}, next);
      };
  rendezvous.RecvAsync(edge, {}, next);
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    EXPECT_TRUE(rendezvous.Send(edge, {}, {Tensor::Scalar(value), false}).ok());
  }
  EXPECT_EQ(received, (std::vector<float>{1, 2, 3}));
  rendezvous.Abort(absl::CancelledError("stop"));
}

TEST(Transfer, WhatIsHereIsTakenAtOnce) {
  LocalRendezvous rendezvous;
  const TransferEdge edge("x", "cpu:0", "cpu:1", 0);
  Rendezvous::Item item;
  EXPECT_FALSE(rendezvous.TryRecv(edge, {}, &item));
  for (const float value : {1.0f, 2.0f})
    EXPECT_TRUE(rendezvous.Send(edge, {}, {Tensor::Scalar(value), false}).ok());
  EXPECT_FALSE(rendezvous.TryRecv(edge, {0, 1}, &item)) << "of another iteration";
  for (const float value : {1.0f, 2.0f}) {
    ASSERT_TRUE(rendezvous.TryRecv(edge, {}, &item));
    EXPECT_EQ(item.value.scalar<float>(), value);
  }
  EXPECT_FALSE(rendezvous.TryRecv(edge, {}, &item));
  // Who waits is first.
  std::optional<float> waited;
  rendezvous.RecvAsync(edge, {}, [&](absl::StatusOr<Rendezvous::Item> got) {
    waited = got.ok() ? got->value.scalar<float>() : -1;
  });
  EXPECT_FALSE(rendezvous.TryRecv(edge, {}, &item));
  EXPECT_TRUE(rendezvous.Send(edge, {}, {Tensor::Scalar(3.0f), false}).ok());
  EXPECT_EQ(waited, 3.0f);
  EXPECT_TRUE(rendezvous.Send(edge, {}, {Tensor::Scalar(4.0f), false}).ok());
  rendezvous.Abort(absl::CancelledError("stop"));
  EXPECT_FALSE(rendezvous.TryRecv(edge, {}, &item));
}

TEST(Transfer, ManyKeysComeAndGo) {
  LocalRendezvous rendezvous;
  const TransferEdge edge("x", "cpu:0", "cpu:1", 0);
  constexpr int64_t kRounds = 3, kKeys = 3000;
  for (int64_t round = 0; round < kRounds; ++round) {
    const auto value_of = [&](int64_t i) { return round * kKeys + i; };
    for (int64_t i = 0; i < kKeys; ++i)
      EXPECT_TRUE(rendezvous.Send(edge, {0, i}, {Tensor::Scalar(value_of(i)), false}).ok());
    for (int64_t i = kKeys; i-- > 0;) {
      Rendezvous::Item item;
      ASSERT_TRUE(rendezvous.TryRecv(edge, {0, i}, &item));
      EXPECT_EQ(item.value.scalar<int64_t>(), value_of(i));
    }
  }
}

TEST(Transfer, WithoutARendezvousIsABug) {
  ResourceRun run;
  run.env().rendezvous = nullptr;
  EXPECT_TRUE(Says(Send(run, {}, Tensor::Scalar(1.0f)), StatusCode::kInternal, "bug in Gyre"));
  EXPECT_TRUE(Says(Recv(run).status(), StatusCode::kInternal, "bug in Gyre"));
}

}  // namespace
}  // namespace gyre
