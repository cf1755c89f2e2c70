// Any bytes at all as the files of a model: reading them ends in a graph, an index or a status.
#include <cstddef>
#include <cstdint>

#include "bundle/index.h"
#include "graphdef/meta_graph.h"
#include "ops/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  gyre::ReadSavedModel(bytes, {}, gyre::Ops()).status().IgnoreError();
  gyre::ReadMetaGraph(bytes, gyre::Ops()).status().IgnoreError();
  gyre::ReadCheckpointKeys(bytes).status().IgnoreError();
  gyre::ParseBundleIndex(bytes).status().IgnoreError();
  return 0;
}
