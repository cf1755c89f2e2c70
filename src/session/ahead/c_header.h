// The C header of a program that was compiled ahead of time (compile.h).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"

namespace gyre::ahead {

struct Member {
  std::string name;  // as the program has it
  DType dtype = DType::kInvalid;
  Shape shape;
};

struct Structure {
  std::vector<Member> members;
  size_t bytes = 0;
};

struct Header {
  std::string name;
  Structure inputs, outputs;
  std::vector<std::pair<size_t, std::string>> failures;  // what the function returns, of which op
  bool may_be_too_deep = false;
};

// A name that C and C++ allow.
bool IsIdentifier(absl::string_view name);
// Empty: there is none.
absl::string_view TypeInC(DType dtype);
std::string TextOf(const Header& header);

}  // namespace gyre::ahead
