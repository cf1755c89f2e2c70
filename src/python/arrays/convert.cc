#include "python/arrays/convert.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/evaluate.h"
#include "python/arrays/buffer.h"
#include "python/arrays/dlpack.h"
#include "python/arrays/list_scan.h"
#include "python/dtype.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

// What cannot be stored, and why: told with the place by who knows it.
struct Misfit {
  bool is_type;  // else its value
  std::string why;
};

Misfit WrongType(nb::handle value, DType dtype) {
  std::string text = PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())
                         ? TypeNameOf(value)
                         : std::string(TextOf(nb::repr(value), "a repr"));
  return {true, absl::StrCat(text, " is no ", DTypeName(dtype))};
}

Misfit OutOfRange(nb::handle value, DType dtype) {
  PyErr_Clear();
  return {false,
          absl::StrCat(TextOf(nb::repr(value), "a repr"), " does not fit ", DTypeName(dtype))};
}

template <typename T>
T IntegerOf(nb::handle value, DType dtype) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    const unsigned long long n = PyLong_AsUnsignedLongLong(value.ptr());
    if (PyErr_Occurred() != nullptr) throw OutOfRange(value, dtype);
    return n;
  } else {
    int overflow = 0;
    const long long n = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0 || n < static_cast<long long>(std::numeric_limits<T>::min()) ||
        n > static_cast<long long>(std::numeric_limits<T>::max())) {
      throw OutOfRange(value, dtype);
    }
    return static_cast<T>(n);
  }
}

double DoubleOf(nb::handle value, DType dtype) {
  const double x =
      PyLong_Check(value.ptr()) != 0 ? PyLong_AsDouble(value.ptr()) : PyFloat_AsDouble(value.ptr());
  if (x == -1 && PyErr_Occurred() != nullptr) throw OutOfRange(value, dtype);
  return x;
}

// A number of Python as an element. Numbers that T has no equal for are refused; of floating-point
// numbers, the nearest counts.
template <typename T>
T NumberOf(nb::handle value, DType dtype) {
  PyObject* const o = value.ptr();
  if constexpr (std::is_same_v<T, bool>) {
    if (PyBool_Check(o) != 0) return o == Py_True;
    throw WrongType(value, dtype);
  } else if constexpr (std::is_integral_v<T>) {
    if (PyLong_Check(o) != 0) return IntegerOf<T>(value, dtype);
    if (PyFloat_Check(o) == 0) throw WrongType(value, dtype);
    const double x = PyFloat_AsDouble(o);
    if (!std::isfinite(x) || x != std::trunc(x)) throw WrongType(value, dtype);
    return IntegerOf<T>(Own(PyLong_FromDouble(x)), dtype);
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    using R = typename T::value_type;
    if (PyComplex_Check(o) == 0) return T(static_cast<R>(NumberOf<double>(value, dtype)), 0);
    return T(static_cast<R>(PyComplex_RealAsDouble(o)), static_cast<R>(PyComplex_ImagAsDouble(o)));
  } else {
    if (PyFloat_Check(o) == 0 && PyLong_Check(o) == 0) throw WrongType(value, dtype);
    const double x = DoubleOf(value, dtype);
    if constexpr (std::is_same_v<T, double>) {
      return x;
    } else {
      return T(static_cast<float>(x));
    }
  }
}

// Calls f with a value of the C++ type of `dtype`.
template <typename F>
void WithNumberType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat:
      return f(float());
    case DType::kDouble:
      return f(double());
    case DType::kInt32:
      return f(int32_t());
    case DType::kInt64:
      return f(int64_t());
    case DType::kBool:
      return f(bool());
    case DType::kInt8:
      return f(int8_t());
    case DType::kInt16:
      return f(int16_t());
    case DType::kUint8:
      return f(uint8_t());
    case DType::kUint16:
      return f(uint16_t());
    case DType::kUint32:
      return f(uint32_t());
    case DType::kUint64:
      return f(uint64_t());
    case DType::kHalf:
      return f(Half());
    case DType::kBfloat16:
      return f(BFloat16());
    case DType::kComplex64:
      return f(complex64());
    case DType::kComplex128:
      return f(complex128());
    default:
      ThrowTypeError(
          absl::StrCat("no tensor of dtype ", DTypeName(dtype), " can be made of numbers"));
  }
}

