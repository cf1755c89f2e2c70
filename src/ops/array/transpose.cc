// Transpose, InvertPermutation: dimensions in another order.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/simplify_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// `perm` with negative entries counted from the end; INVALID_ARGUMENT unless it names each of
// `rank` dimensions once.
absl::StatusOr<Dims> ResolvePermutation(Dims perm, int rank) {
  if (static_cast<int>(perm.size()) != rank) {
    return absl::InvalidArgumentError(absl::StrCat("transpose expects a vector of size ", rank,
                                                   ". But input(1) is a vector of size ",
                                                   perm.size()));
  }
  absl::InlinedVector<bool, 8> seen(rank, false);
  for (int64_t& d : perm) {
    if (d < -rank || d >= rank) {
      return absl::InvalidArgumentError(absl::StrCat(d, " is out of range [0 .. ", rank, ")"));
    }
    if (d < 0) d += rank;
    seen[d] = true;
  }
  for (int d = 0; d < rank; ++d) {
    if (!seen[d]) {
      return absl::InvalidArgumentError(
          absl::StrCat(d, " is missing from ", ListToString(perm), "."));
    }
  }
  return perm;
}

// Whether the dimensions that matter (size not 1) keep their order, so that no element moves.
bool KeepsOrder(const Shape& shape, const Dims& perm) {
  int64_t last = -1;
  for (const int64_t d : perm) {
    if (shape.dim(static_cast<int>(d)) == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

absl::Status ComputeTranspose(KernelContext& ctx) {
  const Shape& from = ctx.input(0).shape();
  const int rank = from.rank();
  if (ctx.input(1).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("perm must be a vector, but has shape ", ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Dims wanted, IntegerList(ctx.input(1), "perm"));
  GYRE_ASSIGN_OR_RETURN(const Dims perm, ResolvePermutation(std::move(wanted), rank));
  Dims dims(rank);
  for (int d = 0; d < rank; ++d) dims[d] = from.dim(static_cast<int>(perm[d]));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  if (KeepsOrder(from, perm)) {
    ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), shape));
  const Dims src = RowMajorStrides(from);
  const Dims dst = RowMajorStrides(shape);
  StridedAxes axes;
  for (int d = 0; d < rank; ++d) axes.push_back({dims[d], src[perm[d]], dst[d]});
  GYRE_RETURN_IF_ERROR(CopyStrided(ctx, ctx.input(0), 0, out, 0, std::move(axes)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status TransposeRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  const PartialShape& in = ctx.input(0);
  const auto values = ctx.input_ints(1);
  int rank = in.has_rank() ? in.rank() : -1;
  if (ctx.input(1).has_rank() && ctx.input(1).dim(0) >= 0) {
    const int64_t length = ctx.input(1).dim(0);
    if (length > Shape::kMaxRank || (rank >= 0 && length != rank)) {
      return absl::InvalidArgumentError(
          absl::StrCat("perm has ", length, " elements, but the input's shape is ", in.ToString()));
    }
    rank = static_cast<int>(length);
  }
  if (rank < 0) return absl::OkStatus();
  PartialShape out = PartialShape::UnknownOfRank(rank);
  if (values) {
    GYRE_ASSIGN_OR_RETURN(const Dims perm,
                          ResolvePermutation(Dims(values->begin(), values->end()), rank));
    for (int d = 0; d < rank && in.has_rank(); ++d) {
      out.set_dim(d, in.dim(static_cast<int>(perm[d])));
    }
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T>
absl::Status Invert(KernelContext& ctx) {
  const auto perm = ctx.input(0).values<T>();
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input_dtype(0), ctx.input(0).shape()));
  const auto inverse = out.mutable_values<T>();
  GYRE_RETURN_IF_ERROR(
      RunPieces(ctx, out.num_elements(), kElementGrain, [&](int64_t begin, int64_t end) {
        std::fill(inverse.begin() + begin, inverse.begin() + end, T(-1));
      }));
  for (size_t i = 0; i < perm.size(); ++i) {
    const T d = perm[i];
    if (d < 0 || static_cast<size_t>(d) >= perm.size()) {
      return absl::InvalidArgumentError(absl::StrCat(d, " is not between 0 and ", perm.size()));
    }
    if (inverse[d] != -1) {
      return absl::InvalidArgumentError(absl::StrCat(d, " is duplicated in the input."));
    }
    inverse[d] = static_cast<T>(i);
    if (i % kElementGrain == kElementGrain - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeInvertPermutation(KernelContext& ctx) {
  if (ctx.input(0).rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "invert_permutation expects a 1D vector, but got shape ", ctx.input(0).shape().ToString()));
  }
  return VisitType<IndexTypes>(ctx.input_dtype(0),
                               [&](auto tag) { return Invert<typename decltype(tag)::type>(ctx); });
}

absl::Status InvertPermutationRule(ShapeContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, ctx.input(0).Intersect(PartialShape::UnknownOfRank(1)));
  ctx.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void TransposeGradient(GradientContext& g) {
  g.Add(0, g.op("Transpose", {g.grad(), g.op("InvertPermutation", {g.input(1)})}));
}

absl::Status TransposeBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr perm = c.shifted_axes(1);
  return c.Emit({c.input(0), batch::Joined({Cast(c.builder().Ints({0}), perm.dtype()), perm})});
}

bool IsInOrder(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Dimension i of the result is dimension outer[i] of the inner result: inner[outer[i]] of x.
void TransposeSimplify(SimplifyContext& s) {
  const auto outer = simplify::Integers(s.constant(1));
  if (!outer) return;
  if (IsInOrder(*outer)) return s.Replace(0, s.input(0));
  const Node* inner_node = s.Maker(0, "Transpose");
  if (inner_node == nullptr) return;
  const auto inner = simplify::Integers(s.ConstantOf(*inner_node, 1));
  if (!inner || inner->size() != outer->size()) return;
  std::vector<int64_t> both;
  for (const int64_t i : *outer) {
    if (i < 0 || i >= static_cast<int64_t>(inner->size())) return;
    both.push_back((*inner)[i]);
  }
  if (IsInOrder(both)) s.Replace(0, s.InputOf(*inner_node, 0));
}

}  // namespace

void RegisterTranspose(OpRegistry& ops) {
  ops.Add({
      .schema = "Transpose(x: T, perm: Tperm) -> y: T {T: type; Tperm: {int32, int64} = int32}",
      .doc = "A tensor with its dimensions in another order.",
      .traits = {.moves_elements = true},
      .shape = TransposeRule,
      .gradient = {TransposeGradient},
      .batch = {TransposeBatch},
      .simplify = TransposeSimplify,
      .kernel = Compute<ComputeTranspose>(),
  });
  ops.Add({
      .schema = "InvertPermutation(x: T) -> y: T {T: {int32, int64} = int32}",
      .doc = "The permutation that undoes another one.",
      .api = {"math.invert_permutation"},
      .shape = InvertPermutationRule,
      .gradient = NotDifferentiable("permutations are integers"),
      .kernel = Compute<ComputeInvertPermutation>(),
  });
}

}  // namespace gyre
