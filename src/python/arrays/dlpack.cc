#include "python/arrays/dlpack.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/gil.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

// ---- The structs of DLPack 1.0, by their layout in memory

struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
// Before version 1.0.
struct Unversioned {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsedName = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(Unversioned*);
};
struct Versioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsedName = "used_dltensor_versioned";
  struct {
    uint32_t major;
    uint32_t minor;
  } version;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr uint64_t kReadOnly = 1;
constexpr uint64_t kIsCopied = 2;
constexpr int32_t kCpu = 1;
constexpr int kMaxDims = 254;

[[noreturn]] void ThrowBufferError(absl::string_view text) {
  PyErr_SetString(PyExc_BufferError, std::string(text).c_str());
  throw nb::python_error();
}

// ---- Types

enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

std::optional<DLDataType> ToDL(DType dtype) {
  const auto make = [&](Code code) {
    return DLDataType{code, static_cast<uint8_t>(DTypeSize(dtype) * 8), 1};
  };
  switch (dtype) {
    case DType::kBool:
      return make(kBool);
    case DType::kBfloat16:
      return make(kBfloat);
    case DType::kHalf:
    case DType::kFloat:
    case DType::kDouble:
      return make(kFloat);
    case DType::kComplex64:
    case DType::kComplex128:
      return make(kComplex);
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return make(kInt);
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return make(kUInt);
    default:
      return std::nullopt;
  }
}

DType FromDL(const DLDataType& type) {
  for (int i = 1; i <= static_cast<int>(DType::kUint64); ++i) {
    const auto own = ToDL(static_cast<DType>(i));
    if (own && own->code == type.code && own->bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  ThrowBufferError(absl::StrCat("DLPack elements of code ", static_cast<int>(type.code), ", ",
                                static_cast<int>(type.bits), " bits and ", type.lanes,
                                " lanes are no type of Gyre's"));
}

// ---- Out

// What a capsule owns.
template <typename Managed>
struct Exported {
  Tensor tensor;
  std::vector<int64_t> dims, strides;
  Managed managed = {};
};

template <typename Managed>
void DeleteCapsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Managed::kName) == 0) return;  // the consumer has taken it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
}

template <typename Managed>
nb::object Export(Tensor tensor, uint64_t flags) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->dims.assign(tensor.shape().dims().begin(), tensor.shape().dims().end());
  exported->strides.resize(exported->dims.size());
  int64_t stride = 1;
  for (size_t i = exported->dims.size(); i-- > 0;) {
    exported->strides[i] = stride;
    stride *= std::max<int64_t>(exported->dims[i], 1);
  }
  exported->tensor = std::move(tensor);
  Managed& managed = exported->managed;
  managed.tensor = {.data = const_cast<void*>(exported->tensor.raw_data()),
                    .device = {kCpu, 0},
                    .ndim = static_cast<int32_t>(exported->dims.size()),
                    .dtype = *ToDL(exported->tensor.dtype()),
                    .shape = exported->dims.data(),
                    .strides = exported->strides.data(),
                    .byte_offset = 0};
  managed.context = exported.get();
  // Any thread, with or without the GIL.
  managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->context); };
  if constexpr (std::is_same_v<Managed, Versioned>) {
    managed.version = {1, 0};
    managed.flags = flags;
  }
  nb::object capsule = Own(PyCapsule_New(&managed, Managed::kName, &DeleteCapsule<Managed>));
  exported.release();
  return capsule;
}

Tensor CopyOf(const Tensor& tensor) {
  Tensor copy = ValueOf(Tensor::Make(tensor.dtype(), tensor.shape()));
  if (copy.bytes() > 0) std::memcpy(copy.mutable_raw_data(), tensor.raw_data(), copy.bytes());
  return copy;
}

bool IsVersioned(nb::handle max_version) {
  return !max_version.is_none() && nb::cast<int64_t>(nb::object(max_version[0])) >= 1;
}

}  // namespace

nb::object ToDLPack(nb::handle self, nb::handle stream, nb::handle max_version,
                    nb::handle dl_device, nb::handle copy) {
  const Tensor& tensor = RequireEager(self, "what is exported");
  if (!stream.is_none()) ThrowBufferError("a tensor in the host's memory takes no stream");
  if (!ToDL(tensor.dtype())) {
    ThrowBufferError(absl::StrCat("DLPack has no elements of type ", DTypeName(tensor.dtype())));
  }
  if (!dl_device.is_none() && nb::cast<int64_t>(nb::object(dl_device[0])) != kCpu)
    ThrowBufferError("tensors are in the host's memory");
  const bool may_copy = copy.ptr() != Py_False;
  if (IsVersioned(max_version)) {
    if (copy.ptr() == Py_True) return Export<Versioned>(CopyOf(tensor), kIsCopied);
    return Export<Versioned>(tensor, kReadOnly);
  }
  // Without a version nobody can be told that tensors are read-only.
  if (!may_copy) ThrowBufferError("a read-only tensor needs a consumer of DLPack 1.0, or a copy");
  return Export<Unversioned>(CopyOf(tensor), 0);
}

