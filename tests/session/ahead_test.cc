// Programs that are compiled ahead of time: from C they give what sessions give, bit for bit.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "golden/case.h"
#include "golden/compare.h"
#include "gtest/gtest.h"
#include "ir/text/parser.h"
#include "ops/registry.h"
#include "session/ahead/compile.h"
#include "session/names.h"
#include "session/program_file.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/run_text.h"
#include "support/temp_folder.h"

namespace gyre::testing {
namespace {

using test::Process;
using test::TempFolder;

absl::StatusOr<CompiledAhead> Compile(std::shared_ptr<const Program> program,
                                      const std::vector<std::string>& feeds,
                                      const std::vector<std::string>& fetches,
                                      const AheadOptions& options = {}) {
  absl::StatusOr<RunSignature> signature = MainNames(*program).FindSignature(feeds, fetches);
  if (!signature.ok()) return signature.status();
  return CompileAhead(MakeStaged(std::move(program), *std::move(signature)), options);
}

absl::StatusOr<CompiledAhead> CompileText(const std::string& text,
                                          const std::vector<std::string>& feeds,
                                          const std::vector<std::string>& fetches,
                                          const AheadOptions& options = {}) {
  absl::StatusOr<std::shared_ptr<const Program>> program = ParseProgram(text, Ops());
  if (!program.ok()) return program.status();
  return Compile(*std::move(program), feeds, fetches, options);
}

bool HasCompiler(const absl::Status& status) {
  return status.code() != absl::StatusCode::kFailedPrecondition;
}

// What a C program that includes the header and calls the function prints, each line.
std::vector<std::string> RunInC(const CompiledAhead& made, absl::string_view main,
                                absl::string_view language = "c") {
  TempFolder folder;
  folder.Write("model.o", made.object);
  folder.Write("model.h", made.header);
  const std::string source = folder.Write(
      absl::StrCat("main.", language),
      absl::StrCat("#include \"model.h\"\n#include <stdio.h>\nint main(void) {\n", main, "}\n"));
  Process compiler({"/usr/bin/env", "cc", "-Wall", "-Wextra", "-Werror", "-pedantic", source,
                    folder.Path("model.o"), "-lm", "-o", folder.Path("program")},
                   STDERR_FILENO);
  std::string said;
  for (std::string line = compiler.NextLine(); !line.empty(); line = compiler.NextLine())
    absl::StrAppend(&said, line, "\n");
  EXPECT_EQ(compiler.Wait(), 0) << said << made.header;
  if (!said.empty()) return {};
  Process program({folder.Path("program")}, STDOUT_FILENO);
  std::vector<std::string> lines;
  for (std::string line = program.NextLine(); !line.empty(); line = program.NextLine())
    lines.push_back(line);
  EXPECT_EQ(program.Wait(), 0);
  return lines;
}

// Called from this process, with structures that are laid out as the header says: each member
// behind the one before it, where its type may lie.
class Loaded {
 public:
  explicit Loaded(const CompiledAhead& made) {
    folder_.Write("model.o", made.object);
    Process linker({"/usr/bin/env", "cc", "-shared", folder_.Path("model.o"), "-lm", "-o",
                    folder_.Path("model.so")},
                   STDERR_FILENO);
    EXPECT_EQ(linker.Wait(), 0);
    library_ = dlopen(folder_.Path("model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    if (library_ != nullptr) function_ = reinterpret_cast<Function>(dlsym(library_, "model"));
  }
  ~Loaded() {
    if (library_ != nullptr) dlclose(library_);
  }

  int32_t Call(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const {
    std::string in = Room(inputs), out = Room(outputs);
    size_t at = 0;
    for (const Tensor& input : inputs)
      std::memcpy(Member(in, input, at), input.raw_data(), input.bytes());
    size_t end = 0;
    for (const Tensor& output : outputs)
      std::memcpy(Member(out, output, end), output.raw_data(), output.bytes());
    const int32_t result = function_(in.data(), out.data());
    at = 0;
    for (Tensor& output : outputs)
      std::memcpy(output.mutable_raw_data(), Member(out, output, at), output.bytes());
    return result;
  }
  bool is_there() const { return function_ != nullptr; }

 private:
  using Function = int32_t (*)(const void*, void*);
  static std::string Room(const std::vector<Tensor>& tensors) {
    size_t bytes = 64;
    for (const Tensor& tensor : tensors) bytes += tensor.bytes() + 8;
    return std::string(bytes, '\x5a');
  }
  static char* Member(std::string& room, const Tensor& tensor, size_t& at) {
    const size_t align = DTypeSize(tensor.dtype());
    at = (at + align - 1) / align * align;
    char* const member = room.data() + at;
    at += tensor.bytes();
    return member;
  }

  TempFolder folder_;
  void* library_ = nullptr;
  Function function_ = nullptr;
};

constexpr char kDecay[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %loop = StatelessWhile(%n, %x) cond=@more body=@step : (int32, float32)
}
func @more(%i: int32, %x: float32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%i, %zero) : bool
  return %p
}
func @step(%i: int32, %x: float32) -> (i: int32, x: float32) {
  %one = Const() value=int32{1} : int32
  %i1 = Sub(%i, %one) : int32
  %w = Const() value=float32{0.9} : float32
  %c = Const() value=float32{0.1} : float32
  %p = Mul(%x, %w) : float32
  %y = AddV2(%p, %c) : float32
  return %i1, %y
}
)";

#define SKIP_WITHOUT_COMPILER(made) \
  if (!HasCompiler((made).status())) GTEST_SKIP() << (made).status().message()

TEST(CompileAhead, AProgramOfCGivesWhatASessionGives) {
  const auto made = CompileText(kDecay, {"n", "x"}, {"loop:1", "loop:0"});
  SKIP_WITHOUT_COMPILER(made);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto session = SessionFor(kDecay);
  const float wanted = RunScalar<float>(
      *session, {{"n:0", Tensor::Scalar<int32_t>(100)}, {"x:0", Tensor::Scalar<float>(7)}},
      "loop:1");
  char text[64];
  std::snprintf(text, sizeof text, "0 %a 0 OK", static_cast<double>(wanted));
  constexpr absl::string_view kMain =
      "  struct model_inputs in = {100, 7};\n  struct model_outputs out;\n"
      "  int result = model(&in, &out);\n"
      "  printf(\"%d %a %d %s\\n\", result, (double)out.loop_1, out.loop, model_what(result));\n"
      "  return 0;\n";
  EXPECT_EQ(RunInC(*made, kMain), std::vector<std::string>{text});
  EXPECT_EQ(RunInC(*made, kMain, "cpp"), std::vector<std::string>{text});
}

TEST(CompileAhead, ContractionIsForWhoAsks) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this machine has no such instruction";
  AheadOptions options;
  options.cpu = "native";
  const Feeds feeds = {{"n:0", Tensor::Scalar<int32_t>(100)}, {"x:0", Tensor::Scalar<float>(7)}};
  const float twice = RunScalar<float>(*SessionFor(kDecay), feeds, "loop:1");
  for (const bool may_contract : {false, true}) {
    options.may_contract = may_contract;
    const auto made = CompileText(kDecay, {"n", "x"}, {"loop:1"}, options);
    SKIP_WITHOUT_COMPILER(made);
    ASSERT_TRUE(made.ok()) << made.status();
    const Loaded loaded(*made);
    ASSERT_TRUE(loaded.is_there());
    std::vector<Tensor> outputs = {Tensor::Scalar<float>(0)};
    EXPECT_EQ(loaded.Call({feeds[0].second.tensor(), feeds[1].second.tensor()}, outputs), 0);
    EXPECT_EQ(outputs[0].scalar<float>() == twice, !may_contract);
  }
}

TEST(CompileAhead, SaysWhichOpHadNoResult) {
  const auto made = CompileText(R"(
graph {
  %a = Placeholder() dtype=int32 shape=() : int32
  %b = Placeholder() dtype=int32 shape=() : int32
  %q = FloorDiv(%a, %b) : int32
}
)",
                                {"a", "b"}, {"q"});
  SKIP_WITHOUT_COMPILER(made);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(RunInC(*made,
                   "  struct model_inputs in = {7, 2};\n  struct model_outputs out = {-5};\n"
                   "  int result = model(&in, &out);\n"
                   "  printf(\"%s %d\\n\", model_what(result), out.q);\n"
                   "  in.b = 0;\n  out.q = -5;\n  result = model(&in, &out);\n"
                   "  printf(\"%s %d\\n\", model_what(result), out.q);\n  return 0;\n"),
            (std::vector<std::string>{"OK 3", "q (FloorDiv) has no result for these values -5"}));
}

constexpr char kRecursion[] = R"(
graph {
  %n = Placeholder() dtype=int64 shape=() : int64
  %y = PartitionedCall(%n) f=@fib : int64
}
func @fib(%n: int64) -> (y: int64) {
  %two = Const() value=int64{2} : int64
  %p = Less(%n, %two) : bool
  %y = StatelessIf(%p, %n) then_branch=@same else_branch=@both : int64
  return %y
}
func @same(%n: int64) -> (y: int64) {
  return %n
}
func @both(%n: int64) -> (y: int64) {
  %one = Const() value=int64{1} : int64
  %two = Const() value=int64{2} : int64
  %n1 = Sub(%n, %one) : int64
  %n2 = Sub(%n, %two) : int64
  %y1 = PartitionedCall(%n1) f=@fib : int64
  %y2 = PartitionedCall(%n2) f=@fib : int64
  %y = AddV2(%y1, %y2) : int64
  return %y
}
)";

