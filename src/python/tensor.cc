#include "python/tensor.h"

#include <cstring>
#include <new>
#include <vector>

#include "front/scope.h"
#include "python/arrays/buffer.h"
#include "python/arrays/convert.h"
#include "python/arrays/dlpack.h"
#include "python/arrays/items.h"
#include "python/dtype.h"
#include "python/graph.h"
#include "python/indexing.h"
#include "python/operators.h"
#include "python/settings.h"
#include "tensor/format.h"

namespace gyre::python {

PyTypeObject* internal::tensor_type = nullptr;

bool PyTensor::follows_session_rules() const {
  return graph != nullptr && graph->follows_session_rules();
}

nb::object WrapEager(eager::EagerTensor&& tensor) {
  nb::object object = nb::inst_alloc(reinterpret_cast<PyObject*>(internal::tensor_type));
  new (nb::inst_ptr<PyTensor>(object))
      PyTensor{.eager = std::move(tensor.value), .id = tensor.id, .owner = std::move(tensor.owner)};
  nb::inst_mark_ready(object);
  return object;
}

nb::object WrapEager(Tensor tensor) {
  nb::object object = nb::inst_alloc(reinterpret_cast<PyObject*>(internal::tensor_type));
  new (nb::inst_ptr<PyTensor>(object))
      PyTensor{.eager = std::move(tensor), .id = eager::NewTensorId()};
  nb::inst_mark_ready(object);
  return object;
}

nb::object WrapSymbolic(const Value& value, std::shared_ptr<GraphCore> graph, uint64_t id) {
  nb::object object = nb::inst_alloc(reinterpret_cast<PyObject*>(internal::tensor_type));
  new (nb::inst_ptr<PyTensor>(object))
      PyTensor{.symbolic = value, .id = id, .graph = std::move(graph)};
  nb::inst_mark_ready(object);
  return object;
}

PyTensor& RequireTensor(nb::handle object, absl::string_view what) {
  PyTensor* const tensor = AsTensor(object);
  if (tensor == nullptr)
    ThrowTypeError(absl::StrCat(what, " must be a Tensor, not ", TypeNameOf(object)));
  return *tensor;
}

const Tensor& RequireEager(nb::handle object, absl::string_view what) {
  const PyTensor& tensor = RequireTensor(object, what);
  if (tensor.is_symbolic()) {
    ThrowTypeError(absl::StrCat(what, " must be an eager tensor, not '", tensor.symbolic.name(),
                                "' of a graph that is being traced"));
  }
  return tensor.eager;
}

std::string Describe(const PyTensor& tensor) {
  return absl::StrCat(DTypeName(tensor.dtype()), " ", tensor.shape().ToString());
}

namespace {

std::string WhyNotKnown(const PyTensor& tensor, absl::string_view what, absl::string_view instead) {
  return absl::StrCat("'", tensor.symbolic.name(), "' (", Describe(tensor),
                      ") is a symbolic tensor: ", what, " is not known while a graph is traced; ",
                      instead);
}

[[noreturn]] void ThrowSymbolic(const PyTensor& tensor, absl::string_view what,
                                absl::string_view instead) {
  ThrowTypeError(WhyNotKnown(tensor, what, instead));
}

// For what Python does by itself where a value would be needed: `if`, `for`.
[[noreturn]] void ThrowNotAllowed(const PyTensor& tensor, absl::string_view what,
                                  absl::string_view instead) {
  const nb::object type =
      nb::module_::import_("gyre._impl.errors").attr("OperatorNotAllowedInGraphError");
  PyErr_SetObject(type.ptr(), ToStr(WhyNotKnown(tensor, what, instead)).ptr());
  throw nb::python_error();
}

nb::object BytesObject(const std::string& text) {
  return Own(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

nb::object StringsToNumpy(const Tensor& tensor) {
  const auto texts = tensor.values<std::string>();
  if (tensor.rank() == 0) return BytesObject(texts[0]);
  nb::object flat = Own(PyList_New(static_cast<Py_ssize_t>(texts.size())));
  for (size_t i = 0; i < texts.size(); ++i)
    PyList_SetItem(flat.ptr(), static_cast<Py_ssize_t>(i), BytesObject(texts[i]).release().ptr());
  // Not np.array(list), which would make of it what it likes.
  nb::object array = Numpy().attr("empty")(texts.size(), nb::arg("dtype") = "O");
  array.attr("__setitem__")(nb::slice(nb::none(), nb::none(), nb::none()), flat);
  return array.attr("reshape")(ToPython(PartialShape(tensor.shape())));
}

// numpy.asarray, imported when it is first needed. An import lets other threads have the GIL, and
// one of them must not wait for it as the initialisation of a static would have it do.
nb::handle AsArray() {
  static nb::handle as_array;
  if (!as_array.is_valid()) {
    nb::object found = Numpy().attr("asarray");
    if (!as_array.is_valid()) as_array = found.release();
  }
  return as_array;
}

// ---- What numbers and truth values are made of

const Tensor& OnlyElement(const PyTensor& tensor, const char* what, const char* instead) {
  if (tensor.is_symbolic()) ThrowSymbolic(tensor, what, instead);
  if (tensor.eager.num_elements() != 1) {
    ThrowTypeError(absl::StrCat("a tensor of shape ", tensor.eager.shape().ToString(),
                                " is not one number: take an element (x[0]), or reduce it "
                                "(gyre.reduce_sum, gyre.reduce_all)"));
  }
  return tensor.eager;
}

nb::object ItemOf(const Tensor& tensor) { return ElementToPython(tensor, 0); }

int TensorBool(PyObject* self) {
  return GuardedInt([&] {
    const PyTensor& t = *AsTensor(self);
    constexpr char kInstead[] =
        "use gyre.cond, or write the code as a gyre.function that is converted";
    if (t.is_symbolic()) ThrowNotAllowed(t, "its truth", kInstead);
    if (t.eager.num_elements() != 1) {  // as numpy says it
      ThrowValueError(absl::StrCat("the truth of a tensor of shape ", t.eager.shape().ToString(),
                                   " is ambiguous: use gyre.reduce_any or gyre.reduce_all"));
    }
    const Tensor& one = OnlyElement(t, "its truth", kInstead);
    const int truth = PyObject_IsTrue(ItemOf(one).ptr());
    if (truth < 0) throw nb::python_error();
    return truth;
  });
}

template <PyObject* (*Convert)(PyObject*)>
PyObject* TensorNumber(PyObject* self) {
  return Guarded([&] {
    const Tensor& one = OnlyElement(*AsTensor(self), "its value", "use gyre.cast for another type");
    return Own(Convert(ItemOf(one).ptr()));
  });
}

PyObject* TensorIndex(PyObject* self) {
  return Guarded([&] {
    const Tensor& one = OnlyElement(*AsTensor(self), "its value",
                                    "read with gyre.gather, write with "
                                    "gyre.tensor_scatter_nd_update, instead of a Python list");
    if (!IsInteger(one.dtype()) || one.rank() != 0) {
      ThrowTypeError(absl::StrCat("only scalar integer tensors can be an index, not ",
                                  Describe(*AsTensor(self))));
    }
    return ItemOf(one);
  });
}

Py_ssize_t TensorLength(PyObject* self) {
  Py_ssize_t length = -1;
  GuardedInt([&] {
    const PyTensor& t = *AsTensor(self);
    const PartialShape shape = t.shape();
    if (!shape.has_rank() || (shape.rank() > 0 && shape.dim(0) < 0))
      ThrowSymbolic(t, "its length", "use gyre.shape(x)[0]");
    if (shape.rank() == 0) ThrowTypeError("a scalar tensor has no length");
    length = static_cast<Py_ssize_t>(shape.dim(0));
    return 0;
  });
  return length;
}

nb::object Rows(nb::handle self) {
  const PyTensor& t = *AsTensor(self);
  const PartialShape shape = t.shape();
  if (t.is_symbolic()) {
    if (!shape.has_rank() || shape.rank() == 0 || shape.dim(0) < 0)
      ThrowNotAllowed(t, "how many rows it has", "iterate with gyre.while_loop or gyre.map_fn");
  } else if (shape.rank() == 0) {
    ThrowTypeError("a scalar tensor cannot be iterated over");
  }
  nb::list rows;
  for (int64_t i = 0; i < shape.dim(0); ++i) rows.append(GetItem(self, nb::int_(i)));
  return nb::steal(PyObject_GetIter(rows.ptr()));
}

PyObject* TensorIter(PyObject* self) {
  return Guarded([&] { return Rows(self); });
}

nb::str Repr(const PyTensor& t) {
  if (t.is_symbolic()) {
    return ToStr(absl::StrCat("<gyre.Tensor '", t.symbolic.name(), "' shape=", t.shape().ToString(),
                              " dtype=", DTypeName(t.dtype()), ">"));
  }
  return ToStr(absl::StrCat("<gyre.Tensor shape=", t.eager.shape().ToString(), " dtype=",
                            DTypeName(t.eager.dtype()), " value=", FormatTensor(t.eager, 10), ">"));
}

// Strings and bytes-like types pickle as what tensor() takes.
nb::object Reduce(nb::handle self) {
  const PyTensor& t = *AsTensor(self);
  if (t.is_symbolic())
    ThrowSymbolic(t, "its value", "return it from the function, and pickle that");
  const nb::object unpickle = nb::module_::import_("gyre._gyre").attr("_unpickle");
  const nb::object dims = ToPython(PartialShape(t.eager.shape()));
  nb::object data;
  if (t.eager.dtype() == DType::kString) {
    nb::list texts;
    for (const std::string& text : t.eager.values<std::string>()) texts.append(BytesObject(text));
    data = texts;
  } else if (IsTrivial(t.eager.dtype())) {
    data = Own(PyBytes_FromStringAndSize(static_cast<const char*>(t.eager.raw_data()),
                                         static_cast<Py_ssize_t>(t.eager.bytes())));
  } else {
    ThrowTypeError(absl::StrCat("a tensor of dtype ", DTypeName(t.eager.dtype()),
                                " cannot be pickled: it refers to an object of this process"));
  }
  return nb::make_tuple(unpickle, nb::make_tuple(ToPython(t.eager.dtype()), dims, data));
}

nb::object Unpickle(nb::handle dtype_object, nb::handle dims, nb::handle data) {
  const DType dtype = ToDType(dtype_object);
  const std::optional<Shape> shape = ToPartialShape(dims).ToShape();
  if (!shape) ThrowValueError("this is no pickled tensor: its shape is not known");
  if (dtype != DType::kString && !IsTrivial(dtype))
    ThrowValueError("this is no pickled tensor: its dtype cannot be pickled");
  if (dtype == DType::kString) {
    const nb::tuple texts = ItemsOf(data, "the data of a pickled tensor of texts");
    if (nb::len(texts) != static_cast<size_t>(shape->num_elements()))
      ThrowValueError("this is no pickled tensor: its data do not fit its shape");
    Tensor tensor = ValueOf(Tensor::Make(dtype, *shape));
    size_t i = 0;
    for (const nb::handle text : texts) StringOf(text, &tensor.mutable_values<std::string>()[i++]);
    return WrapEager(std::move(tensor));
  }
  std::string bytes;
  StringOf(data, &bytes);
  Tensor tensor = ValueOf(Tensor::Make(dtype, *shape));
  if (bytes.size() != tensor.bytes())
    ThrowValueError("this is no pickled tensor: its data do not fit its shape");
  if (!bytes.empty()) std::memcpy(tensor.mutable_raw_data(), bytes.data(), bytes.size());
  if (dtype == DType::kBool) {
    for (char& b : absl::Span<char>(static_cast<char*>(tensor.mutable_raw_data()), bytes.size()))
      b = b != 0;
  }
  return WrapEager(std::move(tensor));
}

// A plain function of C: pickle finds it by name.
PyObject* UnpickleFunction(PyObject*, PyObject* args) {
  return Guarded([&] {
    if (PyTuple_Size(args) != 3) ThrowTypeError("_unpickle takes dtype, dims and data");
    return Unpickle(PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1), PyTuple_GetItem(args, 2));
  });
}
PyMethodDef unpickle_function[] = {{"_unpickle", &UnpickleFunction, METH_VARARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

// Tensors are made by `tensor` and its kin: an object without a value must not come to be.
PyObject* NoNew(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "make tensors with gyre.constant or gyre.convert_to_tensor");
  return nullptr;
}

nb::object ArrayOf(nb::handle self, nb::handle dtype, nb::handle copy) {
  nb::object array = AsTensor(self)->is_symbolic()
                         ? (ThrowSymbolic(*AsTensor(self), "its value",
                                          "use functions of gyre instead of numpy's"),
                            nb::object())
                         : AsArray()(ToNumpy(*AsTensor(self), self));
  const bool wants_copy = copy.ptr() == Py_True;
  if (!dtype.is_none()) return array.attr("astype")(dtype, nb::arg("copy") = wants_copy);
  return wants_copy ? array.attr("copy")() : array;
}

nb::object GraphOf(const PyTensor& t) {
  return t.is_symbolic() ? ToPython(t.graph) : nb::object(nb::none());
}

nb::object KnownOf(nb::handle self) {
  const PyTensor& t = RequireTensor(self, "self");
  if (!t.is_symbolic()) return nb::borrow(self);
  const Tensor& known = t.symbolic.scope()->info({t.symbolic.node(), t.symbolic.slot()}).constant;
  return known.has_value() ? WrapEager(known) : nb::object(nb::none());
}

nb::str NameOf(const PyTensor& t) {
  if (!t.is_symbolic()) {
    PyErr_SetString(PyExc_AttributeError, "an eager tensor has no name");
    throw nb::python_error();
  }
  if (!t.graph->is_for_sessions()) return ToStr(t.symbolic.name());
  return ToStr(absl::StrCat(t.symbolic.operation().name(), ":", t.symbolic.slot()));
}

Py_hash_t TensorHash(PyObject* self) {
  Py_hash_t hash = -1;
  GuardedInt([&] {
    const PyTensor& t = *AsTensor(self);
    if (!t.follows_session_rules()) {
      ThrowTypeError(
          "a Tensor cannot be a key of a dict or a member of a set: tensors compare element by "
          "element. Use tensor.ref(), or look rows up with gyre.gather");
    }
    const auto scope = reinterpret_cast<uintptr_t>(t.symbolic.scope().get()) >> 4;
    hash = static_cast<Py_hash_t>((scope * 31 + t.symbolic.node()) * 7 + t.symbolic.slot());
    if (hash == -1) hash = -2;
    return 0;
  });
  return hash;
}

}  // namespace

nb::object ToNumpy(const PyTensor& t, nb::handle self) {
  if (t.is_symbolic()) {
    ThrowSymbolic(t, "its value",
                  "return it from the function, and call numpy() on what it returns");
  }
  const DType dtype = t.eager.dtype();
  if (dtype == DType::kString) return StringsToNumpy(t.eager);
  if (!IsTrivial(dtype)) {
    ThrowTypeError(absl::StrCat("a tensor of dtype ", DTypeName(dtype), " has no numpy form"));
  }
  nb::object array;
  if (BufferFormat(dtype) != nullptr) {
    array = AsArray()(self);
  } else {
    const DType bits = DTypeSize(dtype) == 1   ? DType::kUint8
                       : DTypeSize(dtype) == 2 ? DType::kUint16
                                               : DType::kUint32;
    const nb::object raw = WrapEager(t.eager.Bitcast(bits));
    array = AsArray()(raw).attr("view")(NumpyType(dtype));
  }
  return t.eager.rank() == 0 ? array[nb::make_tuple()] : array;
}

void BindTensors(nb::module_& m) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(&NoNew)},
      {Py_nb_bool, reinterpret_cast<void*>(&TensorBool)},
      {Py_nb_int, reinterpret_cast<void*>(&TensorNumber<PyNumber_Long>)},
      {Py_nb_float, reinterpret_cast<void*>(&TensorNumber<PyNumber_Float>)},
      {Py_nb_index, reinterpret_cast<void*>(&TensorIndex)},
      {Py_tp_hash, reinterpret_cast<void*>(&TensorHash)},
      {Py_mp_length, reinterpret_cast<void*>(&TensorLength)},
      {Py_mp_subscript, reinterpret_cast<void*>(&TensorGetItem)},
      {Py_tp_iter, reinterpret_cast<void*>(&TensorIter)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&GetTensorBuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&ReleaseTensorBuffer)},
  };
  AppendOperatorSlots(slots);
  slots.push_back({0, nullptr});
  auto type = nb::class_<PyTensor>(m, "Tensor", nb::is_final(), nb::is_weak_referenceable(),
                                   nb::type_slots(slots.data()),
                                   "An immutable array, or the output of a graph's node.");
  internal::tensor_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def_prop_ro("dtype", [](const PyTensor& t) { return ToPython(t.dtype()); })
      .def_prop_ro("_dims", [](const PyTensor& t) { return ToPython(t.shape()); })
      .def_prop_ro("is_symbolic", &PyTensor::is_symbolic)
      // The value, as far as it is known while a graph is built: an eager tensor, or None.
      .def_prop_ro("_known", &KnownOf)
      .def_prop_ro("_is_reference",
                   [](const PyTensor& t) {
                     if (!t.is_symbolic()) return false;
                     const Node& node = t.symbolic.scope()->function().node(t.symbolic.node());
                     return node.signature.outputs[t.symbolic.slot()].is_ref;
                   })
      .def_ro("id", &PyTensor::id)
      .def_prop_ro("name", &NameOf)
      .def_prop_ro("device",
                   [](const PyTensor& t) {
                     if (t.is_symbolic()) return ToStr(DeviceOf(t.symbolic));
                     const bool is_placed = t.owner != nullptr && !t.owner->device().empty();
                     return ToStr(is_placed ? t.owner->device() : "/cpu:0");
                   })
      .def_prop_ro("graph", &GraphOf)
      // Makes this object stand for another tensor of the same graph: the same value, of which more
      // is known (set_shape).
      .def("_become",
           [](PyTensor& self, const PyTensor& other) {
             self.symbolic = other.symbolic;
             self.graph = other.graph;
             self.id = other.id;
           })
      .def("numpy", [](nb::handle self) { return ToNumpy(RequireTensor(self, "self"), self); })
      .def("__array__", &ArrayOf, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__complex__",
           [](nb::handle self) {
             const Tensor& one =
                 OnlyElement(RequireTensor(self, "self"), "its value", "use gyre.cast");
             return nb::handle(reinterpret_cast<PyObject*>(&PyComplex_Type))(ItemOf(one));
           })
      .def("__dlpack__", &ToDLPack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none())
      .def("__dlpack_device__", [](nb::handle) { return nb::make_tuple(1, 0); })
      .def("__repr__", &Repr)
      .def("__reduce__", &Reduce)
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); });
  type.attr("__array_priority__") = 100;
  if (PyModule_AddFunctions(m.ptr(), unpickle_function) != 0) throw nb::python_error();
  m.def("tensor", &MakeTensor, nb::arg("value").none(), nb::arg("dtype") = nb::none(),
        nb::arg("dims") = nb::none(),
        "An eager tensor of numbers, texts, lists of these, arrays, or what else holds elements.");
}

}  // namespace gyre::python
