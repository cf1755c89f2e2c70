// SetSize, DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation: the
// last dimension of a tensor holds sets; what stands before it is a set's place.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

constexpr int64_t kElementsPerPoll = 8192;

using SetTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>;

// What a set is made of: numbers, or the texts where they are.
template <typename T>
using Element = std::conditional_t<std::is_same_v<T, std::string>, const std::string*, T>;
template <typename T>
Element<T> ElementAt(const T* data, int64_t i) {
  if constexpr (std::is_same_v<T, std::string>) {
    return data + i;
  } else {
    return data[i];
  }
}
template <typename T>
const T& ValueOf(const Element<T>& element) {
  if constexpr (std::is_same_v<T, std::string>) {
    return *element;
  } else {
    return element;
  }
}

// Elements in order, each once.
template <typename T>
class SetOf {
 public:
  // Makes it what `count` elements from `begin` on are; count = 0: the empty set.
  absl::Status Fill(const KernelContext& ctx, const T* data, int64_t begin, int64_t count) {
    elements_.clear();
    for (int64_t i = 0; i < count; ++i) {
      if (i % kElementsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      elements_.push_back(ElementAt(data, begin + i));
    }
    GYRE_RETURN_IF_ERROR(Sort(ctx));
    const auto equal = [](const auto& a, const auto& b) { return ValueOf<T>(a) == ValueOf<T>(b); };
    elements_.erase(std::unique(elements_.begin(), elements_.end(), equal), elements_.end());
    return absl::OkStatus();
  }
  const std::vector<Element<T>>& elements() const { return elements_; }

  static bool Before(const Element<T>& a, const Element<T>& b) {
    return ValueOf<T>(a) < ValueOf<T>(b);
  }

 private:
  // Runs are sorted, then merged two by two: between steps there is time to look for the deadline.
  absl::Status Sort(const KernelContext& ctx) {
    const auto n = static_cast<int64_t>(elements_.size());
    const auto at = [&](int64_t i) { return elements_.begin() + std::min(i, n); };
    for (int64_t i = 0; i < n; i += kElementsPerPoll) {
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      std::sort(at(i), at(i + kElementsPerPoll), Before);
    }
    if (n <= kElementsPerPoll) return absl::OkStatus();
    std::vector<Element<T>> merged(elements_.size());
    for (int64_t run = kElementsPerPoll; run < n; run *= 2) {
      for (int64_t i = 0; i < n; i += 2 * run) {
        auto a = at(i), b = at(i + run);
        const auto a_end = b, b_end = at(i + 2 * run);
        for (int64_t to = i; a != a_end || b != b_end; ++to) {
          if (to % kElementsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
          const bool takes_b = a == a_end || (b != b_end && Before(*b, *a));
          merged[static_cast<size_t>(to)] = takes_b ? *b++ : *a++;
        }
      }
      elements_.swap(merged);
    }
    return absl::OkStatus();
  }

  std::vector<Element<T>> elements_;
};

// A tensor's sets, one after the other.
template <typename T>
class Sets {
 public:
  virtual ~Sets() = default;
  // All dimensions but the last.
  virtual Dims places() const = 0;
  virtual bool done() const = 0;
  // The set that is next: its place, what it holds. Requirement: !done().
  virtual const Dims& place() const = 0;
  virtual absl::Status Read(SetOf<T>& set) = 0;
  virtual void Next() = 0;
};

template <typename T>
class DenseSets final : public Sets<T> {
 public:
  static absl::Status Check(const Tensor& t, absl::string_view name) {
    if (t.rank() >= 2) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        name, " must have at least 2 dimensions, but has shape ", t.shape().ToString()));
  }
  // Requirement: Check.
  DenseSets(const KernelContext& ctx, int input)
      : ctx_(ctx),
        tensor_(ctx.input(input)),
        size_(tensor_.dim(tensor_.rank() - 1)),
        place_(tensor_.rank() - 1) {
    count_ = 1;
    for (int d = 0; d + 1 < tensor_.rank(); ++d) count_ *= tensor_.dim(d);
    if (size_ == 0) count_ = 0;  // there may be any number of them
  }
  Dims places() const override {
    const auto dims = tensor_.shape().dims();
    return Dims(dims.begin(), dims.end() - 1);
  }
  bool done() const override { return at_ == count_; }
  const Dims& place() const override { return place_; }
  absl::Status Read(SetOf<T>& set) override {
    return set.Fill(ctx_, static_cast<const T*>(tensor_.raw_data()), at_ * size_, size_);
  }
  void Next() override {
    ++at_;
    for (size_t d = place_.size(); d-- > 0;) {
      if (++place_[d] < tensor_.dim(static_cast<int>(d))) return;
      place_[d] = 0;
    }
  }

