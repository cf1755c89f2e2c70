// Models that TensorFlow exported: what they promise, what they keep, what they are refused.
#include "gyre/core/saved_model.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "bundle/reader.h"
#include "gyre/gyre.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Case(const std::string& name) { return test::SourcePath("tests/saved_models/" + name); }

std::unique_ptr<SavedModel> Load(const std::string& path, const SavedModelOptions& options = {}) {
  auto model = SavedModel::Load(path, options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

std::string ErrorOf(const absl::Status& status) { return std::string(status.message()); }

std::string LoadError(const std::string& path, absl::StatusCode code) {
  const absl::Status status = SavedModel::Load(path).status();
  EXPECT_EQ(status.code(), code) << status;
  return ErrorOf(status);
}

// A copy of a model that a test may damage.
class CopiedModel {
 public:
  explicit CopiedModel(const std::string& name) {
    fs::copy(Case(name), folder_.Path("copy"), fs::copy_options::recursive);
  }
  std::string Path(const std::string& relative = "model") const {
    return folder_.Path("copy/" + relative);
  }
  // Replaces bytes of a file by as many others.
  void Replace(const std::string& relative, const std::string& from, const std::string& to) const {
    std::string bytes = *ReadFile(Path(relative));
    size_t count = 0;
    for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at)) {
      bytes.replace(at, from.size(), to);
      ++count;
    }
    EXPECT_GT(count, 0);
    ASSERT_TRUE(WriteFile(Path(relative), {bytes}).ok());
  }

 private:
  TempFolder folder_;
};

TEST(SavedModel, SaysWhatItCanDo) {
  const auto model = Load(Case("asset_text/model"));
  ASSERT_NE(model, nullptr);
  EXPECT_THAT(model->tags(), ElementsAre("serve"));
  ASSERT_EQ(model->signatures().size(), 1);
  const SavedModel::Signature& read = model->signatures().at("read");
  EXPECT_EQ(read.inputs.at("times").dtype, DType::kInt32);
  EXPECT_EQ(read.inputs.at("times").shape, PartialShape::Scalar());
  EXPECT_EQ(read.outputs.at("text").dtype, DType::kString);
}

TEST(SavedModel, NamesItsVariablesAndTheirHandles) {
  const auto model = Load(Case("layers_three_signatures/model"));
  ASSERT_EQ(model->variables().size(), 2u);
  for (const SavedModel::Variable& variable : model->variables()) {
    EXPECT_EQ(variable.dtype, DType::kFloat);
    EXPECT_TRUE(variable.trainable);
    ASSERT_FALSE(variable.handles.empty()) << variable.name;
    EXPECT_TRUE((*model->session().ReadVariables({variable.name}))[0].has_value());
  }
  std::vector<std::string> untrained;
  const auto trained = Load(Case("train_step/model"));
  for (const SavedModel::Variable& variable : trained->variables()) {
    if (!variable.trainable) untrained.push_back(variable.name);
  }
  EXPECT_THAT(untrained, ElementsAre("count", "inner_speed", "into_speed", "out_speed"));
  const auto old = Load(Case("v1_simple_ref/model"));
  for (const SavedModel::Variable& reference : old->variables())
    EXPECT_THAT(reference.handles, ElementsAre()) << reference.name;
}

