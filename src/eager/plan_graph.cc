#include "eager/plan_graph.h"

#include <optional>
#include <utility>

#include "base/hash_map.h"
#include "eager/variable.h"
#include "eager/variable_store.h"
#include "front/graph_state.h"
#include "front/op_call.h"

namespace gyre::eager {
namespace {

class OwnPlanGraph final : public PlanGraph {
 public:
  OwnPlanGraph() : in_(graph_) {}

  Graph& graph() override { return graph_; }

  Value HandleOf(const EagerTensor& handle) override {
    if (const auto it = known_.find(handle.id); it != known_.end()) return it->second;
    const std::optional<VariableType> variable = VariableBehind(handle.value);
    Value inner;
    if (handle.owner != nullptr && variable) {
      std::optional<BuildScope> on_device;
      if (!handle.owner->device().empty())
        on_device.emplace(graph_.state()->Set({.device = handle.owner->device()}));
      inner = gyre::internal::OpCall("VarHandleOp", std::source_location())
                  .Attr("dtype", variable->dtype)
                  .Attr("shape", variable->shape)
                  .Attr("shared_name", handle.owner->name())
                  .Name(handle.owner->name())
                  .One();
      handles_.push_back(handle);
    } else {
      inner = graph_.placeholder(handle.dtype(), handle.value.shape(), "capture");
      captures_.push_back({handle, inner});
    }
    known_.emplace(handle.id, inner);
    return inner;
  }

  std::vector<Capture> Captures() const override { return captures_; }
  std::vector<EagerTensor> Handles() const override { return handles_; }

 private:
  Graph graph_;
  const GraphScope in_;
  HashMap<uint64_t, Value> known_;
  std::vector<Capture> captures_;
  std::vector<EagerTensor> handles_;
};

}  // namespace

std::unique_ptr<PlanGraph> NewPlanGraph() { return std::make_unique<OwnPlanGraph>(); }

}  // namespace gyre::eager
