// RaggedTensorToVariant, RaggedTensorFromVariant, RaggedTensorToVariantGradient: ragged tensors, or
// each of their rows, behind variants, as loops over rows hand them about.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/list/list_kinds.h"
#include "ops/list/ragged_variant.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::StatusOr<Shape> WithRows(const Shape& shape, int64_t rows) {
  Dims dims(shape.dims().begin(), shape.dims().end());
  dims[0] = rows;
  return Shape::Make(dims);
}

// Rows [begin, end) of a tensor.
absl::StatusOr<Tensor> RowsOf(const KernelContext& ctx, const Tensor& t, int64_t begin,
                              int64_t end) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, WithRows(t.shape(), end - begin));
  return TakeRows(ctx, t, begin, end - begin, shape);
}

template <typename Split>
struct RaggedInput {
  std::vector<absl::Span<const Split>> splits;
  Tensor values;
};

// Inputs [0, rank) are row splits, the one behind them is what they part.
template <typename Split>
absl::StatusOr<RaggedInput<Split>> ReadRagged(const KernelContext& ctx, int rank) {
  RaggedInput<Split> ragged{{}, ctx.input(rank)};
  if (rank > 0 && ragged.values.rank() < 1) {
    return absl::InvalidArgumentError("the values of a ragged tensor cannot be a scalar");
  }
  for (int i = 0; i < rank; ++i) {
    const Tensor& t = ctx.input(i);
    if (t.rank() != 1 || t.num_elements() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("row splits ", i,
                       " must be a vector with an element at least, but are of "
                       "shape ",
                       t.shape().ToString()));
    }
    ragged.splits.push_back(t.values<Split>());
  }
  for (int i = 0; i < rank; ++i) {
    const absl::Span<const Split> splits = ragged.splits[i];
    const int64_t size =
        i + 1 < rank ? static_cast<int64_t>(ragged.splits[i + 1].size()) - 1 : ragged.values.dim(0);
    bool is_good = splits[0] == 0 && splits.back() == size;
    for (size_t k = 1; k < splits.size() && is_good; ++k) {
      if (k % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      is_good = splits[k] >= splits[k - 1];
    }
    if (!is_good) {
      return absl::InvalidArgumentError(absl::StrCat("row splits ", i,
                                                     " must begin with 0, not fall, and end with ",
                                                     size, ", the number of what they part"));
    }
  }
  return ragged;
}

struct ToVariantAttrs {
  explicit ToVariantAttrs(const Node& node)
      : rank(static_cast<int>(NodeAttr<int64_t>(node, "RAGGED_RANK"))),
        by_row(NodeAttr<bool>(node, "batched_input")) {}
  int rank;
  bool by_row;
};

// Row `row` of a ragged tensor with at least one ragged dimension.
template <typename Split>
absl::StatusOr<RefPtr<Object>> RowOf(const KernelContext& ctx, const RaggedInput<Split>& ragged,
                                     int64_t row) {
  int64_t begin = ragged.splits[0][row], end = ragged.splits[0][row + 1];
  std::vector<Tensor> inner;
  for (size_t level = 1; level < ragged.splits.size(); ++level) {
    const absl::Span<const Split> splits = ragged.splits[level];
    GYRE_ASSIGN_OR_RETURN(Tensor part,
                          ctx.Allocate(DTypeOf<Split>, Shape::Vector(end - begin + 1)));
    Split* to = static_cast<Split*>(part.mutable_raw_data());
    for (int64_t i = begin; i <= end; ++i) to[i - begin] = splits[i] - splits[begin];
    inner.push_back(std::move(part));
    const int64_t next = splits[begin];
    end = splits[end];
    begin = next;
  }
  GYRE_ASSIGN_OR_RETURN(Tensor values, RowsOf(ctx, ragged.values, begin, end));
  return RaggedVariant::Make(ctx.env().budget, std::move(inner), std::move(values));
}

