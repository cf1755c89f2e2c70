// Diagonals of matrices, matrices with others in their place, and the diagonals of tensors.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/linalg/band.h"
#include "ops/linalg/matrices.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr absl::string_view kAlign =
    "; align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'";

// The band `k` of matrices of this size.
absl::StatusOr<Band> BandOf(absl::Span<const int64_t> k, int64_t rows, int64_t columns) {
  Band band;
  GYRE_RETURN_IF_ERROR(BandLimits(k, band));
  for (const int64_t d : {band.lower, band.upper}) {
    if (d != 0 && (d <= -rows || d >= columns)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "diagonal index is out of bound: ", d, ". It must be between ", -rows, " and ", columns));
    }
  }
  band.rows = rows;
  band.columns = columns;
  band.max_length =
      std::min(rows + std::min<int64_t>(band.upper, 0), columns - std::max<int64_t>(band.lower, 0));
  return band;
}

// Input i of the node, or the main diagonal if it has none.
absl::StatusOr<Band> BandInput(const KernelContext& ctx, int i, const MatrixBatch& batch) {
  if (i >= ctx.num_inputs()) return BandOf({0}, batch.rows, batch.columns);
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> k, ctx.IntVector(i, "k"));
  return BandOf(k, batch.rows, batch.columns);
}

// What stands behind the dimensions of the batch in a tensor of diagonals.
Dims DiagonalDims(const Band& band) {
  return band.count() > 1 ? Dims{band.count(), band.max_length} : Dims{band.max_length};
}

// Calls body(position in a matrix, position in its diagonals, how far apart the elements are, how
// many there are) for each diagonal.
template <typename Body>
void ForDiagonals(const Band& band, const DiagAttrs& attrs, const Body& body) {
  for (int64_t d = band.upper; d >= band.lower; --d) {
    const int64_t length = std::max<int64_t>(0, band.Length(d));
    const int64_t at = d >= 0 ? d : -d * band.columns;
    body(at, (band.upper - d) * band.max_length + band.Start(d, attrs), band.columns + 1, length);
  }
}

absl::Status DiagPart(KernelContext& ctx, const DiagAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, MatricesOf(ctx, 0, "input"));
  GYRE_ASSIGN_OR_RETURN(const Band band, BandInput(ctx, 1, batch));
  const Tensor& input = ctx.input(0);
  if (ctx.num_inputs() > 2 && !ctx.input(2).shape().IsScalar()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "padding_value must be a scalar, but its shape is ", ctx.input(2).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(input.shape(), 2, DiagonalDims(band)));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), shape));
  const int64_t size = band.count() * band.max_length;
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitElement(input.dtype(), [&](auto tag) -> absl::Status {
      using E = typename decltype(tag)::type;
      const E* from = static_cast<const E*>(input.raw_data());
      const E padding =
          ctx.num_inputs() > 2 ? *static_cast<const E*>(ctx.input(2).raw_data()) : E();
      E* to = static_cast<E*>(out.mutable_raw_data());
      Mover<E> mover(ctx, out);
      const int64_t grain = std::max<int64_t>(1, (1 << 13) / size);
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch.count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const E* own = from + b * batch.size();
          ForDiagonals(band, attrs, [&](int64_t at, int64_t into, int64_t step, int64_t length) {
            E* row = to + b * size + into / band.max_length * band.max_length;
            const int64_t start = into % band.max_length;
            mover.Fill(padding, start, row);
            for (int64_t i = 0; i < length; ++i) mover.Set(row[start + i], own[at + i * step]);
            mover.Fill(padding, band.max_length - start - length, row + start + length);
          });
        }
      }));
      return mover.status();
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SetDiag(KernelContext& ctx, const DiagAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, MatricesOf(ctx, 0, "input"));
  GYRE_ASSIGN_OR_RETURN(const Band band, BandInput(ctx, 2, batch));
  const Tensor &input = ctx.input(0), &diagonal = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(const Shape wanted, ShapeLike(input.shape(), 2, DiagonalDims(band)));
  if (diagonal.shape() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("diagonal must have shape ", wanted.ToString(),
                                                   ", but has ", diagonal.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), input.shape()));
  const int64_t size = band.count() * band.max_length;
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitElement(input.dtype(), [&](auto tag) -> absl::Status {
      using E = typename decltype(tag)::type;
      const E* from = static_cast<const E*>(input.raw_data());
      const E* put = static_cast<const E*>(diagonal.raw_data());
      E* to = static_cast<E*>(out.mutable_raw_data());
      Mover<E> mover(ctx, out);
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
          out.num_elements(), 1 << 15,
          [&](int64_t begin, int64_t end) { mover.Copy(from + begin, end - begin, to + begin); }));
      if (size == 0) return mover.status();
      const int64_t grain = std::max<int64_t>(1, (1 << 13) / size);
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch.count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          ForDiagonals(band, attrs, [&](int64_t at, int64_t source, int64_t step, int64_t length) {
            for (int64_t i = 0; i < length; ++i)
              mover.Set(to[b * batch.size() + at + i * step], put[b * size + source + i]);
          });
        }
      }));
      return mover.status();
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// What is known of the diagonals of matrices of shape `matrices`; `k`: the input that names the
// band.
absl::StatusOr<PartialShape> DiagonalShape(const ShapeContext& c, const PartialShape& matrices,
                                           int k) {
  const bool has_k = k < static_cast<int>(c.inputs().size());
  std::optional<std::vector<int64_t>> band_limits =
      has_k ? c.input_ints(k) : std::vector<int64_t>{0};
  if (!matrices.has_rank() || !band_limits) return PartialShape::Unknown();
  const int64_t rows = matrices.dim(matrices.rank() - 2);
  const int64_t columns = matrices.dim(matrices.rank() - 1);
  if (rows < 0 || columns < 0) {
    Band band;
    GYRE_RETURN_IF_ERROR(BandLimits(*band_limits, band));
    return band.count() > 1 ? matrix_shape::Like(matrices, 2, {band.count(), -1})
                            : matrix_shape::Like(matrices, 2, {-1});
  }
  GYRE_ASSIGN_OR_RETURN(const Band band, BandOf(*band_limits, rows, columns));
  return matrix_shape::Like(matrices, 2, DiagonalDims(band));
}

