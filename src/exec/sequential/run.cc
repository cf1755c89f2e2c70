// Running a RegisterLoop.
#include <utility>

#include "absl/strings/cord.h"
#include "base/attention.h"
#include "base/status.h"
#include "exec/sequential/loop.h"
#include "ir/where.h"

namespace gyre::sequential {
namespace {

constexpr absl::string_view kWhere = "gyre/where_in_loop";
// Ops between two looks at the clock and the budget.
constexpr int kLookEvery = 64;

std::string WhereOf(const RegisterLoop& loop, const Instruction& op, int64_t iteration) {
  std::string text = NodeText(*op.node);
  for (int s = op.scope; s >= 0; s = loop.scopes[s].parent) {
    const LoopScope& scope = loop.scopes[s];
    absl::StrAppend(&text, CallText(*scope.structured, scope.callee, *scope.function, iteration));
  }
  return text;
}

// Not where it is called: there, it cost the loop registers.
[[gnu::noinline]] absl::Status Look(const KernelContext& ctx) {
  Attention::Attend();
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  MemoryBudget* const budget = ctx.env().budget;
  return budget == nullptr ? absl::OkStatus() : budget->CheckLimit();
}

// Of a bool, as the op ToBool has it.
bool IsTrue(const Tensor& condition) {
  return condition.is_inline() ? condition.scalar<bool>() : condition.num_elements() > 0;
}

class Machine {
 public:
  Machine(const RegisterLoop& loop, KernelContext& ctx)
      : loop_(loop), ctx_(ctx), registers_(loop.num_registers), inputs_(loop.max_inputs) {}

  absl::Status Run() {
    for (int i = 0; i < ctx_.num_inputs(); ++i) registers_[i] = ctx_.TakeInput(i);
    for (const auto& [reg, value] : loop_.constants) registers_[reg] = *value;
    const Instruction* const code = loop_.code.data();
    for (const Instruction* at = code;;) {
      const Input* const inputs = loop_.inputs.data() + at->first_input;
      switch (at->action) {
        case Action::kRun:
          if (absl::Status status = RunKernel(*at, inputs); !status.ok()) [[unlikely]]
            return Locate(std::move(status), *at);
          ++at;
          break;
        case Action::kMove: {
          Tensor& from = registers_[inputs[0].reg];
          registers_[at->output] = inputs[0].is_last ? std::move(from) : from;
          ++at;
          break;
        }
        case Action::kLeave:
          if (!IsTrue(registers_[inputs[0].reg])) return Leave();
          ++at;
          break;
        case Action::kJump:
          at = code + at->target;
          break;
        case Action::kJumpUnless:
          at = IsTrue(registers_[inputs[0].reg]) ? at + 1 : code + at->target;
          break;
        case Action::kJumpByIndex: {
          const auto index = static_cast<uint32_t>(registers_[inputs[0].reg].scalar<int32_t>());
          at = code + (index < at->targets.size() ? at->targets[index] : at->targets.back());
          break;
        }
        case Action::kDrop:
          for (uint32_t i = 0; i < at->num_inputs; ++i) registers_[inputs[i].reg] = Tensor();
          ++at;
          break;
        case Action::kAgain:
          ++iteration_;
          at = code;
          break;
      }
    }
  }

 private:
  [[gnu::always_inline]] absl::Status RunKernel(const Instruction& op, const Input* from) {
    if (--until_look_ <= 0) {
      until_look_ = kLookEvery;
      GYRE_RETURN_IF_ERROR(Look(ctx_));
    }
    Tensor* const inputs = inputs_.data();
    for (uint32_t i = 0; i < op.num_inputs; ++i) {
      Tensor& reg = registers_[from[i].reg];
      inputs[i] = from[i].is_last ? std::move(reg) : reg;
    }
    Tensor* const outputs = registers_.data() + op.output;
    for (uint32_t i = 0; i < op.num_outputs; ++i) outputs[i] = Tensor();
    KernelContext context(*op.node, ctx_.env(), Tag(), absl::MakeSpan(inputs, op.num_inputs),
                          absl::MakeSpan(outputs, op.num_outputs));
    GYRE_RETURN_IF_ERROR(op.kernel.run(context, op.kernel.attrs.get()));
    for (uint32_t i = 0; i < op.num_inputs; ++i) inputs[i] = Tensor();
    for (uint32_t i = 0; i < op.num_outputs; ++i) {
      if (!outputs[i].has_value()) [[unlikely]]
        return BugError(absl::StrCat("output ", i, " of ", op.node->op_name, " is missing"));
    }
    return absl::OkStatus();
  }

  absl::Status Leave() {
    for (int i = 0; i < ctx_.num_outputs(); ++i) ctx_.set_output(i, std::move(registers_[i]));
    return absl::OkStatus();
  }

  absl::Status Locate(absl::Status status, const Instruction& op) const {
    status.SetPayload(kWhere, absl::Cord(WhereOf(loop_, op, iteration_)));
    return status;
  }

  const RegisterLoop& loop_;
  KernelContext& ctx_;
  std::vector<Tensor> registers_;
  std::vector<Tensor> inputs_;  // of the op that runs
  int64_t iteration_ = 0;
  int until_look_ = kLookEvery;
};

}  // namespace

absl::Status RunLoop(KernelContext& ctx, const void* loop) {
  return Machine(*static_cast<const RegisterLoop*>(loop), ctx).Run();
}

std::string WhereInside(const absl::Status& status) {
  const absl::optional<absl::Cord> where = status.GetPayload(kWhere);
  return where ? std::string(*where) : "";
}

}  // namespace gyre::sequential
