#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/segment_combine.h"
#include "ops/reduction/segment_gradient.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kWorkPerPoll = 1 << 18;

// The ids, checked: each below num_segments. Negative ones stay; their rows are dropped.
template <typename I>
absl::Status ReadIds(const KernelContext& ctx, absl::Span<const I> ids, int64_t num_segments,
                     std::vector<int64_t>& out) {
  out.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % kWorkPerPoll == kWorkPerPoll - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t id = ids[i];
    if (id >= num_segments) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment_ids[", i, "] = ", id, " is out of range [0, ", num_segments, ")"));
    }
    out.push_back(id);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> IdsInput(const KernelContext& ctx, int64_t num_segments) {
  const Shape& data = ctx.input(0).shape();
  const Tensor& ids = ctx.input(1);
  const bool is_prefix =
      ids.rank() <= data.rank() &&
      std::equal(ids.shape().dims().begin(), ids.shape().dims().end(), data.dims().begin());
  if (!is_prefix) {
    return absl::InvalidArgumentError(absl::StrCat("the shape of data, ", data.ToString(),
                                                   ", does not start with that of segment_ids, ",
                                                   ids.shape().ToString()));
  }
  std::vector<int64_t> out;
  using IdTypes = Types<int16_t, int32_t, int64_t>;
  GYRE_RETURN_IF_ERROR(VisitType<IdTypes>(ids.dtype(), [&](auto tag) {
    return ReadIds(ctx, ids.values<typename decltype(tag)::type>(), num_segments, out);
  }));
  return out;
}

absl::StatusOr<Shape> OutputShape(const Shape& data, int ids_rank, int64_t num_segments) {
  Dims dims;
  dims.push_back(num_segments);
  for (int i = ids_rank; i < data.rank(); ++i) dims.push_back(data.dim(i));
  return Shape::Make(dims);
}

// What depends on the type of the elements and on how they are combined.
struct SegmentFunctions {
  // Fills n elements with the result of an empty segment.
  void (*fill)(void* out, int64_t n);
  // Combines elements [begin, end) of `row` into those of `segment`.
  void (*combine)(const void* row, void* segment, int64_t begin, int64_t end);
};

template <typename T, SegmentCombine kCombine>
void FillEmpty(void* out, int64_t n) {
  std::fill_n(static_cast<T*>(out), n, SegmentIdentity<T, kCombine>());
}

template <typename T, SegmentCombine kCombine>
void CombineRow(const void* row, void* segment, int64_t begin, int64_t end) {
  const T* from = static_cast<const T*>(row);
  T* to = static_cast<T*>(segment);
  for (int64_t j = begin; j < end; ++j) {
    to[j] = FromAccumulator<T>(CombineIntoSegment<T, kCombine>(ToAccumulator(to[j]), from[j]));
  }
}

// Rows of a segment are combined in their order. What is shared out is columns, so that no two
// threads meet in one.
absl::Status CombineRows(const KernelContext& ctx, const SegmentFunctions& functions,
                         const char* data, const std::vector<int64_t>& ids, int64_t width,
                         int64_t row_bytes, char* out) {
  const auto rows = static_cast<int64_t>(ids.size());
  const int64_t grain = std::max<int64_t>(64, (1 << 16) / rows);
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(width, grain, [&](int64_t begin, int64_t end) {
    const int64_t rows_per_poll = std::max<int64_t>(1, kWorkPerPoll / (end - begin));
    for (int64_t i = 0; i < rows; ++i) {
      if (i % rows_per_poll == rows_per_poll - 1 && !ctx.Poll().ok()) return;
      if (ids[i] < 0) continue;
      functions.combine(data + i * row_bytes, out + ids[i] * row_bytes, begin, end);
    }
  }));
  return ctx.Poll();  // the body stops half-way when cancelled
}

absl::Status RunUnsortedSegments(KernelContext& ctx, const SegmentFunctions& functions) {
  GYRE_ASSIGN_OR_RETURN(const int64_t num_segments, ctx.IntScalar(2, "num_segments"));
  if (num_segments < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_segments must not be negative, but is ", num_segments));
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, IdsInput(ctx, num_segments));
  const Tensor& data = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        OutputShape(data.shape(), ctx.input(1).rank(), num_segments));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(data.dtype(), shape));
  char* const results = static_cast<char*>(out.mutable_raw_data());
  const auto size = static_cast<int64_t>(DTypeSize(data.dtype()));
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
      out.num_elements(), kWorkPerPoll,
      [&](int64_t begin, int64_t end) { functions.fill(results + begin * size, end - begin); }));
  if (data.num_elements() > 0 && out.num_elements() > 0) {
    const int64_t width = data.num_elements() / static_cast<int64_t>(ids.size());
    const int64_t row_bytes = width * size;
    GYRE_RETURN_IF_ERROR(CombineRows(ctx, functions, static_cast<const char*>(data.raw_data()), ids,
                                     width, row_bytes, results));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <SegmentCombine kCombine>
struct UnsortedSegmentKernels {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx) {
      return RunUnsortedSegments(ctx, {&FillEmpty<T, kCombine>, &CombineRow<T, kCombine>});
    }
  };
};

