// Segments: a loop cut into parts that are functions, for its gradient to run again.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grad/transform.h"
#include "ir/expr.h"

namespace gyre::grad {

// Makes functions out of one loop. Not thread-safe; lives as long as the transform.
class Segments {
 public:
  // `loop`: a While without effects, of a function of the transform's program.
  static absl::StatusOr<Segments> Make(GradientTransform& transform, const Node& loop);

  // body(variables) -> variables: up to `iterations` iterations of the loop.
  absl::StatusOr<std::string> RecomputeBody(int64_t iterations);
  // all(variables) -> variables: the whole loop, with checkpoints that take about `bytes`.
  absl::StatusOr<std::string> Checkpointed(int64_t bytes);

 private:
  explicit Segments(GradientTransform& transform) : transform_(transform) {}

  // segment_l(variables, k, m, most) -> variables, iterations: as long as the loop goes on, up to
  // `most` times: level 0: an iteration; level l: segment_(l-1), of k iterations or m segments,
  // which runs again.
  absl::StatusOr<std::string> Level(int level);
  absl::StatusOr<std::string> LevelCondition();
  absl::StatusOr<std::string> LevelBody(int level);
  absl::StatusOr<Function> Probe();
  std::vector<DType> TypesOfAdjoints() const;
  // k and m for checkpoints of so many bytes.
  std::pair<Expr, Expr> Measure(const std::vector<Expr>& vars, int64_t bytes, ExprBuilder& exprs);
  // vars after a call of segment_l.
  std::vector<Expr> CallLevel(const std::string& name, const std::vector<Expr>& vars, Expr k,
                              Expr m, Expr most, bool again, ExprBuilder& exprs);
  Expr GoesOn(const std::vector<Expr>& vars, ExprBuilder& exprs);
  std::vector<Expr> Args(ExprBuilder& exprs) const;
  void Return(const std::vector<Expr>& args, const std::vector<Expr>& results,
              ExprBuilder& exprs) const;

  GradientTransform& transform_;
  std::string cond_;
  const Function* body_ = nullptr;
  DType cond_type_ = DType::kBool;
  std::vector<bool> invariant_;
  std::vector<DType> types_;
  std::string level_condition_;      // shared by all levels
  std::vector<std::string> levels_;  // made so far
};

}  // namespace gyre::grad
