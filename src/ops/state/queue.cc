// FIFOQueueV2 and the ops on its handle. Enqueue and dequeue wait without blocking a thread.
#include <algorithm>
#include <limits>

#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/state/fifo_queue.h"

namespace gyre {
namespace {

struct QueueAttrs {
  static absl::StatusOr<QueueAttrs> Make(const Node& node) {
    QueueAttrs attrs{ResourceName(node), NodeAttr<std::vector<DType>>(node, "component_types"),
                     NodeAttr<std::vector<PartialShape>>(node, "shapes"),
                     NodeAttr<int64_t>(node, "capacity")};
    if (attrs.capacity < 0) attrs.capacity = std::numeric_limits<int64_t>::max();
    if (!attrs.shapes.empty() && attrs.shapes.size() != attrs.types.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shapes must be empty or have one element per component: ", attrs.shapes.size(), " vs. ",
          attrs.types.size()));
    }
    return attrs;
  }
  ResourceName where;
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  int64_t capacity;
};

absl::Status MakeQueue(KernelContext& ctx, const QueueAttrs& attrs) {
  RefPtr<FifoQueue> queue = FindOrCreate<FifoQueue>(ctx, attrs.where, [&] {
    return MakeRef<FifoQueue>(attrs.where.name, attrs.types, attrs.shapes, attrs.capacity);
  });
  if (queue->types() != attrs.types || queue->shapes() != attrs.shapes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "queue ", attrs.where.name, " has other component types or shapes in this session"));
  }
  if (queue->capacity() != attrs.capacity) {
    return absl::InvalidArgumentError(absl::StrCat("queue ", attrs.where.name, " has capacity ",
                                                   queue->capacity(), " in this session, not ",
                                                   attrs.capacity));
  }
  ctx.set_output(0, Tensor::FromObject(DType::kResource, std::move(queue)));
  return absl::OkStatus();
}

struct WaitAttrs {
  static absl::StatusOr<WaitAttrs> Make(const Node& node) {
    if (NodeAttr<int64_t>(node, "timeout_ms") != -1) {
      return absl::InvalidArgumentError(
          "timeout_ms is not supported yet: give the run a deadline instead");
    }
    return WaitAttrs{};
  }
};

std::string TypeList(const std::vector<DType>& types) {
  std::string text;
  for (const DType type : types) absl::StrAppend(&text, text.empty() ? "" : ", ", DTypeName(type));
  return absl::StrCat("(", text, ")");
}

// The queue at input 0, if its components are of the types of this node's slots.
absl::StatusOr<FifoQueue*> QueueFor(const KernelContext& ctx,
                                    absl::Span<const NodeSignature::Slot> slots) {
  GYRE_ASSIGN_OR_RETURN(FifoQueue * queue, ResourceInput<FifoQueue>(ctx, 0));
  std::vector<DType> types;
  for (const NodeSignature::Slot& slot : slots) types.push_back(slot.dtype);
  if (types != queue->types()) {
    return absl::InvalidArgumentError(
        absl::StrCat("queue ", queue->name(), " has components of types ", TypeList(queue->types()),
                     ", not ", TypeList(types)));
  }
  return queue;
}

absl::Status CheckShape(const FifoQueue& queue, size_t component, const Shape& shape) {
  if (queue.shapes().empty() || queue.shapes()[component].Allows(shape)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Shape mismatch in tuple component ", component, ". Expected ",
                   queue.shapes()[component].ToString(), ", got ", shape.ToString()));
}

absl::StatusOr<QueueBatch> OneElement(KernelContext& ctx, const FifoQueue& queue) {
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    GYRE_RETURN_IF_ERROR(CheckShape(queue, static_cast<size_t>(i) - 1, ctx.input(i).shape()));
  }
  return QueueBatch{};
}

// Element k is row k of every component.
absl::StatusOr<QueueBatch> ManyElements(KernelContext& ctx, const FifoQueue& queue) {
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    const Shape& shape = ctx.input(i).shape();
    if (shape.rank() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("component ", i - 1, " is a scalar: there are no rows in it to enqueue"));
    }
    if (shape.dim(0) != ctx.input(1).dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("All input tensors must have the same size in the 0th dimension. Component ",
                       i - 1, " has ", shape.dim(0), ", and should have ", ctx.input(1).dim(0)));
    }
    GYRE_ASSIGN_OR_RETURN(const Shape row, Shape::Make(shape.dims().subspan(1)));
    GYRE_RETURN_IF_ERROR(CheckShape(queue, static_cast<size_t>(i) - 1, row));
  }
  return QueueBatch{{}, 0, ctx.input(1).dim(0), /*is_element=*/false, nullptr};
}

// `Check` says which elements the components make up, or why they don't.
template <absl::StatusOr<QueueBatch> (*Check)(KernelContext&, const FifoQueue&)>
absl::StatusOr<QueueBatch> MakeBatch(KernelContext& ctx, const FifoQueue& queue) {
  GYRE_ASSIGN_OR_RETURN(QueueBatch batch, Check(ctx, queue));
  batch.charge = std::make_shared<MemoryCharge>(ctx.env().budget);
  GYRE_RETURN_IF_ERROR(batch.charge->Set(static_cast<int64_t>(
      sizeof(QueueBatch) + static_cast<size_t>(ctx.num_inputs()) * sizeof(Tensor))));
  for (int i = 1; i < ctx.num_inputs(); ++i) batch.components.push_back(ctx.TakeInput(i));
  return batch;
}

