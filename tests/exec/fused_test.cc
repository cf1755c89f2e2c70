// Groups of elementwise ops: which ops they are, and that they give what each op alone would.
#include <algorithm>
#include <map>
#include <random>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exec/fused/group.h"
#include "lower/lower.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// By the last op's name, the names of all ops of a group.
using Groups = std::map<std::string, std::vector<std::string>>;

Groups GroupsOf(const std::string& text, const std::vector<std::string>& feeds,
                const std::vector<std::string>& fetches) {
  const std::unique_ptr<Session> session = SessionFor(text);
  const Function& main = session->program().main();
  RunSignature signature;
  for (const std::string& name : feeds) signature.feeds.push_back({main.FindNode(name)->id, 0});
  for (const std::string& name : fetches) signature.fetches.push_back({main.FindNode(name)->id, 0});
  absl::StatusOr<Lowered> lowered = Lower(session->program(), main, signature);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  Groups groups;
  for (const auto& [id, group] : fused::FuseGroups(*lowered)) {
    std::vector<std::string>& names = groups[lowered->function.node(id).name];
    for (const fused::FusedOp& op : group->ops) names.push_back(op.node->name);
    std::sort(names.begin(), names.end());
  }
  return groups;
}

constexpr char kChain[] = R"(
graph {
  %x = Placeholder() dtype=float32 : float32
  %c = Placeholder() dtype=float32 : float32
  %two = Const() value=float32{2} : float32
  %m = Mul(%x, %c) : float32
  %t = Tanh(%m) : float32
  %h = Mul(%t, %two) : float32
  %y = AddV2(%h, %c) : float32
  %z = Neg(%y) : float32
  %other = Square(%t) : float32
}
)";

TEST(Fused, WhatOneOpAloneReadsIsOneNodeWithIt) {
  EXPECT_EQ(GroupsOf(kChain, {"x", "c"}, {"z"}), (Groups{{"z", {"h", "m", "t", "y", "z"}}}));
}

TEST(Fused, WhatIsFetchedOrReadTwiceEndsAGroup) {
  EXPECT_EQ(GroupsOf(kChain, {"x", "c"}, {"z", "y"}), (Groups{{"y", {"h", "m", "t", "y"}}}));
  EXPECT_EQ(GroupsOf(kChain, {"x", "c"}, {"z", "other"}),
            (Groups{{"t", {"m", "t"}}, {"z", {"h", "y", "z"}}}));
}

TEST(Fused, WhatIsFedIsNoPartOfAGroup) {
  EXPECT_EQ(GroupsOf(kChain, {"x", "c", "t"}, {"z"}), (Groups{{"z", {"h", "y", "z"}}}));
}

TEST(Fused, ReadersOfOneGroupShareAProducer) {
  EXPECT_EQ(GroupsOf(R"(
graph {
  %x = Placeholder() dtype=float32 : float32
  %a = Sin(%x) : float32
  %b = Cos(%a) : float32
  %y = Mul(%a, %b) : float32
  %s = Sum(%y, %axis) : float32
  %axis = Const() value=int32{0} : int32
}
)",
                     {"x"}, {"s"}),
            (Groups{{"y", {"a", "b", "y"}}}));
}

TEST(Fused, AControlEdgeEndsAGroup) {
  EXPECT_EQ(GroupsOf(R"(
graph {
  %x = Placeholder() dtype=float32 : float32
  %a = Sin(%x) : float32
  %b = Cos(%a) : float32
  %s = Print(%x, ^%a) : float32
  %y = AddN(%b, %s) : float32
}
)",
                     {"x"}, {"y"}),
            (Groups{{"y", {"b", "y"}}}));
}

