// Any bytes at all: reading them ends in a program or a status, and a program can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "graphdef/export.h"
#include "graphdef/import.h"
#include "ops/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  gyre::ImportOptions options;
  options.max_expanded_bytes = 16 << 20;
  const auto program = gyre::ImportGraphDef(bytes, gyre::Ops(), options);
  if (!program.ok()) return 0;
  const auto exported = gyre::ExportGraphDef(**program);
  if (!exported.ok() || !gyre::ImportGraphDef(*exported, gyre::Ops(), options).ok()) std::abort();
  return 0;
}
