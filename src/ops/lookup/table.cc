#include "ops/lookup/table.h"

#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ops/lookup/table_entries.h"

namespace gyre {
namespace {

TableEntries::Layout EntryLayout(const LookupTable::Layout& layout) {
  return {layout.key, layout.value, layout.key_shape.num_elements(),
          layout.value_shape.num_elements()};
}

// `shape` ends with the dimensions of `tail`.
bool EndsWith(const Shape& shape, const Shape& tail) {
  if (shape.rank() < tail.rank()) return false;
  return absl::MakeConstSpan(shape.dims()).subspan(shape.rank() - tail.rank()) == tail.dims();
}

// The dimensions in front of a tail of this rank, and then `more`.
absl::StatusOr<Shape> Replaced(const Shape& shape, int tail_rank, const Shape& more) {
  Dims dims(shape.dims().begin(), shape.dims().end() - tail_rank);
  dims.insert(dims.end(), more.dims().begin(), more.dims().end());
  return Shape::Make(dims);
}

bool SameElements(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::kString) return a.values<std::string>() == b.values<std::string>();
  return a.bytes() == b.bytes() && std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0;
}

// Whether one of the n keys is `reserved`.
bool HasKey(const Tensor& keys, int64_t n, const Tensor& reserved) {
  if (keys.dtype() == DType::kString) {
    const std::string& text = reserved.values<std::string>()[0];
    for (const std::string& key : keys.values<std::string>()) {
      if (key == text) return true;
    }
    return false;
  }
  const size_t size = reserved.bytes();
  const char* key = static_cast<const char*>(keys.raw_data());
  for (int64_t i = 0; i < n; ++i, key += size) {
    if (std::memcmp(key, reserved.raw_data(), size) == 0) return true;
  }
  return false;
}

}  // namespace

LookupTable::LookupTable(std::string name, Layout layout, std::unique_ptr<TableEntries> entries)
    : Resource(std::move(name)), layout_(std::move(layout)), entries_(std::move(entries)) {}

LookupTable::~LookupTable() = default;

absl::StatusOr<RefPtr<LookupTable>> LookupTable::Make(std::string name, Layout layout) {
  if (layout.key_shape.num_elements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of shape ", layout.key_shape.ToString(), " has no elements"));
  }
  if (layout.kind == Kind::kDense && SameElements(layout.empty_key, layout.deleted_key)) {
    return absl::InvalidArgumentError("empty_key and deleted_key must be different keys");
  }
  GYRE_ASSIGN_OR_RETURN(std::unique_ptr<TableEntries> entries,
                        TableEntries::Make(EntryLayout(layout)));
  return RefPtr<LookupTable>::Adopt(
      new LookupTable(std::move(name), std::move(layout), std::move(entries)));
}

int64_t LookupTable::size() const {
  std::shared_lock lock(mutex_);
  return entries_->size();
}

absl::Status LookupTable::CheckFilled() const {
  if (layout_.kind != Kind::kStatic || is_filled_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("table '", name(), "' is not initialized"));
}

absl::StatusOr<int64_t> LookupTable::CountKeys(const Tensor& keys) const {
  if (keys.dtype() != layout_.key) {
    return absl::InvalidArgumentError(absl::StrCat("keys must be ", DTypeName(layout_.key),
                                                   ", as those of table '", name(), "', but are ",
                                                   DTypeName(keys.dtype())));
  }
  if (!EndsWith(keys.shape(), layout_.key_shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("keys must end with the dimensions ", layout_.key_shape.ToString(),
                     " of a key of '", name(), "', but their shape is ", keys.shape().ToString()));
  }
  const int64_t n = keys.num_elements() / layout_.key_shape.num_elements();
  if (layout_.kind == Kind::kDense) {
    for (const auto& [key, what] : {std::pair(&layout_.empty_key, "empty_key"),
                                    std::pair(&layout_.deleted_key, "deleted_key")}) {
      if (HasKey(keys, n, *key)) {
        return absl::InvalidArgumentError(
            absl::StrCat("using the ", what, " as a table key is not allowed"));
      }
    }
  }
  return n;
}

absl::StatusOr<int64_t> LookupTable::CountEntries(const Tensor& keys, const Tensor& values) const {
  GYRE_ASSIGN_OR_RETURN(const int64_t n, CountKeys(keys));
  if (values.dtype() != layout_.value) {
    return absl::InvalidArgumentError(absl::StrCat("values must be ", DTypeName(layout_.value),
                                                   ", as those of table '", name(), "', but are ",
                                                   DTypeName(values.dtype())));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape wanted,
                        Replaced(keys.shape(), layout_.key_shape.rank(), layout_.value_shape));
  if (values.shape() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("values must have shape ", wanted.ToString(),
                                                   " for keys of shape ", keys.shape().ToString(),
                                                   ", but have ", values.shape().ToString()));
  }
  return n;
}