absl::Status DiagPartShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape matrices, matrix_shape::Matrices(c, 0, "input"));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, DiagonalShape(c, matrices, 1));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status SetDiagShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape matrices, matrix_shape::Matrices(c, 0, "input"));
  GYRE_ASSIGN_OR_RETURN(const PartialShape diagonals, DiagonalShape(c, matrices, 2));
  const auto both = diagonals.Intersect(c.input(1));
  if (!both.ok()) return Annotate(both.status(), "diagonal does not fit input");
  c.set_output(0, matrices);
  return absl::OkStatus();
}

// The band that a node names, and how it is aligned.
struct BandOfNode {
  Expr k;
  AttrMap attrs;
};
BandOfNode NodeBand(GradientContext& g, int k) {
  return {g.num_inputs() > k ? g.input(k) : g.builder().Int(0),
          {{"align", g.attr<std::string>("align", "LEFT_LEFT")}}};
}

void DiagPartGradient(GradientContext& g) {
  const BandOfNode band = NodeBand(g, 1);
  if (g.wants(0)) g.Add(0, g.op("MatrixSetDiagV3", {g.zero(0), g.grad(), band.k}, band.attrs));
  if (g.num_inputs() < 3 || !g.wants(2)) return;
  // Padding is where ones do not come from the matrices.
  const Expr zero = g.builder().Zero(g.output_dtype(0));
  const Expr inside = g.op("MatrixDiagPartV3", {OnesLike(g.input(0)), band.k, zero}, band.attrs);
  g.Add(2, Sum(Reshape(g.grad() * (1.0 - inside), g.builder().Ints({-1})), g.builder().Int(0)));
}

void SetDiagGradient(GradientContext& g) {
  const BandOfNode band = NodeBand(g, 2);
  if (g.wants(0)) {
    g.Add(0, g.op("MatrixSetDiagV3", {g.grad(), ZerosLike(g.input(1)), band.k}, band.attrs));
  }
  if (g.wants(1)) {
    const Expr zero = g.builder().Zero(g.output_dtype(0));
    g.Add(1, g.op("MatrixDiagPartV3", {g.grad(), band.k, zero}, band.attrs));
  }
}

absl::Status SetDiagBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(2));
  std::vector<Expr> inputs = {c.stacked(0), c.stacked(1)};
  if (c.num_inputs() > 2) inputs.push_back(c.input(2));
  return c.Emit(inputs);
}

// The diagonal of a tensor whose dimensions are those of the result, twice.
absl::StatusOr<Shape> TensorDiagonal(const Shape& shape) {
  const int half = shape.rank() / 2;
  const auto dims = shape.dims();
  if (shape.rank() % 2 != 0 || shape.rank() == 0 ||
      !std::equal(dims.begin(), dims.begin() + half, dims.begin() + half)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have an even, positive number of dimensions, of which the second "
                     "half is like the first, but its shape is ",
                     shape.ToString()));
  }
  return Shape::Make(dims.subspan(0, half));
}

