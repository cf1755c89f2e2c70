#include "cli/check/strict_load.h"

#include <memory>

#include "base/status.h"
#include "graphdef/import.h"
#include "ir/shape_inference.h"
#include "ir/verifier.h"
#include "ops/registry.h"
#include "tensor/io/file.h"

namespace gyre::cli {

absl::Status LoadStrictly(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  ImportOptions options;
  options.refuse_unknown_ops = true;
  GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                        ImportGraphDef(bytes, Ops(), options));
  GYRE_RETURN_IF_ERROR(Verify(*program, Dialect::kDataflow));
  return InferShapes(*program).status();
}

}  // namespace gyre::cli
