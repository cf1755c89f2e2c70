// What stops a writer in the middle, for tests of files. One thread.
#pragma once

#include <signal.h>

#include <functional>
#include <string>
#include <vector>

namespace gyre::test {

// So many times: forks a child that runs `write`, which does not return, ends it by a signal at a
// random moment of its writing, and calls `check`. Returns how many were killed; a child that ends
// by itself is none.
int KillAtRandomMoments(int times, const std::function<void()>& write,
                        const std::function<void()>& check, int signal = SIGKILL);

// Files and links below a folder, by their paths relative to it, in ascending order.
std::vector<std::string> FilesBelow(const std::string& folder);

// The descriptors that the process has open.
int OpenDescriptors();

}  // namespace gyre::test
