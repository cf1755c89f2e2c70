// Small tensors in loops on registers: as native code their elements are computed and moved where
// they lie, and everything is as it is with tokens.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/vector_loop.h"

namespace gyre::testing {
namespace {

// x' = tanh(a x + b) with vectors, matrices and scalars broadcast together.
TEST(NativeTensors, AreComputedElementByElement) {
  const std::string body = absl::StrCat(
      "%f = Cast(%i) DstT=float32 : float32\n%half = Const() value=float32{0.5} : float32\n"
      "%row = Const() value=float32[1,4]{0.1, -0.2, 0.3, 0.7} : float32\n"
      "%col = Const() value=float32[3,1]{1, 2, 3} : float32\n"
      "%a = Mul(%v, %half) : float32\n%b = Mul(%row, %col) : float32\n%c = AddV2(%a, %b) : "
      "float32\n"
      "%s = Sin(%f) : float32\n%d = Sub(%c, %s) : float32\n%t = Tanh(%d) : float32\n"
      "%p = Less(%t, %half) : bool\n%e = Exp(%t) : float32\n"
      "%w = SelectV2(%p, %e, %t) : float32",
      kKeepList);
  const std::string text = VectorLoop(body, "(3, 4)");
  EXPECT_EQ(NumCalls(text), 0);
  for (const int n : {0, 1, 2, 70})
    ExpectAgreement(text, VectorFeeds(n, *Shape::Make({3, 4})), kResults);
}

TEST(NativeTensors, OfManySizes) {
  const std::string body = absl::StrCat(
      "%t = Sigmoid(%v) : float32\n%u = Sqrt(%t) : float32\n%w = Mul(%u, %v) : float32", kKeepList);
  for (const int size : {1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 100, 255, 256}) {
    const std::string text = VectorLoop(body, absl::StrCat("(", size, ")"));
    EXPECT_EQ(NumCalls(text), 0) << size;
    ExpectAgreement(text, VectorFeeds(40, Shape::Vector(size)), kResults);
  }
}

TEST(NativeTensors, AreTakenApartAndJoined) {
  const std::string body = absl::StrCat(
      "%axis = Const() value=int32{0} : int32\n%last = Const() value=int32{1} : int32\n"
      "%shape = Const() value=int32[2]{2, 4} : int32\n%perm = Const() value=int32[2]{1, 0} : "
      "int32\n"
      "%flat = Const() value=int32[1]{8} : int32\n"
      "%g = Split(%axis, %v) num_split=2 : (float32, float32)\n"
      "%s = Sigmoid(%g:0) : float32\n%t = Tanh(%g:1) : float32\n"
      "%c = ConcatV2(%t, %s, %axis) : float32\n%r = Reshape(%c, %shape) : float32\n"
      "%tr = Transpose(%r, %perm) : float32\n%n2 = Neg(%tr) : float32\n"
      "%w = Reshape(%n2, %flat) : float32",
      kKeepList);
  const std::string text = VectorLoop(body);
  EXPECT_EQ(NumCalls(text), 0);
  ExpectAgreement(text, VectorFeeds(33, Shape::Vector(8)), kResults);
}

constexpr char kElementOfV[] =
    "%begin = Pack(%k) : int32\n%end = Pack(%j) : int32\n%ones = Const() value=int32[1]{1} : "
    "int32\n"
    "%e = StridedSlice(%v, %begin, %end, %ones) shrink_axis_mask=1 : float32\n";

TEST(NativeTensors, HaveElementsThatAreReadAndWritten) {
  const std::string body = absl::StrCat(
      "%eight = Const() value=int32{8} : int32\n%k = FloorMod(%i, %eight) : int32\n", kElementOfV,
      "%h = Mul(%v, %e) : float32\n%t = Tanh(%h) : float32\n"
      "%where = Const() value=int32[1]{-1} : int32\n%at = ExpandDims(%begin, %where) : int32\n"
      "%w = TensorScatterUpdate(%t, %begin, %e) : float32",
      kKeepList);
  const std::string text = VectorLoop(body);
  EXPECT_EQ(NumCalls(text), 0);
  ExpectAgreement(text, VectorFeeds(50, Shape::Vector(8)), kResults);
}

TEST(NativeTensors, AreVariablesOfBranchesAndLoops) {
  const std::string extra = R"(
func @yes(%v: float32) -> (w: float32) {
  %w = Tanh(%v) : float32
  return %w
}
func @no(%v: float32) -> (w: float32) {
  %w = Neg(%v) : float32
  return %w
}
func @inner_more(%k: int32, %i: int32, %v: float32) -> (p: bool) {
  %p = Less(%k, %i) : bool
  return %p
}
func @inner(%k: int32, %i: int32, %v: float32) -> (k2: int32, i: int32, w: float32) {
  %one = Const() value=int32{1} : int32
  %k2 = AddV2(%k, %one) : int32
  %q = Const() value=float32{0.25} : float32
  %w = AddV2(%v, %q) : float32
  return %k2, %i, %w
}
)";
  const std::string body = absl::StrCat(
      "%two = Const() value=int32{2} : int32\n%zero = Const() value=int32{0} : int32\n"
      "%r = FloorMod(%i, %two) : int32\n%p = Equal(%r, %zero) : bool\n"
      "%b = If(%p, %v) then_branch=@yes else_branch=@no : float32\n"
      "%k = FloorDiv(%i, %two) : int32\n"
      "%in = While(%zero, %k, %b) cond=@inner_more body=@inner : (int32, int32, float32)\n"
      "%w = Identity(%in:2) : float32",
      kKeepList);
  const std::string text = VectorLoop(body, "(8)", extra);
  EXPECT_EQ(NumCalls(text), 0);
  ExpectAgreement(text, VectorFeeds(25, Shape::Vector(8)), kResults);
}

TEST(NativeTensors, AreSummedUp) {
  const std::string body = absl::StrCat(
      "%axis = Const() value=int32[1]{0} : int32\n%last = Const() value=int32[1]{1} : int32\n"
      "%t = Tanh(%v) : float32\n%sum = Sum(%t, %axis) : float32\n"
      "%mean = Mean(%t, %last) keep_dims=true : float32\n%max = Max(%t, %axis) : float32\n"
      "%d = Sub(%t, %mean) : float32\n%e = Mul(%d, %max) : float32\n"
      "%f = AddV2(%e, %sum) : float32\n%w = Softmax(%f) : float32",
      kKeepList);
  for (const auto& [rows, columns] : {std::pair(1, 1), {3, 5}, {16, 16}, {2, 100}}) {
    const std::string text = VectorLoop(body, absl::StrCat("(", rows, ", ", columns, ")"));
    EXPECT_EQ(NumCalls(text), 0) << rows << " by " << columns;
    ExpectAgreement(text, VectorFeeds(30, *Shape::Make({rows, columns})), kResults);
  }
}

// A recurrent step: the weights are larger than what is copied into cells.
constexpr char kRecurrence[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(1, 32) : float32
  %w = Placeholder() dtype=float32 shape=W_SHAPE : float32
  %b = Placeholder() dtype=float32 shape=(32) : float32
  %zero = Const() value=int32{0} : int32
  %loop = While(%zero, %n, %x, %w, %b) cond=@more body=@step : (int32, int32, float32, float32, float32)
}
func @more(%i: int32, %n: int32, %x: float32, %w: float32, %b: float32) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %w: float32, %b: float32) -> (j: int32, n: int32, y: float32, w: float32, b: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %p = MatMul(%x, %w) transpose_b=TURNED : float32
  %s = AddV2(%p, %b) : float32
  %y = Tanh(%s) : float32
  return %j, %n, %y, %w, %b
}
)";
Feeds RecurrenceFeeds(const Shape& of_w) {
  Feeds feeds = VectorFeeds(40, *Shape::Make({1, 32}));
  const auto numbers = [](int64_t n, int64_t modulus) {
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 0.01f * static_cast<float>(static_cast<int64_t>(i * 7) % modulus) - 0.3f;
    return values;
  };
  feeds.emplace_back("w:0", Tensor::FromValues<float>(numbers(of_w.num_elements(), 61), of_w));
  feeds.emplace_back("b:0", Tensor::FromValues<float>(numbers(32, 17), Shape::Vector(32)));
  return feeds;
}

