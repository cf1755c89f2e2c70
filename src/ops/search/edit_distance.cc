// EditDistance: how many insertions, deletions and replacements make one sequence of another
// (Levenshtein), for the sequences along the last dimension of two sparse tensors.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct DistanceAttrs {
  explicit DistanceAttrs(const Node& node) : normalize(NodeAttr<bool>(node, "normalize")) {}
  bool normalize;
};

// Inputs `first` to `first` + 2: a sparse tensor whose last dimension holds sequences.
struct Sequences {
  const int64_t* indices;
  absl::Span<const int64_t> shape;
  int64_t n;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

absl::StatusOr<Sequences> SequencesInput(const KernelContext& ctx, int first,
                                         absl::string_view what) {
  const Tensor &indices = ctx.input(first), &values = ctx.input(first + 1),
               &shape = ctx.input(first + 2);
  if (shape.rank() != 1 || shape.num_elements() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, "_shape must be a vector, with an element at least, but its shape is ",
                     shape.shape().ToString()));
  }
  if (values.rank() != 1 || indices.rank() != 2 || indices.dim(0) != values.dim(0) ||
      indices.dim(1) != shape.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, "_indices must be of shape [", values.num_elements(), ",", shape.dim(0),
                     "] for ", what, "_values that are a vector, but is ",
                     indices.shape().ToString(), " for ", values.shape().ToString()));
  }
  const Sequences result{indices.values<int64_t>().data(), shape.values<int64_t>(), values.dim(0)};
  for (int64_t i = 0; i < result.n * result.rank(); ++i) {
    if (i % 16384 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t size = result.shape[i % result.rank()];
    if (result.indices[i] >= 0 && result.indices[i] < size) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, "_indices[", i / result.rank(), ",",
                                                   i % result.rank(), "] = ", result.indices[i],
                                                   " is not in [0, ", size, ")"));
  }
  return result;
}

// The shape of the distances, which has room for the sequences of both.
absl::StatusOr<Shape> DistancesShape(const Sequences& a, const Sequences& b) {
  if (a.rank() != b.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("hypothesis_shape and truth_shape must have equally many elements, but have ",
                     a.rank(), " and ", b.rank()));
  }
  Dims dims;
  for (int64_t d = 0; d + 1 < a.rank(); ++d) dims.push_back(std::max(a.shape[d], b.shape[d]));
  return Shape::Make(dims);
}

// Values [begin, end) are the sequence of distance `place`.
struct Sequence {
  int64_t place;
  int64_t begin, end;
};

absl::StatusOr<std::vector<Sequence>> FindSequences(const KernelContext& ctx, const Sequences& s,
                                                    const Shape& shape, absl::string_view what) {
  std::vector<Sequence> found;
  for (int64_t i = 0; i < s.n; ++i) {
    if (i % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    int64_t place = 0;
    for (int d = 0; d < shape.rank(); ++d)
      place = place * shape.dim(d) + s.indices[i * s.rank() + d];
    if (!found.empty() && found.back().place == place) {
      ++found.back().end;
    } else if (!found.empty() && found.back().place > place) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, "_indices must be in row-major order, but row ", i, " comes before its neighbour"));
    } else {
      found.push_back({place, i, i + 1});
    }
  }
  return found;
}

template <typename T>
bool Same(const T& a, const T& b) {
  if constexpr (kIsSmallFloat<T>) {
    return static_cast<float>(a) == static_cast<float>(b);
  } else {
    return a == b;
  }
}

