#include "ops/list/chunked_vector.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "ops/memory.h"

namespace gyre {
namespace {

constexpr int kBits = 5;
constexpr int kFanOut = 1 << kBits;
// Of leaves of scalars, which are copied by little more than a tensor's reference.
constexpr int kScalarLeafBits = 8;
constexpr size_t kMaxScalarBytes = 8;
// Larger tensors stay in the buffers they came in.
constexpr size_t kMaxPackedBytes = 128;
// What comes as bytes has no buffer of its own yet.
constexpr size_t kMaxPackedRunBytes = 2048;
// A leaf begins with room for so many elements, and one that is not the first of all, for all.
constexpr int kLeastRoom = 4;

// As memcpy. Most elements are one number: no call for those.
void CopyElement(char* to, const void* from, size_t bytes) {
  if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

void ChunkedVector::Stored::AddRun(int j, int n) {
  for (int w = 0; w < static_cast<int>(words_.size()); ++w) {
    const int from = std::max(j - w * 64, 0), to = std::min(j + n - w * 64, 64);
    if (from < to) words_[w] |= (~uint64_t{0} >> (64 - (to - from))) << from;
  }
}
int ChunkedVector::Stored::Count() const {
  int count = 0;
  for (const uint64_t word : words_) count += std::popcount(word);
  return count;
}
int ChunkedVector::Stored::End() const {
  for (size_t w = words_.size(); w-- > 0;)
    if (words_[w] != 0) return static_cast<int>(64 * w) + std::bit_width(words_[w]);
  return 0;
}
int ChunkedVector::Stored::RunFrom(int j) const {
  int run = 0;
  for (size_t w = static_cast<size_t>(j) / 64, from = static_cast<size_t>(j) % 64;
       w < words_.size(); ++w, from = 0) {
    const int here = std::countr_one(words_[w] >> from);
    run += here;
    if (here < static_cast<int>(64 - from)) break;
  }
  return run;
}
int ChunkedVector::Stored::NextFrom(int64_t j) const {
  for (size_t w = static_cast<size_t>(j) / 64, from = static_cast<size_t>(j) % 64;
       w < words_.size(); ++w, from = 0) {
    const uint64_t rest = words_[w] >> from;
    if (rest != 0) return static_cast<int>(64 * w + from) + std::countr_zero(rest);
  }
  return kMax;
}

struct ChunkedVector::Node : RefCounted {
  explicit Node(MemoryBudget* budget) : charge(budget) {}
  MemoryCharge charge;
};

struct ChunkedVector::Branch final : Node {
  using Node::Node;

  absl::Status Init(DType) { return charge.Set(sizeof(Branch)); }
  absl::Status CopyFrom(const Branch& other, int64_t&) {
    GYRE_RETURN_IF_ERROR(charge.Set(sizeof(Branch)));
    children = other.children;
    return absl::OkStatus();
  }

  std::array<RefPtr<RefCounted>, kFanOut> children;
};

struct ChunkedVector::Leaf final : Node {
  using Node::Node;

  absl::Status Init(DType element_dtype) {
    dtype = element_dtype;
    return charge.Set(sizeof(Leaf));
  }
  absl::Status CopyFrom(const Leaf& other, int64_t& moves) {
    dtype = other.dtype;
    packed = other.packed;
    shape = other.shape;
    element_bytes = other.element_bytes;
    const int end = other.stored.End();
    GYRE_RETURN_IF_ERROR(Reserve(end, moves));
    if (packed) {
      std::copy_n(other.bytes.get(), static_cast<size_t>(end) * element_bytes, bytes.get());
    } else {
      std::copy_n(other.boxes.get(), end, boxes.get());
    }
    stored = other.stored;
    moves += stored.Count();
    return absl::OkStatus();
  }

  bool Has(int j) const { return stored.Has(static_cast<uint64_t>(j)); }
  Item Peek(int j) const {
    if (!Has(j)) return {};
    if (packed) return {&shape, bytes.get() + static_cast<size_t>(j) * element_bytes};
    return {&boxes[j].shape(), boxes[j].raw_data()};
  }
  Item PeekRun(int j) const {
    Item item = Peek(j);
    if (packed && Has(j)) item.run = stored.RunFrom(j);
    return item;
  }

  absl::StatusOr<Tensor> Get(int j, Tensor::Alloc alloc) const {
    if (!Has(j)) return Tensor();
    if (!packed) return boxes[j];
    GYRE_ASSIGN_OR_RETURN(Tensor value, Tensor::Make(dtype, shape, alloc));
    CopyElement(static_cast<char*>(value.mutable_raw_data()),
                bytes.get() + static_cast<size_t>(j) * element_bytes, element_bytes);
    return value;
  }

  [[gnu::always_inline]] absl::Status Put(int j, Tensor&& value, Tensor::Alloc alloc,
                                          int64_t& moves) {
    if (stored.IsEmpty())
      Restart(value.shape(), IsTrivial(dtype) ? value.bytes() : SIZE_MAX, kMaxPackedBytes);
    if (packed && value.shape() != shape) GYRE_RETURN_IF_ERROR(Unpack(alloc, moves));
    if (j >= capacity) GYRE_RETURN_IF_ERROR(Reserve(j + 1, moves));
    if (packed) {
      CopyElement(bytes.get() + static_cast<size_t>(j) * element_bytes, value.raw_data(),
                  element_bytes);
    } else {
      boxes[j] = std::move(value);
    }
    stored.Add(static_cast<uint64_t>(j));
    ++moves;
    return absl::OkStatus();
  }

  // Put, of a scalar. False: it is not one among others for which there is room.
  [[gnu::always_inline]] bool PutScalar(int j, const void* scalar, int64_t& moves) {
    if (stored.IsEmpty() || !packed || shape.rank() != 0 || j >= capacity) return false;
    CopyElement(bytes.get() + static_cast<size_t>(j) * element_bytes, scalar, element_bytes);
    stored.Add(static_cast<uint64_t>(j));
    ++moves;
    return true;
  }

  // Put of n elements, from their bytes.
  absl::Status PutRun(int j, int n, const Shape& each, const char* from, Tensor::Alloc alloc,
                      int64_t& moves) {
    const size_t each_bytes = static_cast<size_t>(each.num_elements()) * DTypeSize(dtype);
    if (stored.IsEmpty()) Restart(each, each_bytes, kMaxPackedRunBytes);
    if (packed && each == shape) {
      if (j + n > capacity) GYRE_RETURN_IF_ERROR(Reserve(j + n, moves));
      std::copy_n(from, static_cast<size_t>(n) * element_bytes,
                  bytes.get() + static_cast<size_t>(j) * element_bytes);
      stored.AddRun(j, n);
      moves += n;
      return absl::OkStatus();
    }
    for (int k = 0; k < n; ++k) {
      GYRE_ASSIGN_OR_RETURN(Tensor value, Tensor::Make(dtype, each, alloc));
      std::copy_n(from + static_cast<size_t>(k) * each_bytes, each_bytes,
                  static_cast<char*>(value.mutable_raw_data()));
      GYRE_RETURN_IF_ERROR(Put(j + k, std::move(value), alloc, moves));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Place> Open(int j, Tensor::Alloc alloc, int64_t& moves) {
    if (!Has(j)) return Place();
    if (packed) return Place{&shape, bytes.get() + static_cast<size_t>(j) * element_bytes};
    if (!boxes[j].IsUnique()) {
      GYRE_ASSIGN_OR_RETURN(Tensor own, Tensor::Make(dtype, boxes[j].shape(), alloc));
      if (own.bytes() > 0) std::memcpy(own.mutable_raw_data(), boxes[j].raw_data(), own.bytes());
      boxes[j] = std::move(own);
      ++moves;
    }
    return Place{&boxes[j].shape(), boxes[j].mutable_raw_data()};
  }

  void Clear(int j) {
    if (!packed && Has(j)) boxes[j] = Tensor();
    stored.Clear(static_cast<uint64_t>(j));
  }

  // Nothing is stored: the first element decides how the leaf keeps its elements.
  void Restart(const Shape& first, size_t first_bytes, size_t most_packed) {
    bytes.reset();
    boxes.reset();
    capacity = 0;
    packed = first_bytes <= most_packed;
    shape = packed ? first : Shape();
    element_bytes = packed ? first_bytes : sizeof(Tensor);
  }

  // Room for the first n elements; those that are stored move over.
  absl::Status Reserve(int n, int64_t& moves) {
    if (n <= capacity) return absl::OkStatus();
    // What is packed grows fourfold, so that few elements are moved more than once.
    const int least = packed ? std::max(least_room, std::min(4 * capacity, most_room)) : kLeastRoom;
    const int room = std::max(least, static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))));
    GYRE_RETURN_IF_ERROR(
        charge.Set(static_cast<int64_t>(sizeof(Leaf) + static_cast<size_t>(room) * element_bytes)));
    if (packed) {
      auto larger =
          std::make_unique_for_overwrite<char[]>(static_cast<size_t>(room) * element_bytes);
      std::copy_n(bytes.get(), static_cast<size_t>(capacity) * element_bytes, larger.get());
      bytes = std::move(larger);
    } else {
      auto larger = std::make_unique<Tensor[]>(static_cast<size_t>(room));
      std::move(boxes.get(), boxes.get() + capacity, larger.get());
      boxes = std::move(larger);
    }
    capacity = room;
    moves += stored.Count();
    return absl::OkStatus();
  }

  // The shapes don't agree any more: every element gets a Tensor.
  absl::Status Unpack(Tensor::Alloc alloc, int64_t& moves) {
    auto tensors = std::make_unique<Tensor[]>(static_cast<size_t>(capacity));
    for (int j = 0; j < capacity; ++j) {
      GYRE_ASSIGN_OR_RETURN(tensors[j], Get(j, alloc));
    }
    GYRE_RETURN_IF_ERROR(charge.Set(
        static_cast<int64_t>(sizeof(Leaf) + static_cast<size_t>(capacity) * sizeof(Tensor))));
    boxes = std::move(tensors);
    bytes.reset();
    packed = false;
    element_bytes = sizeof(Tensor);
    moves += stored.Count();
    return absl::OkStatus();
  }

  DType dtype = DType::kInvalid;
  bool packed = false;
  int least_room = kLeastRoom, most_room = kFanOut;  // of packed elements
  int capacity = 0;
  Stored stored;
  size_t element_bytes = 0;
  Shape shape;  // of every element, if packed
  std::unique_ptr<char[]> bytes;
  std::unique_ptr<Tensor[]> boxes;
};

ChunkedVector::ChunkedVector(DType dtype) : dtype_(dtype), leaf_bits_(kBits) {}

ChunkedVector::ChunkedVector(const ChunkedVector& other)
    : dtype_(other.dtype_),
      leaf_bits_(other.leaf_bits_),
      level_(other.level_),
      root_(other.root_),
      size_(other.size_),
      hides_(other.hides_),
      moves_(other.moves_) {
  other.Close();
}

ChunkedVector::~ChunkedVector() {
  // Only objects can hold vectors in turn.
  if (!IsTrivial(dtype_) && dtype_ != DType::kString) DropIteratively(std::move(root_));
}

int64_t ChunkedVector::Span(int level) const { return int64_t{1} << (leaf_bits_ + kBits * level); }

int ChunkedVector::SlotOf(int64_t i, int level) const {
  if (level == 0) return static_cast<int>(i & ((int64_t{1} << leaf_bits_) - 1));
  return static_cast<int>((i >> (leaf_bits_ + kBits * (level - 1))) & (kFanOut - 1));
}

void ChunkedVector::ChooseLeaves(const Shape& first, size_t bytes) {
  const bool is_scalar = first.rank() == 0 && IsTrivial(dtype_) && bytes <= kMaxScalarBytes;
  leaf_bits_ = is_scalar ? kScalarLeafBits : kBits;
  level_ = 0;
}

void ChunkedVector::OpenWindow(Leaf* leaf, int64_t i) {
  const bool has_scalars = leaf != nullptr && !leaf->stored.IsEmpty() && leaf->packed &&
                           leaf->shape.rank() == 0 && leaf->capacity > 0;
  if (has_scalars) {
    window_ = {.begin = i - SlotOf(i, 0),
               .room = static_cast<uint64_t>(leaf->capacity),
               .elements = leaf->bytes.get(),
               .stored = &leaf->stored};
  }
  is_open_.store(has_scalars, std::memory_order_relaxed);
}

const ChunkedVector::Leaf* ChunkedVector::FindLeaf(int64_t i) const {
  if (i >= Span(level_)) return nullptr;
  const RefCounted* node = root_.get();
  for (int level = level_; level > 0 && node != nullptr; --level) {
    node = static_cast<const Branch*>(node)->children[SlotOf(i, level)].get();
  }
  return static_cast<const Leaf*>(node);
}

ChunkedVector::Item ChunkedVector::Peek(int64_t i) const {
  const Leaf* leaf = FindLeaf(i);
  return leaf == nullptr ? Item() : leaf->Peek(SlotOf(i, 0));
}

ChunkedVector::Item ChunkedVector::PeekRun(int64_t i) const {
  const Leaf* const leaf = FindLeaf(i);
  if (leaf == nullptr) return Item();
  Item item = leaf->PeekRun(SlotOf(i, 0));
  item.run = std::min(item.run, size_ - i);
  return item;
}

bool ChunkedVector::IsPacked(size_t element_bytes) { return element_bytes <= kMaxPackedBytes; }

absl::StatusOr<Tensor> ChunkedVector::Get(int64_t i, Tensor::Alloc alloc) const {
  const Leaf* leaf = FindLeaf(i);
  if (leaf == nullptr) return Tensor();
  return leaf->Get(SlotOf(i, 0), alloc);
}

int64_t ChunkedVector::NextStored(int64_t i) const {
  if (i >= size_ || i >= Span(level_)) return size_;
  const int64_t found = NextStoredIn(root_.get(), level_, i);
  return found < Span(level_) ? std::min(size_, found) : size_;  // more may fit than the tree spans
}

// The first stored index >= i below `node`, counted from its first element; Span(level) if none.
int64_t ChunkedVector::NextStoredIn(const RefCounted* node, int level, int64_t i) const {
  if (node == nullptr) return Span(level);
  if (level == 0) {
    return std::min<int64_t>(static_cast<const Leaf*>(node)->stored.NextFrom(i), Span(0));
  }
  const Branch* branch = static_cast<const Branch*>(node);
  const int64_t below = Span(level - 1);
  for (int64_t slot = i / below; slot < kFanOut; ++slot) {
    const int64_t from = slot == i / below ? i % below : 0;
    const int64_t found = NextStoredIn(branch->children[slot].get(), level - 1, from);
    if (found < below) return slot * below + found;
  }
  return Span(level);
}

// The node in `slot`, made if there is none, copied if it is shared.
template <typename T>
absl::StatusOr<T*> ChunkedVector::Own(RefPtr<RefCounted>& slot, Tensor::Alloc alloc) {
  if (slot && slot->IsUnique()) return static_cast<T*>(slot.get());
  auto node = MakeRef<T>(alloc.budget);
  if (slot) {
    GYRE_RETURN_IF_ERROR(node->CopyFrom(static_cast<const T&>(*slot), moves_));
  } else {
    GYRE_RETURN_IF_ERROR(node->Init(dtype_));
  }
  T* const owned = node.get();
  slot = std::move(node);
  return owned;
}

absl::StatusOr<ChunkedVector::Leaf*> ChunkedVector::WritableLeaf(int64_t i, Tensor::Alloc alloc) {
  while (i >= Span(level_)) {
    if (root_) {
      RefPtr<RefCounted> top;
      GYRE_ASSIGN_OR_RETURN(Branch * branch, Own<Branch>(top, alloc));
      branch->children[0] = std::move(root_);
      root_ = std::move(top);
    }
    ++level_;
  }
  RefPtr<RefCounted>* slot = &root_;
  for (int level = level_; level > 0; --level) {
    GYRE_ASSIGN_OR_RETURN(Branch * branch, Own<Branch>(*slot, alloc));
    slot = &branch->children[SlotOf(i, level)];
  }
  GYRE_ASSIGN_OR_RETURN(Leaf * leaf, Own<Leaf>(*slot, alloc));
  leaf->most_room = static_cast<int>(Span(0));
  if (i >= Span(0)) leaf->least_room = leaf->most_room;
  return leaf;
}

// As WritableLeaf where nothing has to be made or copied; null elsewhere.
inline ChunkedVector::Leaf* ChunkedVector::OwnedLeaf(int64_t i) const {
  if (i >= Span(level_)) return nullptr;
  RefCounted* node = root_.get();
  for (int level = level_;; --level) {
    if (node == nullptr || !node->IsUnique()) return nullptr;
    if (level == 0) return static_cast<Leaf*>(node);
    node = static_cast<Branch*>(node)->children[SlotOf(i, level)].get();
  }
}

void ChunkedVector::OpenLeafOf(int64_t i) { OpenWindow(OwnedLeaf(i), i); }

absl::Status ChunkedVector::Set(int64_t i, Tensor value, Tensor::Alloc alloc) {
  Close();
  if (!root_) ChooseLeaves(value.shape(), value.bytes());
  Leaf* leaf = OwnedLeaf(i);
  if (leaf == nullptr) {
    GYRE_ASSIGN_OR_RETURN(leaf, WritableLeaf(i, alloc));
  }
  GYRE_RETURN_IF_ERROR(leaf->Put(SlotOf(i, 0), std::move(value), alloc, moves_));
  OpenWindow(leaf, i);
  return absl::OkStatus();
}

absl::StatusOr<ChunkedVector::Place> ChunkedVector::Open(int64_t i, Tensor::Alloc alloc) {
  Close();
  Leaf* leaf = OwnedLeaf(i);
  if (leaf == nullptr) {
    const Leaf* const shared = FindLeaf(i);
    if (shared == nullptr || !shared->Has(SlotOf(i, 0))) return Place();
    GYRE_ASSIGN_OR_RETURN(leaf, WritableLeaf(i, alloc));
  }
  return leaf->Open(SlotOf(i, 0), alloc, moves_);
}

absl::Status ChunkedVector::Clear(int64_t i, Tensor::Alloc alloc) {
  Close();
  const Leaf* const stored = FindLeaf(i);
  if (stored == nullptr || !stored->Has(SlotOf(i, 0))) return absl::OkStatus();
  Leaf* leaf = OwnedLeaf(i);
  if (leaf == nullptr) {
    GYRE_ASSIGN_OR_RETURN(leaf, WritableLeaf(i, alloc));
  }
  leaf->Clear(SlotOf(i, 0));
  return absl::OkStatus();
}

absl::Status ChunkedVector::Append(Tensor value, Tensor::Alloc alloc) {
  GYRE_RETURN_IF_ERROR(Set(size_, std::move(value), alloc));
  ++size_;
  return absl::OkStatus();
}

absl::Status ChunkedVector::SetScalar(int64_t i, const void* bytes, Tensor::Alloc alloc) {
  Leaf* const leaf = OwnedLeaf(i);
  if (leaf != nullptr && leaf->PutScalar(SlotOf(i, 0), bytes, moves_)) [[likely]] {
    OpenWindow(leaf, i);
    return absl::OkStatus();
  }
  GYRE_RETURN_IF_ERROR(SetRun(i, 1, Shape(), bytes, alloc));
  OpenLeafOf(i);
  return absl::OkStatus();
}

absl::Status ChunkedVector::SetRun(int64_t i, int64_t n, const Shape& shape, const void* bytes,
                                   Tensor::Alloc alloc) {
  Close();
  const size_t element_bytes = static_cast<size_t>(shape.num_elements()) * DTypeSize(dtype_);
  const char* from = static_cast<const char*>(bytes);
  if (!root_) ChooseLeaves(shape, element_bytes);
  while (n > 0) {
    Leaf* leaf = OwnedLeaf(i);
    if (leaf == nullptr) {
      GYRE_ASSIGN_OR_RETURN(leaf, WritableLeaf(i, alloc));
    }
    const int slot = SlotOf(i, 0);
    const int here = static_cast<int>(std::min<int64_t>(n, Span(0) - slot));
    GYRE_RETURN_IF_ERROR(leaf->PutRun(slot, here, shape, from, alloc, moves_));
    from += static_cast<size_t>(here) * element_bytes;
    i += here;
    n -= here;
  }
  return absl::OkStatus();
}

absl::Status ChunkedVector::AppendScalar(const void* bytes, Tensor::Alloc alloc) {
  GYRE_RETURN_IF_ERROR(SetScalar(size_, bytes, alloc));
  ++size_;
  return absl::OkStatus();
}

absl::Status ChunkedVector::AppendBytes(const Shape& shape, const void* bytes,
                                        Tensor::Alloc alloc) {
  GYRE_RETURN_IF_ERROR(SetRun(size_, 1, shape, bytes, alloc));
  ++size_;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ChunkedVector::RemoveLast(Tensor::Alloc alloc) {
  GYRE_ASSIGN_OR_RETURN(Tensor last, Get(size_ - 1, alloc));
  GYRE_RETURN_IF_ERROR(DropLast(alloc));
  return last;
}

absl::Status ChunkedVector::DropLast(Tensor::Alloc alloc) {
  const int64_t i = size_ - 1;
  const int slot = SlotOf(i, 0);
  Leaf* const leaf = OwnedLeaf(i);
  if (leaf == nullptr) {
    HideLast();
    return absl::OkStatus();
  }
  Close();
  if (slot == 0) {
    GYRE_RETURN_IF_ERROR(Resize(i, alloc));  // gives the leaf back
  } else {
    leaf->Clear(slot);
    size_ = i;
  }
  if (i > 0) OpenLeafOf(i - 1);
  return absl::OkStatus();
}

void ChunkedVector::HideLast() {
  Close();
  --size_;
  hides_ = true;
  if (size_ > 0) return;
  root_ = nullptr;
  level_ = 0;
  hides_ = false;
}

absl::Status ChunkedVector::Resize(int64_t n, Tensor::Alloc alloc) {
  Close();
  if (n < size_ || hides_) {
    const int64_t stored = hides_ ? Span(level_) : size_;
    GYRE_RETURN_IF_ERROR(Truncate(root_, level_, stored, std::min(n, size_), alloc));
    hides_ = false;
  }
  size_ = n;
  if (size_ == 0) level_ = 0;
  return absl::OkStatus();
}

// Nothing at or behind n, counted from the first element below `slot`, stays stored, of what is
// stored there before `size`.
absl::Status ChunkedVector::Truncate(RefPtr<RefCounted>& slot, int level, int64_t size, int64_t n,
                                     Tensor::Alloc alloc) {
  if (!slot || n >= Span(level)) return absl::OkStatus();
  if (n <= 0) {
    slot = nullptr;
    return absl::OkStatus();
  }
  if (level == 0) {
    GYRE_ASSIGN_OR_RETURN(Leaf * leaf, Own<Leaf>(slot, alloc));
    for (int j = static_cast<int>(n); j < Span(0); ++j) leaf->Clear(j);
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Branch * branch, Own<Branch>(slot, alloc));
  const int64_t below = Span(level - 1);
  for (int64_t i = n / below; i < kFanOut && i * below < size; ++i) {
    GYRE_RETURN_IF_ERROR(
        Truncate(branch->children[i], level - 1, size - i * below, n - i * below, alloc));
  }
  return absl::OkStatus();
}

}  // namespace gyre
