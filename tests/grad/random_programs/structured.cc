#include "grad/random_programs/structured.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ops/registry.h"

namespace gyre::testing {
namespace {

using Env = std::map<Id, Endpoint>;

class Writer {
 public:
  explicit Writer(const RandomProgram& tree) : tree_(tree), program_(Ops()) {}

  absl::StatusOr<Written> Write() {
    for (size_t i = 0; i < tree_.functions.size(); ++i) {
      GYRE_RETURN_IF_ERROR(
          WriteFunction(FunctionName(static_cast<int>(i)), tree_.functions[i], {}));
    }
    FunctionBuilder main(Ops(), "");
    Env env;
    Written written;
    written.feeds = WriteFeeds(tree_, main);
    for (size_t i = 0; i < written.feeds.size(); ++i) env[tree_.main.params[i]] = written.feeds[i];
    GYRE_RETURN_IF_ERROR(WriteStatements(tree_.main, main, env));
    for (const Id id : tree_.main.results) written.ys.push_back(env.at(id));
    program_.SetMain(main.Build());
    written.program = program_.Build();
    return written;
  }

 private:
  // A function of the block's parameters and the captures. Of a loop's body: returns the latter,
  // too.
  absl::Status WriteFunction(const std::string& name, const Block& block,
                             const std::vector<Id>& captures, bool returns_captures = false) {
    FunctionBuilder function(Ops(), name);
    Env env;
    for (const std::vector<Id>* const ids : {&block.params, &captures}) {
      for (const Id id : *ids) {
        env[id] = function.Arg(absl::StrCat("v", id), DTypeFor(tree_.types[id]));
      }
    }
    GYRE_RETURN_IF_ERROR(WriteStatements(block, function, env));
    std::vector<Id> results = block.results;
    if (returns_captures) results.insert(results.end(), captures.begin(), captures.end());
    for (const Id id : results) function.Return(absl::StrCat("v", id), env.at(id));
    program_.SetFunction(function.Build());
    return absl::OkStatus();
  }

  absl::Status WriteStatements(const Block& block, FunctionBuilder& function, Env& env) {
    for (const Statement& statement : block.statements) {
      GYRE_ASSIGN_OR_RETURN(const NodeId node, WriteStatement(statement, function, env));
      for (size_t i = 0; i < statement.outputs.size(); ++i)
        env[statement.outputs[i]] = {node, static_cast<int32_t>(i)};
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NodeId> WriteStatement(const Statement& statement, FunctionBuilder& function,
                                        const Env& env) {
    const std::vector<Id> captures = CapturesOf(statement.blocks);
    std::vector<Endpoint> inputs;
    for (const Id id : statement.inputs) inputs.push_back(env.at(id));
    for (const Id id : captures) inputs.push_back(env.at(id));
    AttrMap attrs = statement.attrs;
    const std::string name = absl::StrCat("s", next_name_++);
    std::vector<FunctionRef> refs;
    for (const Block& block : statement.blocks) {
      refs.push_back({absl::StrCat(name, "_", refs.size()), nullptr});
      const bool is_body = (statement.kind == OpKind::kWhile || statement.kind == OpKind::kFor) &&
                           refs.size() == statement.blocks.size();
      GYRE_RETURN_IF_ERROR(WriteFunction(refs.back().name, block, captures, is_body));
    }
    SetFunctions(statement, refs, attrs);
    return function.Add(statement.op, inputs, std::move(attrs), {.name = name});
  }

  void SetFunctions(const Statement& statement, const std::vector<FunctionRef>& refs,
                    AttrMap& attrs) const {
    switch (statement.kind) {
      case OpKind::kIf:
        attrs.Set("then_branch", refs[0]);
        attrs.Set("else_branch", refs[1]);
        break;
      case OpKind::kCase:
        attrs.Set("branches", refs);
        break;
      case OpKind::kWhile:
        attrs.Set("cond", refs[0]);
        attrs.Set("body", refs[1]);
        return;
      case OpKind::kFor:
        attrs.Set("body", refs[0]);
        return;
      case OpKind::kCall:
        attrs.Set("f", FunctionRef{FunctionName(statement.function), nullptr});
        break;
      default:
        return;
    }
    std::vector<DType> types;
    for (const Id id : statement.outputs) types.push_back(DTypeFor(tree_.types[id]));
    attrs.Set("Tout", types);
  }

  const RandomProgram& tree_;
  ProgramBuilder program_;
  int next_name_ = 0;
};

}  // namespace

absl::StatusOr<Written> WriteStructured(const RandomProgram& program) {
  return Writer(program).Write();
}

std::vector<Endpoint> WriteFeeds(const RandomProgram& program, FunctionBuilder& main) {
  std::vector<Endpoint> feeds;
  for (size_t i = 0; i < program.main.params.size(); ++i) {
    const Type type = program.types[program.main.params[i]];
    const PartialShape shape = program.shapes_known ? ShapeFor(type) : PartialShape::Unknown();
    // A placeholder with this dtype and shape fits the schema.
    const auto node = main.Add("Placeholder", {}, {{"dtype", DTypeFor(type)}, {"shape", shape}},
                               {.name = ParamName(program, i)});
    feeds.push_back({node.ok() ? *node : -1, 0});
  }
  return feeds;
}

}  // namespace gyre::testing
