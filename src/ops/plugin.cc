#include "ops/plugin.h"

#include <dlfcn.h>

#include <exception>
#include <memory>
#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

// The library that plug-ins are linked with: "libgyre.so." and this version of its interface.
constexpr absl::string_view kLibrary = GYRE_LIBRARY;
constexpr absl::string_view kAnyLibrary = "libgyre.so.";

// Whether a file names the libgyre.so of another version, as a library that is linked with it does.
// To load it would bring a second Gyre into the process, if that is installed beside this one.
absl::Status CheckLibrary(absl::string_view bytes) {
  for (size_t at = bytes.find(kAnyLibrary); at != absl::string_view::npos;
       at = bytes.find(kAnyLibrary, at + 1)) {
    const size_t end = bytes.find_first_not_of("0123456789.", at + kAnyLibrary.size());
    const absl::string_view name = bytes.substr(at, end - at);
    if (name == kLibrary) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("it is linked with ", name, ", and this is ", kLibrary,
                     ": build it with the headers and the library of this version of Gyre"));
  }
  return absl::OkStatus();
}

// The handle of a library, which is the same for the same file. It stays loaded.
absl::StatusOr<void*> Open(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  GYRE_RETURN_IF_ERROR(CheckLibrary(bytes));
  // A bare name would be looked for where the system keeps its libraries.
  const std::string file = path.find('/') == std::string::npos ? absl::StrCat("./", path) : path;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const reason = ::dlerror();
  return absl::InvalidArgumentError(
      absl::StrCat("it is no shared library that can be loaded here: ",
                   reason == nullptr ? "no reason is given" : reason));
}

absl::Status CheckEntry(const PluginEntry* entry) {
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        "it is no plug-in: it exports no 'gyre_plugin' (GYRE_PLUGIN of gyre/core/op.h does)");
  }
  if (entry->interface != kPluginInterface) {
    return absl::InvalidArgumentError(
        absl::StrCat("it was built for version ", entry->interface,
                     " of the interface of plug-ins, and this is ", kPluginInterface,
                     ": build it with the headers of this version of Gyre"));
  }
  if (entry->layout != PluginLayout()) {
    return absl::InvalidArgumentError(
        "its types are laid out in another way than Gyre's: build it with the headers, the "
        "compiler and the version of Abseil that Gyre was built with");
  }
  if (entry->add == nullptr)
    return absl::InvalidArgumentError("its 'gyre_plugin' is incomplete: GYRE_PLUGIN makes it");
  return absl::OkStatus();
}

// The ops of a plug-in, if all of them can be used.
absl::StatusOr<std::unique_ptr<OpRegistry>> OpsOf(const PluginEntry& entry,
                                                  const std::string& path) {
  auto ops = std::make_unique<OpRegistry>(path);
  try {
    entry.add(*ops);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("its registration throws: ", error.what()));
  }
  GYRE_RETURN_IF_ERROR(ops->status());
  for (const OpDef* op : ops->Own()) {
    if (op->kind != OpKind::kPlain)
      return absl::InvalidArgumentError(absl::StrCat("op ", op->name, " must be of kind kPlain"));
    if (!ops->HasKernel(op->name))
      return absl::InvalidArgumentError(absl::StrCat("op ", op->name, " has no kernel"));
  }
  return ops;
}

absl::Status Load(const std::string& path) {
  static std::mutex mutex;
  static std::set<void*> loaded;
  const std::lock_guard lock(mutex);
  GYRE_ASSIGN_OR_RETURN(void* const library, Open(path));
  if (loaded.count(library) > 0) return absl::OkStatus();
  const auto* entry = static_cast<const PluginEntry*>(::dlsym(library, "gyre_plugin"));
  GYRE_RETURN_IF_ERROR(CheckEntry(entry));
  GYRE_ASSIGN_OR_RETURN(std::unique_ptr<OpRegistry> ops, OpsOf(*entry, path));
  GYRE_RETURN_IF_ERROR(AddOps(std::move(ops)));
  loaded.insert(library);
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadPlugin(const std::string& path) {
  const absl::Status status = Load(path);
  return status.ok() ? status : Annotate(status, absl::StrCat("plug-in '", path, "'"));
}

}  // namespace gyre
