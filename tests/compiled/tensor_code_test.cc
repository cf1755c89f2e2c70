// Native code of single ops on small tensors: the bits of their kernels, for all that compute,
// combine or move elements. (The bits of a NaN are not promised.)
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/fork.h"
#include "compiled/library.h"
#include "exec/sequential/small_tensors.h"
#include "gtest/gtest.h"
#include "ops/registry.h"
#include "support/op_fuzz.h"

namespace gyre::testing {
namespace {

using sequential::RegisterLoop;
using sequential::TensorCode;

constexpr int64_t kMaxElements = 256;

bool CanBeCell(const Tensor& t) {
  return IsTrivial(t.dtype()) && !IsComplex(t.dtype()) && DTypeSize(t.dtype()) <= 8 &&
         t.num_elements() > 0 && t.num_elements() <= kMaxElements;
}

// One call as a loop with one instruction: registers are its inputs, then its outputs.
struct OneOp {
  RegisterLoop loop;
  std::vector<const Tensor*> constants;
  std::optional<TensorCode> code;
  std::vector<Tensor> values;  // of registers
};
OneOp CodeOf(const FuzzedCall& call, Kernel kernel) {
  OneOp one;
  one.values = call.inputs;
  one.values.insert(one.values.end(), call.outputs->begin(), call.outputs->end());
  sequential::Instruction op;
  op.kernel = std::move(kernel);
  op.node = &call.node;
  op.num_inputs = static_cast<uint32_t>(call.inputs.size());
  op.output = op.num_inputs;
  op.num_outputs = static_cast<uint32_t>(call.outputs->size());
  one.loop.num_registers = static_cast<uint32_t>(one.values.size());
  one.loop.scalar_types.resize(one.values.size(), DType::kInvalid);
  one.loop.tensor_types.resize(one.values.size());
  for (uint32_t reg = 0; reg < one.values.size(); ++reg) {
    const Tensor& value = one.values[reg];
    if (reg < op.num_inputs) one.loop.inputs.push_back({reg, false});
    one.constants.push_back(reg < op.num_inputs ? &call.inputs[reg] : nullptr);
    if (!CanBeCell(value)) continue;
    if (value.rank() == 0) {
      one.loop.scalar_types[reg] = value.dtype();
    } else {
      one.loop.tensor_types[reg] = {value.dtype(), value.shape()};
    }
  }
  one.code = sequential::FindTensorCode(one.loop, op, one.constants);
  return one;
}

// What `one` gives as native code: the registers' bytes; false: it has stopped before the op.
bool RunNatively(const OneOp& one, uint32_t num_inputs, std::vector<std::string>& results) {
  compiled::Region region;
  region.name = "one";
  for (uint32_t reg = 0; reg < one.values.size(); ++reg) {
    const Tensor& value = one.values[reg];
    const bool is_cell = CanBeCell(value);
    region.cells.push_back(
        {.element_bytes = is_cell ? static_cast<uint32_t>(DTypeSize(value.dtype())) : 0,
         .elements = is_cell ? static_cast<uint32_t>(value.num_elements()) : 1,
         .is_tensor = is_cell && value.rank() > 0});
  }
  const auto stop = static_cast<uint32_t>(region.cells.size());
  region.cells.push_back({.element_bytes = 1});
  region.constants = {{stop, std::string(1, '\0')}};
  region.PlaceCells();
  compiled::Instruction op = one.code->instruction;
  for (const uint32_t i : one.code->inputs) op.inputs.push_back(i);
  op.is_last.resize(op.inputs.size(), false);
  op.live = op.inputs;
  std::vector<uint32_t> outputs;
  for (uint32_t reg = num_inputs; reg < stop; ++reg) outputs.push_back(reg);
  op.outputs = outputs;
  region.instructions = {op,
                         {.action = compiled::Action::kLeave, .inputs = {stop}, .live = outputs},
                         {.action = compiled::Action::kAgain, .targets = {0}}};
  region.starts = {0};
  auto native = compiled::CompileRegion(region);
  EXPECT_TRUE(native.ok()) << native.status();
  if (!native.ok()) return false;
  std::vector<uint64_t> cells(region.num_words, ~uint64_t{0});
  for (const uint32_t i : one.code->inputs)
    std::memcpy(&cells[region.cells[i].word], one.values[i].raw_data(), one.values[i].bytes());
  int64_t iteration = 0;
  compiled::Frame frame = {.cells = cells.data(), .iterations = &iteration};
  if ((*native)->Run(0, frame) != 1) return false;
  for (const uint32_t reg : outputs)
    results.emplace_back(reinterpret_cast<const char*>(&cells[region.cells[reg].word]),
                         region.cells[reg].bytes());
  return true;
}

// Its elements' bytes, those of NaNs as of one NaN.
std::string ComparableBytes(DType dtype, std::string bytes) {
  const auto canonical = [&](auto tag, auto is_nan) {
    using T = decltype(tag);
    for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, &bytes[i], sizeof(T));
      if (is_nan(value)) std::memset(&bytes[i], 0xff, sizeof(T));
    }
  };
  const auto std_is_nan = [](auto x) { return std::isnan(x); };
  if (dtype == DType::kFloat) canonical(float(), std_is_nan);
  if (dtype == DType::kDouble) canonical(double(), std_is_nan);
  const auto small_is_nan = [](auto x) { return std::isnan(static_cast<float>(x)); };
  if (dtype == DType::kHalf) canonical(Half(), small_is_nan);
  if (dtype == DType::kBfloat16) canonical(BFloat16(), small_is_nan);
  return bytes;
}

