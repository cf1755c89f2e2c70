// Attributes that a node hands to what rules write in its place.
#pragma once

#include <initializer_list>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

// Those of these attributes that the node has.
inline AttrMap AttrsOf(const Node& node, std::initializer_list<absl::string_view> names) {
  AttrMap attrs;
  for (const absl::string_view name : names) {
    if (const AttrValue* value = node.attrs.Find(name)) attrs.Set(name, *value);
  }
  return attrs;
}

// All that say how a window slides.
inline AttrMap WindowAttrsOf(const Node& node) {
  AttrMap attrs = AttrsOf(node, {"ksize", "strides", "padding", "data_format", "dilations",
                                 "use_cudnn_on_gpu", "include_batch_in_index"});
  // Ops without explicit paddings do not have this one.
  const auto* explicit_paddings = node.attrs.Get<std::vector<int64_t>>("explicit_paddings");
  if (explicit_paddings != nullptr && !explicit_paddings->empty())
    attrs.Set("explicit_paddings", *explicit_paddings);
  return attrs;
}

}  // namespace gyre
