#include "base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace gyre {

int64_t PhysicalMemoryBytes() {
  static const int64_t bytes = [] {
    int64_t total = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    std::ifstream limit_file(
        "/sys/fs/cgroup/memory.max");  // "max" when there is no limit: then nothing is read
    if (int64_t limit = 0; limit_file >> limit) total = std::min(total, limit);
    return total;
  }();
  return bytes;
}

}  // namespace gyre
