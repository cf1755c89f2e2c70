// Stacks: last in, first out, in both forms of the wire.
#include "ops/resource_run.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Attrs;
using test::InferShapes;
using test::IsInvalid;
using test::Partial;
using test::ResourceRun;
using test::Values;

// The ops of one of the two forms.
struct Form {
  std::string suffix;
  bool has_limit = false;
};
const Form kForms[] = {{"V2", true}, {"", false}};

class Stack {
 public:
  explicit Stack(ResourceRun& run, int32_t max_size = -1, DType dtype = DType::kFloat,
                 const Form& form = kForms[0])
      : run_(run), suffix_(form.suffix) {
    std::vector<Tensor> inputs;
    if (form.has_limit) inputs.push_back(Tensor::Scalar(max_size));
    handle_ = run.Run("Stack" + suffix_, std::move(inputs),
                      Attrs({{"elem_type", dtype}, {"stack_name", std::string("s")}}));
  }
  const Tensor& handle() const { return handle_; }
  absl::StatusOr<std::vector<Tensor>> Push(Tensor value) const {
    return run_.Try("StackPush" + suffix_, test::Inputs(handle_, std::move(value)));
  }
  absl::StatusOr<std::vector<Tensor>> Pop(DType dtype = DType::kFloat) const {
    return run_.Try("StackPop" + suffix_, {handle_}, Attrs({{"elem_type", dtype}}));
  }
  // -1 when there is none.
  float PopFloat() const {
    const auto popped = Pop();
    return popped.ok() ? (*popped)[0].scalar<float>() : -1;
  }
  void Close() const { run_.All("StackClose" + suffix_, {handle_}); }

 private:
  ResourceRun& run_;
  const std::string suffix_;
  Tensor handle_;
};

TEST(Stack, GivesTheLastFirstAndHandsOnWhatIsPushed) {
  for (const Form& form : kForms) {
    ResourceRun run;
    const Stack stack(run, -1, DType::kFloat, form);
    for (const float value : {1.0f, 2.0f, 3.0f}) {
      const auto pushed = stack.Push(Tensor::Scalar(value));
      ASSERT_TRUE(pushed.ok()) << pushed.status();
      EXPECT_EQ((*pushed)[0].scalar<float>(), value);
    }
    EXPECT_EQ(stack.PopFloat(), 3);
    EXPECT_TRUE(stack.Push(Tensor::Scalar(4.0f)).ok());
    EXPECT_EQ(stack.PopFloat(), 4);
    EXPECT_EQ(stack.PopFloat(), 2);
    EXPECT_EQ(stack.PopFloat(), 1);
  }
}

TEST(Stack, ElementsMayDifferInShapeButNotInType) {
  ResourceRun run;
  const Stack stack(run);
  EXPECT_TRUE(stack.Push(Tensor::Vector<float>({1, 2})).ok());
  EXPECT_TRUE(stack.Push(Tensor::Scalar(3.0f)).ok());
  EXPECT_TRUE(IsInvalid(stack.Push(Tensor::Scalar<int32_t>(1)).status(),
                        "Stack[s] must have type float32 but got int32"));
  EXPECT_TRUE(IsInvalid(stack.Pop(DType::kInt32).status(),
                        "Stack[s] must have type float32 but got int32"));
  EXPECT_EQ(stack.PopFloat(), 3);
  EXPECT_EQ(Values<float>((*stack.Pop())[0]), (std::vector<float>{1, 2}));
}

TEST(Stack, OverflowsAtItsMaxSize) {
  ResourceRun run;
  const Stack stack(run, 2);
  EXPECT_TRUE(stack.Push(Tensor::Scalar(1.0f)).ok());
  EXPECT_TRUE(stack.Push(Tensor::Scalar(2.0f)).ok());
  EXPECT_TRUE(
      IsInvalid(stack.Push(Tensor::Scalar(3.0f)).status(), "Stack[s] overflowed its max_size (2)"));
  EXPECT_EQ(stack.PopFloat(), 2);
  EXPECT_TRUE(stack.Push(Tensor::Scalar(4.0f)).ok());
  EXPECT_TRUE(IsInvalid(Stack(run, 0).Push(Tensor::Scalar(1.0f)).status(),
                        "Stack[s] overflowed its max_size (0)"));
}

TEST(Stack, CannotBePoppedWhenEmpty) {
  for (const Form& form : kForms) {
    ResourceRun run;
    const Stack stack(run, -1, DType::kFloat, form);
    EXPECT_TRUE(IsInvalid(stack.Pop().status(), "Stack[s] is empty when calling Pop()."));
    EXPECT_TRUE(stack.Push(Tensor::Scalar(1.0f)).ok());
    EXPECT_EQ(stack.PopFloat(), 1);
    EXPECT_TRUE(IsInvalid(stack.Pop().status(), "Stack[s] is empty when calling Pop()."));
  }
}

