// Members of the JSON that golden cases are written in. Errors say where in the file the mistake
// is. Stateless; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre::golden {

using Json = nlohmann::json;

// "where: what".
absl::Status Mistake(const std::string& where, absl::string_view what);

// "steps[0]" and "error" make "steps[0].error".
std::string Join(const std::string& where, absl::string_view key);

// Null when there is no such member.
const Json& Member(const Json& object, const char* key);

// The text, texts or number of a member; "" and nothing, `fallback` and 0, when it is absent.
absl::StatusOr<std::string> Text(const Json& object, const char* key, const std::string& where);
absl::StatusOr<std::vector<std::string>> Texts(const Json& object, const char* key,
                                               const std::string& where);
absl::StatusOr<int64_t> Whole(const Json& object, const char* key, int64_t fallback,
                              const std::string& where);
absl::StatusOr<double> Number(const Json& object, const char* key, const std::string& where);

}  // namespace gyre::golden
