// A fake libcuda.so.1: the functions that devices/cuda uses, over the host's memory and threads.
// With it, all that CUDA devices do is tested on machines without a GPU, errors included:
//
//   LD_LIBRARY_PATH=build/release/fake_cuda build/release/bin/gyre check tests/golden
//       --devices=cpu:1,cuda:2 --spread=1
#include "devices/cuda/driver.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "fake_cuda/faults.h"
#include "fake_cuda/memory.h"
#include "fake_cuda/ptx.h"
#include "fake_cuda/streams.h"
#include "fake_cuda/work.h"

// NOLINTBEGIN(bugprone-easily-swappable-parameters)
namespace fake_cuda {
namespace {

using namespace gyre::cuda;

constexpr int kNumDevices = 2;
constexpr Result kIllegalAddress{700};

struct FakeContext {
  int device = 0;
};
FakeContext contexts[kNumDevices] = {{0}, {1}};
thread_local std::vector<Context>* current = nullptr;  // a stack; leaked with its thread

Context Current() { return current == nullptr || current->empty() ? nullptr : current->back(); }

// What goes wrong, and what is counted. Thread-safe.
class Faults {
 public:
  // What a call called `call` ends with, if it does not begin.
  Result Enter(const std::string& call) {
    const std::lock_guard lock(mutex_);
    ++calls_[call];
    if (lost_ != Result::kSuccess) return lost_;
    const auto it = faults_.find(call);
    if (it == faults_.end() || it->second.after-- > 0) return Result::kSuccess;
    const Fault fault = it->second;
    faults_.erase(it);
    if (fault.is_lost) lost_ = fault.error;
    return fault.error;
  }
  void Fail(const char* call, int after, Result error, bool is_lost) {
    const std::lock_guard lock(mutex_);
    faults_[call] = {after, error, is_lost};
  }
  void Lose(Result error) {
    const std::lock_guard lock(mutex_);
    if (lost_ == Result::kSuccess) lost_ = error;
  }
  void Reset() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
    lost_ = Result::kSuccess;
  }
  int calls(const std::string& call) {
    const std::lock_guard lock(mutex_);
    return calls_[call];
  }

 private:
  struct Fault {
    int after = 0;
    Result error = Result::kSuccess;
    bool is_lost = false;
  };
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Fault> faults_;
  std::map<std::string, int> calls_;
  Result lost_ = Result::kSuccess;
};

Faults& TheFaults() {
  static auto* const faults = new Faults;
  return *faults;
}

std::atomic<int> pageable_copies{0};
std::atomic<uint32_t> num_streams{0};

FakeStream& StreamOf(StreamHandle handle) { return *reinterpret_cast<FakeStream*>(handle); }
FakeEvent& EventOf(EventHandle handle) { return *reinterpret_cast<FakeEvent*>(handle); }

}  // namespace

Result Enter(const std::string& call) { return TheFaults().Enter(call); }

void PutWork(StreamHandle stream, std::function<Result()> work) {
  StreamOf(stream).Put([work = std::move(work)] {
    WaitWhileStalled();
    Result result = TheFaults().Enter("work");
    if (result == Result::kSuccess) result = work();
    if (result != Result::kSuccess) TheFaults().Lose(result);
  });
}

// Calls are counted, and may be told to fail; most need a context.
#define ENTER(call) \
  if (const Result fault = TheFaults().Enter(call); fault != Result::kSuccess) return fault
