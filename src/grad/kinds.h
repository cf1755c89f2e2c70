// Kinds: what stands behind the values that are not plain tensors.
//
// A variant may be a list or an optional; a scalar float may be the flow of a TensorArray, which
// its ops hand from one to the next to say in which order they come. Each has another kind of
// gradient. Of a handle it says whether it is one of an array of gradients. Followed through loops,
// branches and calls, also for what lies inside lists and optionals. The program must outlive it.
// Not thread-safe: remembers what it has found.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre::grad {

struct Kind {
  enum class Type : uint8_t { kOther, kFlow, kList, kOptional, kGradientArray };
  Type type = Type::kOther;
  DType dtype = DType::kInvalid;  // of the elements of an array or list
  std::vector<Kind> parts;        // of a list: what its elements are, if known; of an optional: all

  bool IsFlow() const { return type == Type::kFlow; }
  bool IsList() const { return type == Type::kList; }
  bool IsOptional() const { return type == Type::kOptional; }
  // A handle: of the array in which an imported graph adds up the gradients of another one.
  bool IsGradientArray() const { return type == Type::kGradientArray; }
  friend bool operator==(const Kind& a, const Kind& b) = default;
  friend bool operator<(const Kind& a, const Kind& b);
};

using KindRow = std::vector<Kind>;

// In words: "", "optional", "gradients", "flow float32", "list float64", "list variant list
// float64". What is in an optional is not said.
std::string KindText(const Kind& kind);
// Of a text that KindText has not written: kOther.
Kind ParseKind(absl::string_view text);
// What an optional that a gradient writes or reads has to say of its components (kKindsAttr).
std::vector<std::string> KindTexts(const KindRow& kinds);

class Kinds {
 public:
  explicit Kinds(const Program& program);

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

}  // namespace gyre::grad
