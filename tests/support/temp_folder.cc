#include "support/temp_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace gyre::test {

TempFolder::TempFolder(Where where) {
  const std::filesystem::path memory = "/dev/shm";
  const bool is_there = where == kInMemory && std::filesystem::is_directory(memory);
  const std::filesystem::path root = is_there ? memory : std::filesystem::temp_directory_path();
  std::string pattern = (root / "gyre-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), pattern);
  }
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::Write(const std::string& relative, absl::string_view content) const {
  const std::string path = Path(relative);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.good()) throw std::system_error(errno, std::generic_category(), path);
  return path;
}

}  // namespace gyre::test
