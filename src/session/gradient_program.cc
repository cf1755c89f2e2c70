#include "session/gradient_program.h"

#include <utility>

#include "base/out_of_memory.h"
#include "base/status.h"
#include "grad/gradients.h"
#include "ir/builder.h"
#include "passes/raise/raise.h"
#include "passes/staged.h"
#include "session/names.h"

namespace gyre {
namespace {

// The program as far as ys and xs need it, with If and While.
absl::StatusOr<Staged> StageAndRaise(std::shared_ptr<const Program> program,
                                     const NamedGradientRequest& request) {
  std::vector<std::string> fetches = request.ys;
  fetches.insert(fetches.end(), request.xs.begin(), request.xs.end());
  GYRE_ASSIGN_OR_RETURN(RunSignature signature,
                        MainNames(*program).FindSignature(request.feeds, fetches));
  return Raise(MakeStaged(std::move(program), std::move(signature)));
}

std::shared_ptr<const Program> AddGradYs(const Program& program, const NamedGradientRequest& named,
                                         GradientRequest& request) {
  FunctionBuilder main(program.ops(), program.main());
  for (const std::optional<Tensor>& value : named.grad_ys) {
    request.grad_ys.emplace_back();
    if (value) request.grad_ys.back() = main.Constant(*value, {.name = "gradients/grad_y"});
  }
  return ProgramBuilder(program).SetMain(main.Build()).Build();
}

absl::StatusOr<GradientProgram> Make(std::shared_ptr<const Program> program,
                                     const NamedGradientRequest& named) {
  if (named.order < 1) return absl::InvalidArgumentError("the order of a gradient is at least 1");
  GYRE_ASSIGN_OR_RETURN(const Staged staged, StageAndRaise(std::move(program), named));
  const std::vector<Endpoint>& fetches = staged.signature.fetches;
  const size_t num_ys = named.ys.size();
  GradientRequest request;
  request.ys.assign(fetches.begin(), fetches.begin() + num_ys);
  request.xs.assign(fetches.begin() + num_ys, fetches.end());
  request.memory = named.memory;
  GradientResult result;
  result.program = AddGradYs(*staged.program, named, request);
  for (int64_t order = 1; order <= named.order; ++order) {
    GYRE_ASSIGN_OR_RETURN(result, DenseGradients(result.program, request));
    request.ys.clear();
    request.grad_ys.clear();
    for (const auto& gradient : result.gradients) {
      if (gradient) request.ys.push_back(gradient->values);
    }
  }
  GradientProgram made;
  made.program = std::move(result.program);
  const Function& main = made.program->main();
  for (const Endpoint& feed : staged.signature.feeds) made.feeds.push_back(main.EndpointName(feed));
  for (const NodeId target : staged.signature.targets)
    made.targets.push_back(main.node(target).name);
  for (size_t i = 0; i < num_ys; ++i) made.ys.push_back(main.EndpointName(fetches[i]));
  for (const auto& gradient : result.gradients) {
    made.gradients.emplace_back();
    if (gradient) made.gradients.back() = main.EndpointName(gradient->values);
  }
  made.why_not = std::move(result.why_not);
  return made;
}

}  // namespace

absl::StatusOr<GradientProgram> MakeGradientProgram(std::shared_ptr<const Program> program,
                                                    const NamedGradientRequest& named) {
  return CatchOutOfMemory("these gradients", [&] { return Make(std::move(program), named); });
}

}  // namespace gyre
