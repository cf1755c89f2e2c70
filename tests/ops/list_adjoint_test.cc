// Lists as gradients: what is not there is zero, and adding to an element costs as much as it has.
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
using test::Values;

Tensor Index(int32_t i) { return Tensor::Scalar<int32_t>(i); }
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Rows(std::initializer_list<float> values, int64_t n) {
  const int64_t row = static_cast<int64_t>(values.size()) / n;
  return Tensor::FromValues<float>(values, test::ShapeOf({n, row}));
}

Tensor Empty(ResourceRun& run, int32_t max_size = -1, Tensor shape = Index(-1)) {
  return run.Run("EmptyTensorList", {std::move(shape), Index(max_size)},
                 Attrs({{"element_dtype", DType::kFloat}}));
}

Tensor AddAt(ResourceRun& run, Tensor list, Tensor indices, Tensor values) {
  return run.Run("_TensorListAddAt",
                 Inputs(std::move(list), std::move(indices), std::move(values)));
}

absl::StatusOr<std::vector<Tensor>> TryItems(ResourceRun& run, const Tensor& list, Tensor indices,
                                             Tensor dims, DType dtype = DType::kFloat) {
  return run.Try("_TensorListItemsOrZeros", {list, std::move(indices), std::move(dims)},
                 Attrs({{"T", dtype}}));
}

std::vector<float> Items(ResourceRun& run, const Tensor& list, Tensor indices, Tensor dims) {
  const auto items = TryItems(run, list, std::move(indices), std::move(dims));
  EXPECT_TRUE(items.ok()) << items.status();
  return items.ok() ? Values<float>((*items)[0]) : std::vector<float>();
}

const TensorList& Object(const Tensor& list) { return *list.object_as<TensorList>(); }

TEST(ListAdjoint, GrowsAndAddsUp) {
  ResourceRun run;
  Tensor list = AddAt(run, Empty(run), Index(3), Tensor::Scalar(1.0f));
  EXPECT_EQ(Object(list).size(), 4);
  list = AddAt(run, list, Index(3), Tensor::Scalar(2.0f));
  list = AddAt(run, list, Index(1), Tensor::Scalar(5.0f));
  EXPECT_EQ(Items(run, list, Ints({0, 1, 2, 3, 4, 1000}), Ints({6})),
            (std::vector<float>{0, 5, 0, 3, 0, 0}));
  EXPECT_EQ(Items(run, list, Index(3), Ints({})), (std::vector<float>{3}));
  EXPECT_EQ(Items(run, list, Index(2), Ints({2})), (std::vector<float>{0, 0}));
}

TEST(ListAdjoint, VectorsOfIndicesNameRowsAndMayRepeat) {
  ResourceRun run;
  Tensor list = AddAt(run, Empty(run), Ints({2, 0, 2}), Rows({1, 2, 3, 4, 5, 6}, 3));
  EXPECT_EQ(Items(run, list, Ints({2, 1, 0}), Ints({3, 2})),
            (std::vector<float>{6, 8, 0, 0, 3, 4}));
  list = AddAt(run, list, Ints({}), *Tensor::Zeros(DType::kFloat, test::ShapeOf({0, 2}), {}));
  EXPECT_EQ(Object(list).size(), 3);
  EXPECT_EQ(Items(run, list, Ints({}), Ints({0, 2})), std::vector<float>());
}

TEST(ListAdjoint, ElementsMayDifferInShape) {
  ResourceRun run;
  Tensor list = AddAt(run, Empty(run), Index(0), Floats({1, 2}));
  list = AddAt(run, list, Index(1), Floats({1, 2, 3}));
  list = AddAt(run, list, Index(1), Floats({1, 1, 1}));
  EXPECT_EQ(Items(run, list, Index(0), Ints({2})), (std::vector<float>{1, 2}));
  EXPECT_EQ(Items(run, list, Index(1), Ints({3})), (std::vector<float>{2, 3, 4}));
}

