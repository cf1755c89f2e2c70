// The registry is whole: every op parses, is documented, has a shape rule and a way to run.
#include "ops/registry.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/functions/registry.h"
#include "support/paths.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

TEST(Registry, EveryRegistrationBlockParses) { EXPECT_TRUE(Ops().status().ok()) << Ops().status(); }

TEST(Registry, EveryOpHasADocAndAShapeRule) {
  for (const OpDef* op : Ops().All()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_NE(op->shape, nullptr) << op->name;
  }
}

TEST(Registry, EveryOpRuns) {
  for (const OpDef* op : Ops().All()) {
    const bool by_engine = op->kind == OpKind::kIf || op->kind == OpKind::kCase ||
                           op->kind == OpKind::kWhile || op->kind == OpKind::kFor ||
                           op->kind == OpKind::kCall || op->kind == OpKind::kArg ||
                           op->kind == OpKind::kRetval || op->kind == OpKind::kSymbolicGradient;
    EXPECT_EQ(Ops().HasKernel(op->name), !by_engine) << op->name;
  }
}

TEST(Registry, SchemasSurviveFormattingAndParsing) {
  for (const OpDef* op : Ops().All()) {
    const std::string text = FormatOpSchema(*op);
    const absl::StatusOr<OpDef> again = ParseOpSchema(text);
    ASSERT_TRUE(again.ok()) << text << "\n" << again.status();
    EXPECT_EQ(FormatOpSchema(*again), text);
  }
}

// OPS.md lists every op type of the golden graphs, in rows "| Name | …".
TEST(Registry, HasEveryOpOfTheGoldenGraphs) {
  std::ifstream list(test::SourcePath("tests/golden/OPS.md"));
  ASSERT_TRUE(list.good());
  int seen = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.size() < 3 || line.substr(0, 2) != "| ") continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (name == "op" || name[0] == '(') continue;
    ++seen;
    EXPECT_NE(Ops().Find(name), nullptr) << name;
  }
  EXPECT_GE(seen, 190);
}

// They are functions of C++ and Python: each belongs to one op, whose inputs tell the rest.
TEST(Registry, PublicNamesFitTheirOps) {
  std::set<std::string> names, own;
  for (const OpDef* op : Ops().All()) {
    const std::vector<std::string>& all = Ops().PublicNames(op->name);
    for (const std::string& name : all) EXPECT_TRUE(names.insert(name).second) << name;
    if (all.empty()) continue;
    EXPECT_TRUE(own.insert(all[0].substr(all[0].rfind('.') + 1)).second) << all[0];
    EXPECT_EQ(op->outputs.size(), 1u) << op->name;
    for (const AttrDef& attr : op->attrs) {
      const bool is_told =
          std::any_of(op->inputs.begin(), op->inputs.end(), [&](const ArgDef& input) {
            return attr.name == input.type_attr || attr.name == input.number_attr ||
                   attr.name == input.type_list_attr;
          });
      EXPECT_TRUE(is_told || attr.default_value) << op->name << ": " << attr.name;
    }
  }
  EXPECT_TRUE(names.contains("math.tan") && names.contains("tan"));
  EXPECT_TRUE(Ops().PublicNames("NoSuchOp").empty());
}

// Each is documented, and belongs to nobody else.
TEST(Registry, FunctionsHaveNamesOfTheirOwn) {
  EXPECT_TRUE(Functions().status().ok()) << Functions().status();
  std::set<std::string> names, own;
  for (const OpDef* op : Ops().All()) {
    const std::vector<std::string>& all = Ops().PublicNames(op->name);
    names.insert(all.begin(), all.end());
    if (!all.empty()) own.insert(all[0].substr(all[0].rfind('.') + 1));
  }
  for (const PublicFunction* function : Functions().All()) {
    EXPECT_FALSE(function->doc.empty()) << function->name();
    EXPECT_TRUE(own.insert(function->name()).second) << function->name();
    for (const std::string& name : function->names) EXPECT_TRUE(names.insert(name).second) << name;
  }
  ASSERT_NE(Functions().Find("erfcinv"), nullptr);
  EXPECT_EQ(Functions().Find("erfcinv")->names, std::vector<std::string>{"math.erfcinv"});
  EXPECT_EQ(Functions().Find("log"), nullptr);
}

TEST(Registry, SignaturesThatCannotBeReadAreRefused) {
  const FormulaFn nothing = [](FormulaContext&) { return std::vector<Term>{}; };
  for (const absl::string_view signature :
       {"x: T", "(x)", "(x: number)", "(x: int = a)", "(x: T) mean, variance"}) {
    FunctionRegistry functions;
    functions.Add({.signature = signature, .doc = "d", .api = {"f"}, .formula = nothing});
    EXPECT_THAT(functions.status().message(), HasSubstr("cannot be read")) << signature;
  }
  for (const absl::string_view signature : {"(x: T, y: T)", "(x: T, alpha: float, beta: float)"}) {
    FunctionRegistry functions;
    functions.Add({.signature = signature, .api = {"f"}, .op = "LeakyRelu"});
    EXPECT_FALSE(functions.status().ok()) << signature;
  }
}

absl::Status DoNothing(KernelContext&) { return absl::OkStatus(); }

OpRegistration Minimal(absl::string_view schema) {
  return {.schema = schema, .kernel = Compute<DoNothing>()};
}

TEST(Registry, ChainedOpsAreFoundLikeItsOwn) {
  OpRegistry ops;
  ops.Add(Minimal("B() -> y: int32"));
  auto more = std::make_unique<OpRegistry>("more.so");
  more->Add(Minimal("A() -> y: int32"));
  more->Add(Minimal("C() -> y: int32"));
  const OpDef* c = more->Find("C");
  ASSERT_TRUE(ops.Chain(std::move(more)).ok());
  EXPECT_EQ(ops.Find("C"), c);
  EXPECT_TRUE(ops.HasKernel("A"));
  EXPECT_FALSE(ops.HasKernel("D"));
  std::string names;
  for (const OpDef* op : ops.All()) names += op->name;
  EXPECT_EQ(names, "ABC");
  EXPECT_EQ(ops.Own().size(), 1u);
  EXPECT_EQ(ops.next()->origin(), "more.so");
}

TEST(Registry, NamesThatAreTakenAreNotChained) {
  OpRegistry ops;
  ops.Add(Minimal("A() -> y: int32"));
  const auto chain = [&](absl::string_view schema, absl::string_view other) {
    auto more = std::make_unique<OpRegistry>("more.so");
    more->Add(Minimal(schema));
    more->Add(Minimal(other));
    return ops.Chain(std::move(more));
  };
  EXPECT_EQ(chain("B() -> y: int32", "A() -> y: int32").message(),
            "there is an op called A already, a built-in one");
  EXPECT_EQ(ops.Find("B"), nullptr) << "half of it was added";
  ASSERT_TRUE(chain("B() -> y: int32", "C() -> y: int32").ok());
  EXPECT_EQ(chain("D() -> y: int32", "C() -> y: int32").message(),
            "there is an op called C already, of plug-in more.so");
}

}  // namespace
}  // namespace gyre
