#include "devices/cuda/driver.h"

#include <dlfcn.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

// A member of Driver, and the name of the function of the version that it has the type of.
struct Entry {
  void** member;
  const char* name;
};

// Pointers to functions are stored through pointers to void*, as dlsym gives them.
template <typename F>
Entry Of(F& member, const char* name) {
  static_assert(sizeof(F) == sizeof(void*));
  return {reinterpret_cast<void**>(&member), name};
}

absl::Status Resolve(void* library, Driver& d) {
  const Entry entries[] = {
      Of(d.Init, "cuInit"),
      Of(d.GetErrorName, "cuGetErrorName"),
      Of(d.GetErrorString, "cuGetErrorString"),
      Of(d.DeviceGetCount, "cuDeviceGetCount"),
      Of(d.DeviceGet, "cuDeviceGet"),
      Of(d.DeviceGetAttribute, "cuDeviceGetAttribute"),
      Of(d.DeviceCanAccessPeer, "cuDeviceCanAccessPeer"),
      Of(d.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"),
      Of(d.CtxPushCurrent, "cuCtxPushCurrent_v2"),
      Of(d.CtxPopCurrent, "cuCtxPopCurrent_v2"),
      Of(d.MemPoolCreate, "cuMemPoolCreate"),
      Of(d.MemPoolDestroy, "cuMemPoolDestroy"),
      Of(d.MemPoolSetAttribute, "cuMemPoolSetAttribute"),
      Of(d.MemPoolSetAccess, "cuMemPoolSetAccess"),
      Of(d.MemAllocFromPoolAsync, "cuMemAllocFromPoolAsync"),
      Of(d.MemFreeAsync, "cuMemFreeAsync"),
      Of(d.MemHostAlloc, "cuMemHostAlloc"),
      Of(d.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"),
      Of(d.MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2"),
      Of(d.MemcpyAsync, "cuMemcpyAsync"),
      Of(d.MemsetD8Async, "cuMemsetD8Async"),
      Of(d.StreamCreate, "cuStreamCreate"),
      Of(d.StreamDestroy, "cuStreamDestroy_v2"),
      Of(d.StreamSynchronize, "cuStreamSynchronize"),
      Of(d.StreamWaitEvent, "cuStreamWaitEvent"),
      Of(d.EventCreate, "cuEventCreate"),
      Of(d.EventDestroy, "cuEventDestroy_v2"),
      Of(d.EventRecord, "cuEventRecord"),
      Of(d.EventQuery, "cuEventQuery"),
      Of(d.EventSynchronize, "cuEventSynchronize"),
  };
  const Entry kernels[] = {
      Of(d.ModuleLoadData, "cuModuleLoadData"),
      Of(d.ModuleGetFunction, "cuModuleGetFunction"),
      Of(d.LaunchKernel, "cuLaunchKernel"),
  };
  for (const Entry& entry : kernels) *entry.member = dlsym(library, entry.name);
  for (const Entry& entry : entries) {
    *entry.member = dlsym(library, entry.name);
    if (*entry.member == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver has no ", entry.name,
                                                        ": it must be of CUDA 11.2 or later"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const Driver*> Load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat("there is no NVIDIA driver: ", why != nullptr ? why : kLibrary));
  }
  auto driver = std::make_unique<Driver>();
  GYRE_RETURN_IF_ERROR(Resolve(library, *driver));
  const absl::Status ready = DriverStatus(*driver, "the NVIDIA driver", "cuInit", driver->Init(0));
  if (!ready.ok()) return absl::FailedPreconditionError(ready.message());
  return driver.release();
}

absl::StatusCode CodeOf(Result result) {
  switch (result) {
    case Result::kSuccess:
      return absl::StatusCode::kOk;
    case Result::kOutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case Result::kInvalidValue:
    case Result::kInvalidContext:
    case Result::kInvalidHandle:
      return absl::StatusCode::kInternal;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

const absl::StatusOr<const Driver*>& TheDriver() {
  static const auto* const driver = new absl::StatusOr<const Driver*>(Load());
  return *driver;
}

absl::Status DriverStatus(const Driver& driver, absl::string_view who, absl::string_view call,
                          Result result) {
  if (result == Result::kSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* words = nullptr;
  if (driver.GetErrorName(result, &name) != Result::kSuccess || name == nullptr)
    name = "an unknown error";
  if (driver.GetErrorString(result, &words) != Result::kSuccess || words == nullptr) words = "";
  const std::string what =
      absl::StrCat(who, ": ", call, " failed with ", name, " (", static_cast<int>(result),
                   *words == 0 ? "" : ": ", words, ")");
  const absl::StatusCode code = CodeOf(result);
  return code == absl::StatusCode::kInternal ? BugError(what) : absl::Status(code, what);
}

}  // namespace gyre::cuda
