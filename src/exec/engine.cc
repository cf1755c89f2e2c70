#include "exec/engine.h"

#include "exec/dataflow/dataflow_engine.h"
#include "exec/reference/reference_engine.h"
#include "ir/calls.h"
#include "ir/saved_attrs.h"
#include "ops/list/tensor_list.h"

namespace gyre {

const Engine& EngineOf(EngineKind kind) {
  switch (kind) {
    case EngineKind::kReference:
      return ReferenceEngine();
    case EngineKind::kCompiled:
      return CompiledEngine();
    case EngineKind::kDataflow:
      break;
  }
  return DataflowEngine();
}

Surrounding::Kind SurroundingKind(const Node& structured, int callee) {
  switch (KindOfCallee(structured, callee)) {
    case CalleeKind::kBranch:
      return Surrounding::Kind::kBranch;
    case CalleeKind::kCondition:
      return Surrounding::Kind::kCondition;
    case CalleeKind::kBody:
      return Surrounding::Kind::kBody;
    case CalleeKind::kFunction:
      break;
  }
  return Surrounding::Kind::kCall;
}

void SetMade(const Node& node, Firing& firing) {
  for (const Tensor& output : firing.outputs)
    if (output.has_value()) firing.bytes += static_cast<int64_t>(output.bytes());
  const auto* loop = node.attrs.Get<std::string>(kSavingLoopAttr);
  const auto* value = node.attrs.Get<std::string>(kSavedValueAttr);
  if (loop == nullptr || value == nullptr || !firing.outputs[0].has_value()) return;
  const auto* list = firing.outputs[0].object_as<TensorList>();
  if (list == nullptr || list->size() == 0) return;
  firing.saving_loop = *loop;
  firing.saved_value = *value;
  const ChunkedVector::Item last = list->elements.Peek(list->size() - 1);
  if (IsTrivial(list->dtype())) {
    firing.saved_bytes =
        last.shape->num_elements() * static_cast<int64_t>(DTypeSize(list->dtype()));
  } else if (const auto element = list->elements.Get(list->size() - 1, {}); element.ok()) {
    firing.saved_bytes = PayloadBytes(*element);
  }
}

}  // namespace gyre
