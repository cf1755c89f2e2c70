#include "ops/state/tensor_array.h"

#include <algorithm>
#include <utility>

#include "ops/state/update.h"
#include "ops/variant_ops.h"

namespace gyre {

TensorArrayObject::TensorArrayObject(std::string name, const Options& options, int64_t size,
                                     MemoryBudget* budget)
    : Resource(std::move(name)),
      options_(options),
      may_grow_(options.dynamic_size),
      size_(size),
      element_shape_(options.element_shape),
      charge_(budget) {}

TensorArrayObject::~TensorArrayObject() { Destroy(); }

absl::Status TensorArrayObject::Charge() {
  std::lock_guard lock(mutex_);
  return charge_.Set(sizeof(TensorArrayObject));
}

absl::Status TensorArrayObject::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("TensorArray ", name(), ": ", what));
}

absl::Status TensorArrayObject::CheckOpen() const {
  return closed_ ? Error("It has already been closed.") : absl::OkStatus();
}

absl::StatusOr<TensorArrayObject::Element*> TensorArrayObject::At(int64_t index) {
  const size_t chunk = static_cast<size_t>(index / kChunkSize);
  if (chunk >= chunks_.size()) {
    const size_t spine = std::max(chunk + 1, 2 * chunks_.size());
    GYRE_RETURN_IF_ERROR(charge_.Set(
        charge_.bytes() + static_cast<int64_t>((spine - chunks_.size()) * sizeof(chunks_[0]))));
    chunks_.resize(spine);
  }
  if (chunks_[chunk] == nullptr) {
    GYRE_RETURN_IF_ERROR(charge_.Set(charge_.bytes() + static_cast<int64_t>(sizeof(Chunk))));
    chunks_[chunk] = std::make_unique<Chunk>();
  }
  return &(*chunks_[chunk])[static_cast<size_t>(index % kChunkSize)];
}

std::shared_ptr<const Shape> TensorArrayObject::ShareShape(const Shape& shape) {
  if (last_shape_ == nullptr || *last_shape_ != shape)
    last_shape_ = std::make_shared<const Shape>(shape);
  return last_shape_;
}

absl::Status TensorArrayObject::CheckValue(int64_t index, const Tensor& value) const {
  if (value.dtype() != options_.dtype) {
    return Error(absl::StrCat("Could not write to TensorArray index ", index,
                              " because the value dtype is ", DTypeName(value.dtype()),
                              " but TensorArray dtype is ", DTypeName(options_.dtype), "."));
  }
  if (!element_shape_.Allows(value.shape())) {
    return Error(
        absl::StrCat("Could not write to TensorArray index ", index, " because the value shape is ",
                     value.shape().ToString(),
                     " which is incompatible with the TensorArray's inferred element shape: ",
                     element_shape_.ToString(), " (consider setting infer_shape=False)."));
  }
  return absl::OkStatus();
}

absl::Status TensorArrayObject::Write(KernelContext& ctx, int64_t index, Tensor value) {
  std::lock_guard lock(mutex_);
  GYRE_RETURN_IF_ERROR(CheckOpen());
  if (index < 0 || (!may_grow_ && index >= size_)) {
    return Error(absl::StrCat("Tried to write to index ", index, " but array is ",
                              may_grow_ ? "of size " : "not resizeable and size is: ", size_));
  }
  GYRE_RETURN_IF_ERROR(CheckValue(index, value));
  GYRE_ASSIGN_OR_RETURN(Element * element, At(index));
  if (element->read) {
    return Error(absl::StrCat("Could not write to TensorArray index ", index,
                              " because it has already been read."));
  }
  if (element->written && !is_gradient_) {
    return Error(absl::StrCat("Could not write to TensorArray index ", index,
                              " because it has already been written to."));
  }
  size_ = std::max(size_, index + 1);
  if (options_.identical_element_shapes) element_shape_ = value.shape();
  if (element->written) return Aggregate(ctx, index, *element, std::move(value));
  element->value = std::move(value);
  element->written = true;
  return absl::OkStatus();
}

absl::Status TensorArrayObject::Aggregate(KernelContext& ctx, int64_t index, Element& element,
                                          Tensor value) {
  const Shape& existing = element.value.has_value() ? element.value.shape() : *element.shape;
  if (existing != value.shape()) {
    return Error(absl::StrCat("Could not aggregate to TensorArray index ", index,
                              " because the existing shape is ", existing.ToString(),
                              " but the new input shape is ", value.shape().ToString(), "."));
  }
  if (!element.value.has_value()) {
    element.value = std::move(value);
    return absl::OkStatus();
  }
  aggregated_ = true;
  if (!CheckUpdate(UpdateOp::kAdd, value.dtype()).ok()) {
    GYRE_ASSIGN_OR_RETURN(element.value, AddTensors(ctx, element.value, value));
    return absl::OkStatus();
  }
  GYRE_RETURN_IF_ERROR(MakeWritable(ctx, element.value));
  return UpdateElements(UpdateOp::kAdd, value.dtype(), element.value.mutable_raw_data(),
                        value.raw_data(), value.num_elements(), 1);
}

