// DynamicStitch, DynamicPartition: rows put together by index, and parted by number.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/array/rule_dims.h"
#include "ops/dispatch.h"
#include "ops/memory.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Whether `shape` begins with `prefix`.
bool StartsWith(const Shape& shape, const Shape& prefix) {
  return shape.rank() >= prefix.rank() && shape.dims().subspan(0, prefix.rank()) == prefix.dims();
}

absl::Span<const int64_t> Suffix(const Shape& shape, int begin) {
  return shape.dims().subspan(begin);
}

// The dimensions of a row, which all pieces of data share. INVALID_ARGUMENT when they don't.
absl::StatusOr<Dims> RowDims(const KernelContext& ctx, int pieces) {
  const auto row =
      Suffix(ctx.input(pieces).shape(), std::min(ctx.input(0).rank(), ctx.input(pieces).rank()));
  for (int i = 0; i < pieces; ++i) {
    const Shape& indices = ctx.input(i).shape();
    const Shape& data = ctx.input(pieces + i).shape();
    if (!StartsWith(data, indices)) {
      return absl::InvalidArgumentError(absl::StrCat("data[", i, "].shape = ", data.ToString(),
                                                     " does not start with indices[", i,
                                                     "].shape = ", indices.ToString()));
    }
    if (Suffix(data, indices.rank()) != row) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Need data[0].shape[", ctx.input(0).rank(), ":] = data[", i, "].shape[", indices.rank(),
          ":], got data[0].shape = ", ctx.input(pieces).shape().ToString(), ", data[", i,
          "].shape = ", data.ToString()));
    }
  }
  return Dims(row.begin(), row.end());
}

// One more than the largest index. INVALID_ARGUMENT for a negative one.
absl::StatusOr<int64_t> StitchedRows(const KernelContext& ctx, int pieces) {
  int64_t rows = 0;
  for (int i = 0; i < pieces; ++i) {
    const auto indices = ctx.input(i).values<int32_t>();
    for (size_t k = 0; k < indices.size(); ++k) {
      if (indices[k] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("indices[", i, "] has the negative index ",
                                                       indices[k], " at position ", k));
      }
      rows = std::max<int64_t>(rows, int64_t{indices[k]} + 1);
    }
  }
  return rows;
}

template <typename T>
absl::Status StitchRows(const KernelContext& ctx, int pieces, int64_t row, Tensor& out) {
  T* to = static_cast<T*>(out.mutable_raw_data());
  Mover<T> mover(ctx, out);
  int64_t since_poll = 0;
  for (int i = 0; i < pieces; ++i) {
    const auto indices = ctx.input(i).values<int32_t>();
    const T* from = static_cast<const T*>(ctx.input(pieces + i).raw_data());
    for (size_t k = 0; k < indices.size(); ++k) {
      mover.Copy(from + static_cast<int64_t>(k) * row, row, to + indices[k] * row);
      since_poll += row;
      if (since_poll >= kElementGrain) {
        GYRE_RETURN_IF_ERROR(ctx.Poll());
        since_poll = 0;
      }
    }
  }
  return mover.status();
}

