// SparseReduceSum, SparseReduceMax and their sparse forms: a sparse tensor reduced along
// dimensions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/reduction/axes.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

struct ReduceAttrs {
  explicit ReduceAttrs(const Node& node) : keep_dims(NodeAttr<bool>(node, "keep_dims")) {}
  bool keep_dims;
};

// Where each value goes in what is left.
struct Reduction {
  Shape shape;
  std::vector<int64_t> places;  // by value
};

absl::StatusOr<Reduction> ReductionInput(const KernelContext& ctx, bool keep_dims) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 0, 1, 2, "input_"));
  GYRE_ASSIGN_OR_RETURN(Dims axes, IntegerList(ctx.input(3), "reduction_axes"));
  const auto rank = static_cast<int>(in.rank());
  for (int64_t& axis : axes) {
    GYRE_ASSIGN_OR_RETURN(axis, ResolveAxis(axis, rank, "reduction_axes"));
  }
  ReducedDims reduced(rank, false);
  for (const int64_t axis : axes) reduced[axis] = true;
  GYRE_ASSIGN_OR_RETURN(const Shape whole, Shape::Make(in.shape));
  Reduction result{ReducedShape(whole, reduced, keep_dims), {}};
  result.places.resize(static_cast<size_t>(in.n));
  for (int64_t i = 0; i < in.n; ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    int64_t place = 0;
    for (int d = 0; d < rank; ++d) {
      if (!reduced[d]) place = place * in.shape[d] + in.row(i)[d];
    }
    result.places[i] = place;
  }
  return result;
}

template <typename T, bool kMax>
struct Combined {
  static Accumulator<T> Start(T x) { return ToAccumulator(x); }
  static Accumulator<T> Next(Accumulator<T> a, T x) {
    if constexpr (kMax) {
      // Accumulators of integers are unsigned: compared as T.
      using C = std::conditional_t<std::is_integral_v<T>, T, Accumulator<T>>;
      return static_cast<C>(a) < static_cast<C>(x) ? ToAccumulator(x) : a;
    } else {
      return a + ToAccumulator(x);
    }
  }
};

// By place, the combination of its values.
template <typename T, bool kMax>
absl::StatusOr<std::vector<std::pair<int64_t, T>>> Combine(const KernelContext& ctx,
                                                           const Reduction& reduction) {
  using C = Combined<T, kMax>;
  const T* values = ctx.input(1).values<T>().data();
  HashMap<int64_t, size_t> numbers;
  std::vector<std::pair<int64_t, Accumulator<T>>> sums;
  for (size_t i = 0; i < reduction.places.size(); ++i) {
    if (i % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t place = reduction.places[i];
    if (!sums.empty() && sums.back().first == place) {
      sums.back().second = C::Next(sums.back().second, values[i]);
      continue;
    }
    const auto [it, is_new] = numbers.emplace(place, sums.size());
    if (is_new) {
      sums.emplace_back(place, C::Start(values[i]));
    } else {
      sums[it->second].second = C::Next(sums[it->second].second, values[i]);
    }
  }
  std::vector<std::pair<int64_t, T>> result;
  for (const auto& [place, sum] : sums) result.emplace_back(place, FromAccumulator<T>(sum));
  return result;
}

template <bool kMax>
struct ToDense {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx, const ReduceAttrs& attrs) {
      GYRE_ASSIGN_OR_RETURN(const Reduction reduction, ReductionInput(ctx, attrs.keep_dims));
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(DTypeOf<T>, reduction.shape));
      GYRE_ASSIGN_OR_RETURN(const auto sums, (Combine<T, kMax>(ctx, reduction)));
      T* to = out.mutable_values<T>().data();
      for (const auto& [place, value] : sums) to[place] = value;
      ctx.set_output(0, std::move(out));
      return absl::OkStatus();
    }
  };
};

