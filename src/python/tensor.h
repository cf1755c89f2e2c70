// Tensor in Python: an eager value, or an output of a graph that is being traced.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "eager/variable.h"
#include "gyre/core/tensor.h"
#include "gyre/value.h"
#include "python/python.h"

namespace gyre::python {

class GraphCore;

// Immutable but for set_shape (`_become`). Owned by Python.
struct PyTensor {
  Tensor eager;                                       // no value: symbolic
  Value symbolic;                                     // no value: eager
  uint64_t id = 0;                                    // never given to another tensor
  std::shared_ptr<GraphCore> graph;                   // of a symbolic one
  std::shared_ptr<const eager::VariableOwner> owner;  // of the handle of a variable

  bool is_symbolic() const { return symbolic.has_value(); }
  // Such tensors compare and hash by what they are, not element by element.
  bool follows_session_rules() const;
  DType dtype() const { return is_symbolic() ? symbolic.dtype() : eager.dtype(); }
  PartialShape shape() const {
    return is_symbolic() ? symbolic.shape() : PartialShape(eager.shape());
  }
};

// New objects.
nb::object WrapEager(Tensor tensor);
nb::object WrapEager(eager::EagerTensor&& tensor);
inline nb::object WrapEager(const eager::EagerTensor& tensor) {
  return WrapEager(eager::EagerTensor(tensor));
}
nb::object WrapSymbolic(const Value& value, std::shared_ptr<GraphCore> graph,
                        uint64_t id = eager::NewTensorId());

namespace internal {
extern PyTypeObject* tensor_type;  // set when the module is made
}

// The tensor that `object` is; null for all else.
inline PyTensor* AsTensor(nb::handle object) {
  return Py_TYPE(object.ptr()) == internal::tensor_type ? nb::inst_ptr<PyTensor>(object) : nullptr;
}
// TypeError, which calls it `what`, for all but tensors (and symbolic ones).
PyTensor& RequireTensor(nb::handle object, absl::string_view what);
const Tensor& RequireEager(nb::handle object, absl::string_view what);

// "float32 [2,?]": for messages.
std::string Describe(const PyTensor& tensor);

// A numpy array that shares the elements, read-only; a numpy scalar of a scalar; bytes, or an array
// of them, of strings.
nb::object ToNumpy(const PyTensor& tensor, nb::handle self);

}  // namespace gyre::python
