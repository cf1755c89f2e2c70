// Lists and variables in native loops: the same values and errors as tokens, nothing shared is
// changed, nothing is kept.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "support/compile_setting.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

constexpr char kScalarShape[] = "%s = Const() value=int32[0]{} : int32\n";
const std::vector<std::string> kAll = {"loop:0", "loop:2", "length:0", "items:0"};

TEST(NativeLists, PushAndPop) {
  const std::string text = LoopText(
      absl::StrCat(kScalarShape,
                   "%a = TensorListPushBack(%l, %x) : variant\n%z = Cos(%x) : float32\n"
                   "%b = TensorListPushBack(%a, %z) : variant\n"
                   "%p = TensorListPopBack(%b, %s) element_dtype=float32 : (variant, float32)\n"
                   "%y = AddV2(%p:1, %x) : float32\n%m = Identity(%p) : variant"));
  for (const int n : {0, 1, 31, 32, 33, 1100}) ExpectAgreement(text, LoopFeeds(n, 0.3f), kAll);
}

TEST(NativeLists, PopWhatWasPushedBefore) {
  // Forth and back, as a loop and its gradient go.
  const std::string text = LoopText(
      absl::StrCat(
          kScalarShape,
          "%zero = Const() value=int32{0} : int32\n"
          "%w = While(%zero, %i, %x, %l) cond=@more body=@push : (int32, int32, float32, variant)\n"
          "%v = While(%zero, %i, %w:2, %w:3) cond=@more body=@pop : (int32, int32, float32, "
          "variant)\n"
          "%m = TensorListPushBack(%v:3, %v:2) : variant\n%y = Identity(%v:2) : float32"),
      R"(
func @push(%i: int32, %n: int32, %x: float32, %l: variant) -> (j: int32, n: int32, y: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %y = Sin(%x) : float32
  %m = TensorListPushBack(%l, %y) : variant
  return %j, %n, %y, %m
}
func @pop(%i: int32, %n: int32, %x: float32, %l: variant) -> (j: int32, n: int32, y: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %s = Const() value=int32[0]{} : int32
  %j = AddV2(%i, %one) : int32
  %p = TensorListPopBack(%l, %s) element_dtype=float32 : (variant, float32)
  %y = Sub(%x, %p:1) : float32
  return %j, %n, %y, %p
}
)");
  for (const int n : {1, 2, 70}) ExpectAgreement(text, LoopFeeds(n, 0.9f), kAll);
}

TEST(NativeLists, GetAndSet) {
  const std::string text = LoopText(
      absl::StrCat(kScalarShape, "%a = TensorListPushBack(%l, %x) : variant\n",
                   "%two = Const() value=int32{2} : int32\n%h = FloorDiv(%i, %two) : int32\n"
                   "%g = TensorListGetItem(%a, %h, %s) element_dtype=float32 : float32\n"
                   "%y = Sub(%x, %g) : float32\n%m = TensorListSetItem(%a, %h, %y) : variant"));
  for (const int n : {0, 1, 40, 1100}) ExpectAgreement(text, LoopFeeds(n, 0.3f), kAll);
}

TEST(NativeLists, GrowWhereAnElementIsSetBehindTheirEnd) {
  const auto text = [](const std::string& index) {
    return LoopText(absl::StrCat("%two = Const() value=int32{2} : int32\n", index,
                                 "%y = Cos(%x) : float32\n%m = TensorListSetItem(%l, %k, %y) "
                                 "resize_if_index_out_of_bounds=true : variant"));
  };
  for (const int n : {0, 1, 40, 1100}) {
    ExpectAgreement(text("%k = Identity(%i) : int32\n"), LoopFeeds(n, 0.3f), kAll);
    ExpectAgreement(text("%k = Mul(%i, %two) : int32\n"), LoopFeeds(n, 0.3f), kAll);
  }
  ExpectAgreement(text("%k = Sub(%two, %i) : int32\n"), LoopFeeds(9, 0.3f), kAll);
}

