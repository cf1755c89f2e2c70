// The texts of the types of gyre/core/options.h.
#include "gyre/core/options.h"

#include <initializer_list>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

template <typename E>
using Names = std::initializer_list<std::pair<E, absl::string_view>>;

constexpr Names<EngineKind> kEngineNames = {{EngineKind::kDataflow, "dataflow"},
                                            {EngineKind::kReference, "reference"},
                                            {EngineKind::kCompiled, "compiled"}};
constexpr Names<ProgramForm> kFormNames = {{ProgramForm::kImported, "imported"},
                                           {ProgramForm::kRaised, "raised"},
                                           {ProgramForm::kRelowered, "relowered"},
                                           {ProgramForm::kReraised, "reraised"},
                                           {ProgramForm::kOptimized, "optimized"}};
constexpr Names<CompileMode> kCompileNames = {{CompileMode::kAuto, "auto"},
                                              {CompileMode::kAlways, "always"},
                                              {CompileMode::kNever, "never"},
                                              {CompileMode::kContract, "contract"}};
constexpr Names<Transport> kTransportNames = {
    {Transport::kAuto, "auto"}, {Transport::kTcp, "tcp"}, {Transport::kSharedMemory, "memory"}};

template <typename E>
std::string NameOf(E value, Names<E> names) {
  for (const auto& [known, name] : names)
    if (known == value) return std::string(name);
  return absl::StrCat(static_cast<int>(value));
}

template <typename E>
absl::StatusOr<E> Parse(absl::string_view text, absl::string_view kind, Names<E> names) {
  std::string all;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    absl::StrAppend(&all, all.empty() ? "" : ", ", name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no ", kind, " called '", text, "'; there is ", all));
}

}  // namespace

std::string to_string(EngineKind engine) { return NameOf(engine, kEngineNames); }
absl::StatusOr<EngineKind> ParseEngineKind(absl::string_view text) {
  return Parse(text, "engine", kEngineNames);
}

std::string to_string(ProgramForm form) { return NameOf(form, kFormNames); }
absl::StatusOr<ProgramForm> ParseProgramForm(absl::string_view text) {
  return Parse(text, "form", kFormNames);
}

std::string to_string(CompileMode mode) { return NameOf(mode, kCompileNames); }
absl::StatusOr<CompileMode> ParseCompileMode(absl::string_view text) {
  return Parse(text, "way of compiling", kCompileNames);
}

std::string to_string(Transport transport) { return NameOf(transport, kTransportNames); }
absl::StatusOr<Transport> ParseTransport(absl::string_view text) {
  return Parse(text, "transport", kTransportNames);
}

std::string to_string(const MemoryPolicy& policy) {
  switch (policy.kind()) {
    case MemoryPolicy::Kind::kRecompute:
      return absl::StrCat("recompute(", policy.amount(), ")");
    case MemoryPolicy::Kind::kCheckpoint:
      return absl::StrCat("checkpoint(", policy.amount(), ")");
    case MemoryPolicy::Kind::kSave:
      break;
  }
  return "save";
}
absl::StatusOr<MemoryPolicy> ParseMemoryPolicy(absl::string_view text) {
  if (text.empty() || text == "save") return MemoryPolicy();
  const auto amount_of = [text](absl::string_view name) -> int64_t {
    int64_t amount = 0;
    const bool fits =
        absl::StartsWith(text, name) && absl::EndsWith(text, ")") &&
        absl::SimpleAtoi(text.substr(name.size(), text.size() - name.size() - 1), &amount);
    return fits ? amount : 0;
  };
  if (const int64_t iterations = amount_of("recompute("); iterations >= 1)
    return MemoryPolicy::Recompute(iterations);
  if (const int64_t bytes = amount_of("checkpoint("); bytes >= 1)
    return MemoryPolicy::Checkpoint(bytes);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is no memory policy; there is save, recompute(ITERATIONS) and "
                   "checkpoint(BYTES), with numbers of at least 1"));
}

absl::Status CheckMemoryPolicy(const MemoryPolicy& policy) {
  if (policy.IsSound()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the number of a memory policy is at least 1: ", to_string(policy)));
}
}  // namespace gyre
