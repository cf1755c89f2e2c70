// _Element, _SetElement: what StridedSlice, Gather and TensorScatterUpdate are with scalar indices.
// Loops that run on registers have them in the place of these (exec/sequential): no indices are
// packed, and a tensor of any size is read, and changed in place, where it lies.
#include "ops/array/element.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/evaluate.h"
#include "ops/object_code.h"
#include "ops/registry.h"

namespace gyre {
namespace {

int64_t IndexOf(const Tensor& scalar) {
  return scalar.dtype() == DType::kInt64 ? scalar.scalar<int64_t>() : scalar.scalar<int32_t>();
}

// Inputs from `first` on, scalars, as a vector.
absl::StatusOr<Tensor> IndicesFrom(const KernelContext& ctx, int first) {
  std::vector<Tensor> indices;
  for (int i = first; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat("an index must be a scalar, but has shape ",
                                                     ctx.input(i).shape().ToString()));
    }
    indices.push_back(ctx.input(i));
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> packed, EvaluateOp("Pack", std::move(indices)));
  return packed[0];
}

// The first element that the indices from input `first` on name, of the dimensions that they leave;
// nullopt if there is none. Negative indices count from the end if `from_end`.
struct Place {
  int64_t first = 0;
  Shape shape;
};
std::optional<Place> PlaceOf(const KernelContext& ctx, int first, bool from_end) {
  const Shape& shape = ctx.input(0).shape();
  const int count = ctx.num_inputs() - first;
  if (shape.rank() < count) return std::nullopt;
  Place place;
  for (int i = 0; i < count; ++i) {
    const Tensor& scalar = ctx.input(first + i);
    if (scalar.rank() != 0) return std::nullopt;
    int64_t index = IndexOf(scalar);
    if (index < 0 && from_end) index += shape.dim(i);
    if (index < 0 || index >= shape.dim(i)) return std::nullopt;
    place.first = place.first * shape.dim(i) + index;
  }
  Dims rest;
  for (int i = count; i < shape.rank(); ++i) rest.push_back(shape.dim(i));
  absl::StatusOr<Shape> made = Shape::Make(rest);
  if (!made.ok()) return std::nullopt;
  place.shape = *std::move(made);
  place.first *= place.shape.num_elements();
  return place;
}

// For what PlaceOf does not find: StridedSlice, or Gather, says what is wrong.
absl::Status Slice(KernelContext& ctx, bool from_end) {
  GYRE_ASSIGN_OR_RETURN(const Tensor begin, IndicesFrom(ctx, 1));
  const int64_t count = begin.dim(0);
  if (!from_end) {
    GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> part,
                          count == 1 ? EvaluateOp("Gather", {ctx.input(0), ctx.input(1)})
                                     : EvaluateOp("GatherNd", {ctx.input(0), begin}));
    ctx.set_output(0, std::move(part[0]));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> strides, EvaluateOp("OnesLike", {begin}));
  GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> slice,
                        EvaluateOp("StridedSlice", {ctx.input(0), begin, begin, strides[0]},
                                   {{"shrink_axis_mask", (int64_t{1} << count) - 1}}));
  ctx.set_output(0, std::move(slice[0]));
  return absl::OkStatus();
}

struct ElementAttrs {
  explicit ElementAttrs(const Node& node) : from_end(NodeAttr<bool>(node, "from_end")) {}
  bool from_end;
};

absl::Status Element(KernelContext& ctx, const ElementAttrs& attrs) {
  const Tensor& input = ctx.input(0);
  const std::optional<Place> place = PlaceOf(ctx, 1, attrs.from_end);
  if (!place) return Slice(ctx, attrs.from_end);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), place->shape));
  const size_t size = DTypeSize(input.dtype());
  if (out.bytes() > 0) {
    std::memcpy(
        out.mutable_raw_data(),
        static_cast<const char*>(input.raw_data()) + static_cast<size_t>(place->first) * size,
        out.bytes());
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The same of TensorScatterUpdate.
absl::Status Scatter(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Tensor indices, IndicesFrom(ctx, 2));
  const Tensor updates = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> updated,
                        EvaluateOp("TensorScatterUpdate", {ctx.TakeInput(0), indices, updates}));
  ctx.set_output(0, std::move(updated[0]));
  return absl::OkStatus();
}

absl::Status SetElement(KernelContext& ctx) {
  const std::optional<Place> place = PlaceOf(ctx, 2, /*from_end=*/false);
  const Tensor& value = ctx.input(1);
  if (!place || value.shape() != place->shape) return Scatter(ctx);
  Tensor changed = ctx.TakeInput(0);
  if (!changed.IsUnique()) {
    GYRE_ASSIGN_OR_RETURN(Tensor copy, ctx.Allocate(changed.dtype(), changed.shape()));
    if (copy.bytes() > 0) std::memcpy(copy.mutable_raw_data(), changed.raw_data(), copy.bytes());
    changed = std::move(copy);
  }
  if (value.bytes() > 0) {
    std::memcpy(static_cast<char*>(changed.mutable_raw_data()) +
                    static_cast<size_t>(place->first) * DTypeSize(value.dtype()),
                value.raw_data(), value.bytes());
  }
  ctx.set_output(0, std::move(changed));
  return absl::OkStatus();
}

