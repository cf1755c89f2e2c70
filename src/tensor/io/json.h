// JSON in files that anybody may have written: headers and manifests. Stateless; any thread.
//
// nlohmann's parser by itself throws, keeps the last of two entries of one name, and builds what is
// nested as deeply as the text says: here these are errors. Its values allocate when they are
// destroyed, and end the process when they cannot: ours do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

struct Json;
using JsonArray = std::vector<Json>;
using JsonObject = std::map<std::string, Json, std::less<>>;

struct Json {
  // Whole numbers that were read are signed only if they are negative.
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, JsonArray, JsonObject>
      value;

  // Null unless it is of this type.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value);
  }
  // The member of this name; null if there is none, or this is no object.
  const Json* Find(absl::string_view name) const;
};

// More text than this is not read: the limit of safetensors for its header.
inline constexpr int64_t kMaxJsonBytes = 100'000'000;

// INVALID_ARGUMENT unless the text is one JSON object, of few levels, in which names are unique;
// RESOURCE_EXHAUSTED when it does not fit in memory. `what` is what messages call it: "its header".
absl::StatusOr<Json> ParseJsonObject(absl::string_view text, absl::string_view what);

// As text in one line, or each member in a line of its own, indented by `indent` more than what is
// around it; INVALID_ARGUMENT when a string in it is not UTF-8.
absl::StatusOr<std::string> PrintJson(const Json& json, absl::string_view what, int indent = -1);

}  // namespace gyre
