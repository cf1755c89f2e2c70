#include "grad/random_programs/shrink.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gyre::testing {
namespace {

void Collect(Block& block, std::vector<Block*>& blocks) {
  blocks.push_back(&block);
  for (Statement& statement : block.statements) {
    for (Block& inner : statement.blocks) Collect(inner, blocks);
  }
}

std::vector<Block*> AllBlocks(RandomProgram& program) {
  std::vector<Block*> blocks;
  Collect(program.main, blocks);
  for (Block& function : program.functions) Collect(function, blocks);
  return blocks;
}

void Substitute(RandomProgram& program, Id from, Id to) {
  for (Block* const block : AllBlocks(program)) {
    std::replace(block->results.begin(), block->results.end(), from, to);
    for (Statement& statement : block->statements)
      std::replace(statement.inputs.begin(), statement.inputs.end(), from, to);
  }
}

bool RemoveUnusedOnce(RandomProgram& program) {
  std::set<Id> used;
  for (const Block* const block : AllBlocks(program)) {
    used.insert(block->results.begin(), block->results.end());
    for (const Statement& statement : block->statements)
      used.insert(statement.inputs.begin(), statement.inputs.end());
  }
  const auto is_unused = [&](const Statement& statement) {
    return std::none_of(statement.outputs.begin(), statement.outputs.end(),
                        [&](Id id) { return used.contains(id); });
  };
  size_t removed = 0;
  for (Block* const block : AllBlocks(program)) {
    removed = std::erase_if(block->statements, is_unused);
    if (removed > 0) return true;  // blocks may be gone
  }
  return false;
}

int FirstVariable(const Statement& statement) { return statement.kind == OpKind::kFor ? 3 : 0; }
bool IsLoop(const Statement& statement) {
  return statement.kind == OpKind::kWhile || statement.kind == OpKind::kFor;
}
bool IsBranch(const Statement& statement) {
  return statement.kind == OpKind::kIf || statement.kind == OpKind::kCase;
}

template <typename T>
void EraseAt(std::vector<T>& from, size_t i) {
  from.erase(from.begin() + static_cast<ptrdiff_t>(i));
}

// Ways to change statement `s` of a block; false: there is no such way.
class Edit {
 public:
  Edit(RandomProgram& program, Block& block, size_t s)
      : program_(program), block_(block), statement_(block.statements[s]), s_(s) {}

  // `which`: 0, 1, …, until there are no more.
  bool SkipOp(size_t which) {
    if (statement_.kind != OpKind::kPlain || statement_.outputs.size() != 1) return false;
    if (which >= statement_.inputs.size()) return false;
    const Id from = statement_.outputs[0], to = statement_.inputs[which];
    if (program_.types[from] == program_.types[to]) Substitute(program_, from, to);
    return true;
  }

  bool SkipLoop(size_t which) {
    if (!IsLoop(statement_) || which > 0) return false;
    for (size_t i = 0; i < statement_.outputs.size(); ++i)
      Substitute(program_, statement_.outputs[i], statement_.inputs[FirstVariable(statement_) + i]);
    return true;
  }

  bool DropVariable(size_t which) {
    if (!IsLoop(statement_) || which >= statement_.outputs.size()) return false;
    const size_t input = FirstVariable(statement_) + which;
    const Id init = statement_.inputs[input];
    Substitute(program_, statement_.outputs[which], init);
    EraseAt(statement_.outputs, which);
    EraseAt(statement_.inputs, input);
    for (Block& block : statement_.blocks) {
      const size_t param = which + (statement_.kind == OpKind::kFor ? 1 : 0);
      Substitute(program_, block.params[param], init);
      EraseAt(block.params, param);
    }
    EraseAt(statement_.blocks.back().results, which);
    return true;
  }

  bool DropResult(size_t which) {
    if (!IsBranch(statement_) || which >= statement_.outputs.size()) return false;
    if (statement_.outputs.size() == 1) return true;
    const Id id = statement_.outputs[which];
    if (IsUsed(id)) return true;
    EraseAt(statement_.outputs, which);
    for (Block& block : statement_.blocks) EraseAt(block.results, which);
    return true;
  }

  bool TakeBranch(size_t which) {
    if (!IsBranch(statement_) || which >= statement_.blocks.size()) return false;
    Block branch = std::move(statement_.blocks[which]);
    const std::vector<Id> outputs = statement_.outputs;
    EraseAt(block_.statements, s_);
    block_.statements.insert(block_.statements.begin() + static_cast<ptrdiff_t>(s_),
                             std::make_move_iterator(branch.statements.begin()),
                             std::make_move_iterator(branch.statements.end()));
    for (size_t i = 0; i < outputs.size(); ++i) Substitute(program_, outputs[i], branch.results[i]);
    return true;
  }