template <typename Split>
struct ToVariantKernel {
  static absl::Status Run(KernelContext& ctx, const ToVariantAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const RaggedInput<Split> ragged, ReadRagged<Split>(ctx, attrs.rank));
    if (!attrs.by_row) {
      std::vector<Tensor> splits;
      for (int i = 0; i < attrs.rank; ++i) splits.push_back(ctx.input(i));
      GYRE_ASSIGN_OR_RETURN(
          RefPtr<Object> object,
          RaggedVariant::Make(ctx.env().budget, std::move(splits), ragged.values));
      ctx.set_output(0, Tensor::FromObject(DType::kVariant, std::move(object)));
      return absl::OkStatus();
    }
    if (ragged.values.rank() < 1) {
      return absl::InvalidArgumentError("a scalar has no rows");
    }
    const int64_t n =
        attrs.rank == 0 ? ragged.values.dim(0) : static_cast<int64_t>(ragged.splits[0].size()) - 1;
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kVariant, Shape::Vector(n)));
    const absl::Span<RefPtr<Object>> rows = out.mutable_values<RefPtr<Object>>();
    for (int64_t i = 0; i < n; ++i) {
      if (i % 256 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (attrs.rank > 0) {
        GYRE_ASSIGN_OR_RETURN(rows[i], RowOf(ctx, ragged, i));
        continue;
      }
      const Dims dims(ragged.values.shape().dims().begin() + 1, ragged.values.shape().dims().end());
      GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
      GYRE_ASSIGN_OR_RETURN(Tensor row, TakeRows(ctx, ragged.values, i, 1, shape));
      GYRE_ASSIGN_OR_RETURN(rows[i], RaggedVariant::Make(ctx.env().budget, {}, std::move(row)));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::StatusOr<std::vector<const RaggedVariant*>> VariantsInput(const KernelContext& ctx) {
  std::vector<const RaggedVariant*> variants;
  const Tensor& encoded = ctx.input(0);
  const auto add = [&](const Object* object) -> absl::Status {
    const auto* ragged = dynamic_cast<const RaggedVariant*>(object);
    if (ragged == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("input 0 must hold ragged tensors, but element ", variants.size(), " is ",
                       object == nullptr ? "empty" : absl::StrCat("a ", object->type_name())));
    }
    variants.push_back(ragged);
    return absl::OkStatus();
  };
  if (encoded.rank() == 0) {
    const Object* object =
        encoded.object() != nullptr ? encoded.object() : encoded.values<RefPtr<Object>>()[0].get();
    GYRE_RETURN_IF_ERROR(add(object));
  } else {
    for (const RefPtr<Object>& object : encoded.values<RefPtr<Object>>())
      GYRE_RETURN_IF_ERROR(add(object.get()));
  }
  return variants;
}

// Tensors of one shape but for their rows, one behind the other.
absl::StatusOr<Tensor> Concatenated(const KernelContext& ctx, const std::vector<Tensor>& parts,
                                    DType dtype) {
  if (parts.empty()) return ctx.Allocate(dtype, Shape::Vector(0));
  int64_t rows = 0;
  for (const Tensor& part : parts) {
    GYRE_ASSIGN_OR_RETURN(const Shape shape, WithRows(part.shape(), parts[0].dim(0)));
    if (shape != parts[0].shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the values of all variants must have one shape, but for the number of "
                       "their rows; they have ",
                       parts[0].shape().ToString(), " and ", part.shape().ToString()));
    }
    rows += part.dim(0);
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, WithRows(parts[0].shape(), rows));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype, shape));
  GYRE_RETURN_IF_ERROR(VisitElement(dtype, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out.mutable_raw_data());
    Mover<T> mover(ctx, out);
    for (const Tensor& part : parts) {
      const T* from = static_cast<const T*>(part.raw_data());
      for (int64_t at = 0; at < part.num_elements(); at += kElementGrain) {
        GYRE_RETURN_IF_ERROR(ctx.Poll());
        const int64_t n = std::min(kElementGrain, part.num_elements() - at);
        mover.Copy(from + at, n, to);
        to += n;
      }
    }
    return mover.status();
  }));
  return out;
}

struct FromVariantAttrs {
  explicit FromVariantAttrs(const Node& node)
      : inner(static_cast<int>(NodeAttr<int64_t>(node, "input_ragged_rank"))),
        rank(static_cast<int>(NodeAttr<int64_t>(node, "output_ragged_rank"))) {}
  int inner, rank;
};

absl::Status CheckVariants(const std::vector<const RaggedVariant*>& variants, int rank,
                           DType splits, DType values) {
  for (size_t i = 0; i < variants.size(); ++i) {
    if (variants[i]->ragged_rank() != rank) {
      return absl::InvalidArgumentError(absl::StrCat("variant ", i, " has ",
                                                     variants[i]->ragged_rank(),
                                                     " ragged dimensions instead of ", rank));
    }
    if (variants[i]->values().dtype() != values) {
      return absl::InvalidArgumentError(absl::StrCat("variant ", i, " holds ",
                                                     DTypeName(variants[i]->values().dtype()),
                                                     " instead of ", DTypeName(values)));
    }
    for (const Tensor& one : variants[i]->splits()) {
      if (one.dtype() == splits) continue;
      return absl::InvalidArgumentError(absl::StrCat("variant ", i, " has row splits of ",
                                                     DTypeName(one.dtype()), " instead of ",
                                                     DTypeName(splits)));
    }
  }
  return absl::OkStatus();
}

