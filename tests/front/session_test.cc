// GraphSession follows a graph that grows; variables; generated ops; the seam for transforms.
#include "front/engines.h"
#include "front/graph_state.h"
#include "ir/builder.h"
#include "ir/verifier.h"
#include "ops/registry.h"

namespace gyre::testing {
namespace {

using Sessions = OnEngine;
GYRE_ON_EACH_ENGINE(Sessions);

TEST_P(Sessions, VariablesSurviveWhenTheGraphGrows) {
  Variable v("v", 1);
  const Operation add = v.assign_add(1);
  GraphSession session(graph, options());
  session.initialize();
  session.eval({}, {}, {add});
  Variable w("w", v * 100);
  session.initialize();  // w alone
  EXPECT_EQ(session.eval({v.handle(), w.read()}, {})[1].scalar<int32_t>(), 300);
}

TEST_P(Sessions, AnInitialValueMayReadOtherVariables) {
  Variable v("v", random_uniform({}) * 0 + 3);
  Variable w("w", cond(v > 2, [&] { return v * 2; }, [&] { return v * 3; }));
  Variable u("u", w + v);
  GraphSession session(graph, options());
  session.initialize();
  EXPECT_EQ(session.eval(u.read()).scalar<float>(), 9);
}

TEST_P(Sessions, VariablesMustBeInitialised) {
  Variable v("v", 1), other("v", 2);
  EXPECT_EQ(other.name(), "v_1");
  GraphSession session(graph, options());
  ExpectContains(ErrorOf([&] { session.eval(v.read()); }), "Could not find variable v");
  session.eval({}, {}, {graph.initializer()});
  EXPECT_EQ(session.eval(v + other).scalar<int32_t>(), 3);
}

TEST_P(Sessions, AVariableIsMadeOutsideOfBodies) {
  const std::string line = Here(1);
  const auto make = [](Value) { Variable v("v", 0); };
  const std::string message = ErrorOf([&] { for_range(2, make); });
  ExpectContains(message, "variable 'v' cannot be made in the body of loop 'for' at " + Here(-1));
  ExpectContains(message, "use it here\n  at " + line);
  ExpectContains(ErrorOf([] { for_range(2, [](Value) { Float(); }); }),
                 "a placeholder can only be made in the main graph");
}

TEST_P(Sessions, CallablesRunWhatTheGraphWas) {
  const Value x = Float();
  const Value y = x * 2;
  GraphSession session(graph, options());
  const auto twice = session.prepare({y}, {x});
  const Value z = y + 1;
  EXPECT_EQ(twice({F(4)})[0].scalar<float>(), 8);
  EXPECT_EQ(session.eval(z, {{x, F(4)}}).scalar<float>(), 9);
  ExpectContains(ErrorOf([&] { twice({I(4)}); }), "takes float32, but is fed int32");
}

TEST_P(Sessions, OnlyValuesOfTheMainGraphAreFetched) {
  Value leaked;
  for_range(2, [&](Value i) { leaked = i; });
  GraphSession session(graph, options());
  ExpectContains(ErrorOf([&] { session.eval(leaked); }), "must be a value of the main graph");
}

TEST_P(Sessions, ProgramsAreSound) {
  const Value n = Int();
  Variable v("v", 0);
  for_range(n, [&](Value i) { cond(i > 1, [&] { v.assign_add(i); }, [] { print("no"); }); });
  const absl::Status status = Verify(*graph.program(), Dialect::kStructured);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(graph.program(), graph.program());
}

TEST_P(Sessions, EveryOpHasAFunction) {
  const Value x = constant({{3.0f, 1.0f, 2.0f}});
  const op::TopKV2Result top = op::TopKV2(x, 2, {.sorted = true});
  EXPECT_EQ(EvalVector<float>(top.values), (std::vector<float>{3, 2}));
  EXPECT_EQ(EvalVector<int32_t>(top.indices), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(EvalVector<float>(op::MatMul(x, x, {.transpose_b = true})), (std::vector<float>{14}));
  EXPECT_EQ(EvalVector<int64_t>(op::Cast(x, DType::kInt64)), (std::vector<int64_t>{3, 1, 2}));
  EXPECT_EQ(op::Split(1, x, 3).size(), 3u);
  EXPECT_EQ(Eval<std::string>(op::StringJoin({"a", "b"}, {.separator = "-"})), "a-b");
  EXPECT_EQ(EvalVector<float>(op::ConcatV2({x, x}, 0)).size(), 6u);
}

// What a gradient does: appends nodes, and makes a loop return more.
std::shared_ptr<const Program> WithOneMoreNode(const std::shared_ptr<const Program>& base,
                                               Endpoint x) {
  FunctionBuilder main(Ops(), base->main());
  EXPECT_TRUE(main.Add1("Square", {x}, {}, {.name = "appended"}).ok());
  ProgramBuilder program(*base);
  program.SetMain(main.Build());
  return program.Build();
}

TEST_P(Sessions, AScopeGoesOnWithWhatATransformMadeOfIt) {
  const Value x = placeholder(DType::kFloat, {2});
  const Value loop = for_range(3, [](Value, Value x) { return x * 2; }, x);
  const internal::ScopePtr& scope = graph.state()->main();
  const auto base = scope->AsProgram();
  const auto transformed = WithOneMoreNode(base, {loop.node(), loop.slot()});
  const NodeId appended = transformed->main().FindNode("appended")->id;
  scope->Replace(*base, *transformed);
  const Value squared = scope->ValueAt({appended, 0});
  EXPECT_EQ(squared.shape().ToString(), "[2]");
  EXPECT_EQ(EvalVector<float>(squared + x, {{x, Tensor::Vector<float>({1, 2})}}),
            (std::vector<float>{65, 258}));
}

}  // namespace
}  // namespace gyre::testing
