#include "ops/lookup/table_entries.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "tensor/text_charge.h"

namespace gyre {
namespace {

constexpr int64_t kKeysPerPoll = 1024;

template <typename K>
using KeyView = std::conditional_t<std::is_same_v<K, std::string>, absl::string_view, uint64_t>;

// Distinct keys, each with its row: 0, 1, …
template <typename K>
class KeyIndex {
 public:
  using View = KeyView<K>;

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  const K& key(int64_t row) const { return *(keys_.begin() + row); }
  // -1: it is not there.
  int64_t Find(View key) const {
    const auto it = keys_.find(key);
    return it == keys_.end() ? -1 : it - keys_.begin();
  }
  // Requirement: it is not there. Its row is the last. Changes nothing where it throws.
  void Add(View key) { keys_.insert(key); }
  // The last key takes the row of the one that goes.
  void RemoveRow(int64_t row) { keys_.erase(keys_.begin() + row); }

 private:
  HashSet<K> keys_;  // in the order in which they came; a removal moves the last one
};

// Keys that are one number are seen as 64 bits; others of plain bytes, as text.
class KeyReader {
 public:
  KeyReader(const Tensor& keys, int64_t width)
      : is_text_(keys.dtype() == DType::kString),
        data_(static_cast<const char*>(keys.raw_data())),
        size_(is_text_ ? 0 : static_cast<int64_t>(DTypeSize(keys.dtype())) * width) {}

  template <typename K>
  KeyView<K> Get(int64_t i) const {
    if constexpr (std::is_same_v<K, std::string>) {
      if (is_text_) return reinterpret_cast<const std::string*>(data_)[i];
      return absl::string_view(data_ + i * size_, static_cast<size_t>(size_));
    } else {
      uint64_t bits = 0;
      std::memcpy(&bits, data_ + i * size_, static_cast<size_t>(size_));
      return bits;
    }
  }

 private:
  const bool is_text_;
  const char* const data_;
  const int64_t size_;  // bytes of a key
};

template <typename V>
int64_t TextBytes(const V* values, int64_t n) {
  int64_t bytes = 0;
  if constexpr (std::is_same_v<V, std::string>) {
    for (int64_t i = 0; i < n; ++i) bytes += HeapBytes(values[i].size());
  }
  return bytes;
}

// V: of a value's elements, which are text or plain bytes.
template <typename K, typename V>
class Entries final : public TableEntries {
 public:
  explicit Entries(const Layout& layout)
      : layout_(layout),
        width_(layout.value_width * (kIsText ? 1 : static_cast<int64_t>(DTypeSize(layout.value)))) {
  }

  int64_t size() const override { return index_.size(); }
  int64_t bytes() const override {
    return size() * static_cast<int64_t>(sizeof(K) + 2 * sizeof(int64_t)) +
           static_cast<int64_t>(values_.size() * sizeof(V)) + text_bytes_;
  }

