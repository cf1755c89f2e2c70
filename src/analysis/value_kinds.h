// ValueKinds: what stands behind the values of a program that are not plain tensors (lists, what
// lies in them, optionals, flows of arrays), followed through loops, branches and calls.
//
// The program must outlive it. Not thread-safe: remembers what it has found.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "ops/value_kind.h"

namespace gyre {

class ValueKinds {
 public:
  explicit ValueKinds(const Program& program);

  // By node, then output, of `function`, given those of its arguments.
  std::vector<KindRow> Of(const Function& function, const KindRow& args);

 private:
  KindRow Outputs(const Node& node, const KindRow& inputs);
  KindRow OutputsOfStructured(const Node& node, const KindRow& args);
  KindRow Results(const std::string& function, const KindRow& args);
  // As Of, from what is known of the functions that it calls.
  std::vector<KindRow> Evaluate(const Function& function, const KindRow& args);

  // A function's results, given the kinds of its arguments. One that calls itself gets what has
  // been found so far; where that was too little, all that rests on it is evaluated again.
  struct Entry {
    enum class State : uint8_t { kOld, kInWork, kKnown };
    State state = State::kOld;
    KindRow kinds;
    bool was_guessed = false;  // `kinds` were used while it was in work
  };

  const Program& program_;
  bool has_any_ = false;
  std::map<std::pair<std::string, KindRow>, Entry> results_;
  std::vector<Entry*> evaluated_;  // in this round
  bool is_stale_ = false;          // a guess of this round was wrong
};

}  // namespace gyre
