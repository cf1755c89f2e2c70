// Lists and variables of small tensors in native code: elements are copied to where they lie and
// back, and everything is as it is with tokens.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/vector_loop.h"
#include "gmock/gmock.h"

namespace gyre::testing {
namespace {

// Pushes, reads and pops, of elements of v's shape.
constexpr char kAllOfThem[] =
    "%s = Const() value=SHAPE : int32\n%t = Tanh(%v) : float32\n"
    "%a = TensorListPushBack(%l, %t) : variant\n"
    "%e = TensorListGetItem(%a, %i, %s) element_dtype=float32 : float32\n"
    "%u = AddV2(%e, %v) : float32\n%b = TensorListSetItem(%a, %i, %u) : variant\n"
    "%c = TensorListPushBack(%b, %e) : variant\n"
    "%p = TensorListPopBack(%c, %s) element_dtype=float32 : (variant, float32)\n"
    "%w = AddV2(%p:1, %u) : float32\n%m = Identity(%p) : variant";

TEST(NativeTensorLists, PushPopReadAndWrite) {
  for (const auto& [dims, shape, size] : {std::tuple("int32[1]{8}", "(8)", Shape::Vector(8)),
                                          {"int32[1]{256}", "(256)", Shape::Vector(256)},
                                          {"int32[2]{3, 5}", "(3, 5)", *Shape::Make({3, 5})},
                                          {"int32[2]{1, 40}", "(1, 40)", *Shape::Make({1, 40})}}) {
    const std::string text = VectorLoop(absl::StrReplaceAll(kAllOfThem, {{"SHAPE", dims}}), shape);
    EXPECT_EQ(NumCalls(text), 0) << shape;
    for (const int n : {0, 1, 4, 5, 33, 70}) ExpectAgreement(text, VectorFeeds(n, size), kResults);
  }
}

TEST(NativeTensorLists, FailAsTokensDo) {
  const auto body = [](const std::string& dims, const std::string& list, const std::string& at) {
    return absl::StrCat("%s = Const() value=", dims,
                        " : int32\n%t = Tanh(%v) : float32\n%hundred = Const() "
                        "value=int32{100} : int32\n%zero = Const() value=int32{0} : int32\n%a = "
                        "TensorListPushBack(%l, %t) : variant\n%e = TensorListGetItem(",
                        list, ", ", at,
                        ", %s) element_dtype=float32 : float32\n%w = AddV2(%e, %v) : float32\n"
                        "%m = Identity(%a) : variant");
  };
  for (const std::string& failing :
       {body("int32[1]{8}", "%a", "%hundred"), body("int32[1]{8}", "%a", "%j"),
        body("int32[1]{8}", "%l", "%zero")}) {
    const std::string text = VectorLoop(failing);
    ExpectAgreement(text, VectorFeeds(60, Shape::Vector(8)), kResults);
  }
}

// What the gradient of a loop does: it pops what the loop has pushed, computed and as it is.
TEST(NativeTensorLists, OfAnotherLoopArePoppedUntilTheyAreEmpty) {
  const std::string text = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(8) : float32
  %zero = Const() value=int32{0} : int32
  %any = Const() value=int32{-1} : int32
  %l = EmptyTensorList(%any, %any) element_dtype=float32 : variant
  %forward = While(%zero, %n, %x, %l) cond=@more body=@step : (int32, int32, float32, variant)
  %loop = While(%forward:3, %x) cond=@any_left body=@back : (variant, float32)
  %length = TensorListLength(%loop) : int32
  %whole = TensorListLength(%forward:3) : int32
}
func @more(%i: int32, %n: int32, %v: float32, %l: variant) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %v: float32, %l: variant) -> (j: int32, n: int32, w: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %w = Sin(%v) : float32
  %m = TensorListPushBack(%l, %v) : variant
  return %j, %n, %w, %m
}
func @any_left(%l: variant, %g: float32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %k = TensorListLength(%l) : int32
  %p = Greater(%k, %zero) : bool
  return %p
}
func @back(%l: variant, %g: float32) -> (m: variant, h: float32) {
  %s = Const() value=int32[1]{8} : int32
  %p = TensorListPopBack(%l, %s) element_dtype=float32 : (variant, float32)
  %c = Cos(%p:1) : float32
  %h = Mul(%c, %g) : float32
  return %p, %h
}
)";
  EXPECT_EQ(NumCalls(text), 0);
  for (const int n : {0, 1, 32, 100})
    ExpectAgreement(text, VectorFeeds(n, Shape::Vector(8)),
                    {"loop:1", "length:0", "whole:0", "forward:2"});
}