template <bool kMax>
struct ToSparse {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx, const ReduceAttrs& attrs) {
      GYRE_ASSIGN_OR_RETURN(const Reduction reduction, ReductionInput(ctx, attrs.keep_dims));
      GYRE_ASSIGN_OR_RETURN(auto sums, (Combine<T, kMax>(ctx, reduction)));
      std::sort(sums.begin(), sums.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      const auto n = static_cast<int64_t>(sums.size());
      const int rank = reduction.shape.rank();
      GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, n, rank));
      GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DTypeOf<T>, Shape::Vector(n)));
      GYRE_ASSIGN_OR_RETURN(Tensor shape, ShapeVector(ctx, reduction.shape.dims()));
      int64_t* index = indices.mutable_values<int64_t>().data();
      for (int64_t i = 0; i < n; ++i) {
        int64_t place = sums[i].first;
        for (int d = rank - 1; d >= 0; --d) {
          index[i * rank + d] = place % reduction.shape.dim(d);
          place /= reduction.shape.dim(d);
        }
        values.mutable_values<T>()[i] = sums[i].second;
      }
      ctx.set_output(0, std::move(indices));
      ctx.set_output(1, std::move(values));
      ctx.set_output(2, std::move(shape));
      return absl::OkStatus();
    }
  };
};

absl::Status DenseShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  const auto shape = c.input_ints(2), axes = c.input_ints(3);
  if (!shape || !axes) return absl::OkStatus();
  const auto rank = static_cast<int>(shape->size());
  ReducedDims reduced(rank, false);
  for (const int64_t axis : *axes) {
    GYRE_ASSIGN_OR_RETURN(const int d, shape::Axis(axis, rank));
    reduced[d] = true;
  }
  Dims dims;
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) dims.push_back(std::max<int64_t>(-1, (*shape)[d]));
    if (reduced[d] && NodeAttr<bool>(c.node(), "keep_dims")) dims.push_back(1);
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status SparseShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  SetSparse(c, 0, -1, -1);
  return absl::OkStatus();
}

// Each value has the gradient of the sum that it went into: its index, with 0 for what is summed.
void SumGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const Expr shape = g.input(2);
  const Expr rank = g.op("Size", {shape});
  const Expr given = Reshape(g.input(3), b.Ints({-1}));
  const Expr all = g.op("Range", {b.Int(0), rank, b.Int(1)});
  // Axes may be negative.
  const Expr axes = g.op("FloorMod", {given + rank, g.op("Maximum", {rank, b.Int(1)})});
  const Expr ones = OnesLike(Cast(axes, DType::kInt64));
  const Expr kept =
      g.builder().Ops("DynamicStitch", {all, axes, shape, ones}, AttrMap{{"N", int64_t{2}}}, 1)[0];
  const Expr scale = g.op("FloorDiv", {shape, g.op("Maximum", {kept, b.Scalar(DType::kInt64, 1)})});
  const Expr index =
      g.op("FloorDiv", {g.input(0), g.op("Maximum", {scale, b.Scalar(DType::kInt64, 1)})});
  g.Add(1, g.op("GatherNd", {Reshape(g.grad(), kept), index}));
}

template <bool kMax, typename Set>
void Add(OpRegistry& ops, absl::string_view name, absl::string_view types, absl::string_view what) {
  constexpr absl::string_view kInputs =
      "(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> ";
  const std::string dense =
      absl::StrCat(name, kInputs, "output: T {keep_dims: bool = false; T: ", types, "}");
  ops.Add({.schema = dense,
           .doc = absl::StrCat("The ", what, " of a sparse tensor along dimensions, dense."),
           .shape = DenseShape,
           .gradient = kMax ? RefusesGradient("there is none of the largest values")
                            : Gradient{SumGradient},
           .kernel = ForTypes<ToDense<kMax>::template For, Set>("T")});
  const std::string sparse = absl::StrCat(
      name, "Sparse", kInputs,
      "output_indices: int64, output_values: T, output_shape: int64 {keep_dims: bool = false; T: ",
      types, "}");
  ops.Add({.schema = sparse,
           .doc = absl::StrCat("The ", what, " of a sparse tensor along dimensions, sparse."),
           .shape = SparseShape,
           .gradient = RefusesGradient("there is none of the sparse form; the dense one may have"),
           .kernel = ForTypes<ToSparse<kMax>::template For, Set>("T")});
}

}  // namespace

void RegisterSparseReduce(OpRegistry& ops) {
  Add<false, NumberTypes>(ops, "SparseReduceSum", "numbertype", "sums");
  Add<true, RealTypes>(ops, "SparseReduceMax", "realnumbertype", "largest values");
}

}  // namespace gyre
