// StackV2 and Stack, push, pop and close: stacks that live no longer than a run.
#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/memory.h"
#include "ops/registry.h"
#include "ops/state/resource.h"

namespace gyre {
namespace {

// Owned by its handles. Thread-safe: one lock guards everything.
class Stack final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Stack";

  // `max_size` < 0: unlimited. The stack's own bytes are charged to `budget`, which may be null:
  // those of the object by Charge, those of its structure as it grows.
  // Errors name it `shown`.
  Stack(std::string name, std::string shown, DType dtype, int64_t max_size, MemoryBudget* budget)
      : Resource(std::move(name)),
        shown_(std::move(shown)),
        dtype_(dtype),
        max_size_(max_size < 0 ? std::numeric_limits<int64_t>::max() : max_size),
        charge_(budget) {}
  ~Stack() override { DropIteratively(std::move(items_)); }

  // Before anything else; RESOURCE_EXHAUSTED when the object does not fit.
  absl::Status Charge() { return charge_.Set(sizeof(Stack)); }

  absl::string_view type_name() const override { return kTypeName; }
  DType dtype() const { return dtype_; }

  absl::Status Push(Tensor item) {
    std::lock_guard lock(mutex_);
    GYRE_RETURN_IF_ERROR(CheckOpen());
    if (static_cast<int64_t>(items_.size()) >= max_size_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Stack[", shown_, "] overflowed its max_size (", max_size_, ")"));
    }
    if (items_.size() == items_.capacity()) {
      const size_t capacity = std::max<size_t>(8, 2 * items_.capacity());
      GYRE_RETURN_IF_ERROR(
          charge_.Set(static_cast<int64_t>(sizeof(Stack) + capacity * sizeof(Tensor))));
      items_.reserve(capacity);
    }
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Pop() {
    std::lock_guard lock(mutex_);
    GYRE_RETURN_IF_ERROR(CheckOpen());
    if (items_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Stack[", shown_, "] is empty when calling Pop()."));
    }
    Tensor item = std::move(items_.back());
    items_.pop_back();
    return item;
  }

  bool Destroy() override {
    std::vector<Tensor> dropped;  // after the lock
    std::lock_guard lock(mutex_);
    items_.swap(dropped);
    charge_.Set(std::min<int64_t>(charge_.bytes(), sizeof(Stack))).IgnoreError();
    return !std::exchange(closed_, true);
  }

 private:
  absl::Status CheckOpen() const {
    if (!closed_) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("Stack[", shown_, "] has already been closed."));
  }

  const std::string shown_;
  const DType dtype_;
  const int64_t max_size_;
  std::mutex mutex_;  // of all below
  bool closed_ = false;
  std::vector<Tensor> items_;
  MemoryCharge charge_;
};

struct StackAttrs {
  explicit StackAttrs(const Node& node)
      : dtype(NodeAttr<DType>(node, "elem_type")), name(NodeAttr<std::string>(node, "stack_name")) {
    if (name.empty()) name = node.name;
  }
  DType dtype;
  std::string name;
};

// A new stack, for a handle or a reference.
absl::StatusOr<RefPtr<Object>> NewStack(const KernelContext& ctx, std::string name,
                                        const StackAttrs& attrs, int64_t max_size) {
  auto stack = MakeRef<Stack>(std::move(name), attrs.name, attrs.dtype, max_size, ctx.env().budget);
  GYRE_RETURN_IF_ERROR(stack->Charge());
  return RefPtr<Object>(std::move(stack));
}

absl::Status MakeStackV2(KernelContext& ctx, const StackAttrs& attrs) {
  const Tensor& size = ctx.input(0);
  if (size.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Stack size must be a scalar, but it has shape ", size.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(RefPtr<Object> stack,
                        NewStack(ctx, attrs.name, attrs, size.scalar<int32_t>()));
  ctx.set_output(0, Tensor::FromObject(DType::kResource, std::move(stack)));
  return absl::OkStatus();
}

// A reference can be read: as a name that no other stack has, as TensorFlow finds it by.
absl::Status MakeStack(KernelContext& ctx, const StackAttrs& attrs) {
  static std::atomic<int64_t> made{0};
  std::string name = absl::StrCat(attrs.name, "_", made.fetch_add(1, std::memory_order_relaxed));
  GYRE_ASSIGN_OR_RETURN(RefPtr<Object> stack, NewStack(ctx, std::move(name), attrs, -1));
  ctx.set_output(0, Tensor::FromRef(DType::kString, std::move(stack)));
  return absl::OkStatus();
}

absl::StatusOr<Stack*> StackFor(const KernelContext& ctx, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(Stack * stack, ResourceInput<Stack>(ctx, 0));
  if (stack->dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("Stack[", stack->name(), "] must have type ",
                                                   DTypeName(stack->dtype()), " but got ",
                                                   DTypeName(dtype)));
  }
  return stack;
}