[[noreturn]] void Throw(const Misfit& misfit, absl::string_view place) {
  const std::string text =
      place.empty() ? misfit.why : absl::StrCat("element ", place, ": ", misfit.why);
  if (misfit.is_type) ThrowTypeError(text);
  ThrowValueError(text);
}

bool IsText(nb::handle value) {
  return PyUnicode_Check(value.ptr()) != 0 || PyBytes_Check(value.ptr()) != 0;
}

Tensor FromLeaves(const ListScan& scan, DType dtype) {
  const Shape shape = ValueOf(Shape::Make(scan.dims));
  Tensor tensor = ValueOf(Tensor::Make(dtype, shape));
  size_t i = 0;
  try {
    if (dtype == DType::kString) {
      const auto to = tensor.mutable_values<std::string>();
      for (; i < scan.leaves.size(); ++i) {
        if (!IsText(scan.leaves[i])) throw WrongType(scan.leaves[i], dtype);
        StringOf(scan.leaves[i], &to[i]);
      }
    } else {
      WithNumberType(dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto to = tensor.mutable_values<T>();
        for (; i < scan.leaves.size(); ++i) to[i] = NumberOf<T>(scan.leaves[i], dtype);
      });
    }
  } catch (const Misfit& misfit) {
    Throw(misfit, scan.PlaceOf(i));
  }
  return tensor;
}

// ToTensor of a value that `depth` others contain or have handed on.
Tensor ToTensorAt(nb::handle value, std::optional<DType> dtype, size_t depth);

// A list that holds arrays or tensors: all of one shape and dtype.
Tensor Stack(const ListScan& scan, std::optional<DType> dtype, size_t depth) {
  std::vector<Tensor> parts(scan.leaves.size());
  for (size_t i = 0; i < scan.leaves.size(); ++i) {
    if (scan.kinds[i] != LeafKind::kOther) continue;
    parts[i] = ToTensorAt(scan.leaves[i], dtype, depth + 1);
    if (!dtype) dtype = parts[i].dtype();
  }
  for (size_t i = 0; i < scan.leaves.size(); ++i) {
    if (!parts[i].has_value()) parts[i] = ToTensorAt(scan.leaves[i], dtype, depth + 1);
    if (parts[i].dtype() == *dtype && parts[i].shape() == parts[0].shape()) continue;
    ThrowValueError(absl::StrCat("element ", scan.PlaceOf(i), " is ", DTypeName(parts[i].dtype()),
                                 " ", parts[i].shape().ToString(), ", where element ",
                                 scan.PlaceOf(0), " is ", DTypeName(*dtype), " ",
                                 parts[0].shape().ToString()));
  }
  Dims dims = scan.dims;
  dims.insert(dims.end(), parts[0].shape().dims().begin(), parts[0].shape().dims().end());
  const Shape shape = ValueOf(Shape::Make(dims));
  if (*dtype != DType::kString && !IsTrivial(*dtype))
    ThrowTypeError(absl::StrCat("a list of ", DTypeName(*dtype), " tensors is no tensor"));
  Tensor tensor = ValueOf(Tensor::Make(*dtype, shape));
  if (*dtype == DType::kString) {
    auto to = tensor.mutable_values<std::string>().begin();
    for (const Tensor& part : parts) {
      for (const std::string& text : part.values<std::string>()) *to++ = text;
    }
  } else {
    char* to = static_cast<char*>(tensor.mutable_raw_data());
    for (const Tensor& part : parts) {
      if (part.bytes() > 0) std::memcpy(to, part.raw_data(), part.bytes());
      to += part.bytes();
    }
  }
  return tensor;
}

Tensor FromList(nb::handle list, std::optional<DType> dtype, size_t depth) {
  const ListScan scan = ScanList(list);
  if (scan.has_other) return Stack(scan, dtype, depth);
  return FromLeaves(scan, dtype ? *dtype : scan.DefaultType());
}