  absl::Status Find(const KernelContext& ctx, const Tensor& keys, int64_t n,
                    int64_t* rows) const override {
    const KeyReader reader(keys, layout_.key_width);
    for (int64_t i = 0; i < n; ++i) {
      if (i % kKeysPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      rows[i] = index_.Find(reader.Get<K>(i));
    }
    return absl::OkStatus();
  }

  absl::Status Gather(const KernelContext& ctx, const int64_t* rows, int64_t n, const Tensor& other,
                      Tensor& out) const override {
    const V* others = static_cast<const V*>(other.raw_data());
    V* to = static_cast<V*>(out.mutable_raw_data());
    const bool one_each = other.num_elements() == out.num_elements();
    Mover<V> mover(ctx, out);
    for (int64_t i = 0; i < n; ++i) {
      if (i % kKeysPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const V* from =
          rows[i] >= 0 ? values_.data() + rows[i] * width_ : others + (one_each ? i * width_ : 0);
      mover.Copy(from, width_, to + i * width_);
    }
    return mover.status();
  }

  absl::Status Insert(const KernelContext& ctx, const Tensor& keys, const Tensor& values, int64_t n,
                      bool may_replace) override {
    const KeyReader reader(keys, layout_.key_width);
    const V* from = static_cast<const V*>(values.raw_data());
    for (int64_t i = 0; i < n; ++i, from += width_) {
      if (i % kKeysPerPoll == 0) GYRE_RETURN_IF_ERROR(CheckRoom(ctx));
      const KeyView<K> key = reader.Get<K>(i);
      const int64_t row = index_.Find(key);
      if (row < 0) {
        values_.resize(static_cast<size_t>((size() + 1) * width_));
        std::copy_n(from, width_, values_.data() + size() * width_);
        index_.Add(key);
        text_bytes_ += TextBytes(from, width_);
        if constexpr (std::is_same_v<K, std::string>) text_bytes_ += HeapBytes(key.size());
        continue;
      }
      V* value = values_.data() + row * width_;
      if (may_replace) {
        text_bytes_ += TextBytes(from, width_) - TextBytes(value, width_);
        std::copy_n(from, width_, value);
      } else if (!std::equal(from, from + width_, value)) {
        return absl::FailedPreconditionError(
            absl::StrCat("key ", KeyText(key), " has two different values"));
      }
    }
    return CheckRoom(ctx);
  }

  absl::Status Remove(const KernelContext& ctx, const Tensor& keys, int64_t n) override {
    const KeyReader reader(keys, layout_.key_width);
    for (int64_t i = 0; i < n; ++i) {
      if (i % kKeysPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const KeyView<K> key = reader.Get<K>(i);
      const int64_t row = index_.Find(key);
      if (row < 0) continue;
      V* values = values_.data();
      text_bytes_ -= TextBytes(values + row * width_, width_);
      if constexpr (std::is_same_v<K, std::string>) text_bytes_ -= HeapBytes(key.size());
      const int64_t last = size() - 1;
      if (row != last)
        std::move(values + last * width_, values + size() * width_, values + row * width_);
      values_.resize(static_cast<size_t>(last * width_));
      index_.RemoveRow(row);
    }
    return absl::OkStatus();
  }

  absl::Status Export(const KernelContext& ctx, Tensor& keys, Tensor& values) const override {
    const int64_t n = size();
    const bool is_text = layout_.key == DType::kString;
    const int64_t key_bytes =
        is_text ? 0 : layout_.key_width * static_cast<int64_t>(DTypeSize(layout_.key));
    char* bytes = static_cast<char*>(keys.mutable_raw_data());
    Mover<std::string> key_mover(ctx, keys);
    Mover<V> value_mover(ctx, values);
    for (int64_t i = 0; i < n; ++i) {
      if (i % kKeysPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if constexpr (std::is_same_v<K, std::string>) {
        if (is_text) {
          key_mover.Set(reinterpret_cast<std::string*>(bytes)[i], index_.key(i));
        } else {
          std::memcpy(bytes + i * key_bytes, index_.key(i).data(), static_cast<size_t>(key_bytes));
        }
      } else {
        std::memcpy(bytes + i * key_bytes, &index_.key(i), static_cast<size_t>(key_bytes));
      }
      value_mover.Copy(values_.data() + i * width_, width_,
                       static_cast<V*>(values.mutable_raw_data()) + i * width_);
    }
    if (is_text) GYRE_RETURN_IF_ERROR(key_mover.status());
    return value_mover.status();
  }

 private:
  static constexpr bool kIsText = std::is_same_v<V, std::string>;

  std::string KeyText(KeyView<K> key) const {
    if constexpr (std::is_same_v<K, std::string>) {
      if (layout_.key != DType::kString) return "";
      return absl::StrCat("'", absl::Utf8SafeCEscape(key.substr(0, 100)), "'");
    } else {
      switch (layout_.key) {
        case DType::kInt32:
          return absl::StrCat(static_cast<int32_t>(key));
        case DType::kInt16:
          return absl::StrCat(static_cast<int16_t>(key));
        case DType::kInt8:
          return absl::StrCat(static_cast<int8_t>(key));
        case DType::kInt64:
          return absl::StrCat(static_cast<int64_t>(key));
        default:
          return absl::StrCat(key);
      }
    }
  }

  // A table outlives the run: its bytes are not charged, but the run that makes it larger than its
  // own budget is told so.
  absl::Status CheckRoom(const KernelContext& ctx) const {
    MemoryBudget* budget = ctx.env().budget;
    if (budget != nullptr) {
      if (!budget->Charge(bytes())) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a table of ", bytes(),
                         " bytes does not fit into the run's memory budget "
                         "of ",
                         budget->limit(), " bytes"));
      }
      budget->Release(bytes());
    }
    return ctx.Poll();
  }

  const Layout layout_;
  const int64_t width_;  // elements V of a value
  KeyIndex<K> index_;
  std::vector<V> values_;  // by row; what lies behind the last row does not count
  int64_t text_bytes_ = 0;
};

bool IsKeyType(DType dtype) {
  switch (dtype) {
    case DType::kString:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

template <typename K>
std::unique_ptr<TableEntries> MakeEntries(const TableEntries::Layout& layout) {
  if (layout.value == DType::kString) return std::make_unique<Entries<K, std::string>>(layout);
  return std::make_unique<Entries<K, char>>(layout);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TableEntries>> TableEntries::Make(const Layout& layout) {
  if (!IsKeyType(layout.key) || (layout.key == DType::kString && layout.key_width != 1)) {
    return absl::UnimplementedError(absl::StrCat(
        "keys of a table are strings or integers, or vectors of integers, but not ",
        layout.key_width == 1 ? "" : absl::StrCat(layout.key_width, " "), DTypeName(layout.key)));
  }
  if (layout.value != DType::kString && !IsTrivial(layout.value)) {
    return absl::UnimplementedError(absl::StrCat(
        "values of a table are numbers or strings, but not ", DTypeName(layout.value)));
  }
  if (layout.key == DType::kString || layout.key_width != 1)
    return MakeEntries<std::string>(layout);
  return MakeEntries<uint64_t>(layout);
}

}  // namespace gyre
