// Random programs: gradients of programs with loops, branches, calls, recursion and lists are those
// of the same programs unrolled, and central differences, also of second order.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "grad/random_programs/check_program.h"
#include "grad/random_programs/distribution.h"
#include "grad/random_programs/generator.h"
#include "grad/random_programs/shrink.h"
#include "gtest/gtest.h"
#include "ir/text/printer.h"
#include "support/transcript.h"
#include "tensor/format.h"

namespace gyre::testing {
namespace {

constexpr int kPrograms = 200;
constexpr int kProgramsOfLongTest = 2000;
constexpr int kAllEnginesEvery = 8;  // programs
// Of seeds: so that those of one day are not those of the next.
constexpr uint64_t kSeedStep = 1'000'000'000;
constexpr int kProgressEvery = 500;
constexpr int kMaxShrinkTries = 1000;

// At which step something went wrong.
std::string StepOf(const Verdict& verdict) {
  return std::vector<std::string>(absl::StrSplit(verdict.why, ':'))[0];
}

std::string Show(const RandomProgram& program) {
  std::string text;
  const absl::StatusOr<Written> written = WriteStructured(program);
  if (!written.ok()) return std::string(written.status().message());
  for (size_t i = 0; i < program.feeds.size(); ++i) {
    absl::StrAppend(&text, "# ", ParamName(program, i), " = ", FormatTensor(program.feeds[i], -1),
                    "\n");
  }
  for (const Endpoint& y : written->ys)
    absl::StrAppend(&text, "# y: ", written->program->main().EndpointName(y), "\n");
  return text + PrintProgram(*written->program);
}

// The same mistake in a smaller program.
std::string ShowSmallest(const RandomProgram& program, const Verdict& verdict,
                         const CheckOptions& options) {
  const auto fails = [&](const RandomProgram& smaller) {
    const Verdict found = CheckProgram(smaller, options);
    return found.kind == Verdict::Kind::kWrong && StepOf(found) == StepOf(verdict);
  };
  const RandomProgram smallest = Shrink(program, fails, kMaxShrinkTries);
  return absl::StrCat(CheckProgram(smallest, options).why, "\n", Show(smallest));
}

// GYRE_TEST_SEED=<the seed of a program that fails> runs that program first.
TEST(RandomPrograms, HaveTheGradientsOfTheUnrolledProgramAndOfDifferences) {
  Distribution distribution;
  const int wanted = IsLongTest() ? kProgramsOfLongTest : kPrograms;
  uint64_t seed = TestSeed();
  std::cout << "GYRE_TEST_SEED=" << seed << "\n";
  for (int n = 0; n < wanted; seed += kSeedStep) {
    const RandomProgram program = MakeRandomProgram(seed);
    const CheckOptions options{.on_all_engines = n % kAllEnginesEvery == 0};
    const Verdict verdict = CheckProgram(program, options);
    if (verdict.kind == Verdict::Kind::kUnfit) {
      distribution.AddUnfit(verdict.why);
      continue;
    }
    if (++n % kProgressEvery == 0) std::cout << n << " programs" << std::endl;
    distribution.AddProgram(verdict.trace);
    if (verdict.kind == Verdict::Kind::kGood) continue;
    ADD_FAILURE() << "GYRE_TEST_SEED=" << seed << ": " << verdict.why
                  << "\nsmallest: " << ShowSmallest(program, verdict, options);
  }
  distribution.Print(std::cout);
  EXPECT_GE(distribution.ShareOfDataDependent(), 0.6);
}

// What lists hold is followed through functions that call each other; it once took time
// exponential in how many there are.
TEST(RandomPrograms, ManyRecursiveFunctionsTakeNoTime) {
  const Verdict verdict = CheckProgram(MakeRandomProgram(1'327'020'261'122), {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::kGood) << verdict.why;
}

}  // namespace
}  // namespace gyre::testing