 private:
  const KernelContext& ctx_;
  const Tensor& tensor_;
  const int64_t size_;
  int64_t count_, at_ = 0;
  Dims place_;
};

// INVALID_ARGUMENT where rows do not stand in row-major order, or twice.
absl::Status RequireOrder(const KernelContext& ctx, const SparseInput& in,
                          absl::string_view prefix) {
  for (int64_t i = 1; i < in.n; ++i) {
    if (i % kElementsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int order = CompareRows(in.row(i - 1), in.row(i), in.rank());
    if (order < 0) continue;
    const absl::Span<const int64_t> row(in.row(i), static_cast<size_t>(in.rank()));
    return absl::InvalidArgumentError(absl::StrCat(
        prefix, "indices[", i, "] = [", absl::StrJoin(row, ","), "] is ",
        order == 0 ? "repeated" : "out of order; many sparse ops require sorted indices"));
  }
  return absl::OkStatus();
}

absl::StatusOr<SparseInput> SparseSetsAt(const KernelContext& ctx, int first, bool validate,
                                         absl::string_view prefix) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput in,
                        SparseInputAt(ctx, first, first + 1, first + 2, prefix));
  if (in.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, "shape must have at least 2 elements, but has ", in.rank()));
  }
  if (validate) GYRE_RETURN_IF_ERROR(RequireOrder(ctx, in, prefix));
  return in;
}

// Those of a sparse tensor that are not empty.
template <typename T>
class SparseSets final : public Sets<T> {
 public:
  SparseSets(const KernelContext& ctx, SparseInput in, int first)
      : ctx_(ctx), in_(in), data_(static_cast<const T*>(ctx.input(first + 1).raw_data())) {
    Find();
  }
  Dims places() const override { return Dims(in_.shape.begin(), in_.shape.end() - 1); }
  bool done() const override { return begin_ == in_.n; }
  const Dims& place() const override { return place_; }
  absl::Status Read(SetOf<T>& set) override { return set.Fill(ctx_, data_, begin_, end_ - begin_); }
  void Next() override {
    begin_ = end_;
    Find();
  }

 private:
  // Rows that have all but their last index in common.
  void Find() {
    if (done()) return;
    const int64_t rank = in_.rank() - 1;
    place_.assign(in_.row(begin_), in_.row(begin_) + rank);
    for (end_ = begin_ + 1; end_ < in_.n; ++end_) {
      if (CompareRows(in_.row(begin_), in_.row(end_), rank) != 0) return;
    }
  }

  const KernelContext& ctx_;
  const SparseInput in_;
  const T* data_;
  int64_t begin_ = 0, end_ = 0;
  Dims place_;
};

enum class SetOperation : uint8_t { kAMinusB, kBMinusA, kIntersection, kUnion };

