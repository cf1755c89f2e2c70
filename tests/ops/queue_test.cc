// Queues: in which order things go through them, what they accept, and closing.
#include "ops/queue_users.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Add;
using test::AddMany;
using test::Attrs;
using test::Close;
using test::InferShapes;
using test::IsInvalid;
using test::MakeQueue;
using test::Partial;
using test::PendingCall;
using test::QueueAttrs;
using test::ResourceRun;
using test::Says;
using test::Size;
using test::Take;
using test::Values;

TEST(Queue, GivesTuplesInTheOrderTheyCame) {
  ResourceRun run;
  const std::vector<DType> types = {DType::kInt32, DType::kString};
  const Tensor queue = MakeQueue(run, -1, types);
  for (const int32_t i : {1, 2, 3}) {
    const PendingCall add(
        run, "QueueEnqueueV2",
        {queue, Tensor::Vector<int32_t>({i, i}), Tensor::Scalar(std::to_string(i))});
    EXPECT_TRUE(add.status().ok());
  }
  EXPECT_EQ(Size(run, queue), 3);
  for (const int32_t i : {1, 2, 3}) {
    const PendingCall take(run, "QueueDequeueV2", {queue}, Attrs({{"component_types", types}}));
    ASSERT_TRUE(take.status().ok());
    EXPECT_EQ(Values<int32_t>(take.output(0)), (std::vector<int32_t>{i, i}));
    EXPECT_EQ(take.output(1).scalar<std::string>(), std::to_string(i));
  }
  EXPECT_EQ(Size(run, queue), 0);
}

TEST(Queue, OfOneNameIsOneQueueOfTheSession) {
  ResourceRun run;
  const Add add(run, MakeQueue(run, 4), 7);
  EXPECT_EQ(Take(run, MakeQueue(run, 4)).value(), 7);
  EXPECT_TRUE(IsInvalid(run.Error("FIFOQueueV2", {}, QueueAttrs("q", 4, {DType::kFloat})),
                        "queue q has other component types or shapes in this session"));
  EXPECT_TRUE(
      IsInvalid(run.Error("FIFOQueueV2", {}, QueueAttrs("q", 4, {DType::kInt32}, {Partial({})})),
                "queue q has other component types or shapes in this session"));
  EXPECT_TRUE(IsInvalid(run.Error("FIFOQueueV2", {}, QueueAttrs("q", 5)),
                        "queue q has capacity 4 in this session, not 5"));

  const AttrMap unnamed = QueueAttrs("cd2c89b7-88b7-44c8-ad83-06c2a9158347", 4);
  const Tensor one = run.Run("FIFOQueueV2", {}, unnamed);
  const Tensor other = run.Run("FIFOQueueV2", {}, unnamed);
  const Add to_one(run, one, 1);
  EXPECT_EQ(Size(run, one), 1);
  EXPECT_EQ(Size(run, other), 0);
}

TEST(Queue, EveryNegativeCapacityIsNoLimit) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, -7);
  const AddMany add(run, queue, {1, 2, 3});
  EXPECT_TRUE(add.status().ok());
  EXPECT_EQ(Size(run, MakeQueue(run, -1)), 3);
}

TEST(Queue, TakersWaitAndAreServedInTheirOrder) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 4);
  const Take first(run, queue), second(run, queue), third(run, queue);
  EXPECT_FALSE(first.done());
  const AddMany add(run, queue, {1, 2});
  EXPECT_EQ(first.value(), 1);
  EXPECT_EQ(second.value(), 2);
  EXPECT_FALSE(third.done());
  const Add last(run, queue, 3);
  EXPECT_EQ(third.value(), 3);
  EXPECT_EQ(Size(run, queue), 0);
}

TEST(Queue, AddersWaitForRoomAndGoInInTheirOrder) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 2);
  const AddMany many(run, queue, {1, 2, 3, 4});
  const Add one(run, queue, 5);
  EXPECT_FALSE(many.done());
  EXPECT_FALSE(one.done());
  EXPECT_EQ(Size(run, queue), 2);
  EXPECT_EQ(Take(run, queue).value(), 1);
  EXPECT_FALSE(many.done());  // 4 has no room yet
  EXPECT_EQ(Take(run, queue).value(), 2);
  EXPECT_TRUE(many.status().ok());
  EXPECT_FALSE(one.done());
  EXPECT_EQ(Take(run, queue).value(), 3);
  EXPECT_TRUE(one.status().ok());
  EXPECT_EQ(Take(run, queue).value(), 4);
  EXPECT_EQ(Take(run, queue).value(), 5);
}