  // All outputs are numbers.
  bool UseConstants(size_t which) {
    if (statement_.op == "Const" || which > 0) return false;
    std::vector<Statement> constants;
    for (const Id id : statement_.outputs) {
      const Type type = program_.types[id];
      if (!IsNumbers(type)) return false;
      const Shape shape =
          type == Type::kRows ? Shape::Trusted({1, kSize}) : *ShapeFor(type).ToShape();
      const std::vector<double> values(static_cast<size_t>(shape.num_elements()), 0.5);
      const Tensor value = Tensor::FromValues<double>(values, shape);
      constants.push_back(
          {.op = "Const", .attrs = {{"dtype", DType::kDouble}, {"value", value}}, .outputs = {id}});
    }
    EraseAt(block_.statements, s_);
    block_.statements.insert(block_.statements.begin() + static_cast<ptrdiff_t>(s_),
                             constants.begin(), constants.end());
    return true;
  }

 private:
  bool IsUsed(Id id) {
    for (const Block* const block : AllBlocks(program_)) {
      if (std::count(block->results.begin(), block->results.end(), id) > 0) return true;
      for (const Statement& statement : block->statements) {
        if (std::count(statement.inputs.begin(), statement.inputs.end(), id) > 0) return true;
      }
    }
    return false;
  }

  RandomProgram& program_;
  Block& block_;
  Statement& statement_;
  const size_t s_;
};

using Way = bool (Edit::*)(size_t which);
constexpr Way kWays[] = {&Edit::UseConstants, &Edit::SkipLoop,     &Edit::TakeBranch,
                         &Edit::SkipOp,       &Edit::DropVariable, &Edit::DropResult};

class Shrinker {
 public:
  Shrinker(RandomProgram program, const std::function<bool(const RandomProgram&)>& fails,
           int max_tries)
      : program_(std::move(program)), fails_(fails), tries_left_(max_tries) {}

  RandomProgram Run() {
    while (Round() && tries_left_ > 0) {
    }
    return std::move(program_);
  }

 private:
  // Whether that changed anything.
  bool Round() {
    bool changed = DropResults();
    for (size_t b = 0; b < AllBlocks(program_).size(); ++b) {
      // From the end: what is used by nothing else goes first.
      for (size_t s = AllBlocks(program_)[b]->statements.size(); s-- > 0;) {
        changed |= ShrinkStatement(b, s);
        if (b >= AllBlocks(program_).size()) break;
        s = std::min(s, AllBlocks(program_)[b]->statements.size());
      }
    }
    return changed;
  }

  bool DropResults() {
    bool changed = false;
    for (size_t r = program_.main.results.size(); r-- > 0 && program_.main.results.size() > 1;) {
      RandomProgram smaller = program_;
      EraseAt(smaller.main.results, r);
      changed |= Try(std::move(smaller));
    }
    return changed;
  }

  bool ShrinkStatement(size_t b, size_t s) {
    for (const Way way : kWays) {
      for (size_t which = 0;; ++which) {
        RandomProgram smaller = program_;
        Block& block = *AllBlocks(smaller)[b];
        if (s >= block.statements.size()) return false;
        if (!(Edit(smaller, block, s).*way)(which)) break;
        if (Try(std::move(smaller))) return true;
      }
    }
    return false;
  }

  bool Try(RandomProgram smaller) {
    while (RemoveUnusedOnce(smaller)) {
    }
    if (Size(smaller) >= Size(program_)) return false;
    if (tries_left_-- <= 0 || !fails_(smaller)) return false;
    program_ = std::move(smaller);
    return true;
  }

  // Statements other than constants count double.
  static size_t Size(RandomProgram& program) {
    size_t size = program.main.results.size();
    for (const Block* const block : AllBlocks(program)) {
      size += block->results.size();
      for (const Statement& statement : block->statements)
        size += statement.op == "Const" ? 1 : 2 + statement.outputs.size();
    }
    return size;
  }

  RandomProgram program_;
  const std::function<bool(const RandomProgram&)>& fails_;
  int tries_left_;
};

}  // namespace

RandomProgram Shrink(RandomProgram program, const std::function<bool(const RandomProgram&)>& fails,
                     int max_tries) {
  return Shrinker(std::move(program), fails, max_tries).Run();
}

}  // namespace gyre::testing
