#include "devices/device_set.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gyre {

absl::StatusOr<std::vector<DeviceName>> ParseDeviceSet(absl::string_view text) {
  constexpr int kMost = 1024;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  int count = 0;
  if (absl::AsciiStrToLower(parts.first) != "cpu" || !absl::SimpleAtoi(parts.second, &count) ||
      count < 1 || count > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is no set of devices; there is cpu:N, with N from 1 to ", kMost));
  }
  std::vector<DeviceName> devices;
  for (int id = 0; id < count; ++id) devices.push_back(DeviceName::Local("CPU", id));
  return devices;
}

}  // namespace gyre
