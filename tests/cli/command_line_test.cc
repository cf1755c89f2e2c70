// `gyre run`, `show`, `ops` and `help`, as somebody at a terminal meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>

#include "base/env.h"
#include "base/work.h"
#include "cli/command.h"
#include "cli/gyre.h"
#include "session/program_file.h"
#include "support/large_programs.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"
#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"

namespace gyre::cli {
namespace {

using test::SourcePath;
using test::TempFolder;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// sum = a * b + total, where total is a variable that `init` sets to 10 and `grow` adds b to.
constexpr char kGraph[] = R"(
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
node { name: "b" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape {} } } }
node { name: "ten" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 10 } } } }
node { name: "total" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape {} } } attr { key: "shared_name" value { s: "total" } } }
node { name: "init" op: "AssignVariableOp" input: "total" input: "ten" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "grow" op: "AssignAddVariableOp" input: "total" input: "b" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "now" op: "ReadVariableOp" input: "total" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "product" op: "Mul" input: "a" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "sum" op: "AddV2" input: "product" input: "now" attr { key: "T" value { type: DT_FLOAT } } }
)";

class CommandLine : public ::testing::Test {
 protected:
  CommandLine() : graph_(folder_.Write("graph.pbtxt", kGraph)) {}

  // What a wrong `gyre run` of the graph says.
  std::string Mistake(std::vector<std::string> words) {
    words.insert(words.begin(), {"run", graph_});
    const Ran ran = Gyre(words);
    EXPECT_EQ(ran.code, kMisuse) << ran.err << ran.out;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, StartsWith("gyre run: "));
    EXPECT_THAT(ran.err, EndsWith("See 'gyre help run'.\n"));
    return ran.err;
  }

  TempFolder folder_;
  std::string graph_;
};

TEST_F(CommandLine, RunPrintsWhatIsFetched) {
  const Ran ran = Gyre(
      {"run", graph_, "--feed", "a=[[1,2,3],[4,5,6]]", "--feed", "b=2", "--fetch", "product,b:0"});
  EXPECT_EQ(ran.code, kSuccess) << ran.err;
  EXPECT_EQ(ran.out, "product float32[2,3] =\n[[2 4 6]\n [8 10 12]]\nb:0 float32[] = 2\n");
}

TEST_F(CommandLine, FeedsTakeTypeAndShapeFromTheGraph) {
  EXPECT_THAT(Gyre({"run", graph_, "--feed=a=1", "--feed=b=2", "--fetch=product"}).out,
              HasSubstr("[[2 2 2]\n [2 2 2]]"));
  EXPECT_THAT(Gyre({"run", graph_, "--feed=product=[[0.5]]", "--fetch=product"}).out,
              HasSubstr("float32[1,1]"));
}

TEST_F(CommandLine, FurtherRunsShareTheSession) {
  const Ran ran = Gyre({"run", graph_, "--init", "init", "--fetch", "now", "--then", "--target",
                        "grow", "--feed", "b=5", "--then", "--fetch", "now"});
  EXPECT_EQ(ran.code, kSuccess) << ran.err;
  EXPECT_EQ(ran.out, "now float32[] = 10\nnow float32[] = 15\n");
}

TEST_F(CommandLine, ResultsGoToFilesAndComeBackFromThem) {
  const std::string npy = folder_.Path("p.npy"), safetensors = folder_.Path("p.safetensors");
  const std::vector<std::string> run = {"run",    graph_, "--feed", "a=[1,2,3,4,5,6]",
                                        "--feed", "b=2"};
  std::vector<std::string> words = run;
  words.insert(words.end(), {"--fetch", "product", "--out", npy});
  EXPECT_EQ(Gyre(words).out, "wrote product to " + npy + "\n");
  EXPECT_THAT(ReadNpy(npy)->values<float>(), ::testing::ElementsAre(2, 4, 6, 8, 10, 12));
  words = run;
  words.insert(words.end(), {"--fetch", "product,b", "--out", safetensors});
  EXPECT_EQ(Gyre(words).code, kSuccess);
  EXPECT_EQ(SafetensorsFile::Open(safetensors)->Read("b")->scalar<float>(), 2);
  EXPECT_THAT(Gyre({"run", graph_, "--feed", "a=@" + npy, "--feed", "b=@" + safetensors + ":b",
                    "--fetch", "product"})
                  .out,
              HasSubstr("[[4 8 12]\n [16 20 24]]"));
}

