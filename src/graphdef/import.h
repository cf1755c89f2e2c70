// ImportGraphDef: a GraphDef becomes a Program. Stateless; any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "graphdef/graph_format.h"
#include "ir/program.h"

namespace gyre {

struct ImportOptions {
  GraphFormat format = GraphFormat::kDetect;
  // NOT_FOUND, which names them, for nodes whose op is neither known nor a function of the library.
  // Otherwise such a node is kept, with outputs of unknown type, and does no harm as long as
  // nothing runs it.
  bool refuse_unknown_ops = false;
  // What the program may take up beyond what the bytes justify: constants given as one value that
  // fills a shape, nodes with numbers of outputs given as a number.
  int64_t max_expanded_bytes = int64_t{1} << 30;
};

// Reads nodes, functions, constants, versions. What Gyre does not interpret is kept for export. No
// shapes are inferred and nothing is pruned. The program refers to `ops`, which must outlive it.
//
// INVALID_ARGUMENT, with a sentence that names the node, for whatever is malformed; NOT_FOUND for a
// function that a node names and the library lacks. Bytes cannot make it crash, hang, or take
// memory out of proportion.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::shared_ptr<const Program>> ImportGraphDef(
    absl::string_view bytes, const OpLookup& ops, const ImportOptions& options = {});

}  // namespace gyre