// Elements of other shapes, nothing stored, a list that others have, a full one.
TEST(NativeTensorLists, LeaveToTheInterpreterWhatIsNotAsExpected) {
  const std::string begin =
      "%s = Const() value=int32[1]{8} : int32\n%t = Tanh(%v) : float32\n"
      "%zero = Const() value=int32{0} : int32\n%ten = Const() value=int32{10} : int32\n";
  for (const char* const body : {
           // Of two shapes.
           "%none = Const() value=int32[1]{0} : int32\n%sum = Sum(%t, %none) : float32\n"
           "%a = TensorListPushBack(%l, %sum) : variant\n%b = TensorListPushBack(%a, %t) : "
           "variant\n"
           "%p = TensorListPopBack(%b, %s) element_dtype=float32 : (variant, float32)\n"
           "%w = AddV2(%p:1, %v) : float32\n%m = Identity(%b) : variant",
           // Nothing stored.
           "%r = TensorListResize(%l, %ten) : variant\n"
           "%e = TensorListGetItem(%r, %zero, %s) element_dtype=float32 : float32\n"
           "%w = AddV2(%e, %t) : float32\n%m = TensorListSetItem(%r, %zero, %w) : variant",
           // Two that share.
           "%a = TensorListPushBack(%l, %t) : variant\n%b = TensorListPushBack(%l, %v) : variant\n"
           "%p = TensorListPopBack(%a, %s) element_dtype=float32 : (variant, float32)\n"
           "%q = TensorListPopBack(%b, %s) element_dtype=float32 : (variant, float32)\n"
           "%w = Sub(%p:1, %q:1) : float32\n%m = TensorListPushBack(%b, %w) : variant",
           // A constant element.
           "%c = Const() value=float32[8]{1, 2, 3, 4, 5, 6, 7, 8} : float32\n"
           "%w = AddV2(%t, %c) : float32\n%full = EmptyTensorList(%s, %one) "
           "element_dtype=float32 : variant\n%a = TensorListPushBack(%full, %c) : variant\n"
           "%k = TensorListLength(%a) : int32\n%d = TensorListPushBack(%l, %c) : variant\n"
           "%m = TensorListPushBack(%d, %w) : variant",
       }) {
    const std::string text = VectorLoop(absl::StrCat(begin, body));
    SCOPED_TRACE(body);
    for (const int n : {1, 40}) ExpectAgreement(text, VectorFeeds(n, Shape::Vector(8)), kResults);
  }
}

TEST(NativeTensorLists, OfEveryType) {
  for (const char* const type : {"float16", "bfloat16", "float64", "int8", "int16", "int32",
                                 "int64", "uint8", "uint16", "uint32", "uint64"}) {
    const std::string body = absl::StrReplaceAll(
        "%s = Const() value=int32[1]{5} : int32\n%t = AddV2(%v, %v) : TYPE\n"
        "%a = TensorListPushBack(%l, %t) : variant\n"
        "%e = TensorListGetItem(%a, %i, %s) element_dtype=TYPE : TYPE\n"
        "%w = Sub(%e, %v) : TYPE\n%m = TensorListSetItem(%a, %i, %w) : variant",
        {{"TYPE", type}});
    const std::string text = VectorLoop(body, "(5)", "", type);
    SCOPED_TRACE(type);
    EXPECT_EQ(NumCalls(text), 0);
    const DType dtype = *ParseDType(type);
    Tensor x = *Tensor::Zeros(dtype, Shape::Vector(5), {});
    for (size_t i = 0; i < x.bytes(); i += DTypeSize(dtype))
      static_cast<uint8_t*>(x.mutable_raw_data())[i + DTypeSize(dtype) - 1] = 0x3c;
    ExpectAgreement(text, {{"n:0", Tensor::Scalar(int32_t{50})}, {"x:0", x}}, kResults);
  }
}

