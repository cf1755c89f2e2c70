#include "gyre/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/crc32c.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "session/checkpoint_manifest.h"
#include "tensor/io/bytes.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"
#include "tensor/io/output_file.h"
#include "tensor/io/safetensors.h"

namespace gyre {
namespace {

// What errors say there is no memory for.
constexpr absl::string_view kThisCheckpoint = "this checkpoint";

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

constexpr absl::string_view kManifest = "manifest.json";

std::string PathOf(const std::string& folder, absl::string_view file) {
  return (std::filesystem::path(folder) / std::string(file)).string();
}

uint32_t ChecksumOf(const Tensor& tensor) {
  const absl::string_view bytes = ElementBytes(tensor);
  return Crc32c(bytes.data(), bytes.size());
}

// ---- Saving

absl::StatusOr<NamedTensors> ValuesOf(const Session& session, std::vector<std::string> names) {
  if (names.empty()) {
    for (const Session::VariableInfo& info : session.Variables()) names.push_back(info.name);
  }
  GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> values, session.ReadVariables(names));
  NamedTensors named;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!values[i].has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("variable '", names[i],
                       "' has no value to save: initialize it first, or name the variables that "
                       "are to be saved"));
    }
    if (!IsSafetensorsType(values[i].dtype())) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable '", names[i], "' cannot be saved: files hold no elements of type ",
                       DTypeName(values[i].dtype()), "; name the variables that are to be saved"));
    }
    named.emplace_back(std::move(names[i]), std::move(values[i]));
  }
  return named;
}

absl::StatusOr<Manifest> ReadManifest(const std::string& folder) {
  const std::string path = PathOf(folder, kManifest);
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.size() > kMaxJsonBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", file.size(), " bytes: it is no manifest"));
  }
  std::string text(static_cast<size_t>(file.size()), '\0');
  GYRE_RETURN_IF_ERROR(file.ReadAt(0, text.data(), file.size()));
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  return manifest;
}

// The files of values in a folder, with their numbers.
std::vector<std::pair<int64_t, std::string>> ValuesFilesIn(const std::string& folder) {
  std::vector<std::pair<int64_t, std::string>> files;
  const auto names = ListFolder(folder);
  if (!names.ok()) return files;
  for (const std::string& name : *names) {
    const int64_t number = NumberOfValuesFile(name);
    if (number >= 0) files.emplace_back(number, name);
  }
  return files;
}

// Removes what the manifest does not name and nobody is writing: the values before, and what a
// killed writer left. What cannot be removed does no harm, and is tried again.
void RemoveLeftValues(const std::string& folder) {
  std::vector<std::pair<std::string, std::unique_ptr<FileLock>>> left;
  for (const auto& [number, name] : ValuesFilesIn(folder)) {
    if (auto lock = FileLock::TryTake(PathOf(folder, name)))
      left.emplace_back(name, std::move(lock));
  }
  // Asked for now: what nobody holds is not going to be named by a manifest that is not there yet.
  const absl::StatusOr<Manifest> manifest = ReadManifest(folder);
  if (!manifest.ok() && !absl::IsNotFound(manifest.status())) return;
  for (const auto& [name, lock] : left) {
    if (!manifest.ok() || manifest->file != name)
      static_cast<void>(RemoveFile(PathOf(folder, name)));
  }
}

// A new file of values, of a number above all that are there.
struct NewValues {
  std::string name;
  OutputFile file;
};
absl::StatusOr<NewValues> MakeValuesFile(const std::string& folder) {
  for (;;) {
    int64_t number = 0;
    for (const auto& [taken, name] : ValuesFilesIn(folder)) number = std::max(number, taken + 1);
    const std::string name = ValuesFile(number);
    absl::StatusOr<OutputFile> file = OutputFile::New(PathOf(folder, name));
    if (absl::IsAlreadyExists(file.status())) continue;  // another writer was faster
    GYRE_RETURN_IF_ERROR(file.status());
    return NewValues{name, *std::move(file)};
  }
}

absl::StatusOr<std::string> ManifestFor(const std::string& folder, const std::string& file,
                                        const NamedTensors& values) {
  Manifest manifest{.file = file};
  GYRE_ASSIGN_OR_RETURN(const InputFile written, InputFile::Open(PathOf(folder, file)));
  manifest.bytes = written.size();
  for (const auto& [name, value] : values)
    manifest.tensors[name] = {value.dtype(), value.shape(), ChecksumOf(value)};
  return PrintManifest(manifest);
}

