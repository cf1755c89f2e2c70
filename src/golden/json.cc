#include "golden/json.h"

#include "absl/strings/str_cat.h"

namespace gyre::golden {

absl::Status Mistake(const std::string& where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

std::string Join(const std::string& where, absl::string_view key) {
  return where.empty() ? std::string(key) : absl::StrCat(where, ".", key);
}

const Json& Member(const Json& object, const char* key) {
  static const Json* const nothing = new Json;
  if (!object.is_object()) return *nothing;
  const auto found = object.find(key);
  return found == object.end() ? *nothing : *found;
}

absl::StatusOr<std::string> Text(const Json& object, const char* key, const std::string& where) {
  const Json& json = Member(object, key);
  if (json.is_null()) return std::string();
  if (!json.is_string()) return Mistake(Join(where, key), "not a string");
  return json.get<std::string>();
}

absl::StatusOr<std::vector<std::string>> Texts(const Json& object, const char* key,
                                               const std::string& where) {
  std::vector<std::string> result;
  const Json& json = Member(object, key);
  if (json.is_null()) return result;
  if (!json.is_array()) return Mistake(Join(where, key), "not a list");
  for (const Json& item : json) {
    if (!item.is_string()) return Mistake(Join(where, key), "not a list of strings");
    result.push_back(item.get<std::string>());
  }
  return result;
}

absl::StatusOr<int64_t> Whole(const Json& object, const char* key, int64_t fallback,
                              const std::string& where) {
  const Json& json = Member(object, key);
  if (json.is_null()) return fallback;
  if (!json.is_number_unsigned() || json.get<uint64_t>() > INT32_MAX) {
    return Mistake(Join(where, key), "not a small whole number");
  }
  return json.get<int64_t>();
}

absl::StatusOr<double> Number(const Json& object, const char* key, const std::string& where) {
  const Json& json = Member(object, key);
  if (json.is_null()) return 0.0;
  if (!json.is_number()) return Mistake(Join(where, key), "not a number");
  return json.get<double>();
}

}  // namespace gyre::golden
