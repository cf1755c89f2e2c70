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

constexpr int64_t kTile = 256;  // neighbouring columns combined at once
constexpr int64_t kWorkPerPoll = 1 << 16;

// Rows [begin, end) of the data make segment `id`.
struct Segment {
  int64_t begin;
  int64_t end;
  int64_t id;
};

// The runs of equal ids. INVALID_ARGUMENT unless they are non-negative and don't decrease.
template <typename I>
absl::StatusOr<std::vector<Segment>> FindSegments(const KernelContext& ctx,
                                                  absl::Span<const I> ids) {
  std::vector<Segment> segments;
  // At once where ids are as they must be: moving them when there are more takes long.
  if (!ids.empty() && ids.front() >= 0 && ids.back() >= ids.front()) {
    // As uint64_t: the largest id has none behind it.
    segments.reserve(std::min<uint64_t>(
        ids.size(), static_cast<uint64_t>(ids.back()) - static_cast<uint64_t>(ids.front()) + 1));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % kWorkPerPoll == kWorkPerPoll - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t id = ids[i];
    if (id < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment_ids[", i, "] = ", id, " is negative"));
    }
    const auto row = static_cast<int64_t>(i);
    if (!segments.empty() && segments.back().id == id) {
      segments.back().end = row + 1;
    } else if (!segments.empty() && segments.back().id > id) {
      return absl::InvalidArgumentError(absl::StrCat("segment ids are not increasing: segment_ids[",
                                                     i, "] = ", id, " follows ",
                                                     segments.back().id));
    } else {
      segments.push_back({row, row + 1, id});
    }
  }
  return segments;
}

absl::StatusOr<std::vector<Segment>> SegmentsInput(const KernelContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Tensor& ids = ctx.input(1);
  if (ids.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment_ids must be a vector, but its shape is ", ids.shape().ToString()));
  }
  if (data.rank() < 1 || data.dim(0) != ids.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment_ids must have one id for each row of data, but there are ",
                     ids.dim(0), " ids and the shape of data is ", data.shape().ToString()));
  }
  if (ids.dtype() == DType::kInt32) return FindSegments(ctx, ids.values<int32_t>());
  return FindSegments(ctx, ids.values<int64_t>());
}

// What depends on the type of the elements and on how they are combined.
struct SegmentFunctions {
  // Fills n elements that belong to no segment.
  void (*fill)(void* out, int64_t n);
  // Combines rows of `width` elements into one. Stops half-way when the run is cancelled.
  void (*reduce)(const KernelContext& ctx, const void* rows, int64_t num_rows, int64_t width,
                 void* out);
};

template <typename T, SegmentCombine kCombine>
void FillMissing(void* out, int64_t n) {
  T missing{};
  if constexpr (kCombine == SegmentCombine::kProd) missing = SegmentIdentity<T, kCombine>();
  std::fill_n(static_cast<T*>(out), n, missing);
}

template <typename T, SegmentCombine kCombine>
void ReduceRows(const KernelContext& ctx, const void* rows, int64_t num_rows, int64_t width,
                void* out) {
  for (int64_t column = 0; column < width; column += kTile) {
    const int64_t n = std::min(kTile, width - column);
    const int64_t rows_per_poll = std::max<int64_t>(1, kWorkPerPoll / n);
    Accumulator<T> acc[kTile];
    const T* row = static_cast<const T*>(rows) + column;
    T* to = static_cast<T*>(out) + column;
    for (int64_t j = 0; j < n; ++j) acc[j] = ToAccumulator(row[j]);
    for (int64_t i = 1; i < num_rows; ++i) {
      if (i % rows_per_poll == 0 && !ctx.Poll().ok()) return;
      row += width;
      for (int64_t j = 0; j < n; ++j) acc[j] = CombineIntoSegment<T, kCombine>(acc[j], row[j]);
    }
    for (int64_t j = 0; j < n; ++j) {
      // The sum of integers wraps around in their own type before it is divided, unlike Mean's.
      if constexpr (std::is_integral_v<T>) acc[j] = ToAccumulator(FromAccumulator<T>(acc[j]));
      to[j] = kCombine == SegmentCombine::kMean ? MeanOf<T>(acc[j], num_rows)
                                                : FromAccumulator<T>(acc[j]);
    }
  }
}

