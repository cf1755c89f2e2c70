// Optionals: some tensors, or none.
#include "ops/resource_run.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Attrs;
using test::InferShapes;
using test::IsInvalid;
using test::Partial;
using test::ResourceRun;
using test::Values;

Tensor Some(ResourceRun& run, std::vector<Tensor> components) {
  return run.Run("OptionalFromValue", std::move(components));
}
Tensor None(ResourceRun& run) { return run.Run("OptionalNone", {}); }

AttrMap As(std::vector<DType> types, std::vector<PartialShape> shapes) {
  return Attrs({{"output_types", std::move(types)}, {"output_shapes", std::move(shapes)}});
}
AttrMap AsFloat(PartialShape shape = PartialShape::Unknown()) {
  return As({DType::kFloat}, {std::move(shape)});
}

absl::StatusOr<std::vector<Tensor>> Sum(ResourceRun& run, const Tensor& a, const Tensor& b) {
  return run.Try("AddN", {a, b}, Attrs({{"N", int64_t{2}}}));
}

TEST(Optional, GivesBackItsComponents) {
  ResourceRun run;
  const Tensor some =
      Some(run, {Tensor::Vector<float>({1, 2}), Tensor::Scalar(std::string("three"))});
  EXPECT_TRUE(run.Run("OptionalHasValue", {some}).scalar<bool>());
  for (int twice = 0; twice < 2; ++twice) {
    const std::vector<Tensor> values =
        run.All("OptionalGetValue", {some},
                As({DType::kFloat, DType::kString}, {Partial({-1}), PartialShape::Unknown()}));
    EXPECT_EQ(Values<float>(values[0]), (std::vector<float>{1, 2}));
    EXPECT_EQ(values[1].scalar<std::string>(), "three");
  }
}

TEST(Optional, NoneHasNoValue) {
  ResourceRun run;
  EXPECT_FALSE(run.Run("OptionalHasValue", {None(run)}).scalar<bool>());
  EXPECT_TRUE(IsInvalid(run.Error("OptionalGetValue", {None(run)}, AsFloat()),
                        "The given optional does not have a value."));
}

TEST(Optional, ChecksNumberTypesAndShapesOfWhatIsAskedFor) {
  ResourceRun run;
  const Tensor some = Some(run, {Tensor::Scalar(1.0f), Tensor::Vector<float>({2, 3})});
  const PartialShape any = PartialShape::Unknown();
  EXPECT_TRUE(IsInvalid(run.Error("OptionalGetValue", {some}, AsFloat()),
                        "The given optional has 2 components, expected 1."));
  EXPECT_TRUE(IsInvalid(
      run.Error("OptionalGetValue", {some}, As({DType::kFloat, DType::kInt32}, {any, any})),
      "The given optional's component 1 is of type float32, expected int32."));
  EXPECT_TRUE(IsInvalid(run.Error("OptionalGetValue", {some},
                                  As({DType::kFloat, DType::kFloat}, {any, Partial({3})})),
                        "The given optional's component 1 has shape [2], expected [3]."));
  EXPECT_TRUE(
      IsInvalid(run.Error("OptionalGetValue", {some}, As({DType::kFloat, DType::kFloat}, {any})),
                "output_shapes and output_types must be of the same length, not 1 and 2"));
}

TEST(Optional, SaysWhatIsNoOptional) {
  ResourceRun run;
  const Tensor list =
      run.Run("EmptyTensorList", {Tensor::Scalar<int32_t>(-1), Tensor::Scalar<int32_t>(-1)},
              Attrs({{"element_dtype", DType::kFloat}}));
  EXPECT_TRUE(IsInvalid(run.Error("OptionalHasValue", {list}),
                        "input 0 must be an Optional, but it is a TensorList"));
  EXPECT_TRUE(IsInvalid(run.Error("OptionalGetValue", {list}, AsFloat()), "a TensorList"));
  const Tensor nothing = Tensor::FromObject(DType::kVariant, nullptr);
  EXPECT_TRUE(IsInvalid(run.Error("OptionalHasValue", {nothing}), "must be an Optional"));
  const Tensor two = *Tensor::Make(DType::kVariant, Shape::Vector(2));
  EXPECT_TRUE(IsInvalid(run.Error("OptionalHasValue", {two}), "must be an Optional"));
}

TEST(Optional, IsAValueThatWritersElsewhereDoNotReach) {
  ResourceRun run;
  const Tensor some = Some(run, {Tensor::Vector<float>({1, 2})});
  Tensor value = run.Run("OptionalGetValue", {some}, AsFloat());
  run.Run("Neg", test::Inputs(std::move(value)));
  EXPECT_EQ(Values<float>(run.Run("OptionalGetValue", {some}, AsFloat())),
            (std::vector<float>{1, 2}));
}