// The file of values, then the manifest that names it. The lock on the former ends here.
absl::Status WriteCheckpoint(const std::string& folder, const NamedTensors& values) {
  GYRE_ASSIGN_OR_RETURN(NewValues made, MakeValuesFile(folder));
  GYRE_RETURN_IF_ERROR(WriteSafetensors(made.file, PathOf(folder, made.name), values));
  GYRE_RETURN_IF_ERROR(made.file.Commit());
  GYRE_RETURN_IF_ERROR(SyncFolder(folder));
  GYRE_ASSIGN_OR_RETURN(const std::string manifest, ManifestFor(folder, made.name, values));
  return WriteFile(PathOf(folder, kManifest), {manifest});
}

// ---- Restoring

// A file of values, with the manifest that vouches for it, if there is one.
struct Source {
  SafetensorsFile file;
  std::optional<Manifest> manifest;
};

// Whether the file holds what the manifest says.
absl::Status CheckAgainst(const Manifest& manifest, const SafetensorsFile& file) {
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), " is damaged, or not the file that was saved: ", what));
  };
  if (file.size() != manifest.bytes) {
    return refuse(absl::StrCat("it has ", file.size(), " bytes, not the ", manifest.bytes,
                               " of the manifest"));
  }
  const bool same = std::equal(
      file.entries().begin(), file.entries().end(), manifest.tensors.begin(),
      manifest.tensors.end(), [](const auto& there, const auto& promised) {
        return there.first == promised.first && there.second.dtype == promised.second.dtype &&
               there.second.shape == promised.second.shape;
      });
  return same ? absl::OkStatus() : refuse("its tensors are others than those of the manifest");
}

// The values that the manifest in a folder names.
absl::StatusOr<Source> OpenNamed(const std::string& folder, Manifest manifest) {
  GYRE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(PathOf(folder, manifest.file)));
  GYRE_RETURN_IF_ERROR(CheckAgainst(manifest, file));
  return Source{std::move(file), std::move(manifest)};
}

// "'a', 'b' and 3 more".
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  const size_t shown = std::min(names.size(), kShown);
  std::string text = absl::StrJoin(
      names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", ",
      [](std::string* out, const std::string& name) { absl::StrAppend(out, "'", name, "'"); });
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

// The variables that are to be restored.
absl::StatusOr<std::vector<Session::VariableInfo>> Wanted(const Session& session,
                                                          const RestoreOptions& options) {
  std::vector<Session::VariableInfo> infos = session.Variables();
  if (options.variables.empty()) return infos;
  std::vector<Session::VariableInfo> wanted;
  for (const std::string& name : options.variables) {
    const auto it = std::find_if(infos.begin(), infos.end(),
                                 [&](const auto& info) { return info.name == name; });
    if (it == infos.end()) {
      return absl::NotFoundError(
          absl::StrCat("there is no variable called '", name, "' in the program"));
    }
    wanted.push_back(*it);
  }
  return wanted;
}

// How what is wanted and what is there differ.
struct Differences {
  std::vector<std::string> present;  // names of what is both wanted and there
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::vector<std::string> different;  // in words
};

Differences Compare(const std::vector<Session::VariableInfo>& wanted,
                    const std::map<std::string, SafetensorsFile::Entry>& there) {
  Differences differences;
  std::map<std::string, SafetensorsFile::Entry> left = there;
  for (const Session::VariableInfo& variable : wanted) {
    const auto it = there.find(variable.name);
    if (it == there.end()) {
      differences.missing.push_back(variable.name);
      continue;
    }
    left.erase(variable.name);
    const SafetensorsFile::Entry& entry = it->second;
    differences.present.push_back(variable.name);
    if (entry.dtype != variable.dtype || !variable.shape.Allows(entry.shape)) {
      differences.different.push_back(
          absl::StrCat("variable '", variable.name, "' is ", DTypeName(variable.dtype),
                       variable.shape.ToString(), " in the program, but ", DTypeName(entry.dtype),
                       entry.shape.ToString(), " in the checkpoint"));
    }
  }
  for (const auto& [name, entry] : left) differences.extra.push_back(name);
  return differences;
}