constexpr uint64_t kSeed = 2027;

class TensorCodes : public ::testing::TestWithParam<std::string> {};

TEST_P(TensorCodes, GiveTheBitsOfTheirKernels) {
  const NoFork no_fork;
  const OpDef& op = *Ops().Find(GetParam());
  OpFuzzer fuzzer(kSeed);
  int compared = 0;
  for (int i = 0; i < 20000 && compared < 15; ++i) {
    auto call = fuzzer.Call(op);
    if (!call.ok() || !call->outputs.ok() || call->outputs->empty()) continue;
    absl::StatusOr<Kernel> kernel = Ops().MakeKernel(call->node);
    if (!kernel.ok()) continue;
    const OneOp one = CodeOf(*call, *std::move(kernel));
    if (!one.code) continue;
    std::vector<std::string> got;
    ASSERT_TRUE(RunNatively(one, static_cast<uint32_t>(call->inputs.size()), got))
        << call->ToString();
    ++compared;
    for (size_t k = 0; k < got.size(); ++k) {
      const Tensor& want = (*call->outputs)[k];
      const std::string bytes(static_cast<const char*>(want.raw_data()), want.bytes());
      EXPECT_EQ(ComparableBytes(want.dtype(), got[k]), ComparableBytes(want.dtype(), bytes))
          << call->ToString();
    }
  }
  EXPECT_GT(compared, 0);
}

std::vector<std::string> OpsWithTensorCode() {
  std::set<std::string> names;
  for (const OpDef* op : Ops().All()) {
    OpFuzzer fuzzer(kSeed);  // draws what the test of the op draws, whatever other ops there are
    const OpTraits& traits = op->traits;
    const bool may_have = traits.elementwise || traits.is_view || traits.moves_elements;
    for (int i = 0; i < (may_have ? 3000 : 300) && !names.contains(op->name); ++i) {
      auto call = fuzzer.Call(*op);
      if (!call.ok() || !call->outputs.ok() || call->outputs->empty()) continue;
      absl::StatusOr<Kernel> kernel = Ops().MakeKernel(call->node);
      if (kernel.ok() && CodeOf(*call, *std::move(kernel)).code) names.insert(op->name);
    }
  }
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(All, TensorCodes, ::testing::ValuesIn(OpsWithTensorCode()),
                         [](const auto& info) { return info.param; });

TEST(TensorCode, IsThereForWhatComputesAndMovesElements) {
  const std::vector<std::string> names = OpsWithTensorCode();
  for (const char* op :
       {"AddV2",    "Tanh",       "SelectV2", "Cast",         "Less",       "Pack", "Unpack",
        "ConcatV2", "Split",      "Slice",    "StridedSlice", "Transpose",  "Tile", "BroadcastTo",
        "Reshape",  "ExpandDims", "Squeeze",  "Pad",          "Sum",        "Mean", "Max",
        "MatMul",   "Softmax",    "GatherV2", "Fill",         "BiasAddGrad"})
    EXPECT_NE(std::find(names.begin(), names.end(), op), names.end()) << op;
}

}  // namespace
}  // namespace gyre::testing