// An op that native code leaves to the interpreter in every third iteration only.
TEST(NativeLists, AskTheInterpreterForSingleElements) {
  const std::string text = LoopText(
      absl::StrCat(kScalarShape,
                   "%three = Const() value=int32{3} : int32\n%r = FloorMod(%i, %three) : int32\n"
                   "%a = TensorListPushBack(%l, %x) : variant\n%k = AddV2(%i, %one) : int32\n"
                   "%b = TensorListResize(%a, %k) : variant\n"
                   "%p = Equal(%r, %one) : bool\n"
                   "%c = If(%p, %b, %k) then_branch=@longer else_branch=@same : variant\n"
                   "%g = TensorListGetItem(%c, %i, %s) element_dtype=float32 : float32\n"
                   "%h = AddV2(%g, %x) : float32\n%y = Cos(%h) : float32\n"
                   "%q = TensorListPopBack(%c, %s) element_dtype=float32 : (variant, float32)\n"
                   "%m = TensorListSetItem(%q, %zero_index, %q:1) "
                   "resize_if_index_out_of_bounds=true : variant\n"
                   "%zero_index = Const() value=int32{0} : int32"),
      R"(
func @longer(%a: variant, %k: int32) -> (m: variant) {
  %two = Const() value=int32{2} : int32
  %more = AddV2(%k, %two) : int32
  %m = TensorListResize(%a, %more) : variant
  return %m
}
func @same(%a: variant, %k: int32) -> (m: variant) {
  return %a
}
)");
  for (const int n : {1, 2, 3, 40}) ExpectAgreement(text, LoopFeeds(n, 0.5f), kAll);
}

TEST(NativeLists, KeepWhatOthersStillHave) {
  // %a is read again behind each change that is made of it.
  const std::string text = LoopText(
      absl::StrCat(kScalarShape, "%a = TensorListPushBack(%l, %x) : variant\n",
                   "%minus = Neg(%x) : float32\n%b = TensorListSetItem(%a, %i, %minus) : variant\n"
                   "%g = TensorListGetItem(%a, %i, %s) element_dtype=float32 : float32\n"
                   "%k = TensorListGetItem(%b, %i, %s) element_dtype=float32 : float32\n"
                   "%q = TensorListPopBack(%a, %s) element_dtype=float32 : (variant, float32)\n"
                   "%d = Sub(%g, %k) : float32\n%y = AddV2(%d, %q:1) : float32\n"
                   "%one2 = Const() value=int32{1} : int32\n%odd = BitwiseAnd(%i, %one2) : int32\n"
                   "%is = Equal(%odd, %one2) : bool\n%f = If(%is, %a, %b) then_branch=@first "
                   "else_branch=@second : variant\n%m = Identity(%f) : variant"),
      R"(
func @first(%a: variant, %b: variant) -> (m: variant) {
  return %a
}
func @second(%a: variant, %b: variant) -> (m: variant) {
  return %b
}
)");
  for (const int n : {1, 2, 65}) ExpectAgreement(text, LoopFeeds(n, 0.25f), kAll);
}

