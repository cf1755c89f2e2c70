// Kernels of CUDA devices that are no elementwise ops': products, reductions, softmaxes, moves.
// They give what the CPU's give: the same bits, but for sums and products of floats.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "devices/conformance/device.h"
#include "devices/cuda/code.h"
#include "fake_cuda/load.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "support/paths.h"

namespace gyre::testing {
namespace {

using ::testing::HasSubstr;

// The fake driver's library has a fake cuBLAS, too.
const bool driver_is_loaded = [] {
  LoadFakeCudaIfNeeded();
  if (FakeCudaFunction<void()>("FakeCudaReset") != nullptr)
    setenv("GYRE_CUBLAS", test::BuildPath("fake_cuda/libcuda.so.1").c_str(), 1);
  return true;
}();

Tensor Int32s(const std::vector<int64_t>& values) {
  Tensor made = *Tensor::Make(DType::kInt32, Shape::Vector(static_cast<int64_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    made.mutable_values<int32_t>()[i] = static_cast<int32_t>(values[i]);
  return made;
}

// Numbers of moderate size: eighths between -2 and 2, or integers.
Tensor Numbers(DType dtype, const Shape& shape, uint32_t seed) {
  Tensor floats = *Tensor::Make(DType::kFloat, shape);
  for (float& value : floats.mutable_values<float>()) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int32_t>(seed >> 27) - 16) / 8 + 0.0625f;
  }
  if (dtype == DType::kFloat) return floats;
  const AttrMap attrs = {{"DstT", dtype}};
  return (*EvaluateOp("Cast", {floats}, attrs))[0];
}

class CudaOps : public ::testing::Test {
 protected:
  void SetUp() override {
    type_ = FindDeviceType("CUDA");
    if (type_->count() == 0) GTEST_SKIP() << "this machine has no CUDA devices";
    const auto code = cuda::LibraryCode("gyre_move_4");
    if (!code.ok()) GTEST_SKIP() << code.status();
    device_ = *LocalDevice(DeviceName::Local("CUDA", 0));
  }

  // What the device's kernel makes; as a run would give them to it, short integers stay on the
  // host.
  absl::StatusOr<std::vector<Tensor>> There(const Node& node, const std::vector<Tensor>& inputs,
                                            bool all_go = false) {
    GYRE_ASSIGN_OR_RETURN(const Kernel kernel, type_->kernel(node));
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) {
      const bool goes = NeedsCopy(input, device_) && (all_go || !device_->TakesFromHost(input));
      there.push_back(goes ? Copied(input, device_) : input);
    }
    std::vector<Tensor> outputs(node.signature.outputs.size());
    RunEnv env;
    env.allocator = &device_->kernel_allocator();
    KernelContext ctx(node, env, {}, absl::MakeSpan(there), absl::MakeSpan(outputs));
    GYRE_RETURN_IF_ERROR(kernel.run(ctx, kernel.attrs.get()));
    there.clear();
    for (Tensor& output : outputs)
      if (NeedsCopy(output, nullptr)) output = Copied(output, nullptr);
    return outputs;
  }

  // How far apart they may be, in parts of the largest number that goes in.
  void Compare(absl::string_view op, const std::vector<Tensor>& inputs, const AttrMap& attrs = {},
               double most_apart = 0) {
    const auto node = MakeNode(Ops(), op, inputs, attrs);
    ASSERT_TRUE(node.ok()) << op << node.status();
    for (const bool all_go : {false, true}) {
      RunEnv env;
      const auto want = EvaluateNode(Ops(), *node, inputs, env);
      const auto got = There(*node, inputs, all_go);
      ASSERT_TRUE(want.ok() && got.ok()) << op << want.status() << got.status();
      for (size_t i = 0; i < want->size(); ++i)
        EXPECT_TRUE(AreClose((*want)[i], (*got)[i], most_apart))
            << op << " of " << DTypeName(inputs[0].dtype()) << inputs[0].shape().ToString();
    }
  }

  static bool AreClose(const Tensor& want, const Tensor& got, double most_apart) {
    if (most_apart == 0) return SameBytes(want, got);
    if (want.dtype() != got.dtype() || want.shape() != got.shape()) return false;
    const AttrMap attrs = {{"DstT", DType::kDouble}};
    const Tensor a = (*EvaluateOp("Cast", {want}, attrs))[0];
    const Tensor b = (*EvaluateOp("Cast", {got}, attrs))[0];
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      const double x = a.values<double>()[i], y = b.values<double>()[i];
      if (!(std::isnan(x) && std::isnan(y)) && x != y && !(std::fabs(x - y) <= most_apart)) {
        ADD_FAILURE() << x << " and " << y << " at " << i;
        return false;
      }
    }
    return true;
  }

  static double Epsilon(DType dtype) {
    switch (dtype) {
      case DType::kHalf:
        return std::ldexp(1.0, -10);
      case DType::kBfloat16:
        return std::ldexp(1.0, -7);
      case DType::kFloat:
        return std::ldexp(1.0, -23);
      default:
        return std::ldexp(1.0, -52);
    }
  }

