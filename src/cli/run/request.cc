#include "cli/run/request.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/defaults.h"
#include "cli/feed.h"
#include "cli/model/signature.h"
#include "session/names.h"

namespace gyre::cli {
namespace {

constexpr size_t kMostListed = 20;

std::string Listed(std::vector<std::string> items) {
  const size_t count = items.size();
  if (count > kMostListed) {
    items.resize(kMostListed);
    items.push_back(absl::StrCat("… and ", count - kMostListed, " more"));
  }
  return absl::StrCat("\n    ", absl::StrJoin(items, "\n    "));
}

// What to type when nothing was asked for.
absl::Status NothingAsked(const GraphOrModel& loaded) {
  if (loaded.model != nullptr && !loaded.model->signatures().empty()) {
    std::vector<std::string> names;
    for (const auto& [name, signature] : loaded.model->signatures()) names.push_back(name);
    return absl::InvalidArgumentError(
        absl::StrCat("say what to run: one of the model's signatures (--signature NAME),",
                     Listed(std::move(names)), "\n  or tensors of its graph (--fetch NAME)"));
  }
  const Program& program = loaded.session().program();
  std::string text = "nothing is fetched and no target is given";
  std::vector<std::string> feeds, fetches, targets;
  for (const NodeId id : Placeholders(program)) feeds.push_back(DescribeTensor(program, {id, 0}));
  for (const Endpoint& e : LikelyFetches(program)) fetches.push_back(DescribeTensor(program, e));
  for (const NodeId id : LikelyTargets(program)) targets.push_back(program.main().node(id).name);
  if (!feeds.empty())
    absl::StrAppend(&text, "\n  it can be fed (--feed NAME=VALUE):", Listed(feeds));
  if (!fetches.empty())
    absl::StrAppend(&text, "\n  nobody uses these values (--fetch NAME):", Listed(fetches));
  if (!targets.empty())
    absl::StrAppend(&text, "\n  nobody waits for these ops (--target OP):", Listed(targets));
  return absl::InvalidArgumentError(text);
}

absl::Status CheckOut(const Request& request) {
  if (request.out.empty()) return absl::OkStatus();
  if (absl::EndsWith(request.out, ".safetensors")) return absl::OkStatus();
  if (!absl::EndsWith(request.out, ".npy")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out ", request.out, ": the name must end in .npy or .safetensors"));
  }
  if (request.fetches.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--out ", request.out, ": an .npy file holds one tensor; use .safetensors for ",
                   request.fetches.size()));
}

// "NAME=VALUE" as NAME and VALUE.
absl::StatusOr<std::pair<std::string, std::string>> SplitFeed(const std::string& feed) {
  const size_t equals = feed.find('=');
  if (equals != std::string::npos && equals != 0)
    return std::make_pair(feed.substr(0, equals), feed.substr(equals + 1));
  return absl::InvalidArgumentError(absl::StrCat("--feed ", feed, ": NAME=VALUE is wanted"));
}

absl::StatusOr<Tensor> ReadNamedFeed(const std::string& name, const std::string& value, DType dtype,
                                     const PartialShape& shape) {
  absl::StatusOr<Tensor> tensor = ReadFeed(value, dtype, shape);
  if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("--feed ", name));
  return tensor;
}

absl::Status AddFeed(const Program& program, const MainNames& names, const std::string& feed,
                     Request& request) {
  GYRE_ASSIGN_OR_RETURN(const auto split, SplitFeed(feed));
  const auto& [name, value] = split;
  GYRE_ASSIGN_OR_RETURN(const Endpoint e, names.FindEndpoint(name));
  const Node& node = program.main().node(e.node);
  const DType dtype =
      e.slot < node.num_outputs() ? node.signature.outputs[e.slot].dtype : DType::kInvalid;
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, ReadNamedFeed(name, value, dtype, FedShape(node)));
  request.feeds.emplace_back(name, std::move(tensor));
  return absl::OkStatus();
}

// Inputs of a signature: those that are given, and defaults of others.
absl::Status AddInputs(const SavedModel::Signature& signature, const std::string& title,
                       const Arguments& arguments, Request& request) {
  SavedModel::Values values;
  for (const std::string& feed : arguments.All("--feed")) {
    GYRE_ASSIGN_OR_RETURN(const auto split, SplitFeed(feed));
    const auto& [name, value] = split;
    GYRE_ASSIGN_OR_RETURN(const auto* input,
                          FindNamed(signature.inputs, name, absl::StrCat(title, " has no input")));
    GYRE_ASSIGN_OR_RETURN(Tensor tensor, ReadNamedFeed(name, value, input->dtype, input->shape));
    if (!values.emplace(name, std::move(tensor)).second)
      return absl::InvalidArgumentError(absl::StrCat("--feed ", name, ": it is fed twice"));
  }
  for (const auto& [name, input] : signature.inputs) {
    const auto given = values.find(name);
    if (given == values.end() && !input.fallback) {
      return absl::InvalidArgumentError(
          absl::StrCat(title, " needs its input ", DescribeArgument(name, input.dtype, input.shape),
                       ": --feed ", name, "=VALUE"));
    }
    request.feeds.emplace_back(input.tensor,
                               given != values.end() ? given->second : *input.fallback);
  }
  return absl::OkStatus();
}

absl::StatusOr<Request> MakeSignatureRequest(const GraphOrModel& loaded, const std::string& name,
                                             const Arguments& arguments) {
  if (loaded.model == nullptr) {
    return absl::InvalidArgumentError(
        "--signature is for models: a folder with saved_model.pb, or NAME.meta");
  }
  if (arguments.Has("--target"))
    return absl::InvalidArgumentError("--target and --signature do not go together");
  GYRE_ASSIGN_OR_RETURN(const auto* signature,
                        FindNamed(loaded.model->signatures(), name, "the model has no signature"));
  const std::string title = absl::StrCat("signature '", name, "'");
  Request request;
  request.out = arguments.Get("--out").value_or("");
  request.names = arguments.List("--fetch");
  if (request.names.empty()) {
    for (const auto& [output, argument] : signature->outputs) request.names.push_back(output);
  }
  for (const std::string& output : request.names) {
    GYRE_ASSIGN_OR_RETURN(const auto* argument, FindNamed(signature->outputs, output,
                                                          absl::StrCat(title, " has no output")));
    request.fetches.push_back(argument->tensor);
  }
  GYRE_RETURN_IF_ERROR(CheckOut(request));
  GYRE_RETURN_IF_ERROR(AddInputs(*signature, title, arguments, request));
  return request;
}

}  // namespace

absl::StatusOr<Request> MakeRequest(const GraphOrModel& loaded, const Arguments& arguments) {
  if (const std::optional<std::string> name = arguments.Get("--signature"))
    return MakeSignatureRequest(loaded, *name, arguments);
  const Program& program = loaded.session().program();
  Request request{{},
                  arguments.List("--fetch"),
                  arguments.List("--target"),
                  arguments.Get("--out").value_or(""),
                  arguments.List("--fetch")};
  if (request.fetches.empty() && request.targets.empty()) return NothingAsked(loaded);
  const MainNames names(program);
  GYRE_RETURN_IF_ERROR(names.FindSignature({}, request.fetches, request.targets).status());
  GYRE_RETURN_IF_ERROR(CheckOut(request));
  for (const std::string& feed : arguments.All("--feed"))
    GYRE_RETURN_IF_ERROR(AddFeed(program, names, feed, request));
  return request;
}

}  // namespace gyre::cli
