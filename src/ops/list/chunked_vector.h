// ChunkedVector: a vector of tensors of one dtype whose copies share what they have in common.
//
//   root ── branch ─┬─ leaf   32 elements, or 256 scalars
//                   ├─ leaf
//                   └─ (null: nothing stored in this range)
//
// A tree of fan-out 32, whose leaves hold more of scalars. A copy shares the root; changing an
// element of a shared tree copies the nodes on the path to it, changing one of an unshared tree
// copies nothing. So appending or setting n elements takes O(n) moves of elements, however many
// copies are kept in between, and ranges where nothing is stored cost nothing. A leaf packs small
// elements as bytes while their shapes agree, so a scalar takes its own bytes and no Tensor.
//
// A value type. Const members may be called from many threads at once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"

namespace gyre {

class ChunkedVector {
 public:
  // Empty. Every element will be of type `dtype`.
  explicit ChunkedVector(DType dtype);
  ChunkedVector(const ChunkedVector& other);
  ChunkedVector& operator=(const ChunkedVector&) = delete;
  ~ChunkedVector();

  DType dtype() const { return dtype_; }
  int64_t size() const { return size_; }

  // An element where it lies, valid until the vector changes. data is null when nothing is stored.
  struct Item {
    const Shape* shape = nullptr;
    const void* data = nullptr;
    int64_t run = 1;  // elements of this shape that lie here, one behind the other
  };
  Item Peek(int64_t i) const;
  // With those behind it: `run` may be more than 1.
  Item PeekRun(int64_t i) const;
  // The first index >= i where something is stored; size() when there is none.
  int64_t NextStored(int64_t i) const;

  // The element, or a tensor without a value when nothing is stored. Requirement, not checked here
  // and below: 0 <= i < size(), value.dtype() == dtype().
  absl::StatusOr<Tensor> Get(int64_t i, Tensor::Alloc alloc) const;
  // An element where it lies, to be overwritten: nobody else sees it. `shape` is null when nothing
  // is stored. Valid until the vector changes. Requirement, not checked: IsTrivial(dtype()).
  struct Place {
    const Shape* shape = nullptr;
    void* data = nullptr;
  };
  absl::StatusOr<Place> Open(int64_t i, Tensor::Alloc alloc);
  // Changes are charged to alloc.budget. After an error the elements are unspecified.
  absl::Status Set(int64_t i, Tensor value, Tensor::Alloc alloc);
  // Nothing is stored there any more.
  absl::Status Clear(int64_t i, Tensor::Alloc alloc);
  absl::Status Append(Tensor value, Tensor::Alloc alloc);
  // As Append, of a scalar with these bytes.
  absl::Status AppendScalar(const void* bytes, Tensor::Alloc alloc);
  // As Append, of an element of `shape` with these bytes. Requirement, not checked:
  // IsTrivial(dtype()).
  absl::Status AppendBytes(const Shape& shape, const void* bytes, Tensor::Alloc alloc);
  // As Set, of a scalar with these bytes.
  absl::Status SetScalar(int64_t i, const void* bytes, Tensor::Alloc alloc);
  // As Set of n elements from i on, all of `shape`, whose bytes lie one behind the other.
  // Requirement, not checked: IsTrivial(dtype()).
  absl::Status SetRun(int64_t i, int64_t n, const Shape& shape, const void* bytes,
                      Tensor::Alloc alloc);
  // Whether tensors of so many bytes are copied to where the vector has its elements; else each
  // stays in the buffer that it came in. (What comes as bytes must be copied in any case, and is
  // packed up to a larger size.)
  static bool IsPacked(size_t element_bytes);
  // Takes the last element off, and copies nothing, shared or not. Requirement, not checked: size()
  // > 0.
  absl::StatusOr<Tensor> RemoveLast(Tensor::Alloc alloc);
  absl::Status DropLast(Tensor::Alloc alloc);
  // New elements are not stored. Requirement, not checked: n >= 0.
  absl::Status Resize(int64_t n, Tensor::Alloc alloc);

  // ---- Scalars that lie in the leaf that was last opened: without a call
  // Each does what its name says and returns true, or nothing. Of changes the vector must be nobody
  // else's.

  // Opens the leaf of element i, if there is one that nobody shares and that packs scalars. (So do
  // changes of scalars by themselves.) Requirement, not checked: the vector is nobody else's.
  void OpenLeafOf(int64_t i);
  template <typename T>
  bool TryGet(int64_t i, T* value) const {
    const auto j = static_cast<uint64_t>(i - window_.begin);
    if (!Sees<T>(j) || i >= size_ || !window_.stored->Has(j)) return false;
    std::memcpy(value, window_.elements + j * sizeof(T), sizeof(T));
    return true;
  }
  template <typename T>
  bool TrySet(int64_t i, const T& value) {
    const auto j = static_cast<uint64_t>(i - window_.begin);
    if (!Sees<T>(j) || i >= size_) return false;
    Put(j, value);
    return true;
  }
  template <typename T>
  bool TryAppend(const T& value) {
    const auto j = static_cast<uint64_t>(size_ - window_.begin);
    if (!Sees<T>(j)) return false;
    Put(j, value);
    ++size_;
    return true;
  }
  // Takes the last element off, if it is not its leaf's first.
  template <typename T>
  bool TryPop(T* value) {
    const auto j = static_cast<uint64_t>(size_ - 1 - window_.begin);
    if (j == 0 || !TryGet(size_ - 1, value)) return false;
    window_.stored->Clear(j);
    --size_;
    return true;
  }