absl::Status TensorDiag(KernelContext& ctx) {
  const Tensor& diagonal = ctx.input(0);
  if (diagonal.rank() < 1) {
    return absl::InvalidArgumentError("diagonal must have at least one dimension, but is a scalar");
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(diagonal.shape(), 0, diagonal.shape().dims()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(diagonal.dtype(), shape));
  const int64_t n = diagonal.num_elements();
  GYRE_RETURN_IF_ERROR(VisitElement(diagonal.dtype(), [&](auto tag) -> absl::Status {
    using E = typename decltype(tag)::type;
    const E* from = static_cast<const E*>(diagonal.raw_data());
    E* to = static_cast<E*>(out.mutable_raw_data());
    return ctx.ParallelRun(n, 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i * (n + 1)] = from[i];
    });
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status TensorDiagPart(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, TensorDiagonal(input.shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), shape));
  const int64_t n = out.num_elements();
  GYRE_RETURN_IF_ERROR(VisitElement(input.dtype(), [&](auto tag) -> absl::Status {
    using E = typename decltype(tag)::type;
    const E* from = static_cast<const E*>(input.raw_data());
    E* to = static_cast<E*>(out.mutable_raw_data());
    return ctx.ParallelRun(n, 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = from[i * (n + 1)];
    });
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status TensorDiagShape(ShapeContext& c) {
  const PartialShape& diagonal = c.input(0);
  if (!diagonal.has_rank()) return absl::OkStatus();
  if (diagonal.rank() < 1) {
    return absl::InvalidArgumentError("diagonal must have at least one dimension, but is a scalar");
  }
  c.set_output(0, matrix_shape::Like(diagonal, 0, diagonal.dims()));
  return absl::OkStatus();
}

absl::Status TensorDiagPartShape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return absl::OkStatus();
  if (input.rank() % 2 != 0 || input.rank() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have an even, positive number of dimensions, but its shape is ",
                     input.ToString()));
  }
  const int half = input.rank() / 2;
  const PartialShape first(Dims(input.dims().begin(), input.dims().begin() + half));
  const PartialShape second(Dims(input.dims().begin() + half, input.dims().end()));
  GYRE_ASSIGN_OR_RETURN(PartialShape both, first.Intersect(second));
  c.set_output(0, std::move(both));
  return absl::OkStatus();
}

void AddDiagPart(OpRegistry& ops, absl::string_view name, absl::string_view more_inputs,
                 absl::string_view more_attrs) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: T", more_inputs, ") -> diagonal: T {T: type",
                             more_attrs, "}"),
      .doc = "The diagonals of matrices, one to a row, and padding where they are shorter.",
      .shape = DiagPartShape,
      .gradient = {DiagPartGradient},
      .batch = {batch::FirstStacked},
      .kernel = Compute<&DiagPart>(),
  });
}

void AddSetDiag(OpRegistry& ops, absl::string_view name, absl::string_view more_inputs,
                absl::string_view more_attrs) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: T, diagonal: T", more_inputs, ") -> output: T {T: type",
                             more_attrs, "}"),
      .doc = "Matrices with the given diagonals in place of their own.",
      .shape = SetDiagShape,
      .gradient = {SetDiagGradient},
      .batch = {SetDiagBatch},
      .kernel = Compute<&SetDiag>(),
  });
}

constexpr absl::string_view kTensorDiagTypes =
    "{T: {bfloat16, half, float, double, int32, int64, complex64, complex128}}";

}  // namespace

void RegisterDiagonals(OpRegistry& ops) {
  AddDiagPart(ops, "MatrixDiagPart", "", "");
  AddDiagPart(ops, "BatchMatrixDiagPart", "", "");
  AddDiagPart(ops, "MatrixDiagPartV2", ", k: int32, padding_value: T", "");
  AddDiagPart(ops, "MatrixDiagPartV3", ", k: int32, padding_value: T", kAlign);
  AddSetDiag(ops, "MatrixSetDiag", "", "");
  AddSetDiag(ops, "BatchMatrixSetDiag", "", "");
  AddSetDiag(ops, "MatrixSetDiagV2", ", k: int32", "");
  AddSetDiag(ops, "MatrixSetDiagV3", ", k: int32", kAlign);
  ops.Add({
      .schema = absl::StrCat("Diag(diagonal: T) -> output: T ", kTensorDiagTypes),
      .doc = "A tensor with the dimensions of diagonal, twice, and its elements where both halves "
             "of an index are equal.",
      .shape = TensorDiagShape,
      .gradient = {[](GradientContext& g) { g.Add(0, g.op("DiagPart", {g.grad()})); }},
      .kernel = Compute<&TensorDiag>(),
  });
  ops.Add({
      .schema = absl::StrCat("DiagPart(input: T) -> diagonal: T ", kTensorDiagTypes),
      .doc = "The elements where both halves of an index are equal.",
      .shape = TensorDiagPartShape,
      .gradient = {[](GradientContext& g) { g.Add(0, g.op("Diag", {g.grad()})); }},
      .kernel = Compute<&TensorDiagPart>(),
  });
}

}  // namespace gyre
