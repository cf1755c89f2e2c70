#include "grad/random_programs/generator.h"

#include <algorithm>
#include <utility>

#include "grad/random_programs/expressions.h"
#include "grad/random_programs/loop_control.h"
#include "grad/random_programs/tree_writer.h"

namespace gyre::testing {
namespace {

using Ids = std::vector<Id>;
using Types = std::vector<Type>;

constexpr int kMaxDepth = 3;
constexpr int kMaxRecursion = 4;

class Generator {
 public:
  explicit Generator(uint64_t seed)
      : dice_(seed), tree_(program_, dice_), values_(tree_), controls_(tree_, values_) {}

  RandomProgram Make() {
    AddInputs();
    if (dice_.Chance(0.5)) AddFunction();
    if (dice_.Chance(0.5)) AddFunction();
    if (dice_.Chance(0.35)) AddRecursiveFunction();
    AddStatements(kMaxDepth, dice_.Between(0, 2));
    if (dice_.Chance(0.85)) AddWhile(kMaxDepth, controls_.DataDependent());
    AddStatements(kMaxDepth, dice_.Between(1, 3));
    for (const int function : {0, 1, 2}) {
      if (function < static_cast<int>(signatures_.size())) AddCall(function);
    }
    ChooseResults();
    return std::move(program_);
  }

 private:
  struct Signature {
    Types params;
    Types results;
    bool recurses = false;  // then the first parameter says how deep
  };

  void AddInputs() {
    program_.num_xs = 3;
    const Types types = {Type::kScalar, Type::kVector, Type::kMatrix, Type::kScalar};
    for (const Type type : types)
      program_.feeds.push_back(dice_.Numbers(*ShapeFor(type).ToShape(), -1.5, 1.5));
    program_.shapes_known = dice_.Chance(0.5);
    tree_.AddParams(types);
  }

  // Outputs of what has blocks or calls, lists as tensors; and others.
  void ChooseResults() {
    Ids& results = program_.main.results;
    for (const Type type : {Type::kScalar, Type::kVector, Type::kMatrix, Type::kRows}) {
      if (dice_.Chance(0.3)) results.push_back(values_.Some(type));
    }
    Ids outputs;
    for (const Statement& statement : program_.main.statements) {
      if (statement.kind == OpKind::kPlain) continue;
      outputs.insert(outputs.end(), statement.outputs.begin(), statement.outputs.end());
    }
    for (const Id id : outputs) {
      if (!dice_.Chance(0.7)) continue;
      if (IsNumbers(tree_.type(id))) results.push_back(id);
      if (tree_.type(id) == Type::kVectors) results.push_back(values_.Stacked(id));
    }
    if (results.empty()) results.push_back(values_.New(Type::kScalar));
  }

  // ---- Statements; `depth`: how much deeper they may nest ----

  void AddStatements(int depth, int count) {
    for (int i = 0; i < count; ++i) AddStatement(depth);
  }

  void AddStatement(int depth) {
    if (depth == 0 || dice_.Chance(0.25)) {
      values_.New(SomeType());
      return;
    }
    switch (dice_.Below(10)) {
      case 0:
      case 1:
        return AddIf(depth);
      case 2:
        return AddCase(depth);
      case 3:
        return AddFor(depth);
      case 4:
      case 5:
        if (!signatures_.empty()) return AddCall(dice_.Below(static_cast<int>(signatures_.size())));
        [[fallthrough]];
      default:
        return AddWhile(depth, controls_.Any());
    }
  }

  Type SomeType() {
    return dice_.OneOf({Type::kScalar, Type::kScalar, Type::kVector, Type::kVector, Type::kMatrix,
                        Type::kRows, Type::kInt, Type::kScalars, Type::kVectors, Type::kLists});
  }
  Types SomeTypes(int low, int high) {
    Types types(static_cast<size_t>(dice_.Between(low, high)));
    for (Type& type : types) type = SomeType();
    return types;
  }

  std::string Form(const std::string& op) { return dice_.Chance(0.3) ? op : "Stateless" + op; }

  // ---- Branches ----

