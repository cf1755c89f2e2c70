// LookupTable: what the values of keys are, behind a handle (HashTableV2, MutableHashTableV2, …).
//
// Owned by the session's ResourceStore and by the handles to it, or by its handles alone
// (AnonymousHashTable). Thread-safe: one lock, shared by readers, guards all entries. Each function
// reads or changes the table as a whole; one that fails changes nothing, but for Insert and Remove,
// which stop half-way when the run does.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "ops/kernel.h"
#include "ops/state/resource.h"

namespace gyre {

class TableEntries;  // table_entries.h

class LookupTable final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "LookupTable";

  enum class Kind : uint8_t {
    kStatic,   // filled once
    kMutable,  // changed at will
    kDense,    // the same; two keys are reserved
  };
  struct Layout {
    Kind kind = Kind::kStatic;
    DType key = DType::kInvalid;
    DType value = DType::kInvalid;
    Shape key_shape;  // of one key, of one value
    Shape value_shape;
    Tensor empty_key;  // kDense: keys that nothing may have
    Tensor deleted_key;
  };

  // Empty. UNIMPLEMENTED for keys or values of types that tables do not hold.
  static absl::StatusOr<RefPtr<LookupTable>> Make(std::string name, Layout layout);
  ~LookupTable() override;

  absl::string_view type_name() const override { return kTypeName; }
  const Layout& layout() const { return layout_; }
  int64_t size() const;

  // The values of keys; what is not there has the default: one value, or one for each key.
  absl::StatusOr<Tensor> Find(const KernelContext& ctx, const Tensor& keys,
                              const Tensor& default_value) const;
  absl::Status Insert(const KernelContext& ctx, const Tensor& keys, const Tensor& values);
  absl::Status Remove(const KernelContext& ctx, const Tensor& keys);
  // Makes these all there is. A static table is filled once: FAILED_PRECONDITION for another number
  // of entries later, and for a key with two values.
  absl::Status Fill(const KernelContext& ctx, const Tensor& keys, const Tensor& values);
  // All keys and their values, in the order in which they came, as long as none was removed.
  absl::StatusOr<std::pair<Tensor, Tensor>> Export(const KernelContext& ctx) const;
  // Forgets all entries.
  bool Destroy() override;

 private:
  LookupTable(std::string name, Layout layout, std::unique_ptr<TableEntries> entries);

  absl::Status CheckFilled() const;
  // How many keys there are in `keys`; INVALID_ARGUMENT for other types and shapes.
  absl::StatusOr<int64_t> CountKeys(const Tensor& keys) const;
  absl::StatusOr<int64_t> CountEntries(const Tensor& keys, const Tensor& values) const;

  const Layout layout_;
  mutable std::shared_mutex mutex_;  // of all below
  bool is_filled_ = false;
  std::unique_ptr<TableEntries> entries_;
};

// The table behind handle i, a resource or a Ref.
inline absl::StatusOr<LookupTable*> TableInput(const KernelContext& ctx, int i = 0) {
  return ResourceInput<LookupTable>(ctx, i);
}

}  // namespace gyre