// For generated code: where the element lies that N indices name; null: nowhere.
template <typename T, typename Index, int N>
char* ElementAt(const Tensor& tensor, void* const* indices, bool from_end) {
  if (tensor.dtype() != DTypeOf<T> || tensor.rank() != N) return nullptr;
  int64_t place = 0;
  for (int i = 0; i < N; ++i) {
    int64_t index = *static_cast<const Index*>(indices[i]);
    const int64_t size = tensor.dim(i);
    if (from_end && index < 0) index += size;
    if (index < 0 || index >= size) return nullptr;
    place = place * size + index;
  }
  return static_cast<char*>(const_cast<void*>(tensor.raw_data())) +
         static_cast<size_t>(place) * sizeof(T);
}

template <typename Index, int N>
struct Code {
  template <typename T, bool kFromEnd>
  struct GetAs {
    static constexpr absl::string_view kInputs = absl::string_view("txxx").substr(0, 1 + N);
    static constexpr absl::string_view kOutputs = "x";
    static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
      const char* const element =
          ElementAt<T, Index, N>(*static_cast<const Tensor*>(operands[0]), operands + 1, kFromEnd);
      if (element != nullptr) std::memcpy(operands[1 + N], element, sizeof(T));
      return element != nullptr;
    }
  };
  template <typename T>
  using Get = GetAs<T, true>;
  template <typename T>
  using GetFromStart = GetAs<T, false>;
  template <typename T>
  struct Set {
    static constexpr absl::string_view kInputs = absl::string_view("Txxxx").substr(0, 2 + N);
    static constexpr absl::string_view kOutputs = "T";
    static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
      Tensor& input = *static_cast<Tensor*>(operands[0]);
      char* const element = ElementAt<T, Index, N>(input, operands + 2, /*from_end=*/false);
      if (element == nullptr || !input.IsUnique()) return false;
      std::memcpy(element, operands[1], sizeof(T));
      *static_cast<Tensor*>(operands[2 + N]) = std::move(input);
      return true;
    }
  };
};

// Generated code has them of up to three indices.
template <typename Index, int N>
absl::StatusOr<Kernel> BindOf(const Node& node, bool reads) {
  using Codes = Code<Index, N>;
  if (!reads) return WithObjectCode<Codes::template Set>("T", Compute<SetElement>())(node);
  return NodeAttr<bool>(node, "from_end")
             ? WithObjectCode<Codes::template Get>("T", Compute<Element>())(node)
             : WithObjectCode<Codes::template GetFromStart>("T", Compute<Element>())(node);
}
template <typename Index>
absl::StatusOr<Kernel> Bind(const Node& node, bool reads) {
  switch (NodeAttr<int64_t>(node, "N")) {
    case 1:
      return BindOf<Index, 1>(node, reads);
    case 2:
      return BindOf<Index, 2>(node, reads);
    case 3:
      return BindOf<Index, 3>(node, reads);
    default:
      return (reads ? Compute<Element>() : Compute<SetElement>())(node);
  }
}
absl::StatusOr<Kernel> BindAny(const Node& node, bool reads) {
  return NodeAttr<DType>(node, "Index") == DType::kInt64 ? Bind<int64_t>(node, reads)
                                                         : Bind<int32_t>(node, reads);
}
absl::StatusOr<Kernel> BindElement(const Node& node) { return BindAny(node, true); }
absl::StatusOr<Kernel> BindSetElement(const Node& node) { return BindAny(node, false); }

absl::Status ElementShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const int count = c.num_inputs() - 1;
  if (c.input(0).rank() < count)
    return absl::InvalidArgumentError(
        absl::StrCat(count, " indices are too many for the shape ", c.input(0).ToString()));
  Dims rest;
  for (int i = count; i < c.input(0).rank(); ++i) rest.push_back(c.input(0).dim(i));
  c.set_output(0, PartialShape(std::move(rest)));
  return absl::OkStatus();
}

