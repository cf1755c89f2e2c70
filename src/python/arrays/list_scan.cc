#include "python/arrays/list_scan.h"

#include <algorithm>
#include <limits>

#include "base/memory.h"

namespace gyre::python {
namespace {

LeafKind KindOf(nb::handle leaf) {
  PyObject* const o = leaf.ptr();
  if (PyFloat_CheckExact(o) != 0) return LeafKind::kFloat;
  if (PyLong_CheckExact(o) != 0) return LeafKind::kInt;
  if (PyBool_Check(o) != 0) return LeafKind::kBool;
  if (PyUnicode_Check(o) != 0 || PyBytes_Check(o) != 0) return LeafKind::kText;
  return PyComplex_CheckExact(o) != 0 ? LeafKind::kComplex : LeafKind::kOther;
}

class Scanner {
 public:
  explicit Scanner(ListScan& scan) : scan_(scan) {}

  void Visit(nb::handle value) {
    PyObject* const o = value.ptr();
    if (!IsList(value)) return VisitLeaf(value);
    const bool is_list = PyList_Check(o) != 0;
    const size_t depth = path_.size();
    // No code of the user runs while lists are visited: they stay as they are.
    const Py_ssize_t size = is_list ? PyList_Size(o) : PyTuple_Size(o);
    if (depth == scan_.dims.size()) {
      if (has_leaf_) ThrowRagged("is a list, where others are elements");
      CheckDepth(depth);
      scan_.dims.push_back(size);
      if (size == 0) CheckSize();
    } else if (scan_.dims[depth] != size) {
      ThrowRagged(absl::StrCat("has ", size, " items, where others have ", scan_.dims[depth]));
    }
    path_.push_back(0);
    for (Py_ssize_t i = 0; i < size; ++i) {
      path_.back() = i;
      PyObject* const item = is_list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i);
      if (item == nullptr) throw nb::python_error();
      Visit(item);
    }
    path_.pop_back();
  }

 private:
  void VisitLeaf(nb::handle leaf) {
    if (path_.size() != scan_.dims.size())
      ThrowRagged(absl::StrCat("is a ", TypeNameOf(leaf), ", where others are lists"));
    if (!has_leaf_) CheckSize();
    has_leaf_ = true;
    scan_.leaves.push_back(nb::borrow(leaf));
    scan_.kinds.push_back(KindOf(leaf));
    scan_.has_other |= scan_.kinds.back() == LeafKind::kOther;
  }

  // Before the second element is looked at: lists that share theirs may have any number of them.
  void CheckSize() const {
    constexpr int64_t kBytes = sizeof(nb::object) + sizeof(LeafKind);
    int64_t left = PhysicalMemoryBytes() / kBytes;
    for (const int64_t dim : scan_.dims) left /= std::max<int64_t>(dim, 1);
    if (left > 0) return;
    ThrowStatus(absl::ResourceExhaustedError(
        absl::StrCat("lists of shape ", PartialShape(scan_.dims).ToString(),
                     " have more elements than there is memory for")));
  }

  [[noreturn]] void ThrowRagged(absl::string_view what) const {
    std::string place;
    for (const Py_ssize_t i : path_) absl::StrAppend(&place, "[", i, "]");
    ThrowValueError(absl::StrCat("element ", place, " ", what));
  }

  ListScan& scan_;
  std::vector<Py_ssize_t> path_;
  bool has_leaf_ = false;
};

const char* NameOf(LeafKind kind) {
  switch (kind) {
    case LeafKind::kBool:
      return "a bool";
    case LeafKind::kText:
      return "a text";
    default:
      return "a number";
  }
}

bool IsNumber(LeafKind kind) {
  return kind == LeafKind::kInt || kind == LeafKind::kFloat || kind == LeafKind::kComplex;
}

}  // namespace

std::string ListScan::PlaceOf(size_t leaf) const {
  std::string place;
  for (size_t axis = dims.size(); axis-- > 0;) {
    const size_t dim = static_cast<size_t>(dims[axis]);
    place = absl::StrCat("[", dim == 0 ? 0 : leaf % dim, "]", place);
    leaf = dim == 0 ? 0 : leaf / dim;
  }
  return place;
}

DType ListScan::DefaultType() const {
  if (leaves.empty()) return DType::kFloat;
  LeafKind kind = kinds[0];
  DType integer = DType::kInt32;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (kinds[i] != kind && !(IsNumber(kinds[i]) && IsNumber(kind))) {
      ThrowTypeError(absl::StrCat("element ", PlaceOf(i), " is ", NameOf(kinds[i]), ", element ",
                                  PlaceOf(0), " ", NameOf(kind)));
    }
    kind = std::max(kind, kinds[i]);
    if (kinds[i] != LeafKind::kInt) continue;
    const DType needed = SmallestIntegerType(leaves[i]);
    if (needed != DType::kInt32 && integer != DType::kUint64) integer = needed;
  }
  switch (kind) {
    case LeafKind::kBool:
      return DType::kBool;
    case LeafKind::kInt:
      return integer;
    case LeafKind::kFloat:
      return DType::kFloat;
    case LeafKind::kComplex:
      return DType::kComplex128;
    default:
      return DType::kString;
  }
}

bool IsList(nb::handle value) {
  return PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0;
}

void CheckDepth(size_t depth) {
  if (depth < Shape::kMaxRank) return;
  ThrowValueError(absl::StrCat("lists are nested more than ", Shape::kMaxRank, " deep"));
}

ListScan ScanList(nb::handle list) {
  ListScan scan;
  Scanner(scan).Visit(list);
  return scan;
}

DType SmallestIntegerType(nb::handle integer) {
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow == 0) {
    return n >= std::numeric_limits<int32_t>::min() && n <= std::numeric_limits<int32_t>::max()
               ? DType::kInt32
               : DType::kInt64;
  }
  PyLong_AsUnsignedLongLong(integer.ptr());
  if (PyErr_Occurred() == nullptr) return DType::kUint64;
  PyErr_Clear();
  ThrowValueError(absl::StrCat(TextOf(nb::repr(integer), "a repr"), " fits no integer dtype"));
}

}  // namespace gyre::python