TEST_F(CommandLine, AFirstOutputInAFileGoesByBothOfItsNames) {
  const std::string file = folder_.Path("p.safetensors");
  const std::vector<std::string> run = {"run", graph_, "--feed", "a=[1,2,3,4,5,6]"};
  for (const std::string name : {"b", "b:0"}) {
    std::vector<std::string> write = run;
    write.insert(write.end(), {"--feed", "b=2", "--fetch", "product," + name, "--out", file});
    EXPECT_EQ(Gyre(write).code, kSuccess);
    for (const std::string other : {"b", "b:0"}) {
      std::vector<std::string> read = run;
      read.insert(read.end(), {"--feed", "b=@" + file + ":" + other, "--fetch", "product"});
      EXPECT_THAT(Gyre(read).out, HasSubstr("[[2 4 6]\n [8 10 12]]")) << name << " " << other;
    }
  }
}

TEST_F(CommandLine, AFailureOfTheGraphIsNotAMisuse) {
  const Ran unfed = Gyre({"run", graph_, "--fetch", "product"});
  EXPECT_EQ(unfed.code, kFailure);
  EXPECT_THAT(unfed.err, StartsWith("gyre run: INVALID_ARGUMENT: "));
  const Ran broken = Gyre({"run", folder_.Write("broken.pb", "\xff\xff\xff"), "--fetch", "y"});
  EXPECT_EQ(broken.code, kFailure);
  EXPECT_THAT(broken.err, HasSubstr("broken.pb"));
}

TEST_F(CommandLine, TimeAndMemoryCanBeBounded) {
  const std::string endless = SourcePath("tests/golden/errors/deadline_v2/graph.pb");
  const Ran late = Gyre({"run", endless, "--feed", "x=5", "--fetch", "y", "--timeout", "50"});
  EXPECT_EQ(late.code, kFailure);
  EXPECT_THAT(late.err, StartsWith("gyre run: DEADLINE_EXCEEDED: "));
  const Ran large = Gyre(
      {"run", graph_, "--feed", "a=1", "--feed", "b=1", "--fetch", "product", "--budget", "8"});
  EXPECT_EQ(large.code, kFailure);
  EXPECT_THAT(large.err, StartsWith("gyre run: RESOURCE_EXHAUSTED: "));
}

TEST_F(CommandLine, WhatOnlyReadsAGraphCanBeBoundedToo) {
  const std::string large = folder_.Write("large.gyre", gyre::testing::Chain(20000));
  const std::vector<std::vector<std::string>> commands = {
      {"show", large, "--summary"},
      {"convert", large, folder_.Path("out.pb")},
      {"passes", large},
      {"place", large}};
  for (std::vector<std::string> words : commands) {
    const std::string name = words[0];
    EXPECT_EQ(Gyre(words).code, kSuccess) << name;
    words.insert(words.end(), {"--timeout", "1"});
    const Ran late = Gyre(words);
    EXPECT_EQ(late.code, kFailure) << name;
    EXPECT_THAT(late.err, StartsWith("gyre " + name + ": DEADLINE_EXCEEDED: "));
    words.back() = "soon";
    EXPECT_EQ(Gyre(words).code, kMisuse) << name;
  }
}

TEST_F(CommandLine, MistakesInNamesAreHelpedWith) {
  EXPECT_THAT(Mistake({"--fetch", "prodct"}),
              HasSubstr("the graph has no op 'prodct'; did you mean 'product'?"));
  EXPECT_THAT(Mistake({"--fetch", "sum:1"}),
              HasSubstr("'sum' (AddV2) has no output 1, its last one is 0"));
  EXPECT_THAT(Mistake({"--fetch", "init"}), HasSubstr("has no outputs; it can only be a target"));
  EXPECT_THAT(Mistake({"--fetch", "sum:x"}),
              HasSubstr("'sum:x' is no name of a tensor, such as sum:0"));
  EXPECT_THAT(Mistake({"--target", "Init"}), HasSubstr("did you mean 'init'?"));
  EXPECT_THAT(Mistake({"--init", "unit", "--fetch", "b"}), HasSubstr("did you mean 'init'?"));
  EXPECT_THAT(Mistake({"--feed", "c=1", "--fetch", "sum"}), HasSubstr("the graph has no op 'c'"));
}