// OK when nothing is in the way of restoring what is present.
absl::Status Judge(const Differences& differences, const RestoreOptions& options) {
  std::vector<std::string> complaints = differences.different;
  if (!options.partial && !differences.missing.empty())
    complaints.push_back(absl::StrCat("it has no ", Listed(differences.missing)));
  if (!options.partial && options.variables.empty() && !differences.extra.empty()) {
    complaints.push_back(absl::StrCat("the program has no variable called ",
                                      Listed(differences.extra), ", which it holds"));
  }
  if (complaints.empty()) return absl::OkStatus();
  if (differences.different.empty())
    complaints.emplace_back("name the variables to restore, or ask for a partial restore");
  const std::string message = absl::StrJoin(complaints, "\n  ");
  return differences.different.empty() ? absl::NotFoundError(message)
                                       : absl::InvalidArgumentError(message);
}

absl::StatusOr<NamedTensors> ReadAll(const Source& source, const std::vector<std::string>& names) {
  NamedTensors values;
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(Tensor value, source.file.Read(name));
    if (source.manifest && source.manifest->tensors.at(name).crc32c != ChecksumOf(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat(source.file.path(), " is damaged: tensor '", name,
                       "' has another checksum than when it was saved"));
    }
    values.emplace_back(name, std::move(value));
  }
  return values;
}

absl::Status Save(const Session& session, const std::string& folder, const SaveOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const NamedTensors values, ValuesOf(session, options.variables));
  GYRE_RETURN_IF_ERROR(MakeFolder(folder));
  RemoveLeftValues(folder);
  const absl::Status status = WriteCheckpoint(folder, values);
  // Those before; or, after an error, these.
  RemoveLeftValues(folder);
  return status;
}

// What a restore found.
struct Found {
  std::vector<std::string> names;
  NamedTensors values;
};

absl::StatusOr<Found> ReadWanted(const Source& source,
                                 const std::vector<Session::VariableInfo>& wanted,
                                 const std::string& path, const RestoreOptions& options) {
  Differences differences = Compare(wanted, source.file.entries());
  if (const absl::Status status = Judge(differences, options); !status.ok())
    return Annotate(status, absl::StrCat("the checkpoint ", path));
  GYRE_ASSIGN_OR_RETURN(NamedTensors values, ReadAll(source, differences.present));
  return Found{std::move(differences.present), std::move(values)};
}

// Of a folder. A writer may replace what the manifest names at any moment, also by a file of the
// same name: an error counts only if the manifest is still the one that was read.
absl::StatusOr<Found> ReadFolder(const std::vector<Session::VariableInfo>& wanted,
                                 const std::string& path, const RestoreOptions& options) {
  absl::StatusOr<Manifest> manifest = ReadManifest(path);
  for (;;) {
    if (absl::IsNotFound(manifest.status()))
      return Annotate(manifest.status(), absl::StrCat("no checkpoint in ", path));
    GYRE_RETURN_IF_ERROR(manifest.status());
    const absl::StatusOr<Source> source = OpenNamed(path, *manifest);
    absl::StatusOr<Found> found = source.ok() ? ReadWanted(*source, wanted, path, options)
                                              : absl::StatusOr<Found>(source.status());
    if (found.ok()) return found;
    absl::StatusOr<Manifest> now = ReadManifest(path);
    if (now.ok() && *now == *manifest) return found;
    manifest = std::move(now);
  }
}

absl::StatusOr<std::vector<std::string>> Restore(Session& session, const std::string& path,
                                                 const RestoreOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Session::VariableInfo> wanted, Wanted(session, options));
  GYRE_ASSIGN_OR_RETURN(const PathKind kind, KindOf(path));
  absl::StatusOr<Found> found;
  if (kind == PathKind::kFile) {
    GYRE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
    found = ReadWanted({std::move(file), std::nullopt}, wanted, path, options);
  } else {
    found = ReadFolder(wanted, path, options);
  }
  GYRE_RETURN_IF_ERROR(found.status());
  GYRE_RETURN_IF_ERROR(session.AssignVariables(found->values));
  return std::move(found->names);
}

}  // namespace

absl::Status SaveCheckpoint(const Session& session, const std::string& folder,
                            const SaveOptions& options) {
  return CatchOutOfMemory(kThisCheckpoint, [&] { return Save(session, folder, options); });
}

absl::StatusOr<std::vector<std::string>> RestoreCheckpoint(Session& session,
                                                           const std::string& path,
                                                           const RestoreOptions& options) {
  return CatchOutOfMemory(kThisCheckpoint, [&] { return Restore(session, path, options); });
}

}  // namespace gyre
