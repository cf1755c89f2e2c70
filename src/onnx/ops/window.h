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

// Fails unless kernel, strides and dilations are positive, and of 32 bits: so no extent overflows.
void RequireSizes(NodeContext& c, const Windows& windows);
// How many elements a window has; 0, and a failure, if those cannot be counted in 32 bits.
int64_t ElementsOf(NodeContext& c, const Windows& windows);

// A list of `count` numbers of 32 bits: the attribute, or `fallback` for each.
std::vector<int64_t> IntsOrAll(NodeContext& c, absl::string_view name, size_t count,
                               int64_t fallback);

// `x` with `value` (a scalar) around its spatial axes, which begin at `first_axis`; behind them,
// what `extra` says too. Fails for padding that is known to be negative.
Expr PaddedSpace(NodeContext& c, const Expr& x, int first_axis, const Windows& windows,
                 const Expr& value);

// The windows along one axis of padded `x`: that axis becomes two, [windows, elements of each].
Expr AlongWindows(NodeContext& c, const Expr& x, int axis, const Windows& windows, int d);

}  // namespace gyre::onnx
