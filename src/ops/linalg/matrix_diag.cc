#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/linalg/band.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Fills in what `rows` and `columns` leave open (-1): as small as the diagonals allow, and square
// if both are. Diagonals of the band may lie outside of the matrix: they have no elements.
absl::Status MatrixSize(int64_t rows, int64_t columns, Band& band) {
  const int64_t least_rows = band.max_length - std::min<int64_t>(band.upper, 0);
  const int64_t least_columns = band.max_length + std::max<int64_t>(band.lower, 0);
  if (rows == -1 && columns == -1) {
    rows = columns = std::max(least_rows, least_columns);
  } else if (rows == -1) {
    rows = least_rows;
  } else if (columns == -1) {
    columns = least_columns;
  }
  if (rows < least_rows) return absl::InvalidArgumentError("the number of rows is too small");
  if (columns < least_columns) {
    return absl::InvalidArgumentError("the number of columns is too small");
  }
  if (rows != least_rows && columns != least_columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("neither the number of rows, ", rows, ", nor of columns, ", columns,
                     ", is that of a matrix whose longest of diagonals ", band.lower, " to ",
                     band.upper, " has length ", band.max_length));
  }
  band.rows = rows;
  band.columns = columns;
  return absl::OkStatus();
}

absl::StatusOr<Band> BandInputs(const KernelContext& ctx) {
  const Tensor& diagonal = ctx.input(0);
  if (diagonal.rank() < 1) {
    return absl::InvalidArgumentError("diagonal must have at least one dimension, but is a scalar");
  }
  Band band;
  const bool is_plain = ctx.num_inputs() == 1;  // of the main diagonal, and square
  std::vector<int64_t> k = {0};
  if (!is_plain) {
    GYRE_ASSIGN_OR_RETURN(k, ctx.IntVector(1, "k"));
  }
  GYRE_RETURN_IF_ERROR(BandLimits(k, band));
  band.max_length = diagonal.dim(diagonal.rank() - 1);
  if (band.count() > 1 &&
      (diagonal.rank() < 2 || diagonal.dim(diagonal.rank() - 2) != band.count())) {
    return absl::InvalidArgumentError(
        absl::StrCat("diagonal must hold ", band.count(), " diagonals, for k = ", band.lower,
                     " to ", band.upper, ", but its shape is ", diagonal.shape().ToString()));
  }
  int64_t rows = -1, columns = -1;
  if (!is_plain) {
    GYRE_ASSIGN_OR_RETURN(rows, ctx.IntScalar(2, "num_rows"));
    GYRE_ASSIGN_OR_RETURN(columns, ctx.IntScalar(3, "num_cols"));
  }
  GYRE_RETURN_IF_ERROR(MatrixSize(rows, columns, band));
  return band;
}

// Row `i` of the matrix whose diagonals start at `from`.
template <typename E>
void FillRow(const Band& band, const DiagAttrs& attrs, const E* from, const E& padding, int64_t i,
             E* row, Mover<E>& mover) {
  mover.Fill(padding, band.columns, row);
  const int64_t first = std::max<int64_t>(0, i + band.lower);
  const int64_t last = std::min(band.columns - 1, i + band.upper);
  for (int64_t j = first; j <= last; ++j) {
    const int64_t d = j - i;
    const int64_t along = j - std::max<int64_t>(d, 0) + band.Start(d, attrs);
    mover.Set(row[j], from[(band.upper - d) * band.max_length + along]);
  }
}

