#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct StringJoinAttrs {
  explicit StringJoinAttrs(const Node& node)
      : separator(NodeAttr<std::string>(node, "separator")) {}
  std::string separator;
};

// What the inputs that are no scalars agree on; scalars go with anything.
absl::StatusOr<Shape> CommonShape(const KernelContext& ctx) {
  Shape common;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Shape& shape = ctx.input(i).shape();
    if (shape.IsScalar()) continue;
    if (common.IsScalar()) {
      common = shape;
    } else if (shape != common) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the inputs' shapes do not match: ", common.ToString(), " and ", shape.ToString()));
    }
  }
  return common;
}

absl::Status StringJoin(KernelContext& ctx, const StringJoinAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, CommonShape(ctx));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
  const absl::Span<std::string> joined = out.mutable_values<std::string>();
  const auto part = [&](int i, int64_t j) -> const std::string& {
    const Tensor& input = ctx.input(i);
    return input.values<std::string>()[input.rank() == 0 ? 0 : j];
  };
  Mover<std::string> mover(ctx, out);
  constexpr int64_t kGrain = 1024;
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(shape.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          size_t size = 0;
          for (int i = 0; i < ctx.num_inputs(); ++i)
            size += part(i, j).size() + (i > 0 ? attrs.separator.size() : 0);
          if (!mover.AdmitSize(size)) return;
          joined[j].reserve(size);
          for (int i = 0; i < ctx.num_inputs(); ++i) {
            if (i > 0) joined[j] += attrs.separator;
            joined[j] += part(i, j);
          }
        }
      }));
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status StringJoinShape(ShapeContext& c) {
  std::optional<PartialShape> common;  // of the inputs that are no scalars
  bool all_ranks_known = true;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& input = c.input(i);
    if (!input.has_rank()) {
      all_ranks_known = false;
    } else if (input.rank() > 0) {
      GYRE_ASSIGN_OR_RETURN(common, common ? common->Intersect(input) : input);
    }
  }
  if (common) {
    c.set_output(0, *std::move(common));
  } else if (all_ranks_known) {
    c.set_output(0, Shape());
  }
  return absl::OkStatus();
}

// Strings of one shape, and scalars.
absl::Status StringJoinBatch(BatchContext& c) {
  int rank = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const int own, c.NeedRank(i));
    rank = std::max(rank, own);
  }
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.row_shape(i).rank() == rank) {
      inputs.push_back(c.stacked(i));
    } else if (!c.is_stacked(i)) {
      inputs.push_back(c.input(i));
    } else {
      return batch::Refuse("a scalar that differs from row to row is joined to tensors");
    }
  }
  return c.Emit(inputs);
}

}  // namespace

void RegisterStringJoin(OpRegistry& ops) {
  ops.Add({
      .schema = "StringJoin(inputs: N * string) -> output: string "
                "{N: int >= 0; separator: string = ''}",
      .doc = "Joins strings element by element; scalars are joined to every element.",
      .traits = {.elementwise = true},
      .shape = StringJoinShape,
      .gradient = NotDifferentiable("its result is a string"),
      .batch = {StringJoinBatch},
      .kernel = Compute<&StringJoin>(),
  });
}

}  // namespace gyre
