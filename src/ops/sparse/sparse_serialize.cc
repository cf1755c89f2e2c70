// SerializeSparse, SerializeManySparse, DeserializeSparse, DeserializeManySparse: sparse tensors as
// three texts each, the bytes of indices, values and shape, and back.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/parse/tensor_bytes.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

absl::Status RequireText(DType dtype, absl::string_view what) {
  if (dtype == DType::kString) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(what, " must be string here; variants are not supported"));
}

struct SerializeAttrs {
  static absl::StatusOr<SerializeAttrs> Make(const Node& node) {
    GYRE_RETURN_IF_ERROR(RequireText(NodeAttr<DType>(node, "out_type"), "out_type"));
    return SerializeAttrs();
  }
};

// Three texts, from place `at` of `to` on.
absl::Status PutTexts(const KernelContext& ctx, absl::Span<const Tensor> parts, int64_t at,
                      absl::Span<std::string> to, Mover<std::string>& mover) {
  for (const Tensor& part : parts) {
    GYRE_ASSIGN_OR_RETURN(std::string bytes, BytesOfTensor(ctx, part));
    if (!mover.Admit(bytes)) return mover.status();
    to[at++] = std::move(bytes);
  }
  return absl::OkStatus();
}

absl::Status Serialize(KernelContext& ctx, const SerializeAttrs&) {
  GYRE_RETURN_IF_ERROR(SparseInputAt(ctx, 0, 1, 2, "sparse_", false).status());
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, Shape::Vector(3)));
  Mover<std::string> mover(ctx, out);
  const std::array<Tensor, 3> parts = {ctx.input(0), ctx.input(1), ctx.input(2)};
  GYRE_RETURN_IF_ERROR(PutTexts(ctx, parts, 0, out.mutable_values<std::string>(), mover));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Elements [begin, end) of a vector.
absl::StatusOr<Tensor> PartOf(const KernelContext& ctx, const Tensor& vector, int64_t begin,
                              int64_t end) {
  GYRE_ASSIGN_OR_RETURN(Tensor part, ctx.Allocate(vector.dtype(), Shape::Vector(end - begin)));
  GYRE_RETURN_IF_ERROR(VisitElement(vector.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    Mover<T> mover(ctx, part);
    mover.Copy(static_cast<const T*>(vector.raw_data()) + begin, end - begin,
               static_cast<T*>(part.mutable_raw_data()));
    return mover.status();
  }));
  return part;
}

// The rows of a sparse tensor, each as one of a rank less.
absl::Status SerializeMany(KernelContext& ctx, const SerializeAttrs&) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 0, 1, 2, "sparse_", false));
  if (in.rank() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a sparse tensor of rank 2 or more has rows to serialize, not one of rank ", in.rank()));
  }
  const int64_t rows = in.shape[0], rank = in.rank() - 1;
  GYRE_ASSIGN_OR_RETURN(const Shape size, Shape::Make({rows, 3}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, size));
  GYRE_ASSIGN_OR_RETURN(const Tensor shape, ShapeVector(ctx, in.shape.subspan(1)));
  Mover<std::string> mover(ctx, out);
  int64_t next = 0;
  for (int64_t row = 0; row < rows; ++row) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    int64_t end = next;
    while (end < in.n && in.row(end)[0] == row) ++end;
    GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, end - next, rank));
    int64_t* to = indices.mutable_values<int64_t>().data();
    for (int64_t i = next; i < end; ++i) to = std::copy_n(in.row(i) + 1, rank, to);
    GYRE_ASSIGN_OR_RETURN(Tensor values, PartOf(ctx, ctx.input(1), next, end));
    const std::array<Tensor, 3> parts = {std::move(indices), std::move(values), shape};
    GYRE_RETURN_IF_ERROR(PutTexts(ctx, parts, 3 * row, out.mutable_values<std::string>(), mover));
    next = end;
  }
  if (next < in.n) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows of a sparse tensor must be in order and lie in [0, ", rows,
                     "), but sparse_indices[", next, ",0] = ", in.row(next)[0]));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

struct DeserializeAttrs {
  static absl::StatusOr<DeserializeAttrs> Make(const Node& node) {
    if (node.attrs.Has("Tserialized")) {
      GYRE_RETURN_IF_ERROR(RequireText(NodeAttr<DType>(node, "Tserialized"), "serialized_sparse"));
    }
    return DeserializeAttrs{NodeAttr<DType>(node, "dtype")};
  }
  DType dtype;
};

// One sparse tensor that has been read.
struct Part {
  Tensor indices, values;
  std::vector<int64_t> shape;
};

absl::StatusOr<Part> ReadPart(const KernelContext& ctx, absl::Span<const std::string> texts,
                              DType dtype) {
  Part part;
  GYRE_ASSIGN_OR_RETURN(part.indices, TensorOfBytes(ctx, texts[0], DType::kInt64));
  GYRE_ASSIGN_OR_RETURN(part.values, TensorOfBytes(ctx, texts[1], dtype));
  GYRE_ASSIGN_OR_RETURN(const Tensor shape, TensorOfBytes(ctx, texts[2], DType::kInt64));
  if (part.indices.rank() != 2 || part.values.rank() != 1 || shape.rank() != 1 ||
      part.indices.dim(0) != part.values.dim(0) || part.indices.dim(1) != shape.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("serialized indices, values and shape must fit together, but are of shapes ",
                     part.indices.shape().ToString(), ", ", part.values.shape().ToString(), " and ",
                     shape.shape().ToString()));
  }
  const auto dims = shape.values<int64_t>();
  part.shape.assign(dims.begin(), dims.end());
  GYRE_RETURN_IF_ERROR(Annotate(Shape::Make(part.shape).status(), "serialized shape"));
  return part;
}