  void AddIf(int depth) {
    const Id choice = values_.Some(Type::kBool);
    AddBranches(OpKind::kIf, Form("If"), choice, 2, depth);
  }

  void AddCase(int depth) {
    const Id choice = values_.Some(Type::kInt);  // out of range, too
    AddBranches(OpKind::kCase, Form("Case"), choice, dice_.Between(1, 4), depth);
  }

  void AddBranches(OpKind kind, const std::string& op, Id choice, int count, int depth) {
    const Types types = SomeTypes(1, 3);
    Statement statement{.kind = kind, .op = op, .inputs = {choice}};
    for (int i = 0; i < count; ++i) {
      statement.blocks.push_back(tree_.Inside({}, [&](const Ids&) {
        AddStatements(depth - 1, dice_.Between(0, 2));
        Ids results;
        for (const Type type : types) results.push_back(Result(type));
        return results;
      }));
    }
    tree_.Add(std::move(statement), types);
  }

  // An old value as it is, a constant, or a new one.
  Id Result(Type type) {
    const double chance = dice_.Real(0, 1);
    if (chance < 0.3) return values_.Some(type);
    if (chance < 0.4) return values_.Constant(type);
    return values_.New(type);
  }

  // ---- Loops ----

  void AddWhile(int depth, const LoopControl& control) {
    Statement statement{.kind = OpKind::kWhile, .op = Form("While")};
    statement.inputs = control.inits;
    for (const Type type : SomeTypes(0, 3)) statement.inputs.push_back(Init(type));
    const Types types = tree_.TypesOf(statement.inputs);
    statement.blocks.push_back(
        tree_.Inside(types, [&](const Ids& vars) { return Ids{control.goes_on(vars)}; }));
    statement.blocks.push_back(tree_.Inside(types, [&](const Ids& vars) {
      const bool first = dice_.Chance(0.5);
      Ids next;
      if (first) next = control.next(vars);
      AddStatements(depth - 1, dice_.Between(0, 2));
      if (!first) next = control.next(vars);
      AddNext(vars, next);
      return next;
    }));
    tree_.Add(std::move(statement), types);
  }

  void AddFor(int depth) {
    // Up from anywhere, or down to 0: a limit on the wrong side of the start is refused.
    const bool down = dice_.Chance(0.2);
    const Id count = dice_.Chance(0.5) ? values_.CountFromData(5) : tree_.Int(dice_.Below(5));
    const Id from = values_.SomeIndex(3);
    const Id to = tree_.Op("AddV2", {from, count}, Type::kInt);
    const Id step = tree_.Int(dice_.OneOf({1, 1, 2}) * (down ? -1 : 1));
    Statement statement{
        .kind = OpKind::kFor, .op = "For", .inputs = {down ? to : from, down ? from : to, step}};
    for (const Type type : SomeTypes(1, 4)) statement.inputs.push_back(Init(type));
    const Types types = tree_.TypesOf({statement.inputs.begin() + 3, statement.inputs.end()});
    Types params = types;
    params.insert(params.begin(), Type::kInt);
    statement.blocks.push_back(tree_.Inside(params, [&](const Ids& args) {
      AddStatements(depth - 1, dice_.Between(0, 2));
      Ids next;
      AddNext({args.begin() + 1, args.end()}, next);
      return next;
    }));
    tree_.Add(std::move(statement), types);
  }

  Id Init(Type type) { return dice_.Chance(0.2) ? values_.Constant(type) : values_.Some(type); }

  // What the variables from `next.size()` on become.
  void AddNext(const Ids& vars, Ids& next) {
    while (next.size() < vars.size()) next.push_back(Next(vars, next));
  }

  Id Next(const Ids& vars, const Ids& next) {
    const Id var = vars[next.size()];
    const Type type = tree_.type(var);
    const double chance = dice_.Real(0, 1);
    if (chance < 0.1) return var;  // as it is
    if (chance < 0.2) return AnyOf(vars, type, var);
    if (chance < 0.25) return AnyOf(next, type, var);  // as another one
    if (chance < 0.3) return values_.Constant(type);
    if (IsNumbers(type)) return values_.Tame(values_.New(type));
    return values_.New(type);
  }