TEST(CompileAhead, RecursionHasAStackOfAKnownSize) {
  for (const auto& [stack_bytes, wanted] : {std::pair(4096, 0), std::pair(256, -1)}) {
    AheadOptions options;
    options.stack_bytes = stack_bytes;
    const auto made = CompileText(kRecursion, {"n"}, {"y"}, options);
    SKIP_WITHOUT_COMPILER(made);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(absl::StrContains(made->header, "its calls are nested too deeply"));
    const Loaded loaded(*made);
    ASSERT_TRUE(loaded.is_there());
    std::vector<Tensor> outputs = {Tensor::Scalar<int64_t>(-5)};
    EXPECT_EQ(loaded.Call({Tensor::Scalar<int64_t>(20)}, outputs), wanted);
    EXPECT_EQ(outputs[0].scalar<int64_t>(), wanted == 0 ? 6765 : -5);
  }
}

TEST(CompileAhead, RefusesWhatItCannotDoByName) {
  const std::string text = R"(
graph {
  %x = Placeholder() dtype=float32 shape=(2,2) : float32
  %u = Placeholder() dtype=float32 : float32
  %s = Placeholder() dtype=string shape=() : string
  %large = Placeholder() dtype=float32 shape=(1000) : float32
  %c = Placeholder() dtype=complex64 shape=() : complex64
  %product = MatMul(%x, %x) : float32
  %unknown = Neg(%u) : float32
  %sum = AddV2(%large, %large) : float32
  %length = StringLength(%s) : int32
  %turned = Neg(%c) : complex64
  %odd = Frobnicate(%x) : float32
  %lost = StatelessWhile(%x) cond=@nowhere body=@nowhere : (float32)
  %y = Neg(%x) : float32
}
)";
  const auto why = [&](const std::string& feed, const std::string& fetch,
                       const AheadOptions& options = {}) {
    return std::string(CompileText(text, {feed}, {fetch}, options).status().message());
  };
  const auto works = CompileText(text, {"x"}, {"y"});
  SKIP_WITHOUT_COMPILER(works);
  ASSERT_TRUE(works.ok()) << works.status();
  EXPECT_TRUE(absl::StrContains(why("x", "product"), "product (MatMul) has no code of its own"))
      << why("x", "product");
  EXPECT_TRUE(absl::StrContains(why("u", "unknown"), "u, which is fed, is of a shape that is not"))
      << why("u", "unknown");
  EXPECT_TRUE(absl::StrContains(why("large", "sum"),
                                "sum (AddV2) handles tensors of shapes that are not known, or of "
                                "more than 256 elements"))
      << why("large", "sum");
  EXPECT_TRUE(
      absl::StrContains(why("x", "odd"), "needs the op Frobnicate, which is not registered"))
      << why("x", "odd");
  EXPECT_TRUE(absl::StrContains(why("x", "lost"), "function nowhere is not in the graph"))
      << why("x", "lost");
  EXPECT_TRUE(absl::StrContains(why("x", "x"), "x of shape [2,2] is fetched as it is fed"))
      << why("x", "x");
  EXPECT_TRUE(absl::StrContains(why("s", "length"), "s, which is fed, is of type string"))
      << why("s", "length");
  EXPECT_TRUE(absl::StrContains(why("c", "turned"), "is of type complex64")) << why("c", "turned");
  for (const char* const name : {"", "2x", "a b", "while", "x;", "static_cast", "int32_t"}) {
    AheadOptions options;
    options.name = name;
    EXPECT_TRUE(absl::StrContains(why("x", "y", options), "cannot name a function in C"));
  }
  for (const char* const name : {"main", "exp", "fmodf", "memcpy"}) {
    AheadOptions options;
    options.name = name;
    EXPECT_TRUE(absl::StrContains(why("x", "y", options), "that C programs have already")) << name;
  }
  AheadOptions options;
  options.cpu = "z80";
  EXPECT_TRUE(absl::StrContains(why("x", "y", options), "there is no processor 'z80'"))
      << why("x", "y", options);
}

