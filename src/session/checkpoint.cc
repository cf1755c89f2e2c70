#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "gyre/core/session.h"
#include "session/checkpoint_manifest.h"
#include "session/checkpoint_source.h"
#include "tensor/io/file.h"
#include "tensor/io/output_file.h"
#include "tensor/io/safetensors.h"

namespace gyre {
namespace {

// What errors say there is no memory for.
constexpr absl::string_view kThisCheckpoint = "this checkpoint";

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

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
    if (auto lock = FileLock::TryTake(PathInFolder(folder, name)))
      left.emplace_back(name, std::move(lock));
  }
  // Asked for now: what nobody holds is not going to be named by a manifest that is not there yet.
  const absl::StatusOr<Manifest> manifest = ReadManifest(folder);
  if (!manifest.ok() && !absl::IsNotFound(manifest.status())) return;
  for (const auto& [name, lock] : left) {
    if (!manifest.ok() || manifest->file != name)
      static_cast<void>(RemoveFile(PathInFolder(folder, name)));
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
    absl::StatusOr<OutputFile> file = OutputFile::New(PathInFolder(folder, name));
    if (absl::IsAlreadyExists(file.status())) continue;  // another writer was faster
    GYRE_RETURN_IF_ERROR(file.status());
    return NewValues{name, *std::move(file)};
  }
}

absl::StatusOr<std::string> ManifestFor(const std::string& folder, const std::string& file,
                                        const NamedTensors& values) {
  Manifest manifest{.file = file};
  GYRE_ASSIGN_OR_RETURN(const InputFile written, InputFile::Open(PathInFolder(folder, file)));
  manifest.bytes = written.size();
  for (const auto& [name, value] : values)
    manifest.tensors[name] = {value.dtype(), value.shape(), ChecksumOf(value)};
  return PrintManifest(manifest);
}

// The file of values, then the manifest that names it. The lock on the former ends here.
absl::Status WriteCheckpoint(const std::string& folder, const NamedTensors& values) {
  GYRE_ASSIGN_OR_RETURN(NewValues made, MakeValuesFile(folder));
  GYRE_RETURN_IF_ERROR(WriteSafetensors(made.file, PathInFolder(folder, made.name), values));
  GYRE_RETURN_IF_ERROR(made.file.Commit());
  GYRE_RETURN_IF_ERROR(SyncFolder(folder));
  GYRE_ASSIGN_OR_RETURN(const std::string manifest, ManifestFor(folder, made.name, values));
  return WriteFile(PathInFolder(folder, kManifestFile), {manifest});
}

// ---- Restoring

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

absl::StatusOr<NamedTensors> ReadAll(const CheckpointSource& source,
                                     const std::vector<std::string>& names) {
  NamedTensors values;
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(Tensor value, source.Read(name));
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

absl::StatusOr<Found> ReadWanted(const CheckpointSource& source,
                                 const std::vector<Session::VariableInfo>& wanted,
                                 const std::string& path, const RestoreOptions& options) {
  Differences differences = Compare(wanted, source.entries());
  if (const absl::Status status = Judge(differences, options); !status.ok())
    return Annotate(status, absl::StrCat("the checkpoint ", path));
  GYRE_ASSIGN_OR_RETURN(NamedTensors values, ReadAll(source, differences.present));
  return Found{std::move(differences.present), std::move(values)};
}

absl::StatusOr<std::vector<std::string>> Restore(Session& session, const std::string& path,
                                                 const RestoreOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Session::VariableInfo> wanted, Wanted(session, options));
  GYRE_ASSIGN_OR_RETURN(const PathKind kind, KindOf(path));
  Found found;
  const auto read = [&](const CheckpointSource& source) -> absl::Status {
    GYRE_ASSIGN_OR_RETURN(found, ReadWanted(source, wanted, path, options));
    return absl::OkStatus();
  };
  if (kind == PathKind::kFile) {
    GYRE_ASSIGN_OR_RETURN(const CheckpointSource source, CheckpointSource::OfFile(path));
    GYRE_RETURN_IF_ERROR(read(source));
  } else {
    GYRE_RETURN_IF_ERROR(ReadCheckpointFolder(path, read));
  }
  GYRE_RETURN_IF_ERROR(session.AssignVariables(found.values));
  return std::move(found.names);
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
