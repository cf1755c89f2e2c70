// RaggedGather: rows of a ragged tensor.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/ragged/row_splits.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct GatherAttrs {
  explicit GatherAttrs(const Node& node)
      : rank(static_cast<int>(NodeAttr<int64_t>(node, "PARAMS_RAGGED_RANK"))),
        out_rank(static_cast<int>(NodeAttr<int64_t>(node, "OUTPUT_RAGGED_RANK"))) {}
  int rank, out_rank;
};

// Rows [begin, end) of what row splits part.
struct Piece {
  int64_t begin, end;
};

absl::StatusOr<std::vector<Piece>> WantedRows(const KernelContext& ctx, const Tensor& indices,
                                              int64_t rows) {
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<size_t>(indices.num_elements()));
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(indices.dtype(), [&](auto tag) -> absl::Status {
    for (const int64_t row : indices.values<typename decltype(tag)::type>()) {
      if (pieces.size() % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (row < 0 || row >= rows) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices[", pieces.size(), "] = ", row, " is not in [0, ", rows, ")"));
      }
      pieces.push_back({row, row + 1});
    }
    return absl::OkStatus();
  }));
  return pieces;
}

template <typename Split>
struct GatherKernel {
  static absl::Status Run(KernelContext& ctx, const GatherAttrs& attrs) {
    const Tensor &values = ctx.input(attrs.rank), &indices = ctx.input(attrs.rank + 1);
    if (values.rank() < 1) {
      return absl::InvalidArgumentError("the values of a ragged tensor cannot be a scalar");
    }
    if (attrs.out_rank != attrs.rank + indices.rank() - 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("OUTPUT_RAGGED_RANK must be ", attrs.rank + indices.rank() - 1,
                       " for indices of rank ", indices.rank(), ", but is ", attrs.out_rank));
    }
    std::vector<absl::Span<const Split>> splits;
    for (int i = 0; i < attrs.rank; ++i) {
      const int64_t size = i + 1 < attrs.rank ? ctx.input(i + 1).num_elements() - 1 : values.dim(0);
      GYRE_ASSIGN_OR_RETURN(splits.emplace_back(),
                            SplitsInput<Split>(ctx, i, size, absl::StrCat("row splits ", i)));
    }
    GYRE_ASSIGN_OR_RETURN(std::vector<Piece> pieces,
                          WantedRows(ctx, indices, static_cast<int64_t>(splits[0].size()) - 1));
    // The indices' own dimensions, but for the last, are even.
    int64_t rows = 1;
    int output = 0;
    for (int d = 0; d + 1 < indices.rank(); ++d) {
      rows *= indices.dim(d);
      GYRE_ASSIGN_OR_RETURN(Tensor even, EvenSplits(ctx, rows, indices.dim(d + 1)));
      ctx.set_output(output++, std::move(even));
    }
    for (int level = 0; level < attrs.rank; ++level) {
      // A scalar index takes one row, whose own splits are not said.
      const bool is_said = indices.rank() > 0 || level > 0;
      GYRE_ASSIGN_OR_RETURN(Tensor lengths, Descend(ctx, splits[level], pieces));
      if (is_said) ctx.set_output(output++, std::move(lengths));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, TakePieces(ctx, values, pieces));
    ctx.set_output(attrs.out_rank, std::move(out));
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Tensor> EvenSplits(const KernelContext& ctx, int64_t rows, int64_t size) {
    GYRE_ASSIGN_OR_RETURN(const Shape all, Shape::Make({rows, size}));
    if (all.num_elements() > std::numeric_limits<Split>::max()) {
      return absl::InvalidArgumentError("there are more rows than row splits can count");
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<Split>, Shape::Vector(rows + 1)));
    Split* to = static_cast<Split*>(out.mutable_raw_data());
    for (int64_t i = 0; i <= rows; ++i) to[i] = static_cast<Split>(i * size);
    return out;
  }

  // The splits of the rows in `pieces`, which become the pieces of what those part.
  static absl::StatusOr<Tensor> Descend(const KernelContext& ctx, absl::Span<const Split> splits,
                                        std::vector<Piece>& pieces) {
    int64_t rows = 0;
    for (const Piece& piece : pieces) rows += piece.end - piece.begin;
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<Split>, Shape::Vector(rows + 1)));
    Split* to = static_cast<Split*>(out.mutable_raw_data());
    *to = 0;
    int64_t work = 0;
    for (Piece& piece : pieces) {
      for (int64_t row = piece.begin; row < piece.end; ++row) {
        if (++work % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        const Split size = splits[row + 1] - splits[row];
        if (*to > std::numeric_limits<Split>::max() - size) {
          return absl::InvalidArgumentError("there are more values than row splits can count");
        }
        to[1] = static_cast<Split>(*to + size);
        ++to;
      }
      piece = {splits[piece.begin], splits[piece.end]};
    }
    return out;
  }

  static absl::StatusOr<Tensor> TakePieces(const KernelContext& ctx, const Tensor& values,
                                           const std::vector<Piece>& pieces) {
    Dims dims(values.shape().dims().begin(), values.shape().dims().end());
    int64_t width = 1;
    for (size_t d = 1; d < dims.size(); ++d) width *= dims[d];
    dims[0] = 0;
    for (const Piece& piece : pieces) dims[0] += piece.end - piece.begin;
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(values.dtype(), shape));
    GYRE_RETURN_IF_ERROR(VisitElement(values.dtype(), [&](auto tag) -> absl::Status {
      using T = typename decltype(tag)::type;
      const T* from = static_cast<const T*>(values.raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      Mover<T> mover(ctx, out);
      int64_t work = 0;
      for (const Piece& piece : pieces) {
        const int64_t n = (piece.end - piece.begin) * width;
        if ((work += n + 1) > (1 << 16)) {
          work = 0;
          GYRE_RETURN_IF_ERROR(ctx.Poll());
        }
        mover.Copy(from + piece.begin * width, n, to);
        to += n;
      }
      return mover.status();
    }));
    return out;
  }
};

