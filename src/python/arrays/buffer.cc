#include "python/arrays/buffer.h"

#include <cstring>
#include <memory>
#include <vector>

#include "python/tensor.h"

namespace gyre::python {
namespace {

// What a Py_buffer points into; owned by it.
struct Layout {
  std::vector<Py_ssize_t> dims;
  std::vector<Py_ssize_t> strides;
};

[[noreturn]] void ThrowBufferError(absl::string_view text) {
  PyErr_SetString(PyExc_BufferError, std::string(text).c_str());
  throw nb::python_error();
}

// The dtype of elements that struct's `format` means here; kInvalid for all else.
DType TypeOfFormat(const char* format, Py_ssize_t size) {
  if (format == nullptr) return DType::kUint8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const absl::string_view letters = format;
  if (letters == "Zf") return DType::kComplex64;
  if (letters == "Zd") return DType::kComplex128;
  if (letters.size() != 1) return DType::kInvalid;
  switch (letters[0]) {
    case '?':
      return DType::kBool;
    case 'e':
      return DType::kHalf;
    case 'f':
      return DType::kFloat;
    case 'd':
      return DType::kDouble;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return size == 1   ? DType::kInt8
             : size == 2 ? DType::kInt16
             : size == 4 ? DType::kInt32
             : size == 8 ? DType::kInt64
                         : DType::kInvalid;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return size == 1   ? DType::kUint8
             : size == 2 ? DType::kUint16
             : size == 4 ? DType::kUint32
             : size == 8 ? DType::kUint64
                         : DType::kInvalid;
    default:
      return DType::kInvalid;
  }
}

// Copies dimension `axis` and those after it, element by element where it must.
char* CopyStrided(const Py_buffer& view, int axis, const char* from, char* to) {
  if (axis == view.ndim) {
    std::memcpy(to, from, static_cast<size_t>(view.itemsize));
    return to + view.itemsize;
  }
  for (Py_ssize_t i = 0; i < view.shape[axis]; ++i)
    to = CopyStrided(view, axis + 1, from + i * view.strides[axis], to);
  return to;
}

}  // namespace

const char* BufferFormat(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "?";
    case DType::kInt8:
      return "b";
    case DType::kUint8:
      return "B";
    case DType::kInt16:
      return "h";
    case DType::kUint16:
      return "H";
    case DType::kInt32:
      return "i";
    case DType::kUint32:
      return "I";
    case DType::kInt64:
      return "q";
    case DType::kUint64:
      return "Q";
    case DType::kHalf:
      return "e";
    case DType::kFloat:
      return "f";
    case DType::kDouble:
      return "d";
    case DType::kComplex64:
      return "Zf";
    case DType::kComplex128:
      return "Zd";
    default:
      return nullptr;
  }
}

int GetTensorBuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return GuardedInt([&] {
    const PyTensor& t = *AsTensor(self);
    if (t.is_symbolic()) ThrowBufferError("a symbolic tensor has no elements yet");
    const char* format = BufferFormat(t.eager.dtype());
    if (format == nullptr) {
      ThrowBufferError(
          absl::StrCat("elements of type ", DTypeName(t.eager.dtype()), " have no buffer format"));
    }
    if ((flags & PyBUF_WRITABLE) != 0) ThrowBufferError("tensors are read-only");
    auto layout = std::make_unique<Layout>();
    const size_t size = DTypeSize(t.eager.dtype());
    layout->dims.assign(t.eager.shape().dims().begin(), t.eager.shape().dims().end());
    layout->strides.resize(layout->dims.size());
    Py_ssize_t stride = static_cast<Py_ssize_t>(size);
    for (size_t i = layout->dims.size(); i-- > 0;) {
      layout->strides[i] = stride;
      stride *= std::max<Py_ssize_t>(layout->dims[i], 1);
    }
    view->buf = const_cast<void*>(t.eager.raw_data());
    view->len = static_cast<Py_ssize_t>(t.eager.bytes());
    view->readonly = 1;
    view->itemsize = static_cast<Py_ssize_t>(size);
    view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
    view->ndim = (flags & PyBUF_ND) != 0 ? static_cast<int>(layout->dims.size()) : 1;
    view->shape = (flags & PyBUF_ND) != 0 ? layout->dims.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = layout.release();
    Py_INCREF(self);
    view->obj = self;
    return 0;
  });
}

void ReleaseTensorBuffer(PyObject*, Py_buffer* view) {
  delete static_cast<Layout*>(view->internal);
}

std::optional<Tensor> CopyBuffer(nb::handle object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> release(&view, &PyBuffer_Release);
  const DType dtype = TypeOfFormat(view.format, view.itemsize);
  if (dtype == DType::kInvalid || view.suboffsets != nullptr ||
      static_cast<size_t>(view.itemsize) != DTypeSize(dtype)) {
    return std::nullopt;
  }
  Dims dims;
  if (view.shape != nullptr) {
    dims.assign(view.shape, view.shape + view.ndim);
  } else if (view.ndim != 0) {
    dims.push_back(view.len / view.itemsize);
  }
  const Shape shape = ValueOf(Shape::Make(dims));
  Tensor tensor = ValueOf(Tensor::Make(dtype, shape));
  if (tensor.bytes() == 0) return tensor;
  char* const to = static_cast<char*>(tensor.mutable_raw_data());
  if (view.strides == nullptr || PyBuffer_IsContiguous(&view, 'C') != 0) {
    std::memcpy(to, view.buf, tensor.bytes());
  } else {
    CopyStrided(view, 0, static_cast<const char*>(view.buf), to);
  }
  if (dtype == DType::kBool) {  // other values than 0 and 1 are no bools of C++
    for (size_t i = 0; i < tensor.bytes(); ++i) to[i] = to[i] != 0;
  }
  return tensor;
}

}  // namespace gyre::python
