// Any bytes at all as the files of a checkpoint: reading them ends in tensors, no larger than the
// file, or in a status.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "session/checkpoint_manifest.h"
#include "tensor/io/safetensors.h"

namespace {

void ReadManifest(absl::string_view text) {
  const auto manifest = gyre::ParseManifest(text);
  if (!manifest.ok()) return;
  const auto printed = gyre::PrintManifest(*manifest);
  if (!printed.ok() || !gyre::ParseManifest(*printed).ok()) std::abort();
}

void ReadValues(const std::string& path, size_t size) {
  const auto file = gyre::SafetensorsFile::Open(path);
  if (!file.ok()) return;
  for (const std::string& name : file->Names()) {
    const auto tensor = file->Read(name);
    if (!tensor.ok() || tensor->bytes() > size) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadManifest(bytes);
  const int fd = ::memfd_create("values", MFD_CLOEXEC);  // a file without a disk
  if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  ReadValues(absl::StrCat("/proc/self/fd/", fd), size);
  ::close(fd);
  return 0;
}