TEST(Queue, RowsOfAllComponentsBecomeTuples) {
  ResourceRun run;
  const std::vector<DType> types = {DType::kInt32, DType::kString};
  const Tensor queue = MakeQueue(run, -1, types);
  const PendingCall add(run, "QueueEnqueueManyV2",
                        {queue, Tensor::FromValues<int32_t>({1, 2, 3, 4}, test::ShapeOf({2, 2})),
                         Tensor::Vector<std::string>({"a", "b"})});
  EXPECT_EQ(Size(run, queue), 2);
  for (const int32_t i : {0, 1}) {
    const PendingCall take(run, "QueueDequeueV2", {queue}, Attrs({{"component_types", types}}));
    EXPECT_EQ(Values<int32_t>(take.output(0)), (std::vector<int32_t>{2 * i + 1, 2 * i + 2}));
    EXPECT_EQ(take.output(1).shape(), Shape());
    EXPECT_EQ(take.output(1).scalar<std::string>(), i == 0 ? "a" : "b");
  }
  const PendingCall ragged(
      run, "QueueEnqueueManyV2",
      {queue, Tensor::Vector<int32_t>({1}), Tensor::Vector<std::string>({"a", "b"})});
  EXPECT_EQ(ragged.status().code(), StatusCode::kInvalidArgument);
  const PendingCall scalar(run, "QueueEnqueueManyV2",
                           {queue, Tensor::Scalar<int32_t>(1), Tensor::Vector<std::string>({"a"})});
  EXPECT_TRUE(IsInvalid(scalar.status(), "component 0 is a scalar"));
  EXPECT_EQ(Size(run, queue), 0);
}

TEST(Queue, AddingNoRowsNeverWaitsAndNeverFails) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 1);
  const AddMany full(run, queue, {1, 2});
  EXPECT_TRUE(AddMany(run, queue, {}).status().ok());
  EXPECT_TRUE(Close(run, queue, true).ok());
  EXPECT_TRUE(AddMany(run, queue, {}).status().ok());
  EXPECT_EQ(Size(run, queue), 1);
}

TEST(Queue, ChecksTypesAndShapes) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, -1, {DType::kInt32}, {Partial({2, -1})});
  EXPECT_TRUE(IsInvalid(Add(run, queue, 1).status(),
                        "Shape mismatch in tuple component 0. Expected [2,?], got []"));
  EXPECT_TRUE(IsInvalid(AddMany(run, queue, {1, 2}).status(),
                        "Shape mismatch in tuple component 0. Expected [2,?]"));
  const Tensor fits = *Tensor::Make(DType::kInt32, test::ShapeOf({2, 3}));
  EXPECT_TRUE(PendingCall(run, "QueueEnqueueV2", {queue, fits}).status().ok());
  EXPECT_TRUE(IsInvalid(PendingCall(run, "QueueEnqueueV2", {queue, Tensor::Scalar(1.0f)}).status(),
                        "queue q has components of types (int32), not (float32)"));
  const AttrMap two = Attrs({{"component_types", std::vector<DType>{DType::kInt32, DType::kBool}}});
  EXPECT_TRUE(IsInvalid(PendingCall(run, "QueueDequeueV2", {queue}, two).status(),
                        "queue q has components of types (int32), not (int32, bool)"));
  EXPECT_TRUE(IsInvalid(
      run.Error("FIFOQueueV2", {}, QueueAttrs("r", 1, {DType::kInt32}, {Partial({}), Partial({})})),
      "shapes must be empty or have one element per component: 2 vs. 1"));
  EXPECT_TRUE(IsInvalid(Add(run, Tensor::FromObject(DType::kResource, nullptr), 1).status(),
                        "must be a handle of a FIFOQueue, but it is empty"));
  EXPECT_EQ(Size(run, queue), 1);
}

