// Windows over the spatial axes of [N, C, d1, d2, …]: what convolutions and pools share. Stateless.
#pragma once

#include <vector>

#include "onnx/node_context.h"

namespace gyre::onnx {

struct Windows {
  std::vector<int64_t> kernel, strides, dilations;
  // Of padding, by spatial axis; int64 scalars. `extra` stands behind `end`, where the size is
  // rounded up (ceil_mode): it never counts as an element.
  std::vector<Expr> begin, end, extra;
  std::vector<Expr> out;  // how many windows there are

  int rank() const { return static_cast<int>(kernel.size()); }
  int64_t Extent(int d) const { return (kernel[d] - 1) * dilations[d] + 1; }
};

// Of a node with auto_pad, pads, strides, dilations, ceil_mode over `x`. Fails for lists that do
// not have the length of the kernel, and for sizes below 1.
Windows ReadWindows(NodeContext& c, const Expr& x, std::vector<int64_t> kernel);

// The sizes of windows, at least 1 and below 2^31; the node fails where one is not.
bool AreSizes(NodeContext& c, const std::vector<int64_t>& sizes);

// A list of `count` numbers of 32 bits: the attribute, or `fallback` for each.
std::vector<int64_t> IntsOrAll(NodeContext& c, absl::string_view name, size_t count,
                               int64_t fallback);

// `x` with `value` (a scalar) around its spatial axes, which begin at `first_axis`; negative
// padding cuts off. With or without what `extra` says.
Expr PaddedSpace(NodeContext& c, const Expr& x, int first_axis, const Windows& windows,
                 const Expr& value);
bool IsZero(NodeContext& c, const Expr& x);

// The windows along one axis of padded `x`: that axis becomes two, [windows, elements of each].
Expr AlongWindows(NodeContext& c, const Expr& x, int axis, const Windows& windows, int d);

}  // namespace gyre::onnx
