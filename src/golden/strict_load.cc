#include "golden/strict_load.h"

#include <memory>

#include "base/status.h"
#include "ir/shape_inference.h"
#include "ir/verifier.h"
#include "session/program_file.h"

namespace gyre::golden {

absl::Status LoadStrictly(const std::string& path) {
  LoadOptions options;
  options.refuse_unknown_ops = true;
  GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                        LoadProgramFile(path, options));
  GYRE_RETURN_IF_ERROR(Verify(*program, Dialect::kDataflow));
  return InferShapes(*program).status();
}

}  // namespace gyre::golden