// Stops half-way when the run does.
template <typename T>
int64_t Distance(const KernelContext& ctx, absl::Span<const T> a, absl::Span<const T> b) {
  while (!a.empty() && !b.empty() && Same(a.front(), b.front())) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  while (!a.empty() && !b.empty() && Same(a.back(), b.back())) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  if (a.empty() || b.empty()) return static_cast<int64_t>(a.size() + b.size());
  // Row i of the table of distances between beginnings of a, of i elements, and of b.
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  size_t work = 0;
  for (size_t i = 1; i <= a.size(); ++i) {
    if ((work += b.size()) > (1 << 16)) {
      work = 0;
      if (!ctx.Poll().ok()) return 0;
    }
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t replaced = diagonal + (Same(a[i - 1], b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, diagonal + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// Sequences of one place, of which one may be missing.
struct SequencePair {
  int64_t place;
  const Sequence* hypothesis;
  const Sequence* truth;
};

std::vector<SequencePair> Pairs(const std::vector<Sequence>& a, const std::vector<Sequence>& b) {
  std::vector<SequencePair> pairs;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool has_a = i < a.size() && (j == b.size() || a[i].place <= b[j].place);
    const bool has_b = j < b.size() && (i == a.size() || b[j].place <= a[i].place);
    pairs.push_back(
        {has_a ? a[i].place : b[j].place, has_a ? &a[i] : nullptr, has_b ? &b[j] : nullptr});
    i += has_a ? 1 : 0;
    j += has_b ? 1 : 0;
  }
  return pairs;
}

template <typename T>
absl::Status Measure(KernelContext& ctx, const DistanceAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Sequences hypotheses, SequencesInput(ctx, 0, "hypothesis"));
  GYRE_ASSIGN_OR_RETURN(const Sequences truths, SequencesInput(ctx, 3, "truth"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, DistancesShape(hypotheses, truths));
  GYRE_ASSIGN_OR_RETURN(const auto a, FindSequences(ctx, hypotheses, shape, "hypothesis"));
  GYRE_ASSIGN_OR_RETURN(const auto b, FindSequences(ctx, truths, shape, "truth"));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(DType::kFloat, shape));
  const std::vector<SequencePair> pairs = Pairs(a, b);
  const auto hypothesis = ctx.input(1).values<T>(), truth = ctx.input(4).values<T>();
  float* to = out.mutable_values<float>().data();
  const auto take = [](absl::Span<const T> values, const Sequence* s) {
    return s == nullptr ? absl::Span<const T>() : values.subspan(s->begin, s->end - s->begin);
  };
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(static_cast<int64_t>(pairs.size()), 8, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const absl::Span<const T> x = take(hypothesis, pairs[i].hypothesis);
          const absl::Span<const T> y = take(truth, pairs[i].truth);
          auto distance = static_cast<float>(Distance(ctx, x, y));
          if (attrs.normalize) {
            distance = y.empty() ? std::numeric_limits<float>::infinity()
                                 : distance / static_cast<float>(y.size());
          }
          to[pairs[i].place] = distance;
        }
      }));
  GYRE_RETURN_IF_ERROR(ctx.Poll());  // a distance may have ended half-way
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

using SequenceTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t,
                            uint8_t, uint16_t, uint32_t, uint64_t, bool, std::string>;

absl::Status ComputeDistance(KernelContext& ctx, const DistanceAttrs& attrs) {
  return VisitType<SequenceTypes>(ctx.input_dtype(1), [&](auto tag) {
    return Measure<typename decltype(tag)::type>(ctx, attrs);
  });
}

absl::Status DistanceShape(ShapeContext& c) {
  for (const int i : {0, 3}) {
    GYRE_RETURN_IF_ERROR(c.RequireRank(i, 2));
    GYRE_RETURN_IF_ERROR(c.RequireRank(i + 1, 1));
    GYRE_RETURN_IF_ERROR(c.RequireRank(i + 2, 1));
  }
  const auto a = c.input_ints(2), b = c.input_ints(5);
  if (!a || !b || a->size() != b->size() || a->empty()) return absl::OkStatus();
  Dims dims;
  for (size_t d = 0; d + 1 < a->size(); ++d)
    dims.push_back(std::max<int64_t>(-1, std::max((*a)[d], (*b)[d])));
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

}  // namespace

void RegisterEditDistance(OpRegistry& ops) {
  ops.Add({.schema = "EditDistance(hypothesis_indices: int64, hypothesis_values: T, "
                     "hypothesis_shape: int64, truth_indices: int64, truth_values: T, truth_shape: "
                     "int64) -> output: float {normalize: bool = true; T: type}",
           .doc = "The Levenshtein distances of sequences, the last dimension of sparse tensors, "
                  "in parts of the truth's length if normalised.",
           .shape = DistanceShape,
           .gradient = NotDifferentiable("distances do not change with the values but in steps"),
           .kernel = Compute<ComputeDistance>()});
}

}  // namespace gyre
