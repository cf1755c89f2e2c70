// Lists of tensors, what sequences and the outputs of loops are made of; and optionals. Stateless.
#pragma once

#include "onnx/scope.h"

namespace gyre::onnx {

Expr EmptyList(Scope& s, DType dtype);
Expr Pushed(Scope& s, const Expr& list, const Expr& item);
// int32.
Expr Length(Scope& s, const Expr& list);
// `index`: an integer scalar.
Expr Item(Scope& s, const Expr& list, const Expr& index, DType dtype);
Expr WithItem(Scope& s, const Expr& list, const Expr& index, const Expr& item);
Expr Resized(Scope& s, const Expr& list, const Expr& size);
// The elements along a new axis 0. `shape`: what is known of an element's; dimensions that are not
// are 0 where there are no elements.
Expr Stacked(Scope& s, const Expr& list, DType dtype, const PartialShape& shape);

// What an optional holds.
Expr HeldBy(Scope& s, const Expr& optional, DType dtype);

}  // namespace gyre::onnx