absl::StatusOr<Tensor> LookupTable::Find(const KernelContext& ctx, const Tensor& keys,
                                         const Tensor& default_value) const {
  GYRE_ASSIGN_OR_RETURN(const int64_t n, CountKeys(keys));
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Replaced(keys.shape(), layout_.key_shape.rank(), layout_.value_shape));
  if (default_value.dtype() != layout_.value) {
    return absl::InvalidArgumentError(absl::StrCat(
        "default_value must be ", DTypeName(layout_.value), ", as the values of table '", name(),
        "', but is ", DTypeName(default_value.dtype())));
  }
  if (default_value.shape() != layout_.value_shape && default_value.shape() != shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "default_value must have the shape ", layout_.value_shape.ToString(), " of a value, or ",
        shape.ToString(), " of all values, but has ", default_value.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor rows, ctx.Allocate(DType::kInt64, Shape::Vector(n)));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(layout_.value, shape));
  int64_t* row = rows.mutable_values<int64_t>().data();
  std::shared_lock lock(mutex_);
  GYRE_RETURN_IF_ERROR(CheckFilled());
  GYRE_RETURN_IF_ERROR(entries_->Find(ctx, keys, n, row));
  GYRE_RETURN_IF_ERROR(entries_->Gather(ctx, row, n, default_value, out));
  return out;
}

absl::Status LookupTable::Insert(const KernelContext& ctx, const Tensor& keys,
                                 const Tensor& values) {
  if (layout_.kind == Kind::kStatic) {
    return absl::UnimplementedError(
        absl::StrCat("table '", name(), "' is filled once, and takes no more keys"));
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t n, CountEntries(keys, values));
  std::unique_lock lock(mutex_);
  return entries_->Insert(ctx, keys, values, n, /*may_replace=*/true);
}

absl::Status LookupTable::Remove(const KernelContext& ctx, const Tensor& keys) {
  if (layout_.kind == Kind::kStatic) {
    return absl::UnimplementedError(
        absl::StrCat("table '", name(), "' is filled once, and its keys stay"));
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t n, CountKeys(keys));
  std::unique_lock lock(mutex_);
  return entries_->Remove(ctx, keys, n);
}

absl::Status LookupTable::Fill(const KernelContext& ctx, const Tensor& keys, const Tensor& values) {
  GYRE_ASSIGN_OR_RETURN(const int64_t n, CountEntries(keys, values));
  const bool is_static = layout_.kind == Kind::kStatic;
  GYRE_ASSIGN_OR_RETURN(std::unique_ptr<TableEntries> entries,
                        TableEntries::Make(EntryLayout(layout_)));
  {
    std::shared_lock lock(mutex_);
    if (is_static && is_filled_) {
      if (n == entries_->size()) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat("table '", name(), "' is initialized already, with other data"));
    }
  }
  GYRE_RETURN_IF_ERROR(entries->Insert(ctx, keys, values, n, /*may_replace=*/!is_static));
  std::unique_lock lock(mutex_);
  // Another run may have been first; what it has filled in stays.
  if (is_static && is_filled_) return absl::OkStatus();
  std::swap(entries_, entries);
  is_filled_ = true;
  lock.unlock();
  return absl::OkStatus();
}

absl::StatusOr<std::pair<Tensor, Tensor>> LookupTable::Export(const KernelContext& ctx) const {
  std::shared_lock lock(mutex_);
  GYRE_RETURN_IF_ERROR(CheckFilled());
  const Shape size = Shape::Vector(entries_->size());
  GYRE_ASSIGN_OR_RETURN(const Shape key_shape, Replaced(size, 0, layout_.key_shape));
  GYRE_ASSIGN_OR_RETURN(const Shape value_shape, Replaced(size, 0, layout_.value_shape));
  GYRE_ASSIGN_OR_RETURN(Tensor keys, ctx.Allocate(layout_.key, key_shape));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(layout_.value, value_shape));
  GYRE_RETURN_IF_ERROR(entries_->Export(ctx, keys, values));
  return std::pair(std::move(keys), std::move(values));
}

bool LookupTable::Destroy() {
  absl::StatusOr<std::unique_ptr<TableEntries>> empty = TableEntries::Make(EntryLayout(layout_));
  std::unique_lock lock(mutex_);
  if (!empty.ok() || (!is_filled_ && entries_->size() == 0)) return false;
  std::swap(entries_, *empty);
  is_filled_ = false;
  lock.unlock();
  return true;
}

}  // namespace gyre
