// LowerBound, UpperBound: where values would stand in sorted rows. Bucketize: between which of some
// numbers they lie.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kGrain = 1 << 11;

template <typename T>
bool Less(const T& a, const T& b) {
  if constexpr (kIsSmallFloat<T>) {
    return static_cast<float>(a) < static_cast<float>(b);
  } else {
    return a < b;
  }
}

template <typename T, typename Out, bool kUpper>
absl::Status Search(KernelContext& ctx, Tensor& out) {
  const Tensor &sorted = ctx.input(0), &values = ctx.input(1);
  const int64_t n = sorted.dim(1), width = values.dim(1);
  const T* rows = static_cast<const T*>(sorted.raw_data());
  const T* value = static_cast<const T*>(values.raw_data());
  Out* to = out.mutable_values<Out>().data();
  return ctx.ParallelRun(values.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* row = rows + i / width * n;
      const T* at = kUpper ? std::upper_bound(row, row + n, value[i], Less<T>)
                           : std::lower_bound(row, row + n, value[i], Less<T>);
      to[i] = static_cast<Out>(at - row);
    }
  });
}

template <bool kUpper>
absl::Status FindBounds(KernelContext& ctx) {
  const Tensor &sorted = ctx.input(0), &values = ctx.input(1);
  if (sorted.rank() != 2 || values.rank() != 2 || sorted.dim(0) != values.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("sorted_inputs and values must be matrices with equally many rows, but their "
                     "shapes are ",
                     sorted.shape().ToString(), " and ", values.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), values.shape()));
  const bool is_wide = out.dtype() == DType::kInt64;
  if (!is_wide && sorted.dim(1) > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("places in rows of ", sorted.dim(1), " elements do not fit int32"));
  }
  const auto search = [&](auto tag) {
    using T = typename decltype(tag)::type;
    return is_wide ? Search<T, int64_t, kUpper>(ctx, out) : Search<T, int32_t, kUpper>(ctx, out);
  };
  if (values.dtype() == DType::kString) {
    GYRE_RETURN_IF_ERROR(search(TypeTag<std::string>()));
  } else {
    GYRE_RETURN_IF_ERROR(
        VisitType<RealTypes>(values.dtype(), [&](auto tag) { return search(tag); }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status BoundsShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  if (c.input(0).has_rank() && c.input(1).has_rank()) {
    GYRE_RETURN_IF_ERROR(PartialShape(Dims{c.input(0).dim(0)})
                             .Intersect(PartialShape(Dims{c.input(1).dim(0)}))
                             .status());
  }
  c.set_output(0, c.input(1).has_rank() ? c.input(1) : PartialShape::UnknownOfRank(2));
  return absl::OkStatus();
}

// The rows of all rows, one below the other.
absl::Status BoundsBatch(BatchContext& c) {
  const auto flat = [&](int i) {
    const Expr width = batch::Behind(c.row_dims(i));
    return Reshape(c.stacked(i), batch::Joined({c.builder().Ints({-1}), width}));
  };
  const Expr sorted = flat(0), values = flat(1);
  const Expr places = c.op(c.node().op_name, {sorted, values},
                           {{"out_type", c.attr<DType>("out_type", DType::kInt32)}});
  c.Set(0, Reshape(places, c.with_rows(c.row_dims(1))));
  return absl::OkStatus();
}

struct BucketizeAttrs {
  static absl::StatusOr<BucketizeAttrs> Make(const Node& node) {
    BucketizeAttrs attrs{NodeAttr<std::vector<float>>(node, "boundaries")};
    if (std::is_sorted(attrs.boundaries.begin(), attrs.boundaries.end())) return attrs;
    return absl::InvalidArgumentError("boundaries must be sorted");
  }
  std::vector<float> boundaries;
};

template <typename T>
struct BucketizeKernel {
  static absl::Status Run(KernelContext& ctx, const BucketizeAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt32, ctx.input(0).shape()));
    const T* values = ctx.input(0).values<T>().data();
    int32_t* to = out.mutable_values<int32_t>().data();
    const std::vector<float>& b = attrs.boundaries;
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(out.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto at = std::upper_bound(
                b.begin(), b.end(), values[i],
                [](T value, float boundary) { return value < static_cast<Compared>(boundary); });
            to[i] = static_cast<int32_t>(at - b.begin());
          }
        }));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  using Compared = std::conditional_t<std::is_same_v<T, double>, double, float>;
};

template <bool kUpper>
void AddBounds(OpRegistry& ops, absl::string_view name, absl::string_view doc) {
  const std::string schema = absl::StrCat(
      name,
      "(sorted_inputs: T, values: T) -> output: out_type {T: type; out_type: {int32, int64} = "
      "int32}");
  ops.Add({.schema = schema,
           .doc = doc,
           .shape = BoundsShape,
           .gradient = NotDifferentiable("places do not change with the values but in steps"),
           .batch = {BoundsBatch},
           .kernel = Compute<FindBounds<kUpper>>()});
}

}  // namespace

void RegisterSearchSorted(OpRegistry& ops) {
  AddBounds<false>(ops, "LowerBound",
                   "The first place in a sorted row where each value could stand.");
  AddBounds<true>(ops, "UpperBound",
                  "The last place in a sorted row where each value could stand.");
  ops.Add({.schema = "Bucketize(input: T) -> output: int32 {T: {int32, int64, float, double}; "
                     "boundaries: list(float)}",
           .doc = "How many of the boundaries are not larger than each value.",
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("buckets do not change with the values but in steps"),
           .kernel = ForTypes<BucketizeKernel, Types<int32_t, int64_t, float, double>>("T")});
}

}  // namespace gyre
