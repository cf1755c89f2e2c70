// Elements of vectors and matrices of any size, read and changed within loops on registers.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "exec/vector_loop.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// A loop of int32 i from 0 to n over x (float32) and the vector or matrix a; BODY makes %y of %x,
// %i and %a, and %b of %a; EXTRA are more functions.
std::string TableLoop(const std::string& body, const std::string& extra = "",
                      const std::string& a_shape = "(?)") {
  return absl::StrReplaceAll(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %a = Placeholder() dtype=float32 shape=A_SHAPE : float32
  %zero = Const() value=int32{0} : int32
  %loop = While(%zero, %n, %x, %a) cond=@more body=@step : (int32, int32, float32, float32)
  %before = Identity(%a) : float32
}
func @more(%i: int32, %n: int32, %x: float32, %a: float32) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %a: float32) -> (j: int32, n: int32, y: float32, b: float32) {
  %one = Const() value=int32{1} : int32
  %ones = Const() value=int32[1]{1} : int32
  %two_ones = Const() value=int32[2]{1, 1} : int32
  %j = AddV2(%i, %one) : int32
  BODY
  return %j, %n, %y, %b
}
EXTRA
)",
                             {{"BODY", body}, {"EXTRA", extra}, {"A_SHAPE", a_shape}});
}

constexpr char kReads[] =
    "%begin = Pack(%i) : int32\n%end = Pack(%j) : int32\n"
    "%e = StridedSlice(%a, %begin, %end, %ones) shrink_axis_mask=1 : float32\n";

Feeds TableFeeds(int32_t n, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25f * static_cast<float>(i % 1000) - 7;
  return {{"n:0", Tensor::Scalar(n)},
          {"x:0", Tensor::Scalar(0.5f)},
          {"a:0", Tensor::FromValues<float>(values, shape)}};
}

const std::vector<std::string> kAll = {"loop:0", "loop:2", "loop:3", "before:0"};

TEST(NativeElements, ReadALargeVector) {
  const std::string text =
      TableLoop(absl::StrCat(kReads, "%y = AddV2(%x, %e) : float32\n%b = Identity(%a) : float32"));
  for (const int n : {0, 1, 5000}) ExpectAgreement(text, TableFeeds(n, Shape::Vector(5000)), kAll);
  // Behind the end: the words of StridedSlice.
  ExpectAgreement(text, TableFeeds(9, Shape::Vector(5)), kAll);
}

TEST(NativeElements, CountNegativeIndicesFromTheEnd) {
  const std::string text = TableLoop(
      "%k = Neg(%j) : int32\n%begin = Pack(%k) : int32\n"
      "%e = StridedSlice(%a, %begin, %ones, %ones) shrink_axis_mask=1 : float32\n"
      "%y = Sub(%e, %x) : float32\n%b = Identity(%a) : float32");
  ExpectAgreement(text, TableFeeds(40, Shape::Vector(40)), kAll);
  ExpectAgreement(text, TableFeeds(41, Shape::Vector(40)), kAll);
}

// The end of an index counts for nothing, but there must be one for each.
TEST(NativeElements, WantAnEndForEachIndex) {
  const std::string text = R"(
graph {
  %x = Placeholder() dtype=float32 shape=(4) : float32
  %end = Placeholder() dtype=int32 : int32
  %n = Placeholder() dtype=int32 shape=() : int32
  %start = Const() value=int32{0} : int32
  %delta = Const() value=int32{1} : int32
  %zero = Const() value=float32{0} : float32
  %loop = For(%start, %n, %delta, %zero, %x, %end) body=@body : (float32, float32, int32)
}
func @body(%i: int32, %sum: float32, %x: float32, %end: int32) -> (y: float32, x: float32, end: int32) {
  %ones = Const() value=int32[1]{1} : int32
  %begin = Pack(%i) : int32
  %v = StridedSlice(%x, %begin, %end, %ones) shrink_axis_mask=1 : float32
  %y = AddV2(%sum, %v) : float32
  return %y, %x, %end
}
)";
  for (const Tensor& end :
       {Tensor::Scalar<int32_t>(1), Tensor::FromValues<int32_t>({0}, Shape::Vector(1)),
        Tensor::FromValues<int32_t>({1, 1}, Shape::Vector(2))}) {
    const Feeds feeds = {{"x:0", Tensor::FromValues<float>({1, 2, 3, 4}, Shape::Vector(4))},
                         {"end:0", end},
                         {"n:0", Tensor::Scalar<int32_t>(1)}};
    std::string want;
    for (const EngineKind engine :
         {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
      const auto got = SessionFor(text, {.engine = engine})->Run(feeds, {"loop:0"});
      const std::string said =
          got.ok() ? absl::StrCat((*got)[0].scalar<float>()) : got.status().ToString();
      if (want.empty()) want = said;
      EXPECT_EQ(said, want);
    }
    EXPECT_EQ(want == "1", end.shape() == Shape::Vector(1)) << want;
  }
}

