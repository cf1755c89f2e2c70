// Graphs of sessions: nothing runs because of where it stands, and names are those of the peer.
#include "front/engines.h"
#include "front/graph_state.h"
#include "front/import_program.h"
#include "front/session_names.h"

namespace gyre::testing {
namespace {

using internal::SessionNames;

TEST(SessionNames, TakenNamesGetSuffixesWhateverTheirCase) {
  SessionNames names;
  EXPECT_EQ(names.Claim("Add"), "Add");
  EXPECT_EQ(names.Claim("add"), "add_1");
  EXPECT_EQ(names.Claim("add_1"), "add_1_1");
  EXPECT_EQ(names.Claim("add"), "add_2");
  EXPECT_EQ(names.Claim("free", /*take=*/false), "free");
  EXPECT_EQ(names.Claim("free"), "free");
}

TEST(SessionNames, ScopesStandInFront) {
  SessionNames names;
  names.set_scope("a/b");
  EXPECT_EQ(names.Claim("x"), "a/b/x");
  EXPECT_EQ(names.ClaimAbsolute("x"), "x");
  names.set_scope("");
  EXPECT_EQ(names.Claim("a/b/x"), "a/b/x_1");
}

TEST(SessionNames, DefaultsAreThoseOfFunctions) {
  EXPECT_EQ(SessionNames::DefaultName("RealDiv"), "truediv");
  EXPECT_EQ(SessionNames::DefaultName("Pack"), "stack");
  EXPECT_EQ(SessionNames::DefaultName("Sum"), "Sum");
}

class SessionRules : public OnEngine {
 protected:
  SessionRules() { graph.state()->FollowSessionRules(); }
};
GYRE_ON_EACH_ENGINE(SessionRules);

TEST_P(SessionRules, EffectsHaveNoOrderOfTheirOwn) {
  Variable v("v", 1);
  const Operation write = v.assign(5);
  const Value read = v.read();
  const auto& nodes = graph.program()->main().nodes;
  EXPECT_TRUE(nodes[read.node()].control_inputs.empty());
  GraphSession session(graph, options());
  session.initialize();
  EXPECT_EQ(session.eval(read).scalar<int32_t>(), 1);  // the write has not run
  Value after;
  {
    const auto scope = control_dependencies({write});
    after = v.read();
  }
  EXPECT_EQ(session.eval(after).scalar<int32_t>(), 5);
}

TEST_P(SessionRules, ConstantsAreNamedAfterTheInputsThatTheyAre) {
  const Value x = placeholder(DType::kFloat, PartialShape::Scalar(), "x");
  const Value y = x + 1.0f;
  EXPECT_EQ(y.operation().name(), "Add");
  EXPECT_EQ(graph.program()->main().node(y.node() - 1).name, "Add/y");
  EXPECT_EQ((x + 1.0f).operation().name(), "Add_1");
}

TEST_P(SessionRules, BodiesOfFunctionsKeepTheOrderOfThePrograms) {
  const internal::ProgramRules rules(graph.state());
  Variable v("v", 1);
  v.assign(7);
  const Value read = v.read();
  EXPECT_FALSE(graph.program()->main().node(read.node()).control_inputs.empty());
}

}  // namespace
}  // namespace gyre::testing