// What a run may use also counts for what lists hold, and for tensors that are made of cells.
TEST(NativeTensorLists, AreWithinTheBudget) {
  const std::string body =
      "%t = Tanh(%v) : float32\n%w = AddV2(%t, %v) : float32\n"
      "%m = TensorListPushBack(%l, %w) : variant";
  const auto session = SessionFor(VectorLoop(body, "(256)"), {.engine = EngineKind::kCompiled});
  RunOptions options;
  options.budget_bytes = 1 << 20;
  const auto failed =
      session->Run(VectorFeeds(100000, Shape::Vector(256)), {"length:0"}, {}, options);
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted) << failed.status();
  EXPECT_THAT(failed.status().message(), ::testing::HasSubstr("iteration"));
  EXPECT_TRUE(session->Run(VectorFeeds(100, Shape::Vector(256)), {"length:0"}, {}, options).ok());
}

// A loop that changes a variable of shape [8] and reads it.
constexpr char kVariable[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(8) : float32
  %v = VarHandleOp() dtype=float32 shape=V_SHAPE shared_name="v" : resource
  %set = AssignVariableOp(%v, %x) dtype=float32
  %now = ReadVariableOp(%v) dtype=float32 : float32
  %zero = Const() value=int32{0} : int32
  %loop = While(%zero, %n, %x, %v) cond=@more body=@step : (int32, int32, float32, resource)
}
func @more(%i: int32, %n: int32, %x: float32, %v: resource) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %v: resource) -> (j: int32, n: int32, w: float32, v: resource) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %tenth = Const() value=float32{0.1} : float32
  %r = ReadVariableOp(%v) dtype=float32 : float32
  %y = Tanh(%r) : float32
  %z = Mul(%y, %tenth) : float32
  %less = AssignSubVariableOp(%v, %z, ^%r) dtype=float32
  %more = AssignAddVariableOp(%v, %y, ^%less) dtype=float32
  %t = ReadVariableOp(%v, ^%more) dtype=float32 : float32
  %half = Mul(%t, %tenth) : float32
  %to = AssignVariableOp(%v, %half, ^%t) dtype=float32
  %w = AddV2(%x, %t) : float32
  return %j, %n, %w, %v
}
)";

