// JSON from files that anybody may have written: headers and manifests. Stateless; any thread.
//
// nlohmann's parser by itself throws, keeps the last of two entries of one name, and builds what is
// nested as deeply as the text says. Here these are errors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

using Json = nlohmann::json;

// More text than this is not read: the limit of safetensors for its header.
inline constexpr int64_t kMaxJsonBytes = 100'000'000;

// INVALID_ARGUMENT unless the text is one JSON object, of few levels, in which names are unique;
// RESOURCE_EXHAUSTED when it does not fit in memory. `what` is what messages call it: "its header".
absl::StatusOr<Json> ParseJsonObject(absl::string_view text, absl::string_view what);

// As text in one line, or indented; INVALID_ARGUMENT when a string in it is not UTF-8.
absl::StatusOr<std::string> PrintJson(const Json& json, absl::string_view what, int indent = -1);

}  // namespace gyre
