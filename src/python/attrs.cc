#include "python/attrs.h"

#include <string>
#include <vector>

#include "python/arrays/convert.h"
#include "python/arrays/items.h"
#include "python/dtype.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

int64_t ToInt(nb::handle value) {
  const nb::object index = Own(PyNumber_Index(value.ptr()));
  const long long n = PyLong_AsLongLong(index.ptr());
  if (n == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return n;
}

bool ToBool(nb::handle value) {
  if (PyBool_Check(value.ptr()) == 0) ThrowTypeError("a bool is wanted");
  return value.ptr() == Py_True;
}

float ToFloat(nb::handle value) {
  const double x = PyFloat_AsDouble(value.ptr());
  if (x == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return static_cast<float>(x);
}

std::string ToText(nb::handle value) {
  std::string text;
  StringOf(value, &text);
  return text;
}

// A number is a vector's size.
PartialShape ToShapeAttr(nb::handle value) {
  if (PyLong_CheckExact(value.ptr()) != 0) return PartialShape({ToInt(value)});
  return ToPartialShape(value);
}

Tensor ToTensorAttr(nb::handle value) { return ToTensor(value); }

FunctionRef ToFunction(nb::handle value) { return {ToText(value), nullptr}; }

template <typename T, T (*Convert)(nb::handle)>
AttrValue Convert1(nb::handle value, bool is_list) {
  if (!is_list) return Convert(value);
  if (PyUnicode_Check(value.ptr()) != 0 || PyBytes_Check(value.ptr()) != 0)
    ThrowTypeError("a list is wanted");
  std::vector<T> list;
  for (const nb::handle item : nb::iter(value)) list.push_back(Convert(item));
  return list;
}

AttrValue Convert(const AttrDef& def, nb::handle value) {
  switch (def.kind) {
    case AttrKind::kString:
      return Convert1<std::string, ToText>(value, def.is_list);
    case AttrKind::kInt:
      return Convert1<int64_t, ToInt>(value, def.is_list);
    case AttrKind::kFloat:
      return Convert1<float, ToFloat>(value, def.is_list);
    case AttrKind::kBool:
      return Convert1<bool, ToBool>(value, def.is_list);
    case AttrKind::kType:
      return Convert1<DType, ToDType>(value, def.is_list);
    case AttrKind::kShape:
      return Convert1<PartialShape, ToShapeAttr>(value, def.is_list);
    case AttrKind::kTensor:
      return Convert1<Tensor, ToTensorAttr>(value, def.is_list);
    case AttrKind::kFunc:
      return Convert1<FunctionRef, ToFunction>(value, def.is_list);
  }
  ThrowTypeError("an attribute of this kind cannot be set");
}

// An attribute that no schema knows ("_…"): what the value itself says.
AttrValue Guess(nb::handle value) {
  PyObject* const o = value.ptr();
  if (PyBool_Check(o) != 0) return o == Py_True;
  if (PyLong_Check(o) != 0) return ToInt(value);
  if (PyFloat_Check(o) != 0) return ToFloat(value);
  if (nb::isinstance<PyDType>(value)) return ToDType(value);
  return ToText(value);
}

nb::object Text(const std::string& text) {
  PyObject* const utf8 =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (utf8 != nullptr) return nb::steal(utf8);
  PyErr_Clear();
  return Own(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

struct Reader {
  nb::object operator()(std::monostate) const { return nb::none(); }
  nb::object operator()(const std::string& text) const { return Text(text); }
  nb::object operator()(int64_t n) const { return nb::int_(n); }
  nb::object operator()(float x) const { return nb::float_(static_cast<double>(x)); }
  nb::object operator()(bool b) const { return nb::bool_(b); }
  nb::object operator()(DType dtype) const {
    return dtype == DType::kInvalid ? nb::object(nb::none()) : ToPython(dtype);
  }
  nb::object operator()(const PartialShape& shape) const { return ToPython(shape); }
  nb::object operator()(const Tensor& tensor) const { return WrapEager(tensor); }
  nb::object operator()(const FunctionRef& function) const { return Text(function.name); }
  nb::object operator()(const AttrPlaceholder& p) const { return Text(absl::StrCat("$", p.name)); }
  nb::object operator()(EmptyList) const { return nb::list(); }
  template <typename T>
  nb::object operator()(const std::vector<T>& items) const {
    nb::list list;
    for (const auto& item : items) list.append((*this)(static_cast<T>(item)));
    return list;
  }
};

}  // namespace

AttrValue ToAttr(const OpDef& op, const AttrDef& def, nb::handle value) {
  try {
    return Convert(def, value);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError) &&
        !error.matches(PyExc_OverflowError)) {
      throw;
    }
    ThrowTypeError(absl::StrCat("attribute '", def.name, "' of ", op.name, " cannot be ",
                                TextOf(nb::repr(value), "a repr"), ": ",
                                TextOf(nb::str(error.value()), "an error")));
  }
}

AttrMap ToAttrs(const OpDef& op, nb::handle attrs) {
  AttrMap map;
  if (!attrs.is_valid() || attrs.is_none()) return map;
  const nb::dict entries = ItemsOfDict(attrs, "attributes");
  for (const auto& [key, value] : entries) {
    const absl::string_view name = TextOf(key, "the name of an attribute");
    if (const AttrDef* def = op.FindAttr(name)) {
      if (!value.is_none() || def->kind == AttrKind::kShape) map.Set(name, ToAttr(op, *def, value));
    } else if (!name.empty() && name[0] == '_') {
      map.Set(name, Guess(value));
    } else {
      ThrowTypeError(absl::StrCat(op.name, " has no attribute '", name, "'"));
    }
  }
  return map;
}

nb::object ToPython(const AttrValue& value) { return std::visit(Reader(), value); }

nb::dict ToPython(const AttrMap& attrs) {
  nb::dict dict;
  for (const auto& [name, value] : attrs) dict[ToStr(name)] = ToPython(value);
  return dict;
}

}  // namespace gyre::python
