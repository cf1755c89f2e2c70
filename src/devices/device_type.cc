#include "devices/device_type.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace gyre {

// Written by the build: one of each folder.
std::vector<DeviceType> BuiltinDeviceTypes();

namespace {

// Thread-safe. Types and devices stay.
class Registry {
 public:
  Registry() {
    for (DeviceType& type : BuiltinDeviceTypes()) types_.emplace(type.name, std::move(type));
  }

  std::vector<const DeviceType*> All() {
    const std::lock_guard lock(mutex_);
    std::vector<const DeviceType*> all;
    for (const auto& [name, type] : types_) all.push_back(&type);
    return all;
  }

  const DeviceType* Find(absl::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto it = types_.find(name);
    return it == types_.end() ? nullptr : &it->second;
  }

  absl::Status Add(DeviceType type) {
    const std::lock_guard lock(mutex_);
    std::string name = type.name;
    if (types_.emplace(std::move(name), type).second) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat("there is a type of devices ", type.name));
  }

  absl::StatusOr<Device*> Local(const DeviceType& type, int id) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Device>& device = devices_[{&type, id}];
    if (device == nullptr) {
      GYRE_ASSIGN_OR_RETURN(device, type.make(id, DeviceOptions()));
    }
    return device.get();
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::map<std::string, DeviceType, std::less<>> types_;
  std::map<std::pair<const DeviceType*, int>, std::unique_ptr<Device>> devices_;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

std::vector<const DeviceType*> DeviceTypes() { return TheRegistry().All(); }
const DeviceType* FindDeviceType(absl::string_view name) { return TheRegistry().Find(name); }
absl::Status AddDeviceType(DeviceType type) { return TheRegistry().Add(std::move(type)); }

absl::StatusOr<Device*> LocalDevice(const DeviceName& name) {
  const DeviceType* const type = FindDeviceType(name.type.value_or(""));
  if (type != nullptr && name.id) return TheRegistry().Local(*type, *name.id);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no device ", name.ToString(), "; types of devices are ",
                   absl::StrJoin(DeviceTypes(), ", ", [](std::string* out, const DeviceType* each) {
                     absl::StrAppend(out, each->name);
                   })));
}

}  // namespace gyre