// A row named twice is the last one named; a row never named is zero.
absl::Status ComputeDynamicStitch(KernelContext& ctx) {
  const int pieces = ctx.num_inputs() / 2;
  GYRE_ASSIGN_OR_RETURN(Dims dims, RowDims(ctx, pieces));
  GYRE_ASSIGN_OR_RETURN(const int64_t rows, StitchedRows(ctx, pieces));
  int64_t row = 1;
  for (const int64_t dim : dims) row *= dim;
  dims.insert(dims.begin(), rows);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(ctx.output_dtype(0), shape));
  if (shape.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitElement(out.dtype(), [&](auto tag) {
      return StitchRows<typename decltype(tag)::type>(ctx, pieces, row, out);
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The number of rows, when all indices are known.
int64_t KnownRows(const ShapeContext& ctx, int pieces) {
  int64_t rows = 0;
  for (int i = 0; i < pieces; ++i) {
    const auto indices = ctx.input_ints(i);
    if (!indices) return -1;
    for (const int64_t index : *indices) rows = std::max(rows, index + 1);
  }
  return rows;
}

// The list that known indices make of lists of dimensions.
void StitchDims(ShapeContext& ctx, int pieces, int64_t rows) {
  if (rows < 0 || rows > Shape::kMaxRank) return;
  Dims stitched(rows, 0);
  for (int i = 0; i < pieces; ++i) {
    const auto indices = ctx.input_ints(i);
    const auto dims = KnownDims(ctx, pieces + i);
    if (!indices || !dims || dims->rank() != static_cast<int>(indices->size())) return;
    for (size_t k = 0; k < indices->size(); ++k) {
      if ((*indices)[k] < 0) return;
      stitched[(*indices)[k]] = dims->dim(static_cast<int>(k));
    }
  }
  SetDims(ctx, 0, PartialShape(std::move(stitched)));
}

absl::Status DynamicStitchRule(ShapeContext& ctx) {
  const int pieces = ctx.num_inputs() / 2;
  PartialShape row;
  for (int i = 0; i < pieces; ++i) {
    const PartialShape& indices = ctx.input(i);
    const PartialShape& data = ctx.input(pieces + i);
    if (!indices.has_rank() || !data.has_rank()) continue;
    if (data.rank() < indices.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("data[", i, "].shape = ", data.ToString(),
                                                     " does not start with indices[", i,
                                                     "].shape = ", indices.ToString()));
    }
    const auto dims = data.dims().subspan(indices.rank());
    absl::StatusOr<PartialShape> both = row.Intersect(PartialShape(Dims(dims.begin(), dims.end())));
    if (!both.ok()) return Annotate(both.status(), "the rows of all data must have one shape");
    row = *std::move(both);
  }
  if (!row.has_rank()) return absl::OkStatus();
  const int64_t rows = KnownRows(ctx, pieces);
  Dims dims(row.dims().begin(), row.dims().end());
  dims.insert(dims.begin(), rows);
  ctx.set_output(0, PartialShape(std::move(dims)));
  if (row.rank() == 0) StitchDims(ctx, pieces, rows);
  return absl::OkStatus();
}

// How many rows go to each output.
absl::StatusOr<Dims> CountRows(const KernelContext& ctx, const Tensor& partitions) {
  const int64_t n = ctx.num_outputs();
  Dims counts(n, 0);
  const auto values = partitions.values<int32_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= n) {
      const std::string at =
          partitions.rank() == 0
              ? ""
              : absl::StrCat("[", Coordinates(partitions.shape(), static_cast<int64_t>(i)), "]");
      return absl::InvalidArgumentError(
          absl::StrCat("partitions", at, " = ", values[i], " is not in [0, ", n, ")"));
    }
    ++counts[values[i]];
  }
  return counts;
}

template <typename T>
absl::Status PartRows(const KernelContext& ctx, absl::Span<const int32_t> partitions,
                      const Tensor& data, int64_t row, absl::Span<Tensor> outputs) {
  const T* from = static_cast<const T*>(data.raw_data());
  absl::InlinedVector<T*, 8> to;
  to.reserve(outputs.size());
  for (Tensor& output : outputs) {
    if (to.size() % kElementGrain == kElementGrain - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    to.push_back(static_cast<T*>(output.mutable_raw_data()));
  }
  Mover<T> mover(ctx, outputs[0]);
  int64_t since_poll = 0;
  for (size_t i = 0; i < partitions.size(); ++i) {
    T*& next = to[partitions[i]];
    mover.Into(outputs[partitions[i]]);
    mover.Copy(from + static_cast<int64_t>(i) * row, row, next);
    next += row;
    since_poll += row;
    if (since_poll >= kElementGrain) {
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      since_poll = 0;
    }
  }
  return mover.status();
}

absl::Status ComputeDynamicPartition(KernelContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Tensor& partitions = ctx.input(1);
  if (!StartsWith(data.shape(), partitions.shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.shape must start with partitions.shape, got data.shape = ", data.shape().ToString(),
        ", partitions.shape = ", partitions.shape().ToString()));
  }
  // Of each output, whatever its size: its count, itself, and where its next row goes.
  MemoryCharge charge(ctx.env().budget);
  constexpr int64_t kBytes = sizeof(int64_t) + sizeof(Tensor) + sizeof(void*);
  GYRE_RETURN_IF_ERROR(charge.Set(ctx.num_outputs() * kBytes));
  GYRE_ASSIGN_OR_RETURN(const Dims counts, CountRows(ctx, partitions));
  const auto suffix = Suffix(data.shape(), partitions.rank());
  Dims dims(suffix.begin(), suffix.end());
  int64_t row = 1;
  for (const int64_t dim : dims) row *= dim;
  dims.insert(dims.begin(), 0);
  absl::InlinedVector<Tensor, 8> outputs;
  outputs.reserve(counts.size());
  for (const int64_t count : counts) {
    if (outputs.size() % 1024 == 1023) GYRE_RETURN_IF_ERROR(ctx.Poll());
    dims[0] = count;
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    GYRE_ASSIGN_OR_RETURN(Tensor output, ctx.Allocate(data.dtype(), shape));
    outputs.push_back(std::move(output));
  }
  if (data.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitElement(data.dtype(), [&](auto tag) {
      return PartRows<typename decltype(tag)::type>(ctx, partitions.values<int32_t>(), data, row,
                                                    absl::MakeSpan(outputs));
    }));
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (i % kElementGrain == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    ctx.set_output(i, std::move(outputs[i]));
  }
  return absl::OkStatus();
}

