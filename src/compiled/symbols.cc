#include "compiled/symbols.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensor/io/file_calls.h"

namespace gyre::compiled {

bool WantsSymbols() {
  static const bool wants = [] {
    const char* const variable = std::getenv("GYRE_NATIVE_SYMBOLS");
    return variable != nullptr && absl::string_view(variable) == "1";
  }();
  return wants;
}

std::string SymbolName(std::string name) {
  for (char& c : name)
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '?';
  return name;
}

void TellPerf(const Region& region, const NativeCode& code) {
  std::string lines;
  for (uint32_t loop = 0; loop < region.names.size(); ++loop) {
    if (!code.CanRun(loop)) continue;
    const NativeCode::Extent extent = code.ExtentOf(loop);
    absl::StrAppend(&lines, absl::Hex(extent.address), " ", absl::Hex(extent.size),
                    " gyre: ", region.names[loop], "\n");
  }
  const std::string path = absl::StrCat("/tmp/perf-", getpid(), ".map");
  // Anybody may put something there: a pipe would be waited for, a link lead to another file.
  const int file =
      file_calls::Open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) return;
  struct stat info{};
  if (file_calls::DescriptorStat(file, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_uid == geteuid() && info.st_nlink == 1) {
    (void)file_calls::Write(file, lines.data(), lines.size());
  }
  (void)file_calls::Close(file);
}

}  // namespace gyre::compiled