struct OperationAttrs {
  static absl::StatusOr<OperationAttrs> Make(const Node& node) {
    const std::string& name = NodeAttr<std::string>(node, "set_operation");
    const std::string lower = absl::AsciiStrToLower(name);
    const bool validate = NodeAttr<bool>(node, "validate_indices");
    if (lower == "a-b") return OperationAttrs{SetOperation::kAMinusB, validate};
    if (lower == "b-a") return OperationAttrs{SetOperation::kBMinusA, validate};
    if (lower == "intersection") return OperationAttrs{SetOperation::kIntersection, validate};
    if (lower == "union") return OperationAttrs{SetOperation::kUnion, validate};
    return absl::InvalidArgumentError(absl::StrCat(
        "set_operation must be 'a-b', 'b-a', 'intersection' or 'union', but is '", name, "'"));
  }
  SetOperation operation;
  bool validate;
};

// Sets that come out, and their places.
template <typename T>
class Results {
 public:
  explicit Results(Dims places) : dims_(std::move(places)) {}

  absl::Status Add(const KernelContext& ctx, SetOperation operation, const Dims& place,
                   const SetOf<T>& a, const SetOf<T>& b) {
    const auto before = static_cast<int64_t>(values_.size());
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    const auto& x = operation == SetOperation::kBMinusA ? b.elements() : a.elements();
    const auto& y = operation == SetOperation::kBMinusA ? a.elements() : b.elements();
    auto i = x.begin(), j = y.begin();
    while (i != x.end() || j != y.end()) {
      if ((static_cast<int64_t>(values_.size()) + (i - x.begin()) + (j - y.begin())) %
              kElementsPerPoll ==
          0)
        GYRE_RETURN_IF_ERROR(ctx.Poll());
      const bool in_x = i != x.end() && (j == y.end() || !SetOf<T>::Before(*j, *i));
      const bool in_y = j != y.end() && (i == x.end() || !SetOf<T>::Before(*i, *j));
      const bool wanted = operation == SetOperation::kUnion          ? true
                          : operation == SetOperation::kIntersection ? in_x && in_y
                                                                     : in_x && !in_y;
      if (wanted) values_.push_back(in_x ? *i : *j);
      if (in_x) ++i;
      if (in_y) ++j;
    }
    const auto size = static_cast<int64_t>(values_.size()) - before;
    if (size == 0) return absl::OkStatus();
    largest_ = std::max(largest_, size);
    places_.insert(places_.end(), place.begin(), place.end());
    sizes_.push_back(size);
    return absl::OkStatus();
  }

  absl::Status Set(KernelContext& ctx) {
    const auto n = static_cast<int64_t>(values_.size());
    const auto rank = static_cast<int64_t>(dims_.size());
    GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, n, rank + 1));
    GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DTypeOf<T>, Shape::Vector(n)));
    int64_t* index = static_cast<int64_t*>(indices.mutable_raw_data());
    T* to = static_cast<T*>(values.mutable_raw_data());
    Mover<T> mover(ctx, values);
    int64_t at = 0;
    for (size_t s = 0; s < sizes_.size(); ++s) {
      for (int64_t i = 0; i < sizes_[s]; ++i, ++at) {
        if (at % kElementsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        index = std::copy_n(places_.data() + static_cast<int64_t>(s) * rank, rank, index);
        *index++ = i;
        mover.Set(to[at], ValueOf<T>(values_[static_cast<size_t>(at)]));
      }
    }
    GYRE_RETURN_IF_ERROR(mover.status());
    Dims dims = dims_;
    dims.push_back(largest_);
    GYRE_ASSIGN_OR_RETURN(Tensor shape, ShapeVector(ctx, dims));
    ctx.set_output(0, std::move(indices));
    ctx.set_output(1, std::move(values));
    ctx.set_output(2, std::move(shape));
    return absl::OkStatus();
  }

 private:
  const Dims dims_;
  std::vector<Element<T>> values_;
  std::vector<int64_t> places_, sizes_;
  int64_t largest_ = 0;
};