TEST(NativeElements, ReadAMatrix) {
  const std::string text = TableLoop(
      "%k = FloorMod(%i, %one) : int32\n%begin = Pack(%i, %k) : int32\n"
      "%e = StridedSlice(%a, %begin, %begin, %two_ones) shrink_axis_mask=3 : float32\n"
      "%y = AddV2(%x, %e) : float32\n%b = Identity(%a) : float32",
      "", "(?,?)");
  ExpectAgreement(text, TableFeeds(50, *Shape::Make({50, 30})), kAll);
  ExpectAgreement(text, TableFeeds(51, *Shape::Make({50, 30})), kAll);
}

// Up to three indices are native, more are called.
TEST(NativeElements, ReadAndChangeByManyIndices) {
  struct Case {
    std::string indices, shape, ones;
    std::vector<int64_t> dims;
  };
  for (const Case& c : {Case{"%k, %i", "(?,?)", "1, 1", {7, 30}},
                        Case{"%i, %k, %k", "(?,?,?)", "1, 1, 1", {30, 7, 7}},
                        Case{"%k, %i, %k, %k", "(?,?,?,?)", "1, 1, 1, 1", {7, 30, 7, 7}}}) {
    const size_t count = c.dims.size();
    const std::string text = TableLoop(
        absl::StrCat("%seven = Const() value=int32{7} : int32\n%k = FloorMod(%i, %seven) : int32\n"
                     "%all_ones = Const() value=int32[",
                     count, "]{", c.ones,
                     "} : int32\n"
                     "%at = Pack(",
                     c.indices,
                     ") : int32\n"
                     "%e = StridedSlice(%a, %at, %at, %all_ones) shrink_axis_mask=",
                     (1 << count) - 1, " : float32\n%y = AddV2(%x, %e) : float32\n",
                     "%b = TensorScatterUpdate(%a, %at, %y) : float32"),
        "", c.shape);
    for (const int n : {1, 30, 31})
      ExpectAgreement(text, TableFeeds(n, *Shape::Make(c.dims)), kAll);
  }
}

// The state of a solver: a small vector that is taken apart by constant indices and made again.
TEST(NativeElements, ByConstantIndicesOfASmallVector) {
  const auto text = [](int first, int second) {
    return TableLoop(
        absl::StrCat("%at0 = Const() value=int32[1]{", first, "} : int32\n",
                     "%at1 = Const() value=int32[1]{", second, "} : int32\n",
                     "%e = StridedSlice(%a, %at0, %at0, %ones) shrink_axis_mask=1 : float32\n"
                     "%f = StridedSlice(%a, %at1, %at1, %ones) shrink_axis_mask=1 : float32\n"
                     "%y = Sub(%e, %x) : float32\n%g = Cos(%f) : float32\n"
                     "%b = Pack(%f, %y, %g) : float32"),
        "", "(3)");
  };
  for (const int n : {0, 1, 2, 50}) {
    ExpectAgreement(text(0, 2), TableFeeds(n, Shape::Vector(3)), kAll);
    ExpectAgreement(text(1, 1), TableFeeds(n, Shape::Vector(3)), kAll);
    ExpectAgreement(text(-1, -3), TableFeeds(n, Shape::Vector(3)), kAll);
  }
}

TEST(NativeElements, ConstantIndicesBehindTheEndFailAsTokensDo) {
  const std::string text = TableLoop(
      "%at = Const() value=int32[1]{7} : int32\n"
      "%e = StridedSlice(%a, %at, %at, %ones) shrink_axis_mask=1 : float32\n"
      "%y = AddV2(%x, %e) : float32\n%b = Identity(%a) : float32");
  ExpectAgreement(text, TableFeeds(2, Shape::Vector(5)), kAll);
  ExpectAgreement(text, TableFeeds(2, Shape::Vector(8)), kAll);
}

