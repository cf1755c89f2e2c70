// Programs whose nodes are worth more than waking a thread, so that runs on several threads really
// share their work. All take feeds x (float32, kHeavySize square) and n (int32), and are fetched at
// y:0.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gyre/core/session.h"

namespace gyre::testing {

constexpr int kHeavySize = 48;

// (name, text)
std::vector<std::pair<std::string, std::string>> HeavyPrograms();
std::string HeavyProgram(const std::string& name);

// A matrix whose powers neither vanish nor blow up.
Tensor HeavyInput();
Feeds HeavyFeeds(int32_t n);

}  // namespace gyre::testing
