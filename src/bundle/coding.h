// Numbers in tables and data files, as in LevelDB: varints, and little-endian ones of fixed size.
// Stateless; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace gyre {

// Takes a varint from the front of `bytes`; false, and nothing taken, when there is none.
bool TakeVarint(absl::string_view& bytes, uint64_t& value);
void PutVarint(uint64_t value, std::string& out);

// Little-endian numbers of fixed size. Requirement: as many bytes are there.
uint32_t LoadFixed32(const char* bytes);
uint64_t LoadFixed64(const char* bytes);
void PutFixed32(uint32_t value, std::string& out);
void PutFixed64(uint64_t value, std::string& out);

}  // namespace gyre