// Rows of a table that is no small tensor: %r of 4 elements, added up in %y.
constexpr char kAddsRow[] =
    "%axis = Const() value=int32{0} : int32\n"
    "%sum = Sum(%r, %axis) : float32\n%y = AddV2(%x, %sum) : float32\n"
    "%b = Identity(%a) : float32";

TEST(NativeElements, GatherARow) {
  const std::string text = TableLoop(absl::StrCat("%first = Const() value=int32{0} : int32\n"
                                                  "%r = GatherV2(%a, %i, %first) : float32\n",
                                                  kAddsRow),
                                     "", "(1000, 4)");
  EXPECT_EQ(NumCalls(text), 0);
  for (const int n : {0, 1, 1000})
    ExpectAgreement(text, TableFeeds(n, Shape::Trusted({1000, 4})), kAll);
  // Behind the end: the words of GatherV2.
  ExpectAgreement(text, TableFeeds(1001, Shape::Trusted({1000, 4})), kAll);
  const std::string older =
      absl::StrReplaceAll(text, {{"GatherV2(%a, %i, %first)", "Gather(%a, %i)"}});
  ExpectAgreement(older, TableFeeds(1000, Shape::Trusted({1000, 4})), kAll);
}

TEST(NativeElements, GatherNoRowByANegativeIndex) {
  const std::string text = TableLoop(absl::StrCat("%first = Const() value=int64{0} : int64\n"
                                                  "%three = Const() value=int32{3} : int32\n"
                                                  "%k = Sub(%three, %i) : int32\n"
                                                  "%r = GatherV2(%a, %k, %first) : float32\n",
                                                  kAddsRow),
                                     "", "(1000, 4)");
  for (const int n : {4, 5}) ExpectAgreement(text, TableFeeds(n, Shape::Trusted({1000, 4})), kAll);
  const std::unique_ptr<Session> session = SessionFor(text, {.engine = EngineKind::kCompiled});
  const auto result = session->Run(TableFeeds(5, Shape::Trusted({1000, 4})), kAll);
  EXPECT_TRUE(absl::StrContains(result.status().message(), "indices = -1 is not in [0, 1000)"))
      << result.status();
}

TEST(NativeElements, SliceARow) {
  const std::string text = TableLoop(
      absl::StrCat("%begin = Pack(%i) : int32\n%end = Pack(%j) : int32\n"
                   "%r = StridedSlice(%a, %begin, %end, %ones) shrink_axis_mask=1 : float32\n",
                   kAddsRow),
      "", "(1000, 4)");
  EXPECT_EQ(NumCalls(text), 0);
  for (const int n : {1000, 1001})
    ExpectAgreement(text, TableFeeds(n, Shape::Trusted({1000, 4})), kAll);
}

TEST(NativeElements, GatherAlongOtherAxesIsLeftToTokens) {
  EXPECT_FALSE(RunsOnRegisters(TableLoop(absl::StrCat("%last = Const() value=int32{1} : int32\n"
                                                      "%r = GatherV2(%a, %i, %last) : float32\n",
                                                      kAddsRow),
                                         "", "(1000, 4)")));
}

TEST(NativeElements, AreChangedAtConstantIndices) {
  const std::string text = TableLoop(
      "%at = Const() value=int32[1]{2} : int32\n"
      "%e = StridedSlice(%a, %at, %at, %ones) shrink_axis_mask=1 : float32\n"
      "%y = AddV2(%x, %e) : float32\n%b = TensorScatterUpdate(%a, %at, %y) : float32");
  for (const int n : {0, 1, 40}) ExpectAgreement(text, TableFeeds(n, Shape::Vector(5)), kAll);
}