  Id AnyOf(const Ids& from, Type type, Id fallback) {
    Ids of_type;
    for (const Id id : from) {
      if (tree_.type(id) == type) of_type.push_back(id);
    }
    return of_type.empty() ? fallback : dice_.OneOf(of_type);
  }

  // ---- Functions ----

  void AddFunction() {
    const Signature signature{SomeTypes(1, 4), SomeTypes(1, 2)};
    Block function = tree_.Function(signature.params, [&](const Ids&) {
      AddStatements(1, dice_.Between(1, 2));
      Ids results;
      for (const Type type : signature.results) results.push_back(Result(type));
      return results;
    });
    program_.functions.push_back(std::move(function));
    signatures_.push_back(signature);
  }

  // f(n, …) = n > 0 ? … f(n - 1, …) … f(n - 2, …) … : …
  void AddRecursiveFunction() {
    Signature signature{SomeTypes(1, 3), SomeTypes(1, 2), true};
    signature.params.insert(signature.params.begin(), Type::kInt);
    const int self = static_cast<int>(signatures_.size());
    const int inner = dice_.Chance(0.3) ? self + 1 : self;  // what it calls: itself, or through it
    program_.functions.push_back(tree_.Function(signature.params, [&](const Ids& args) {
      return RecursiveBody(signature, args[0], inner);
    }));
    if (inner != self) {
      program_.functions.push_back(tree_.Function(signature.params, [&](const Ids& args) {
        AddStatements(0, 1);
        return CallWith(self, signature, args[0]);
      }));
    }
    signatures_.push_back(signature);
    if (inner != self) signatures_.push_back(signature);
  }

  Ids RecursiveBody(const Signature& signature, Id n, int inner) {
    Id deeper = tree_.Op("Greater", {n, tree_.Int(0)}, Type::kBool);
    if (dice_.Chance(0.3))
      deeper = tree_.Op("LogicalAnd", {deeper, values_.New(Type::kBool)}, Type::kBool);
    Statement statement{.kind = OpKind::kIf, .op = Form("If"), .inputs = {deeper}};
    const auto results = [&] {
      Ids ids;
      for (const Type type : signature.results) ids.push_back(Tamed(values_.New(type)));
      return ids;
    };
    statement.blocks.push_back(tree_.Inside({}, [&](const Ids&) {
      AddStatements(1, dice_.Between(0, 1));
      Id less = tree_.Op("Sub", {n, tree_.Int(1)}, Type::kInt);
      const Ids first = CallWith(inner, signature, less);
      if (dice_.Chance(0.2)) return first;
      less = tree_.Op("Sub", {n, tree_.Int(2)}, Type::kInt);
      if (dice_.Chance(0.5)) (void)CallWith(inner, signature, less);
      return results();
    }));
    statement.blocks.push_back(tree_.Inside({}, [&](const Ids&) {
      AddStatements(1, dice_.Between(0, 1));
      return results();
    }));
    return tree_.Add(std::move(statement), signature.results);
  }

  Id Tamed(Id id) { return IsNumbers(tree_.type(id)) ? values_.Tame(id) : id; }

  Ids CallWith(int function, const Signature& signature, Id depth) {
    Statement statement{.kind = OpKind::kCall,
                        .op = dice_.OneOf({"PartitionedCall", "StatefulPartitionedCall"})};
    statement.function = function;
    for (const Type type : signature.params) statement.inputs.push_back(values_.Some(type));
    if (signature.recurses) statement.inputs[0] = depth;
    return tree_.Add(std::move(statement), signature.results);
  }

  void AddCall(int function) {
    const Signature signature = signatures_[function];
    CallWith(function, signature, signature.recurses ? values_.SomeIndex(kMaxRecursion) : -1);
  }

  Dice dice_;
  RandomProgram program_;
  TreeWriter tree_;
  Expressions values_;
  LoopControls controls_;
  std::vector<Signature> signatures_;  // by function
};

}  // namespace

RandomProgram MakeRandomProgram(uint64_t seed) { return Generator(seed).Make(); }

}  // namespace gyre::testing