// Vectors of row splits, one behind the other: each counts on where the last one ends.
template <typename Split>
absl::StatusOr<Tensor> JoinedSplits(const KernelContext& ctx,
                                    const std::vector<const RaggedVariant*>& variants, int level) {
  int64_t rows = 0;
  for (const RaggedVariant* one : variants) rows += one->splits()[level].num_elements() - 1;
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<Split>, Shape::Vector(rows + 1)));
  Split* to = static_cast<Split*>(out.mutable_raw_data());
  *to = 0;
  for (const RaggedVariant* one : variants) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    const auto splits = one->splits()[level].values<Split>();
    const Split base = *to;
    for (size_t i = 1; i < splits.size(); ++i) *++to = static_cast<Split>(base + splits[i]);
  }
  return out;
}

template <typename Split>
struct FromVariantKernel {
  static absl::Status Run(KernelContext& ctx, const FromVariantAttrs& attrs) {
    const Tensor& encoded = ctx.input(0);
    const int inner = attrs.inner < 0 ? attrs.rank - encoded.rank() : attrs.inner;
    if (inner < 0 || inner != attrs.rank - encoded.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_ragged_rank, ", attrs.rank, ", must be input_ragged_rank, ", inner,
                       ", and the rank of encoded_ragged, ", encoded.rank()));
    }
    GYRE_ASSIGN_OR_RETURN(const auto variants, VariantsInput(ctx));
    const DType dtype = ctx.output_dtype(attrs.rank);
    GYRE_RETURN_IF_ERROR(CheckVariants(variants, inner, DTypeOf<Split>, dtype));
    if (encoded.rank() == 0) {
      for (int i = 0; i < inner; ++i) ctx.set_output(i, variants[0]->splits()[i]);
      ctx.set_output(inner, variants[0]->values());
      return absl::OkStatus();
    }
    // Outer dimensions are even.
    int64_t rows = 1;
    for (int d = 0; d + 1 < encoded.rank(); ++d) {
      rows *= encoded.dim(d);
      GYRE_ASSIGN_OR_RETURN(Tensor even, EvenSplits(ctx, rows, encoded.dim(d + 1)));
      ctx.set_output(d, std::move(even));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor outer, RowSplits(ctx, variants));
    ctx.set_output(encoded.rank() - 1, std::move(outer));
    for (int level = 0; level < inner; ++level) {
      GYRE_ASSIGN_OR_RETURN(Tensor splits, JoinedSplits<Split>(ctx, variants, level));
      ctx.set_output(encoded.rank() + level, std::move(splits));
    }
    std::vector<Tensor> parts;
    for (const RaggedVariant* one : variants) {
      if (one->values().rank() < 1)
        return absl::InvalidArgumentError("a row of a ragged tensor cannot be a scalar");
      parts.push_back(one->values());
    }
    GYRE_ASSIGN_OR_RETURN(Tensor values, Concatenated(ctx, parts, dtype));
    ctx.set_output(attrs.rank, std::move(values));
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Tensor> EvenSplits(const KernelContext& ctx, int64_t rows, int64_t size) {
    GYRE_ASSIGN_OR_RETURN(const Shape all, Shape::Make({rows, size}));
    if (all.num_elements() > std::numeric_limits<Split>::max()) {
      return absl::InvalidArgumentError("there are more rows than row splits can count");
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows + 1}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<Split>, shape));
    Split* to = static_cast<Split*>(out.mutable_raw_data());
    for (int64_t i = 0; i <= rows; ++i) {
      if (i % 65536 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      to[i] = static_cast<Split>(i * size);
    }
    return out;
  }

  static absl::StatusOr<Tensor> RowSplits(const KernelContext& ctx,
                                          const std::vector<const RaggedVariant*>& variants) {
    const auto n = static_cast<int64_t>(variants.size());
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<Split>, Shape::Vector(n + 1)));
    Split* to = static_cast<Split*>(out.mutable_raw_data());
    int64_t total = 0;
    to[0] = 0;
    for (int64_t i = 0; i < n; ++i) {
      const RaggedVariant& one = *variants[i];
      total += one.ragged_rank() > 0     ? one.splits()[0].num_elements() - 1
               : one.values().rank() > 0 ? one.values().dim(0)
                                         : 0;
      if (total > std::numeric_limits<Split>::max()) {
        return absl::InvalidArgumentError("there are more rows than row splits can count");
      }
      to[i + 1] = static_cast<Split>(total);
    }
    return out;
  }
};

