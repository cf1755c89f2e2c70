// ReduceJoin and UnsortedSegmentJoin: texts joined along dimensions, and by segments.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/reduction/axes.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kTextsPerPoll = 1024;

struct JoinAttrs {
  explicit JoinAttrs(const Node& node) : separator(NodeAttr<std::string>(node, "separator")) {}
  std::string separator;
};

struct ReduceJoinAttrs {
  explicit ReduceJoinAttrs(const Node& node)
      : separator(NodeAttr<std::string>(node, "separator")),
        keep_dims(NodeAttr<bool>(node, "keep_dims")) {}
  std::string separator;
  bool keep_dims;
};

Dims Strides(const Shape& shape) {
  Dims strides(shape.rank(), 1);
  for (int d = shape.rank() - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape.dim(d + 1);
  return strides;
}

// Dimensions in an order, the last of which runs fastest, and where that leads to.
class Walk {
 public:
  Walk(const Shape& shape, absl::Span<const int> dims) {
    const Dims strides = Strides(shape);
    for (const int d : dims) {
      sizes_.push_back(shape.dim(d));
      strides_.push_back(strides[d]);
      count_ *= shape.dim(d);
    }
    index_.resize(sizes_.size(), 0);
  }
  int64_t count() const { return count_; }
  int64_t at() const { return at_; }
  // After the last place, the first.
  void Next() {
    for (size_t d = sizes_.size(); d-- > 0;) {
      at_ += strides_[d];
      if (++index_[d] < sizes_[d]) return;
      at_ -= strides_[d] * sizes_[d];
      index_[d] = 0;
    }
  }

 private:
  std::vector<int64_t> sizes_, strides_, index_;
  int64_t count_ = 1, at_ = 0;
};

absl::Status Join(KernelContext& ctx, const ReduceJoinAttrs& attrs) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Dims axes, IntegerList(ctx.input(1), "reduction_indices"));
  const int rank = input.rank();
  GYRE_ASSIGN_OR_RETURN(const ReducedDims reduced, MakeReducedDims(axes, rank));
  std::vector<int> kept, joined;
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) kept.push_back(d);
  }
  for (const int64_t axis : axes) joined.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  const Shape shape = ReducedShape(input.shape(), reduced, attrs.keep_dims);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
  const std::string* texts = input.values<std::string>().data();
  std::string* to = out.mutable_values<std::string>().data();
  Mover<std::string> mover(ctx, out);
  Walk outer(input.shape(), kept);
  Walk inner(input.shape(), joined);
  int64_t work = 0;
  for (int64_t i = 0; i < out.num_elements(); ++i, outer.Next()) {
    size_t size = 0;
    for (int64_t j = 0; j < inner.count(); ++j, inner.Next()) {
      if (++work % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      size += texts[outer.at() + inner.at()].size() + (j > 0 ? attrs.separator.size() : 0);
    }
    if (!mover.AdmitSize(size)) return mover.status();
    to[i].reserve(size);
    for (int64_t j = 0; j < inner.count(); ++j, inner.Next()) {
      if (++work % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (j > 0) to[i] += attrs.separator;
      to[i] += texts[outer.at() + inner.at()];
    }
  }
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The segment of each text, as rows of ids.
struct SegmentIds {
  std::vector<int64_t> ids;
  int64_t num_segments;
};

absl::StatusOr<SegmentIds> SegmentsInput(const KernelContext& ctx) {
  const Tensor &input = ctx.input(0), &ids = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(const int64_t num_segments, IntegerScalar(ctx.input(2), "num_segments"));
  if (num_segments < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_segments must not be negative, but is ", num_segments));
  }
  if (ids.rank() > input.rank() ||
      input.shape().dims().subspan(0, ids.rank()) != ids.shape().dims()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shape of segment_ids, ", ids.shape().ToString(),
                     ", must begin that of inputs, ", input.shape().ToString()));
  }
  SegmentIds result{std::vector<int64_t>(ids.num_elements()), num_segments};
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(ids.dtype(), [&](auto tag) {
    const auto values = ids.values<typename decltype(tag)::type>();
    std::copy(values.begin(), values.end(), result.ids.begin());
    return absl::OkStatus();
  }));
  for (size_t i = 0; i < result.ids.size(); ++i) {
    if (result.ids[i] < num_segments && result.ids[i] >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("segment_ids[", i, "] = ", result.ids[i],
                                                   " is not in [0, ", num_segments, ")"));
  }
  return result;
}

absl::Status JoinSegments(KernelContext& ctx, const JoinAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const SegmentIds segments, SegmentsInput(ctx));
  const Tensor& input = ctx.input(0);
  Dims dims = {segments.num_segments};
  for (int d = ctx.input(1).rank(); d < input.rank(); ++d) dims.push_back(input.dim(d));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
  const std::string* texts = input.values<std::string>().data();
  std::string* to = out.mutable_values<std::string>().data();
  std::vector<bool> has_text(static_cast<size_t>(out.num_elements()), false);
  const int64_t rows = static_cast<int64_t>(segments.ids.size());
  const int64_t width = rows == 0 ? 0 : input.num_elements() / rows;
  Mover<std::string> mover(ctx, out);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      if ((i * width + j) % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const int64_t at = segments.ids[i] * width + j;
      const std::string& text = texts[i * width + j];
      const std::string& separator = has_text[at] ? attrs.separator : std::string();
      if (!mover.AdmitSize(text.size() + separator.size())) return mover.status();
      to[at].append(separator).append(text);
      has_text[at] = true;
    }
  }
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SegmentShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(2));
  if (!c.input(0).has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  const int rank = c.input(1).rank();
  if (rank > c.input(0).rank()) {
    return absl::InvalidArgumentError("segment_ids has more dimensions than inputs");
  }
  const int64_t n = c.input_int(2).value_or(-1);
  Dims dims = {n < 0 ? -1 : n};
  for (int d = rank; d < c.input(0).rank(); ++d) dims.push_back(c.input(0).dim(d));
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

}  // namespace

void RegisterReduceJoin(OpRegistry& ops) {
  ops.Add({.schema = "ReduceJoin(inputs: string, reduction_indices: int32) -> output: string "
                     "{keep_dims: bool = false; separator: string = ''}",
           .doc = "Strings joined along dimensions, the last of which runs fastest.",
           .shape = ReductionShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = Compute<&Join>()});
  ops.Add({.schema = "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: "
                     "Tnumsegments) -> output: string {separator: string = ''; Tindices: {int32, "
                     "int64}; Tnumsegments: {int32, int64} = int32}",
           .doc = "The strings of each segment joined in their order.",
           .shape = SegmentShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = Compute<&JoinSegments>()});
}

}  // namespace gyre
