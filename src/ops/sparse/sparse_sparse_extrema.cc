// SparseSparseMaximum, SparseSparseMinimum: of two sparse tensors, where what is missing is 0.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

template <bool kMax>
struct Kernels {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx) {
      GYRE_ASSIGN_OR_RETURN(const SparseInput a, SparseInputAt(ctx, 0, 1, 2, "a_"));
      GYRE_ASSIGN_OR_RETURN(const SparseInput b, SparseInputAt(ctx, 3, 4, 5, "b_"));
      if (a.shape != b.shape) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a_shape and b_shape must be the same, but are ", Shape::Make(a.shape)->ToString(),
            " and ", Shape::Make(b.shape)->ToString()));
      }
      const T* x = ctx.input(1).values<T>().data();
      const T* y = ctx.input(4).values<T>().data();
      std::vector<const int64_t*> rows;
      std::vector<T> values;
      for (int64_t i = 0, j = 0; i < a.n || j < b.n;) {
        if ((i + j) % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        const int order = i == a.n ? 1 : j == b.n ? -1 : CompareRows(a.row(i), b.row(j), a.rank());
        rows.push_back(order <= 0 ? a.row(i) : b.row(j));
        const T left = order <= 0 ? x[i++] : T{};
        const T right = order >= 0 ? y[j++] : T{};
        values.push_back(Greater(left, right) == kMax ? left : right);
      }
      const auto n = static_cast<int64_t>(rows.size());
      GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, n, a.rank()));
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, Shape::Vector(n)));
      int64_t* index = indices.mutable_values<int64_t>().data();
      for (const int64_t* row : rows) index = std::copy_n(row, a.rank(), index);
      std::copy(values.begin(), values.end(), out.mutable_values<T>().data());
      ctx.set_output(0, std::move(indices));
      ctx.set_output(1, std::move(out));
      return absl::OkStatus();
    }

   private:
    static bool Greater(T x, T y) {
      if constexpr (kIsSmallFloat<T>) {
        return static_cast<float>(x) > static_cast<float>(y);
      } else {
        return x > y;
      }
    }
  };
};

absl::Status ExtremaShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 3, 4, 5));
  c.set_output(0, PartialShape(Dims{-1, KnownSparseRank(c, 0, 2)}));
  c.set_output(1, PartialShape(Dims{-1}));
  return absl::OkStatus();
}

template <bool kMax>
void Add(OpRegistry& ops, absl::string_view name, absl::string_view doc) {
  const std::string schema = absl::StrCat(
      name,
      "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
      "b_shape: int64) -> output_indices: int64, output_values: T {T: realnumbertype}");
  ops.Add({.schema = schema,
           .doc = doc,
           .shape = ExtremaShape,
           .gradient = RefusesGradient("there is none of extrema of sparse tensors"),
           .kernel = ForTypes<Kernels<kMax>::template For, RealTypes>("T")});
}

}  // namespace

void RegisterSparseSparseExtrema(OpRegistry& ops) {
  Add<true>(ops, "SparseSparseMaximum",
            "The larger values of two sparse tensors, in which what is missing is 0.");
  Add<false>(ops, "SparseSparseMinimum",
             "The smaller values of two sparse tensors, in which what is missing is 0.");
}

}  // namespace gyre