// Sets of equal place go together; a place that is missing on one side is an empty set there.
template <typename T>
absl::Status Operate(KernelContext& ctx, SetOperation operation, Sets<T>& a, Sets<T>& b) {
  if (a.places() != b.places()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "all dimensions but the last must be the same, but are [", absl::StrJoin(a.places(), ","),
        "] and [", absl::StrJoin(b.places(), ","), "]"));
  }
  const auto rank = static_cast<int64_t>(a.places().size());
  Results<T> results(a.places());
  SetOf<T> x, y;
  while (!a.done() || !b.done()) {
    const int order = a.done()   ? 1
                      : b.done() ? -1
                                 : CompareRows(a.place().data(), b.place().data(), rank);
    const Dims place = order <= 0 ? a.place() : b.place();
    GYRE_RETURN_IF_ERROR(order <= 0 ? a.Read(x) : x.Fill(ctx, nullptr, 0, 0));
    GYRE_RETURN_IF_ERROR(order >= 0 ? b.Read(y) : y.Fill(ctx, nullptr, 0, 0));
    GYRE_RETURN_IF_ERROR(results.Add(ctx, operation, place, x, y));
    if (order <= 0) a.Next();
    if (order >= 0) b.Next();
  }
  return results.Set(ctx);
}

template <typename T>
struct DenseDense {
  static absl::Status Run(KernelContext& ctx, const OperationAttrs& attrs) {
    GYRE_RETURN_IF_ERROR(DenseSets<T>::Check(ctx.input(0), "set1"));
    GYRE_RETURN_IF_ERROR(DenseSets<T>::Check(ctx.input(1), "set2"));
    DenseSets<T> a(ctx, 0), b(ctx, 1);
    return Operate<T>(ctx, attrs.operation, a, b);
  }
};
template <typename T>
struct DenseSparse {
  static absl::Status Run(KernelContext& ctx, const OperationAttrs& attrs) {
    GYRE_RETURN_IF_ERROR(DenseSets<T>::Check(ctx.input(0), "set1"));
    GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseSetsAt(ctx, 1, attrs.validate, "set2_"));
    DenseSets<T> a(ctx, 0);
    SparseSets<T> b(ctx, in, 1);
    return Operate<T>(ctx, attrs.operation, a, b);
  }
};
template <typename T>
struct SparseSparse {
  static absl::Status Run(KernelContext& ctx, const OperationAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const SparseInput left, SparseSetsAt(ctx, 0, attrs.validate, "set1_"));
    GYRE_ASSIGN_OR_RETURN(const SparseInput right, SparseSetsAt(ctx, 3, attrs.validate, "set2_"));
    SparseSets<T> a(ctx, left, 0), b(ctx, right, 3);
    return Operate<T>(ctx, attrs.operation, a, b);
  }
};

struct SizeAttrs {
  explicit SizeAttrs(const Node& node) : validate(NodeAttr<bool>(node, "validate_indices")) {}
  bool validate;
};

template <typename T>
struct SetSizeKernel {
  static absl::Status Run(KernelContext& ctx, const SizeAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseSetsAt(ctx, 0, attrs.validate, "set_"));
    SparseSets<T> sets(ctx, in, 0);
    const Dims places = sets.places();
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(places));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(DType::kInt32, shape));
    const Dims strides = StridesOf(places);
    int32_t* to = static_cast<int32_t*>(out.mutable_raw_data());
    for (SetOf<T> set; !sets.done(); sets.Next()) {
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      GYRE_RETURN_IF_ERROR(sets.Read(set));
      int64_t at = 0;
      for (size_t d = 0; d < places.size(); ++d) at += sets.place()[d] * strides[d];
      to[at] = static_cast<int32_t>(set.elements().size());
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// The ranks of what is dense must be at least 2; -1: not known.
absl::StatusOr<int64_t> DenseRank(const ShapeContext& c, int i) {
  const PartialShape& shape = c.input(i);
  if (!shape.has_rank()) return -1;
  if (shape.rank() >= 2) return shape.rank();
  return absl::InvalidArgumentError(
      absl::StrCat("sets must have at least 2 dimensions, but have shape ", shape.ToString()));
}

absl::Status SetResult(ShapeContext& c, int64_t a, int64_t b) {
  if (a >= 0 && b >= 0 && a != b) {
    return absl::InvalidArgumentError(
        absl::StrCat("both must have as many dimensions, but have ", a, " and ", b));
  }
  const int64_t rank = a >= 0 ? a : b;
  if (rank >= 0 && rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("sets must have at least 2 dimensions, but have ", rank));
  }
  SetSparse(c, 0, -1, rank);
  return absl::OkStatus();
}

