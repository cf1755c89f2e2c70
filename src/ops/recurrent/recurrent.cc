#include "ops/recurrent/recurrent.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gyre::recurrent {

absl::Status RequireDims(const KernelContext& ctx, int i, std::initializer_list<int64_t> dims) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims(dims.begin(), dims.end())));
  if (ctx.input(i).shape() == shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(ctx.node().op->inputs[i].name, " must have shape ",
                                                 shape.ToString(), ", but has ",
                                                 ctx.input(i).shape().ToString()));
}

absl::Status RequireRank(const KernelContext& ctx, int i, int rank) {
  if (ctx.input(i).rank() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(ctx.node().op->inputs[i].name, " must have rank ",
                                                 rank, ", but its shape is ",
                                                 ctx.input(i).shape().ToString()));
}

absl::Status RequireSizes(int64_t input, int64_t cell) {
  constexpr int64_t kMost = int64_t{1} << 28;
  if (input <= kMost && cell <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("inputs of ", input, " and cells of ", cell, " are larger than ", kMost));
}

int64_t DimOf(const ShapeContext& c, int i, int dim) {
  return c.input(i).has_rank() ? c.input(i).dim(dim) : -1;
}

absl::Status ForRows(const KernelContext& ctx, int64_t rows, int64_t row_size,
                     const std::function<void(int64_t row)>& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row_size));
  return ctx.ParallelRun(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row);
  });
}

bool OnlyThese(GradientContext& g, std::initializer_list<int> known) {
  for (int i = 0; i < g.num_outputs(); ++i) {
    if (!g.has_grad(i) || std::find(known.begin(), known.end(), i) != known.end()) continue;
    std::string names;
    for (const int k : known)
      absl::StrAppend(&names, names.empty() ? "'" : "', '", g.node().op->outputs[k].name);
    g.Fail(absl::UnimplementedError(
        absl::StrCat(g.node().op_name, " has no gradient through its output '",
                     g.node().op->outputs[i].name, "', only through ", names, "'")));
    return false;
  }
  return true;
}

Expr SumOfRows(GradientContext& g, Expr x) { return Sum(x, g.builder().Ints({0})); }

Expr SideBySide(GradientContext& g, Expr x, Expr y) {
  return g.op("ConcatV2", {x, y, g.builder().Int(1)});
}

}  // namespace gyre::recurrent
