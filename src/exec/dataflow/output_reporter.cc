#include "exec/dataflow/output_reporter.h"

#include <vector>

#include "base/env.h"
#include "base/status.h"
#include "exec/dataflow/origin.h"
#include "ops/state/variable.h"

namespace gyre::dataflow {
namespace {

// Who fetches a reference, or a value that is still one, gets what the variable holds now.
absl::Status KeepFetched(Ready ready, const Tensor* outputs) {
  Activation& activation = *ready.iteration->frame->activation;
  for (const auto& [slot, position] : InfoOf(ready).fetched) {
    Tensor& result = activation.results[position];
    const bool wants_ref =
        ready.plan().node->signature.outputs[slot].is_ref && activation.caller.iteration != nullptr;
    if (outputs[slot].is_ref() && !wants_ref) {
      GYRE_ASSIGN_OR_RETURN(result, ReadRef(outputs[slot]));
    } else {
      result = outputs[slot];
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status OutputReporter::Report(Ready ready, const Tensor* outputs) const {
  if (is_observed_) GYRE_RETURN_IF_ERROR(Observe(ready, outputs));
  return ready.plan().is_fetched ? KeepFetched(ready, outputs) : absl::OkStatus();
}

absl::Status OutputReporter::Observe(Ready ready, const Tensor* outputs) const {
  const PlanNode& p = ready.plan();
  const NodeOrigin& origin = InfoOf(ready).origin;
  const std::vector<Surrounding> around = Around(ready);
  std::vector<int> sources;
  const TokenOrigin token = TokenOriginOf(ready, &sources);
  Firing firing;
  firing.node = p.node->name;
  firing.op = p.node->op_name;
  firing.is_plumbing = origin.is_plumbing;
  firing.is_call = p.opcode == Opcode::kCall;
  firing.around = around;
  firing.thread = thread_;
  firing.was_taken = was_taken_;
  firing.start_nanos = started_;
  firing.end_nanos = SystemClock().NowNanos();
  firing.outputs = absl::MakeSpan(outputs, p.num_outputs);
  firing.origin = &token;
  SetMade(*p.node, firing);
  return observer_->OnFired(firing);
}

}  // namespace gyre::dataflow