TEST(QueueClose, WhatIsInCanStillBeTaken) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 4);
  const AddMany add(run, queue, {1, 2});
  EXPECT_TRUE(Close(run, queue).ok());
  EXPECT_TRUE(
      Says(Add(run, queue, 3).status(), StatusCode::kCancelled, "FIFOQueue 'q' is closed."));
  EXPECT_EQ(Take(run, queue).value(), 1);
  EXPECT_EQ(Take(run, queue).value(), 2);
  EXPECT_TRUE(Says(Take(run, queue).status(), StatusCode::kOutOfRange,
                   "FIFOQueue 'q' is closed and has insufficient elements (requested 1, current "
                   "size 0)"));
  EXPECT_TRUE(Says(Close(run, queue), StatusCode::kCancelled, "Queue 'q' is already closed."));
}

TEST(QueueClose, TakersWhoWaitLearnThatNothingWillCome) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 4);
  const Take first(run, queue), second(run, queue);
  EXPECT_TRUE(Close(run, queue).ok());
  EXPECT_EQ(first.status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(second.status().code(), StatusCode::kOutOfRange);
}

TEST(QueueClose, AddersWhoWaitStillGetIn) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 1);
  const AddMany add(run, queue, {1, 2, 3});
  EXPECT_TRUE(Close(run, queue).ok());
  EXPECT_FALSE(add.done());
  EXPECT_FALSE(Add(run, queue, 4).status().ok());
  for (const int32_t i : {1, 2, 3}) EXPECT_EQ(Take(run, queue).value(), i);
  EXPECT_TRUE(add.status().ok());
  EXPECT_EQ(Take(run, queue).status().code(), StatusCode::kOutOfRange);
}

TEST(QueueClose, AddersWhoWaitFailIfAskedEvenAfterAnEarlierClose) {
  for (const bool closed_before : {false, true}) {
    ResourceRun run;
    const Tensor queue = MakeQueue(run, 1);
    const AddMany first(run, queue, {1, 2});
    const Add second(run, queue, 3);
    ASSERT_TRUE(!closed_before || Close(run, queue).ok());
    EXPECT_TRUE(Close(run, queue, true).ok());
    EXPECT_TRUE(Says(first.status(), StatusCode::kCancelled, "FIFOQueue 'q' is closed."));
    EXPECT_TRUE(Says(second.status(), StatusCode::kCancelled, "FIFOQueue 'q' is closed."));
    EXPECT_EQ(Take(run, queue).value(), 1);  // what was in stays
    EXPECT_EQ(Take(run, queue).status().code(), StatusCode::kOutOfRange);
    EXPECT_TRUE(Close(run, queue, true).ok());
  }
}

TEST(QueueDestroy, DropsTheElementsAndEndsEveryWait) {
  for (const bool closed_before : {false, true}) {
    ResourceRun run;
    const Tensor queue = MakeQueue(run, 1);
    const AddMany add(run, queue, {1, 2});
    ASSERT_TRUE(!closed_before || Close(run, queue).ok());
    const AttrMap strict = Attrs({{"ignore_lookup_error", false}});
    run.All("DestroyResourceOp", {queue}, strict);
    EXPECT_EQ(add.status().code(), StatusCode::kCancelled);
    EXPECT_EQ(Size(run, queue), 0);
    EXPECT_EQ(Take(run, queue).status().code(), StatusCode::kOutOfRange);
    EXPECT_EQ(run.Error("DestroyResourceOp", {queue}, strict).code(), StatusCode::kNotFound);
  }
}

TEST(QueueShapes, AreThoseOfTheOnlyComponent) {
  ResourceRun run;
  const auto made =
      InferShapes("FIFOQueueV2", {}, QueueAttrs("q", 1, {DType::kInt32}, {Partial({2, -1})}));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)[0].shape, PartialShape::Scalar());
  const Tensor queue = MakeQueue(run, 1);
  const AttrMap one = Attrs({{"component_types", std::vector<DType>{DType::kInt32}}});
  EXPECT_EQ((*InferShapes("QueueDequeueV2", {queue}, one, (*made)[0].handle))[0].shape,
            Partial({2, -1}));
  EXPECT_FALSE((*InferShapes("QueueDequeueV2", {queue}, one))[0].shape.has_rank());
  EXPECT_FALSE(InferShapes("QueueEnqueueManyV2", {queue, Tensor::Scalar(1)}, {}).ok());
  EXPECT_TRUE(InferShapes("QueueEnqueueManyV2", {queue, Tensor::Vector<int32_t>({1})}, {}).ok());
}

}  // namespace
}  // namespace gyre