// Fetches of one program on the reference engine, as tokens and in groups, to the bit; or errors:
// where one op alone can fail, to the letter.
enum class Errors { kOfOneOp, kOfSeveral };
void ExpectSame(const std::string& text, const Feeds& feeds,
                const std::vector<std::string>& fetches, Errors errors = Errors::kOfOneOp) {
  SessionOptions reference, tokens, threads;
  reference.engine = EngineKind::kReference;
  tokens.parallel.window = 4;
  threads.parallel.threads = 2;
  const auto want = SessionFor(text, reference)->Run(feeds, fetches);
  for (const SessionOptions& options : {SessionOptions(), tokens, threads}) {
    const auto got = SessionFor(text, options)->Run(feeds, fetches);
    ASSERT_EQ(got.ok(), want.ok()) << text << got.status() << want.status();
    if (!want.ok()) {
      if (errors == Errors::kOfOneOp) {
        ASSERT_EQ(got.status().ToString(), want.status().ToString()) << text;
      } else {
        ASSERT_EQ(got.status().code(), want.status().code()) << text << got.status();
      }
      continue;
    }
    for (size_t i = 0; i < fetches.size(); ++i) {
      const Tensor &g = (*got)[i], &w = (*want)[i];
      ASSERT_EQ(g.shape(), w.shape()) << fetches[i] << text;
      ASSERT_EQ(g.dtype(), w.dtype()) << fetches[i] << text;
      ASSERT_TRUE(std::string_view(static_cast<const char*>(g.raw_data()), g.bytes()) ==
                  std::string_view(static_cast<const char*>(w.raw_data()), w.bytes()))
          << fetches[i] << text;
    }
  }
}

Shape Of(std::initializer_list<int64_t> dims) { return *Shape::Make(Dims(dims)); }

Tensor Drawn(std::mt19937& random, DType dtype, const Shape& shape) {
  Tensor t = *Tensor::Make(dtype, shape);
  const auto n = static_cast<size_t>(t.num_elements());
  std::uniform_real_distribution<float> value(-3, 3);
  for (size_t i = 0; i < n; ++i) {
    if (dtype == DType::kInt32) {
      static_cast<int32_t*>(t.mutable_raw_data())[i] = static_cast<int32_t>(random() % 7);
    } else {
      static_cast<float*>(t.mutable_raw_data())[i] = value(random);
    }
  }
  return t;
}

// Random elementwise programs; each is run with inputs of several sets of shapes, so that its
// groups run by cells, by pieces and kernel by kernel.
class RandomGroups {
 public:
  explicit RandomGroups(uint32_t seed) : random_(seed) {}