absl::Status GatherShape(ShapeContext& c) {
  const GatherAttrs attrs(c.node());
  const PartialShape &values = c.input(attrs.rank), &indices = c.input(attrs.rank + 1);
  if (indices.has_rank() && attrs.out_rank != attrs.rank + indices.rank() - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("OUTPUT_RAGGED_RANK must be ", attrs.rank + indices.rank() - 1));
  }
  for (int i = 0; i < attrs.out_rank; ++i) c.set_output(i, PartialShape::UnknownOfRank(1));
  if (!values.has_rank()) return absl::OkStatus();
  if (values.rank() < 1)
    return absl::InvalidArgumentError("the values of a ragged tensor cannot be a scalar");
  PartialShape out = values;
  out.set_dim(0, -1);
  c.set_output(attrs.out_rank, std::move(out));
  return absl::OkStatus();
}

// Where the values of each index began, and ended: their gradients go there.
void GatherGradient(GradientContext& g) {
  const auto rank = static_cast<int>(g.attr<int64_t>("PARAMS_RAGGED_RANK", 1));
  const auto out_rank = static_cast<int>(g.attr<int64_t>("OUTPUT_RAGGED_RANK", 0));
  if (!g.wants(rank) || !g.has_grad(out_rank)) return;
  ExprBuilder& b = g.builder();
  const auto gather = [&](Expr x, Expr at) { return g.op("GatherV2", {x, at, b.Int(0)}); };
  Expr bounds = g.input(0);
  for (int i = 1; i < rank; ++i) bounds = gather(g.input(i), bounds);
  const Expr flat = Reshape(g.input(rank + 1), b.Ints({-1}));
  const Expr starts = gather(bounds, flat);
  const Expr limits = gather(bounds, flat + b.Scalar(flat.dtype(), 1));
  const std::vector<Expr> range =
      b.Ops("RaggedRange", {starts, limits, b.Scalar(starts.dtype(), 1)},
            {{"Tsplits", starts.dtype()}}, 2);
  g.AddSlices(rank, g.grad(out_rank), range[1]);
}

}  // namespace

void RegisterRaggedGather(OpRegistry& ops) {
  ops.Add({.schema = "RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, "
                     "params_dense_values: Tvalues, indices: Tindices) -> output_nested_splits: "
                     "OUTPUT_RAGGED_RANK * Tsplits, output_dense_values: Tvalues {Tvalues: type; "
                     "Tindices: {int32, int64}; Tsplits: {int32, int64} = int64; "
                     "PARAMS_RAGGED_RANK: int >= 1; OUTPUT_RAGGED_RANK: int >= 0}",
           .doc = "Rows of a ragged tensor.",
           .shape = GatherShape,
           .gradient = {GatherGradient},
           .kernel = ForTypes<GatherKernel, IndexTypes>("Tsplits")});
}

}  // namespace gyre