// [num_segments] and what follows segment_ids' dimensions in data.
absl::Status UnsortedSegmentShape(ShapeContext& c) {
  const PartialShape& data = c.input(0);
  const PartialShape& ids = c.input(1);
  if (!data.has_rank() || !ids.has_rank()) return absl::OkStatus();
  const auto too_long = [&] {
    return absl::InvalidArgumentError(absl::StrCat("the shape of data, ", data.ToString(),
                                                   ", does not start with that of segment_ids, ",
                                                   ids.ToString()));
  };
  if (ids.rank() > data.rank()) return too_long();
  const auto split = data.dims().begin() + ids.rank();
  if (!PartialShape(Dims(data.dims().begin(), split)).Intersect(ids).ok()) return too_long();
  const std::optional<int64_t> num_segments = c.input_int(2);
  if (num_segments && *num_segments < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_segments must not be negative, but is ", *num_segments));
  }
  Dims dims = {num_segments.value_or(-1)};
  dims.insert(dims.end(), split, data.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

// Each row has segments of its own, one behind the other. Numbers below zero are left out, as
// before; those that are too large stay too large.
absl::Status UnsortedSegmentBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  const Expr given = c.stacked(1);
  if (!given.ok()) return c.builder().status();
  const DType dtype = given.dtype();
  const Expr count = Cast(c.input(2), dtype);
  const Expr all = count * Cast(c.rows(), dtype);
  const Expr row = batch::WithOnesBehindRows(batch::CountTo(Cast(c.rows(), dtype)), rank);
  const Expr ids = Where(c.op("Less", {given, c.builder().Zero(dtype)}), given,
                         Where(c.op("Less", {given, count}), given + row * count, all));
  const Expr sums = c.op(c.node().op_name, {c.stacked(0), ids, Cast(all, c.input_dtype(2))});
  if (const auto known = c.output_row_shape(0).ToShape()) {
    const std::vector<int32_t> dims(known->dims().begin(), known->dims().end());
    return c.EmitAs("Reshape", {sums, c.with_rows(c.builder().Ints(dims))});
  }
  const Expr own = c.op("ExpandDims", {Cast(c.input(2), DType::kInt32), c.builder().Int(0)});
  return c.EmitAs("Reshape",
                  {sums, c.with_rows(batch::Joined({own, batch::Behind(ShapeOf(sums))}))});
}

template <SegmentCombine kCombine, typename Set>
void Add(OpRegistry& ops, absl::string_view schema, std::vector<absl::string_view> api,
         absl::string_view doc, GradientFn gradient) {
  ops.Add({
      .schema = schema,
      .doc = doc,
      .api = std::move(api),
      .shape = UnsortedSegmentShape,
      .gradient = {gradient},
      .batch = {UnsortedSegmentBatch},
      .kernel = ForTypes<UnsortedSegmentKernels<kCombine>::template For, Set>("T"),
  });
}

}  // namespace

void RegisterUnsortedSegments(OpRegistry& ops) {
  Add<SegmentCombine::kSum, NumberTypes>(
      ops,
      "UnsortedSegmentSum(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T "
      "{T: numbertype; Tindices: {int16, int32, int64}; Tnumsegments: indextype = int32}",
      {"math.unsorted_segment_sum"},
      "Adds up the rows of each segment; negative ids drop their row.", SegmentSumGradient);
  Add<SegmentCombine::kProd, NumberTypes>(
      ops,
      "UnsortedSegmentProd(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: "
      "T {T: numbertype; Tindices: indextype; Tnumsegments: indextype = int32}",
      {"math.unsorted_segment_prod"},
      "Multiplies the rows of each segment; negative ids drop their row.", SegmentProdGradient);
  Add<SegmentCombine::kMax, RealTypes>(
      ops,
      "UnsortedSegmentMax(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T "
      "{T: realnumbertype; Tindices: indextype; Tnumsegments: indextype = int32}",
      {"math.unsorted_segment_max"},
      "The largest elements of each segment's rows, or the lowest finite value where there are "
      "none.",
      SegmentExtremumGradient);
  Add<SegmentCombine::kMin, RealTypes>(
      ops,
      "UnsortedSegmentMin(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T "
      "{T: realnumbertype; Tindices: indextype; Tnumsegments: indextype = int32}",
      {"math.unsorted_segment_min"},
      "The smallest elements of each segment's rows, or the highest finite value where there are "
      "none.",
      SegmentExtremumGradient);
}

}  // namespace gyre
