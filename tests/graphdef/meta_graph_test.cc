// MetaGraphs and SavedModels from their bytes: the graph is read apart from what stands around it.
#include "graphdef/meta_graph.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/registry.h"
#include "wire/saved_model.pb.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

wire::MetaGraphDef GraphOf(const std::string& node, const std::string& tag) {
  wire::MetaGraphDef def;
  def.mutable_meta_info_def()->add_tags(tag);
  wire::NodeDef& added = *def.mutable_graph_def()->add_node();
  added.set_name(node);
  added.set_op("NoOp");
  return def;
}

wire::SavedModel ModelOf(std::initializer_list<wire::MetaGraphDef> graphs) {
  wire::SavedModel model;
  model.set_saved_model_schema_version(1);
  for (const wire::MetaGraphDef& graph : graphs) *model.add_meta_graphs() = graph;
  return model;
}

TEST(MetaGraphs, PiecesOfAGraphAreOneGraph) {
  const std::string bytes =
      GraphOf("a", "x").SerializeAsString() + GraphOf("b", "y").SerializeAsString();
  const absl::StatusOr<MetaGraph> graph = ReadMetaGraph(bytes, Ops());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->tags, ::testing::ElementsAre("x", "y"));
  EXPECT_EQ(graph->program->main().nodes.size(), 2u);
}

TEST(MetaGraphs, AGraphThatIsNotChosenMayBeAnything) {
  wire::MetaGraphDef broken = GraphOf("a", "train");
  broken.mutable_graph_def()->mutable_node(0)->add_input("nowhere");
  const std::string bytes = ModelOf({broken, GraphOf("b", "serve")}).SerializeAsString();
  EXPECT_TRUE(ReadSavedModel(bytes, {"serve"}, Ops()).ok());
  const absl::Status status = ReadSavedModel(bytes, {"train"}, Ops()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere"));
}

TEST(MetaGraphs, EveryLengthThatIsCutShortIsNoticed) {
  const std::string whole = GraphOf("a", "serve").SerializeAsString();
  int malformed = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::Status status = ReadMetaGraph(whole.substr(0, size), Ops()).status();
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    malformed += absl::IsInvalidArgument(status);
  }
  EXPECT_EQ(malformed, static_cast<int>(whole.size()) - 2);  // empty, or the tags alone: no graph
}

}  // namespace
}  // namespace gyre