TEST_F(CommandLine, NamesOfMegabytesAreCut) {
  const std::string said = Mistake({"--fetch", std::string(5'000'000, 'a')});
  EXPECT_THAT(said, HasSubstr("'" + std::string(199, 'a') + "…"));
  EXPECT_LT(said.size(), 1000);
}

TEST_F(CommandLine, MistakesInFeedsAreNamed) {
  EXPECT_THAT(Mistake({"--feed", "b", "--fetch", "b"}),
              HasSubstr("--feed b: NAME=VALUE is wanted"));
  EXPECT_THAT(Mistake({"--feed", "b=x", "--fetch", "b"}),
              HasSubstr("--feed b: 'x' is not float32"));
  EXPECT_THAT(Mistake({"--feed", "a=[1,2]", "--fetch", "a"}),
              HasSubstr("--feed a: shape [2,3] is wanted, the value has [2]"));
  EXPECT_THAT(Mistake({"--feed", "a=@none.npy", "--fetch", "a"}),
              HasSubstr("none.npy: No such file"));
}

TEST_F(CommandLine, MistakesInOptionsAreNamed) {
  EXPECT_THAT(Mistake({"--fecth", "b"}), HasSubstr("did you mean '--fetch'?"));
  EXPECT_THAT(Mistake({"--fetch", "b", "extra"}), HasSubstr("'extra' is one argument too many"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--timeout", "soon"}),
              HasSubstr("--timeout wants a whole number of milliseconds from 1 to"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--budget", "lots"}),
              HasSubstr("--budget wants a size such as"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--engine", "warp"}),
              HasSubstr("there is no engine called 'warp'"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--out", "b.csv"}),
              HasSubstr("must end in .npy or .safetensors"));
  EXPECT_THAT(Mistake({"--fetch", "a,b", "--out", "b.npy"}), HasSubstr("holds one tensor"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--out", "no/such/b.npy"}),
              HasSubstr("--out no/such/b.npy: there is no folder no/such"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--trace", "no/such/b.json"}),
              HasSubstr("--trace no/such/b.json: there is no folder no/such"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--then", "--seed", "3"}),
              HasSubstr("after --then: --seed is for all runs: give it before --then"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--then", "--stats"}),
              HasSubstr("after --then: --stats is for all runs: give it before --then"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--then", "--save", "there"}),
              HasSubstr("after --then: --save is for all runs: give it before --then"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--then", "--sede", "3"}),
              HasSubstr("after --then: there is no option --sede; did you mean '--seed' or"));
  EXPECT_THAT(Mistake({"--fetch", "b", "--then", "more"}),
              HasSubstr("after --then: 'more' is one argument too many"));
  EXPECT_THAT(
      Mistake({"--fetch", "b", "--out", "./b.npy", "--then", "--fetch", "b", "--out", "b.npy"}),
      HasSubstr("--out: b.npy is written by another --out already"));
  EXPECT_THAT(Gyre({"run"}).err, HasSubstr("something is missing: gyre run GRAPH"));
  const Ran no_file = Gyre({"run", "no/such.pb", "--fetch", "b"});
  EXPECT_EQ(no_file.code, kMisuse);
  EXPECT_THAT(no_file.err, HasSubstr("cannot open no/such.pb: No such file"));
}

TEST_F(CommandLine, WhoAsksForNothingIsToldWhatThereIs) {
  const std::string text = Mistake({});
  EXPECT_THAT(text, HasSubstr("nothing is fetched"));
  EXPECT_THAT(text, HasSubstr("(--feed NAME=VALUE):\n    a:0 float32[2,3]\n    b:0 float32[]\n"));
  EXPECT_THAT(text, HasSubstr("(--fetch NAME):\n    sum:0 float32\n"));
  EXPECT_THAT(text, HasSubstr("(--target OP):\n    init\n    grow\n"));
}

TEST_F(CommandLine, ShowPrintsTextCountsAndPictures) {
  EXPECT_THAT(Gyre({"show", graph_}).out, HasSubstr("%product = Mul(%a, %b)"));
  EXPECT_THAT(Gyre({"show", graph_, "--full"}).out, HasSubstr("%product = Mul(%a, %b)"));
  EXPECT_THAT(Gyre({"show", graph_, "--summary"}).out, HasSubstr("Placeholder"));
  EXPECT_THAT(Gyre({"show", graph_, "--dot"}).out, HasSubstr("digraph"));
  EXPECT_THAT(Gyre({"show", graph_, "--dot", "--summary"}).err, HasSubstr("choose one of"));
  EXPECT_EQ(Gyre({"show", "no/such.pb"}).code, kMisuse);
  EXPECT_EQ(Gyre({"show", folder_.Write("broken.pb", "\xff\xff\xff")}).code, kFailure);
}

TEST_F(CommandLine, ShowDrawsOrSaysWhatIsMissing) {
  const std::string picture = folder_.Path("graph.svg");
  const Ran ran = Gyre({"show", graph_, "--svg", picture});
  if (ran.code == kSuccess) {
    EXPECT_THAT(*ReadFile(picture), HasSubstr("<svg"));
  } else {
    EXPECT_THAT(ran.err, HasSubstr("graphviz is not installed"));
  }
}

TEST_F(CommandLine, ConvertGoesThroughEveryFormatAndBack) {
  const std::string text = folder_.Path("graph.gyre"), wire = folder_.Path("graph.pb"),
                    wire_text = folder_.Path("again.pbtxt");
  EXPECT_EQ(Gyre({"convert", graph_, text}).code, kSuccess);
  EXPECT_EQ(Gyre({"convert", text, wire}).code, kSuccess);
  EXPECT_EQ(Gyre({"convert", wire, wire_text}).code, kSuccess);
  const std::string shown = Gyre({"show", graph_, "--full"}).out;
  EXPECT_EQ(*ReadFile(text), shown);
  for (const std::string& path : {text, wire, wire_text}) {
    EXPECT_EQ(Gyre({"show", path, "--full"}).out, shown) << path;
    EXPECT_EQ(Gyre({"run", path, "--feed", "b=2", "--feed", "a=1", "--fetch", "product"}).code,
              kSuccess);
  }
}

TEST_F(CommandLine, ConstantsThatNobodyUsesAreNotOfferedBesideResults) {
  const std::string head = "graph {\n  %left = Const() value=int32{3} : int32\n";
  const Ran both = Gyre({"run", folder_.Write("both.gyre", head + R"(
  %x = Placeholder() dtype=float32 : float32
  %y = Neg(%x) : float32
}
)")});
  EXPECT_THAT(both.err, HasSubstr("y:0 float32"));
  EXPECT_THAT(both.err, Not(HasSubstr("left:0")));
  const Ran alone = Gyre({"run", folder_.Write("alone.gyre", head + "}\n")});
  EXPECT_THAT(alone.err, HasSubstr("left:0 int32"));
}

TEST_F(CommandLine, ConvertSaysWhichFileIsWrong) {
  const Ran missing = Gyre({"convert", "nowhere.pb", "x.pb"});
  EXPECT_EQ(missing.code, kMisuse);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.pb"));
  const Ran unnamed = Gyre({"convert", graph_, folder_.Path("graph.json")});
  EXPECT_EQ(unnamed.code, kFailure);
  EXPECT_THAT(unnamed.err, HasSubstr("end it with .pb, .pbtxt, .gyre or .onnx"));
}

TEST(Ops, AreListedByFamilyAndDescribedOneByOne) {
  const Ran all = Gyre({"ops"});
  EXPECT_THAT(all.out, HasSubstr("Control\n"));
  EXPECT_THAT(all.out, HasSubstr("\n  MatMul: "));
  const Ran one = Gyre({"ops", "MatMul"});
  EXPECT_EQ(one.code, kSuccess);
  EXPECT_THAT(one.out, StartsWith("MatMul(a: T, b: T) -> product: T"));
  EXPECT_THAT(one.out, HasSubstr("attribute  transpose_a: bool, default false"));
  EXPECT_THAT(one.out, HasSubstr("effect     none"));
  EXPECT_THAT(one.out, HasSubstr("gradient   has a rule"));
  EXPECT_THAT(Gyre({"ops", "While"}).out,
              HasSubstr("gradient   through the functions that it calls"));
  EXPECT_THAT(Gyre({"ops", "ArgMax"}).out, HasSubstr("gradient   none: "));
  const Ran none = Gyre({"ops", "Matmul"});
  EXPECT_EQ(none.code, kMisuse);
  EXPECT_THAT(none.err, HasSubstr("there is no op 'Matmul'; did you mean 'MatMul'"));
}

TEST_F(CommandLine, PlaceTakesWhatRunsToo) {
  const std::string graph = folder_.Write("asks.gyre", R"(
graph {
  %x = Placeholder() : float32
  %d = SymbolicGradient(%x, %x) f=@f : float32
}
func @f(%x: float32) -> (r: float32) {
  %r = Sin(%x) : float32
  return %r
}
)");
  EXPECT_EQ(Gyre({"run", graph, "--feed", "x=0", "--fetch", "d"}).out, "d float32[] = 0\n");
  const Ran placed = Gyre({"place", graph});
  EXPECT_EQ(placed.code, kSuccess) << placed.err;
}

TEST_F(CommandLine, PlaceSaysWhereNodesRunAndWhatIsCopied) {
  const std::string path = folder_.Write("places.gyre",
                                         "graph {\n"
                                         "  %a = Const() value=float32{2} on \"/cpu:0\"\n"
                                         "  %b = Neg(%a) on \"/cpu:1\"\n"
                                         "}\n");
  const Ran brief = Gyre({"place", path});
  EXPECT_EQ(brief.code, kSuccess) << brief.err;
  EXPECT_THAT(brief.out, HasSubstr("1 value is copied between devices"));
  const Ran explained = Gyre({"place", path, "--explain", "--text"});
  EXPECT_THAT(explained.out, ::testing::ContainsRegex("b +Neg +CPU:1 +asks for /device:CPU:1"));
  EXPECT_THAT(explained.out, ::testing::ContainsRegex("a:0 +CPU:0 +CPU:1 +once"));
  EXPECT_THAT(explained.out, HasSubstr("%b = Neg(%a/recv_0)"));
  EXPECT_EQ(Gyre({"run", path, "--devices", "cpu:2", "--fetch", "b"}).out, "b float32[] = -2\n");
  const Ran wrong = Gyre({"place", path, "--devices", "cpu:1"});
  EXPECT_EQ(wrong.code, kFailure);
  EXPECT_THAT(wrong.err, HasSubstr("node b asks for the device /device:CPU:1"));
  EXPECT_EQ(Gyre({"place", path, "--devices", "tpu:2"}).code, kMisuse);
}

TEST_F(CommandLine, DevicesMayBeOfSeveralTypes) {
  const std::string path = folder_.Write("null.gyre",
                                         "graph {\n"
                                         "  %a = Const() value=float32[2]{1, 2}\n"
                                         "  %b = Identity(%a) on \"/null:0\"\n"
                                         "  %c = Neg(%b)\n"
                                         "}\n");
  const Ran explained = Gyre({"place", path, "--devices", "cpu:2,null:1", "--explain"});
  EXPECT_THAT(explained.out,
              ::testing::ContainsRegex("b +Identity +NULL:0 +asks for /device:NULL:0"));
  EXPECT_THAT(explained.out, ::testing::ContainsRegex("a:0 +CPU:0 +NULL:0 +once"));
  EXPECT_THAT(explained.out, ::testing::ContainsRegex("b:0 +NULL:0 +CPU:0 +once"));
  EXPECT_EQ(Gyre({"run", path, "--devices", "cpu:1,null:1", "--fetch", "c"}).out,
            "c float32[2] = [-1 -2]\n");
  EXPECT_THAT(Gyre({"run", path, "--devices", "cpu:1,tpu:1", "--fetch", "c"}).err,
              HasSubstr("and null:N, with N from 1 to 1024"));
  EXPECT_EQ(Gyre({"worker", "--devices", "cpu:1,null:1"}).code, kMisuse);
}

// A clock that another look at it moves on.
class CountingClock final : public Clock {
 public:
  int64_t NowNanos() const override { return ++looks_; }
  int64_t looks() const { return looks_; }

 private:
  mutable int64_t looks_ = 0;
};

TEST_F(CommandLine, WhatIsReadInTimeIsPrintedInTimeToo) {
  const std::string large = folder_.Write("large.gyre", gyre::testing::Chain(20000));
  const CountingClock reading;
  {
    Cancellation cancellation(std::numeric_limits<int64_t>::max() - 1, reading);
    const WorkLimit limit(&cancellation);
    ASSERT_TRUE(LoadProgramFile(large).ok());
  }
  for (const char* option : {"--full", "--summary", "--dot", "--timeout=100000"}) {
    const CountingClock clock;
    Cancellation cancellation(reading.looks() + 5, clock);
    const WorkLimit limit(&cancellation);
    const Ran ran = Gyre({"show", large, option});
    EXPECT_EQ(ran.code, kFailure) << option;
    EXPECT_EQ(ran.out, "") << option;
    EXPECT_THAT(ran.err, HasSubstr("DEADLINE_EXCEEDED")) << option;
    EXPECT_THAT(ran.err, HasSubstr("while printing the program")) << option;
  }
  const CountingClock clock;
  Cancellation cancellation(reading.looks() + 5, clock);
  const WorkLimit limit(&cancellation);
  const Ran ran = Gyre({"convert", large, folder_.Path("out.pb")});
  EXPECT_EQ(ran.code, kFailure);
  EXPECT_THAT(ran.err, HasSubstr("while writing the program"));
}

TEST_F(CommandLine, PassesSayWhatTheyDo) {
  EXPECT_THAT(Gyre({"passes"}).out, StartsWith("prune: "));
  const Ran one = Gyre({"passes", graph_, "--fetch", "product", "--only", "prune"});
  EXPECT_EQ(one.code, kSuccess) << one.err;
  EXPECT_THAT(one.out, ::testing::ContainsRegex("prune +yes +9 +3 "));
  EXPECT_EQ(Gyre({"passes", graph_, "--off", "all"}).out,
            "  pass  changed  nodes before  after  time\n");
  const Ran dump = Gyre({"passes", graph_, "--fetch", "product", "--dump"});
  EXPECT_THAT(dump.out, HasSubstr("after prune:\ngraph {"));
  EXPECT_THAT(dump.out, HasSubstr("%product = Mul(%a, %b)"));
  EXPECT_THAT(Gyre({"passes", graph_, "--only", "flod"}).err, HasSubstr("there is no pass 'flod'"));
  EXPECT_EQ(Gyre({"passes", graph_, "--fetch", "nothing"}).code, kMisuse);
  for (const Option& option : kPassesCommand.options) {
    std::vector<std::string> words = {"passes", std::string(option.name)};
    if (!option.value.empty()) words.back() += "=1";
    const Ran idle = Gyre(words);
    EXPECT_EQ(idle.code, kMisuse) << option.name;
    EXPECT_THAT(idle.err, HasSubstr(absl::StrCat(option.name, " has no effect without a graph")));
  }
  const Ran both = Gyre({"passes", graph_, "--only", "prune", "--off", "fold"});
  EXPECT_EQ(both.code, kMisuse);
  EXPECT_THAT(both.err, HasSubstr("--off has no effect with --only, which leaves out all other"));
}

TEST_F(CommandLine, ShowsWhatPassesLeave) {
  const Ran shown = Gyre({"show", graph_, "--optimized", "--fetch", "product"});
  EXPECT_EQ(shown.code, kSuccess) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("%product = Mul(%a, %b)"));
  EXPECT_THAT(shown.out, ::testing::Not(HasSubstr("%sum")));
  EXPECT_THAT(Gyre({"show", graph_, "--optimized"}).out, HasSubstr("%grow = "));
  EXPECT_THAT(Gyre({"show", graph_, "--fetch", "product"}).err,
              HasSubstr("--fetch is for --raised, --lowered and --optimized"));
}

// Pivots, which nobody reads, are left out of what is asked for.
TEST(Show, ReadsPrimitivesAsLoopsAndConditionals) {
  const std::string graph = SourcePath("tests/golden/while_v1/collatz/graph.pb");
  const Ran raised = Gyre({"show", graph, "--raised"});
  EXPECT_EQ(raised.code, kSuccess) << raised.err;
  EXPECT_THAT(raised.out, HasSubstr(" = StatelessWhile(%s, %Const, %s) "));
  EXPECT_THAT(raised.out, HasSubstr(" = StatelessIf(%while/Equal, %while/Identity) "));
  EXPECT_THAT(raised.out, ::testing::Not(HasSubstr("Switch(")));
  const Ran inner = Gyre({"show", graph, "--raised", "--fetch", "while/add"});
  EXPECT_EQ(inner.code, kFailure);
  EXPECT_THAT(inner.err, HasSubstr("the graph has no structured form: node while/add (AddV2) is "
                                   "asked for, but runs within a loop"));
  const Ran lowered =
      Gyre({"show", SourcePath("tests/golden/while_v2/collatz/graph.pb"), "--lowered"});
  EXPECT_THAT(lowered.out, HasSubstr(" = NextIteration("));
  EXPECT_THAT(lowered.out, ::testing::Not(HasSubstr("StatelessWhile(")));
  EXPECT_THAT(Gyre({"show", graph, "--raised", "--lowered"}).err,
              HasSubstr("choose one of --raised, --lowered and --optimized"));
}

TEST(Run, TakesTheFormOfTheProgram) {
  const std::string graph = SourcePath("tests/golden/while_v1/collatz/graph.pb");
  const Ran plain = Gyre({"run", graph, "--feed", "s:0=27", "--fetch", "k"});
  EXPECT_EQ(plain.code, kSuccess) << plain.err;
  for (const char* form : {"imported", "raised", "relowered", "reraised", "optimized"}) {
    const Ran ran = Gyre({"run", graph, "--feed", "s:0=27", "--fetch", "k", "--form", form});
    EXPECT_EQ(ran.out, plain.out) << form << ran.err;
  }
  EXPECT_THAT(Gyre({"run", graph, "--fetch", "k", "--form", "rased"}).err,
              HasSubstr("there is no form called 'rased'"));
}

TEST(Help, IsThereForEveryCommand) {
  EXPECT_THAT(Gyre({"help"}).out, HasSubstr("gyre run GRAPH"));
  EXPECT_THAT(Gyre({"--version"}).out, StartsWith("gyre "));
  for (const char* command : {"run", "show", "passes", "check", "ops"}) {
    const Ran help = Gyre({"help", command});
    EXPECT_EQ(help.code, kSuccess);
    EXPECT_THAT(help.out, StartsWith(std::string("gyre ") + command + " "));
    EXPECT_EQ(Gyre({command, "--help"}).out, help.out);
  }
  EXPECT_THAT(Gyre({"help", "chekc"}).err, HasSubstr("did you mean 'check'?"));
  EXPECT_THAT(Gyre({"rum"}).err, HasSubstr("there is no command 'rum'; did you mean 'run'?"));
  EXPECT_EQ(Gyre({"rum"}).code, kMisuse);
  EXPECT_EQ(Gyre({}).code, kMisuse);
}

TEST(Program, IsWhatMainRuns) {
  std::FILE* pipe = ::popen((test::BuildPath("bin/gyre") + " --version").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::array<char, 100> line{};
  EXPECT_NE(std::fgets(line.data(), line.size(), pipe), nullptr);
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(std::string(line.data()), Gyre({"--version"}).out);
}

}  // namespace
}  // namespace gyre::cli
