#include "devices/cuda/elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fork.h"
#include "base/status.h"
#include "devices/cuda/code.h"
#include "devices/cuda/cuda_device.h"
#include "ops/elementwise_table.h"
#include "ops/math/broadcast.h"
#include "ops/registry.h"

namespace gyre::cuda {
namespace {

constexpr unsigned kThreads = 256;      // of a block
constexpr uint64_t kMostBlocks = 4096;  // each thread computes more than one element then

// The code of each function that has been asked for, or why there is none: what `make` makes under
// this name. Thread-safe.
template <typename Make>
absl::StatusOr<std::shared_ptr<Code>> CodeOf(const ScalarCode* scalar, std::string name,
                                             const Make& make) {
  using Made = absl::StatusOr<std::shared_ptr<Code>>;
  static auto* const mutex = new std::mutex;
  using Key = std::pair<const ScalarCode*, std::string>;
  static auto* const codes = new std::map<Key, Made>;  // guarded by *mutex
  Key key(scalar, std::move(name));
  const NoFork no_fork;
  const std::lock_guard lock(*mutex);
  if (const auto it = codes->find(key); it != codes->end()) return it->second;
  const absl::StatusOr<std::string> ptx = make();
  Made made =
      ptx.ok() ? Made(std::make_shared<Code>(*ptx, "gyre_elementwise")) : Made(ptx.status());
  return codes->emplace(std::move(key), std::move(made)).first->second;
}

// Of a node whose kernel has this function; or of one whose function on the host is vector code, if
// one is written for GPUs.
absl::StatusOr<std::shared_ptr<Code>> CodeOf(const Node& node, const ScalarCode& scalar) {
  const PtxMaker& maker = ThePtxMaker();
  if (maker.of_code == nullptr) return absl::UnimplementedError("nothing generates them");
  std::vector<size_t> input_bytes;
  for (const NodeSignature::Slot& slot : node.signature.inputs)
    input_bytes.push_back(DTypeSize(slot.dtype));
  const DType result = node.signature.outputs[0].dtype;
  const size_t output_bytes = DTypeSize(result);
  const auto code =
      CodeOf(&scalar, absl::StrCat(absl::StrJoin(input_bytes, ","), ":", output_bytes),
             [&] { return maker.of_code(scalar, input_bytes, output_bytes); });
  if (code.ok()) return code;
  const std::string function = absl::StrCat("gyre_scalar_", node.op_name, "_", DTypeName(result));
  const auto written = CodeOf(
      nullptr, function, [&] { return maker.of_function(function, input_bytes, output_bytes); });
  return written.ok() ? written : code;
}

// What one node's kernel works with.
struct Elementwise {
  Kernel host;  // for scalars, which are the host's
  DType result;
  std::shared_ptr<Code> code;
};

bool IsHostScalar(const Tensor& value) {
  return value.shape().IsScalar() && value.device() == nullptr;
}

void SetValue(const Tensor& scalar, ElementwiseTable::Input& input) {
  input.kind = ElementwiseTable::Input::kValue;
  uint64_t words[2] = {};
  std::memcpy(words, scalar.raw_data(), std::min(sizeof(words), scalar.bytes()));
  input.low = words[0];
  input.high = words[1];
}

// The shape of all operands that are no scalars; null: there are several.
const Shape* CommonShape(const KernelContext& ctx) {
  const Shape* common = nullptr;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Tensor& value = ctx.input(i);
    if (IsHostScalar(value)) continue;
    if (common != nullptr && value.shape() != *common) return nullptr;
    common = &value.shape();
  }
  return common;
}

bool HaveOneShape(const KernelContext& ctx) {
  for (int i = 1; i < ctx.num_inputs(); ++i)
    if (ctx.input(i).shape() != ctx.input(0).shape()) return false;
  return true;
}

// Placed where the GPU can use them: kept until the kernel has been launched.
using Placed = std::array<Tensor, ElementwiseTable::kMaxInputs>;

// The table of a call, but for its output; and the result's shape. Some operand is no scalar.
absl::StatusOr<Shape> Describe(const KernelContext& ctx, CudaDevice& device, Placed& there,
                               ElementwiseTable& table) {
  const auto address = [&](int i) -> absl::StatusOr<uint64_t> {
    GYRE_ASSIGN_OR_RETURN(there[static_cast<size_t>(i)], device.There(ctx, ctx.input(i)));
    return AddressOf(there[static_cast<size_t>(i)]);
  };
  if (const Shape* const shape = CommonShape(ctx)) {
    table.n = static_cast<uint64_t>(shape->num_elements());
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (IsHostScalar(ctx.input(i))) {
        SetValue(ctx.input(i), table.inputs[i]);
      } else {
        GYRE_ASSIGN_OR_RETURN(table.inputs[i].low, address(i));
      }
    }
    return *shape;
  }
  std::vector<const Shape*> shapes;
  for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(&ctx.input(i).shape());
  GYRE_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast(shapes));
  const size_t rank = plan.dims.size();
  if (rank > ElementwiseTable::kMaxDims) {
    return absl::UnimplementedError(absl::StrCat("broadcasts of more than ",
                                                 ElementwiseTable::kMaxDims,
                                                 " dimensions are not computed on CUDA devices"));
  }
  table.n = static_cast<uint64_t>(plan.shape.num_elements());
  table.rank = rank;
  for (size_t d = 0; d < rank; ++d)
    table.sizes[d] = static_cast<uint64_t>(plan.dims[rank - 1 - d].size);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    ElementwiseTable::Input& input = table.inputs[i];
    const Tensor& value = ctx.input(i);
    if (IsHostScalar(value)) {
      SetValue(value, input);
      continue;
    }
    GYRE_ASSIGN_OR_RETURN(input.low, address(i));
    if (value.shape() == plan.shape) continue;
    input.kind = ElementwiseTable::Input::kStrided;
    for (size_t d = 0; d < rank; ++d)
      input.strides[d] = static_cast<uint64_t>(plan.dims[rank - 1 - d].strides[i]);
  }
  return plan.shape;
}