absl::Status MatrixDiag(KernelContext& ctx, const DiagAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Band band, BandInputs(ctx));
  const Tensor& diagonal = ctx.input(0);
  const bool has_padding = ctx.num_inputs() > 4;
  if (has_padding && ctx.input(4).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "padding_value must be a scalar, but its shape is ", ctx.input(4).shape().ToString()));
  }
  Dims dims(diagonal.shape().dims().begin(),
            diagonal.shape().dims().end() - (band.count() > 1 ? 2 : 1));
  dims.push_back(band.rows);
  dims.push_back(band.columns);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(diagonal.dtype(), shape));
  if (out.num_elements() > 0) {
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / band.columns);
    GYRE_RETURN_IF_ERROR(VisitElement(diagonal.dtype(), [&](auto tag) -> absl::Status {
      using E = typename decltype(tag)::type;
      const E* from = static_cast<const E*>(diagonal.raw_data());
      const E pad = has_padding ? *static_cast<const E*>(ctx.input(4).raw_data()) : E();
      E* to = static_cast<E*>(out.mutable_raw_data());
      Mover<E> mover(ctx, out);
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
          out.num_elements() / band.columns, grain, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
              const E* own = from + r / band.rows * band.count() * band.max_length;
              FillRow(band, attrs, own, pad, r % band.rows, to + r * band.columns, mover);
            }
          }));
      return mover.status();
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status PlainMatrixDiagShape(ShapeContext& c) {
  const PartialShape& diagonal = c.input(0);
  if (!diagonal.has_rank()) return absl::OkStatus();
  if (diagonal.rank() < 1) {
    return absl::InvalidArgumentError("diagonal must have at least one dimension, but is a scalar");
  }
  Dims dims(diagonal.dims().begin(), diagonal.dims().end());
  dims.push_back(dims.back());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status MatrixDiagShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(4));
  const PartialShape& diagonal = c.input(0);
  const std::optional<std::vector<int64_t>> k = c.input_ints(1);
  if (diagonal.has_rank() && diagonal.rank() < 1) {
    return absl::InvalidArgumentError("diagonal must have at least one dimension, but is a scalar");
  }
  if (!diagonal.has_rank() || !k) return absl::OkStatus();
  Band band;
  GYRE_RETURN_IF_ERROR(BandLimits(*k, band));
  if (band.count() > 1 && diagonal.rank() < 2) {
    return absl::InvalidArgumentError("diagonal must have at least two dimensions for a band");
  }
  Dims dims(diagonal.dims().begin(), diagonal.dims().end() - (band.count() > 1 ? 2 : 1));
  band.max_length = diagonal.dim(diagonal.rank() - 1);
  band.rows = band.columns = -1;
  const std::optional<int64_t> rows = c.input_int(2);
  const std::optional<int64_t> columns = c.input_int(3);
  if (band.max_length >= 0 && rows && columns) {
    GYRE_RETURN_IF_ERROR(MatrixSize(*rows, *columns, band));
  }
  dims.push_back(band.rows);
  dims.push_back(band.columns);
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

// The diagonal's elements are numbered and their numbers put into a matrix in their place: they say
// where each element of the matrix comes from, -1 (from none) for padding.
void MatrixDiagV3Gradient(GradientContext& g) {
  if (!g.wants(0) && !g.wants(4)) return;
  ExprBuilder& b = g.builder();
  const Expr dims = g.input_dims(0);
  const Expr count = g.op("Prod", {dims, b.Int(0)});
  const Expr numbers = Reshape(g.op("Range", {b.Int(0), count, b.Int(1)}), dims);
  const std::string align = g.attr<std::string>("align", "LEFT_LEFT");
  const Expr origins = g.op(
      "MatrixDiagV3", {numbers, g.input(1), g.input(2), g.input(3), b.Int(-1)}, {{"align", align}});
  if (g.wants(0)) {
    g.Add(0, Reshape(g.op("UnsortedSegmentSum", {g.grad(), origins, count}), dims));
  }
  if (g.wants(4)) {
    const Expr is_padding = g.op("Less", {origins, b.Int(0)});
    const Expr padding = Where(is_padding, g.grad(), b.Zero(g.output_dtype(0)));
    g.Add(4, Sum(Reshape(padding, b.Ints({-1})), b.Int(0)));
  }
}

void PlainMatrixDiagGradient(GradientContext& g) { g.Add(0, g.op("MatrixDiagPart", {g.grad()})); }

}  // namespace

void RegisterMatrixDiagV3(OpRegistry& ops) {
  for (const absl::string_view name : {"MatrixDiag", "BatchMatrixDiag"}) {
    ops.Add({
        .schema = absl::StrCat(name, "(diagonal: T) -> output: T {T: type}"),
        .doc = "Square matrices with the given diagonals, and zeros elsewhere.",
        .shape = PlainMatrixDiagShape,
        .gradient = {PlainMatrixDiagGradient},
        .batch = {batch::Stacked},
        .kernel = Compute<&MatrixDiag>(),
    });
  }
  ops.Add({
      .schema = "MatrixDiagV2(diagonal: T, k: int32, num_rows: int32, num_cols: int32, "
                "padding_value: T) -> output: T {T: type}",
      .doc =
          "Matrices with the given diagonals, from the left of their rows, and padding elsewhere.",
      .shape = MatrixDiagShape,
      .gradient = {MatrixDiagV3Gradient},
      .batch = {batch::FirstStacked},
      .kernel = Compute<&MatrixDiag>(),
  });
  ops.Add({
      .schema = "MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, "
                "padding_value: T) -> output: T {T: type; align: {'LEFT_RIGHT', 'RIGHT_LEFT', "
                "'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'}",
      .doc = "Matrices with the given diagonals, and padding elsewhere.",
      .shape = MatrixDiagShape,
      .gradient = {MatrixDiagV3Gradient},
      .batch = {batch::FirstStacked},
      .kernel = Compute<&MatrixDiag>(),
  });
}

}  // namespace gyre