TEST(NativeTensorLists, VariablesAreReadAndWrittenInTheOrderOfTheProgram) {
  const std::string text = absl::StrReplaceAll(kVariable, {{"V_SHAPE", "(8)"}});
  EXPECT_EQ(NumCalls(text), 0);
  for (const int n : {0, 1, 50}) {
    std::vector<std::string> want;
    for (const EngineKind engine :
         {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
      const auto session = SessionFor(text, {.engine = engine});
      const Feeds feeds = VectorFeeds(n, Shape::Vector(8));
      ASSERT_TRUE(session->Run({feeds[1]}, {}, {"set"}).ok());
      const auto before = session->Run({}, {"now:0"});  // somebody has the value that changes
      const auto got = session->Run(feeds, {"loop:2"});
      const auto after = session->Run({}, {"now:0"});
      ASSERT_TRUE(before.ok() && got.ok() && after.ok()) << got.status();
      std::vector<std::string> bytes;
      for (const Tensor& value : {(*before)[0], (*got)[0], (*after)[0]})
        bytes.emplace_back(static_cast<const char*>(value.raw_data()), value.bytes());
      if (want.empty()) want = bytes;
      EXPECT_EQ(bytes, want);
    }
  }
}

TEST(NativeTensorLists, VariablesMayHaveNoValueOrAnotherShape) {
  for (const char* const shape : {"(8)", "?"}) {
    const std::string text = absl::StrReplaceAll(kVariable, {{"V_SHAPE", shape}});
    std::vector<std::string> want;
    for (const EngineKind engine :
         {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
      const auto session = SessionFor(text, {.engine = engine});
      const Feeds feeds = VectorFeeds(5, Shape::Vector(8));
      std::vector<std::string> errors = {session->Run(feeds, {"loop:2"}).status().ToString()};
      EXPECT_THAT(errors[0], ::testing::HasSubstr("FAILED_PRECONDITION"));
      if (session->Run({{"x:0", Tensor::FromValues<float>({1, 2}, Shape::Vector(2))}}, {}, {"set"})
              .ok())
        errors.push_back(session->Run(feeds, {"loop:2"}).status().ToString());
      if (want.empty()) want = errors;
      EXPECT_EQ(errors, want);
    }
  }
}

// A recurrence whose weights, larger than a cell, are read of a variable in each iteration and kept
// for a second loop, which takes them from the list again: how a gradient comes by them.
constexpr char kKeptWeights[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(1, 32) : float32
  %w = Placeholder() dtype=float32 shape=(32, 32) : float32
  %v = VarHandleOp() dtype=float32 shape=(32, 32) shared_name="v" : resource
  %set = AssignVariableOp(%v, %w) dtype=float32
  %now = ReadVariableOp(%v) dtype=float32 : float32
  %zero = Const() value=int32{0} : int32
  %any = Const() value=int32{-1} : int32
  %l = EmptyTensorList(%any, %any) element_dtype=float32 : variant
  %sum = ZerosLike(%now) : float32
  %forward = While(%zero, %n, %x, %l, %v) cond=@more body=@step : (int32, int32, float32, variant, resource)
  %loop = While(%forward:3, %x, %sum) cond=@any_left body=@back : (variant, float32, float32)
}
func @more(%i: int32, %n: int32, %x: float32, %l: variant, %v: resource) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %l: variant, %v: resource) -> (j: int32, n: int32, y: float32, m: variant, v: resource) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %r = ReadVariableOp(%v) dtype=float32 : float32
  %p = MatMul(%x, %r) : float32
  %y = Tanh(%p) : float32
  %half = Const() value=float32{0.5} : float32
  %m = TensorListPushBack(%l, %r) : variant
  WRITES
  return %j, %n, %y, %m, %v
}
func @any_left(%l: variant, %g: float32, %sum: float32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %k = TensorListLength(%l) : int32
  %p = Greater(%k, %zero) : bool
  return %p
}
func @back(%l: variant, %g: float32, %sum: float32) -> (m: variant, h: float32, total: float32) {
  %s = Const() value=int32[2]{32, 32} : int32
  %p = TensorListPopBack(%l, %s) element_dtype=float32 : (variant, float32)
  %q = MatMul(%g, %p:1) transpose_b=true : float32
  %h = Tanh(%q) : float32
  %total = _MatMulAdd(%g, %h, %sum) transpose_a=true : float32
  return %p, %h, %total
}
)";

TEST(NativeTensorLists, LargeTensorsOfVariablesAndListsAreReadInPlace) {
  std::vector<float> weights(32 * 32);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = 0.01f * static_cast<float>(i % 61) - 0.3f;
  // The second program changes the variable, and what is on the list must stay as it was.
  for (const char* const writes :
       {"", "%t = Mul(%r, %half) : float32\n  %to = AssignVariableOp(%v, %t, ^%m) dtype=float32"}) {
    const std::string text = absl::StrReplaceAll(kKeptWeights, {{"WRITES", writes}});
    EXPECT_EQ(NumCalls(text), 2) << "_MatMulAdd and PopBack";
    for (const int n : {0, 1, 40}) {
      std::vector<std::string> want;
      for (const EngineKind engine :
           {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
        const auto session = SessionFor(text, {.engine = engine});
        Feeds feeds = VectorFeeds(n, *Shape::Make({1, 32}));
        const Feeds w = {{"w:0", Tensor::FromValues<float>(weights, *Shape::Make({32, 32}))}};
        ASSERT_TRUE(session->Run(w, {}, {"set"}).ok());
        const auto got = session->Run(feeds, {"forward:2", "loop:1", "loop:2"});
        ASSERT_TRUE(got.ok()) << got.status();
        std::vector<std::string> bytes;
        for (const Tensor& value : *got)
          bytes.emplace_back(static_cast<const char*>(value.raw_data()), value.bytes());
        if (want.empty()) want = bytes;
        EXPECT_EQ(bytes, want) << n << " iterations";
      }
    }
  }
}

}  // namespace
}  // namespace gyre::testing