absl::Status DynamicPartitionRule(ShapeContext& ctx) {
  const PartialShape& data = ctx.input(0);
  const PartialShape& partitions = ctx.input(1);
  if (!data.has_rank() || !partitions.has_rank()) return absl::OkStatus();
  const auto unlike = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.shape must start with partitions.shape, got data.shape = ", data.ToString(),
        ", partitions.shape = ", partitions.ToString()));
  };
  if (data.rank() < partitions.rank()) return unlike();
  for (int d = 0; d < partitions.rank(); ++d) {
    const int64_t a = data.dim(d);
    const int64_t b = partitions.dim(d);
    if (a >= 0 && b >= 0 && a != b) return unlike();
  }
  Dims dims(data.dims().begin() + partitions.rank(), data.dims().end());
  dims.insert(dims.begin(), -1);
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape(dims));
  return absl::OkStatus();
}

void DynamicStitchGradient(GradientContext& g) {
  const int pieces = g.num_inputs() / 2;
  for (int i = 0; i < pieces; ++i) {
    if (!g.wants(pieces + i)) continue;
    g.Add(pieces + i, g.op("GatherV2", {g.grad(), g.input(i), g.builder().Int(0)}));
  }
}

// Where each row went, the same way, tells whence its gradient comes.
void DynamicPartitionGradient(GradientContext& g) {
  const int parts = g.num_outputs();
  const RuleDims partitions = RuleDims::OfInput(g, 1);
  const Expr rows = Reshape(CountTo(partitions.Size()), partitions.All());
  std::vector<Expr> stitched = g.builder().Ops("DynamicPartition", {rows, g.input(1)},
                                               {{"num_partitions", int64_t{parts}}}, parts);
  for (int i = 0; i < parts; ++i) stitched.push_back(g.grad(i));
  g.Add(0, Reshape(g.op("DynamicStitch", std::move(stitched)), g.input_dims(0)));
}

}  // namespace

void RegisterDynamicStitch(OpRegistry& ops) {
  ops.Add({
      .schema = "DynamicStitch(indices: N * int32, data: N * T) -> merged: T {N: int >= 1; "
                "T: type}",
      .doc = "One tensor made of rows of several, each put where its index says.",
      .shape = DynamicStitchRule,
      .gradient = {DynamicStitchGradient},
      .kernel = Compute<ComputeDynamicStitch>(),
  });
  ops.Add({
      .schema = "DynamicPartition(data: T, partitions: int32) -> outputs: num_partitions * T "
                "{num_partitions: int >= 1; T: type}",
      .doc = "The rows of a tensor, parted by the number that each carries.",
      .shape = DynamicPartitionRule,
      .gradient = {DynamicPartitionGradient},
      .kernel = Compute<ComputeDynamicPartition>(),
  });
}

}  // namespace gyre