// The list that a loop is given is fetched behind the loop, too.
TEST(NativeLists, LeaveTheListThatTheyAreGiven) {
  const std::string text = absl::StrReplaceAll(
      LoopText("%y = AddV2(%x, %x) : float32\n%m = TensorListSetItem(%l, %i, %y) : variant"),
      {{"%l = EmptyTensorList(%none, %any) element_dtype=float32 : variant",
        R"(%rows = Const() value=float32[3]{1, 2, 3} : float32
  %l = TensorListFromTensor(%rows, %none) : variant
  %before = TensorListStack(%l, %none) element_dtype=float32 : float32)"}});
  ExpectAgreement(text, LoopFeeds(3, 0.25f), {"before:0", "items:0", "loop:2"});
  ExpectAgreement(text, LoopFeeds(2, 0.25f), {"before:0", "items:0", "loop:2"});
}

TEST(NativeLists, FailAsTokensDo) {
  const char* const bodies[] = {
      "%p = TensorListPopBack(%l, %s) element_dtype=float32 : (variant, float32)\n"
      "%y = AddV2(%p:1, %x) : float32\n%m = Identity(%p) : variant",
      "%y = TensorListGetItem(%l, %i, %s) element_dtype=float32 : float32\n"
      "%m = TensorListPushBack(%l, %x) : variant",
      "%y = Neg(%x) : float32\n%a = TensorListPushBack(%l, %x) : variant\n"
      "%two = Const() value=int32{2} : int32\n%h = Mul(%i, %two) : int32\n"
      "%m = TensorListSetItem(%a, %h, %x) : variant",
      // elements of another type
      "%d = Cast(%x) DstT=float64 : float64\n%m = TensorListPushBack(%l, %d) : variant\n"
      "%y = Neg(%x) : float32",
  };
  for (const char* const body : bodies)
    ExpectAgreement(LoopText(absl::StrCat(kScalarShape, body)), LoopFeeds(9, 0.5f), {"loop:2"});
}

TEST(NativeLists, ReadZerosWhereNothingWasStored) {
  const std::string text = LoopText(
      absl::StrCat(kScalarShape,
                   "%one2 = Const() value=int32{1} : int32\n%k = AddV2(%i, %one2) : int32\n"
                   "%a = TensorListResize(%l, %k) : variant\n"
                   "%g = TensorListGetItem(%a, %i, %s) element_dtype=float32 : float32\n"
                   "%e = AddV2(%g, %x) : float32\n%b = TensorListSetItem(%a, %i, %e) : variant\n"
                   "%c = TensorListLength(%b) : int32\n%f = Cast(%c) : float32\n"
                   "%y = AddV2(%f, %e) : float32\n%m = Identity(%b) : variant"));
  for (const int n : {1, 33, 70}) ExpectAgreement(text, LoopFeeds(n, 0.5f), kAll);
}

// Elements of several shapes, of which some are scalars.
TEST(NativeLists, LeaveToTheInterpreterWhatIsNoScalar) {
  const std::string text = LoopText(absl::StrCat(
      "%pair = Const() value=float32[2]{1, 2} : float32\n%a = TensorListPushBack(%l, %pair) : "
      "variant\n%b = TensorListPushBack(%a, %x) : variant\n%y = Neg(%x) : float32\n"
      "%m = Identity(%b) : variant"));
  for (const int n : {1, 20}) ExpectAgreement(text, LoopFeeds(n, 0.5f), {"loop:2", "length:0"});
}

TEST(NativeLists, OfEveryTypeOfScalars) {
  for (const char* const type : {"float16", "bfloat16", "float64", "int8", "int16", "int32",
                                 "int64", "uint8", "uint16", "uint32", "uint64", "bool"}) {
    const std::string body = absl::StrReplaceAll(
        R"(%s = Const() value=int32[0]{} : int32
  %w = Const() value=int32{-1} : int32
  %t = EmptyTensorList(%s, %w) element_dtype=TYPE : variant
  %v = Cast(%i) DstT=TYPE : TYPE
  %a = TensorListPushBack(%t, %v) : variant
  %zero = Const() value=int32{0} : int32
  %g = TensorListGetItem(%a, %zero, %s) element_dtype=TYPE : TYPE
  %b = TensorListSetItem(%a, %zero, %g) : variant
  %p = TensorListPopBack(%b, %s) element_dtype=TYPE : (variant, TYPE)
  %f = Cast(%p:1) DstT=float32 : float32
  %y = AddV2(%x, %f) : float32
  %m = TensorListPushBack(%l, %y) : variant)",
        {{"TYPE", type}});
    SCOPED_TRACE(type);
    ExpectAgreement(LoopText(body), LoopFeeds(100, 0.5f), kAll);
  }
}

TEST(NativeLists, AreWithinTheBudget) {
  const std::string text =
      LoopText("%y = Neg(%x) : float32\n%m = TensorListPushBack(%l, %y) : variant");
  auto session = SessionFor(text, {.engine = EngineKind::kCompiled});
  RunOptions options;
  options.budget_bytes = 1 << 20;
  const absl::Status status = RunStatus(*session, LoopFeeds(10'000'000, 1), "length:0", options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(RunScalar<int32_t>(*session, LoopFeeds(1000, 1), "length:0", options), 1000);
}

// Nothing but appends is done to the list in a loop, around which it is read.
TEST(NativeLists, AppendInALoopAndReadAroundIt) {
  const std::string inner = R"(
func @push(%i: int32, %n: int32, %x: float32, %l: variant) -> (j: int32, n: int32, y: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %y = Cos(%x) : float32
  %a = TensorListPushBack(%l, %x) : variant
  %m = TensorListPushBack(%a, %y) : variant
  return %j, %n, %y, %m
}
)";
  const std::string text = LoopText(
      absl::StrCat(
          kScalarShape,
          "%zero = Const() value=int32{0} : int32\n%many = Const() value=int32{150} : int32\n"
          "%w = While(%zero, %many, %x, %l) cond=@more body=@push : (int32, int32, "
          "float32, variant)\n"
          "%p = TensorListPopBack(%w:3, %s) element_dtype=float32 : (variant, float32)\n"
          "%c = TensorListLength(%p) : int32\n%f = Cast(%c) DstT=float32 : float32\n"
          "%q = AddV2(%p:1, %f) : float32\n%y = Sin(%q) : float32\n"
          "%m = TensorListPushBack(%p, %q) : variant"),
      inner);
  for (const int n : {0, 1, 2, 40}) ExpectAgreement(text, LoopFeeds(n, 0.3f), kAll);
}

TEST(NativeLists, AppendInSomeIterations) {
  const std::string text = LoopText(
      "%three = Const() value=int32{3} : int32\n%r = FloorMod(%i, %three) : int32\n"
      "%p = Equal(%r, %one) : bool\n%y = Cos(%x) : float32\n"
      "%m = If(%p, %l, %y) then_branch=@longer else_branch=@same : variant",
      R"(
func @longer(%l: variant, %x: float32) -> (m: variant) {
  %m = TensorListPushBack(%l, %x) : variant
  return %m
}
func @same(%l: variant, %x: float32) -> (m: variant) {
  return %l
}
)");
  for (const int n : {0, 1, 2, 40, 1100}) ExpectAgreement(text, LoopFeeds(n, 0.3f), kAll);
}

TEST(NativeLists, AppendUpToTheMostOrAnError) {
  const auto text = [](int most) {
    return absl::StrReplaceAll(
        LoopText("%y = Cos(%x) : float32\n%m = TensorListPushBack(%l, %y) : variant\n"
                 "%ten = Const() value=int32{400} : int32\n%d = Sub(%ten, %i) : int32\n"
                 "%q = FloorDiv(%i, %d) : int32"),
        {{"%any = Const() value=int32{-1} : int32",
          absl::StrCat("%any = Const() value=int32{-1} : int32\n  %most = Const() value=int32{",
                       most, "} : int32")},
         {"EmptyTensorList(%none, %any)", "EmptyTensorList(%none, %most)"}});
  };
  for (const int most : {0, 1, 31, 32, 33, 256, 300})
    for (const int n : {most, most + 1}) ExpectAgreement(text(most), LoopFeeds(n, 0.3f), kAll);
}

// The list that is fetched is whole where an iteration fails behind an append.
TEST(NativeLists, AppendBeforeAnError) {
  const std::string text = LoopText(
      "%y = Cos(%x) : float32\n%m = TensorListPushBack(%l, %y) : variant\n"
      "%end = Const() value=int32{300} : int32\n%d = Sub(%end, %i) : int32\n"
      "%q = FloorDiv(%i, %d) : int32\n%r = Sub(%q, %q) : int32\n%j2 = AddV2(%j, %r) : int32");
  const std::string failing = absl::StrReplaceAll(text, {{"return %j, ", "return %j2, "}});
  for (const int n : {299, 300, 301, 302}) ExpectAgreement(failing, LoopFeeds(n, 0.3f), kAll);
}

TEST(NativeLists, PauseAndGoOn) {
  const std::string text =
      LoopText("%y = Neg(%x) : float32\n%m = TensorListPushBack(%l, %y) : variant");
  auto session = SessionFor(text, {.engine = EngineKind::kCompiled});
  const auto got = session->Run(LoopFeeds(5'000'001, 1), {"length:0", "items:0"});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)[0].scalar<int32_t>(), 5'000'001);
  const auto items = (*got)[1].values<float>();
  for (size_t i = 0; i < items.size(); ++i) ASSERT_EQ(items[i], i % 2 == 0 ? -1 : 1) << i;
}

