#include "python/dtype.h"

#include <array>
#include <limits>
#include <string>

#include "base/hash_map.h"

namespace gyre::python {
namespace {

constexpr int kNumTypes = 24;

std::string NameOf(const PyDType& type) {
  return absl::StrCat(DTypeName(type.dtype), type.is_ref ? "_ref" : "");
}

// [type][is_ref], kept for ever.
std::array<std::array<nb::object, 2>, kNumTypes>& Objects() {
  static auto* const objects = new std::array<std::array<nb::object, 2>, kNumTypes>;
  return *objects;
}

std::optional<PyDType> FromName(absl::string_view name) {
  static const auto* const other_names = new HashMap<std::string, DType>{
      {"float", DType::kFloat},   {"int", DType::kInt32},      {"complex", DType::kComplex128},
      {"str", DType::kString},    {"bytes", DType::kString},   {"str_", DType::kString},
      {"bytes_", DType::kString}, {"object", DType::kString},  {"object_", DType::kString},
      {"bool_", DType::kBool},    {"longlong", DType::kInt64}, {"ulonglong", DType::kUint64},
      {"intc", DType::kInt32},    {"uintc", DType::kUint32},
  };
  if (const auto it = other_names->find(name); it != other_names->end()) return PyDType{it->second};
  const bool is_ref = name.size() > 4 && name.substr(name.size() - 4) == "_ref";
  if (is_ref) name.remove_suffix(4);
  const std::optional<DType> dtype = ParseDType(name);
  if (!dtype || *dtype == DType::kInvalid) return std::nullopt;
  return PyDType{*dtype, is_ref};
}

// numpy's dtypes and the types of its scalars, found by name: this must not import numpy.
std::optional<PyDType> FromTypeOrNumpy(nb::handle value) {
  if (PyType_Check(value.ptr()) != 0)
    return FromName(TextOf(nb::object(value.attr("__name__")), "a type's name"));
  if (!nb::hasattr(value, "kind") || !nb::hasattr(value, "name")) return std::nullopt;
  const nb::object kind = value.attr("kind");
  const absl::string_view letter = TextOf(kind, "the kind of a numpy dtype");
  if (letter == "S" || letter == "U" || letter == "O") return PyDType{DType::kString};
  return FromName(TextOf(nb::object(value.attr("name")), "the name of a numpy dtype"));
}

std::optional<PyDType> Find(nb::handle value) {
  if (nb::isinstance<PyDType>(value)) return nb::cast<PyDType>(value);
  if (PyUnicode_Check(value.ptr()) != 0) return FromName(TextOf(value, "the name of a type"));
  if (PyLong_CheckExact(value.ptr()) != 0) {
    const long wire = PyLong_AsLong(value.ptr());
    if (wire == -1 && PyErr_Occurred() != nullptr) PyErr_Clear();
    if (wire < 0 || wire > 1000 || !IsKnownWireDType(static_cast<int>(wire))) return std::nullopt;
    return PyDType{DTypeFromWire(static_cast<int>(wire)), IsRefWireDType(static_cast<int>(wire))};
  }
  return FromTypeOrNumpy(value);
}

DType RealType(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat;
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}

bool IsUnsigned(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

// Floating ones as numpy's scalars, so that they keep their type.
template <typename T>
nb::object Limit(DType dtype, bool is_max) {
  using L = std::numeric_limits<T>;
  nb::object limit = nb::cast(is_max ? L::max() : L::lowest());
  return IsFloating(dtype) ? NumpyType(dtype)(limit) : limit;
}

nb::object LimitOf(DType dtype, bool is_max) {
  switch (dtype) {
    case DType::kFloat:
      return Limit<float>(dtype, is_max);
    case DType::kDouble:
      return Limit<double>(dtype, is_max);
    case DType::kInt8:
    case DType::kQint8:
      return Limit<int8_t>(dtype, is_max);
    case DType::kInt16:
    case DType::kQint16:
      return Limit<int16_t>(dtype, is_max);
    case DType::kInt32:
    case DType::kQint32:
      return Limit<int32_t>(dtype, is_max);
    case DType::kInt64:
      return Limit<int64_t>(dtype, is_max);
    case DType::kUint8:
    case DType::kQuint8:
      return Limit<uint8_t>(dtype, is_max);
    case DType::kUint16:
    case DType::kQuint16:
      return Limit<uint16_t>(dtype, is_max);
    case DType::kUint32:
      return Limit<uint32_t>(dtype, is_max);
    case DType::kUint64:
      return Limit<uint64_t>(dtype, is_max);
    case DType::kBool:
      return nb::cast(is_max);
    case DType::kHalf:
      return NumpyType(dtype)(is_max ? 65504.0 : -65504.0);
    case DType::kBfloat16: {
      BFloat16 most;
      most.bits = 0x7f7f;
      const double value = static_cast<float>(most);
      return NumpyType(dtype)(is_max ? value : -value);
    }
    default:
      ThrowTypeError(absl::StrCat(DTypeName(dtype), " has no ", is_max ? "max" : "min"));
  }
}

bool Equals(const PyDType& self, nb::handle other) {
  const std::optional<PyDType> type = Find(other);
  return type && type->dtype == self.dtype && type->is_ref == self.is_ref;
}

size_t HashOf(const PyDType& self) {
  return static_cast<size_t>(self.dtype) + (self.is_ref ? 100 : 0);
}

}  // namespace

nb::object ToPython(DType dtype, bool is_ref) {
  return Objects()[static_cast<size_t>(dtype) % kNumTypes][is_ref ? 1 : 0];
}

PyDType ToPyDType(nb::handle value) {
  if (const std::optional<PyDType> type = Find(value)) return *type;
  ThrowTypeError(absl::StrCat(TextOf(nb::repr(value), "a repr"), " is no dtype"));
}

DType ToDType(nb::handle value) { return ToPyDType(value).dtype; }

std::optional<DType> ToOptionalDType(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  return ToDType(value);
}

nb::object ToPython(const PartialShape& shape) {
  if (!shape.has_rank()) return nb::none();
  nb::object dims = Own(PyTuple_New(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) {
    nb::object dim = shape.dim(i) < 0 ? nb::object(nb::none()) : nb::cast(shape.dim(i));
    PyTuple_SetItem(dims.ptr(), i, dim.release().ptr());
  }
  return dims;
}

PartialShape ToPartialShape(nb::handle dims) {
  if (dims.is_none()) return PartialShape::Unknown();
  Dims list;
  for (const nb::handle dim : nb::iter(dims)) {
    if (dim.is_none()) {
      list.push_back(-1);
      continue;
    }
    const nb::object index = Own(PyNumber_Index(dim.ptr()));
    const long long n = PyLong_AsLongLong(index.ptr());
    if (n == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (n < -1) ThrowValueError(absl::StrCat("a dimension cannot be ", n));
    list.push_back(n);
  }
  if (list.size() > Shape::kMaxRank)
    ThrowValueError(absl::StrCat("a shape has at most ", Shape::kMaxRank, " dimensions"));
  return PartialShape(std::move(list));
}

nb::module_ Numpy() { return nb::module_::import_("numpy"); }

nb::object NumpyType(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return nb::module_::import_("ml_dtypes").attr("bfloat16");
    case DType::kQint8:
      return Numpy().attr("int8");
    case DType::kQuint8:
      return Numpy().attr("uint8");
    case DType::kQint16:
      return Numpy().attr("int16");
    case DType::kQuint16:
      return Numpy().attr("uint16");
    case DType::kQint32:
      return Numpy().attr("int32");
    case DType::kBool:
      return Numpy().attr("bool_");
    case DType::kString:
    case DType::kResource:
    case DType::kVariant:
      return Numpy().attr("object_");
    default:
      return Numpy().attr(std::string(DTypeName(dtype)).c_str());
  }
}

void BindDTypes(nb::module_& m) {
  nb::class_<PyDType>(m, "DType", nb::is_final(), "The type of a tensor's elements.")
      .def_prop_ro("name", [](const PyDType& t) { return ToStr(NameOf(t)); })
      .def_prop_ro("size", [](const PyDType& t) { return DTypeSize(t.dtype); })
      .def_prop_ro("as_datatype_enum", [](const PyDType& t) { return HashOf(t); })
      .def_prop_ro("is_floating", [](const PyDType& t) { return IsFloating(t.dtype); })
      .def_prop_ro("is_integer", [](const PyDType& t) { return IsInteger(t.dtype); })
      .def_prop_ro("is_unsigned", [](const PyDType& t) { return IsUnsigned(t.dtype); })
      .def_prop_ro("is_complex", [](const PyDType& t) { return IsComplex(t.dtype); })
      .def_prop_ro("is_bool", [](const PyDType& t) { return t.dtype == DType::kBool; })
      .def_prop_ro("is_numeric",
                   [](const PyDType& t) {
                     return IsFloating(t.dtype) || IsInteger(t.dtype) || IsComplex(t.dtype) ||
                            IsQuantized(t.dtype);
                   })
      .def_prop_ro("is_quantized", [](const PyDType& t) { return IsQuantized(t.dtype); })
      .def_prop_ro("is_numpy_compatible",
                   [](const PyDType& t) {
                     return t.dtype != DType::kResource && t.dtype != DType::kVariant;
                   })
      .def_prop_ro("limits",
                   [](const PyDType& t) {
                     return nb::make_tuple(LimitOf(t.dtype, false), LimitOf(t.dtype, true));
                   })
      .def(
          "is_compatible_with",
          [](const PyDType& t, nb::handle other) { return ToPyDType(other).dtype == t.dtype; },
          nb::arg("other"), "Whether tensors of the other type are of this one.")
      .def_prop_ro("is_ref", [](const PyDType& t) { return t.is_ref; })
      .def_prop_ro("base_dtype", [](const PyDType& t) { return ToPython(t.dtype); })
      .def_prop_ro("real_dtype", [](const PyDType& t) { return ToPython(RealType(t.dtype)); })
      .def_prop_ro("as_numpy_dtype", [](const PyDType& t) { return NumpyType(t.dtype); })
      .def_prop_ro("min", [](const PyDType& t) { return LimitOf(t.dtype, false); })
      .def_prop_ro("max", [](const PyDType& t) { return LimitOf(t.dtype, true); })
      .def("__eq__", &Equals, nb::arg("other").none())
      .def(
          "__ne__", [](const PyDType& t, nb::handle o) { return !Equals(t, o); },
          nb::arg("other").none())
      .def("__hash__", &HashOf)
      .def("__str__", [](const PyDType& t) { return ToStr(NameOf(t)); })
      .def("__repr__", [](const PyDType& t) { return ToStr(absl::StrCat("gyre.", NameOf(t))); })
      // The module's object of this name.
      .def("__reduce__", [](const PyDType& t) { return ToStr(NameOf(t)); });
  for (int i = 1; i < kNumTypes; ++i) {
    for (const bool is_ref : {false, true}) {
      const PyDType type{static_cast<DType>(i), is_ref};
      nb::object& object = Objects()[i][is_ref ? 1 : 0];
      object = nb::cast(type);
      m.attr(NameOf(type).c_str()) = object;
    }
  }
  m.def(
      "as_dtype",
      [](nb::handle value) {
        const PyDType type = ToPyDType(value);
        return ToPython(type.dtype, type.is_ref);
      },
      nb::arg("value").none(), "The DType that a name, a number or a type of numpy means.");
  m.def("all_dtypes", [] {
    nb::dict types;
    for (int i = 1; i < kNumTypes; ++i) {
      for (const nb::object& type : Objects()[i]) types[type.attr("name")] = type;
    }
    return types;
  });
}

}  // namespace gyre::python