// A structure has what is fed even if nothing is computed of it.
TEST(CompileAhead, TakesWhatNobodyReads) {
  const auto made = CompileText(R"(
graph {
  %unread = Placeholder() dtype=float64 shape=(2,2) : float64
  %x = Placeholder() dtype=float32 shape=() : float32
  %y = Neg(%x) : float32
}
)",
                                {"unread", "x"}, {"y"});
  SKIP_WITHOUT_COMPILER(made);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(RunInC(*made,
                   "  struct model_inputs in = {{{1, 2}, {3, 4}}, 5};\n"
                   "  struct model_outputs out;\n  int result = model(&in, &out);\n"
                   "  printf(\"%d %g\\n\", result, (double)out.y);\n  return 0;\n"),
            std::vector<std::string>{"0 -5"});
}

// Names of nodes are anything: those of members are C's, each once.
TEST(CompileAhead, MembersHaveNamesOfC) {
  const auto made = CompileText(R"(
graph {
  %"a/b" = Placeholder() dtype=float32 shape=() : float32
  %a.b = Placeholder() dtype=bool shape=(3) : bool
  %while = Placeholder() dtype=bfloat16 shape=(2,3) : bfloat16
  %y = Neg(%"a/b") : float32
  %n = LogicalNot(%a.b) : bool
  %w = Neg(%while) : bfloat16
}
)",
                                {"a/b", "a.b", "while"}, {"y", "n", "w"});
  SKIP_WITHOUT_COMPILER(made);
  ASSERT_TRUE(made.ok()) << made.status();
  for (const char* line : {"  float a_b;", "  bool a_b_[3];", "  uint16_t v_while[2][3];"})
    EXPECT_TRUE(absl::StrContains(made->header, line)) << made->header;
  EXPECT_EQ(RunInC(*made,
                   "  struct model_inputs in = {2, {true, false, true}, {{1, 2, 3}, {4, 5, 6}}};\n"
                   "  struct model_outputs out;\n  int result = model(&in, &out);\n"
                   "  printf(\"%d %g %d%d%d %d\\n\", result, (double)out.y, out.n[0], "
                   "out.n[1], out.n[2], out.w[1][2] == (6 | 0x8000));\n  return 0;\n"),
            std::vector<std::string>{"0 -2 010 1"});
}