  void Run() {
    const std::string text = Program();
    const std::vector<std::vector<Shape>> sets = {
        {Shape()},
        {Shape::Vector(5)},
        {Of({2, 3}), Shape()},
        {Of({70, 700}), Shape::Vector(700), Shape()},  // more than one task
        {Of({3, 4096}), Of({4096})},
        {Of({3, 70}), Of({3, 1}), Of({1, 70}), Shape()},
        {Of({0, 4}), Shape()},
        {Shape::Vector(4), Shape::Vector(5)},  // they do not fit together
    };
    for (const std::vector<Shape>& shapes : sets) {
      Feeds feeds;
      for (int i = 0; i < kInputs; ++i) {
        feeds.emplace_back(absl::StrCat("f", i, ":0"),
                           Drawn(random_, DType::kFloat, shapes[random_() % shapes.size()]));
        feeds.emplace_back(absl::StrCat("i", i, ":0"),
                           Drawn(random_, DType::kInt32, shapes[random_() % shapes.size()]));
      }
      ExpectSame(text, feeds, {"y:0"}, Errors::kOfSeveral);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  static constexpr int kInputs = 3;

  std::string OneOf(const std::vector<std::string>& of) { return of[random_() % of.size()]; }
  // Later ones more often, which makes chains.
  std::string Operand(const std::vector<std::string>& of) {
    return of[std::max(random_() % of.size(), random_() % of.size())];
  }
  std::vector<std::string> Some(const std::vector<std::string>& of, size_t n) {
    std::vector<std::string> some(n);
    for (std::string& one : some) one = Operand(of);
    return some;
  }
  void Emit(const std::string& op, const std::vector<std::string>& operands,
            std::vector<std::string>& to, const char* dtype, const std::string& attrs = "") {
    const std::string name = absl::StrCat("%v", ++count_);
    absl::StrAppend(&text_, "  ", name, " = ", op, "(", absl::StrJoin(operands, ", "), ") ", attrs,
                    " : ", dtype, "\n");
    to.push_back(name);
  }

  std::string Program() {
    text_ = "graph {\n";
    std::vector<std::string> floats, ints, bools;
    for (int i = 0; i < kInputs; ++i) {
      absl::StrAppend(&text_, "  %f", i, " = Placeholder() dtype=float32 : float32\n");
      absl::StrAppend(&text_, "  %i", i, " = Placeholder() dtype=int32 : int32\n");
      floats.push_back(absl::StrCat("%f", i));
      ints.push_back(absl::StrCat("%i", i));
    }
    absl::StrAppend(&text_, "  %c = Const() value=float32{1.5} : float32\n");
    floats.push_back("%c");
    Emit("Less", {"%f0", "%f1"}, bools, "bool");
    const int ops = 3 + static_cast<int>(random_() % 20);
    for (int i = 0; i < ops; ++i) {
      const auto f = [&] { return Operand(floats); };
      switch (random_() % 10) {
        case 0:
          Emit(OneOf({"Less", "GreaterEqual", "Equal"}), {f(), f()}, bools, "bool");
          break;
        case 1:
          Emit("SelectV2", {Operand(bools), f(), f()}, floats, "float32");
          break;
        case 2:
          Emit("AddN", Some(floats, 1 + random_() % 5), floats, "float32");
          break;
        case 3:
          Emit("Cast", {Operand(ints)}, floats, "float32", "DstT=float32");
          break;
        case 4:
          Emit("Cast", {f()}, ints, "int32", "DstT=int32");
          break;
        case 5:
          Emit(OneOf({"AddV2", "Mul", "Sub", random_() % 3 == 0 ? "FloorDiv" : "Maximum"}),
               {Operand(ints), Operand(ints)}, ints, "int32");
          break;
        case 6:
        case 7:
          Emit(OneOf({"Tanh", "Exp", "Neg", "Relu", "Relu6", "Rint", "Erf"}), {f()}, floats,
               "float32");
          break;
        default:
          Emit(OneOf({"AddV2", "Mul", "Sub", "Maximum", "RealDiv", "ReluGrad"}), {f(), f()}, floats,
               "float32");
      }
    }
    absl::StrAppend(&text_, "  %z = Cast(", ints.back(), ") DstT=float32 : float32\n  %y = AddV2(",
                    floats.back(), ", %z) : float32\n}\n");
    return text_;
  }

  std::mt19937 random_;
  std::string text_;
  int count_ = 0;
};

TEST(Fused, RandomProgramsGiveTheBitsOfTheirOps) {
  for (uint32_t seed = 1; seed <= 500 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomGroups(seed).Run();
  }
}

TEST(Fused, AnErrorNamesTheOpThatFailed) {
  constexpr char kText[] = R"(
graph {
  %x = Placeholder() dtype=int32 : int32
  %y = Placeholder() dtype=int32 : int32
  %one = Const() value=int32{1} : int32
  %less = Sub(%y, %one) : int32
  %quotient = FloorDiv(%x, %less) : int32
  %sum = AddV2(%quotient, %x) : int32
  %result = Neg(%sum) : int32
}
)";
  for (const Shape& shape : {Shape(), Shape::Vector(3), Shape::Vector(40'000)}) {
    std::mt19937 random(1);
    const Feeds feeds = {{"x:0", Drawn(random, DType::kInt32, shape)},
                         {"y:0", Tensor::Scalar<int32_t>(1)}};
    ExpectSame(kText, feeds, {"result:0"});
    const absl::Status status = RunStatus(*SessionFor(kText), feeds, "result:0");
    EXPECT_TRUE(absl::StrContains(status.message(), "node quotient (FloorDiv)")) << status;
  }
}

// What scalars alone decide fails, too, where the result has no elements.
TEST(Fused, AScalarFailsBesideNothing) {
  constexpr char kText[] = R"(
graph {
  %x = Placeholder() dtype=int32 : int32
  %y = Placeholder() dtype=int32 : int32
  %none = Sub(%y, %y) : int32
  %quotient = FloorDiv(%y, %none) : int32
  %result = AddV2(%quotient, %x) : int32
}
)";
  std::mt19937 random(1);
  ExpectSame(
      kText,
      {{"x:0", Drawn(random, DType::kInt32, Of({0, 4}))}, {"y:0", Tensor::Scalar<int32_t>(1)}},
      {"result:0"});
}

// y = x // 0 is alive whatever p says; `reader` reads it beside what may be dead.
std::string BesideASwitch(absl::string_view reader) {
  return absl::StrCat(R"(
graph {
  %x = Placeholder() dtype=int32 shape=() : int32
  %p = Placeholder() dtype=bool shape=() : bool
  %zero = Const() value=int32{0} : int32
  %bad = FloorDiv(%x, %zero) : int32
  %side = Switch(%x, %p) : (int32, int32)
  %other = Switch(%x, %p) : (int32, int32)
)",
                      reader, R"(
  %y = Merge(%read, %side:1) : (int32, int32)
}
)");
}

TEST(Fused, AnOpThatMayFailWaitsForNothingThatMayBeDead) {
  const std::string dead = BesideASwitch("  %read = AddV2(%bad, %side) : int32");
  EXPECT_EQ(GroupsOf(dead, {"x", "p"}, {"y"}), Groups{});
  for (const bool p : {false, true}) {
    ExpectSame(dead, {{"x:0", Tensor::Scalar<int32_t>(3)}, {"p:0", Tensor::Scalar(p)}}, {"y:0"});
  }
  // On one side of one predicate all are dead together, and so is what cannot fail.
  EXPECT_EQ(GroupsOf(BesideASwitch("  %d = FloorDiv(%side, %other) : int32\n"
                                   "  %read = AddV2(%d, %side) : int32"),
                     {"x", "p"}, {"y"}),
            (Groups{{"read", {"d", "read"}}}));
  EXPECT_EQ(GroupsOf(BesideASwitch("  %n = Neg(%x) : int32\n"
                                   "  %read = AddV2(%n, %side) : int32"),
                     {"x", "p"}, {"y"}),
            (Groups{{"read", {"n", "read"}}}));
}

// Behind a conditional, and in its branches, ops are groups as elsewhere.
TEST(Fused, ConditionalsDoNotPartWhatIsAliveWithThem) {
  constexpr char kText[] = R"(
graph {
  %x = Placeholder() dtype=int32 shape=() : int32
  %p = Placeholder() dtype=bool shape=() : bool
  %if = StatelessIf(%p, %x) then_branch=@less else_branch=@more : int32
  %d = FloorDiv(%x, %x) : int32
  %y = AddV2(%d, %if) : int32
}
func @less(%x: int32) -> (r: int32) {
  %a = FloorDiv(%x, %x) : int32
  %r = Sub(%a, %x) : int32
  return %r
}
func @more(%x: int32) -> (r: int32) {
  %r = Neg(%x) : int32
  return %r
}
)";
  EXPECT_EQ(GroupsOf(kText, {"x", "p"}, {"y"}),
            (Groups{{"if/r_1", {"a", "r"}}, {"y", {"d", "y"}}}));
}