TEST(NativeTensors, AreMultipliedWithLargerOnes) {
  for (const char* turned : {"false", "true"}) {
    const std::string text =
        absl::StrReplaceAll(kRecurrence, {{"W_SHAPE", "(32, 32)"}, {"TURNED", turned}});
    EXPECT_EQ(NumCalls(text), 0);
    ExpectAgreement(text, RecurrenceFeeds(*Shape::Make({32, 32})), {"loop:0", "loop:2", "loop:3"});
  }
}

// What is fed may be of another shape than the program says.
TEST(NativeTensors, AreReadOnlyWhereTheirShapesAreTheOnesExpected) {
  const std::string text =
      absl::StrReplaceAll(kRecurrence, {{"W_SHAPE", "(32, 32)"}, {"TURNED", "false"}});
  for (const Shape& shape : {*Shape::Make({32, 33}), *Shape::Make({31, 32}), Shape::Vector(4)}) {
    std::string want;
    for (const EngineKind engine :
         {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
      const auto got =
          SessionFor(text, {.engine = engine})->Run(RecurrenceFeeds(shape), {"loop:2"});
      EXPECT_FALSE(got.ok());
      if (want.empty()) want = got.status().ToString();
      EXPECT_EQ(got.status().ToString(), want);
    }
  }
}

// What has no native code is the interpreter's: the loop is native around it.
TEST(NativeTensors, AreHandedToTheInterpreterAndBack) {
  const std::string body = absl::StrCat(
      "%axis = Const() value=int32[1]{0} : int32\n%t = Tanh(%v) : float32\n"
      "%sum = Sum(%t, %axis) : float32\n%c = Cumsum(%t, %none0) : float32\n"
      "%none0 = Const() value=int32{0} : int32\n%d = Sub(%c, %sum) : float32\n"
      "%w = Sin(%d) : float32",
      kKeepList);
  const std::string text = VectorLoop(body);
  EXPECT_EQ(NumCalls(text), 1) << "Cumsum";
  ExpectAgreement(text, VectorFeeds(45, Shape::Vector(8)), kResults);
}

// One element without a result fails the op, in the words of its kernel.
TEST(NativeTensors, FailAsTheirKernelsDo) {
  const std::string body = absl::StrCat(
      "%c = Const() value=int32[4]{7, 9, 11, 30} : int32\n%d = Sub(%c, %i) : int32\n"
      "%w = FloorDiv(%v, %d) : int32",
      kKeepList);
  const std::string text = VectorLoop(body, "(4)", "", "int32");
  EXPECT_EQ(NumCalls(text), 0);
  for (const int n : {5, 7, 8, 20}) {
    const Feeds feeds = {
        {"n:0", Tensor::Scalar(int32_t{n})},
        {"x:0", Tensor::FromValues<int32_t>({100, 2000, 30000, 1 << 30}, Shape::Vector(4))}};
    ExpectAgreement(text, feeds, kResults);
  }
}

TEST(NativeTensors, OfOtherTypes) {
  const std::string body = absl::StrCat(
      "%t = Tanh(%v) : TYPE\n%u = Mul(%t, %v) : TYPE\n%w = AddV2(%u, %t) : TYPE", kKeepList);
  for (const char* dtype : {"float64", "half", "bfloat16"}) {
    const std::string text =
        absl::StrReplaceAll(VectorLoop(body, "(5)", "", dtype), {{"TYPE", dtype}});
    EXPECT_EQ(NumCalls(text), 0) << dtype;
    const DType type = *ParseDType(dtype);
    Tensor x = *Tensor::Zeros(type, Shape::Vector(5), {});
    for (size_t i = 0; i < x.bytes(); i += DTypeSize(type))
      static_cast<uint8_t*>(x.mutable_raw_data())[i + DTypeSize(type) - 1] = 0x3c;
    ExpectAgreement(text, {{"n:0", Tensor::Scalar(int32_t{30})}, {"x:0", x}}, kResults);
  }
}

}  // namespace
}  // namespace gyre::testing