TEST(ListAdjoint, IsAValueThatLaterChangesDoNotReach) {
  ResourceRun run;
  for (const int64_t n : {int64_t{1}, int64_t{1000}}) {  // packed in the list, and on its own
    const Tensor value = *Tensor::Zeros(DType::kFloat, Shape::Vector(n), {});
    const Tensor one = Tensor::FromValues<float>(std::vector<float>(static_cast<size_t>(n), 1.0f),
                                                 Shape::Vector(n));
    const Tensor dims = Ints({static_cast<int32_t>(n)});
    const Tensor first = AddAt(run, Empty(run), Index(0), value);
    const Tensor second = AddAt(run, first, Index(0), one);
    EXPECT_EQ(Items(run, first, Index(0), dims)[0], 0) << n;
    EXPECT_EQ(Items(run, second, Index(0), dims)[0], 1) << n;
    EXPECT_EQ(Values<float>(value)[0], 0) << n;
    EXPECT_EQ(Values<float>(one)[0], 1) << n;
  }
}

TEST(ListAdjoint, ListsOfListsAddUp) {
  ResourceRun run;
  const Tensor inner = AddAt(run, Empty(run), Index(1), Tensor::Scalar(2.0f));
  Tensor outer = run.Run("EmptyTensorList", {Index(-1), Index(-1)},
                         Attrs({{"element_dtype", DType::kVariant}}));
  outer = AddAt(run, AddAt(run, outer, Index(0), inner), Index(0), inner);
  const auto items = TryItems(run, outer, Index(0), Ints({}), DType::kVariant);
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(Items(run, (*items)[0], Index(1), Ints({})), (std::vector<float>{4}));
}

TEST(ListAdjoint, MistakesAreNamed) {
  ResourceRun run;
  const Tensor list = AddAt(run, Empty(run), Index(0), Floats({1, 2}));
  const auto error = [&](const Tensor& to, Tensor indices, Tensor values) {
    return run.Error("_TensorListAddAt", {to, std::move(indices), std::move(values)});
  };
  EXPECT_TRUE(IsInvalid(error(list, Index(-1), Floats({1, 2})), "-1"));
  EXPECT_TRUE(IsInvalid(error(list, Index(0), Floats({1, 2, 3})), "[3] to element 0"));
  EXPECT_TRUE(IsInvalid(error(list, Index(0), Tensor::Scalar<int32_t>(1)), "int32"));
  EXPECT_TRUE(IsInvalid(error(list, Ints({0, 1}), Floats({1})), "2 indices"));
  EXPECT_TRUE(IsInvalid(error(list, Ints({0}), Tensor::Scalar(1.0f)), "at least a vector"));
  EXPECT_TRUE(
      IsInvalid(error(list, Ints({0}).Reshaped(test::ShapeOf({1, 1})), Floats({1})), "[1,1]"));
  EXPECT_TRUE(IsInvalid(error(Empty(run, 2), Index(2), Floats({1})), "at most 2"));
  EXPECT_TRUE(IsInvalid(error(Empty(run, -1, Ints({2})), Index(0), Floats({1})), "[2]"));
  EXPECT_TRUE(IsInvalid(TryItems(run, list, Index(0), Ints({3})).status(), "[2] instead of [3]"));
  EXPECT_TRUE(IsInvalid(TryItems(run, list, Index(-2), Ints({2})).status(), "-2"));
  EXPECT_TRUE(IsInvalid(TryItems(run, list, Ints({0}), Ints({2, 2})).status(), "1 indices"));
  EXPECT_TRUE(IsInvalid(TryItems(run, list, Index(0), Index(2)).status(), "dims"));
  EXPECT_TRUE(
      IsInvalid(TryItems(run, list, Index(0), Ints({2}), DType::kDouble).status(), "float64"));
  EXPECT_EQ(Items(run, list, Index(0), Ints({2})), (std::vector<float>{1, 2}));
}

