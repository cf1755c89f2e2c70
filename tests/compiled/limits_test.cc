// The code generator where the process has no memory left, and where nobody waits for it any more.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "base/env.h"
#include "base/fork.h"
#include "base/work.h"
#include "compiled/library.h"
#include "gtest/gtest.h"
#include "ops/registry.h"

namespace gyre::compiled {
namespace {

// x = sin(x + x), a hundred times over, until it is false.
Region LongRegion(const ScalarCode& add, const ScalarCode& sine, const ScalarCode& not_zero) {
  Region region;
  region.name = "long";
  region.cells = {{.element_bytes = 4}, {.element_bytes = 4}, {.element_bytes = 1}};
  region.PlaceCells();
  for (int i = 0; i < 100; ++i) {
    region.instructions.push_back({.action = Action::kScalar,
                                   .code = &add,
                                   .inputs = {0, 0},
                                   .is_last = {false, false},
                                   .outputs = {1},
                                   .live = {0}});
    region.instructions.push_back({.action = Action::kScalar,
                                   .code = &sine,
                                   .inputs = {1},
                                   .is_last = {false},
                                   .outputs = {0},
                                   .live = {1}});
  }
  region.instructions.push_back({.action = Action::kScalar,
                                 .code = &not_zero,
                                 .inputs = {0},
                                 .is_last = {false},
                                 .outputs = {2},
                                 .live = {0}});
  region.instructions.push_back(
      {.action = Action::kLeave, .inputs = {2}, .is_last = {false}, .live = {0, 2}});
  region.instructions.push_back({.action = Action::kAgain, .targets = {0}, .live = {0}});
  region.starts = {0};
  return region;
}

const ScalarCode& CodeOf(const std::string& op, const AttrMap& attrs) {
  Node node;
  node.name = op;
  node.op_name = op;
  node.op = Ops().Find(op);
  node.attrs = attrs;
  node.signature = *ResolveSignature(*node.op, node.attrs);
  return *Ops().MakeKernel(node)->scalar;
}

// Bytes of addresses that the process uses. Allocates nothing.
rlim_t AddressesInUse() {
  char text[64] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (read(file, text, sizeof(text) - 1) <= 0) std::_Exit(14);
  close(file);
  return std::strtoull(text, nullptr, 10) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

void LimitAddresses(rlim_t bytes) {
  const rlimit limit = {bytes, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(10);
}

// For a process of its own: compiles with `left` bytes of addresses and nothing in the heap. Ends
// it with 0 if that succeeds, 1 if memory is said to be missing, more if anything else happens, or
// if it does not succeed later, when there is memory again.
[[noreturn]] void CompileWith(rlim_t left) {
  const NoFork no_fork;
  const Region region =
      LongRegion(CodeOf("AddV2", {{"T", DType::kFloat}}), CodeOf("Sin", {{"T", DType::kFloat}}),
                 CodeOf("Cast", {{"SrcT", DType::kFloat}, {"DstT", DType::kBool}}));
  if (!CompileRegion(region).ok()) std::_Exit(11);  // opens the library
  LimitAddresses(AddressesInUse());
  std::vector<void*> blocks(1 << 20);
  size_t held = 0;
  for (size_t size = 1 << 20; size >= 16; size /= 2)
    while (held < blocks.size() && (blocks[held] = std::malloc(size)) != nullptr) ++held;
  LimitAddresses(AddressesInUse() + left);
  int outcome = 0;
  try {
    const auto code = CompileRegion(region);
    if (!code.ok()) outcome = code.status().code() == absl::StatusCode::kResourceExhausted ? 1 : 12;
  } catch (const std::bad_alloc&) {  // of the text that would say so
    outcome = 1;
  }
  LimitAddresses(RLIM_INFINITY);
  while (held > 0) std::free(blocks[--held]);
  const auto again = CompileRegion(region);
  if (!again.ok()) std::_Exit(13);
  uint64_t cells[3] = {0x3f800000, 0, 0};
  int64_t iteration = 0;
  Frame frame = {.cells = cells, .iterations = &iteration};
  Frame* const run = &frame;
  frame.look = [](void*, uint32_t) { return false; };
  (void)(*again)->Run(0, *run);
  std::_Exit(outcome);
}

TEST(CodeGeneratorMemory, IsThereOrSaidToBeMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const rlim_t left : {0, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24}) {
    const auto lives = [](int status) {
      return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 1);
    };
    EXPECT_EXIT(CompileWith(left), lives, "") << left;
  }
  EXPECT_EXIT(CompileWith(1 << 24), ::testing::ExitedWithCode(0), "");
}

// Tells the time of a run's deadline from the look number `late` on.
class LookClock final : public Clock {
 public:
  explicit LookClock(int64_t late) : late_(late) {}
  int64_t NowNanos() const override { return ++looks_ >= late_ ? 2 : 0; }
  int64_t looks() const { return looks_; }

 private:
  const int64_t late_;
  mutable int64_t looks_ = 0;
};

TEST(CodeGenerator, LooksOftenWhetherItIsToStop) {
  const NoFork no_fork;
  const Region region =
      LongRegion(CodeOf("AddV2", {{"T", DType::kFloat}}), CodeOf("Sin", {{"T", DType::kFloat}}),
                 CodeOf("Cast", {{"SrcT", DType::kFloat}, {"DstT", DType::kBool}}));
  const auto compile = [&](const LookClock& clock) {
    Cancellation cancellation(/*deadline_nanos=*/1, clock);
    const WorkLimit limit(&cancellation);
    return CompileRegion(region).status();
  };
  const LookClock never(INT64_MAX);
  ASSERT_TRUE(compile(never).ok());
  EXPECT_GT(never.looks(), 50);
  const LookClock soon(20);
  const absl::Status status = compile(soon);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_NE(status.message().find("while compiling the program"), std::string::npos) << status;
  EXPECT_LT(soon.looks(), 25);
}

}  // namespace
}  // namespace gyre::compiled
