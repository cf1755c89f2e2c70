// Whether two nodes of one op compute the same of the same inputs.
#pragma once

#include <algorithm>

#include "ir/attr.h"

namespace gyre {

inline bool SameAttrs(const AttrMap& a, const AttrMap& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && AttrEquals(x.second, y.second);
         });
}

}  // namespace gyre
