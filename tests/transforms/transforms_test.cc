// Every .gyre file below this folder, a test each: what a transformation makes of a program is what
// the file says (text_case.h has the format). `transforms_test --update` writes what comes out into
// the files, those that --gtest_filter selects.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"
#include "transforms/text_case.h"
#include "transforms/transform.h"

namespace gyre::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

absl::StatusOr<TextCase> ReadTextCase(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseTextCase(text);
}

// What the file expects and what comes out; the latter is what it says afterwards if `update`.
struct Compared {
  std::string expected, comes_out;
};
absl::StatusOr<Compared> Compare(const std::string& path, bool update) {
  GYRE_ASSIGN_OR_RETURN(const TextCase text_case, ReadTextCase(path));
  GYRE_ASSIGN_OR_RETURN(const std::string comes_out, ComesOut(text_case));
  if (!update || comes_out == text_case.expected) return Compared{text_case.expected, comes_out};
  GYRE_RETURN_IF_ERROR(WriteFile(path, {TextOf(text_case, comes_out)}));
  return Compared{comes_out, comes_out};
}

class FileTest : public ::testing::Test {
 public:
  FileTest(std::string path, bool update) : path_(std::move(path)), update_(update) {}

  void TestBody() override {
    const absl::StatusOr<Compared> compared = Compare(path_, update_);
    ASSERT_TRUE(compared.ok()) << path_ << ": " << compared.status();
    EXPECT_EQ(compared->comes_out, compared->expected)
        << path_ << ": something else comes out; if it is right, transforms_test --update";
  }

 private:
  const std::string path_;
  const bool update_;
};

fs::path Root() { return test::SourcePath("tests/transforms"); }

// In order.
std::vector<fs::path> Files() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(Root())) {
    if (entry.path().extension() == ".gyre") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void RegisterFiles(bool update) {
  for (const fs::path& path : Files()) {
    const std::string suite = path.parent_path().lexically_relative(Root());
    ::testing::RegisterTest(suite.c_str(), path.stem().c_str(), nullptr, nullptr, path.c_str(), 1,
                            [path = path.string(), update]() -> ::testing::Test* {
                              return new FileTest(path, update);
                            });
  }
}

constexpr char kDoubled[] = R"(// simplify feed=x fetch=y
graph {
  %x = Placeholder() : float32
  %n = Neg(%x) : float32
  %y = Neg(%n) : float32
}
----
)";
constexpr char kComesOut[] = R"(graph {
  %x = Placeholder() : float32
  %n = Neg(%x) : float32
}
fetch y is x
)";

TEST(TextCases, AreFound) { EXPECT_GT(Files().size(), 100u); }

TEST(TextCases, AWrongExpectationFailsAndIsUpdated) {
  const test::TempFolder folder;
  const std::string path = folder.Write("case.gyre", absl::StrCat(kDoubled, "unchanged\n"));
  const auto wrong = Compare(path, /*update=*/false);
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  EXPECT_EQ(wrong->expected, "unchanged\n");
  EXPECT_NE(wrong->comes_out, wrong->expected);
  ASSERT_TRUE(Compare(path, /*update=*/true).ok());
  const auto updated = Compare(path, /*update=*/false);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->comes_out, updated->expected);
  EXPECT_EQ(*ReadFile(path), absl::StrCat(kDoubled, kComesOut));
}

std::string Mistake(const std::string& text) {
  const test::TempFolder folder;
  const auto compared = Compare(folder.Write("case.gyre", text), /*update=*/true);
  return compared.ok() ? "none" : std::string(compared.status().message());
}

TEST(TextCases, WhatIsNoCaseFailsAlsoWhenItIsUpdated) {
  const std::string program = "graph {\n  %x = Placeholder() : float32\n}\n----\n";
  EXPECT_EQ(Mistake("// prune fetch=x\n" + program), "none");
  EXPECT_THAT(Mistake(program), HasSubstr("the first line must say what is done"));
  EXPECT_THAT(Mistake("// prune fetch\n" + program), HasSubstr("'fetch' is not KEY=VALUE"));
  EXPECT_THAT(Mistake("// prune fetch=x fetch=y\n" + program), HasSubstr("is there twice"));
  EXPECT_THAT(Mistake("// prume fetch=x\n" + program),
              HasSubstr("there is no transformation 'prume'"));
  EXPECT_THAT(Mistake("// prune fetches=x\n" + program),
              HasSubstr("prune has no option 'fetches'"));
  EXPECT_THAT(Mistake("// prune fetch=y\n" + program), HasSubstr("the graph has no op 'y'"));
  EXPECT_THAT(Mistake("// prune fetch=x\ngraph {}\n"), HasSubstr("there is no line ----"));
  EXPECT_THAT(Mistake("// prune\ngraph {\n----\n"), HasSubstr("line 3, column 1: expected a node"));
}

}  // namespace

}  // namespace gyre::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const bool update = argc == 2 && std::string(argv[1]) == "--update";
  if (argc > 1 && !update) {
    std::cerr << "usage: transforms_test [--update] [--gtest_filter=FOLDER.CASE]\n";
    return 2;
  }
  gyre::testing::RegisterFiles(update);
  return RUN_ALL_TESTS();
}