absl::Status DenseDenseShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int64_t a, DenseRank(c, 0));
  GYRE_ASSIGN_OR_RETURN(const int64_t b, DenseRank(c, 1));
  return SetResult(c, a, b);
}
absl::Status DenseSparseShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int64_t a, DenseRank(c, 0));
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 1, 2, 3));
  return SetResult(c, a, KnownSparseRank(c, 1, 3));
}
absl::Status SparseSparseShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 3, 4, 5));
  return SetResult(c, KnownSparseRank(c, 0, 2), KnownSparseRank(c, 3, 5));
}
absl::Status SetSizeShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  const int64_t rank = KnownSparseRank(c, 0, 2);
  if (rank >= 0 && rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("sets must have at least 2 dimensions, but have ", rank));
  }
  if (rank >= 0 && rank <= Shape::kMaxRank)
    c.set_output(0, PartialShape::UnknownOfRank(static_cast<int>(rank - 1)));
  return absl::OkStatus();
}

constexpr absl::string_view kTypes = "T: {int8, int16, int32, int64, uint8, uint16, string}}";
constexpr absl::string_view kNoGradient = "its inputs are not differentiable";

template <template <typename> class K>
void AddOperation(OpRegistry& ops, absl::string_view name, absl::string_view inputs, ShapeFn shape,
                  absl::string_view doc) {
  const std::string schema = absl::StrCat(
      name, "(", inputs,
      ") -> result_indices: int64, result_values: T, result_shape: int64 {set_operation: string; "
      "validate_indices: bool = true; ",
      kTypes);
  ops.Add({.schema = schema,
           .doc = doc,
           .shape = shape,
           .gradient = NotDifferentiable(kNoGradient),
           .kernel = ForTypes<K, SetTypes>("T")});
}

}  // namespace

void RegisterSets(OpRegistry& ops) {
  const std::string size = absl::StrCat(
      "SetSize(set_indices: int64, set_values: T, set_shape: int64) -> size: int32 "
      "{validate_indices: bool = true; ",
      kTypes);
  ops.Add({.schema = size,
           .doc = "How many different elements there are along the last dimension of a sparse "
                  "tensor.",
           .shape = SetSizeShape,
           .gradient = NotDifferentiable(kNoGradient),
           .kernel = ForTypes<SetSizeKernel, SetTypes>("T")});
  AddOperation<DenseDense>(ops, "DenseToDenseSetOperation", "set1: T, set2: T", DenseDenseShape,
                           "The union, intersection or difference of sets, which are the rows of "
                           "two tensors; in order, as a sparse tensor.");
  AddOperation<DenseSparse>(ops, "DenseToSparseSetOperation",
                            "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64",
                            DenseSparseShape,
                            "The union, intersection or difference of sets, which are the rows of "
                            "a tensor and of a sparse one; in order, as a sparse tensor.");
  AddOperation<SparseSparse>(
      ops, "SparseToSparseSetOperation",
      "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: "
      "T, set2_shape: int64",
      SparseSparseShape,
      "The union, intersection or difference of sets, which are the rows of two sparse tensors; "
      "in order, as a sparse tensor.");
}

}  // namespace gyre
