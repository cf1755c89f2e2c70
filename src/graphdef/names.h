// How nodes, and edges between them, are spelled in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/hash_map.h"

namespace gyre {

// A letter, digit, '.' or '_', then any of these and '-', '/', '>'.
bool IsValidNodeName(absl::string_view name);

// An entry of NodeDef.input. The views point into the string it was parsed from.
struct InputName {
  absl::string_view node;    // or, in a function's body, an argument of the function
  absl::string_view output;  // the output argument; in a function's body only
  std::optional<int32_t> index;
  bool is_control = false;
};

// "node", "node:2", "^node". nullopt when it is none of these.
std::optional<InputName> ParseGraphInput(absl::string_view text);
// "argument", "argument:0", "node:output", "node:output:2", "^node". nullopt when it is none of
// these.
std::optional<InputName> ParseFunctionInput(absl::string_view text);

// Hands out names that are valid and differ from each other. Not thread-safe.
class NameTable {
 public:
  // `wanted`, or the closest free name: bad characters become '_', a suffix tells twins apart.
  std::string Claim(absl::string_view wanted);
  // False when the name is taken already.
  bool Reserve(absl::string_view name) { return taken_.insert(std::string(name)).second; }

 private:
  HashSet<std::string> taken_;
};

}  // namespace gyre
