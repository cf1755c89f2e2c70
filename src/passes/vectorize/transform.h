// BatchTransform: what one run of Vectorize knows of its program, and the functions that it has
// made.
//
// Not thread-safe; lives as long as the call.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/effects.h"
#include "ir/batch_context.h"
#include "ir/program.h"
#include "ir/shape_context.h"
#include "passes/vectorize/vectorize.h"

namespace gyre::vectorize {

// What holds the values that either may hold; nullopt where there is nothing.
std::optional<Rows> Join(Rows a, Rows b);

// An argument or a result: how its rows are held, and what is known of it in one row.
struct RowValue {
  Rows rows = Rows::kSame;
  ValueInfo info;
};

// A function that has been vectorised: new(arguments, rows) -> results (, rows).
struct RowsFunction {
  std::string name;
  std::vector<RowValue> results;
};

// What is asked of a function's results.
struct ResultRequest {
  std::vector<Rows> rows;     // at least; empty: as it comes
  bool returns_rows = false;  // also how many rows there are, behind the others
};

class BatchTransform {
 public:
  BatchTransform(const Program& program, bool fall_back, int64_t num_rows);

  const Program& program() const { return program_; }
  const OpLookup& ops() const { return program_.ops(); }
  const Effects& effects() const { return effects_; }
  bool falls_back() const { return fall_back_; }
  int64_t num_rows() const { return num_rows_; }

  // UNIMPLEMENTED, as batch::Refuse, where it is not to be had.
  absl::StatusOr<RowsFunction> Vectorize(const Function& function,
                                         const std::vector<RowValue>& args,
                                         const ResultRequest& request, absl::string_view name);
  // The same for a function that a node calls.
  absl::StatusOr<RowsFunction> Vectorize(const FunctionRef& function,
                                         const std::vector<RowValue>& args,
                                         const ResultRequest& request);
  std::string UniqueName(absl::string_view wanted);
  void Add(Function function);
  // Of a function that was made: its own gradient.
  void SetGradient(const std::string& function, std::string gradient) {
    gradients_[function] = std::move(gradient);
  }
  // Says that the function `in`, which is being made, runs a node row by row.
  void Note(const std::string& in, LoopOverRows loop) { loops_[in].push_back(std::move(loop)); }

  // The program with `root` and what it needs of the functions that were made.
  VectorizeResult Finish(const std::string& root) const;

 private:
  const Program& program_;
  const Effects effects_;
  const bool fall_back_;
  const int64_t num_rows_;
  std::map<std::string, Function> functions_;
  std::map<std::string, std::string> gradients_;            // function that was made → its gradient
  std::map<std::string, std::vector<LoopOverRows>> loops_;  // by function that was made
  std::map<std::string, int> numbers_;                      // the last one given to each name
  std::map<std::string, RowsFunction> made_;  // by function, arguments and request, as text
  std::set<std::string> being_made_;
};

}  // namespace gyre::vectorize