TEST(SavedModel, KeepsItsStateFromRunToRun) {
  const auto model = Load(Case("asset_text/model"));
  ASSERT_NE(model, nullptr);
  for (int32_t i = 1; i <= 3; ++i) {
    const auto out = model->Run("read", {{"times", Tensor::Scalar<int32_t>(0)}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(out->at("reads").scalar<int32_t>(), i);
  }
  const auto reads = model->session().ReadVariables({"reads"});
  ASSERT_TRUE(reads.ok()) << reads.status();
  EXPECT_EQ((*reads)[0].scalar<int32_t>(), 3);
}

TEST(SavedModel, MistakesOfCallersAreNamed) {
  const auto model = Load(Case("asset_text/model"));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(ErrorOf(model->Run("raed", {}).status()),
            "the model has no signature 'raed'; it has 'read'");
  EXPECT_EQ(ErrorOf(model->Run("read", {}).status()),
            "input 'times' of signature 'read' is missing");
  EXPECT_EQ(ErrorOf(model->Run("read", {{"tims", Tensor::Scalar<int32_t>(1)}}).status()),
            "signature 'read' has no input 'tims'; it has 'times'");
  EXPECT_EQ(ErrorOf(model->Run("read", {{"times", Tensor::Scalar(1.0f)}}).status()),
            "input 'times' of signature 'read' takes int32[], not float32[]");
}

TEST(SavedModel, LoadsMetaGraphsWithTheirCheckpoints) {
  const auto model = Load(Case("v1_meta_sharded/v1/model.meta"));
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->signatures().empty());
  const auto total = model->session().Run({{"n:0", Tensor::Scalar<int32_t>(0)}}, {"which:0"});
  ASSERT_TRUE(total.ok()) << total.status();
  EXPECT_EQ((*total)[0].scalar<std::string>(), "eins");
}

TEST(SavedModel, TagsChooseTheGraph) {
  EXPECT_NE(Load(Case("counter/model"), {.tags = {"serve"}, .session = {}}), nullptr);
  EXPECT_EQ(
      ErrorOf(SavedModel::Load(Case("counter/model"), {.tags = {"gpu"}, .session = {}}).status()),
      Case("counter/model/saved_model.pb") +
          ": the model has no graph with the tags [gpu]: there is [serve]");
}

// Its weights become variables of a graph: what comes out is the same, until they are trained.
TEST(SavedModel, CanBecomePartOfAGraphAndBeTrained) {
  const std::string path = Case("layers_three_signatures/model");
  const auto model = Load(path);
  ASSERT_NE(model, nullptr);
  const auto values = model->session().ReadVariables({"weight", "scale"});
  ASSERT_TRUE(values.ok()) << values.status();
  const SavedModel::Signature& power = model->signatures().at("power");

  Graph graph;
  GraphScope in(graph);
  const Variable weight("weight", (*values)[0]), scale("scale", (*values)[1]);
  const Value x = placeholder(DType::kFloat, {2, 3}),
              times = placeholder(DType::kInt32, PartialShape::Scalar());
  const Value h = import_graph(path, {power.outputs.at("h").tensor},
                               {{power.inputs.at("x").tensor, x},
                                {power.inputs.at("times").tensor, times},
                                {"weight", weight.handle()},
                                {"scale", scale.handle()}})[0];
  const Value loss = reduce_sum(h * h);
  const Operation train = Sgd({.learning_rate = 0.01}).minimize(loss, {weight, scale});
  GraphSession session(graph);
  session.initialize();

  const Tensor input = Tensor::FromValues<float>({1, 2, 3, -1, 0.5, 0}, Shape::Trusted({2, 3}));
  const Tensor iterations = Tensor::Scalar<int32_t>(3);
  const FeedList feeds = {{x, input}, {times, iterations}};
  const auto wanted = model->Run("power", {{"x", input}, {"times", iterations}});
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  const Tensor got = session.eval(h, feeds);
  for (int i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(got.values<float>()[i], wanted->at("h").values<float>()[i]) << i;

  const float before = session.eval(loss, feeds).scalar<float>();
  for (int i = 0; i < 5; ++i) (void)session.eval(std::vector<Value>(), feeds, {train});
  EXPECT_LT(session.eval(loss, feeds).scalar<float>(), before);
}

// What a model's own operation saves is a checkpoint like the one that it came with.
TEST(SavedModel, SavesItselfByItsOwnOperation) {
  const TempFolder folder;
  const auto model = Load(Case("counter/model"));
  ASSERT_NE(model, nullptr);
  const auto ran = model->Run("add", {{"x", Tensor::Vector<float>({1, 2})}});
  ASSERT_TRUE(ran.ok()) << ran.status();
  const Feeds feeds = {{"saver_filename:0", Tensor::Scalar(folder.Path("saved"))}};
  const auto saved = model->session().Run(feeds, {"StatefulPartitionedCall_3"});
  ASSERT_TRUE(saved.ok()) << saved.status();
  const auto bundle = BundleReader::Open(folder.Path("saved"), folder.path());
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const auto before = BundleReader::Open(model->checkpoint());
  EXPECT_EQ(bundle->Names(), before->Names());
  EXPECT_EQ(bundle->Read("total/.ATTRIBUTES/VARIABLE_VALUE")->scalar<float>(),
            before->Read("total/.ATTRIBUTES/VARIABLE_VALUE")->scalar<float>() + 3);
  // Runs that are confined cannot do that.
  EXPECT_TRUE(absl::IsPermissionDenied(
      model->session()
          .Run(feeds, {"StatefulPartitionedCall_3"}, {}, {.sandbox = folder.path()})
          .status()));
}

TEST(SavedModel, NoModelIsNotFound) {
  const TempFolder empty;
  EXPECT_THAT(LoadError(empty.path(), absl::StatusCode::kNotFound),
              HasSubstr("holds no SavedModel"));
  EXPECT_THAT(LoadError(empty.Path("x.meta"), absl::StatusCode::kNotFound), HasSubstr("x.meta"));
  EXPECT_THAT(LoadError(Case("README.md"), absl::StatusCode::kNotFound),
              HasSubstr("there is no model at"));
  empty.Write("saved_model.pbtxt", "");
  EXPECT_THAT(LoadError(empty.path(), absl::StatusCode::kUnimplemented), HasSubstr("text form"));
}

TEST(MalformedSavedModel, AssetsMustLieInTheModel) {
  const CopiedModel model("asset_text");
  model.Replace("model/saved_model.pb", "note.txt", "../x.txt");
  EXPECT_THAT(LoadError(model.Path(), absl::StatusCode::kPermissionDenied),
              HasSubstr("the asset '../x.txt' does not lie in the model's folder"));
  model.Replace("model/saved_model.pb", "../x.txt", "/etc/pwd");
  EXPECT_THAT(LoadError(model.Path(), absl::StatusCode::kPermissionDenied), HasSubstr("/etc/pwd"));
}

TEST(MalformedSavedModel, LinksMustNotLeadOutOfIt) {
  const TempFolder outside;
  for (const std::string name : {"saved_model.pb", "variables/variables.index",
                                 "variables/variables.data-00000-of-00001", "assets/note.txt"}) {
    const CopiedModel model("asset_text");
    const std::string path = model.Path("model/" + name);
    const std::string target = outside.Write("target", *ReadFile(path));
    fs::remove(path);
    fs::create_symlink(target, path);
    EXPECT_THAT(LoadError(model.Path(), absl::StatusCode::kPermissionDenied),
                HasSubstr("leads out of the folder"))
        << name;
  }
}

TEST(MalformedSavedModel, AMissingValueOrFileIsNamed) {
  const CopiedModel model("asset_text");
  fs::remove(model.Path("model/variables/variables.data-00000-of-00001"));
  EXPECT_THAT(LoadError(model.Path(), absl::StatusCode::kNotFound),
              HasSubstr("variables.data-00000-of-00001"));
  fs::remove(model.Path("model/variables/variables.index"));
  EXPECT_THAT(LoadError(model.Path(), absl::StatusCode::kNotFound),
              HasSubstr("has variables, but there is no "));
  const CopiedModel other("asset_text");
  fs::remove(other.Path("model/assets/note.txt"));
  EXPECT_THAT(LoadError(other.Path(), absl::StatusCode::kNotFound), HasSubstr("note.txt"));
}

// Whatever stands at a place of the file, loading ends in a model or in a status.
TEST(MalformedSavedModel, DamagedGraphsEndInAStatus) {
  const CopiedModel model("counter");
  const std::string path = model.Path("model/saved_model.pb");
  const std::string bytes = *ReadFile(path);
  for (size_t i = 0; i < bytes.size(); i += 97) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    ASSERT_TRUE(WriteFile(path, {damaged}).ok());
    const auto loaded = SavedModel::Load(model.Path());
    EXPECT_FALSE(absl::IsInternal(loaded.status())) << i << ": " << loaded.status();
    ASSERT_TRUE(WriteFile(path, {absl::string_view(bytes).substr(0, i)}).ok());
    EXPECT_FALSE(SavedModel::Load(model.Path()).ok() && i == 0);
  }
}

}  // namespace
}  // namespace gyre
