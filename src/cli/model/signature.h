// Signatures of models as the command line names them. Functions of their arguments alone; any
// thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/suggest.h"
#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"

namespace gyre::cli {

// The entry of a map from names; NOT_FOUND, beginning with `what`, suggests names that are close,
// or lists them all.
template <typename T>
absl::StatusOr<const T*> FindNamed(const std::map<std::string, T>& map, absl::string_view name,
                                   absl::string_view what) {
  const auto found = map.find(std::string(name));
  if (found != map.end()) return &found->second;
  std::vector<std::string> names;
  for (const auto& [key, value] : map) names.push_back(key);
  const std::string hint = DidYouMean(name, names);
  std::string all;
  for (const std::string& one : names) absl::StrAppend(&all, all.empty() ? "" : ", ", one);
  return absl::NotFoundError(absl::StrCat(what, " '", name, "'",
                                          !hint.empty()   ? hint
                                          : names.empty() ? "; it has none"
                                                          : absl::StrCat("; it has ", all)));
}

// "x float32[?,3]": an input or output of a signature.
inline std::string DescribeArgument(absl::string_view name, DType dtype,
                                    const PartialShape& shape) {
  return absl::StrCat(name, " ", DTypeName(dtype),
                      shape.has_rank() ? shape.ToString() : " of any shape");
}

}  // namespace gyre::cli