#define ENTER_CONTEXT(call) \
  ENTER(call);              \
  if (Current() == nullptr) return Result::kInvalidContext

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT Result cuInit(unsigned) {
  ENTER("cuInit");
  return Result::kSuccess;
}
EXPORT Result cuGetErrorName(Result error, const char** text) {
  switch (static_cast<int>(error)) {
    case 1:
      *text = "CUDA_ERROR_INVALID_VALUE";
      break;
    case 2:
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case 201:
      *text = "CUDA_ERROR_INVALID_CONTEXT";
      break;
    case 214:
      *text = "CUDA_ERROR_ECC_UNCORRECTABLE";
      break;
    case 700:
      *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    default:
      return Result::kInvalidValue;
  }
  return Result::kSuccess;
}
EXPORT Result cuGetErrorString(Result, const char** text) {
  *text = "an error of the fake driver";
  return Result::kSuccess;
}
EXPORT Result cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = kNumDevices;
  return Result::kSuccess;
}
EXPORT Result cuDeviceGet(DeviceId* device, int number) {
  ENTER("cuDeviceGet");
  *device = number;
  return number >= 0 && number < kNumDevices ? Result::kSuccess : Result{101};
}
EXPORT Result cuDeviceGetAttribute(int* value, int, DeviceId) {
  *value = 1;
  return Result::kSuccess;
}
EXPORT Result cuDeviceCanAccessPeer(int* can, DeviceId, DeviceId) {
  *can = 1;
  return Result::kSuccess;
}
EXPORT Result cuDevicePrimaryCtxRetain(Context* context, DeviceId device) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<Context>(&contexts[device]);
  return Result::kSuccess;
}
EXPORT Result cuCtxPushCurrent_v2(Context context) {
  if (current == nullptr) current = new std::vector<Context>;
  current->push_back(context);
  return Result::kSuccess;
}
EXPORT Result cuCtxPopCurrent_v2(Context* context) {
  *context = Current();
  if (*context == nullptr) return Result::kInvalidContext;
  current->pop_back();
  return Result::kSuccess;
}
EXPORT Result cuMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  ENTER("cuMemPoolCreate");
  *pool = reinterpret_cast<PoolHandle>(new FakeContext{properties->location.id});
  return Result::kSuccess;
}
EXPORT Result cuMemPoolDestroy(PoolHandle pool) {
  delete reinterpret_cast<FakeContext*>(pool);
  return Result::kSuccess;
}
EXPORT Result cuMemPoolSetAttribute(PoolHandle, int, void*) {
  ENTER("cuMemPoolSetAttribute");
  return Result::kSuccess;
}
EXPORT Result cuMemPoolSetAccess(PoolHandle, const Access*, size_t) {
  ENTER("cuMemPoolSetAccess");
  return Result::kSuccess;
}
EXPORT Result cuMemAllocFromPoolAsync(Address* memory, size_t bytes, PoolHandle,
                                      StreamHandle stream) {
  ENTER_CONTEXT("cuMemAllocFromPoolAsync");
  if (bytes == 0) return Result::kInvalidValue;
  *memory = TheMemory().Allocate(bytes);
  if (*memory == 0) return Result::kOutOfMemory;
  StreamOf(stream).Put([address = *memory] { TheMemory().Begin(address); });
  return Result::kSuccess;
}
EXPORT Result cuMemFreeAsync(Address memory, StreamHandle stream) {
  ENTER_CONTEXT("cuMemFreeAsync");
  StreamOf(stream).Put([memory] {
    if (!TheMemory().Free(memory)) TheFaults().Lose(Result::kInvalidValue);
  });
  return Result::kSuccess;
}
EXPORT Result cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  ENTER_CONTEXT("cuMemHostAlloc");
  *memory = TheMemory().Pin(bytes);
  return *memory == nullptr ? Result::kOutOfMemory : Result::kSuccess;
}
EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes,
                                   StreamHandle stream) {
  ENTER_CONTEXT("cuMemcpyHtoDAsync");
  // What is not pinned is read before the call returns.
  std::shared_ptr<std::string> staged;
  if (!TheMemory().IsPinned(from, bytes)) {
    ++pageable_copies;
    staged = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
    from = staged->data();
  }
  PutWork(stream, [=] {
    void* const host = TheMemory().Host(to, bytes);
    if (host == nullptr) return kIllegalAddress;
    std::memcpy(host, staged ? staged->data() : from, bytes);
    return Result::kSuccess;
  });
  return Result::kSuccess;
}
EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, StreamHandle stream) {
  ENTER_CONTEXT("cuMemcpyDtoHAsync");
  PutWork(stream, [=] {
    const void* const host = TheMemory().Host(from, bytes);
    if (host == nullptr) return kIllegalAddress;
    std::memcpy(to, host, bytes);
    return Result::kSuccess;
  });
  // What is not pinned has been written when the call returns.
  if (!TheMemory().IsPinned(to, bytes)) {
    ++pageable_copies;
    StreamOf(stream).Synchronize();
  }
  return Result::kSuccess;
}
EXPORT Result cuMemcpyAsync(Address to, Address from, size_t bytes, StreamHandle stream) {
  ENTER_CONTEXT("cuMemcpyAsync");
  PutWork(stream, [=] {
    const void* const source = TheMemory().Host(from, bytes);
    void* const target = TheMemory().Host(to, bytes);
    if (source == nullptr || target == nullptr) return kIllegalAddress;
    std::memmove(target, source, bytes);
    return Result::kSuccess;
  });
  return Result::kSuccess;
}
EXPORT Result cuMemsetD8Async(Address to, unsigned char byte, size_t bytes, StreamHandle stream) {
  ENTER_CONTEXT("cuMemsetD8Async");
  PutWork(stream, [=] {
    void* const target = TheMemory().Host(to, bytes);
    if (target == nullptr) return kIllegalAddress;
    std::memset(target, byte, bytes);
    return Result::kSuccess;
  });
  return Result::kSuccess;
}
// Kernels: see ptx.h.
EXPORT Result cuModuleLoadData(ModuleHandle* module, const void* image) {
  ENTER_CONTEXT("cuModuleLoadData");
  auto ptx = ParsePtx(static_cast<const char*>(image));
  if (ptx == nullptr) return Result{218};                   // CUDA_ERROR_INVALID_PTX
  *module = reinterpret_cast<ModuleHandle>(ptx.release());  // it stays
  return Result::kSuccess;
}
EXPORT Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  ENTER_CONTEXT("cuModuleGetFunction");
  const auto& kernels = reinterpret_cast<PtxModule*>(module)->kernels;
  const auto it = kernels.find(name);
  if (it == kernels.end()) return Result{500};  // CUDA_ERROR_NOT_FOUND
  *function = reinterpret_cast<FunctionHandle>(const_cast<PtxKernel*>(it->second.get()));
  return Result::kSuccess;
}
EXPORT Result cuLaunchKernel(FunctionHandle function, unsigned blocks_x, unsigned, unsigned,
                             unsigned threads_x, unsigned, unsigned, unsigned shared_bytes,
                             StreamHandle stream, void** parameters, void**) {
  ENTER_CONTEXT("cuLaunchKernel");
  if (blocks_x == 0 || threads_x == 0 || threads_x > 1024 || shared_bytes > 48u << 10)
    return Result::kInvalidValue;
  const auto* const kernel = reinterpret_cast<const PtxKernel*>(function);
  // All kernels here take one structure.
  const std::string parameter(static_cast<const char*>(parameters[0]), kernel->parameter_bytes);
  PutWork(stream, [=] {
    return kernel->Run(blocks_x, threads_x, shared_bytes, parameter) ? Result::kSuccess
                                                                     : kIllegalAddress;
  });
  return Result::kSuccess;
}
EXPORT Result cuStreamCreate(StreamHandle* stream, unsigned) {
  ENTER_CONTEXT("cuStreamCreate");
  *stream = reinterpret_cast<StreamHandle>(new FakeStream(++num_streams));
  return Result::kSuccess;
}
EXPORT Result cuStreamDestroy_v2(StreamHandle stream) {
  delete &StreamOf(stream);
  return Result::kSuccess;
}
EXPORT Result cuStreamSynchronize(StreamHandle stream) {
  ENTER_CONTEXT("cuStreamSynchronize");
  StreamOf(stream).Synchronize();
  return Result::kSuccess;
}
EXPORT Result cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  ENTER_CONTEXT("cuStreamWaitEvent");
  StreamOf(stream).WaitFor(EventOf(event));
  return Result::kSuccess;
}
EXPORT Result cuEventCreate(EventHandle* event, unsigned) {
  ENTER_CONTEXT("cuEventCreate");
  *event = reinterpret_cast<EventHandle>(new FakeEvent);
  return Result::kSuccess;
}
EXPORT Result cuEventDestroy_v2(EventHandle event) {
  delete &EventOf(event);
  return Result::kSuccess;
}
EXPORT Result cuEventRecord(EventHandle event, StreamHandle stream) {
  ENTER_CONTEXT("cuEventRecord");
  StreamOf(stream).Record(EventOf(event));
  return Result::kSuccess;
}
EXPORT Result cuEventQuery(EventHandle event) {
  ENTER("cuEventQuery");
  const std::lock_guard lock(TheShared().mutex);
  const EventState& state = *EventOf(event).state;
  return state.completed == state.recorded ? Result::kSuccess : Result::kNotReady;
}
EXPORT Result cuEventSynchronize(EventHandle event) {
  ENTER("cuEventSynchronize");
  {
    std::unique_lock lock(TheShared().mutex);
    const EventState& state = *EventOf(event).state;
    TheShared().changed.wait(lock, [&] { return state.completed == state.recorded; });
  }
  return TheFaults().Enter("cuEventSynchronize ends");
}

EXPORT void FakeCudaFail(const char* call, int after, int error, int is_lost) {
  TheFaults().Fail(call, after, Result{error}, is_lost != 0);
}
EXPORT void FakeCudaStall(int stalls) {
  const std::lock_guard lock(TheShared().mutex);
  TheShared().stalls = stalls != 0;
  TheShared().changed.notify_all();
}
EXPORT void FakeCudaLimitMemory(long bytes) { TheMemory().Limit(static_cast<size_t>(bytes)); }
EXPORT long FakeCudaUsedMemory() { return static_cast<long>(TheMemory().used()); }
EXPORT void FakeCudaReset() {
  TheMemory().Limit(Memory::kMost);
  FakeCudaStall(0);
  TheFaults().Reset();
}
EXPORT int FakeCudaCalls(const char* call) { return TheFaults().calls(call); }
EXPORT int FakeCudaPageableCopies() { return pageable_copies; }
}

}  // namespace fake_cuda
// NOLINTEND(bugprone-easily-swappable-parameters)