  const DeviceType* type_ = nullptr;
  Device* device_ = nullptr;
};

struct Case {
  Shape shape;
  std::vector<int64_t> axes;
};
std::vector<Case> Reductions() {
  const auto shape = [](std::initializer_list<int64_t> dims) { return Shape::Trusted(Dims(dims)); };
  return {{shape({7}), {0}},
          {shape({1000}), {0}},
          {shape({40'000}), {0}},
          {shape({3, 500}), {1}},
          {shape({500, 3}), {0}},
          {shape({2, 9000}), {-1}},
          {shape({40, 5, 6}), {1}},
          {shape({6, 70, 5}), {0, 2}},
          {shape({4, 1, 3}), {1}},
          {shape({4, 1, 3}), {}},
          {shape({0, 3}), {0}},
          {shape({3, 0}), {0}},
          {shape({5, 4, 3, 2}), {0, 1, 2, 3}}};
}

TEST_F(CudaOps, ReductionsOfIntegersAndBooleansHaveTheCpusBits) {
  uint32_t seed = 1;
  for (const Case& c : Reductions()) {
    for (const char* op : {"Sum", "Prod", "Mean", "Max", "Min"}) {
      for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kInt32,
                                DType::kInt64, DType::kUint64}) {
        for (const bool keep : {false, true})
          Compare(op, {Numbers(dtype, c.shape, ++seed), Int32s(c.axes)}, {{"keep_dims", keep}});
      }
    }
    for (const char* op : {"All", "Any"})
      Compare(op, {Numbers(DType::kBool, c.shape, ++seed), Int32s(c.axes)});
  }
}

TEST_F(CudaOps, ReductionsOfFloatsAreWithinRounding) {
  uint32_t seed = 1;
  for (const Case& c : Reductions()) {
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16}) {
      const Tensor x = Numbers(dtype, c.shape, ++seed);
      const Tensor axes = Int32s(c.axes);
      for (const char* op : {"Max", "Min"}) Compare(op, {x, axes});
      // Of numbers up to 2, in trees of some twenty levels; and the result is rounded.
      const double n = static_cast<double>(std::max<int64_t>(x.num_elements(), 1));
      Compare("Sum", {x, axes}, {}, 2 * n * 20 * std::ldexp(1.0, -24) + 2 * n * Epsilon(dtype) / 8);
      Compare("Mean", {x, axes}, {}, 4 * Epsilon(dtype));
      Compare("Prod", {Numbers(dtype, Shape::Trusted(Dims{3, 6}), seed), Int32s({1})}, {},
              64 * 8 * Epsilon(dtype));
    }
  }
}

TEST_F(CudaOps, NansAndInfinitiesGoThroughReductions) {
  Tensor x = Numbers(DType::kFloat, Shape::Trusted(Dims{3, 300}), 1);
  x.mutable_values<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  x.mutable_values<float>()[400] = std::numeric_limits<float>::infinity();
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) Compare(op, {x, Int32s({1})}, {}, 1e-3);
}

TEST_F(CudaOps, Softmaxes) {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16}) {
    for (const Shape& shape :
         {Shape::Vector(1), Shape::Vector(10), Shape::Trusted(Dims{5, 300}),
          Shape::Trusted(Dims{2, 3, 4}), Shape::Trusted(Dims{0, 4}), Shape::Trusted(Dims{3, 0})}) {
      for (const char* op : {"Softmax", "LogSoftmax"})
        Compare(op, {Numbers(dtype, shape, 7)}, {}, 8 * Epsilon(dtype));
    }
  }
}

TEST_F(CudaOps, Products) {
  uint32_t seed = 1;
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16}) {
    for (const bool turn_a : {false, true}) {
      for (const bool turn_b : {false, true}) {
        const auto matrix = [&](int64_t rows, int64_t columns, bool turned) {
          return Numbers(dtype, Shape::Trusted(turned ? Dims{columns, rows} : Dims{rows, columns}),
                         ++seed);
        };
        const AttrMap attrs = {{"transpose_a", turn_a}, {"transpose_b", turn_b}};
        const double apart = 5 * 4 * 4 * Epsilon(dtype);
        const Tensor a = matrix(7, 5, turn_a), b = matrix(5, 3, turn_b);
        Compare("MatMul", {a, b}, attrs, apart);
        Compare("_MatMulAdd", {a, b, matrix(7, 3, false)}, attrs, apart);
        Compare("MatMul", {matrix(7, 0, turn_a), matrix(0, 3, turn_b)}, attrs);
        Compare("MatMul", {matrix(0, 5, turn_a), b}, attrs);
        const auto batch = [&](Dims dims, int64_t rows, int64_t columns, bool turned) {
          dims.push_back(turned ? columns : rows);
          dims.push_back(turned ? rows : columns);
          return Numbers(dtype, Shape::Trusted(std::move(dims)), ++seed);
        };
        const AttrMap adjoint = {{"adj_x", turn_a}, {"adj_y", turn_b}};
        Compare("BatchMatMulV2", {batch({2, 3}, 4, 5, turn_a), batch({2, 3}, 5, 2, turn_b)},
                adjoint, apart);
        Compare("BatchMatMulV2", {batch({2, 1}, 4, 5, turn_a), batch({3}, 5, 2, turn_b)}, adjoint,
                apart);
        Compare("BatchMatMulV2", {batch({}, 4, 5, turn_a), batch({4, 1, 2}, 5, 2, turn_b)}, adjoint,
                apart);
      }
    }
  }
}