namespace {

// ---- In

// What the exporter lent; given back by its destructor, on any thread.
template <typename Managed>
struct Borrowed {
  explicit Borrowed(Managed* managed) : managed(managed) {}
  ~Borrowed() {
    if (managed->deleter == nullptr || Py_IsInitialized() == 0) return;
    const GilHeld gil;
    managed->deleter(managed);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Managed* const managed;
};

bool IsRowMajor(const DLTensor& from) {
  if (from.strides == nullptr) return true;
  int64_t stride = 1;
  for (int i = from.ndim; i-- > 0;) {
    if (from.shape[i] != 1 && from.strides[i] != stride) return false;
    stride *= from.shape[i];
  }
  return true;
}

char* CopyStrided(const DLTensor& t, size_t size, int axis, const char* from, char* to) {
  if (axis == t.ndim) {
    std::memcpy(to, from, size);
    return to + size;
  }
  for (int64_t i = 0; i < t.shape[axis]; ++i) {
    to =
        CopyStrided(t, size, axis + 1, from + i * t.strides[axis] * static_cast<int64_t>(size), to);
  }
  return to;
}

Tensor Import(const DLTensor& from, std::shared_ptr<void> owner) {
  if (from.device.type != kCpu)
    ThrowBufferError(absl::StrCat("a tensor of device type ", from.device.type,
                                  " cannot be shared: copy it to the host first"));
  if (from.ndim < 0 || from.ndim > kMaxDims || (from.ndim > 0 && from.shape == nullptr))
    ThrowBufferError(absl::StrCat("a DLPack tensor of ", from.ndim, " dimensions"));
  const DType dtype = FromDL(from.dtype);
  const auto shape = Shape::Make(absl::Span<const int64_t>(from.shape, from.ndim));
  if (!shape.ok()) ThrowBufferError(shape.status().message());
  if (shape->num_elements() == 0) return ValueOf(Tensor::Make(dtype, *shape));
  if (from.data == nullptr) ThrowBufferError("a DLPack tensor without data");
  char* const data = static_cast<char*>(from.data) + from.byte_offset;
  const size_t size = DTypeSize(dtype);
  const size_t alignment = IsComplex(dtype) ? size / 2 : size;
  const bool is_aligned = reinterpret_cast<uintptr_t>(data) % alignment == 0;
  if (IsRowMajor(from) && is_aligned && dtype != DType::kBool)
    return Tensor::External(dtype, *shape, data, [owner] {});
  Tensor tensor = ValueOf(Tensor::Make(dtype, *shape));
  char* const to = static_cast<char*>(tensor.mutable_raw_data());
  if (IsRowMajor(from)) {
    std::memcpy(to, data, tensor.bytes());
  } else {
    CopyStrided(from, size, 0, data, to);
  }
  if (dtype == DType::kBool) {  // other values than 0 and 1 are no bools of C++
    for (size_t i = 0; i < tensor.bytes(); ++i) to[i] = to[i] != 0;
  }
  return tensor;
}

template <typename Managed>
Tensor Take(nb::handle capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Managed::kName));
  if (managed == nullptr || PyCapsule_SetName(capsule.ptr(), Managed::kUsedName) != 0)
    throw nb::python_error();
  const auto owner = std::make_shared<Borrowed<Managed>>(managed);
  if constexpr (std::is_same_v<Managed, Versioned>) {
    if (managed->version.major > 1)
      ThrowBufferError(absl::StrCat("DLPack version ", managed->version.major, " is not known"));
  }
  return Import(managed->tensor, owner);
}

nb::object CapsuleOf(nb::handle exporter) {
  const nb::object method = exporter.attr("__dlpack__");
  try {
    return method(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();  // of before version 1.0
}

}  // namespace

Tensor FromDLPack(nb::handle exporter) {
  if (!nb::hasattr(exporter, "__dlpack__") || !nb::hasattr(exporter, "__dlpack_device__")) {
    ThrowTypeError(
        absl::StrCat("a ", TypeNameOf(exporter), " has no __dlpack__ and __dlpack_device__"));
  }
  const nb::object device = exporter.attr("__dlpack_device__")();
  const int64_t type = nb::cast<int64_t>(nb::object(nb::int_(nb::object(device[0]))));
  if (type != kCpu)
    ThrowBufferError(absl::StrCat("a tensor of device type ", type,
                                  " cannot be shared: copy it to the host first"));
  const nb::object capsule = CapsuleOf(exporter);
  if (PyCapsule_IsValid(capsule.ptr(), Versioned::kName) != 0) return Take<Versioned>(capsule);
  if (PyCapsule_IsValid(capsule.ptr(), Unversioned::kName) != 0) return Take<Unversioned>(capsule);
  ThrowBufferError("__dlpack__ has returned no capsule that can be taken");
}

void BindDLPack(nb::module_& m) {
  m.def(
      "from_dlpack", [](nb::handle exporter) { return WrapEager(FromDLPack(exporter)); },
      nb::arg("exporter"), "A tensor that shares the memory of another library's.");
}

}  // namespace gyre::python