// The values of all variants, in the shape of what they were made of; of empty ones, zeros.
template <typename Split>
struct ToVariantGradKernel {
  static absl::Status Run(KernelContext& ctx) {
    if (ctx.input(2).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("dense_values_shape must be a vector, but is of shape ",
                       ctx.input(2).shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ctx.ShapeInput(2, "dense_values_shape"));
    const DType dtype = ctx.output_dtype(0);
    const Tensor& encoded = ctx.input(0);
    std::vector<Tensor> parts;
    const auto add = [&](const Object* object, int64_t rows) -> absl::Status {
      if (const auto* ragged = dynamic_cast<const RaggedVariant*>(object)) {
        if (ragged->values().dtype() != dtype) {
          return absl::InvalidArgumentError(absl::StrCat("encoded_ragged_grad holds ",
                                                         DTypeName(ragged->values().dtype()),
                                                         " instead of ", DTypeName(dtype)));
        }
        const Tensor& values = ragged->values();
        parts.push_back(values.Reshaped(Shape::Vector(values.num_elements())));
        return absl::OkStatus();
      }
      if (object != nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            "encoded_ragged_grad must hold ragged tensors, not a ", object->type_name()));
      }
      Dims of_rows(shape.dims().begin(), shape.dims().end());
      if (!of_rows.empty()) of_rows[0] = rows;
      GYRE_ASSIGN_OR_RETURN(const Shape flat, Shape::Make(std::move(of_rows)));
      GYRE_ASSIGN_OR_RETURN(Tensor zeros,
                            ctx.AllocateZeros(dtype, Shape::Vector(flat.num_elements())));
      parts.push_back(std::move(zeros));
      return absl::OkStatus();
    };
    if (encoded.rank() == 0) {
      GYRE_RETURN_IF_ERROR(add(encoded.object(), shape.rank() == 0 ? 1 : shape.dim(0)));
    } else {
      const auto objects = encoded.values<RefPtr<Object>>();
      const auto splits = ctx.input(1).values<Split>();
      for (size_t i = 0; i < objects.size(); ++i) {
        int64_t rows = 0;
        if (i + 1 < splits.size()) {
          const int64_t begin = splits[i], end = splits[i + 1];
          rows = begin < 0 || end < begin ? -1 : end - begin;
        }
        if (rows < 0 || (!objects[i] && i + 1 >= splits.size())) {
          return absl::InvalidArgumentError(
              absl::StrCat("row_splits must not fall and have an element for each row, but row ", i,
                           " is not among them"));
        }
        GYRE_RETURN_IF_ERROR(add(objects[i].get(), rows));
      }
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, Concatenated(ctx, parts, dtype));
    if (out.num_elements() != shape.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat("encoded_ragged_grad holds ",
                                                     out.num_elements(), " values instead of ",
                                                     shape.num_elements()));
    }
    ctx.set_output(0, out.Reshaped(shape));
    return absl::OkStatus();
  }
};

absl::Status ToVariantShape(ShapeContext& c) {
  const ToVariantAttrs attrs(c.node());
  if (!attrs.by_row) {
    c.set_output(0, PartialShape::Scalar());
    return absl::OkStatus();
  }
  if (!c.input(0).has_rank()) {
    c.set_output(0, PartialShape::UnknownOfRank(1));
    return absl::OkStatus();
  }
  if (c.input(0).rank() < 1) return absl::InvalidArgumentError("a scalar has no rows");
  const int64_t n = c.input(0).dim(0);
  c.set_output(0, PartialShape(Dims{n < 0 || attrs.rank == 0 ? n : std::max<int64_t>(0, n - 1)}));
  return absl::OkStatus();
}