// Shapes that do not fit are the same error.
TEST_F(CudaOps, ProductsFailAsTheCpus) {
  const std::vector<Tensor> inputs = {Numbers(DType::kFloat, Shape::Trusted(Dims{2, 3}), 1),
                                      Numbers(DType::kFloat, Shape::Trusted(Dims{4, 5}), 1)};
  Node node = *MakeNode(Ops(), "MatMul", inputs);
  RunEnv env;
  EXPECT_EQ(EvaluateNode(Ops(), node, inputs, env).status(), There(node, inputs).status());
}

TEST_F(CudaOps, Moves) {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kInt8, DType::kHalf,
                            DType::kComplex128, DType::kInt32}) {
    const Tensor x = Noise(dtype, 60, 3).Reshaped(Shape::Trusted(Dims{3, 4, 5}));
    const Tensor one = Noise(dtype, 1, 3), scalar = one.Reshaped(Shape());
    Compare("Transpose", {x, Int32s({2, 0, 1})});
    Compare("Reshape", {x, Int32s({5, -1})});
    Compare("Reshape", {one, Int32s({})});
    Compare("Squeeze", {one});
    Compare("ExpandDims", {x, Tensor::Scalar(int32_t{1})});
    Compare("Slice", {x, Int32s({1, 0, 2}), Int32s({2, -1, 2})});
    Compare("StridedSlice", {x, Int32s({2, 0, 4}), Int32s({0, 4, -9}), Int32s({-1, 2, -2})});
    Compare("StridedSlice", {x, Int32s({1, 2, 3}), Int32s({2, 3, 4}), Int32s({1, 1, 1})},
            {{"shrink_axis_mask", int64_t{7}}});
    Compare("StridedSliceGrad", {Int32s({7, 4, 5}), Int32s({0}), Int32s({6}), Int32s({2}), x});
    Compare("ConcatV2", {x, x, x, Tensor::Scalar(int32_t{1})}, {{"N", int64_t{3}}});
    Compare("Pack", {x, x}, {{"N", int64_t{2}}, {"axis", int64_t{1}}});
    Compare("Pack", {scalar, scalar}, {{"N", int64_t{2}}});
    Compare("Unpack", {x}, {{"num", int64_t{4}}, {"axis", int64_t{1}}});
    Compare("Unpack", {Noise(dtype, 3, 3)}, {{"num", int64_t{3}}});
    Compare("Split", {Tensor::Scalar(int32_t{1}), x}, {{"num_split", int64_t{2}}});
    Compare("Tile", {x, Int32s({2, 1, 3})});
    Compare("BroadcastTo", {x, Int32s({2, 3, 4, 5})});
    Compare("BroadcastTo", {scalar, Int32s({3, 4})});
    Compare("Pad", {x, Int32s({1, 0, 0, 2, 1, 1}).Reshaped(Shape::Trusted(Dims{3, 2}))});
    Compare("PadV2", {x, Int32s({1, 0, 0, 2, 1, 1}).Reshaped(Shape::Trusted(Dims{3, 2})), scalar});
    Compare("Fill", {Int32s({40, 3}), scalar});
    Compare("ReverseV2", {x, Int32s({0, 2})});
    Compare("Roll", {x, Int32s({1, 2}), Int32s({0, 2})});
    Compare("Shape", {x});
    Compare("Size", {x});
    Compare("Rank", {x});
    Compare("ConcatOffset", {Tensor::Scalar(int32_t{1}), Int32s({3, 4, 5}), Int32s({3, 2, 5})},
            {{"N", int64_t{2}}});
    Compare("InvertPermutation", {Int32s({2, 0, 1})});
    Compare("BroadcastGradientArgs", {Int32s({3, 1}), Int32s({3, 4})});
  }
}

TEST_F(CudaOps, WithoutKernelsSayWhy) {
  const Tensor x = Numbers(DType::kComplex64, Shape::Trusted(Dims{2, 2}), 1);
  EXPECT_THAT(std::string(type_->kernel(*MakeNode(Ops(), "MatMul", {x, x})).status().message()),
              HasSubstr("there is no kernel for MatMul on CUDA devices: cuBLAS multiplies no "
                        "complex64"));
  EXPECT_THAT(
      std::string(type_->kernel(*MakeNode(Ops(), "Sum", {x, Int32s({0})})).status().message()),
      HasSubstr("there is no kernel for Sum on CUDA devices: of complex64"));
}

}  // namespace
}  // namespace gyre::testing
