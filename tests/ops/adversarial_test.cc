// Every op, called with what files and fuzzers come up with, ends in values of the declared types
// or in a Status; and what its shape rule promised is what its kernel made.

#include <cstring>

#include "analysis/failure.h"
#include "gtest/gtest.h"
#include "ir/calls.h"
#include "ir/shape_context.h"
#include "support/op_fuzz.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

int CallsPerOp() { return IsLongTest() ? 20'000 : 2'000; }

void CheckOutputs(const FuzzedCall& call) {
  for (size_t i = 0; i < call.outputs->size(); ++i) {
    const Tensor& output = (*call.outputs)[i];
    if (!output.has_value()) continue;  // the untaken side of a Switch
    EXPECT_EQ(output.dtype(), call.node.signature.outputs[i].dtype) << call.ToString();
  }
}

// The shape rule, told all there is to know about the inputs, must allow what the kernel did.
void CheckShapeRule(const FuzzedCall& call) {
  std::vector<ValueInfo> infos;
  for (const Tensor& input : call.inputs) {
    ValueInfo info;
    if (!input.is_ref()) {
      info.shape = input.shape();
      if (IsTrivial(input.dtype())) info.constant = input;
    }
    infos.push_back(std::move(info));
  }
  ShapeContext context(call.node, std::move(infos));
  const absl::Status status = call.node.op->shape(context);
  if (!call.outputs.ok()) return;  // a rule need not foresee every failure
  ASSERT_TRUE(status.ok()) << call.ToString() << "\nsucceeds, but its shape rule says: " << status;
  for (size_t i = 0; i < call.outputs->size(); ++i) {
    const Tensor& output = (*call.outputs)[i];
    if (!output.has_value() || output.is_ref()) continue;
    EXPECT_TRUE(context.outputs()[i].shape.Allows(output.shape()))
        << call.ToString() << "\noutput " << i << " has shape " << output.shape().ToString()
        << ", but its shape rule says " << context.outputs()[i].shape.ToString();
  }
}

// What says that it cannot fail does not: passes run it where the program would not have.
void CheckFailure(const FuzzedCall& call) {
  std::vector<PartialShape> shapes;
  for (const Tensor& input : call.inputs) {
    if (input.is_ref() || !input.has_value()) return;
    shapes.emplace_back(input.shape());
  }
  if (!CannotFail(call.node, shapes) || absl::IsResourceExhausted(call.outputs.status())) return;
  EXPECT_TRUE(call.outputs.ok()) << call.ToString()
                                 << "\nsays that it cannot fail: " << call.outputs.status();
}

// What says that it hands on its inputs gives them to the bit.
void CheckHandsOn(const FuzzedCall& call) {
  if (!HandsOn(call.node) || !call.outputs.ok()) return;
  for (size_t i = 0; i < call.outputs->size(); ++i) {
    const Tensor& output = (*call.outputs)[i];
    if (!output.has_value() || output.is_ref() || !IsTrivial(output.dtype())) continue;
    ASSERT_EQ(output.shape(), call.inputs[i].shape()) << call.ToString();
    EXPECT_EQ(std::memcmp(output.raw_data(), call.inputs[i].raw_data(), output.bytes()), 0)
        << call.ToString() << "\noutput " << i;
  }
}

class AdversarialOps : public ::testing::TestWithParam<std::string> {};

TEST_P(AdversarialOps, EndInValuesOrAStatus) {
  const OpDef& op = *Ops().Find(GetParam());
  OpFuzzer fuzzer(TestSeed() ^ std::hash<std::string>()(op.name));
  int made = 0, succeeded = 0;
  for (int i = 0; i < CallsPerOp() * 4 && made < CallsPerOp(); ++i) {
    const absl::StatusOr<FuzzedCall> call = fuzzer.Call(op);
    if (!call.ok()) continue;
    ++made;
    if (call->outputs.ok()) {
      ++succeeded;
      CheckOutputs(*call);
    } else {
      EXPECT_FALSE(absl::IsInternal(call->outputs.status())) << call->ToString() << "\n"
                                                             << call->outputs.status();
    }
    CheckShapeRule(*call);
    CheckFailure(*call);
    CheckHandsOn(*call);
    if (HasFailure()) break;
  }
  RecordProperty("calls", made);
  RecordProperty("succeeded", succeeded);
  EXPECT_GT(made, 0);
}

std::vector<std::string> OpsWithKernels() {
  std::vector<std::string> names;
  for (const OpDef* op : Ops().All()) {
    if (Ops().HasKernel(op->name)) names.push_back(op->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, AdversarialOps, ::testing::ValuesIn(OpsWithKernels()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gyre::testing
