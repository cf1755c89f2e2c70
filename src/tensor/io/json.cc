#include "tensor/io/json.h"

#include <new>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

// What our formats have, and some to spare. Ten bytes of brackets would become half a kilobyte.
constexpr size_t kMaxDepth = 8;

// Follows the parser through the objects it is in. Throws a status to stop it: it knows no other
// way.
class Watch {
 public:
  explicit Watch(absl::string_view what) : what_(what) {}

  void operator()(Json::parse_event_t event, const Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (names_.size() == kMaxDepth) throw NoObject(what_);
        names_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        names_.pop_back();
        break;
      case Json::parse_event_t::key:
        Enter(*parsed.get_ptr<const std::string*>());
        break;
      case Json::parse_event_t::value:
        break;
    }
  }

  static absl::Status NoObject(absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is not a JSON object"));
  }

 private:
  void Enter(const std::string& name) {
    if (names_.back().insert(name).second) return;
    throw absl::InvalidArgumentError(
        absl::StrCat(what_, " has two entries of the name '", name, "'"));
  }

  const absl::string_view what_;
  std::vector<std::set<std::string>> names_;  // in the objects around, by depth
};

}  // namespace

absl::StatusOr<Json> ParseJsonObject(absl::string_view text, absl::string_view what) {
  Watch watch(what);
  const auto see = [&](int, Json::parse_event_t event, Json& parsed) {
    watch(event, parsed);
    return true;
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), see, /*allow_exceptions=*/false);
    if (!json.is_object()) return Watch::NoObject(what);
    return json;
  } catch (const absl::Status& status) {
    return status;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " does not fit in memory"));
  }
}

absl::StatusOr<std::string> PrintJson(const Json& json, absl::string_view what, int indent) {
  std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  if (Json::parse(text, nullptr, false) != json)
    return absl::InvalidArgumentError(absl::StrCat(what, " is not UTF-8"));
  return text;
}

}  // namespace gyre