template <absl::StatusOr<QueueBatch> (*Check)(KernelContext&, const FifoQueue&)>
void Enqueue(KernelContext& ctx, const WaitAttrs&, KernelDone done) {
  const absl::StatusOr<FifoQueue*> queue =
      QueueFor(ctx, absl::MakeConstSpan(ctx.node().signature.inputs).subspan(1));
  if (!queue.ok()) return done(queue.status());
  absl::StatusOr<QueueBatch> batch = MakeBatch<Check>(ctx, **queue);
  if (!batch.ok()) return done(batch.status());
  (*queue)->Enqueue(*std::move(batch), ctx.env().cancellation, std::move(done));
}

void Dequeue(KernelContext& ctx, const WaitAttrs&, KernelDone done) {
  const absl::StatusOr<FifoQueue*> queue = QueueFor(ctx, ctx.node().signature.outputs);
  if (!queue.ok()) return done(queue.status());
  (*queue)->Dequeue(ctx.env().cancellation,
                    [&ctx, done = std::move(done)](absl::StatusOr<QueueElement> element) {
                      for (int i = 0; element.ok() && i < ctx.num_outputs(); ++i)
                        ctx.set_output(i, std::move((*element)[i]));
                      done(element.status());
                    });
}

struct CloseAttrs {
  explicit CloseAttrs(const Node& node) : cancel(NodeAttr<bool>(node, "cancel_pending_enqueues")) {}
  bool cancel;
};

absl::Status CloseQueue(KernelContext& ctx, const CloseAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(FifoQueue * queue, ResourceInput<FifoQueue>(ctx, 0));
  return queue->Close(attrs.cancel);
}

absl::Status QueueSize(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const FifoQueue* queue, ResourceInput<FifoQueue>(ctx, 0));
  const int64_t size = std::min<int64_t>(queue->size(), std::numeric_limits<int32_t>::max());
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
  return absl::OkStatus();
}

absl::Status HandleOnly(ShapeContext& c) { return c.RequireScalar(0); }

absl::Status EnqueueManyShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.input(i).has_rank() && c.input(i).rank() == 0) return c.RequireRank(i, 1);
  }
  return absl::OkStatus();
}

// A handle tells the type and shape of one component; of more components nothing is known.
absl::Status QueueShape(ShapeContext& c) {
  c.set_output(0, PartialShape::Scalar());
  const auto types = c.attrs().GetOr<std::vector<DType>>("component_types", {});
  const auto shapes = c.attrs().GetOr<std::vector<PartialShape>>("shapes", {});
  if (types.size() == 1 && shapes.size() == 1) c.set_output_handle(0, {types[0], shapes[0]});
  return absl::OkStatus();
}

absl::Status DequeueShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  if (c.num_outputs() == 1 && c.input_handle(0)) c.set_output(0, c.input_handle(0)->shape);
  return absl::OkStatus();
}

void RegisterWaits(OpRegistry& ops) {
  ops.Add({.schema = "QueueEnqueueV2(handle: resource, components: Tcomponents) -> {Tcomponents: "
                     "list(type) >= 1; "
                     "timeout_ms: int = -1}",
           .doc = "Adds a tuple to a queue, waiting for room.",
           .traits = {.effect = Effect::kWrite},
           .shape = HandleOnly,
           .gradient = NotDifferentiable("it changes a queue"),
           .kernel = Compute<Enqueue<OneElement>>()});
  ops.Add(
      {.schema = "QueueEnqueueManyV2(handle: resource, components: Tcomponents) -> {Tcomponents: "
                 "list(type) >= "
                 "1; timeout_ms: int = -1}",
       .doc = "Adds the rows of the components to a queue, one tuple per row, waiting for room.",
       .traits = {.effect = Effect::kWrite},
       .shape = EnqueueManyShape,
       .gradient = NotDifferentiable("it changes a queue"),
       .kernel = Compute<Enqueue<ManyElements>>()});
  ops.Add({.schema = "QueueDequeueV2(handle: resource) -> components: component_types "
                     "{component_types: list(type) "
                     ">= 1; timeout_ms: int = -1}",
           .doc = "Takes the oldest tuple from a queue, waiting for one.",
           .traits = {.effect = Effect::kWrite},
           .shape = DequeueShape,
           .gradient = NotDifferentiable("it changes a queue"),
           .kernel = Compute<Dequeue>()});
}

}  // namespace

void RegisterQueue(OpRegistry& ops) {
  ops.Add({.schema = "FIFOQueueV2() -> handle: resource {component_types: list(type) >= 1; shapes: "
                     "list(shape) >= 0 "
                     "= []; capacity: int = -1; container: string = ''; shared_name: string = ''}",
           .doc = "A handle of the session's first-in-first-out queue of this name.",
           .traits = {.effect = Effect::kRead},
           .shape = QueueShape,
           .gradient = NotDifferentiable("it has no inputs"),
           .kernel = Compute<MakeQueue>()});
  RegisterWaits(ops);
  ops.Add(
      {.schema = "QueueCloseV2(handle: resource) -> {cancel_pending_enqueues: bool = false}",
       .doc = "Closes a queue: nothing can be added any more, what is in it can still be taken.",
       .traits = {.effect = Effect::kWrite},
       .shape = HandleOnly,
       .gradient = NotDifferentiable("it changes a queue"),
       .kernel = Compute<CloseQueue>()});
  ops.Add({.schema = "QueueSizeV2(handle: resource) -> size: int32",
           .doc = "How many tuples are in a queue.",
           .traits = {.effect = Effect::kRead},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is an integer"),
           .kernel = Compute<QueueSize>()});
}

}  // namespace gyre