TEST(ListAdjoint, SumsAreAsLongAsTheLongest) {
  ResourceRun run;
  const Tensor a = AddAt(run, Empty(run), Ints({0, 1}), Floats({1, 2}));
  const Tensor b = AddAt(run, Empty(run), Ints({1, 5}), Floats({10, 20}));
  const Tensor c = AddAt(run, Empty(run), Ints({0}), Floats({100}));
  const Tensor sum = run.Run("_TensorListSum", {a, b, c, a});
  EXPECT_EQ(Object(sum).size(), 6);
  EXPECT_EQ(Items(run, sum, Ints({0, 1, 2, 5}), Ints({4})), (std::vector<float>{102, 14, 0, 20}));
  EXPECT_EQ(Items(run, a, Ints({0, 1}), Ints({2})), (std::vector<float>{1, 2}));
  const Tensor ints =
      run.Run("EmptyTensorList", {Index(-1), Index(-1)}, Attrs({{"element_dtype", DType::kInt32}}));
  EXPECT_TRUE(IsInvalid(run.Error("_TensorListSum", {a, ints}), "int32"));
}

TEST(ListAdjoint, ShapesAreKnownBeforeTheRun) {
  const Tensor list = Tensor::FromObject(DType::kVariant, nullptr);
  const HandleInfo pairs{DType::kFloat, Partial({2})};
  const auto added = InferShapes("_TensorListAddAt", {list, Index(0), Floats({1, 2})}, {}, pairs);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ((*added)[0].handle, pairs);
  EXPECT_FALSE(InferShapes("_TensorListAddAt", {list, Index(0), Floats({1})}, {}, pairs).ok());
  const auto items = InferShapes("_TensorListItemsOrZeros", {list, Ints({0}), Ints({1, 2})},
                                 Attrs({{"T", DType::kFloat}}), pairs);
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ((*items)[0].shape, Partial({1, 2}));
}

// Elements moved per addition to one of `n` elements, `times` times each. `element` numbers each.
double MovesPerAdd(int n, int times, int64_t element) {
  ResourceRun run;
  Tensor list = Empty(run);
  const Tensor value = Tensor::FromValues<float>(
      std::vector<float>(static_cast<size_t>(element), 1.0f), Shape::Vector(element));
  for (int t = 0; t < times; ++t) {
    for (int i = n - 1; i >= 0; --i) list = AddAt(run, std::move(list), Index(i), value);
  }
  return static_cast<double>(Object(list).elements.moves()) / (n * times);
}

TEST(ListAdjointWork, AddingCopiesNothingButAnElementThatOthersSee) {
  for (const int n : {100, 1'000, 10'000}) {
    EXPECT_LE(MovesPerAdd(n, 1, 1), 2.0) << n;
    EXPECT_LE(MovesPerAdd(n, 4, 1), 0.5) << n;
    // The value that is there first is also the caller's.
    EXPECT_LE(MovesPerAdd(n, 4, 100), 0.75) << n;
  }
}

TEST(ListAdjointWork, ASumTakesAsLongAsTheShorterList) {
  ResourceRun run;
  constexpr int kLong = 10'000;
  Tensor sum = run.Run("TensorListFromTensor",
                       {*Tensor::Zeros(DType::kFloat, Shape::Vector(kLong), {}), Ints({})},
                       Attrs({{"element_dtype", DType::kFloat}}));
  const int64_t before = Object(sum).elements.moves();
  for (int i = 0; i < 100; ++i) {
    Tensor one = AddAt(run, Empty(run), Index(i * 100), Tensor::Scalar(1.0f));
    sum = i % 2 == 0 ? run.Run("_TensorListSum", Inputs(std::move(sum), std::move(one)))
                     : run.Run("_TensorListSum", Inputs(std::move(one), std::move(sum)));
  }
  EXPECT_LE(Object(sum).elements.moves() - before, 100);
  EXPECT_EQ(Items(run, sum, Ints({100, 101}), Ints({2})), (std::vector<float>{1, 0}));
}

}  // namespace
}  // namespace gyre
