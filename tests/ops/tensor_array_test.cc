// TensorArrays, one element at a time: writing once, reading, growing, shapes, closing, memory.
#include <atomic>

#include "base/env.h"
#include "ops/tensor_arrays.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Array;
using test::Attrs;
using test::Holds;
using test::InferShapes;
using test::IsInvalid;
using test::Partial;
using test::ResourceRun;
using test::Values;

Tensor F(float value) { return Tensor::Scalar(value); }
Tensor Vec(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

TEST(TensorArray, GivesBackWhatWasWrittenInAnyOrder) {
  ResourceRun run;
  const Array array(run, 3);
  EXPECT_TRUE(array.Write(2, F(3)).ok());
  EXPECT_TRUE(array.Write(0, Vec({1, 2})).ok());
  EXPECT_EQ(array.Size(), 3);
  EXPECT_TRUE(Holds(array.Read(0), {2}, {1, 2}));
  EXPECT_TRUE(Holds(array.Read(2), {}, {3}));
}

TEST(TensorArray, EachExecutionMakesAnotherArray) {
  ResourceRun run;
  const Array one(run, 1), other(run, 1);
  EXPECT_TRUE(one.Write(0, F(1)).ok());
  EXPECT_TRUE(other.Write(0, F(2)).ok());
  EXPECT_TRUE(Holds(one.Read(0), {}, {1}));
  EXPECT_TRUE(Holds(other.Read(0), {}, {2}));
}

TEST(TensorArray, AnElementIsWrittenOnce) {
  ResourceRun run;
  const Array array(run, 2);
  EXPECT_TRUE(array.Write(1, F(1)).ok());
  EXPECT_TRUE(IsInvalid(array.Write(1, F(2)),
                        "TensorArray ta: Could not write to TensorArray index 1 because it has "
                        "already been written to."));
  EXPECT_TRUE(Holds(array.Read(1), {}, {1}));
  EXPECT_TRUE(IsInvalid(array.Write(1, F(2)), "index 1 because it has already been read."));
}

TEST(TensorArray, AnElementIsReadOnceUnlessItIsKept) {
  ResourceRun run;
  const Array cleared(run, 1);
  EXPECT_TRUE(cleared.Write(0, F(1)).ok());
  EXPECT_TRUE(Holds(cleared.Read(0), {}, {1}));
  EXPECT_TRUE(IsInvalid(cleared.Read(0).status(),
                        "Could not read index 0 twice because it was cleared after a previous read "
                        "(perhaps try setting clear_after_read = false?)."));
  const Array kept(run, 1, Attrs({{"clear_after_read", false}}));
  EXPECT_TRUE(kept.Write(0, F(1)).ok());
  EXPECT_TRUE(Holds(kept.Read(0), {}, {1}));
  EXPECT_TRUE(Holds(kept.Read(0), {}, {1}));
  EXPECT_TRUE(IsInvalid(kept.Write(0, F(2)), "it has already been read"));
}

TEST(TensorArray, WhatWasNeverWrittenIsZerosIfItsShapeIsKnown) {
  ResourceRun run;
  const Array unknown(run, 2, Attrs({{"element_shape", Partial({2, -1})}}));
  EXPECT_TRUE(IsInvalid(unknown.Read(0).status(),
                        "Could not read from TensorArray index 0 because it has not been written "
                        "to. Furthermore, the element shape is not fully defined: [2,?]"));
  const Array known(run, 2, Attrs({{"element_shape", Partial({2})}}));
  EXPECT_TRUE(Holds(known.Read(0), {2}, {0, 0}));
  EXPECT_TRUE(IsInvalid(known.Write(0, Vec({1, 2})), "it has already been read"));
  EXPECT_TRUE(IsInvalid(known.Read(0).status(), "Could not read index 0 twice"));
  const Array strings(run, 1, Attrs({{"element_shape", Partial({2})}}), DType::kString);
  EXPECT_EQ(Values<std::string>(*strings.Read(0)), (std::vector<std::string>{"", ""}));
}

TEST(TensorArray, HasASizeThatWritesBeyondItExtendOnlyIfDynamic) {
  ResourceRun run;
  const Array fixed(run, 2);
  for (const int32_t index : {-1, 2, INT32_MAX}) {
    EXPECT_TRUE(
        IsInvalid(fixed.Write(index, F(1)), "Tried to write to index " + std::to_string(index) +
                                                " but array is not resizeable and size is: 2"));
    EXPECT_TRUE(
        IsInvalid(fixed.Read(index).status(),
                  "Tried to read from index " + std::to_string(index) + " but array size is: 2"));
  }
  const Array dynamic(run, 0, Attrs({{"dynamic_size", true}}));
  EXPECT_EQ(dynamic.Size(), 0);
  EXPECT_TRUE(dynamic.Write(100, F(1)).ok());
  EXPECT_TRUE(dynamic.Write(3, F(2)).ok());
  EXPECT_EQ(dynamic.Size(), 101);
  EXPECT_TRUE(Holds(dynamic.Read(100), {}, {1}));
  EXPECT_TRUE(IsInvalid(dynamic.Write(-1, F(1)), "Tried to write to index -1"));
  EXPECT_TRUE(IsInvalid(dynamic.Read(101).status(), "but array size is: 101"));
  EXPECT_TRUE(IsInvalid(dynamic.Read(50).status(), "it has not been written to"));
}

TEST(TensorArray, AFailedWriteChangesNothing) {
  ResourceRun run;
  const Array array(run, 1, Attrs({{"dynamic_size", true}, {"element_shape", Partial({2})}}));
  EXPECT_FALSE(array.Write(7, F(1)).ok());
  EXPECT_EQ(array.Size(), 1);
  EXPECT_TRUE(array.Write(7, Vec({1, 2})).ok());
  EXPECT_EQ(array.Size(), 8);
}

TEST(TensorArray, ChecksTypesAndShapes) {
  ResourceRun run;
  const Array array(run, 3, Attrs({{"element_shape", Partial({-1, 2})}}));
  EXPECT_TRUE(IsInvalid(array.Write(0, Vec({1, 2})),
                        "Could not write to TensorArray index 0 because the value shape is [2] "
                        "which is incompatible with the TensorArray's inferred element shape: "
                        "[?,2] (consider setting infer_shape=False)."));
  EXPECT_TRUE(array.Write(0, *Tensor::Make(DType::kFloat, test::ShapeOf({3, 2}))).ok());
  EXPECT_TRUE(array.Write(1, *Tensor::Make(DType::kFloat, test::ShapeOf({1, 2}))).ok());
  EXPECT_TRUE(IsInvalid(array.Write(2, Tensor::Scalar<int32_t>(1)),
                        "TensorArray dtype is float32 but Op is trying to use dtype int32."));
  const Array as_int(run, array.handle(), DType::kInt32);
  EXPECT_TRUE(IsInvalid(as_int.Read(0).status(), "TensorArray dtype is float32"));
}

TEST(TensorArray, IdenticalElementShapesAreThatOfTheFirstWrite) {
  ResourceRun run;
  const Array array(run, 3, Attrs({{"identical_element_shapes", true}}));
  EXPECT_FALSE(array.Read(2).ok());
  EXPECT_TRUE(array.Write(0, Vec({1, 2})).ok());
  EXPECT_TRUE(IsInvalid(array.Write(1, F(1)),
                        "the value shape is [] which is incompatible with the TensorArray's "
                        "inferred element shape: [2]"));
  EXPECT_TRUE(Holds(array.Read(2), {2}, {0, 0}));
}

TEST(TensorArray, OnceClosedGivesNothing) {
  ResourceRun run;
  const Array array(run, 2);
  EXPECT_TRUE(array.Write(0, F(1)).ok());
  array.Close();
  array.Close();  // again
  const std::string closed = "TensorArray ta: It has already been closed.";
  EXPECT_TRUE(IsInvalid(array.Read(0).status(), closed));
  EXPECT_TRUE(IsInvalid(array.Write(1, F(1)), closed));
  EXPECT_TRUE(IsInvalid(run.Error("TensorArraySizeV3", {array.handle(), Array::Flow()}), closed));
  EXPECT_TRUE(IsInvalid(array.Gather({0}).status(), closed));
  EXPECT_TRUE(IsInvalid(array.Scatter({1}, Vec({1})), closed));
  EXPECT_TRUE(IsInvalid(array.Concat().status(), closed));
  EXPECT_TRUE(IsInvalid(array.Split(Vec({1}), {1, 0}), closed));
  EXPECT_TRUE(IsInvalid(array.TryGradient("g").status(), closed));
}

TEST(TensorArray, SaysWhatIsNoArrayNoSizeAndNoIndex) {
  ResourceRun run;
  const AttrMap floats = Attrs({{"dtype", DType::kFloat}});
  EXPECT_TRUE(IsInvalid(run.Error("TensorArrayV3", {Tensor::Scalar<int32_t>(-1)}, floats),
                        "Size should be >= 0, but is -1"));
  EXPECT_TRUE(IsInvalid(run.Error("TensorArrayV3", {Tensor::Vector<int32_t>({1})}, floats),
                        "TensorArray size must be scalar, but had shape: [1]"));
  const Array array(run, 1);
  const Tensor vector = Tensor::Vector<int32_t>({0});
  EXPECT_TRUE(
      IsInvalid(run.Error("TensorArrayReadV3", {array.handle(), vector, Array::Flow()}, floats),
                "TensorArray index must be scalar, but had shape: [1]"));
  EXPECT_TRUE(
      IsInvalid(run.Error("TensorArrayWriteV3", {array.handle(), vector, F(1), Array::Flow()}),
                "TensorArray index must be scalar, but had shape: [1]"));
  const Tensor stack =
      run.Run("StackV2", {Tensor::Scalar(-1)}, Attrs({{"elem_type", DType::kFloat}}));
  EXPECT_TRUE(IsInvalid(Array(run, stack, DType::kFloat).Read(0).status(),
                        "must be a handle of a TensorArray, but it is one of a Stack"));
}

TEST(TensorArray, HandsItsFlowOn) {
  ResourceRun run;
  const Array array(run, 1);
  const Tensor flow = Tensor::Scalar(2.5f);
  EXPECT_EQ(run.Run("TensorArrayWriteV3", {array.handle(), Tensor::Scalar(0), F(1), flow})
                .scalar<float>(),
            2.5f);
  const std::vector<Tensor> gradient =
      run.All("TensorArrayGradV3", {array.handle(), flow}, Attrs({{"source", std::string("g")}}));
  EXPECT_EQ(gradient[1].scalar<float>(), 2.5f);
}

TEST(TensorArray, WritesFromManyThreadsAllArrive) {
  constexpr int kThreads = 4, kEach = 100;
  ResourceRun run;
  const Array array(run, 0, Attrs({{"dynamic_size", true}}));
  std::atomic<int> refused{0};
  RunOnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      if (!array.Write(i * kThreads + thread, F(1)).ok()) ++refused;
      if (!array.Write(i, F(1)).ok()) ++refused;
    }
  });
  // Every element below kEach is written five times in all, one of which succeeds.
  EXPECT_EQ(refused, kEach * kThreads);
  EXPECT_EQ(array.Size(), kThreads * kEach);
}