Tensor FromScalar(nb::handle value, DType dtype) {
  Tensor tensor;
  try {
    if (dtype == DType::kString) throw WrongType(value, dtype);
    WithNumberType(
        dtype, [&](auto zero) { tensor = Tensor::Scalar(NumberOf<decltype(zero)>(value, dtype)); });
  } catch (const Misfit& misfit) {
    Throw(misfit, "");
  }
  return tensor;
}

DType DefaultTypeOfNumber(nb::handle value) {
  PyObject* const o = value.ptr();
  if (PyBool_Check(o) != 0) return DType::kBool;
  if (PyFloat_Check(o) != 0) return DType::kFloat;
  return PyComplex_Check(o) != 0 ? DType::kComplex128 : SmallestIntegerType(value);
}

std::optional<Tensor> FromArray(nb::handle value, size_t depth) {
  if (std::optional<Tensor> tensor = CopyBuffer(value)) return tensor;
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "view")) {
    // numpy arrays of elements that the buffer protocol does not know: bfloat16, texts, other
    // byte orders.
    const nb::object dtype = value.attr("dtype");
    const nb::object name = nb::str(nb::object(dtype.attr("name")));
    if (TextOf(name, "a name") == "bfloat16") {
      if (std::optional<Tensor> bits = CopyBuffer(value.attr("view")("uint16")))
        return bits->Bitcast(DType::kBfloat16);
    }
    const nb::object kind_object =
        nb::hasattr(dtype, "kind") ? nb::object(dtype.attr("kind")) : nb::object(nb::str(""));
    const absl::string_view kind = TextOf(kind_object, "a kind");
    if (kind == "S" || kind == "U" || kind == "O") {
      const nb::object list = value.attr("tolist")();
      if (!PyList_Check(list.ptr())) return ToTensorAt(list, std::nullopt, depth + 1);
      ListScan scan = ScanList(list);
      if (kind != "O" || !scan.has_other)
        return FromLeaves(scan,
                          kind != "O" && scan.leaves.empty() ? DType::kString : scan.DefaultType());
      return Stack(scan, std::nullopt, depth);
    }
    if (nb::hasattr(dtype, "newbyteorder") && (kind == "i" || kind == "u" || kind == "f"))
      return CopyBuffer(value.attr("astype")(dtype.attr("newbyteorder")("=")));
    return std::nullopt;
  }
  if (nb::hasattr(value, "__dlpack__")) return FromDLPack(value);
  if (nb::hasattr(value, "__array__")) {
    CheckDepth(depth);
    return FromArray(Numpy().attr("asarray")(value), depth + 1);
  }
  return std::nullopt;
}

Tensor ToTensorAt(nb::handle value, std::optional<DType> dtype, size_t depth) {
  PyObject* const o = value.ptr();
  if (IsPythonNumber(value)) return FromScalar(value, dtype ? *dtype : DefaultTypeOfNumber(value));
  if (IsText(value)) {
    if (dtype && *dtype != DType::kString) Throw(WrongType(value, *dtype), "");
    std::string text;
    StringOf(value, &text);
    return Tensor::Scalar(std::move(text));
  }
  CheckDepth(depth);
  if (IsList(value)) return FromList(value, dtype, depth);
  if (const PyTensor* tensor = AsTensor(value)) {
    const Tensor& eager = RequireEager(value, "the value");
    if (!dtype || eager.dtype() == *dtype) return eager;
    ThrowTypeError(absl::StrCat("a tensor of ", Describe(*tensor), " is no ", DTypeName(*dtype),
                                "; convert it with cast if that is meant"));
  }
  if (nb::hasattr(value, "__gyre_tensor__"))
    return ToTensorAt(value.attr("__gyre_tensor__")(), dtype, depth + 1);
  if (value.is_none()) ThrowTypeError("None is no tensor");
  if (std::optional<Tensor> tensor = FromArray(value, depth))
    return dtype ? CastTo(*tensor, *dtype) : *std::move(tensor);
  if (PyLong_Check(o) != 0 || PyFloat_Check(o) != 0 || PyComplex_Check(o) != 0)
    return FromScalar(value, dtype ? *dtype : DefaultTypeOfNumber(value));
  if (nb::hasattr(value, "dtype")) {
    ThrowTypeError(absl::StrCat("a ", TypeNameOf(value), " of dtype ",
                                TextOf(nb::str(nb::object(value.attr("dtype"))), "a dtype"),
                                " is no tensor"));
  }
  if (PyIndex_Check(o) != 0) return ToTensorAt(Own(PyNumber_Index(o)), dtype, depth + 1);
  if (PySequence_Check(o) != 0 && PyDict_Check(o) == 0) {
    const nb::object list = Own(PySequence_List(o));
    return FromList(list, dtype, depth);
  }
  ThrowTypeError(absl::StrCat("a ", TypeNameOf(value), " is no tensor"));
}

}  // namespace

