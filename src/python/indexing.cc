#include "python/indexing.h"

#include <cstring>
#include <limits>
#include <optional>

#include "eager/tape.h"
#include "python/arrays/convert.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

// One number of a slice: known, or a scalar tensor.
struct Bound {
  int64_t number = 0;
  nb::object tensor;
};

// The arguments of StridedSlice.
struct Spec {
  std::vector<Bound> begin, end, strides;
  int64_t begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_axis_mask = 0, shrink_mask = 0;

  void Add(Bound from, Bound to, Bound step) {
    begin.push_back(std::move(from));
    end.push_back(std::move(to));
    strides.push_back(std::move(step));
  }
  int64_t Bit() const { return int64_t{1} << begin.size(); }
};

bool IsScalarTensor(nb::handle value) {
  const PyTensor* tensor = AsTensor(value);
  if (tensor == nullptr || !IsInteger(tensor->dtype())) return false;
  const PartialShape shape = tensor->shape();
  return !shape.has_rank() || shape.rank() == 0;
}

[[noreturn]] void ThrowNoIndex(nb::handle value) {
  const PyTensor* tensor = AsTensor(value);
  ThrowTypeError(absl::StrCat(
      tensor == nullptr ? "a " + TypeNameOf(value) : "a tensor of " + Describe(*tensor),
      " is no index: tensors take ints, slices, ..., None, scalar integer tensors and masks of "
      "bools; of rows by number use gather"));
}

Bound ToBound(nb::handle given) {
  const nb::object value = Unwrapped(given);
  if (IsScalarTensor(value)) {
    const PyTensor& tensor = *AsTensor(value);
    if (tensor.is_symbolic()) return {0, value};
    return {nb::cast<int64_t>(ElementToPython(tensor.eager, 0)), {}};
  }
  if (AsTensor(value) != nullptr || PyIndex_Check(value.ptr()) == 0) ThrowNoIndex(value);
  const nb::object index = Own(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  // As Python does: what lies beyond all elements is cut off by the op.
  if (overflow != 0) {
    return {overflow > 0 ? std::numeric_limits<int64_t>::max()
                         : std::numeric_limits<int64_t>::min() + 1,
            {}};
  }
  return {n, {}};
}

void AddSlice(Spec& spec, nb::handle slice) {
  const nb::object start = slice.attr("start");
  const nb::object stop = slice.attr("stop");
  const nb::object step = slice.attr("step");
  if (start.is_none()) spec.begin_mask |= spec.Bit();
  if (stop.is_none()) spec.end_mask |= spec.Bit();
  spec.Add(start.is_none() ? Bound{} : ToBound(start), stop.is_none() ? Bound{} : ToBound(stop),
           step.is_none() ? Bound{1, {}} : ToBound(step));
  if (!spec.strides.back().tensor.is_valid() && spec.strides.back().number == 0)
    ThrowValueError("the step of a slice cannot be zero");
}

void AddIndex(Spec& spec, nb::handle index) {
  Bound from = ToBound(index);
  Bound to{0, {}};
  spec.shrink_mask |= spec.Bit();
  if (from.tensor.is_valid()) {
    to.tensor = Execute1("AddV2", {from.tensor, nb::int_(1)});
  } else {
    to.number = from.number + 1;
  }
  spec.Add(std::move(from), std::move(to), {1, {}});
}

// The mask that `key` is, as a bool tensor of rank >= 1; null if it is none.
nb::object MaskOf(nb::handle key) {
  const nb::object value = Unwrapped(key);
  PyObject* const o = value.ptr();
  if (const PyTensor* tensor = AsTensor(value))
    return tensor->dtype() == DType::kBool ? value : nb::object();
  const bool is_array = nb::hasattr(value, "dtype") && nb::hasattr(value, "shape");
  if (PyList_Check(o) == 0 && !is_array) return {};
  if (is_array && PyIndex_Check(o) != 0 && nb::len(nb::object(value.attr("shape"))) == 0) return {};
  Tensor tensor = ToTensor(value);
  if (tensor.dtype() != DType::kBool) ThrowNoIndex(key);
  return WrapEager(std::move(tensor));
}

nb::object Vector(const std::vector<Bound>& bounds) {
  bool is_known = true;
  for (const Bound& bound : bounds) is_known &= !bound.tensor.is_valid();
  if (is_known) {
    Tensor tensor =
        ValueOf(Tensor::Make(DType::kInt64, Shape::Vector(static_cast<int64_t>(bounds.size()))));
    for (size_t i = 0; i < bounds.size(); ++i)
      tensor.mutable_values<int64_t>()[i] = bounds[i].number;
    return WrapEager(std::move(tensor));
  }
  nb::list items;
  for (const Bound& bound : bounds) {
    items.append(bound.tensor.is_valid()
                     ? Execute1("Cast", {bound.tensor}, {{"DstT", DType::kInt64}})
                     : WrapEager(Tensor::Scalar<int64_t>(bound.number)));
  }
  return Execute1("Pack", {items}, {{"N", static_cast<int64_t>(bounds.size())}});
}

void CheckRange(nb::handle self, const Spec& spec) {
  const PartialShape shape = AsTensor(self)->shape();
  if (!shape.has_rank() || spec.ellipsis_mask != 0 || spec.new_axis_mask != 0) return;
  if (static_cast<int>(spec.begin.size()) > shape.rank()) {
    ThrowIndexError(absl::StrCat("too many indices: a tensor of ", Describe(*AsTensor(self)),
                                 " has ", shape.rank(), " dimensions, not ", spec.begin.size()));
  }
  for (size_t i = 0; i < spec.begin.size(); ++i) {
    const int64_t dim = shape.dim(static_cast<int>(i));
    const Bound& bound = spec.begin[i];
    if ((spec.shrink_mask >> i & 1) == 0 || bound.tensor.is_valid() || dim < 0) continue;
    if (bound.number < dim && bound.number >= -dim) continue;
    ThrowIndexError(absl::StrCat("slice index ", bound.number, " of dimension ", i,
                                 " out of bounds: it has ", dim, " elements"));
  }
}

// The mask's shape is that of the tensor's first dimensions, as far as both are known.
void CheckMask(nb::handle self, nb::handle mask) {
  const PartialShape shape = AsTensor(self)->shape(), of_mask = AsTensor(mask)->shape();
  if (!shape.has_rank() || !of_mask.has_rank()) return;
  bool fits = of_mask.rank() <= shape.rank();
  for (int i = 0; fits && i < of_mask.rank(); ++i)
    fits = shape.dim(i) < 0 || of_mask.dim(i) < 0 || shape.dim(i) == of_mask.dim(i);
  if (fits) return;
  ThrowIndexError(absl::StrCat("a mask of shape ", of_mask.ToString(), " does not fit a tensor of ",
                               Describe(*AsTensor(self))));
}

// tensor[i] of an eager tensor that nobody records: rows share the buffer.
nb::object RowNow(const Tensor& tensor, int64_t i) {
  if (i < 0) i += tensor.dim(0);
  const Tensor row = tensor.SliceRows(i, 1);
  Dims dims(tensor.shape().dims().begin() + 1, tensor.shape().dims().end());
  if (!dims.empty()) return WrapEager(row.Reshaped(Shape::Trusted(std::move(dims))));
  Tensor scalar = ValueOf(Tensor::Make(tensor.dtype(), Shape()));
  std::memcpy(scalar.mutable_raw_data(), row.raw_data(), row.bytes());
  return WrapEager(std::move(scalar));
}

bool IsRowNow(nb::handle self, nb::handle key) {
  const PyTensor& t = *AsTensor(self);
  if (PyLong_CheckExact(key.ptr()) == 0 || t.is_symbolic() || t.eager.rank() == 0 ||
      !IsTrivial(t.eager.dtype()) || CurrentGraph() != nullptr || eager::Recording::IsOn()) {
    return false;
  }
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(key.ptr(), &overflow);
  return overflow == 0 && n < t.eager.dim(0) && n >= -t.eager.dim(0);
}

void AddItem(Spec& spec, nb::handle item) {
  if (spec.begin.size() >= 62) ThrowTypeError("an index of more than 62 items");
  if (item.ptr() == Py_Ellipsis) {
    if (spec.ellipsis_mask != 0) ThrowValueError("an index can have one ellipsis only");
    spec.ellipsis_mask |= spec.Bit();
    spec.Add({}, {}, {1, {}});
  } else if (item.is_none()) {
    spec.new_axis_mask |= spec.Bit();
    spec.Add({}, {}, {1, {}});
  } else if (PySlice_Check(item.ptr())) {
    AddSlice(spec, item);
  } else if (PyBool_Check(item.ptr()) != 0) {
    ThrowNoIndex(item);
  } else {
    AddIndex(spec, item);
  }
}

}  // namespace

