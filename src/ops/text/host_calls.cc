#include "absl/strings/str_cat.h"
#include "base/signals.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/host_functions.h"

namespace gyre {
namespace {

struct HostCallAttrs {
  explicit HostCallAttrs(const Node& node) : token(NodeAttr<std::string>(node, "token")) {}
  std::string token;
};

absl::Status CallHost(KernelContext& ctx, const HostCallAttrs& attrs) {
  const std::shared_ptr<const HostFunctions::Function> function =
      HostFunctions::Global().Find(attrs.token);
  if (function == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "no host function is registered under the token '", attrs.token,
        "': a graph names the functions of the program that wrote it, but does not contain them"));
  }
  std::vector<Tensor> arguments;
  for (int i = 0; i < ctx.num_inputs(); ++i) arguments.push_back(ctx.TakeInput(i));
  const auto call = [&] {
    const CallersSignals signals;
    return (*function)(arguments);
  };
  GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> results, call());
  GYRE_RETURN_IF_ERROR(ctx.Poll());  // nothing stops a function that runs
  if (static_cast<int>(results.size()) != ctx.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("host function '", attrs.token, "' returned ",
                                                   results.size(), " values instead of ",
                                                   ctx.num_outputs()));
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (!results[i].has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("host function '", attrs.token, "' returned no value as result ", i));
    }
    if (results[i].dtype() != ctx.output_dtype(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("host function '", attrs.token, "' returned ", DTypeName(results[i].dtype()),
                       " as result ", i, " instead of ", DTypeName(ctx.output_dtype(i))));
    }
    ctx.set_output(i, std::move(results[i]));
  }
  return absl::OkStatus();
}

void Add(OpRegistry& ops, absl::string_view schema, absl::string_view doc, Effect effect) {
  ops.Add({
      .schema = schema,
      .doc = doc,
      .traits = {.effect = effect, .calls_host = effect == Effect::kIo},
      .shape = shape::Unknown,
      .gradient = RefusesGradient("the engine cannot see into a host function"),
      .kernel = Compute<&CallHost>(),
  });
}

}  // namespace

void RegisterHostCalls(OpRegistry& ops) {
  Add(ops,
      "PyFunc(input: Tin) -> output: Tout "
      "{token: string; Tin: list(type) >= 0; Tout: list(type) >= 0}",
      "Calls a function of the host program, which may have effects.", Effect::kIo);
  Add(ops,
      "PyFuncStateless(input: Tin) -> output: Tout "
      "{token: string; Tin: list(type) >= 0; Tout: list(type) >= 0}",
      "Calls a function of the host program that has no effects.", Effect::kNone);
  Add(ops,
      "EagerPyFunc(input: Tin) -> output: Tout "
      "{token: string; is_async: bool = false; Tin: list(type) >= 0; Tout: list(type) >= 0}",
      "Calls a function of the host program that computes with tensors.", Effect::kIo);
}

}  // namespace gyre
