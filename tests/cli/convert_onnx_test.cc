// `gyre convert` to a model of ONNX: graphs, SavedModels and models of ONNX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/gyre.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace gyre::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Collatz() { return test::SourcePath("tests/golden/while_v1/collatz/graph.pb"); }

TEST(ConvertToOnnx, AGraphIsAModelOfWhatIsFetched) {
  const test::TempFolder folder;
  const std::string path = folder.Path("collatz.onnx");
  const Ran ran = Gyre({"convert", Collatz(), path, "--fetch", "k,mx"});
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, "wrote " + path + "\n");
  const Ran graph = Gyre({"run", Collatz(), "--feed", "s=27", "--fetch", "k,mx"});
  const Ran model = Gyre({"run", path, "--feed", "s=27", "--fetch", "k,mx"});
  EXPECT_EQ(graph.err, "");
  EXPECT_EQ(model.out, graph.out);
}

TEST(ConvertToOnnx, ASignatureKeepsItsNamesAndValues) {
  const test::TempFolder folder;
  const std::string path = folder.Path("model.onnx");
  const std::string model = test::SourcePath("tests/saved_models/keras_lstm/model");
  const Ran ran = Gyre({"convert", model, path});
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.code, 0);
}

TEST(ConvertToOnnx, AModelOfOnnxKeepsItsNames) {
  const test::TempFolder folder;
  const std::string path = folder.Path("again.onnx");
  const std::string model = test::SourcePath("tests/golden_onnx/test_loop11/model.onnx");
  EXPECT_EQ(Gyre({"convert", model, path}).err, "");
  EXPECT_EQ(Gyre({"show", path, "--summary"}).code, 0);
  EXPECT_THAT(Gyre({"show", path}).out, HasSubstr("res_scan"));
}

TEST(ConvertToOnnx, MistakesAreNamed) {
  const test::TempFolder folder;
  const std::string path = folder.Path("model.onnx");
  EXPECT_THAT(Gyre({"convert", Collatz(), folder.Path("graph.pb"), "--fetch", "x"}).err,
              HasSubstr("--fetch says what a model of ONNX is to hold: end its name with .onnx"));
  EXPECT_THAT(Gyre({"convert", Collatz(), path, "--signature", "x"}).err,
              HasSubstr("--signature is for models"));
  EXPECT_THAT(Gyre({"convert", Collatz(), path, "--fetch", "there_is_none"}).err,
              HasSubstr("there_is_none"));
  EXPECT_THAT(
      Gyre({"convert", test::SourcePath("tests/golden/functions/factorial_if/graph.pb"), path}).err,
      HasSubstr("calls itself, which ONNX has no form for"));
}

}  // namespace
}  // namespace gyre::cli
