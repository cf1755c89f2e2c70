#include "devices/device_name.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gyre {
namespace {

// One part after its "name:"; "*" leaves it open.
bool ParseNumber(absl::string_view text, std::optional<int>& part) {
  if (text == "*") return true;
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) return false;
  part = number;
  return true;
}

bool IsWord(absl::string_view text) {
  if (text.empty() || !absl::ascii_isalpha(text[0])) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

// "CPU:0", "CPU:*" or "CPU".
bool ParseDevice(absl::string_view text, DeviceName& name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts[0] != "*") {
    if (!IsWord(parts[0])) return false;
    name.type = absl::AsciiStrToUpper(parts[0]);
  }
  return parts.size() == 1 || ParseNumber(parts[1], name.id);
}

bool ParsePart(absl::string_view part, DeviceName& name) {
  if (absl::ConsumePrefix(&part, "job:")) {
    if (part != "*") {
      if (!IsWord(part)) return false;
      name.job = std::string(part);
    }
    return true;
  }
  if (absl::ConsumePrefix(&part, "replica:")) return ParseNumber(part, name.replica);
  if (absl::ConsumePrefix(&part, "task:")) return ParseNumber(part, name.task);
  const bool is_spelled_out = absl::ConsumePrefix(&part, "device:");
  return (is_spelled_out || absl::StrContains(part, ':')) && ParseDevice(part, name);
}

template <typename T>
bool Fits(const std::optional<T>& wanted, const std::optional<T>& has) {
  return !wanted || wanted == has;
}

template <typename T>
bool Join(const std::optional<T>& a, const std::optional<T>& b, std::optional<T>& both) {
  both = a ? a : b;
  return !a || !b || a == b;
}

}  // namespace

absl::StatusOr<DeviceName> DeviceName::Parse(absl::string_view text) {
  DeviceName name;
  absl::string_view rest = text;
  absl::ConsumePrefix(&rest, "/");
  if (rest.empty()) return name;
  for (const absl::string_view part : absl::StrSplit(rest, '/')) {
    if (!ParsePart(part, name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", text, "\" is no device: '", part,
          "' is not of the form job:NAME, replica:N, task:N, device:TYPE:N or TYPE:N"));
    }
  }
  return name;
}

DeviceName DeviceName::Local(absl::string_view type, int id) {
  return {.job = "localhost", .replica = 0, .task = 0, .type = std::string(type), .id = id};
}

bool DeviceName::Matches(const DeviceName& device) const {
  return Fits(job, device.job) && Fits(replica, device.replica) && Fits(task, device.task) &&
         Fits(type, device.type) && Fits(id, device.id);
}

absl::StatusOr<DeviceName> DeviceName::Intersect(const DeviceName& other) const {
  DeviceName both;
  if (Join(job, other.job, both.job) && Join(replica, other.replica, both.replica) &&
      Join(task, other.task, both.task) && Join(type, other.type, both.type) &&
      Join(id, other.id, both.id))
    return both;
  return absl::InvalidArgumentError(
      absl::StrCat("no device is both ", ToString(), " and ", other.ToString()));
}

std::string DeviceName::ToString() const {
  std::string text;
  if (job) absl::StrAppend(&text, "/job:", *job);
  if (replica) absl::StrAppend(&text, "/replica:", *replica);
  if (task) absl::StrAppend(&text, "/task:", *task);
  if (type || id) absl::StrAppend(&text, "/device:", type.value_or("*"));
  if (id) absl::StrAppend(&text, ":", *id);
  return text.empty() ? "/" : text;
}

}  // namespace gyre