bool CanBeMember(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  return tensor.has_value() && tensor.num_elements() > 0 && tensor.num_elements() <= 256 &&
         dtype != DType::kString && dtype != DType::kVariant && dtype != DType::kResource &&
         dtype != DType::kComplex64 && dtype != DType::kComplex128;
}

// The program with the shapes of what it is fed, where it leaves them open.
std::shared_ptr<const Program> WithShapes(const Program& program, const Feeds& feeds) {
  Function main = program.main();
  for (Node& node : main.nodes)
    for (const auto& [name, value] : feeds)
      if (node.kind() == OpKind::kPlaceholder && (name == node.name || name == node.name + ":0"))
        node.attrs.Set("shape", PartialShape(value.tensor().shape()));
  return ProgramBuilder(program).SetMain(std::move(main)).Build();
}

// Golden graphs that can be compiled so give the bits that sessions give.
TEST(CompileAhead, GoldenGraphsGiveTheBitsOfSessions) {
  const auto folders = golden::FindCases(test::SourcePath("tests/golden"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  constexpr size_t kEach = 7;  // of all cases; others than the last time, as the seed tells
  const char* const seed = std::getenv("GYRE_TEST_SEED");
  const char* const is_long = std::getenv("GYRE_TEST_LONG");
  const bool all = is_long != nullptr && *is_long != '\0';
  size_t number = seed == nullptr ? 0 : std::strtoul(seed, nullptr, 10);
  int compiled = 0, refused = 0;
  for (const std::string& folder : *folders) {
    if (!all && number++ % kEach != 0) continue;
    const auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    if (golden->is_model() || golden->load_error || !golden->init.empty() || golden->steps.empty())
      continue;
    const golden::Step& step = golden->steps[0];
    if (step.error || !step.targets.empty() || step.fetches.empty() || step.expect.empty() ||
        !std::ranges::all_of(step.expect, CanBeMember) ||
        !std::ranges::all_of(step.feeds,
                             [](const auto& feed) { return CanBeMember(feed.second.tensor()); }))
      continue;
    const auto loaded_program = LoadProgramFile(golden->graph_path());
    ASSERT_TRUE(loaded_program.ok()) << golden->id();
    const auto program = WithShapes(**loaded_program, step.feeds);
    std::vector<std::string> names;
    std::vector<Tensor> inputs;
    for (const auto& [name, value] : step.feeds) {
      names.push_back(name);
      inputs.push_back(value.tensor());
    }
    const auto made = Compile(program, names, step.fetches);
    if (!made.ok()) {
      SKIP_WITHOUT_COMPILER(made);
      EXPECT_EQ(made.status().code(), absl::StatusCode::kUnimplemented)
          << golden->id() << ": " << made.status();
      ++refused;
      continue;
    }
    const auto session = Session::Create(program);
    ASSERT_TRUE(session.ok());
    const auto wanted = (*session)->Run(step.feeds, step.fetches, {}, {});
    ASSERT_TRUE(wanted.ok()) << golden->id() << ": " << wanted.status();
    const Loaded loaded(*made);
    ASSERT_TRUE(loaded.is_there()) << golden->id();
    std::vector<Tensor> outputs;
    for (const Tensor& tensor : *wanted)
      outputs.push_back(*Tensor::Make(tensor.dtype(), tensor.shape()));
    EXPECT_EQ(loaded.Call(inputs, outputs), 0) << golden->id();
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_TRUE(golden::SameBits(outputs[i], (*wanted)[i])) << golden->id() << ", output " << i;
    ++compiled;
  }
  std::printf("  %d compiled, %d refused\n", compiled, refused);
  EXPECT_GT(compiled, 0);
}

}  // namespace
}  // namespace gyre::testing