absl::Status Run(KernelContext& ctx, const void* attrs) {
  const auto& self = *static_cast<const Elementwise*>(attrs);
  bool are_scalars = true, are_hosts = true;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    are_scalars &= IsHostScalar(ctx.input(i));
    are_hosts &= ctx.input(i).device() == nullptr;
  }
  if (are_scalars) return self.host.run(ctx, self.host.attrs.get());
  if (are_hosts) return RunOnHost(ctx, self.host);
  if (!self.host.scalar->broadcasts && ctx.num_inputs() > 1 && !HaveOneShape(ctx)) {
    // It says what is wrong with the shapes, before it looks at an element.
    GYRE_RETURN_IF_ERROR(self.host.run(ctx, self.host.attrs.get()));
    return BugError(absl::StrCat(ctx.node().op_name, " takes operands of several shapes"));
  }
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  ElementwiseTable table;
  Placed there;
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Describe(ctx, *device, there, table));
  GYRE_ASSIGN_OR_RETURN(Tensor result, device->MakeResult(ctx, self.result, shape));
  if (table.n > 0) {
    table.output = reinterpret_cast<uint64_t>(result.raw_data());
    const Grid grid = {
        .blocks = static_cast<unsigned>(std::min(kMostBlocks, (table.n + kThreads - 1) / kThreads)),
        .threads = kThreads};
    GYRE_RETURN_IF_ERROR(Code::Launch(device->compute(), self.code, grid, table));
  }
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

// Empty, or why a GPU could not be given the node whatever its function is.
std::string Objection(const Node& node) {
  if (!RunsKernels()) return "the driver runs none";
  const auto& [inputs, outputs] = std::tie(node.signature.inputs, node.signature.outputs);
  if (outputs.size() != 1 || inputs.empty() || inputs.size() > ElementwiseTable::kMaxInputs)
    return "it has too many operands";
  for (const auto* slots : {&inputs, &outputs}) {
    for (const NodeSignature::Slot& slot : *slots) {
      if (slot.is_ref || !IsTrivial(slot.dtype))
        return absl::StrCat("their memory holds no ", DTypeName(slot.dtype));
    }
  }
  return "";
}

}  // namespace

MaybeKernel MakeElementwiseKernel(const Node& node) {
  if (node.op == nullptr || !node.op->traits.elementwise) return std::nullopt;
  if (const std::string why = Objection(node); !why.empty()) return NoKernel(node, why);
  absl::StatusOr<Kernel> host = Ops().MakeKernel(node);
  if (!host.ok()) return host.status();
  if (host->run == nullptr || host->scalar == nullptr)
    return NoKernel(node, "they are generated of functions of one element, and it has none");
  absl::StatusOr<std::shared_ptr<Code>> code = CodeOf(node, *host->scalar);
  if (!code.ok()) return NoKernel(node, code.status().message());
  auto attrs = std::make_shared<Elementwise>(
      Elementwise{*std::move(host), node.signature.outputs[0].dtype, *std::move(code)});
  return Kernel{.run = &Run, .attrs = std::move(attrs)};
}

}  // namespace gyre::cuda