TEST(Stack, OnceClosedTakesAndGivesNothing) {
  for (const Form& form : kForms) {
    ResourceRun run;
    const Stack stack(run, -1, DType::kFloat, form);
    EXPECT_TRUE(stack.Push(Tensor::Scalar(1.0f)).ok());
    stack.Close();
    stack.Close();  // again
    EXPECT_TRUE(IsInvalid(stack.Pop().status(), "Stack[s] has already been closed."));
    EXPECT_TRUE(
        IsInvalid(stack.Push(Tensor::Scalar(1.0f)).status(), "Stack[s] has already been closed."));
  }
}

TEST(Stack, EachExecutionMakesAnotherStack) {
  ResourceRun run;
  const Stack one(run), other(run);
  EXPECT_TRUE(one.Push(Tensor::Scalar(1.0f)).ok());
  EXPECT_FALSE(other.Pop().ok());
}

TEST(Stack, SaysWhatIsNoStackAndNoSize) {
  ResourceRun run;
  EXPECT_TRUE(IsInvalid(
      run.Error("StackV2", {Tensor::Vector<int32_t>({1})}, Attrs({{"elem_type", DType::kFloat}})),
      "Stack size must be a scalar, but it has shape [1]"));
  const Tensor array =
      run.Run("TensorArrayV3", {Tensor::Scalar<int32_t>(1)}, Attrs({{"dtype", DType::kFloat}}));
  EXPECT_TRUE(IsInvalid(run.Error("StackPushV2", {array, Tensor::Scalar(1.0f)}),
                        "must be a handle of a Stack, but it is one of a TensorArray"));
  EXPECT_TRUE(IsInvalid(run.Error("StackCloseV2", {Tensor::FromObject(DType::kResource, nullptr)}),
                        "must be a handle of a Stack, but it is empty"));
}

TEST(StackMemory, IsChargedAndGivenBack) {
  for (const Form& form : kForms) {
    ResourceRun run;
    {
      const Stack stack(run, -1, DType::kFloat, form);
      EXPECT_GT(run.budget().used(), 0);
      EXPECT_LT(run.budget().used(), 1'000);
      for (int i = 0; i < 1000; ++i) ASSERT_TRUE(stack.Push(Tensor::Scalar(1.0f)).ok());
      EXPECT_GE(run.budget().used(), static_cast<int64_t>(1000 * sizeof(Tensor)));
    }
    EXPECT_EQ(run.budget().used(), 0);
    const Stack closed(run, -1, DType::kFloat, form);
    const int64_t empty = run.budget().used();
    EXPECT_TRUE(closed.Push(Tensor::Scalar(1.0f)).ok());
    EXPECT_GT(run.budget().used(), empty);
    closed.Close();
    EXPECT_EQ(run.budget().used(), empty);
  }
}

TEST(StackMemory, OfAnElementIsGivenBackWhenItIsPopped) {
  ResourceRun run;
  const Stack stack(run);
  EXPECT_TRUE(
      stack.Push(*Tensor::Zeros(DType::kFloat, Shape::Vector(1000), {nullptr, &run.budget()}))
          .ok());
  EXPECT_GE(run.budget().used(), 4000);
  EXPECT_TRUE(stack.Pop().ok());
  EXPECT_LT(run.budget().used(), 4000);
}

TEST(StackMemory, EndsWithTheBudgetAndTheStackStaysUsable) {
  ResourceRun run(/*budget=*/4096);
  const Stack stack(run);
  absl::Status status;
  float pushed = 0;
  while (status.ok() && pushed < 10'000) {
    status = stack.Push(Tensor::Scalar(pushed)).status();
    if (status.ok()) ++pushed;
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(stack.PopFloat(), pushed - 1);
}

// A stack in a stack in a stack …: dropping the outermost must not recurse.
TEST(StackMemory, OfManyNestedStacksIsGivenBack) {
  ResourceRun run;
  {
    Tensor inner = Stack(run).handle();
    for (int i = 0; i < 100'000; ++i) {
      const Stack outer(run, -1, DType::kResource);
      ASSERT_TRUE(outer.Push(std::move(inner)).ok());
      inner = outer.handle();
    }
    EXPECT_GT(run.budget().used(), 0);
  }
  EXPECT_EQ(run.budget().used(), 0);
}

TEST(StackShapes, PushKeepsThemAndPopKnowsNothing) {
  ResourceRun run;
  const Tensor handle = Stack(run).handle();
  EXPECT_EQ((*InferShapes("StackPushV2", {handle, Tensor::Vector<float>({1, 2})}, {}))[0].shape,
            Partial({2}));
  EXPECT_FALSE((*InferShapes("StackPopV2", {handle}, Attrs({{"elem_type", DType::kFloat}})))[0]
                   .shape.has_rank());
  const AttrMap floats = Attrs({{"elem_type", DType::kFloat}});
  EXPECT_EQ((*InferShapes("StackV2", {Tensor::Scalar<int32_t>(1)}, floats))[0].shape,
            PartialShape::Scalar());
  EXPECT_FALSE(InferShapes("StackV2", {Tensor::Vector<int32_t>({1})}, floats).ok());
}

}  // namespace
}  // namespace gyre
