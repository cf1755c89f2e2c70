// Kernels of large inputs look whether they are to stop: how much they compute between two looks.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <climits>
#include <numeric>

#include "base/env.h"
#include "ops/math_values.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(GYRE_TSAN)
constexpr int64_t kSlower = 30;
#else
constexpr int64_t kSlower = 1;
#endif
// Some 10 to 50 times what kernels aim at, for machines that are slow or busy.
constexpr int64_t kLimitNanos = 25'000'000 * kSlower;
constexpr int64_t kLarge = 5'000'000;

int64_t CpuNanos() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

// Asked at each look for a run's deadline: notes what this thread has computed since the last one.
class LookClock final : public Clock {
 public:
  int64_t NowNanos() const override {
    const int64_t now = CpuNanos();
    longest_ = std::max(longest_, now - last_);
    last_ = now;
    return 0;
  }
  void Begin() {
    longest_ = 0;
    last_ = CpuNanos();
  }
  int64_t longest() const { return longest_; }

 private:
  mutable int64_t last_ = 0;
  mutable int64_t longest_ = 0;
};

// The longest time that the op computes without a look, the best of a few tries.
int64_t LongestWithoutALook(absl::string_view op, const std::vector<Tensor>& inputs,
                            const AttrMap& attrs) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < 20 && best > kLimitNanos; ++i) {  // the machine may be busy
    ResourceRun run;
    LookClock clock;
    Cancellation cancellation(/*deadline_nanos=*/1, clock);
    run.env().cancellation = &cancellation;
    absl::StatusOr<Node> node = MakeNode(Ops(), op, inputs, attrs);
    EXPECT_TRUE(node.ok()) << std::string(op) << ": " << node.status();
    if (!node.ok()) return INT64_MAX;
    std::vector<Tensor> given = inputs;
    clock.Begin();
    const auto outputs = EvaluateNode(Ops(), *node, std::move(given), run.env());
    clock.NowNanos();
    EXPECT_TRUE(outputs.ok()) << std::string(op) << ": " << outputs.status();
    best = std::min(best, clock.longest());
  }
  return best;
}

template <typename T>
Tensor Numbers(std::vector<int64_t> dims, int64_t multiplier = 1, int64_t modulus = INT64_MAX) {
  const Shape shape = ShapeOf(std::move(dims));
  std::vector<T> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<int64_t>(i) * multiplier % modulus);
  return Tensor::FromValues<T>(values, shape);
}

Tensor Texts(int64_t n) {
  std::vector<std::string> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = std::to_string(i * 7919 % n);
  return Tensor::FromValues<std::string>(values, ShapeOf({n}));
}

Tensor Ints(std::vector<int32_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::FromValues<int32_t>(values, ShapeOf({n}));
}

struct Case {
  absl::string_view op;
  std::vector<Tensor> inputs;
  AttrMap attrs = {};
};