  // Where elements to append can be written without a call, of `most` at most: from *next to *end,
  // at least one. What is written counts when CloseEnd says how far it went; until then nothing
  // else may be done with the vector.
  template <typename T>
  bool OpenEnd(int64_t most, void** next, void** end) {
    const auto j = static_cast<uint64_t>(size_ - window_.begin);
    if (!Sees<T>(j) || size_ >= most) return false;
    const uint64_t room = std::min(window_.room, j + static_cast<uint64_t>(most - size_));
    *next = window_.elements + j * sizeof(T);
    *end = window_.elements + room * sizeof(T);
    return true;
  }
  template <typename T>
  void CloseEnd(void* next) {
    const int64_t j = size_ - window_.begin;
    const int64_t n = (static_cast<char*>(next) - window_.elements) / int64_t{sizeof(T)} - j;
    window_.stored->AddRun(static_cast<int>(j), static_cast<int>(n));
    size_ += n;
    moves_ += n;
  }

  // Elements written or copied to make this value, in all its history.
  int64_t moves() const { return moves_; }

 private:
  // Which elements of a leaf are there.
  class Stored {
   public:
    static constexpr uint64_t kMax = 256;

    bool Has(uint64_t j) const { return (words_[j / 64] >> j % 64 & 1) != 0; }
    void Add(uint64_t j) { words_[j / 64] |= uint64_t{1} << j % 64; }
    void Clear(uint64_t j) { words_[j / 64] &= ~(uint64_t{1} << j % 64); }
    // Requirement: j + n <= kMax.
    void AddRun(int j, int n);
    bool IsEmpty() const {
      uint64_t any = 0;
      for (const uint64_t word : words_) any |= word;
      return any == 0;
    }
    int Count() const;
    int End() const;                // behind the last that is there
    int RunFrom(int j) const;       // how many are there in a row
    int NextFrom(int64_t j) const;  // the first at or behind it; kMax: none

   private:
    std::array<uint64_t, kMax / 64> words_ = {};
  };

  // Of a leaf that packs scalars, and that is this vector's alone while is_open_ says so.
  struct Window {
    int64_t begin = 0;  // the first of its elements
    uint64_t room = 0;  // for so many
    char* elements = nullptr;
    Stored* stored = nullptr;
  };
  template <typename T>
  bool Sees(uint64_t j) const {
    return is_open_.load(std::memory_order_relaxed) && j < window_.room && dtype_ == DTypeOf<T>;
  }
  template <typename T>
  void Put(uint64_t j, const T& value) {
    std::memcpy(window_.elements + j * sizeof(T), &value, sizeof(T));
    window_.stored->Add(j);
    ++moves_;
  }
  void Close() const { is_open_.store(false, std::memory_order_relaxed); }

  struct Node;
  struct Branch;
  struct Leaf;

  void OpenWindow(Leaf* leaf, int64_t i);
  // Leaves the last element where it is.
  void HideLast();
  const Leaf* FindLeaf(int64_t i) const;
  Leaf* OwnedLeaf(int64_t i) const;
  absl::StatusOr<Leaf*> WritableLeaf(int64_t i, Tensor::Alloc alloc);
  template <typename T>
  absl::StatusOr<T*> Own(RefPtr<RefCounted>& slot, Tensor::Alloc alloc);
  absl::Status Truncate(RefPtr<RefCounted>& slot, int level, int64_t size, int64_t n,
                        Tensor::Alloc alloc);
  int64_t NextStoredIn(const RefCounted* node, int level, int64_t i) const;

  // Elements below a node of this level, and the number of the one, or of the child, that leads to
  // element i.
  int64_t Span(int level) const;
  int SlotOf(int64_t i, int level) const;
  // Nothing is stored: an element decides how many a leaf holds.
  void ChooseLeaves(const Shape& first, size_t bytes);

  DType dtype_;
  int leaf_bits_;            // a leaf holds 2 to this power
  int level_ = 0;            // of the root: leaves are level 0
  RefPtr<RefCounted> root_;  // a Branch if level_ > 0, else a Leaf; null: nothing stored
  int64_t size_ = 0;
  bool hides_ = false;  // elements behind size_ may be stored: others, who share them, have them
  int64_t moves_ = 0;
  // Closed by whoever copies the vector, perhaps on another thread: the leaf is shared from then
  // on.
  mutable std::atomic<bool> is_open_{false};
  Window window_;
};

}  // namespace gyre