TEST(NativeLists, ChangeOverAnywhere) {
  const std::string text = LoopText(
      absl::StrCat(kScalarShape,
                   "%a = TensorListPushBack(%l, %x) : variant\n%z = Cos(%x) : float32\n"
                   "%one2 = Const() value=int32{1} : int32\n%odd = BitwiseAnd(%i, %one2) : int32\n"
                   "%is = Equal(%odd, %one2) : bool\n%f = If(%is, %a, %z) then_branch=@keep "
                   "else_branch=@take : (variant, float32)\n%y = Identity(%f:1) : float32\n"
                   "%m = Identity(%f) : variant"),
      R"(
func @keep(%a: variant, %z: float32) -> (m: variant, y: float32) {
  %m = TensorListPushBack(%a, %z) : variant
  return %m, %z
}
func @take(%a: variant, %z: float32) -> (m: variant, y: float32) {
  %s = Const() value=int32[0]{} : int32
  %p = TensorListPopBack(%a, %s) element_dtype=float32 : (variant, float32)
  %y = Sub(%p:1, %z) : float32
  return %p, %y
}
)");
  const auto want =
      SessionFor(text, {.engine = EngineKind::kReference})->Run(LoopFeeds(80, 0.5f), kAll);
  ASSERT_TRUE(want.ok()) << want.status();
  for (int kernels = 1; kernels < 700; kernels += 1 + kernels / 5) {
    const CompileSetting after(absl::StrCat("after:", kernels));
    const auto got = SessionFor(text)->Run(LoopFeeds(80, 0.5f), kAll);
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; i < want->size(); ++i) {
      ASSERT_EQ((*got)[i].shape(), (*want)[i].shape()) << kAll[i] << " after " << kernels;
      EXPECT_EQ(std::memcmp((*got)[i].raw_data(), (*want)[i].raw_data(), (*want)[i].bytes()), 0)
          << kAll[i] << " after " << kernels << " kernels";
    }
  }
}

}  // namespace
}  // namespace gyre::testing
