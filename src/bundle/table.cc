#include "bundle/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bundle/coding.h"
#include "bundle/masked_crc.h"

namespace gyre {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;  // compression, masked checksum
constexpr size_t kRestartInterval = 16;
constexpr size_t kBlockBytes = size_t{256} << 10;
// Keys share their beginnings, so that a few bytes may stand for many. What they may come to: far
// more than real tables do.
constexpr size_t kMaxExpansion = 64;
constexpr size_t kFreeExpansion = size_t{16} << 20;

// Where a block lies in the file.
struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

bool TakeHandle(absl::string_view& bytes, Handle& handle) {
  return TakeVarint(bytes, handle.offset) && TakeVarint(bytes, handle.size);
}

void PutHandle(Handle handle, std::string& out) {
  PutVarint(handle.offset, out);
  PutVarint(handle.size, out);
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("it is no sound table: ", what));
}

// ---- Reading

class Reader {
 public:
  explicit Reader(absl::string_view bytes)
      : bytes_(bytes), key_bytes_left_(kFreeExpansion + kMaxExpansion * bytes.size()) {}

  absl::StatusOr<std::vector<TableEntry>> Read() {
    GYRE_ASSIGN_OR_RETURN(const Handle index, ReadFooter());
    std::vector<TableEntry> blocks;
    GYRE_RETURN_IF_ERROR(ReadBlock(index, blocks));
    std::vector<TableEntry> entries;
    for (const TableEntry& block : blocks) {
      absl::string_view value = block.second;
      Handle handle;
      if (!TakeHandle(value, handle)) return Malformed("its list of blocks is malformed");
      GYRE_RETURN_IF_ERROR(ReadBlock(handle, entries));
    }
    return entries;
  }

 private:
  absl::StatusOr<Handle> ReadFooter() const {
    if (bytes_.size() < kFooterBytes) {
      return Malformed(absl::StrCat("it has ", bytes_.size(), " bytes, less than a footer"));
    }
    absl::string_view footer = bytes_.substr(bytes_.size() - kFooterBytes);
    if (LoadFixed64(footer.data() + kFooterBytes - sizeof(uint64_t)) != kMagic)
      return Malformed("it does not end like one");
    Handle metaindex, index;
    if (!TakeHandle(footer, metaindex) || !TakeHandle(footer, index))
      return Malformed("its footer is malformed");
    return index;
  }

  absl::StatusOr<absl::string_view> BlockAt(Handle handle) const {
    const uint64_t end = bytes_.size() - kFooterBytes;
    if (handle.offset > end || handle.size > end - handle.offset ||
        end - handle.offset - handle.size < kTrailerBytes) {
      return Malformed(absl::StrCat("a block of ", handle.size, " bytes at ", handle.offset,
                                    " does not fit into it"));
    }
    const absl::string_view block = bytes_.substr(handle.offset, handle.size + 1);
    const uint32_t crc = LoadFixed32(bytes_.data() + handle.offset + handle.size + 1);
    if (MaskedCrc(block) != crc)
      return Malformed(absl::StrCat("the block at ", handle.offset, " has another checksum"));
    if (block.back() != 0) {
      return absl::UnimplementedError(absl::StrCat(
          "the block at ", handle.offset, " is compressed (method ", static_cast<int>(block.back()),
          "), which Gyre does not read; save the "
          "checkpoint again without compression"));
    }
    return block.substr(0, handle.size);
  }

  // Appends the block's entries.
  absl::Status ReadBlock(Handle handle, std::vector<TableEntry>& entries) {
    GYRE_ASSIGN_OR_RETURN(absl::string_view block, BlockAt(handle));
    constexpr size_t kWord = sizeof(uint32_t);
    if (block.size() < kWord) return Malformed("a block is empty");
    const uint64_t restarts = LoadFixed32(block.data() + block.size() - kWord);
    if ((restarts + 1) * kWord > block.size()) return Malformed("a block's end is malformed");
    block.remove_suffix((restarts + 1) * kWord);
    std::string key;
    while (!block.empty()) {
      uint64_t shared = 0, unshared = 0, size = 0;
      if (!TakeVarint(block, shared) || !TakeVarint(block, unshared) || !TakeVarint(block, size) ||
          shared > key.size() || unshared > block.size() || size > block.size() - unshared) {
        return Malformed("an entry is malformed");
      }
      if (shared + unshared > key_bytes_left_) return Malformed("its keys are too long");
      key_bytes_left_ -= shared + unshared;
      key.resize(shared);
      key.append(block.data(), unshared);
      if (!entries.empty() && key <= entries.back().first)
        return Malformed("its keys are out of order");
      entries.emplace_back(key, std::string(block.substr(unshared, size)));
      block.remove_prefix(unshared + size);
    }
    return absl::OkStatus();
  }

  const absl::string_view bytes_;
  uint64_t key_bytes_left_;
};

// ---- Writing

class BlockWriter {
 public:
  void Add(absl::string_view key, absl::string_view value) {
    size_t shared = 0;
    if (count_ % kRestartInterval == 0) {
      restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    } else {
      const size_t limit = std::min(key.size(), last_key_.size());
      while (shared < limit && key[shared] == last_key_[shared]) ++shared;
    }
    PutVarint(shared, bytes_);
    PutVarint(key.size() - shared, bytes_);
    PutVarint(value.size(), bytes_);
    bytes_.append(key.data() + shared, key.size() - shared);
    bytes_.append(value.data(), value.size());
    last_key_ = std::string(key);
    ++count_;
  }

  bool empty() const { return count_ == 0; }
  size_t size() const { return bytes_.size(); }
  const std::string& last_key() const { return last_key_; }

  // Appends the block with its trailer to the file; the writer is empty afterwards.
  Handle Finish(std::string& file) {
    if (restarts_.empty()) restarts_.push_back(0);
    for (const uint32_t restart : restarts_) PutFixed32(restart, bytes_);
    PutFixed32(static_cast<uint32_t>(restarts_.size()), bytes_);
    const Handle handle{file.size(), bytes_.size()};
    bytes_.push_back(0);  // not compressed
    file.append(bytes_);
    PutFixed32(MaskedCrc(bytes_), file);
    *this = BlockWriter();
    return handle;
  }

 private:
  std::string bytes_;
  std::string last_key_;
  std::vector<uint32_t> restarts_;
  size_t count_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<TableEntry>> ReadTable(absl::string_view bytes) {
  return Reader(bytes).Read();
}

std::string WriteTable(const std::vector<TableEntry>& entries) {
  std::string file;
  BlockWriter block, index;
  const auto finish_block = [&] {
    const std::string last_key = block.last_key();
    std::string handle;
    PutHandle(block.Finish(file), handle);
    index.Add(last_key, handle);
  };
  for (const auto& [key, value] : entries) {
    block.Add(key, value);
    if (block.size() >= kBlockBytes) finish_block();
  }
  if (!block.empty()) finish_block();
  const Handle metaindex = BlockWriter().Finish(file);
  std::string footer;
  PutHandle(metaindex, footer);
  PutHandle(index.Finish(file), footer);
  footer.resize(kFooterBytes - sizeof(uint64_t));
  PutFixed64(kMagic, footer);
  return file + footer;
}

}  // namespace gyre
