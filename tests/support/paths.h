// Where a test finds the checkout's files and the programs of its own build, whatever its working
// directory. Stateless; any thread.
#pragma once

#include <string>

namespace gyre::test {

// A path below the checkout: SourcePath("tests/golden/index.json").
std::string SourcePath(const std::string& relative);

// A path below the build folder of this preset: BuildPath("bin/gyre").
std::string BuildPath(const std::string& relative);

}  // namespace gyre::test