absl::Status Push(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(Stack * stack, StackFor(ctx, ctx.input_dtype(1)));
  GYRE_RETURN_IF_ERROR(stack->Push(ctx.input(1)));
  ctx.set_output(0, ctx.TakeInput(1));
  return absl::OkStatus();
}

absl::Status Pop(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(Stack * stack, StackFor(ctx, ctx.output_dtype(0)));
  GYRE_ASSIGN_OR_RETURN(Tensor item, stack->Pop());
  ctx.set_output(0, std::move(item));
  return absl::OkStatus();
}

absl::Status Close(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(Stack * stack, ResourceInput<Stack>(ctx, 0));
  stack->Destroy();
  return absl::OkStatus();
}

absl::Status HandleShape(ShapeContext& c) {
  if (c.num_inputs() > 0) GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(
      0, {c.attrs().GetOr<DType>("elem_type", DType::kInvalid), PartialShape::Unknown()});
  return absl::OkStatus();
}

absl::Status PushShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  if (c.input_handle(1)) c.set_output_handle(0, *c.input_handle(1));
  return absl::OkStatus();
}

// Of the element that it hands on. What the stack holds is for grad/stacks.
void PushGradient(GradientContext& g) { g.Add(1, g.grad()); }

constexpr absl::string_view kUseLists =
    "a stack is a resource, whose contents at another time are not to be had; use a tensor list";

void RegisterForm(OpRegistry& ops, absl::string_view suffix, absl::string_view handle) {
  const std::string push =
      absl::StrCat("StackPush", suffix, "(handle: ", handle,
                   ", elem: T) -> output: T {T: type; swap_memory: bool = false}");
  ops.Add({.schema = push,
           .doc = "Puts `elem` on a stack, and hands it on.",
           .traits = {.effect = Effect::kWrite, .role = Role::kPushes},
           .shape = PushShape,
           .gradient = {PushGradient},
           .kernel = Compute<Push>()});
  const std::string pop = absl::StrCat("StackPop", suffix, "(handle: ", handle,
                                       ") -> elem: elem_type {elem_type: type}");
  ops.Add({.schema = pop,
           .doc = "Takes the last element from a stack.",
           .traits = {.effect = Effect::kWrite, .role = Role::kPops},
           .shape = shape::Unknown,
           .gradient = RefusesGradient(kUseLists),
           .kernel = Compute<Pop>()});
  const std::string close = absl::StrCat("StackClose", suffix, "(handle: ", handle, ") ->");
  ops.Add({.schema = close,
           .doc = "Drops a stack's elements; nothing can be done to it from then on.",
           .traits = {.effect = Effect::kWrite, .role = Role::kClosesStack},
           .shape = shape::None,
           .gradient = NotDifferentiable("it has no outputs"),
           .kernel = Compute<Close>()});
}

}  // namespace

void RegisterStack(OpRegistry& ops) {
  ops.Add({.schema = "StackV2(max_size: int32) -> handle: resource {elem_type: type; stack_name: "
                     "string = ''}",
           .doc = "A new stack of at most `max_size` elements (negative: of any number).",
           .traits = {.effect = Effect::kAllocate, .role = Role::kMakesStack},
           .shape = HandleShape,
           .gradient = NotDifferentiable("its result is a handle"),
           .kernel = Compute<MakeStackV2>()});
  ops.Add({.schema = "Stack() -> handle: Ref(string) {elem_type: type; stack_name: string = ''}",
           .doc = "A reference to a new stack (the older form of StackV2).",
           .traits = {.effect = Effect::kAllocate, .role = Role::kMakesStack},
           .shape = HandleShape,
           .gradient = NotDifferentiable("its result is a handle"),
           .kernel = Compute<MakeStack>()});
  RegisterForm(ops, "V2", "resource");
  RegisterForm(ops, "", "Ref(string)");
}

}  // namespace gyre
