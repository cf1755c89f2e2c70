// Kernels of CUDA devices: what is generated of all ops and types that have a function of single
// elements; and, where there is a GPU, that they give the bits of the CPU's kernels.
#include <bit>
#include <cfloat>
#include <cmath>
#include <map>

#include "compiled/library.h"
#include "devices/conformance/device.h"
#include "devices/cuda/code.h"
#include "fake_cuda/load.h"
#include "ops/evaluate.h"
#include "ops/registry.h"

namespace gyre::testing {
namespace {

const bool driver_is_loaded = (LoadFakeCudaIfNeeded(), true);

// Nodes of `op`, of each choice of these types that it has.
std::vector<Node> NodesOf(const OpDef& op, const std::vector<DType>& dtypes) {
  std::vector<AttrMap> choices(1);
  for (const AttrDef& attr : op.attrs) {
    if (attr.kind != AttrKind::kType || attr.is_list) continue;
    std::vector<AttrMap> more;
    for (const AttrMap& choice : choices) {
      for (const DType dtype : dtypes) {
        more.push_back(choice);
        more.back().Set(attr.name, dtype);
      }
    }
    choices = std::move(more);
  }
  std::vector<Node> nodes;
  for (AttrMap& attrs : choices) {
    Node node;
    node.id = 0;
    node.name = "node";
    node.op_name = op.name;
    node.op = &op;
    auto signature = ResolveSignature(op, attrs);
    if (!signature.ok()) continue;
    node.attrs = std::move(attrs);
    node.signature = *std::move(signature);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string TypesOf(const Node& node) {
  std::string text = node.op_name;
  for (const auto& input : node.signature.inputs)
    absl::StrAppend(&text, " ", DTypeName(input.dtype));
  return text;
}

std::vector<DType> AllTypes() {
  std::vector<DType> all;
  for (int d = 1; d <= static_cast<int>(DType::kUint64); ++d) all.push_back(static_cast<DType>(d));
  return all;
}

// The PTX of those types that differ most, by op and types; not that of none.
std::map<std::string, std::string> AllPtx() {
  std::map<std::string, std::string> made;
  for (const OpDef* op : Ops().All()) {
    if (!op->traits.elementwise) continue;
    for (const Node& node : NodesOf(*op, {DType::kFloat, DType::kInt32, DType::kBool})) {
      const auto kernel = Ops().MakeKernel(node);
      const size_t num_inputs = node.signature.inputs.size();
      if (!kernel.ok() || kernel->scalar == nullptr || num_inputs == 0 || num_inputs > 3) continue;
      std::vector<size_t> bytes;
      for (const auto& input : node.signature.inputs) bytes.push_back(DTypeSize(input.dtype));
      const auto ptx =
          compiled::ScalarPtx(*kernel->scalar, bytes, DTypeSize(node.signature.outputs[0].dtype));
      if (ptx.ok()) {
        made[TypesOf(node)] = *ptx;
      } else {
        EXPECT_THAT(ptx.status().code(), absl::StatusCode::kUnimplemented) << ptx.status();
      }
    }
  }
  return made;
}

// Whether an op's function is one of the C library's that are written for GPUs: see
// compiled/gpu/math.h. `what` begins with its name.
bool IsWrittenForGpus(absl::string_view what) {
  const absl::string_view op = what.substr(0, what.find(' '));
  for (const absl::string_view each : {"Exp", "Log", "Tanh", "Sigmoid", "Expm1", "Log1p", "Sinh",
                                       "Cosh", "Erf", "Erfc", "Softplus", "SoftplusGrad", "Elu",
                                       "Selu", "Softsign", "Xlogy", "Xlog1py", "Xdivy", "Expint"})
    if (op == each) return true;
  return false;
}

// What rounds does so to nearest, and twice where the CPU does.
TEST(CudaKernels, AreGeneratedOfWhatAGpuComputesAsTheProcessorDoes) {
  const auto ptx = AllPtx();
  if (ptx.empty()) GTEST_SKIP() << "this build has no code generator";
  for (const auto& [what, text] : ptx) {
    for (const char* never : {"fma.rn.f32", ".approx", ".ftz", ".extern"})
      EXPECT_EQ(text.find(never), std::string::npos) << what << ": " << never;
    // Written for GPUs are functions that are computed as doubles.
    EXPECT_TRUE(text.find("fma.rn.f64") == std::string::npos || IsWrittenForGpus(what)) << what;
  }
  for (const auto& [what, instruction] :
       std::map<std::string, std::string>{{"AddV2 float32 float32", "add.rn.f32"},
                                          {"Mul float32 float32", "mul.rn.f32"},
                                          {"RealDiv float32 float32", "div.rn.f32"},
                                          {"Sqrt float32", "sqrt.rn.f32"},
                                          {"Sub int32 int32", "sub.s32"},
                                          {"Less float32 float32", "setp.lt.f32"},
                                          {"Floor float32", "cvt.rmi.f32.f32"},
                                          {"SelectV2 bool float32 float32", "st.global"},
                                          {"OnesLike float32", "st.global"},
                                          {"Cast int32", "st.global"}}) {
    const auto it = ptx.find(what);
    ASSERT_NE(it, ptx.end()) << what;
    EXPECT_NE(it->second.find(instruction), std::string::npos) << what << ": " << instruction;
  }
  for (const char* host :
       {"Exp float32", "Tanh float32", "FloorMod float32 float32", "FloorDiv int32 int32"})
    EXPECT_EQ(ptx.count(host), 0u) << host;
  RecordProperty("kernels", static_cast<int>(ptx.size()));
}

bool IsNan(const Tensor& value, int64_t i) {
  switch (value.dtype()) {
    case DType::kFloat:
      return std::isnan(value.values<float>()[i]);
    case DType::kDouble:
      return std::isnan(value.values<double>()[i]);
    case DType::kHalf:
      return std::isnan(static_cast<float>(value.values<Half>()[i]));
    case DType::kBfloat16:
      return std::isnan(static_cast<float>(value.values<BFloat16>()[i]));
    default:
      return false;
  }
}

// Alike but for which NaN a NaN is.
bool IsAlike(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (IsComplex(a.dtype())) {
    // As so many floats.
    const DType part = a.dtype() == DType::kComplex64 ? DType::kFloat : DType::kDouble;
    const auto parts = [part](const Tensor& t) {
      return Tensor::External(part, Shape::Vector(2 * t.num_elements()),
                              const_cast<void*>(t.raw_data()), nullptr);
    };
    return IsAlike(parts(a), parts(b));
  }
  const size_t size = DTypeSize(a.dtype());
  const char* const x = static_cast<const char*>(a.raw_data());
  const char* const y = static_cast<const char*>(b.raw_data());
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    if (std::memcmp(x + i * size, y + i * size, size) == 0) continue;
    if (!IsNan(a, i) || !IsNan(b, i)) return false;
  }
  return true;
}

// The numbers in order, as integers: neighbours are one apart.
int64_t Place(const Tensor& value, int64_t i) {
  const auto ordered = [](int64_t bits, int64_t sign) { return bits < 0 ? sign - bits : bits; };
  switch (value.dtype()) {
    case DType::kFloat:
      return ordered(std::bit_cast<int32_t>(value.values<float>()[i]), INT32_MIN);
    case DType::kDouble:
      return ordered(std::bit_cast<int64_t>(value.values<double>()[i]), INT64_MIN);
    default: {
      int16_t bits;
      std::memcpy(&bits, static_cast<const char*>(value.raw_data()) + 2 * i, sizeof(bits));
      return ordered(bits, INT16_MIN);
    }
  }
}

// Whether it is no normal number: the host's vector code may make 0 of those.
bool IsTiny(const Tensor& value, int64_t i) {
  if (value.dtype() == DType::kFloat) return std::fabs(value.values<float>()[i]) < FLT_MIN;
  return value.dtype() == DType::kDouble && std::fabs(value.values<double>()[i]) < DBL_MIN;
}

// Functions of the host are within an ulp or two of what they should be, and those of GPUs, too.
bool IsNear(const Tensor& a, const Tensor& b) {
  constexpr int64_t kMostApart = 6;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    if ((IsNan(a, i) && IsNan(b, i)) || (IsTiny(a, i) && IsTiny(b, i))) continue;
    const int64_t x = Place(a, i), y = Place(b, i);
    if (IsNan(a, i) != IsNan(b, i) || (x > y ? x - y : y - x) > kMostApart) return false;
  }
  return true;
}

// Drawn bits, and some that are special: zeros, ones, the least and the largest.
Tensor Operand(DType dtype, const Shape& shape, uint32_t seed) {
  Tensor value = *Tensor::Make(dtype, shape);
  const Tensor noise = Noise(dtype, std::max<int64_t>(shape.num_elements(), 1), seed);
  auto* const bytes = static_cast<unsigned char*>(value.mutable_raw_data());
  std::memcpy(bytes, noise.raw_data(), value.bytes());
  const size_t size = DTypeSize(dtype);
  for (size_t i = 0; i + size <= value.bytes(); i += size) {
    if (dtype == DType::kBool) {
      bytes[i] &= 1;
    } else if (bytes[i] % 5 == 0) {  // small numbers, or next to zero
      std::memset(bytes + i, bytes[i] % 2 == 0 ? 0 : 0xFF, size);
      bytes[i] = static_cast<unsigned char>(seed + i);
    } else if (bytes[i] % 7 == 0 && (dtype == DType::kFloat || dtype == DType::kDouble)) {
      const float number = static_cast<float>(bytes[i + 1]) / 8 - 16;
      if (dtype == DType::kFloat) std::memcpy(bytes + i, &number, sizeof(number));
      const double twice = number;
      if (dtype == DType::kDouble) std::memcpy(bytes + i, &twice, sizeof(twice));
    }
  }
  return value;
}

absl::StatusOr<Tensor> OnDevice(Device& device, const Node& node, const Kernel& kernel,
                                const std::vector<Tensor>& inputs) {
  std::vector<Tensor> there;
  for (const Tensor& input : inputs)
    there.push_back(NeedsCopy(input, &device) ? Copied(input, &device) : input);
  std::vector<Tensor> outputs(1);
  RunEnv env;
  env.allocator = &device.allocator();
  KernelContext ctx(node, env, {}, absl::MakeSpan(there), absl::MakeSpan(outputs));
  GYRE_RETURN_IF_ERROR(kernel.run(ctx, kernel.attrs.get()));
  there.clear();
  return NeedsCopy(outputs[0], nullptr) ? Copied(outputs[0], nullptr) : outputs[0];
}

TEST(CudaKernels, GiveTheBitsOfTheCpus) {
  const DeviceType& type = *FindDeviceType("CUDA");
  if (type.count() == 0) GTEST_SKIP() << "this machine has no CUDA devices";
  if (const auto code = cuda::LibraryCode("gyre_move_4"); !code.ok()) GTEST_SKIP() << code.status();
  Device& device = **LocalDevice(DeviceName::Local("CUDA", 0));
  // The fake driver takes its time.
  const bool is_fake = FakeCudaFunction<void()>("FakeCudaReset") != nullptr;
  const Shape scalar, vector = Shape::Vector(is_fake ? 301 : 3001), none = Shape::Vector(0),
                      matrix = Shape::Trusted(Dims{40, 25}), row = Shape::Vector(25),
                      column = Shape::Trusted(Dims{40, 1}), cube = Shape::Trusted(Dims{3, 1, 7, 5}),
                      part = Shape::Trusted(Dims{4, 1, 5});
  const std::vector<std::vector<Shape>> shapes = {
      {vector, vector, vector}, {vector, scalar, vector}, {scalar, vector, scalar},
      {matrix, row, column},    {column, row, matrix},    {cube, part, scalar},
      {none, scalar, none},     {scalar, scalar, scalar}};
  int kernels = 0, compared = 0;
  uint32_t seed = 1;
  for (const OpDef* op : Ops().All()) {
    if (!op->traits.elementwise || op->traits.forwards) continue;
    for (const Node& node : NodesOf(*op, AllTypes())) {
      const absl::StatusOr<Kernel> kernel = type.kernel(node);
      if (!kernel.ok()) {
        EXPECT_TRUE(absl::IsUnimplemented(kernel.status())) << kernel.status();
        continue;
      }
      ++kernels;
      for (const std::vector<Shape>& of : shapes) {
        std::vector<Tensor> inputs;
        for (size_t i = 0; i < node.signature.inputs.size(); ++i)
          inputs.push_back(Operand(node.signature.inputs[i].dtype, of[i], ++seed));
        RunEnv env;
        const auto want = EvaluateNode(Ops(), node, inputs, env);
        const auto got = OnDevice(device, node, *kernel, inputs);
        ASSERT_EQ(want.ok(), got.ok()) << TypesOf(node) << want.status() << got.status();
        if (!want.ok()) continue;
        ++compared;
        EXPECT_TRUE(IsWrittenForGpus(node.op_name + " ") && IsFloating((*want)[0].dtype())
                        ? IsNear((*want)[0], *got)
                        : IsAlike((*want)[0], *got))
            << TypesOf(node) << " " << of[0].ToString();
      }
    }
  }
  std::cout << kernels << " kernels, " << compared << " calls\n";
  EXPECT_GT(kernels, 100);
}

// Shapes that do not fit are the same error.
TEST(CudaKernels, FailAsTheCpus) {
  const DeviceType& type = *FindDeviceType("CUDA");
  if (type.count() == 0 || !cuda::LibraryCode("gyre_move_4").ok())
    GTEST_SKIP() << "there is no CUDA device, or no code generator";
  Device& device = **LocalDevice(DeviceName::Local("CUDA", 0));
  const std::vector<Tensor> inputs = {Noise(DType::kFloat, 3, 1), Noise(DType::kFloat, 4, 1)};
  const Node node = *MakeNode(Ops(), "AddV2", inputs);
  RunEnv env;
  const auto want = EvaluateNode(Ops(), node, inputs, env);
  const auto got = OnDevice(device, node, *type.kernel(node), inputs);
  EXPECT_EQ(want.status(), got.status());
  // One kernel after the other, without a look at what comes between.
  Tensor sum = Copied(inputs[0], &device);
  const Kernel add = *type.kernel(*MakeNode(Ops(), "AddV2", {inputs[0], inputs[0]}));
  for (int i = 0; i < 20; ++i) {
    std::vector<Tensor> operands = {sum, sum}, outputs(1);
    RunEnv there;
    there.allocator = &device.allocator();
    KernelContext ctx(node, there, {}, absl::MakeSpan(operands), absl::MakeSpan(outputs));
    ASSERT_TRUE(add.run(ctx, add.attrs.get()).ok());
    sum = outputs[0];
  }
  Tensor expected = inputs[0];
  for (int i = 0; i < 20; ++i) expected = (*EvaluateOp("AddV2", {expected, expected}))[0];
  EXPECT_TRUE(IsAlike(expected, Copied(sum, nullptr)));
  const absl::Status done = device.stream(StreamUse::kCompute).Record()->Wait();
  EXPECT_TRUE(done.ok()) << done;
}

}  // namespace
}  // namespace gyre::testing