TEST(Fused, AConstantOfAnotherTypeThanItSaysIsAnError) {
  constexpr char kText[] = R"(
graph {
  %x = Placeholder() dtype=float32 : float32
  %c = Const() dtype=float32 value=int8[3]{1, 2, 3} : float32
  %m = Mul(%x, %c) : float32
  %y = Neg(%m) : float32
}
)";
  for (const Shape& shape : {Shape(), Shape::Vector(3)}) {
    std::mt19937 random(1);
    const Feeds feeds = {{"x:0", Drawn(random, DType::kFloat, shape)}};
    ExpectSame(kText, feeds, {"y:0"});
    EXPECT_FALSE(RunStatus(*SessionFor(kText), feeds, "y:0").ok());
  }
}

// In functions, loops and branches, of which some are not taken, errors have their places.
TEST(Fused, GroupsInLoopsAndBranches) {
  constexpr char kText[] = R"(
graph {
  %n = Placeholder() dtype=int32 : int32
  %x = Placeholder() dtype=float32 : float32
  %zero = Const() value=int32{0} : int32
  %loop = While(%zero, %n, %x) cond=@more body=@step parallel_iterations=1 : (int32, int32, float32)
}
func @more(%i: int32, %n: int32, %x: float32) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32) -> (j: int32, n: int32, y: float32) {
  %one = Const() value=int32{1} : int32
  %two = Const() value=int32{2} : int32
  %j = AddV2(%i, %one) : int32
  %o = FloorMod(%i, %two) : int32
  %p = Equal(%o, %one) : bool
  %b = If(%p, %x, %i, %n) then_branch=@odd else_branch=@even : float32
  %h = Mul(%b, %b) : float32
  %y = Sub(%h, %x) : float32
  return %j, %n, %y
}
func @odd(%x: float32, %i: int32, %n: int32) -> (y: float32) {
  %a = Tanh(%x) : float32
  %y = Neg(%a) : float32
  return %y
}
func @even(%x: float32, %i: int32, %n: int32) -> (y: float32) {
  %five = Const() value=int32{5} : int32
  %i2 = Sub(%n, %five) : int32
  %d = FloorDiv(%i, %i2) : int32
  %a = Cast(%d) DstT=float32 : float32
  %m = Mul(%a, %x) : float32
  %y = Sin(%m) : float32
  return %y
}
)";
  for (const int n : {0, 1, 4, 5, 8}) {
    for (const Shape& shape : {Shape(), Shape::Vector(3), Of({30, 700})}) {
      std::mt19937 random(1);
      ExpectSame(
          kText,
          {{"n:0", Tensor::Scalar<int32_t>(n)}, {"x:0", Drawn(random, DType::kFloat, shape)}},
          {"loop:2"});
    }
  }
}