absl::Status SetElementShape(ShapeContext& c) {
  for (int i = 2; i < c.num_inputs(); ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

bool IsPack(const Node& node) {
  return node.op_name == "Pack" && node.attrs.GetOr<int64_t>("axis", 0) == 0;
}
// The numbers of a vector that is a constant; nullopt: it is none.
std::optional<std::vector<int64_t>> ConstantOf(const Function& function, Endpoint vector) {
  const Node& node = function.node(vector.node);
  if (node.kind() != OpKind::kConst) return std::nullopt;
  const Tensor& value = NodeAttr<Tensor>(node, "value");
  if (value.rank() != 1) return std::nullopt;
  if (value.dtype() == DType::kInt32) {
    const auto numbers = value.values<int32_t>();
    return std::vector<int64_t>(numbers.begin(), numbers.end());
  }
  if (value.dtype() != DType::kInt64) return std::nullopt;
  const auto numbers = value.values<int64_t>();
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}
// What a vector of indices is made of; empty: that is not known.
std::vector<ElementAccess::Index> IndicesOf(const Function& function, Endpoint vector) {
  std::vector<ElementAccess::Index> indices;
  if (const Node& node = function.node(vector.node); IsPack(node)) {
    for (const Endpoint& scalar : node.inputs) indices.push_back({scalar, std::nullopt});
  } else if (const auto numbers = ConstantOf(function, vector)) {
    for (const int64_t number : *numbers) indices.push_back({{}, number});
  }
  return indices;
}
DType TypeOf(const Function& function, Endpoint e) {
  return function.node(e.node).signature.outputs[e.slot].dtype;
}
bool IsIndexType(const Function& function, Endpoint e) {
  const DType dtype = TypeOf(function, e);
  return dtype == DType::kInt32 || dtype == DType::kInt64;
}

}  // namespace

namespace {

// Of rows, by an index that may be a scalar.
std::optional<ElementAccess> GatherOf(const Function& function, const Node& node) {
  if (!IsTrivial(node.signature.outputs[0].dtype) || !IsIndexType(function, node.inputs[1]) ||
      node.attrs.GetOr<int64_t>("batch_dims", 0) != 0)
    return std::nullopt;
  if (node.inputs.size() > 2) {
    const Node& axis = function.node(node.inputs[2].node);
    if (axis.kind() != OpKind::kConst) return std::nullopt;
    const Tensor& value = NodeAttr<Tensor>(axis, "value");
    if (value.rank() != 0 || IndexOf(value) != 0) return std::nullopt;
  }
  return ElementAccess{.op = "_Element",
                       .tensor = node.inputs[0],
                       .indices = {{node.inputs[1], std::nullopt}},
                       .from_end = false,
                       .index_type = TypeOf(function, node.inputs[1])};
}

}  // namespace

std::optional<ElementAccess> ElementAccessOf(const Function& function, const Node& node) {
  if (node.op_name == "GatherV2" || node.op_name == "Gather") return GatherOf(function, node);
  const bool reads = node.op_name == "StridedSlice";
  if (!reads && node.op_name != "TensorScatterUpdate") return std::nullopt;
  if (!IsTrivial(node.signature.outputs[0].dtype)) return std::nullopt;
  ElementAccess access{.op = reads ? "_Element" : "_SetElement",
                       .tensor = node.inputs[0],
                       .indices = IndicesOf(function, node.inputs[1])};
  const size_t count = access.indices.size();
  if (count == 0 || count > 8 || !IsIndexType(function, node.inputs[1])) return std::nullopt;
  access.index_type = TypeOf(function, node.inputs[1]);
  const auto add_pack = [&](Endpoint vector) {
    if (IsPack(function.node(vector.node))) access.packs.push_back(vector.node);
  };
  add_pack(node.inputs[1]);
  if (!reads) {
    if (!node.attrs.GetOr<std::string>("bad_indices_policy", "").empty()) return std::nullopt;
    access.value = node.inputs[2];
    return access;
  }
  // Of an index, the end of the range counts for nothing, but that there must be one.
  access.end = node.inputs[2];
  add_pack(node.inputs[2]);
  for (const char* const mask : {"begin_mask", "ellipsis_mask", "new_axis_mask"})
    if (node.attrs.GetOr<int64_t>(mask, 0) != 0) return std::nullopt;
  if (node.attrs.GetOr<int64_t>("shrink_axis_mask", 0) != (int64_t{1} << count) - 1 ||
      ConstantOf(function, node.inputs[3]) != std::vector<int64_t>(count, 1))
    return std::nullopt;
  return access;
}

void RegisterElement(OpRegistry& ops) {
  ops.Add({.schema = "_Element(input: T, indices: N * Index) -> output: T {T: {numbertype, bool}; "
                     "N: int >= 1; "
                     "Index: indextype = int32; from_end: bool = true}",
           .doc = "The part of a tensor at these indices of its first dimensions; negative ones "
                  "count from the end, or are out of range.",
           .traits = {.role = Role::kElement},
           .shape = ElementShape,
           .gradient = NotDifferentiable(
               "it takes a StridedSlice's or a Gather's place where programs run"),
           .kernel = BindElement});
  ops.Add(
      {.schema = "_SetElement(input: T, value: T, indices: N * Index) -> output: T {T: "
                 "{numbertype, bool}; "
                 "N: int >= 1; Index: indextype = int32}",
       .doc = "A tensor with another part at these indices of its first dimensions.",
       .traits = {.role = Role::kSetElement},
       .shape = SetElementShape,
       .gradient = NotDifferentiable("it takes a TensorScatterUpdate's place where programs run"),
       .kernel = BindSetElement});
}

}  // namespace gyre
