#include "devices/device_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "devices/device_type.h"

namespace gyre {
namespace {

// "there is cpu:N, with N from 1 to 1024, and null:N, …"
std::string WhatThereIs() {
  std::vector<std::string> sets;
  for (const DeviceType* type : DeviceTypes()) {
    const int count = type->count();
    if (count == 0) continue;
    sets.push_back(absl::StrCat(absl::AsciiStrToLower(type->name), ":N, with N from 1 to ", count));
  }
  return absl::StrCat("there is ", absl::StrJoin(sets, ", and "));
}

absl::Status AddDevices(absl::string_view part, std::vector<DeviceName>& devices) {
  const std::pair<absl::string_view, absl::string_view> words =
      absl::StrSplit(part, absl::MaxSplits(':', 1));
  const DeviceType* const type = FindDeviceType(absl::AsciiStrToUpper(words.first));
  int count = 0;
  if (type != nullptr && type->count() == 0) {
    const std::string why = type->why_none ? absl::StrCat(" (", type->why_none(), ")") : "";
    return absl::FailedPreconditionError(absl::StrCat(
        "\"", part, "\": this machine has no ", type->name, " devices", why, "; ", WhatThereIs()));
  }
  if (type == nullptr || !absl::SimpleAtoi(words.second, &count) || count < 1 ||
      count > type->count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", part, "\" is no set of devices; ", WhatThereIs()));
  }
  if (std::any_of(devices.begin(), devices.end(),
                  [&](const DeviceName& device) { return device.type == type->name; })) {
    return absl::InvalidArgumentError(absl::StrCat("\"", part, "\" names a type of devices again"));
  }
  for (int id = 0; id < count; ++id) devices.push_back(DeviceName::Local(type->name, id));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DeviceName>> ParseDeviceSet(absl::string_view text) {
  std::vector<DeviceName> devices;
  for (const absl::string_view part : absl::StrSplit(text, ','))
    GYRE_RETURN_IF_ERROR(AddDevices(part, devices));
  const bool has_host = std::any_of(devices.begin(), devices.end(), [](const DeviceName& device) {
    return !FindDeviceType(*device.type)->is_discrete;
  });
  if (has_host) return devices;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" has no cpu, where programs begin and end: \"cpu:1,", text, "\" has"));
}

absl::StatusOr<DeviceName> ParseAskedDevice(absl::string_view text) {
  GYRE_ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(text));
  const bool is_short = name.type && !absl::StrContains(text, "device:");
  if (!is_short || FindDeviceType(*name.type) != nullptr || name.type == "GPU" ||
      name.type == "TPU")
    return name;
  const auto append_name = [](std::string* out, const DeviceType* type) {
    absl::StrAppend(out, type->name);
  };
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no device: there is no type ", *name.type, " but ",
      absl::StrJoin(DeviceTypes(), ", ", append_name),
      "; one that only others have is /device:", *name.type, ":", name.id.value_or(0)));
}

}  // namespace gyre