absl::Status RunSegments(KernelContext& ctx, const SegmentFunctions& functions) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Segment> segments, SegmentsInput(ctx));
  const Tensor& data = ctx.input(0);
  const int64_t last = segments.empty() ? -1 : segments.back().id;
  if (last == std::numeric_limits<int64_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("segment id ", last, " is too large"));
  }
  Dims dims(data.shape().dims().begin(), data.shape().dims().end());
  dims[0] = last + 1;
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(data.dtype(), shape));
  if (out.num_elements() > 0) {
    const int64_t width = out.num_elements() / shape.dim(0);
    const int64_t row_bytes = width * static_cast<int64_t>(DTypeSize(data.dtype()));
    const char* from = static_cast<const char*>(data.raw_data());
    char* to = static_cast<char*>(out.mutable_raw_data());
    const auto n = static_cast<int64_t>(segments.size());
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / (data.num_elements() / n + 1));
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        const Segment& segment = segments[s];
        const int64_t gap = s == 0 ? 0 : segments[s - 1].id + 1;
        functions.fill(to + gap * row_bytes, (segment.id - gap) * width);
        functions.reduce(ctx, from + segment.begin * row_bytes, segment.end - segment.begin, width,
                         to + segment.id * row_bytes);
      }
    }));
    GYRE_RETURN_IF_ERROR(ctx.Poll());  // `reduce` stops half-way when cancelled
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <SegmentCombine kCombine>
struct SegmentKernels {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx) {
      return RunSegments(ctx, {&FillMissing<T, kCombine>, &ReduceRows<T, kCombine>});
    }
  };
};

absl::Status SegmentShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  const PartialShape& data = c.input(0);
  if (!data.has_rank()) return absl::OkStatus();
  if (data.rank() == 0) return absl::InvalidArgumentError("data must have at least one dimension");
  if (c.input(1).has_rank()) {
    GYRE_RETURN_IF_ERROR(PartialShape(Dims{data.dim(0)}).Intersect(c.input(1)).status());
  }
  PartialShape out = data;
  out.set_dim(0, -1);
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The same segments in all rows: rows are what the tensors are summed along with.
absl::Status SegmentBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const auto rank = [](const PartialShape& row) { return row.has_rank() ? row.rank() + 1 : -1; };
  const Expr sums = c.op(c.node().op_name,
                         {batch::FirstAxesSwapped(c.input(0), rank(c.row_shape(0))), c.input(1)});
  c.Set(0, batch::FirstAxesSwapped(sums, rank(c.output_row_shape(0))));
  return absl::OkStatus();
}

template <SegmentCombine kCombine, typename Set>
void Add(OpRegistry& ops, absl::string_view schema, std::vector<absl::string_view> api,
         absl::string_view doc, GradientFn gradient) {
  ops.Add({
      .schema = schema,
      .doc = doc,
      .api = std::move(api),
      .shape = SegmentShape,
      .gradient = {gradient},
      .batch = {SegmentBatch},
      .kernel = ForTypes<SegmentKernels<kCombine>::template For, Set>("T"),
  });
}

}  // namespace

void RegisterSegments(OpRegistry& ops) {
  Add<SegmentCombine::kSum, NumberTypes>(
      ops,
      "SegmentSum(data: T, segment_ids: Tindices) -> output: T {T: numbertype; Tindices: "
      "indextype}",
      {"math.segment_sum"},
      "Adds up the rows of each segment; ids are sorted, missing ones give zeros.",
      SegmentSumGradient);
  Add<SegmentCombine::kMean, NumberTypes>(
      ops,
      "SegmentMean(data: T, segment_ids: Tindices) -> output: T {T: numbertype; Tindices: "
      "indextype}",
      {"math.segment_mean"},
      "Averages the rows of each segment; ids are sorted, missing ones give zeros.",
      SegmentMeanGradient);
  Add<SegmentCombine::kProd, NumberTypes>(
      ops,
      "SegmentProd(data: T, segment_ids: Tindices) -> output: T {T: numbertype; Tindices: "
      "indextype}",
      {"math.segment_prod"},
      "Multiplies the rows of each segment; ids are sorted, missing ones give ones.",
      SegmentProdGradient);
  Add<SegmentCombine::kMax, RealTypes>(ops,
                                       "SegmentMax(data: T, segment_ids: Tindices) -> output: T "
                                       "{T: realnumbertype; Tindices: indextype}",
                                       {"math.segment_max"},
                                       "The largest elements of each segment's rows; ids are "
                                       "sorted, missing ones give zeros.",
                                       SegmentExtremumGradient);
  Add<SegmentCombine::kMin, RealTypes>(ops,
                                       "SegmentMin(data: T, segment_ids: Tindices) -> output: T "
                                       "{T: realnumbertype; Tindices: indextype}",
                                       {"math.segment_min"},
                                       "The smallest elements of each segment's rows; ids are "
                                       "sorted, missing ones give zeros.",
                                       SegmentExtremumGradient);
}

}  // namespace gyre