// Decompositions, solvers and transforms.
void AddAlgebra(std::vector<Case>& all) {
  all.push_back({"FFT", {Numbers<complex64>({16, 1 << 18}, 7919, kLarge)}});
  all.push_back({"FFT2D", {Numbers<complex64>({2000, 2500}, 7919, kLarge)}});
  all.push_back({"FFT", {Numbers<complex64>({1, 1'299'709}, 7919, kLarge)}});  // a prime
  const auto matrix = [](int64_t n) {  // without a zero on its diagonal
    const Tensor numbers = Numbers<double>({n, n}, 7919, 10'007);
    return EvaluateOp("AddV2", {numbers, Tensor::Scalar(0.5)}, {})->at(0);
  };
  for (const absl::string_view op :
       {"SelfAdjointEigV2", "Svd", "Qr", "Lu", "MatrixInverse", "LogMatrixDeterminant"})
    all.push_back({op, {matrix(600)}});
  all.push_back({"Eig", {matrix(300)}, Attrs({{"Tout", DType::kComplex128}})});
  all.push_back({"MatrixSquareRoot", {matrix(250)}});
  all.push_back({"MatrixSolve", {matrix(1000), matrix(1000)}});
  all.push_back(
      {"MatrixSolveLs", {matrix(400), matrix(400), Tensor::Scalar(0.1)}, Attrs({{"fast", false}})});
  const Tensor lower =
      EvaluateOp("MatrixBandPart",
                 {matrix(1500), Tensor::Scalar<int32_t>(-1), Tensor::Scalar<int32_t>(0)}, {})
          ->at(0);
  all.push_back({"MatrixTriangularSolve", {lower, lower}});
  all.push_back({"CholeskyGrad", {lower, lower}});
}

std::vector<Case> Cases() {
  const Tensor x = Numbers<float>({kLarge}, 7919, kLarge);
  const Tensor ids = Numbers<int32_t>({kLarge}, 7919, kLarge);  // each number once, in disorder
  const Tensor rising = Numbers<int32_t>({kLarge});
  const Tensor square = Numbers<float>({2000, 2500});
  const Tensor column = Numbers<int32_t>({kLarge, 1}, 7919, kLarge);
  const Tensor size = Ints({static_cast<int32_t>(kLarge)});
  const Tensor half = Ints({static_cast<int32_t>(kLarge / 2)});
  const auto scalar = [](int64_t n) { return Tensor::Scalar<int32_t>(static_cast<int32_t>(n)); };
  const Tensor texts = Texts(1'000'000);
  const Tensor truths = Numbers<uint8_t>({kLarge}, 1, 2);
  std::vector<Case> all;
  all.push_back({"Unique", {Numbers<int64_t>({kLarge}, 7919)}});
  all.push_back({"Unique", {Numbers<int64_t>({kLarge}, 1, 2)}});
  all.push_back({"Unique", {texts}});
  all.push_back({"TopKV2", {x, scalar(kLarge)}});
  all.push_back({"TopKV2", {x, scalar(10)}});
  all.push_back({"Where", {x}, Attrs({{"T", DType::kFloat}})});
  all.push_back({"Where", {truths}, Attrs({{"T", DType::kUint8}})});
  all.push_back({"GatherV2", {x, ids, scalar(0)}});
  all.push_back({"GatherV2", {texts, Numbers<int32_t>({1'000'000}, 7919, 1'000'000), scalar(0)}});
  all.push_back({"GatherNd", {x, column}});
  all.push_back({"ScatterNd", {column, x, size}});
  all.push_back({"TensorScatterUpdate", {x, column, x}});
  all.push_back({"TensorScatterAdd", {x, column, x}});
  all.push_back({"UnsortedSegmentSum", {x, ids, scalar(kLarge)}});
  all.push_back({"UnsortedSegmentMax", {x, Numbers<int32_t>({kLarge}, 1, 10), scalar(10)}});
  all.push_back({"SegmentSum", {x, rising}});
  all.push_back({"SegmentSum", {x, Numbers<int32_t>({kLarge}, 1, 1)}});
  all.push_back({"Cumsum", {x, scalar(0)}});
  all.push_back({"Cumprod", {x, scalar(0)}, Attrs({{"reverse", true}})});
  all.push_back({"Tile", {Numbers<float>({10}), Ints({1'000'000})}});
  all.push_back({"Fill", {size, Tensor::Scalar<float>(2)}});
  all.push_back({"Fill", {Ints({1'000'000}), Tensor::Scalar<std::string>("text")}});
  all.push_back({"ConcatV2", {x, x, scalar(0)}});
  all.push_back({"ConcatV2", {square, square, scalar(1)}});
  all.push_back({"Pack", {x, x}, Attrs({{"axis", int64_t{1}}})});
  all.push_back({"Unpack", {square}, Attrs({{"num", int64_t{2500}}, {"axis", int64_t{1}}})});
  all.push_back({"Unpack",
                 {Numbers<float>({500'000, 2})},
                 Attrs({{"num", int64_t{500'000}}, {"axis", int64_t{0}}})});
  all.push_back({"Split", {scalar(1), square}, Attrs({{"num_split", int64_t{2}}})});
  all.push_back({"Transpose", {square, Ints({1, 0})}});
  all.push_back({"ReverseV2", {x, Ints({0})}});
  all.push_back({"Range", {scalar(0), scalar(kLarge), scalar(1)}});
  all.push_back({"OneHot",
                 {Numbers<int32_t>({1'000'000}, 1, 10), scalar(10), Tensor::Scalar<float>(1),
                  Tensor::Scalar<float>(0)}});
  all.push_back({"PadV2",
                 {x, Tensor::FromValues<int32_t>(std::vector<int32_t>{5, 5}, ShapeOf({1, 2})),
                  Tensor::Scalar<float>(1)}});
  all.push_back({"Slice", {x, Ints({1}), half}});
  all.push_back({"StridedSlice", {x, Ints({0}), size, Ints({2})}});
  all.push_back({"BroadcastTo", {Tensor::Scalar<float>(1), size}});
  all.push_back({"InvertPermutation", {ids}});
  all.push_back({"DynamicStitch", {ids, x}, Attrs({{"N", int64_t{1}}})});
  // Not more: glibc joins all small blocks that were freed within one call of malloc, 70 ns each.
  all.push_back({"DynamicPartition",
                 {Numbers<float>({2}), Ints({0, 1})},
                 Attrs({{"num_partitions", int64_t{100'000}}})});
  all.push_back({"Cast", {x}, Attrs({{"DstT", DType::kInt64}})});
  all.push_back({"AddV2", {x, x}});
  all.push_back({"Pow", {x, x}});
  all.push_back({"Exp", {x}});
  all.push_back({"ZerosLike", {x}});
  all.push_back({"AddN", {x, x, x}});
  all.push_back({"Sum", {x, scalar(0)}});
  all.push_back({"Sum", {square, scalar(0)}});
  all.push_back({"Max", {square, scalar(1)}});
  all.push_back({"Prod", {x, scalar(0)}});
  all.push_back({"ArgMax", {x, scalar(0)}});
  all.push_back({"ArgMax", {square, scalar(0)}});
  all.push_back({"L2Loss", {x}});
  all.push_back({"CheckNumerics", {x}, Attrs({{"message", std::string("m")}})});
  all.push_back({"Softmax", {Numbers<float>({2, kLarge / 2})}});
  all.push_back({"Softmax", {Numbers<float>({kLarge / 10, 10})}});
  all.push_back({"LogSoftmax", {Numbers<float>({1, kLarge})}});
  all.push_back({"SoftmaxCrossEntropyWithLogits",
                 {Numbers<float>({1, kLarge}), Numbers<float>({1, kLarge})}});
  all.push_back({"SparseSoftmaxCrossEntropyWithLogits", {Numbers<float>({1, kLarge}), Ints({1})}});
  all.push_back({"BiasAdd", {square, Numbers<float>({2500})}});
  all.push_back({"Relu", {x}});
  all.push_back({"RandomUniform", {size}, Attrs({{"dtype", DType::kFloat}})});
  all.push_back({"TruncatedNormal", {size}, Attrs({{"dtype", DType::kFloat}})});
  all.push_back({"RandomShuffle", {x}});
  all.push_back({"RandomShuffle", {texts}});
  const Tensor photo = Numbers<float>({1, 1000, 1666, 3});
  all.push_back({"ResizeBilinear", {photo, Ints({2000, 800})}});
  all.push_back({"ResizeBicubic", {photo, Ints({2000, 800})}});
  all.push_back({"ResizeArea", {photo, Ints({100, 80})}});
  all.push_back({"ResizeBilinear", {Numbers<float>({1, 1, kLarge, 1}), Ints({1, 3'000'000})}});
  all.push_back({"AdjustContrastv2", {photo, Tensor::Scalar<float>(2)}});
  all.push_back({"RGBToHSV", {photo}});
  all.push_back({"EncodePng", {Numbers<uint8_t>({1000, 1666, 3})}});
  all.push_back({"Multinomial", {Numbers<float>({1, 1000}), scalar(1'000'000)}});
  all.push_back({"AsString", {Numbers<float>({1'000'000})}});
  all.push_back({"StringJoin", {texts, texts}, Attrs({{"N", int64_t{2}}})});
  all.push_back({"StringLength", {texts}});
  all.push_back({"StringUpper", {texts}});
  all.push_back({"StringToNumber", {texts}});
  all.push_back({"MatMul", {Numbers<float>({2000, 2000}), Numbers<float>({2000, 2000})}});
  all.push_back({"MatMul", {Numbers<int32_t>({400, 400}), Numbers<int32_t>({400, 400})}});
  all.push_back({"Equal", {texts, texts}});
  AddAlgebra(all);
  all.push_back({"Lgamma", {x}});
  all.push_back({"Igamma", {x, Tensor::Scalar<float>(3)}});
  all.push_back({"MatrixBandPart", {square, scalar(3), scalar(3)}});
  all.push_back({"MatrixDiagPart", {Numbers<float>({kLarge / 4, 2, 2})}});
  all.push_back({"Identity", {x}});
  const Tensor images = Numbers<float>({1, 1000, 1000, 5}, 7919, 1000);
  const std::vector<int64_t> one = {1, 1, 1, 1}, whole = {1, 1000, 1000, 1};
  const AttrMap same = Attrs({{"strides", one}, {"padding", std::string("SAME")}});
  all.push_back({"Conv2D", {images, Numbers<float>({3, 3, 5, 4})}, same});
  all.push_back({"Conv2DBackpropFilter", {images, Ints({3, 3, 5, 5}), images}, same});
  all.push_back({"DepthwiseConv2dNative", {images, Numbers<float>({3, 3, 5, 1})}, same});
  for (const absl::string_view op : {"AvgPool", "MaxPool"}) {
    all.push_back({op,
                   {images},
                   Attrs({{"ksize", whole}, {"strides", one}, {"padding", std::string("VALID")}})});
  }
  const Tensor five = Numbers<float>({5});
  all.push_back({"FusedBatchNormV3", {images, five, five, five, five}});
  all.push_back({"SpaceToDepth", {images}, Attrs({{"block_size", int64_t{2}}})});
  all.push_back({"QuantizeAndDequantizeV2", {x, Tensor::Scalar(0.0f), Tensor::Scalar(1.0f)}});
  all.push_back({"UniqueWithCounts", {Numbers<int64_t>({kLarge}, 7919)}});
  all.push_back({"ListDiff", {Numbers<int64_t>({kLarge}, 7919), Numbers<int64_t>({kLarge}, 3)}});
  all.push_back({"Roll", {x, scalar(5), scalar(0)}});
  all.push_back({"DenseBincount", {ids, scalar(kLarge), Numbers<float>({0})}});
  all.push_back({"LowerBound", {Numbers<float>({1, kLarge}), Numbers<float>({1, kLarge})}});
  all.push_back({"SparseReorder",
                 {Numbers<int64_t>({kLarge / 2, 2}, 7919, kLarge), Numbers<float>({kLarge / 2}),
                  Tensor::Vector<int64_t>({kLarge, kLarge})}});
  all.push_back(
      {"SparseSegmentSum",
       {Numbers<float>({kLarge / 10, 10}), Numbers<int32_t>({kLarge / 10}, 7919, kLarge / 10),
        Numbers<int32_t>({kLarge / 10})}});
  all.push_back({"StringSplitV2", {texts, Tensor::Scalar<std::string>("1")}});
  all.push_back({"StringToHashBucketFast", {texts}, Attrs({{"num_buckets", int64_t{1000}}})});
  all.push_back({"UnicodeDecode", {texts}, Attrs({{"input_encoding", std::string("UTF-8")}})});
  return all;
}

TEST(Polls, KernelsOfLargeInputsLookOften) {
  // What the system takes to hand out fresh pages, up to 4 µs each on some machines, is not what
  // kernels compute: those of the first try serve the others.
  ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, INT_MAX) & mallopt(M_TRIM_THRESHOLD, INT_MAX), 1);
  for (const Case& each : Cases()) {
    const int64_t longest = LongestWithoutALook(each.op, each.inputs, each.attrs);
    std::string shapes;
    for (const Tensor& input : each.inputs) shapes += input.shape().ToString();
    EXPECT_LE(longest, kLimitNanos) << std::string(each.op) << shapes;
    std::printf("  %-22s %-30s %6.2f ms\n", std::string(each.op).c_str(), shapes.c_str(),
                static_cast<double>(longest) / 1e6);
  }
  constexpr int kUsual = 128 << 10;
  mallopt(M_TRIM_THRESHOLD, kUsual);
  mallopt(M_MMAP_THRESHOLD, kUsual);
}

// Of these there may be any number.
TEST(Polls, RowsWithoutElementsAreNotGoneThrough) {
  const Tensor rows = Tensor::FromValues<int32_t>({}, ShapeOf({int64_t{1} << 60, 0}));
  const Tensor bins =
      Eval("DenseBincount", {rows, Tensor::Scalar<int32_t>(0), Numbers<float>({0})});
  EXPECT_EQ(bins.shape(), ShapeOf({int64_t{1} << 60, 0}));
}

}  // namespace
}  // namespace gyre::test