absl::Status FromVariantShape(ShapeContext& c) {
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.set_output(i, PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

absl::Status GradShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape out, c.InputAsShape(2));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The values of the gradients of all rows.
void ToVariantGradient(GradientContext& g) {
  const auto rank = g.attr<int64_t>("RAGGED_RANK", 0);
  const auto values = static_cast<int>(rank);
  if (!g.wants(values)) return;
  const bool by_row = g.attr<bool>("batched_input", false);
  if (by_row && rank == 1) {  // of rows that nobody has read there is none
    g.Add(values,
          g.op("RaggedTensorToVariantGradient", {g.grad(), g.input(0), g.input_dims(values)},
               AttrMap{{"Tvalues", g.input_dtype(values)}}));
    return;
  }
  const int64_t all = std::max<int64_t>(rank, by_row ? 1 : 0);
  const std::vector<Expr> parts =
      g.builder().Ops("RaggedTensorFromVariant", {g.grad()},
                      AttrMap{{"input_ragged_rank", all - (by_row ? 1 : 0)},
                              {"output_ragged_rank", all},
                              {"Tvalues", g.input_dtype(values)},
                              {"Tsplits", rank > 0 ? g.input_dtype(0) : DType::kInt64}},
                      static_cast<int>(all) + 1);
  g.Add(values, Reshape(parts.back(), g.input_dims(values)));
}

// Of rows without ragged dimensions of their own, which is what the rule above asks for.
void ToVariantGradGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  if (g.input_shape(0).has_rank() && g.input_shape(0).rank() != 1) {
    return g.Fail(absl::UnimplementedError(
        "the gradient of RaggedTensorToVariantGradient takes a vector of variants"));
  }
  g.Add(0, g.op("RaggedTensorToVariant", {g.input(1), g.grad()},
                AttrMap{{"RAGGED_RANK", int64_t{1}}, {"batched_input", true}}));
}

void FromVariantGradient(GradientContext& g) {
  const int rank = g.num_outputs() - 1;
  if (!g.has_grad(rank)) return;
  const auto inner = g.attr<int64_t>("input_ragged_rank", 0);
  if (rank - inner > 1 || (inner < 0 && rank > 1)) {
    g.Fail(absl::UnimplementedError(
        "the gradient of RaggedTensorFromVariant takes a scalar or a vector of variants, of which "
        "input_ragged_rank tells"));
    return;
  }
  const bool by_row = inner < 0 ? rank == 1 : rank > inner;
  std::vector<Expr> inputs;
  for (int i = 0; i < rank; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.grad(rank));
  g.Add(0, g.op("RaggedTensorToVariant", inputs,
                AttrMap{{"RAGGED_RANK", int64_t{rank}},
                        {"Tsplits", rank > 0 ? g.output_dtype(0) : DType::kInt64},
                        {"batched_input", by_row}}));
}

}  // namespace

void RegisterRaggedRows(OpRegistry& ops) {
  ops.Add({.schema = "RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK * Tsplits, "
                     "rt_dense_values: Tvalues) -> encoded_ragged: variant {RAGGED_RANK: int >= 0; "
                     "Tvalues: type; Tsplits: {int32, int64} = int64; batched_input: bool}",
           .doc = "A ragged tensor in a variant, or its rows in a vector of variants.",
           .shape = ToVariantShape,
           .gradient = {ToVariantGradient},
           .kinds = kinds::Plain,
           .kernel = ForTypes<ToVariantKernel, IndexTypes>("Tsplits")});
  ops.Add({.schema = "RaggedTensorFromVariant(encoded_ragged: variant) -> output_nested_splits: "
                     "output_ragged_rank * Tsplits, output_dense_values: Tvalues "
                     "{input_ragged_rank: int >= -1; output_ragged_rank: int >= 0; Tvalues: type; "
                     "Tsplits: {int32, int64} = int64}",
           .doc = "The ragged tensor in a variant, or that of which a tensor of variants has the "
                  "rows.",
           .shape = FromVariantShape,
           .gradient = {FromVariantGradient},
           .kinds = kinds::Plain,
           .kernel = ForTypes<FromVariantKernel, IndexTypes>("Tsplits")});
  ops.Add({.schema = "RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: "
                     "Tsplits, dense_values_shape: int32) -> dense_values_grad: Tvalues {Tvalues: "
                     "type; Tsplits: {int32, int64} = int64}",
           .doc = "The gradient of the values that RaggedTensorToVariant takes.",
           .shape = GradShape,
           .gradient = {ToVariantGradGradient},
           .kinds = kinds::Plain,
           .kernel = ForTypes<ToVariantGradKernel, IndexTypes>("Tsplits")});
}

}  // namespace gyre