TEST(TensorArrayMemory, IsTakenWhereElementsAreWrittenAndGivenBack) {
  ResourceRun run;
  {
    const Array array(run, INT32_MAX);
    EXPECT_GT(run.budget().used(), 0);
    EXPECT_LT(run.budget().used(), 1'000);
    EXPECT_TRUE(array.Write(0, F(1)).ok());
    EXPECT_GT(run.budget().used(), 1'000);
    EXPECT_LT(run.budget().used(), 10'000);
    EXPECT_TRUE(array.Gradient("g").Write(0, F(1)).ok());
  }
  EXPECT_EQ(run.budget().used(), 0);
  const Array closed(run, 100);
  const int64_t empty = run.budget().used();
  EXPECT_TRUE(closed.Write(50, F(1)).ok());
  EXPECT_GT(run.budget().used(), empty);
  closed.Close();
  EXPECT_EQ(run.budget().used(), empty);
}

TEST(TensorArrayMemory, OfAnElementGoesWithIt) {
  ResourceRun run;
  const Array array(run, 2);
  const int64_t empty = run.budget().used();
  for (const int32_t index : {0, 1}) {
    EXPECT_TRUE(array
                    .Write(index, *Tensor::Zeros(DType::kFloat, Shape::Vector(10'000),
                                                 {nullptr, &run.budget()}))
                    .ok());
  }
  EXPECT_GE(run.budget().used(), 80'000);
  EXPECT_TRUE(array.Read(0).ok());  // and cleared
  EXPECT_LT(run.budget().used(), 80'000);
  EXPECT_GE(run.budget().used(), 40'000);
  array.Close();
  EXPECT_EQ(run.budget().used(), empty);
}

TEST(TensorArrayMemory, BoundsHowManyArraysThereAre) {
  ResourceRun run(/*budget=*/10'000);
  std::vector<Tensor> arrays;
  absl::Status status;
  while (status.ok() && arrays.size() < 1'000) {
    auto made =
        run.Try("TensorArrayV3", {Tensor::Scalar<int32_t>(0)}, Attrs({{"dtype", DType::kFloat}}));
    status = made.status();
    if (status.ok()) arrays.push_back((*made)[0]);
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  const Array first(run, arrays[0], DType::kFloat);
  EXPECT_EQ(first.TryGradient("g").status().code(), StatusCode::kResourceExhausted);
  arrays.resize(1);
  EXPECT_TRUE(first.TryGradient("g").ok());
}

TEST(TensorArrayMemory, AnIndexFarOutIsBoundedByTheBudget) {
  ResourceRun run(/*budget=*/1 << 20);
  const Array array(run, 0, Attrs({{"dynamic_size", true}}));
  EXPECT_EQ(array.Write(1 << 30, F(1)).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(array.Size(), 0);
  EXPECT_TRUE(array.Write(1000, F(1)).ok());
}

TEST(TensorArrayShapes, AreThoseOfTheElements) {
  ResourceRun run;
  const AttrMap attrs = Attrs({{"dtype", DType::kFloat}, {"element_shape", Partial({2, -1})}});
  const AttrMap floats = Attrs({{"dtype", DType::kFloat}});
  const Tensor index = Tensor::Scalar<int32_t>(0);
  const auto made = InferShapes("TensorArrayV3", {index}, attrs);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::optional<HandleInfo> info = (*made)[0].handle;
  EXPECT_EQ(info, (HandleInfo{DType::kFloat, Partial({2, -1})}));
  const Tensor handle = Array(run, 1).handle(), flow = Array::Flow();
  EXPECT_EQ((*InferShapes("TensorArrayReadV3", {handle, index, flow}, floats, info))[0].shape,
            Partial({2, -1}));
  EXPECT_FALSE(InferShapes("TensorArrayReadV3", {handle, index, flow},
                           Attrs({{"dtype", DType::kInt32}}), info)
                   .ok());
  EXPECT_FALSE(InferShapes("TensorArrayWriteV3", {handle, index, F(1), flow}, {}, info).ok());
  EXPECT_TRUE(InferShapes("TensorArrayWriteV3", {handle, index, F(1), flow}, {}).ok());
  const AttrMap source = Attrs({{"source", std::string("g")}});
  EXPECT_EQ((*InferShapes("TensorArrayGradV3", {handle, flow}, source, info))[0].handle, info);
  EXPECT_EQ((*InferShapes("TensorArrayGradWithShape", {handle, flow, Tensor::Vector<int32_t>({5})},
                          source, info))[0]
                .handle,
            (HandleInfo{DType::kFloat, Partial({5, 2, -1})}));
}

}  // namespace
}  // namespace gyre