nb::object GetItem(nb::handle self, nb::handle key) {
  if (IsRowNow(self, key)) return RowNow(AsTensor(self)->eager, PyLong_AsLongLong(key.ptr()));
  Spec spec;
  if (PyTuple_Check(key.ptr()) != 0) {
    for (const nb::handle item : nb::iter(key)) AddItem(spec, item);
  } else {
    if (const nb::object mask = MaskOf(key); mask.is_valid()) {
      CheckMask(self, mask);
      return Execute1("GatherNd", {self, Execute1("Where", {mask}, {{"T", DType::kBool}})});
    }
    AddItem(spec, key);
  }
  CheckRange(self, spec);
  // With constants in the graph that the tensor is in.
  std::optional<CurrentGraphScope> scope;
  if (CurrentGraph() == nullptr && AsTensor(self)->is_symbolic())
    scope.emplace(GraphLeftOpen(*AsTensor(self)));
  return Execute1("StridedSlice",
                  {self, Vector(spec.begin), Vector(spec.end), Vector(spec.strides)},
                  {{"begin_mask", spec.begin_mask},
                   {"end_mask", spec.end_mask},
                   {"ellipsis_mask", spec.ellipsis_mask},
                   {"new_axis_mask", spec.new_axis_mask},
                   {"shrink_axis_mask", spec.shrink_mask}});
}

PyObject* TensorGetItem(PyObject* self, PyObject* key) {
  return Guarded([&] { return GetItem(self, key); });
}

}  // namespace gyre::python