absl::StatusOr<Tensor> TensorArrayObject::Read(const KernelContext& ctx, int64_t index) {
  std::lock_guard lock(mutex_);
  GYRE_RETURN_IF_ERROR(CheckOpen());
  if (index < 0 || (!is_gradient_ && index >= size_)) {
    return Error(absl::StrCat("Tried to read from index ", index, " but array size is: ", size_));
  }
  GYRE_ASSIGN_OR_RETURN(Element * element, At(index));
  if (element->cleared) {
    return Error(
        absl::StrCat("Could not read index ", index,
                     " twice because it was cleared after a previous read (perhaps try setting "
                     "clear_after_read = false?)."));
  }
  Tensor value = element->value;
  if (!value.has_value()) {
    GYRE_ASSIGN_OR_RETURN(value, ZeroElement(ctx, index, *element));
    element->shape = ShareShape(value.shape());
  }
  size_ = std::max(size_, index + 1);  // only a gradient array can be read beyond its end
  if (options_.clear_after_read) {
    element->shape = ShareShape(value.shape());
    element->value = Tensor();
    element->cleared = true;
  }
  element->written = true;
  element->read = true;
  return value;
}

absl::StatusOr<Tensor> TensorArrayObject::ZeroElement(const KernelContext& ctx, int64_t index,
                                                      const Element& element) const {
  if (element.shape != nullptr) return ctx.AllocateZeros(options_.dtype, *element.shape);
  const std::optional<Shape> shape = element_shape_.ToShape();
  if (!shape) {
    return Error(absl::StrCat("Could not read from TensorArray index ", index,
                              " because it has not been written to. Furthermore, the element shape "
                              "is not fully defined: ",
                              element_shape_.ToString(),
                              ". If you set the full element_shape of the forward TensorArray, "
                              "zeros will be returned instead."));
  }
  return ctx.AllocateZeros(options_.dtype, *shape);
}

absl::StatusOr<int64_t> TensorArrayObject::Size() const {
  std::lock_guard lock(mutex_);
  GYRE_RETURN_IF_ERROR(CheckOpen());
  return size_;
}

bool TensorArrayObject::dynamic_size() const {
  std::lock_guard lock(mutex_);
  return may_grow_;
}

absl::StatusOr<PartialShape> TensorArrayObject::NarrowElementShape(const PartialShape& shape) {
  std::lock_guard lock(mutex_);
  absl::StatusOr<PartialShape> both = element_shape_.Intersect(shape);
  if (!both.ok()) {
    return Error(absl::StrCat("its element shape is ", element_shape_.ToString(),
                              ", which is incompatible with the element shape ", shape.ToString(),
                              " asked for"));
  }
  element_shape_ = *both;
  return both;
}

absl::StatusOr<RefPtr<TensorArrayObject>> TensorArrayObject::Gradient(
    absl::string_view source, absl::Span<const int64_t> prefix) {
  std::lock_guard lock(mutex_);
  GYRE_RETURN_IF_ERROR(CheckOpen());
  if (aggregated_) {
    return Error(
        "Unable to create a gradients TensorArray: gradient calculation is impossible when "
        "multiple writes are "
        "performed to the same index.");
  }
  may_grow_ = false;
  RefPtr<TensorArrayObject>& gradient = gradients_[std::string(source)];
  if (gradient) return gradient;
  Options options;
  options.dtype = options_.dtype;
  options.identical_element_shapes = options_.identical_element_shapes;
  if (element_shape_.has_rank()) {
    Dims dims(prefix.begin(), prefix.end());
    dims.insert(dims.end(), element_shape_.dims().begin(), element_shape_.dims().end());
    options.element_shape = PartialShape(std::move(dims));
  }
  auto made = MakeRef<TensorArrayObject>(absl::StrCat(name(), "@", source), options, size_,
                                         charge_.budget());
  GYRE_RETURN_IF_ERROR(made->Charge());
  made->is_gradient_ = true;
  for (size_t c = 0; c < chunks_.size(); ++c) {
    for (size_t i = 0; chunks_[c] != nullptr && i < chunks_[c]->size(); ++i) {
      const Element& element = (*chunks_[c])[i];
      if (!element.written) continue;
      const Shape& shape = element.value.has_value() ? element.value.shape() : *element.shape;
      GYRE_RETURN_IF_ERROR(made->ExpectShape(
          static_cast<int64_t>(c) * kChunkSize + static_cast<int64_t>(i), shape, prefix));
    }
  }
  gradient = made;
  return made;
}

absl::Status TensorArrayObject::ExpectShape(int64_t index, const Shape& shape,
                                            absl::Span<const int64_t> prefix) {
  Dims dims(prefix.begin(), prefix.end());
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  GYRE_ASSIGN_OR_RETURN(const Shape expected, Shape::Make(dims));
  std::lock_guard lock(mutex_);
  GYRE_ASSIGN_OR_RETURN(Element * element, At(index));
  element->shape = ShareShape(expected);
  element->written = true;
  return absl::OkStatus();
}

bool TensorArrayObject::Destroy() {
  decltype(chunks_) chunks;
  std::map<std::string, RefPtr<TensorArrayObject>, std::less<>> gradients;
  bool was_open = false;
  {
    std::lock_guard lock(mutex_);
    was_open = !std::exchange(closed_, true);
    gradients.swap(gradients_);
    chunks.swap(chunks_);
    charge_.Set(std::min<int64_t>(charge_.bytes(), sizeof(TensorArrayObject))).IgnoreError();
  }
  for (const std::unique_ptr<Chunk>& chunk : chunks) {
    for (size_t i = 0; chunk != nullptr && i < chunk->size(); ++i)
      DropIteratively(std::move((*chunk)[i].value));
  }
  for (auto& [source, gradient] : gradients) DropIteratively(std::move(gradient));
  return was_open;
}

}  // namespace gyre
