// Lists of tensors: values that share what they have in common, and the cost of growing them.
#include <deque>
#include <random>

#include "ops/list/tensor_list.h"
#include "ops/resource_run.h"

namespace gyre {
namespace {

using test::Attrs;
using test::InferShapes;
using test::Inputs;
using test::IsInvalid;
using test::Partial;
using test::ResourceRun;
using test::Says;
using test::Values;

const AttrMap& Floats() {
  static const auto* const attrs = new AttrMap(Attrs({{"element_dtype", DType::kFloat}}));
  return *attrs;
}

Tensor Index(int32_t i) { return Tensor::Scalar<int32_t>(i); }
Tensor AnyShape() { return Tensor::Scalar<int32_t>(-1); }
Tensor NoShape() { return Tensor::Vector<int32_t>({}); }

Tensor Empty(ResourceRun& run, int32_t max_size = -1, Tensor shape = AnyShape()) {
  return run.Run("EmptyTensorList", {shape, Index(max_size)}, Floats());
}

Tensor Push(ResourceRun& run, Tensor list, Tensor value) {
  return run.Run("TensorListPushBack", Inputs(std::move(list), std::move(value)), Floats());
}

Tensor ListOf(ResourceRun& run, const std::vector<float>& values) {
  Tensor list = Empty(run);
  for (const float value : values) list = Push(run, std::move(list), Tensor::Scalar(value));
  return list;
}

std::vector<float> Elements(ResourceRun& run, const Tensor& list, const Tensor& shape = NoShape()) {
  return Values<float>(run.Run("TensorListStack", {list, shape}, Floats()));
}

const TensorList& Object(const Tensor& list) { return *list.object_as<TensorList>(); }

TEST(TensorList, PushedElementsComeBackInReverse) {
  ResourceRun run;
  Tensor list = ListOf(run, {1, 2, 3});
  EXPECT_EQ(run.Run("TensorListLength", {list}).scalar<int32_t>(), 3);
  for (const float want : {3.0f, 2.0f, 1.0f}) {
    std::vector<Tensor> popped = run.All("TensorListPopBack", {list, AnyShape()}, Floats());
    EXPECT_EQ(popped[1].scalar<float>(), want);
    list = popped[0];
  }
  EXPECT_TRUE(Says(run.Error("TensorListPopBack", {list, AnyShape()}, Floats()),
                   absl::StatusCode::kInvalidArgument, "empty list"));
}

TEST(TensorList, IsAValueThatLaterChangesDoNotReach) {
  ResourceRun run;
  const Tensor three = ListOf(run, {1, 2, 3});
  const Tensor four = Push(run, three, Tensor::Scalar(4.0f));
  const Tensor changed =
      run.Run("TensorListSetItem", {three, Index(0), Tensor::Scalar(9.0f)}, Floats());
  EXPECT_EQ(Elements(run, three), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Elements(run, four), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(Elements(run, changed), (std::vector<float>{9, 2, 3}));
}

TEST(TensorList, IndicesOutsideAreNamed) {
  ResourceRun run;
  const Tensor list = ListOf(run, {1, 2, 3});
  for (const int32_t i : {-1, 3, 1 << 30}) {
    EXPECT_TRUE(IsInvalid(run.Error("TensorListGetItem", {list, Index(i), NoShape()}, Floats()),
                          std::to_string(i)));
    EXPECT_TRUE(
        IsInvalid(run.Error("TensorListSetItem", {list, Index(i), Tensor::Scalar(1.0f)}, Floats()),
                  std::to_string(i)));
  }
  EXPECT_EQ(Elements(run, list), (std::vector<float>{1, 2, 3}));
}

TEST(TensorList, ReservedElementsAreZerosOnceAShapeIsKnown) {
  ResourceRun run;
  const Tensor list =
      run.Run("TensorListReserve", {Tensor::Vector<int32_t>({2}), Index(3)}, Floats());
  const Tensor item =
      run.Run("TensorListGetItem", {list, Index(1), Tensor::Vector<int32_t>({2})}, Floats());
  EXPECT_EQ(Values<float>(item), (std::vector<float>{0, 0}));
  EXPECT_EQ(Elements(run,
                     run.Run("TensorListSetItem", {list, Index(2), Tensor::Vector<float>({5, 6})},
                             Floats()),
                     Tensor::Vector<int32_t>({2})),
            (std::vector<float>{0, 0, 0, 0, 5, 6}));
  const Tensor shapeless = run.Run("TensorListReserve", {AnyShape(), Index(3)}, Floats());
  EXPECT_TRUE(IsInvalid(run.Error("TensorListGetItem", {shapeless, Index(1), AnyShape()}, Floats()),
                        "shape"));
}

TEST(TensorList, KeepsItsPromises) {
  ResourceRun run;
  const Tensor pairs = Empty(run, -1, Tensor::Vector<int32_t>({2}));
  EXPECT_TRUE(
      IsInvalid(run.Error("TensorListPushBack", {pairs, Tensor::Scalar(1.0f)}, Floats()), "[2]"));
  EXPECT_TRUE(IsInvalid(run.Error("TensorListPushBack", {pairs, Tensor::Scalar<int32_t>(1)},
                                  Attrs({{"element_dtype", DType::kInt32}})),
                        "int32"));
  const Tensor one = Push(run, Empty(run, 1), Tensor::Scalar(1.0f));
  EXPECT_TRUE(
      IsInvalid(run.Error("TensorListPushBack", {one, Tensor::Scalar(1.0f)}, Floats()), "1"));
  const Tensor nothing = Tensor::FromObject(DType::kVariant, nullptr);
  EXPECT_TRUE(IsInvalid(run.Error("TensorListLength", {nothing}), "not a TensorList"));
}

TEST(TensorList, FromTensorAndStackAreInverse) {
  ResourceRun run;
  const Tensor rows = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, test::ShapeOf({3, 2}));
  const Tensor list =
      run.Run("TensorListFromTensor", {rows, Tensor::Vector<int32_t>({2})}, Floats());
  EXPECT_EQ(run.Run("TensorListLength", {list}).scalar<int32_t>(), 3);
  const Tensor stacked = run.Run("TensorListStack", {list, Tensor::Vector<int32_t>({2})}, Floats());
  EXPECT_EQ(stacked.shape(), rows.shape());
  EXPECT_EQ(Values<float>(stacked), Values<float>(rows));
  EXPECT_TRUE(IsInvalid(run.Error("TensorListStack", {Empty(run), AnyShape()}, Floats()), "shape"));
  const Tensor gathered =
      run.Run("TensorListGather",
              {list, Tensor::Vector<int32_t>({2, 0, 2}), Tensor::Vector<int32_t>({2})}, Floats());
  EXPECT_EQ(Values<float>(gathered), (std::vector<float>{5, 6, 1, 2, 5, 6}));
}

TEST(TensorList, ConcatJoinsRowsAndSplitTakesThemApart) {
  ResourceRun run;
  Tensor list = Empty(run);
  list = Push(run, list, Tensor::Vector<float>({1, 2}));
  list = Push(run, list, Tensor::Vector<float>({3}));
  const std::vector<Tensor> joined =
      run.All("TensorListConcatV2",
              {list, Tensor::Vector<int32_t>({-1}), Tensor::Vector<int64_t>({})}, Floats());
  EXPECT_EQ(Values<float>(joined[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Values<int64_t>(joined[1]), (std::vector<int64_t>{2, 1}));
  const Tensor split =
      run.Run("TensorListSplit", {joined[0], Tensor::Vector<int32_t>({-1}), joined[1]}, Floats());
  EXPECT_EQ(Values<float>(run.Run("TensorListGetItem",
                                  {split, Index(0), Tensor::Vector<int32_t>({2})}, Floats())),
            (std::vector<float>{1, 2}));
}

TEST(TensorList, ConcatGivesMissingElementsTheRowsOfTheOthers) {
  ResourceRun run;
  const Tensor column = Tensor::Vector<int32_t>({-1});
  const auto set = [&](const Tensor& list, int32_t i, const Tensor& item) {
    return run.Run("TensorListSetItem", {list, Index(i), item}, Floats());
  };
  Tensor list = run.Run("TensorListReserve", {column, Index(3)}, Floats());
  list = set(list, 1, Tensor::Vector<float>({1, 2}));
  const Tensor nothing = Tensor::Vector<int64_t>({});
  std::vector<Tensor> joined = run.All("TensorListConcatV2", {list, column, nothing}, Floats());
  EXPECT_EQ(Values<float>(joined[0]), (std::vector<float>{0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(Values<int64_t>(joined[1]), (std::vector<int64_t>{2, 2, 2}));
  joined = run.All("TensorListConcatV2", {list, column, Tensor::Vector<int64_t>({1})}, Floats());
  EXPECT_EQ(Values<int64_t>(joined[1]), (std::vector<int64_t>{1, 2, 2}));
  const Tensor uneven = set(list, 2, Tensor::Vector<float>({3}));
  EXPECT_TRUE(IsInvalid(run.Error("TensorListConcatV2", {uneven, column, nothing}, Floats()),
                        "uninitialized tensor at index 0"));
}

TEST(TensorList, SumsElementByElement) {
  ResourceRun run;
  const Tensor sum = run.Run("AddN", {ListOf(run, {1, 2}), ListOf(run, {10, 20})},
                             Attrs({{"T", DType::kVariant}, {"N", int64_t{2}}}));
  EXPECT_EQ(Elements(run, sum), (std::vector<float>{11, 22}));
  const Tensor zeros = run.Run("ZerosLike", {sum}, Attrs({{"T", DType::kVariant}}));
  EXPECT_EQ(Elements(run, zeros), (std::vector<float>{0, 0}));
  EXPECT_FALSE(run.Error("AddN", {ListOf(run, {1}), ListOf(run, {1, 2})},
                         Attrs({{"T", DType::kVariant}, {"N", int64_t{2}}}))
                   .ok());
}

// The work behind appending is counted in elements moved, which no noise of a machine can hide: it
// must not grow faster than the list. `keep` holds every list on the way, as a gradient's would.
double MovesPerAppend(int n, bool keep) {
  ResourceRun run;
  std::vector<Tensor> kept;
  Tensor list = Empty(run);
  for (int i = 0; i < n; ++i) {
    if (keep) kept.push_back(list);
    list = Push(run, std::move(list), Tensor::Scalar(static_cast<float>(i)));
  }
  EXPECT_EQ(Object(list).size(), n);
  return static_cast<double>(Object(list).elements.moves()) / n;
}

double MovesPerSet(int n, bool keep) {
  ResourceRun run;
  std::vector<Tensor> kept;
  Tensor list = run.Run("TensorListReserve", {NoShape(), Index(n)}, Floats());
  for (int i = 0; i < n; ++i) {
    if (keep) kept.push_back(list);
    list = run.Run("TensorListSetItem",
                   Inputs(std::move(list), Index(n - 1 - i), Tensor::Scalar(1.0f)), Floats());
  }
  return static_cast<double>(Object(list).elements.moves()) / n;
}

TEST(TensorListWork, AppendingAndSettingMoveEachElementAtMostTwice) {
  // Once into its place, and once more when its leaf, which grows by doubling, has become full.
  for (const int n : {100, 1'000, 10'000, 100'000}) {
    EXPECT_LE(MovesPerAppend(n, false), 2.0) << n;
    EXPECT_LE(MovesPerSet(n, false), 2.0) << n;
  }
}

TEST(TensorListWork, StaysLinearWhileEveryVersionIsKept) {
  // At most one leaf, of 256 scalars, is copied, whatever n is.
  for (const int n : {100, 1'000, 10'000, 100'000}) {
    EXPECT_LE(MovesPerAppend(n, true), 256) << n;
    EXPECT_LE(MovesPerSet(n, true), 256) << n;
  }
}

// ChunkedVector against a plain vector, of elements of few shapes, single and in runs, with copies
// that are kept on the way.
class ChunkedVectorModel {
 public:
  explicit ChunkedVectorModel(uint32_t seed) : random_(seed) {}

  void ChangeAndCheck(int steps) {
    for (int step = 0; step < steps; ++step) {
      Change();
      if (step % 10 == 0) kept_.emplace_back(elements_, want_);
      if (kept_.size() > 3) kept_.pop_front();
      Check(elements_, want_);
      for (const auto& [elements, want] : kept_) Check(elements, want);
    }
  }

 private:
  using Model = std::vector<std::vector<float>>;  // the elements' values; empty: nothing is stored

  int Draw(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  void Change() {
    const int size = static_cast<int>(want_.size());
    if (TryWithoutACall(size)) return;
    switch (Draw(7)) {
      case 0: {
        const int n = Draw(150);
        ASSERT_TRUE(elements_.Resize(n, {}).ok());
        want_.resize(static_cast<size_t>(n));
        return;
      }
      case 1:
        if (size == 0) return;
        want_.pop_back();
        ASSERT_TRUE(elements_.DropLast({}).ok());
        return;
      case 2: {
        if (size == 0) return;
        const int i = Draw(size);
        want_[static_cast<size_t>(i)].clear();
        ASSERT_TRUE(elements_.Clear(i, {}).ok());
        return;
      }
      case 3: {
        const float value = Next();
        want_.push_back({value});
        ASSERT_TRUE(elements_.AppendScalar(&value, {}).ok());
        return;
      }
      case 4: {
        if (size == 0) return;
        const int i = Draw(size);
        const float value = Next();
        want_[static_cast<size_t>(i)] = {value};
        ASSERT_TRUE(elements_.SetScalar(i, &value, {}).ok());
        return;
      }
      default: {
        if (size == 0) return;
        const int i = Draw(size), n = 1 + Draw(size - i);
        const int64_t each = std::vector<int64_t>{1, 1, 2, 40}[static_cast<size_t>(Draw(4))];
        std::vector<float> values(static_cast<size_t>(n * each));
        for (float& value : values) value = Next();
        for (int k = 0; k < n; ++k)
          want_[static_cast<size_t>(i + k)].assign(values.begin() + k * each,
                                                   values.begin() + (k + 1) * each);
        ASSERT_TRUE(elements_.SetRun(i, n, ShapeOf(each), values.data(), {}).ok());
      }
    }
  }
  // What can be done in the leaf that was last opened; whether there was something.
  bool TryWithoutACall(int size) {
    const float value = Next();
    switch (Draw(6)) {
      case 0:
        if (!elements_.TryAppend(value)) return false;
        want_.push_back({value});
        return true;
      case 1: {
        float last = 0;
        if (size == 0 || !elements_.TryPop(&last)) return false;
        EXPECT_EQ(want_.back(), std::vector<float>{last});
        want_.pop_back();
        return true;
      }
      case 2: {
        const int i = Draw(size + 40);
        if (!elements_.TrySet(i, value)) return false;
        EXPECT_LT(i, size);
        want_[static_cast<size_t>(i)] = {value};
        return true;
      }
      case 3: {
        const int i = Draw(size + 40);
        float found = 0;
        int32_t other = 0;
        EXPECT_FALSE(elements_.TryGet(i, &other)) << "of another type";
        if (!elements_.TryGet(i, &found)) return false;
        EXPECT_LT(i, size);
        EXPECT_EQ(want_[static_cast<size_t>(i)], std::vector<float>{found});
        return false;
      }
      case 4:
        if (size > 0) elements_.OpenLeafOf(Draw(size));
        return false;
      default:
        return false;
    }
  }
  float Next() { return static_cast<float>(++last_); }
  static Shape ShapeOf(int64_t each) { return each == 1 ? Shape() : Shape::Vector(each); }

  static void Check(const ChunkedVector& elements, const Model& want) {
    ASSERT_EQ(elements.size(), static_cast<int64_t>(want.size()));
    for (int64_t i = 0; i < elements.size();) {
      const ChunkedVector::Item item = elements.PeekRun(i);
      ASSERT_GE(item.run, 1);
      ASSERT_LE(i + item.run, elements.size());
      for (int64_t k = 0; k < item.run; ++k) {
        const std::vector<float>& values = want[static_cast<size_t>(i + k)];
        const ChunkedVector::Item one = elements.Peek(i + k);
        ASSERT_EQ(one.data == nullptr, values.empty()) << i + k;
        ASSERT_EQ(item.data == nullptr, values.empty()) << i + k;
        if (values.empty()) continue;
        const auto n = static_cast<int64_t>(values.size());
        ASSERT_EQ(*one.shape, ShapeOf(n));
        ASSERT_EQ(*item.shape, ShapeOf(n));
        ASSERT_EQ(static_cast<const float*>(item.data) + k * n, one.data) << i + k;
        ASSERT_TRUE(std::equal(values.begin(), values.end(), static_cast<const float*>(one.data)));
      }
      i += item.run;
    }
    int64_t next = elements.NextStored(0);
    for (int64_t i = 0; i < elements.size(); ++i) {
      if (want[static_cast<size_t>(i)].empty()) continue;
      ASSERT_EQ(next, i);
      next = elements.NextStored(i + 1);
    }
    ASSERT_EQ(next, elements.size());
  }

  std::mt19937 random_;
  ChunkedVector elements_{DType::kFloat};
  Model want_;
  std::deque<std::pair<ChunkedVector, Model>> kept_;
  int last_ = 0;
};

TEST(TensorList, HoldsWhatAPlainVectorWould) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    ChunkedVectorModel(seed).ChangeAndCheck(120);
    if (HasFatalFailure()) return;
  }
}

// More elements than the tree spans that holds those which are there.
TEST(TensorList, ZerosAndSumsOfAListWithRoomForMore) {
  ResourceRun run;
  Tensor list = run.Run("TensorListReserve", {NoShape(), Index(40)}, Floats());
  list = run.Run("TensorListSetItem", Inputs(std::move(list), Index(3), Tensor::Scalar(7.0f)),
                 Floats());
  EXPECT_EQ(Object(list).elements.NextStored(4), 40);
  const AttrMap variant = Attrs({{"T", DType::kVariant}});
  const Tensor sum =
      run.Run("AddN", {list, list}, Attrs({{"T", DType::kVariant}, {"N", int64_t{2}}}));
  EXPECT_EQ(Elements(run, sum)[3], 14);
  EXPECT_EQ(Elements(run, run.Run("ZerosLike", {list}, variant)), std::vector<float>(40, 0));
}

// Pops all of a list of n elements, which somebody else keeps or not.
Tensor PopAll(ResourceRun& run, Tensor list, int n) {
  for (int i = n - 1; i >= 0; --i) {
    std::vector<Tensor> popped =
        run.All("TensorListPopBack", Inputs(std::move(list), AnyShape()), Floats());
    EXPECT_EQ(popped[1].scalar<float>(), static_cast<float>(i));
    list = std::move(popped[0]);
  }
  return list;
}

std::vector<float> CountTo(int n) {
  std::vector<float> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(TensorListWork, PoppingCopiesNothingAlsoWhereTheListIsShared) {
  constexpr int kSize = 5'000;
  ResourceRun run;
  Tensor list = ListOf(run, CountTo(kSize));
  const int64_t before = Object(list).elements.moves();
  EXPECT_EQ(Object(PopAll(run, list, kSize)).elements.moves(), before);
  EXPECT_EQ(Elements(run, list), CountTo(kSize));
  EXPECT_EQ(Object(PopAll(run, std::move(list), kSize)).elements.moves(), before);
}

TEST(TensorListWork, WhatWasPoppedOffASharedListDoesNotComeBack) {
  ResourceRun run;
  const Tensor whole = ListOf(run, CountTo(100));
  Tensor list = whole;
  for (int i = 0; i < 60; ++i)
    list = run.All("TensorListPopBack", Inputs(std::move(list), AnyShape()), Floats())[0];
  const Tensor longer = run.Run("TensorListResize", {list, Index(100)}, Floats());
  std::vector<float> want = CountTo(40);
  want.resize(100);
  EXPECT_EQ(Elements(run, longer), want);
  EXPECT_EQ(Elements(run, Push(run, list, Tensor::Scalar(7.0f))).back(), 7);
  EXPECT_EQ(Elements(run, list), CountTo(40));
  EXPECT_EQ(Elements(run, whole), CountTo(100));
}

TEST(TensorListWork, MemoryIsChargedAndGivenBack) {
  ResourceRun run;
  const int64_t before = run.budget().used();
  {
    Tensor list = Empty(run);
    for (int i = 0; i < 1000; ++i) {
      list = Push(run, std::move(list),
                  *Tensor::Zeros(DType::kFloat, test::ShapeOf({256}), {nullptr, &run.budget()}));
    }
    EXPECT_GE(run.budget().used() - before, 1000 * 256 * 4);
  }
  EXPECT_EQ(run.budget().used(), before);
}

TEST(TensorListWork, DeepNestingEndsInASentence) {
  ResourceRun run;
  const AttrMap variants = Attrs({{"element_dtype", DType::kVariant}});
  Tensor list = Empty(run);
  for (int i = 0; i < 200'000; ++i) {
    const Tensor outer = run.Run("EmptyTensorList", {AnyShape(), Index(-1)}, variants);
    list = run.Run("TensorListPushBack", Inputs(outer, std::move(list)), variants);
  }
  EXPECT_TRUE(IsInvalid(run.Error("ZerosLike", {list}, Attrs({{"T", DType::kVariant}})), "nest"));
}

TEST(TensorListShapes, FollowTheElements) {
  const AttrMap floats = Floats();
  const auto made = InferShapes("EmptyTensorList", {Tensor::Vector<int32_t>({2}), Index(-1)},
                                Attrs({{"element_dtype", DType::kFloat}}));
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE((*made)[0].handle.has_value());
  ResourceRun run;
  const auto item = InferShapes("TensorListGetItem", {Empty(run), Index(0), AnyShape()}, floats,
                                (*made)[0].handle);
  ASSERT_TRUE(item.ok());
  EXPECT_EQ((*item)[0].shape, Partial({2}));
}

}  // namespace
}  // namespace gyre