// A tensor that is fed is not written to, and one that the program makes may be.
TEST(Fused, FedTensorsKeepTheirElements) {
  std::mt19937 random(1);
  const Tensor x = Drawn(random, DType::kFloat, Shape::Vector(100));
  const std::vector<float> before(x.values<float>().begin(), x.values<float>().end());
  const auto session = SessionFor(kChain);
  ASSERT_TRUE(session->Run({{"x:0", x}, {"c:0", Tensor::Scalar(2.f)}}, {"z:0"}).ok());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), x.values<float>().begin()));
}

// Beside tokens, what stands there keeps an op that nobody knows, and so has no type of its own.
TEST(Fused, WhatIsFedInThePlaceOfAnUnknownOpHasTheTypeThatReadersWant) {
  constexpr char kText[] = R"(
graph {
  %x = "Unknown"() : ?
  %a = Placeholder() dtype=float32 : float32
  %entered = Enter(%x) frame_name="f" : float32
  %left = Exit(%entered) : float32
  %m = Mul(%a, %left) : float32
  %s = AddV2(%m, %x) : float32
  %y = Identity(%s) : float32
}
)";
  for (const EngineKind engine : {EngineKind::kDataflow, EngineKind::kReference}) {
    const auto session = SessionFor(kText, {.engine = engine});
    EXPECT_EQ(RunScalar<float>(*session,
                               {{"x:0", Tensor::Scalar(3.f)}, {"a:0", Tensor::Scalar(2.f)}}, "y:0"),
              9);
    EXPECT_EQ(RunStatus(*session, {{"x:0", Tensor::Scalar(3)}, {"a:0", Tensor::Scalar(2.f)}}, "y:0")
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace gyre::testing
