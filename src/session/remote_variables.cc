#include "session/remote_variables.h"

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/builder.h"
#include "place/state_homes.h"
#include "session/variables.h"

namespace gyre {
namespace {

// Names of the i-th variable's nodes.
std::string HandleName(size_t i) { return absl::StrCat("handle_", i); }
std::string AskName(size_t i) { return absl::StrCat("is_initialized_", i); }
std::string ReadName(size_t i) { return absl::StrCat("read_", i); }
std::string ValueName(size_t i) { return absl::StrCat("value_", i); }
std::string AssignName(size_t i) { return absl::StrCat("assign_", i); }

// Asks for the i-th variable, reads it and assigns a value to it that is fed.
absl::Status AddVariable(const ProgramVariable& variable, const std::string& device, size_t i,
                         FunctionBuilder& main) {
  AttrMap where;
  where.Set("container", variable.container);
  where.Set("shared_name", variable.name);
  where.Set("dtype", variable.dtype);
  where.Set("shape", variable.shape);
  AttrMap dtype;
  dtype.Set("dtype", variable.dtype);
  GYRE_ASSIGN_OR_RETURN(
      const Endpoint handle,
      main.Add1("VarHandleOp", {}, where, {.name = HandleName(i), .device = device}));
  GYRE_RETURN_IF_ERROR(main.Add("VarIsInitializedOp", {handle}, {}, {.name = AskName(i)}).status());
  GYRE_RETURN_IF_ERROR(main.Add("ReadVariableOp", {handle}, dtype, {.name = ReadName(i)}).status());
  GYRE_ASSIGN_OR_RETURN(const Endpoint value,
                        main.Add1("Placeholder", {}, dtype, {.name = ValueName(i)}));
  return main.Add("AssignVariableOp", {handle, value}, dtype, {.name = AssignName(i)}).status();
}

// A session on the same workers, whose program has the nodes of AddVariable for each of `names`.
absl::StatusOr<std::unique_ptr<Session>> SessionFor(const Session& session,
                                                    absl::Span<const std::string> names) {
  const Program& program = session.program();
  const std::map<std::string, ProgramVariable> known = ProgramVariables(program);
  const auto homes = place::HomesOfState(program);
  FunctionBuilder main(program.ops(), "");
  for (size_t i = 0; i < names.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const ProgramVariable variable, FindProgramVariable(known, names[i]));
    const auto home = homes.find(place::StateName(variable.container, variable.name));
    GYRE_RETURN_IF_ERROR(AddVariable(variable, home == homes.end() ? "" : home->second, i, main));
  }
  return session.WithProgram(ProgramBuilder(program.ops()).SetMain(main.Build()).Build());
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> ReadRemoteVariables(const Session& session,
                                                        absl::Span<const std::string> names) {
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> reader, SessionFor(session, names));
  std::vector<std::string> questions;
  for (size_t i = 0; i < names.size(); ++i) questions.push_back(AskName(i));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> answers, reader->Run({}, questions));
  std::vector<std::string> reads;
  for (size_t i = 0; i < names.size(); ++i) {
    if (answers[i].scalar<bool>()) reads.push_back(ReadName(i));
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> found, reader->Run({}, reads));
  std::vector<Tensor> values(names.size());
  auto next = found.begin();
  for (size_t i = 0; i < names.size(); ++i) {
    if (answers[i].scalar<bool>()) values[i] = *next++;
  }
  return values;
}

absl::Status AssignRemoteVariables(const Session& session,
                                   absl::Span<const std::pair<std::string, Tensor>> values) {
  const std::map<std::string, ProgramVariable> known = ProgramVariables(session.program());
  std::vector<std::string> names, assigns;
  Feeds feeds;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [name, value] = values[i];
    GYRE_ASSIGN_OR_RETURN(const ProgramVariable variable, FindProgramVariable(known, name));
    GYRE_RETURN_IF_ERROR(CheckValue(name, variable.dtype, variable.shape, value));
    names.push_back(name);
    assigns.push_back(AssignName(i));
    feeds.emplace_back(ValueName(i), value);
  }
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> writer, SessionFor(session, names));
  return writer->Run(feeds, {}, assigns).status();
}

}  // namespace gyre
