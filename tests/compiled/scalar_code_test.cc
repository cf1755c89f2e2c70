// Native code of single ops: the bits of their kernels, for all ops and types that have a function
// of single elements (ops/scalar_code.h).
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/fork.h"
#include "compiled/library.h"
#include "gtest/gtest.h"
#include "ops/registry.h"
#include "support/op_fuzz.h"

namespace gyre::testing {
namespace {

// Cells 0 … n-1 are the operands, n is the result, n + 1 is false and ends the region.
compiled::Region RegionOf(const ScalarCode& code, const Node& node) {
  compiled::Region region;
  region.name = node.op_name;
  compiled::Instruction compute{.action = compiled::Action::kScalar, .code = &code};
  const auto add_cell = [&](DType dtype) {
    region.cells.push_back({.element_bytes = static_cast<uint32_t>(DTypeSize(dtype))});
    return static_cast<uint32_t>(region.cells.size() - 1);
  };
  for (const auto& input : node.signature.inputs) compute.inputs.push_back(add_cell(input.dtype));
  const uint32_t result = add_cell(node.signature.outputs[0].dtype);
  region.constants = {{add_cell(DType::kBool), std::string(1, '\0')}};
  region.PlaceCells();
  compute.outputs = {result};
  compute.live = compute.inputs;
  region.instructions = {
      compute,
      {.action = compiled::Action::kLeave, .inputs = {result + 1}, .live = {result}},
      {.action = compiled::Action::kAgain, .targets = {0}}};
  region.starts = {0};
  return region;
}

class ScalarCodes : public ::testing::TestWithParam<std::string> {};

TEST_P(ScalarCodes, GiveTheBitsOfTheirKernels) {
  const NoFork no_fork;
  const OpDef& op = *Ops().Find(GetParam());
  std::map<const ScalarCode*, std::unique_ptr<const compiled::NativeCode>> compiled;
  OpFuzzer fuzzer(2026);
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    auto call = fuzzer.Call(op);
    if (!call.ok()) continue;
    const absl::StatusOr<Kernel> kernel = Ops().MakeKernel(call->node);
    if (!kernel.ok() || kernel->scalar == nullptr) continue;
    const auto is_cell = [](const Tensor& t) { return t.is_inline() && !IsComplex(t.dtype()); };
    if (!std::all_of(call->inputs.begin(), call->inputs.end(), is_cell)) continue;
    if (IsComplex(call->node.signature.outputs[0].dtype)) continue;
    auto& code = compiled[kernel->scalar];
    if (code == nullptr) {
      auto made = compiled::CompileRegion(RegionOf(*kernel->scalar, call->node));
      ASSERT_TRUE(made.ok()) << made.status();
      code = *std::move(made);
    }
    std::vector<uint64_t> cells(call->inputs.size() + 2, 0);
    for (size_t k = 0; k < call->inputs.size(); ++k)
      std::memcpy(&cells[k], call->inputs[k].raw_data(), call->inputs[k].bytes());
    int64_t iteration = 0;
    compiled::Frame frame = {.cells = cells.data(), .iterations = &iteration};
    const uint32_t stop = code->Run(0, frame);
    ++compared;
    ASSERT_EQ(stop == 1, call->outputs.ok()) << call->ToString();
    if (stop != 1) continue;
    const Tensor& want = (*call->outputs)[0];
    EXPECT_EQ(0, std::memcmp(&cells[call->inputs.size()], want.raw_data(), want.bytes()))
        << call->ToString();
  }
  EXPECT_GT(compared, 50);
}

// Ops for whose kernels there is such a function, of whatever type.
std::vector<std::string> OpsWithScalarCode() {
  std::set<std::string> names;
  OpFuzzer fuzzer(2026);
  for (const OpDef* op : Ops().All()) {
    for (int i = 0; i < 20 && !names.contains(op->name); ++i) {
      auto call = fuzzer.Call(*op);
      if (!call.ok()) continue;
      const absl::StatusOr<Kernel> kernel = Ops().MakeKernel(call->node);
      if (!kernel.ok() || kernel->scalar == nullptr) continue;
      if (!IsComplex(call->node.signature.outputs[0].dtype)) names.insert(op->name);
    }
  }
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(All, ScalarCodes, ::testing::ValuesIn(OpsWithScalarCode()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gyre::testing
