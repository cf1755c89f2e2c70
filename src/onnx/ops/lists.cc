#include "onnx/ops/lists.h"

namespace gyre::onnx {
namespace {

Expr AnyShape(Scope& s) { return s.b().Int(-1); }

}  // namespace

Expr EmptyList(Scope& s, DType dtype) {
  return s.Op("EmptyTensorList", {AnyShape(s), s.b().Int(-1)}, {{"element_dtype", dtype}});
}

Expr Pushed(Scope& s, const Expr& list, const Expr& item) {
  return s.Op("TensorListPushBack", {list, item});
}

Expr Length(Scope& s, const Expr& list) { return s.Op("TensorListLength", {list}); }

Expr Item(Scope& s, const Expr& list, const Expr& index, DType dtype) {
  return s.Op("TensorListGetItem", {list, Cast(index, DType::kInt32), AnyShape(s)},
              {{"element_dtype", dtype}});
}

Expr WithItem(Scope& s, const Expr& list, const Expr& index, const Expr& item) {
  return s.Op("TensorListSetItem", {list, Cast(index, DType::kInt32), item});
}

Expr Resized(Scope& s, const Expr& list, const Expr& size) {
  return s.Op("TensorListResize", {list, Cast(size, DType::kInt32)});
}

Expr Stacked(Scope& s, const Expr& list, DType dtype, const PartialShape& shape) {
  Expr element = AnyShape(s);
  if (shape.has_rank()) {
    element = s.Int32s({shape.dims().begin(), shape.dims().end()});
    if (!shape.IsFullyKnown() && !s.failed()) {
      const Expr is_empty = s.Op("Equal", {Length(s, list), s.b().Int(0)});
      element = Where(is_empty, s.Op("Maximum", {element, s.b().Int(0)}), element);
    }
  }
  return s.Op("TensorListStack", {list, element}, {{"element_dtype", dtype}});
}

Expr HeldBy(Scope& s, const Expr& optional, DType dtype) {
  return s.Op("OptionalGetValue", {optional},
              {{"output_types", std::vector<DType>{dtype}},
               {"output_shapes", std::vector<PartialShape>{PartialShape::Unknown()}}});
}

}  // namespace gyre::onnx
