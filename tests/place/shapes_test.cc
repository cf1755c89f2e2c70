// The shapes that conditionals, loops and their gradients take when they are cut, as text: each
// file of partitions/ has a program and what its devices run. Its first lines say what is shown,
// and what is cut:
//
//   A conditional whose branches stand on two devices.
//   cut cpu:2 y             or: cut cpu:2 gradient y x
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "grad/gradients.h"
#include "place/cutting.h"
#include "session/names.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre::testing {
namespace {

constexpr char kProgram[] = "\n--- program\n", kParts[] = "--- parts";

struct Golden {
  std::string devices;
  std::vector<std::string> wanted;  // what to fetch; or "gradient", of what, with respect to what
  std::string program, parts;
};

Golden ReadGolden(const std::string& name) {
  Golden golden;
  const absl::StatusOr<std::string> file =
      ReadFile(test::SourcePath(absl::StrCat("tests/place/partitions/", name)));
  EXPECT_TRUE(file.ok()) << file.status();
  const std::string text = file.value_or("");
  const size_t program = text.find(kProgram), parts = text.find(kParts);
  EXPECT_NE(program, std::string::npos);
  EXPECT_NE(parts, std::string::npos);
  if (parts == std::string::npos || program == std::string::npos) return golden;
  const std::string head = text.substr(0, program);
  golden.wanted = absl::StrSplit(head.substr(head.rfind('\n') + 1), ' ');
  EXPECT_GE(golden.wanted.size(), 3u);
  golden.devices = golden.wanted[1];
  golden.wanted.erase(golden.wanted.begin(), golden.wanted.begin() + 2);
  golden.program =
      text.substr(program + sizeof(kProgram) - 1, parts - program - sizeof(kProgram) + 1);
  golden.parts = text.substr(parts + sizeof(kParts) - 1);
  return golden;
}

// The program, and its signature.
std::pair<std::shared_ptr<const Program>, RunSignature> Wanted(const Golden& golden) {
  std::shared_ptr<const Program> program = Parse(golden.program);
  RunSignature signature;
  if (golden.wanted[0] != "gradient") {
    signature = *MainNames(*program).FindSignature({}, golden.wanted, {});
    return {program, signature};
  }
  GradientRequest request;
  request.ys = {*MainNames(*program).FindEndpoint(golden.wanted[1])};
  request.xs = {*MainNames(*program).FindEndpoint(golden.wanted[2])};
  const absl::StatusOr<GradientResult> gradients = DenseGradients(program, request);
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  signature.fetches = {gradients->gradients[0]->values};
  return {gradients->program, signature};
}

class Partitions : public ::testing::TestWithParam<const char*> {};

TEST_P(Partitions, AreAsWritten) {
  const Golden golden = ReadGolden(absl::StrCat(GetParam(), ".txt"));
  ASSERT_FALSE(golden.wanted.empty());
  const auto [program, signature] = Wanted(golden);
  const auto cut = place::Cut(*program, signature, *ParseDeviceSet(golden.devices), {});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(TextOfParts(*cut), golden.parts);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Partitions,
                         ::testing::Values("cond_two", "while_two", "while_three", "nested",
                                           "while_in_cond", "cond_two_gradient",
                                           "while_two_gradient", "nested_gradient",
                                           "while_in_cond_gradient"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre::testing