// All parts as one sparse tensor, in front of whose dimensions stand those that `outer` says.
absl::Status SetJoined(KernelContext& ctx, const std::vector<Part>& parts,
                       absl::Span<const int64_t> outer, DType dtype) {
  const auto rank = parts.empty() ? int64_t{0} : static_cast<int64_t>(parts[0].shape.size());
  const auto front = static_cast<int64_t>(outer.size());
  std::vector<int64_t> dims(outer.begin(), outer.end());
  dims.resize(static_cast<size_t>(front + rank), 0);
  int64_t n = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (static_cast<int64_t>(parts[i].shape.size()) != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("sparse tensors must be of one rank, but number ", i, " is of rank ",
                       parts[i].shape.size(), " and the first of rank ", rank));
    }
    for (int64_t d = 0; d < rank; ++d)
      dims[front + d] = std::max(dims[front + d], parts[i].shape[d]);
    n += parts[i].values.dim(0);
  }
  GYRE_RETURN_IF_ERROR(Shape::Make(dims).status());
  GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, n, front + rank));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(dtype, Shape::Vector(n)));
  int64_t* to = indices.mutable_values<int64_t>().data();
  std::vector<int64_t> place(outer.size(), 0);
  for (const Part& part : parts) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t* from = part.indices.values<int64_t>().data();
    for (int64_t i = 0; i < part.values.dim(0); ++i, from += rank) {
      to = std::copy(place.begin(), place.end(), to);
      to = std::copy_n(from, rank, to);
    }
    for (size_t d = outer.size(); d-- > 0;) {
      if (++place[d] < outer[d]) break;
      place[d] = 0;
    }
  }
  GYRE_RETURN_IF_ERROR(VisitElement(dtype, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    T* at = static_cast<T*>(values.mutable_raw_data());
    Mover<T> mover(ctx, values);
    for (const Part& part : parts) {
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      mover.Copy(static_cast<const T*>(part.values.raw_data()), part.values.dim(0), at);
      at += part.values.dim(0);
    }
    return mover.status();
  }));
  GYRE_ASSIGN_OR_RETURN(Tensor shape, ShapeVector(ctx, dims));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, std::move(shape));
  return absl::OkStatus();
}

absl::Status Deserialize(KernelContext& ctx, const DeserializeAttrs& attrs) {
  const Tensor& texts = ctx.input(0);
  if (texts.rank() < 1 || texts.dim(texts.rank() - 1) != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("serialized_sparse must have a last dimension of 3, but is of shape ",
                     texts.shape().ToString()));
  }
  std::vector<int64_t> outer(texts.shape().dims().begin(), texts.shape().dims().end() - 1);
  const absl::Span<const std::string> all = texts.values<std::string>();
  std::vector<Part> parts;
  for (size_t i = 0; i + 3 <= all.size(); i += 3) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(Part part, ReadPart(ctx, all.subspan(i, 3), attrs.dtype));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) {
    return absl::InvalidArgumentError("serialized_sparse must hold a sparse tensor at least");
  }
  return SetJoined(ctx, parts, outer, attrs.dtype);
}

absl::Status DeserializeMany(KernelContext& ctx, const DeserializeAttrs& attrs) {
  if (ctx.input(0).rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "serialized_sparse must be a matrix, but is of shape ", ctx.input(0).shape().ToString()));
  }
  return Deserialize(ctx, attrs);
}

absl::Status SerializeShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  c.set_output(0, PartialShape(Dims{3}));
  return absl::OkStatus();
}

absl::Status SerializeManyShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  c.set_output(0, PartialShape(Dims{-1, 3}));
  return absl::OkStatus();
}

absl::Status DeserializeShape(ShapeContext& c) {
  SetSparse(c, 0, -1, -1);
  return absl::OkStatus();
}

void Add(OpRegistry& ops, absl::string_view schema, absl::string_view doc,
         absl::Status (*shape)(ShapeContext&), KernelFactory kernel) {
  ops.Add({.schema = schema,
           .doc = doc,
           .shape = shape,
           .gradient = NotDifferentiable("bytes have no derivative"),
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterSparseSerialize(OpRegistry& ops) {
  Add(ops,
      "SerializeSparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> "
      "serialized_sparse: out_type {T: type; out_type: {string, variant} = string}",
      "A sparse tensor as three texts.", SerializeShape, Compute<&Serialize>());
  Add(ops,
      "SerializeManySparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> "
      "serialized_sparse: out_type {T: type; out_type: {string, variant} = string}",
      "The rows of a sparse tensor as three texts each.", SerializeManyShape,
      Compute<&SerializeMany>());
  Add(ops,
      "DeserializeSparse(serialized_sparse: Tserialized) -> sparse_indices: int64, "
      "sparse_values: dtype, sparse_shape: int64 {dtype: type; Tserialized: {string, variant} = "
      "string}",
      "The sparse tensors that texts say, as one.", DeserializeShape, Compute<&Deserialize>());
  Add(ops,
      "DeserializeManySparse(serialized_sparse: string) -> sparse_indices: int64, "
      "sparse_values: dtype, sparse_shape: int64 {dtype: type}",
      "The sparse tensors that rows of three texts say, as the rows of one.", DeserializeShape,
      Compute<&DeserializeMany>());
}

}  // namespace gyre
