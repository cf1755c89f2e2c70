// Functions that run in the place of others, as those do that also save what a gradient needs. They
// remember which: random numbers hang on the names of functions, and are those of the original.
// Stateless; any thread.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

// Of a function that runs in the place of another one: the name of that.
inline constexpr absl::string_view kCopyOfAttr = "_gyre_copy_of";

// The name of the function in whose place this one runs; its own where that is none. A view into
// the function.
inline absl::string_view NameOfOriginal(const Function& function) {
  const auto* const original = function.attrs.Get<std::string>(kCopyOfAttr);
  return original == nullptr ? absl::string_view(function.name) : absl::string_view(*original);
}

// What the frames are named after in which `structured` runs `callee`: so that two functions called
// from one node draw different random numbers, and a copy of a function those of the original.
inline std::string CalleeFrameName(const Node& structured, const Function& callee) {
  return absl::StrCat(structured.name, "/", NameOfOriginal(callee));
}

}  // namespace gyre
