#include "support/paths.h"

namespace gyre::test {

std::string SourcePath(const std::string& relative) { return GYRE_SOURCE_DIR "/" + relative; }

std::string BuildPath(const std::string& relative) { return GYRE_BINARY_DIR "/" + relative; }

}  // namespace gyre::test