// Vectors of one to nine scalars, of which up to eight are native; of every type.
TEST(NativeElements, ArePackedOfScalars) {
  std::string scalars;
  for (int count = 1; count <= 9; ++count) {
    absl::StrAppend(&scalars, count == 1 ? "" : ", ", count % 2 == 0 ? "%c" : "%d");
    for (const char* const type : {"float32", "float64", "int32", "uint8", "int64", "bool"}) {
      const std::string text = TableLoop(absl::StrReplaceAll(
          "%c = Cast(%x) DstT=TYPE : TYPE\n%d = Cast(%i) DstT=TYPE : TYPE\n"
          "%v = Pack(ALL) : TYPE\n%w = Cast(%v) DstT=float32 : float32\n"
          "%s = Sum(%w, %zeros) : float32\n%y = AddV2(%x, %s) : float32\n"
          "%zeros = Const() value=int32[1]{0} : int32\n%b = Identity(%a) : float32",
          {{"TYPE", type}, {"ALL", scalars}}));
      ExpectAgreement(text, TableFeeds(7, Shape::Vector(3)), kAll);
    }
  }
}

constexpr char kWrites[] =
    "%at = Pack(%i) : int32\n%b = TensorScatterUpdate(%a, %at, %y) : float32";

TEST(NativeElements, ChangeALargeVectorInPlace) {
  const std::string text =
      TableLoop(absl::StrCat(kReads, "%y = AddV2(%x, %e) : float32\n", kWrites));
  for (const int n : {0, 1, 2, 5000})
    ExpectAgreement(text, TableFeeds(n, Shape::Vector(5000)), kAll);
  ExpectAgreement(text, TableFeeds(6, Shape::Vector(5)), kAll);
}

// 10^5 changes of 10^5 elements: 40 GB if each copied them.
TEST(NativeElements, AreNotCopiedForEachChange) {
  const std::string text =
      TableLoop(absl::StrCat(kReads, "%y = AddV2(%x, %e) : float32\n", kWrites));
  for (const EngineKind engine : {EngineKind::kDataflow, EngineKind::kCompiled}) {
    auto session = SessionFor(text, {.engine = engine});
    RunOptions options;
    options.timeout_ms = 5000;
    const auto got =
        session->Run(TableFeeds(100'000, Shape::Vector(100'000)), {"loop:0"}, {}, options);
    EXPECT_TRUE(got.ok()) << got.status();
  }
}

TEST(NativeElements, KeepWhatOthersStillHave) {
  // The vector as it was is read behind the change.
  const std::string text =
      TableLoop(absl::StrCat("%minus = Neg(%x) : float32\n%at = Pack(%i) : int32\n"
                             "%b = TensorScatterUpdate(%a, %at, %minus) : float32\n",
                             kReads, "%y = AddV2(%x, %e) : float32"));
  for (const int n : {1, 2, 40}) ExpectAgreement(text, TableFeeds(n, Shape::Vector(40)), kAll);
}

TEST(NativeElements, InBranches) {
  const std::string text = TableLoop(
      "%r = BitwiseAnd(%i, %one) : int32\n%odd = Equal(%r, %one) : bool\n"
      "%f = If(%odd, %a, %i, %x) then_branch=@write else_branch=@read : (float32, float32)\n"
      "%y = Identity(%f:1) : float32\n%b = Identity(%f) : float32",
      R"(
func @write(%a: float32, %i: int32, %x: float32) -> (b: float32, y: float32) {
  %at = Pack(%i) : int32
  %b = TensorScatterUpdate(%a, %at, %x) : float32
  return %b, %x
}
func @read(%a: float32, %i: int32, %x: float32) -> (b: float32, y: float32) {
  %ones = Const() value=int32[1]{1} : int32
  %at = Pack(%i) : int32
  %e = StridedSlice(%a, %at, %at, %ones) shrink_axis_mask=1 : float32
  %y = AddV2(%x, %e) : float32
  return %a, %y
}
)");
  for (const int n : {1, 2, 99}) ExpectAgreement(text, TableFeeds(n, Shape::Vector(100)), kAll);
}

TEST(NativeElements, RowsOfAMatrixAreLeftToTokens) {
  EXPECT_FALSE(RunsOnRegisters(
      TableLoop("%begin = Pack(%i) : int32\n"
                "%e = StridedSlice(%a, %begin, %begin, %ones) shrink_axis_mask=1 : float32\n"
                "%zero = Const() value=int32{0} : int32\n%y = Sum(%e, %zero) : float32\n"
                "%b = Identity(%a) : float32")))
      << "who knows how long a row is";
}

}  // namespace
}  // namespace gyre::testing
