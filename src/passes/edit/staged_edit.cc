#include "passes/edit/staged_edit.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/call_graph.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "ir/calls.h"

namespace gyre {

Staged MakeStaged(std::shared_ptr<const Program> program, RunSignature signature) {
  Staged staged;
  for (const Node& node : program->main().nodes) {
    for (int32_t slot = 0; slot < node.num_outputs(); ++slot)
      staged.values.emplace(Endpoint{node.id, slot}, Endpoint{node.id, slot});
  }
  staged.program = std::move(program);
  staged.signature = std::move(signature);
  return staged;
}

namespace passes {

StagedEdit::StagedEdit(const Staged& staged) : staged_(staged) {}

const Function& StagedEdit::main() const {
  return main_ != nullptr ? *main_ : staged_.program->main();
}

const Function* StagedEdit::Find(absl::string_view name) const {
  const auto it = functions_.find(std::string(name));
  return it != functions_.end() ? it->second.get() : staged_.program->FindFunction(name);
}

std::vector<std::string> StagedEdit::CalleesFirst() const {
  return gyre::CalleesFirst(*staged_.program, main(),
                            [&](absl::string_view name) { return Find(name); });
}

std::string StagedEdit::UniqueFunctionName(absl::string_view wanted) {
  const auto is_taken = [&](const std::string& name) {
    return functions_.contains(name) || staged_.program->FindFunction(name) != nullptr;
  };
  std::string name(wanted);
  int& number = numbers_[name];
  while (is_taken(name)) name = absl::StrCat(wanted, "_", ++number);
  return name;
}

Rewrite StagedEdit::Change(absl::string_view name) const {
  if (name.empty()) return Rewrite(ops(), main(), staged_.signature);
  return Rewrite(ops(), *Find(name));
}

absl::Status StagedEdit::Take(absl::string_view name, Rewrite rewrite) {
  if (!rewrite.changed()) return absl::OkStatus();
  if (!name.empty()) {
    GYRE_ASSIGN_OR_RETURN(Rewrite::Finished finished, std::move(rewrite).Finish());
    SetFunction(std::move(finished.function));
    return absl::OkStatus();
  }
  HashMap<Endpoint, Endpoint> values;
  for (const auto& [imported, now] : staged_.values) values.emplace(imported, rewrite.Resolve(now));
  GYRE_ASSIGN_OR_RETURN(Rewrite::Finished finished, std::move(rewrite).Finish());
  staged_.values.clear();
  for (const auto& [imported, now] : values) {
    const NodeId id = finished.new_ids[now.node];
    if (id < 0 || now.slot >= finished.function.node(id).num_outputs()) continue;
    staged_.values.emplace(imported, Endpoint{id, now.slot});
  }
  staged_.signature = std::move(finished.run);
  main_ = std::make_unique<Function>(std::move(finished.function));
  return absl::OkStatus();
}

void StagedEdit::SetFunction(Function function) {
  std::string name = function.name;
  functions_[std::move(name)] = std::make_unique<Function>(std::move(function));
}

void StagedEdit::EraseUnused() {
  const std::vector<std::string> names = CalleesFirst();
  const HashSet<std::string> used(names.begin(), names.end());
  for (const auto& [name, function] : staged_.program->functions()) {
    if (!used.contains(name)) functions_[name] = nullptr;
  }
  std::erase_if(functions_, [&](const auto& entry) {
    return entry.second != nullptr && !used.contains(entry.first);
  });
}

Staged StagedEdit::Finish() && {
  if (main_ == nullptr && functions_.empty()) return std::move(staged_);
  ProgramBuilder builder(*staged_.program);
  if (main_ != nullptr) builder.SetMain(std::move(*main_));
  for (const auto& [name, function] : functions_) {
    if (function == nullptr) {
      builder.EraseFunction(name);
    } else {
      builder.SetFunction(std::move(*function));
    }
  }
  staged_.program = builder.Build();
  return std::move(staged_);
}

absl::StatusOr<Staged> RewriteEach(
    const Staged& staged,
    const std::function<absl::Status(absl::string_view name, Rewrite& rewrite)>& edit) {
  StagedEdit staged_edit(staged);
  std::vector<std::string> names = staged_edit.CalleesFirst();
  names.push_back("");
  for (const std::string& name : names) {
    if (IsOpaque(name.empty() ? staged_edit.main() : *staged_edit.Find(name))) continue;
    Rewrite rewrite = staged_edit.Change(name);
    GYRE_RETURN_IF_ERROR(edit(name, rewrite));
    GYRE_RETURN_IF_ERROR(staged_edit.Take(name, std::move(rewrite)));
  }
  return std::move(staged_edit).Finish();
}

absl::Status RewriteCalleesFirst(
    StagedEdit& staged_edit, const Effects& effects,
    const std::function<absl::Status(const std::string& name, const BodyFacts& body,
                                     Rewrite& rewrite)>& edit) {
  std::vector<std::string> names = staged_edit.CalleesFirst();
  names.push_back("");
  for (const std::string& name : names) {
    if (IsOpaque(name.empty() ? staged_edit.main() : *staged_edit.Find(name))) continue;
    Rewrite rewrite = staged_edit.Change(name);
    const BodyFacts body = ReadBody(rewrite.function(), effects, rewrite.run().feeds);
    GYRE_RETURN_IF_ERROR(edit(name, body, rewrite));
    GYRE_RETURN_IF_ERROR(staged_edit.Take(name, std::move(rewrite)));
  }
  return absl::OkStatus();
}

}  // namespace passes
}  // namespace gyre
