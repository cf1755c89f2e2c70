// Effects happen in the order in which the program states them.
#include "front/engines.h"

namespace gyre::testing {
namespace {

using Effects = OnEngine;
GYRE_ON_EACH_ENGINE(Effects);

TEST_P(Effects, PrintsComeInOrder) {
  for (int i = 0; i < 20; ++i) print("line {}", i);
  std::string want;
  for (int i = 0; i < 20; ++i) absl::StrAppend(&want, "line ", i, "\n");
  EXPECT_EQ(Printed(), want);
}

TEST_P(Effects, PrintsInLoopsAndBranchesComeInOrder) {
  const Value n = Int();
  print("start");
  for_range(n, [](Value i) {
    cond(equal(i % 2, 0), [&] { print("even", i); }, [&] { print("odd", i); });
    for_range(i, [&](Value j) { print("  {} of {}", j, i); });
  });
  print("end");
  EXPECT_EQ(Printed({{n, I(3)}}),
            "start\neven 0\nodd 1\n  0 of 1\neven 2\n  0 of 2\n  1 of 2\nend\n");
}

TEST_P(Effects, ReadsSeeTheWritesBeforeThemAndNoLaterOnes) {
  Variable v("v", 1);
  const Value before = v.read();
  v.assign(v * 10);
  const Value between = v + 0;
  v.assign_add(5);
  const Value after = v.read();
  GraphSession session(graph, options());
  session.initialize();
  const std::vector<Tensor> seen = session.run({before, between, after});
  EXPECT_EQ(seen[0].scalar<int32_t>(), 1);
  EXPECT_EQ(seen[1].scalar<int32_t>(), 10);
  EXPECT_EQ(seen[2].scalar<int32_t>(), 15);
}

TEST_P(Effects, UpdatesInLoopsHappenIterationByIteration) {
  Variable v("v", 1);
  const Value seen = for_range(
      5,
      [&](Value i, Value seen) {
        v.assign(v * 2 + i);
        return seen + v;
      },
      0);
  const Value last = v.read();
  int want_v = 1, want_seen = 0;
  for (int i = 0; i < 5; ++i) want_seen += want_v = want_v * 2 + i;
  GraphSession session(graph, options());
  session.initialize();
  const std::vector<Tensor> results = session.run({seen, last});
  EXPECT_EQ(results[0].scalar<int32_t>(), want_seen);
  EXPECT_EQ(results[1].scalar<int32_t>(), want_v);
}

TEST_P(Effects, UpdatesInTheBranchTakenAreSeenAfterIt) {
  const Value x = Int();
  Variable v("v", 10);
  cond(x > 0, [&] { v.assign_add(x); }, [&] { v.assign(0); });
  const Value y = v.read();
  EXPECT_EQ(Eval<int32_t>(y, {{x, I(5)}}), 15);
  EXPECT_EQ(Eval<int32_t>(y, {{x, I(-5)}}), 0);
}

TEST_P(Effects, UpdatesInFunctionsAreSeenAfterTheCall) {
  Variable v("v", 0);
  const auto add = function("add", [&](Value x) {
    v.assign_add(x);
    return v.read();
  });
  const Value first = add(3);
  v.assign(v * 100);
  const Value second = add(4);
  EXPECT_EQ(Eval<int32_t>(first * 0 + second), 304);
}

TEST_P(Effects, AHandleThatIsAnArgumentMayBeAnyVariable) {
  Variable v("v", 0), w("w", 0);
  const auto bump =
      function("bump", [](Value handle, Value by) { op::AssignAddVariableOp(handle, by); });
  v.assign(v + 1);
  bump(v.handle(), 10);
  w.assign(v * 2);
  bump(w.handle(), v * 0 + 100);
  EXPECT_EQ(Eval<int32_t>(v * 1000 + w), 11122);
}

TEST_P(Effects, AConditionMayHaveEffects) {
  Variable v("v", 0);
  const Value n = while_loop(
      [&](Value) {
        v.assign_add(1);
        return v < 4;
      },
      [](Value n) { return n + 1; }, 0);
  EXPECT_EQ(Eval<int32_t>(n), 3);
}

TEST_P(Effects, RunRunsAllEffectsAndEvalThoseThatAreNeeded) {
  Variable v("v", 0), w("w", 0);
  v.assign_add(1);
  const Value x = v.read();
  w.assign_add(1);
  print("ran");
  GraphSession session(graph, options());
  session.initialize();
  EXPECT_EQ(session.eval(x).scalar<int32_t>(), 1);
  session.run({});
  EXPECT_EQ(session.run({x})[0].scalar<int32_t>(), 3);
  EXPECT_EQ(session.eval(w.read()).scalar<int32_t>(), 3);  // needs the update before it
}

TEST_P(Effects, ControlDependenciesOrderWhatNothingElseOrders) {
  Variable v("v", 1), w("w", 1);
  const Operation update = v.assign(7);
  Value inside;
  {
    const auto after = control_dependencies({update});
    inside = cond(Value(true), [] { return 1; }, [] { return 2; });
  }
  const Node& node = graph.program()->main().node(inside.node());
  EXPECT_EQ(node.control_inputs, (std::vector<NodeId>{update.node()}));
  // Inside a body, an operation of outside holds up the construct.
  const Value outer = cond(
      Value(true),
      [&] {
        const auto after = control_dependencies({update, v.read()});
        return identity(3);
      },
      [] { return 2; });
  const Node& structured = graph.program()->main().node(outer.node());
  EXPECT_EQ(structured.control_inputs, (std::vector<NodeId>{update.node()}));
}

TEST_P(Effects, DevicesReachIntoBodies) {
  const auto on = device("/cpu:0");
  const Value y = for_range(2, [](Value i, Value s) { return s + i; }, 0);
  const auto program = graph.program();
  EXPECT_EQ(program->main().node(y.node()).device, "/cpu:0");
  for (const auto& [name, function] : program->functions()) {
    for (const Node& node : function->nodes) {
      EXPECT_TRUE(node.device == "/cpu:0" || node.op_name != "AddV2") << name;
    }
  }
}

TEST_P(Effects, ReadsCommuteAndOtherVariablesAreIndependent) {
  Variable v("v", 1), w("w", 1);
  const auto controls = [&](const Value& value) {
    return graph.program()->main().node(value.node()).control_inputs;
  };
  const Value a = v.read(), b = v.read();
  EXPECT_TRUE(controls(a).empty() && controls(b).empty());
  const Operation write = v.assign(2);
  EXPECT_EQ(graph.program()->main().node(write.node()).control_inputs,
            (std::vector<NodeId>{a.node(), b.node()}));
  EXPECT_TRUE(controls(w.read()).empty());
  EXPECT_EQ(controls(v.read()), (std::vector<NodeId>{write.node()}));
  // A loop that touches v alone is ordered with v alone.
  const Value loop = for_range(2, [&](Value, Value s) { return s + v; }, 0);
  EXPECT_EQ(controls(loop), (std::vector<NodeId>{write.node()}));
}

TEST_P(Effects, AssertionsStopWhatComesAfterThem) {
  const Value x = Int();
  Variable v("v", 0);
  assert_that(x > 0, "x must be positive, but is", x);
  print("x is {}", x);
  GraphSession session(graph, options());
  session.initialize();
  ExpectContains(ErrorOf([&] { session.run({}, {{x, I(-1)}}); }), "x must be positive");
  EXPECT_EQ(Printed({{x, I(1)}}), "x is 1\n");
  ExpectContains(ErrorOf([&] { assert_that(x, "no"); }), "must be a bool, not int32");
}

}  // namespace
}  // namespace gyre::testing
