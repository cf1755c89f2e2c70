// The part of NVIDIA's driver that CUDA devices use: libcuda.so.1, opened when one is first asked
// for. So Gyre is built without a CUDA toolkit, and starts as fast where there is a driver.
//
// Types, numbers and functions are those of the CUDA Driver API (docs.nvidia.com/cuda/
// cuda-driver-api). Its binary interface is stable: a function that changes gets a new name, with
// _v2 or _v3 at its end, and the old one stays. Members are called as the function without its
// "cu"; which version each is, the table in driver.cc says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre::cuda {

// CUresult, as far as it is told apart here. Other numbers are errors, too.
enum class Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotReady = 600,
};

using DeviceId = int;                        // CUdevice
using Context = struct ContextTag*;          // CUcontext
using StreamHandle = struct StreamTag*;      // CUstream
using EventHandle = struct EventTag*;        // CUevent
using PoolHandle = struct PoolTag*;          // CUmemoryPool
using ModuleHandle = struct ModuleTag*;      // CUmodule
using FunctionHandle = struct FunctionTag*;  // CUfunction
using Address = uint64_t;                    // CUdeviceptr

struct Location {  // CUmemLocation
  int type = 1;    // CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};

struct PoolProperties {     // CUmemPoolProps
  int allocation_type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED, the only one there is
  int handle_types = 0;     // CU_MEM_HANDLE_TYPE_NONE: memory is not shared between processes
  Location location;
  void* security_attributes = nullptr;
  unsigned char reserved[64] =
      {};  // must be 0; newer drivers have fields here, which 0 leaves open
};
static_assert(sizeof(PoolProperties) == 88);

struct Access {  // CUmemAccessDesc
  Location location;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

constexpr int kMemoryPoolsSupported = 115;   // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
constexpr int kReleaseThreshold = 4;         // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
constexpr unsigned kStreamNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
constexpr unsigned kEventBlockingSync = 1;   // CU_EVENT_BLOCKING_SYNC
constexpr unsigned kEventDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING
constexpr unsigned kHostAllocPortable = 1;   // CU_MEMHOSTALLOC_PORTABLE

// Functions of the driver. Those with "Async" put work into a stream. Any thread.
struct Driver {
  Result (*Init)(unsigned flags);
  Result (*GetErrorName)(Result, const char** text);
  Result (*GetErrorString)(Result, const char** text);
  Result (*DeviceGetCount)(int* count);
  Result (*DeviceGet)(DeviceId* device, int number);
  Result (*DeviceGetAttribute)(int* value, int attribute, DeviceId device);
  Result (*DeviceCanAccessPeer)(int* can, DeviceId device, DeviceId peer);
  Result (*DevicePrimaryCtxRetain)(Context* context, DeviceId device);
  Result (*CtxPushCurrent)(Context context);
  Result (*CtxPopCurrent)(Context* context);
  Result (*MemPoolCreate)(PoolHandle* pool, const PoolProperties* properties);
  Result (*MemPoolDestroy)(PoolHandle pool);
  Result (*MemPoolSetAttribute)(PoolHandle pool, int attribute, void* value);
  Result (*MemPoolSetAccess)(PoolHandle pool, const Access* accesses, size_t count);
  Result (*MemAllocFromPoolAsync)(Address* memory, size_t bytes, PoolHandle, StreamHandle);
  Result (*MemFreeAsync)(Address memory, StreamHandle);
  Result (*MemHostAlloc)(void** memory, size_t bytes, unsigned flags);
  Result (*MemcpyHtoDAsync)(Address to, const void* from, size_t bytes, StreamHandle);
  Result (*MemcpyDtoHAsync)(void* to, Address from, size_t bytes, StreamHandle);
  Result (*MemcpyAsync)(Address to, Address from, size_t bytes, StreamHandle);
  Result (*MemsetD8Async)(Address to, unsigned char byte, size_t bytes, StreamHandle);
  Result (*StreamCreate)(StreamHandle* stream, unsigned flags);
  Result (*StreamDestroy)(StreamHandle stream);
  Result (*StreamSynchronize)(StreamHandle stream);
  Result (*StreamWaitEvent)(StreamHandle stream, EventHandle event, unsigned flags);
  Result (*EventCreate)(EventHandle* event, unsigned flags);
  Result (*EventDestroy)(EventHandle event);
  Result (*EventRecord)(EventHandle event, StreamHandle stream);
  Result (*EventQuery)(EventHandle event);
  Result (*EventSynchronize)(EventHandle event);

  // Null where a driver runs no kernels: the tests' one.
  Result (*ModuleLoadData)(ModuleHandle* module, const void* image);
  Result (*ModuleGetFunction)(FunctionHandle* function, ModuleHandle module, const char* name);
  Result (*LaunchKernel)(FunctionHandle function, unsigned blocks_x, unsigned blocks_y,
                         unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                         unsigned threads_z, unsigned shared_bytes, StreamHandle stream,
                         void** parameters, void** extra);
};

// The driver of this machine, ready for use; it stays for ever. FAILED_PRECONDITION, saying what is
// missing, where there is none, one that is too old, or one that does not start.
const absl::StatusOr<const Driver*>& TheDriver();

// How `call` ("cuMemcpyHtoDAsync") of `who` ("CUDA:0") has ended: OK, or an error that names both,
// CUDA's name of the error and its words. RESOURCE_EXHAUSTED without memory; INTERNAL for calls
// that the driver says are wrong; UNAVAILABLE for all others: most leave a GPU that answers every
// further call of the process so.
absl::Status DriverStatus(const Driver& driver, absl::string_view who, absl::string_view call,
                          Result result);

}  // namespace gyre::cuda
