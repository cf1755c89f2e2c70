#include "devices/cuda/kernels.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/copy.h"
#include "devices/cuda/elementwise.h"
#include "devices/cuda/moves.h"
#include "devices/cuda/products.h"
#include "devices/cuda/reductions.h"
#include "devices/cuda/softmax.h"
#include "devices/plumbing.h"

namespace gyre::cuda {

absl::StatusOr<Kernel> MakeKernel(const Node& node) {
  absl::StatusOr<Kernel> plumbing = MakePlumbingKernel(node, "CUDA");
  if (plumbing.ok()) return plumbing;
  for (const auto make : {&MakeElementwiseKernel, &MakeProductKernel, &MakeReductionKernel,
                          &MakeSoftmaxKernel, &MakeMoveKernel}) {
    if (MaybeKernel kernel = make(node)) return *std::move(kernel);
  }
  return plumbing;
}

absl::Status NoKernel(const Node& node, absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat("there is no kernel for ", node.op_name, " on CUDA devices: ", why));
}

absl::Status RunOnHost(KernelContext& ctx, const Kernel& host) {
  RunEnv env = ctx.env();
  env.allocator = nullptr;
  std::vector<Tensor> inputs, outputs(static_cast<size_t>(ctx.num_outputs()));
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.TakeInput(i));
  KernelContext on_host(ctx.node(), env, ctx.tag(), absl::MakeSpan(inputs),
                        absl::MakeSpan(outputs));
  GYRE_RETURN_IF_ERROR(host.run(on_host, host.attrs.get()));
  for (int i = 0; i < ctx.num_outputs(); ++i)
    ctx.set_output(i, std::move(outputs[static_cast<size_t>(i)]));
  return absl::OkStatus();
}

bool AreAllOnHost(const KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.input(i).device() != nullptr) return false;
  return true;
}

absl::StatusOr<Tensor> InputOnHost(const KernelContext& ctx, int i) {
  if (ctx.input(i).device() == nullptr) return ctx.input(i);
  GYRE_ASSIGN_OR_RETURN(const TensorCopy copy, CopyTensor(ctx.input(i), nullptr, ctx.env().budget));
  GYRE_RETURN_IF_ERROR(copy.done->Wait());
  return copy.value;
}

absl::StatusOr<uint64_t> AddressOf(const Tensor& value) {
  if (value.device() == nullptr && value.bytes() > 0)
    return BugError("an operand of a GPU's kernel is in the host's memory");
  return reinterpret_cast<uint64_t>(value.raw_data());
}

}  // namespace gyre::cuda