bool IsPythonNumber(nb::handle value) {
  PyObject* const o = value.ptr();
  return PyFloat_CheckExact(o) != 0 || PyLong_CheckExact(o) != 0 || PyBool_Check(o) != 0 ||
         PyComplex_CheckExact(o) != 0;
}

bool MayBeTensor(nb::handle value) {
  PyObject* const o = value.ptr();
  return AsTensor(value) != nullptr || IsPythonNumber(value) || IsText(value) ||
         PyList_Check(o) != 0 || PyTuple_Check(o) != 0 || PyLong_Check(o) != 0 ||
         PyFloat_Check(o) != 0 || PyIndex_Check(o) != 0 || nb::hasattr(value, "__gyre_tensor__") ||
         nb::hasattr(value, "__array__") || nb::hasattr(value, "__dlpack__") ||
         PyObject_CheckBuffer(o) != 0;
}

Tensor CastTo(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  AttrMap attrs;
  attrs.Set("DstT", dtype);
  return ValueOf(EvaluateOp("Cast", {tensor}, std::move(attrs)))[0];
}

Tensor ToTensor(nb::handle value, std::optional<DType> dtype) {
  return ToTensorAt(value, dtype, 0);
}

nb::object MakeTensor(nb::handle value, nb::handle dtype_object, nb::handle dims) {
  const std::optional<DType> dtype = ToOptionalDType(dtype_object);
  nb::object made;
  if (AsTensor(value) != nullptr) {
    if (dims.is_none() && (!dtype || RequireEager(value, "the value").dtype() == *dtype))
      return nb::borrow(value);
  }
  Tensor tensor = ToTensor(value, dtype);
  if (!dims.is_none()) {
    const std::optional<Shape> shape = ToPartialShape(dims).ToShape();
    if (!shape) ThrowValueError("the dims of a tensor must be known");
    if (shape->num_elements() != tensor.num_elements()) {
      ThrowValueError(absl::StrCat(tensor.num_elements(), " elements do not fit the shape ",
                                   shape->ToString()));
    }
    tensor = tensor.shape() == *shape ? tensor : tensor.Reshaped(*shape);
  }
  return WrapEager(std::move(tensor));
}

nb::object ElementToPython(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kString) {
    const std::string& text = tensor.values<std::string>()[i];
    return Own(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  }
  nb::object element;
  WithNumberType(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T x = tensor.values<T>()[i];
    if constexpr (std::is_same_v<T, bool>) {
      element = nb::bool_(x);
    } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
      element = Own(PyComplex_FromDoubles(x.real(), x.imag()));
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      element = nb::float_(static_cast<double>(static_cast<float>(x)));
    } else if constexpr (std::is_floating_point_v<T>) {
      element = nb::float_(static_cast<double>(x));
    } else {
      element = nb::int_(x);
    }
  });
  return element;
}

void StringOf(nb::handle text, std::string* to) {
  if (PyBytes_Check(text.ptr()) == 0) {
    const absl::string_view utf8 = TextOf(text, "a text");
    to->assign(utf8.data(), utf8.size());
    return;
  }
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(text.ptr(), &data, &size) != 0) throw nb::python_error();
  to->assign(data, static_cast<size_t>(size));
}

}  // namespace gyre::python