TEST(Optional, SumsComponentByComponent) {
  ResourceRun run;
  const Tensor a = Some(run, {Tensor::Scalar(1.0f), Tensor::Vector<int32_t>({1, 2})});
  const Tensor b = Some(run, {Tensor::Scalar(10.0f), Tensor::Vector<int32_t>({10, 20})});
  const auto sum = Sum(run, a, b);
  ASSERT_TRUE(sum.ok()) << sum.status();
  const std::vector<Tensor> values =
      run.All("OptionalGetValue", {(*sum)[0]},
              As({DType::kFloat, DType::kInt32}, {Partial({}), Partial({2})}));
  EXPECT_EQ(values[0].scalar<float>(), 11);
  EXPECT_EQ(Values<int32_t>(values[1]), (std::vector<int32_t>{11, 22}));
  const auto none = Sum(run, None(run), None(run));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(run.Run("OptionalHasValue", *none).scalar<bool>());
}

TEST(Optional, SumsOnlyWhatIsAlike) {
  ResourceRun run;
  const Tensor one = Some(run, {Tensor::Scalar(1.0f)});
  for (const auto& [a, b] : {std::pair(one, None(run)), std::pair(None(run), one)}) {
    EXPECT_TRUE(IsInvalid(Sum(run, a, b).status(),
                          "Cannot add optionals because one has a value and the other doesn't."));
  }
  EXPECT_TRUE(IsInvalid(
      Sum(run, one, Some(run, {Tensor::Scalar(1.0f), Tensor::Scalar(2.0f)})).status(),
      "Cannot add optionals because they have different numbers of components (1 vs. 2)."));
  EXPECT_TRUE(IsInvalid(Sum(run, one, Some(run, {Tensor::Scalar(1.0)})).status(), ""));
  EXPECT_TRUE(IsInvalid(Sum(run, one, Some(run, {Tensor::Vector<float>({1, 2})})).status(), ""));
  const Tensor list =
      run.Run("EmptyTensorList", {Tensor::Scalar<int32_t>(-1), Tensor::Scalar<int32_t>(-1)},
              Attrs({{"element_dtype", DType::kFloat}}));
  EXPECT_TRUE(IsInvalid(Sum(run, one, list).status(), "cannot add an Optional and a TensorList"));
}

TEST(Optional, ZerosLikeKeepsItsStructure) {
  ResourceRun run;
  const Tensor inner = Some(run, {Tensor::Scalar<int32_t>(7)});
  const Tensor outer = Some(run, {Tensor::Vector<float>({1, 2}), inner});
  const Tensor zeros = run.Run("ZerosLike", {outer});
  const std::vector<Tensor> values =
      run.All("OptionalGetValue", {zeros},
              As({DType::kFloat, DType::kVariant}, {Partial({2}), Partial({})}));
  EXPECT_EQ(Values<float>(values[0]), (std::vector<float>{0, 0}));
  EXPECT_EQ(run.Run("OptionalGetValue", {values[1]}, As({DType::kInt32}, {Partial({})}))
                .scalar<int32_t>(),
            0);
  EXPECT_FALSE(run.Run("OptionalHasValue", {run.Run("ZerosLike", {None(run)})}).scalar<bool>());
}

TEST(Optional, NestedDeeplyIsRefusedByArithmeticAndDroppedWithoutRecursion) {
  ResourceRun run;
  Tensor nested = None(run);
  for (int i = 0; i < 100'000; ++i) nested = Some(run, test::Inputs(std::move(nested)));
  EXPECT_EQ(run.Error("ZerosLike", {nested}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Sum(run, nested, nested).status().code(), StatusCode::kInvalidArgument);
  nested = Tensor();
  EXPECT_EQ(run.budget().used(), 0);
}

TEST(OptionalMemory, IsChargedWhereverOneIsMadeAndGivenBack) {
  ResourceRun run;
  {
    const Tensor none = None(run);
    const int64_t of_none = run.budget().used();
    EXPECT_GT(of_none, 0);
    const Tensor some = Some(run, {Tensor::Scalar(1.0f), Tensor::Scalar(2.0f)});
    const int64_t of_some = run.budget().used() - of_none;
    EXPECT_EQ(of_some, of_none + static_cast<int64_t>(2 * sizeof(Tensor)));
    const Tensor zeros = run.Run("ZerosLike", {some});
    EXPECT_EQ(run.budget().used(), of_none + 2 * of_some);
    const auto sum = Sum(run, some, zeros);
    EXPECT_EQ(run.budget().used(), of_none + 3 * of_some);
  }
  EXPECT_EQ(run.budget().used(), 0);
  ResourceRun poor(/*budget=*/8);
  EXPECT_EQ(poor.Error("OptionalFromValue", {Tensor::Scalar(1.0f)}).code(),
            StatusCode::kResourceExhausted);
}

TEST(OptionalShapes, AreThoseAskedFor) {
  ResourceRun run;
  const Tensor some = Some(run, {Tensor::Scalar(1.0f)});
  EXPECT_EQ((*InferShapes("OptionalFromValue", {Tensor::Vector<float>({1})}, {}))[0].shape,
            PartialShape::Scalar());
  EXPECT_EQ((*InferShapes("OptionalGetValue", {some}, AsFloat(Partial({-1, 2}))))[0].shape,
            Partial({-1, 2}));
  const Tensor two = *Tensor::Make(DType::kVariant, Shape::Vector(2));
  EXPECT_FALSE(InferShapes("OptionalGetValue", {two}, AsFloat()).ok());
}

}  // namespace
}  // namespace gyre
