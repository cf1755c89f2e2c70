// Sorted string tables, the layout of a bundle's index
// (https://github.com/google/leveldb/blob/main/doc/table_format.md):
//
//   data block | trailer | … | metaindex block | trailer | index block | trailer | footer
//
// Stateless; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

using TableEntry = std::pair<std::string, std::string>;  // key, value

// All entries, in strictly ascending order of keys. INVALID_ARGUMENT, saying what is wrong, for
// anything but a sound table of right checksums; UNIMPLEMENTED for compressed blocks. Takes no more
// memory than a small multiple of `bytes`.
absl::StatusOr<std::vector<TableEntry>> ReadTable(absl::string_view bytes);

// Requirement, not checked: keys in strictly ascending order.
std::string WriteTable(const std::vector<TableEntry>& entries);

}  // namespace gyre
