#include "devices/cuda/elementwise.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fork.h"
#include "base/status.h"
#include "devices/cuda/stream.h"
#include "ops/elementwise_table.h"
#include "ops/math/broadcast.h"
#include "ops/registry.h"

namespace gyre::cuda {
namespace {

constexpr unsigned kThreads = 256;      // of a block
constexpr uint64_t kMostBlocks = 4096;  // each thread computes more than one element then

std::atomic<PtxMaker> the_maker{nullptr};

// One function of one element, with its modules on the GPUs that have called it. Thread-safe.
class Code {
 public:
  explicit Code(std::string ptx) : ptx_(std::move(ptx)) {}

  // Requirement: `gpu` is current.
  absl::StatusOr<FunctionHandle> On(const Gpu& gpu) {
    const std::lock_guard lock(mutex_);
    FunctionHandle& function = functions_[gpu.number()];
    if (function != nullptr) return function;
    ModuleHandle module = nullptr;
    GYRE_RETURN_IF_ERROR(
        gpu.Check("cuModuleLoadData", gpu.driver().ModuleLoadData(&module, ptx_.c_str())));
    GYRE_RETURN_IF_ERROR(
        gpu.Check("cuModuleGetFunction",
                  gpu.driver().ModuleGetFunction(&function, module, "gyre_elementwise")));
    return function;
  }

 private:
  const std::string ptx_;
  std::mutex mutex_;
  std::map<int, FunctionHandle> functions_;  // by the GPU's number; guarded by mutex_
};

// The code of each function that has been asked for, or why there is none. Thread-safe.
absl::StatusOr<std::shared_ptr<Code>> CodeOf(const ScalarCode& scalar,
                                             const std::vector<size_t>& input_bytes,
                                             size_t output_bytes) {
  using Made = absl::StatusOr<std::shared_ptr<Code>>;
  using Key = std::pair<const ScalarCode*, std::vector<size_t>>;
  static auto* const mutex = new std::mutex;
  static auto* const codes = new std::map<Key, Made>;  // guarded by *mutex
  Key key(&scalar, input_bytes);
  key.second.push_back(output_bytes);
  const NoFork no_fork;
  const std::lock_guard lock(*mutex);
  if (const auto it = codes->find(key); it != codes->end()) return it->second;
  const PtxMaker maker = the_maker.load();
  if (maker == nullptr) return absl::UnimplementedError("nothing generates them");
  const absl::StatusOr<std::string> ptx = maker(scalar, input_bytes, output_bytes);
  Made made = ptx.ok() ? Made(std::make_shared<Code>(*ptx)) : Made(ptx.status());
  return codes->emplace(std::move(key), std::move(made)).first->second;
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

// The table of a call, but for its output; and the result's shape.
absl::StatusOr<Shape> Describe(const KernelContext& ctx, ElementwiseTable& table) {
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
    if (value.device() == nullptr && value.bytes() > 0)
      return BugError("an operand of a GPU's kernel is in the host's memory");
    input.low = reinterpret_cast<uint64_t>(value.raw_data());
    if (value.shape() == plan.shape) continue;
    input.kind = ElementwiseTable::Input::kStrided;
    for (size_t d = 0; d < rank; ++d)
      input.strides[d] = static_cast<uint64_t>(plan.dims[rank - 1 - d].strides[i]);
  }
  return plan.shape;
}

absl::Status Launch(const Gpu& gpu, StreamHandle stream, Code& code, ElementwiseTable table) {
  GYRE_ASSIGN_OR_RETURN(const FunctionHandle function, code.On(gpu));
  void* parameters[] = {&table};
  const auto blocks =
      static_cast<unsigned>(std::min(kMostBlocks, (table.n + kThreads - 1) / kThreads));
  return gpu.Check("cuLaunchKernel", gpu.driver().LaunchKernel(function, blocks, 1, 1, kThreads, 1,
                                                               1, 0, stream, parameters, nullptr));
}

absl::Status Run(KernelContext& ctx, const void* attrs) {
  const auto& self = *static_cast<const Elementwise*>(attrs);
  bool is_hosts = true;
  for (int i = 0; i < ctx.num_inputs(); ++i) is_hosts &= IsHostScalar(ctx.input(i));
  if (is_hosts) return self.host.run(ctx, self.host.attrs.get());
  ElementwiseTable table;
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Describe(ctx, table));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(self.result, shape));
  if (table.n > 0) {
    if (result.device() == nullptr) return BugError("a GPU's kernel ran on another device");
    table.output = reinterpret_cast<uint64_t>(result.raw_data());
    auto& stream = static_cast<CudaStream&>(result.device()->stream(StreamUse::kCompute));
    const auto start = [&gpu = stream.gpu(), code = self.code, table](StreamHandle handle,
                                                                      CudaEvent&) {
      return Launch(gpu, handle, *code, table);
    };
    const EventPtr done = stream.Put({.start = start});
    if (done->HasHappened()) GYRE_RETURN_IF_ERROR(done->Wait());
    std::vector<Tensor> kept = {result};
    for (int i = 0; i < ctx.num_inputs(); ++i) kept.push_back(ctx.input(i));
    done->Then([kept = std::move(kept)](const absl::Status&) {});
  }
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

// Empty, or why a GPU could not be given the node whatever its function is.
std::string Objection(const Node& node) {
  if (!TheDriver().ok() || (*TheDriver())->LaunchKernel == nullptr ||
      (*TheDriver())->ModuleLoadData == nullptr || (*TheDriver())->ModuleGetFunction == nullptr)
    return "the driver runs none";
  const auto& [inputs, outputs] = std::tie(node.signature.inputs, node.signature.outputs);
  if (node.op == nullptr || !node.op->traits.elementwise || outputs.size() != 1 || inputs.empty() ||
      inputs.size() > ElementwiseTable::kMaxInputs)
    return "it is not elementwise";
  for (const auto* slots : {&inputs, &outputs}) {
    for (const NodeSignature::Slot& slot : *slots) {
      if (slot.is_ref || !IsTrivial(slot.dtype))
        return absl::StrCat("their memory holds no ", DTypeName(slot.dtype));
    }
  }
  return "";
}

}  // namespace

void UsePtxMaker(PtxMaker maker) { the_maker.store(maker); }

absl::StatusOr<Kernel> MakeElementwiseKernel(const Node& node) {
  const auto none = [&](absl::string_view why) {
    return absl::UnimplementedError(
        absl::StrCat("there is no kernel for ", node.op_name, " on CUDA devices: ", why));
  };
  if (const std::string why = Objection(node); !why.empty()) return none(why);
  GYRE_ASSIGN_OR_RETURN(Kernel host, Ops().MakeKernel(node));
  const size_t num_inputs = node.signature.inputs.size();
  if (host.run == nullptr || host.scalar == nullptr || (num_inputs > 1 && !host.scalar->broadcasts))
    return none("they are generated of functions of one element, and it has none");
  std::vector<size_t> input_bytes;
  for (const NodeSignature::Slot& slot : node.signature.inputs)
    input_bytes.push_back(DTypeSize(slot.dtype));
  const DType result = node.signature.outputs[0].dtype;
  absl::StatusOr<std::shared_ptr<Code>> code = CodeOf(*host.scalar, input_bytes, DTypeSize(result));
  if (!code.ok()) return none(code.status().message());
  auto attrs =
      std::make_shared<Elementwise>(Elementwise{std::move(host), result, *std::move(code)});
  return Kernel{.run = &Run, .attrs = std::move(attrs)};
}

}  // namespace gyre::cuda
