// Tensors seen as C++ values: what does not fit is an exception, and never memory of others.
#include "base/out_of_memory.h"
#include "gmock/gmock.h"
#include "gyre/core/tensor.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;

std::string WhyNot(const std::function<void()>& read) {
  try {
    read();
  } catch (const BadTensorAccess& error) {
    return error.what();
  }
  return "";
}

TEST(TensorAccess, ElementsHaveTheTypeOfTheTensor) {
  const Tensor t = Tensor::Vector<float>({1, 2});
  EXPECT_THAT(t.values<float>(), ElementsAre(1, 2));
  EXPECT_EQ(WhyNot([&] { (void)t.values<double>(); }),
            "a tensor of float32 [2] was read as one of float64");
  EXPECT_EQ(WhyNot([&] { (void)t.values<int32_t>(); }),
            "a tensor of float32 [2] was read as one of int32");
  EXPECT_EQ(WhyNot([&] { (void)t.values<std::string>(); }),
            "a tensor of float32 [2] was read as one of string");
  Tensor own = t;
  EXPECT_NE(WhyNot([&] { (void)own.mutable_values<int64_t>(); }), "");
  EXPECT_EQ(WhyNot([&] { (void)Tensor().values<float>(); }),
            "a tensor without a value was read as one of float32");
}

TEST(TensorAccess, AScalarIsOneElement) {
  EXPECT_EQ(Tensor::Scalar(2.5).scalar<double>(), 2.5);
  EXPECT_EQ(Tensor::Vector<int32_t>({7}).scalar<int32_t>(), 7);
  EXPECT_EQ(WhyNot([] { (void)Tensor::Vector<int32_t>({7, 8}).scalar<int32_t>(); }),
            "a tensor of int32 [2] was read as a scalar");
  EXPECT_EQ(
      WhyNot([] { (void)Tensor::FromValues<int32_t>({}, Shape::Vector(0)).scalar<int32_t>(); }),
      "a tensor of int32 [0] was read as a scalar");
  EXPECT_NE(WhyNot([] { (void)Tensor::Scalar(1.0f).scalar<double>(); }), "");
}

TEST(TensorAccess, AsManyValuesAsAShapeHas) {
  EXPECT_EQ(WhyNot([] { Tensor::FromValues<float>({1, 2, 3}, *Shape::Make({2, 2})); }),
            "a tensor of shape [2,2] was made of 3 values");
}

TEST(TensorAccess, WhatIsOnlyMovedIsSeenByItsSize) {
  enum class Word : uint32_t {};
  EXPECT_EQ(Tensor::Vector<float>({1, 2}).values<Word>().size(), 2u);
  EXPECT_NE(WhyNot([] { (void)Tensor::Scalar(1.0).values<Word>(); }), "");
  EXPECT_EQ(Tensor::Scalar(true).scalar<uint8_t>(), 1);
}

TEST(TensorText, IsForPeople) {
  EXPECT_EQ(to_string(Tensor::FromValues<int32_t>({1, 2, 3, 4}, *Shape::Make({2, 2}))),
            "[[1 2]\n [3 4]]");
  EXPECT_EQ(to_string(Tensor::Scalar(std::string("a"))), "\"a\"");
  EXPECT_EQ(to_string(Tensor()), "no value");
  EXPECT_EQ(to_string(DType::kHalf), "float16");
  EXPECT_EQ(to_string(*Shape::Make({2, 3})), "[2,3]");
  EXPECT_EQ(to_string(PartialShape(Dims{2, -1})), "[2,?]");
}

// Where a thread's way through the engine ends, the process does not.
TEST(TensorAccess, WhatAKernelMisreadsIsAnErrorOfTheRun) {
  const absl::Status status = CatchOutOfMemory("this run", []() -> absl::Status {
    (void)Tensor::Scalar(1.0f).scalar<double>();
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "a kernel misuses a tensor: a tensor of float32 [] was read as one of float64");
}

}  // namespace
}  // namespace gyre
