// _Send, _Recv and their host forms: the two ends of an edge between devices.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct EdgeAttrs {
  TransferEdge edge;
  explicit EdgeAttrs(const Node& node)
      : edge(NodeAttr<std::string>(node, "tensor_name"), NodeAttr<std::string>(node, "send_device"),
             NodeAttr<std::string>(node, "recv_device"),
             static_cast<uint64_t>(NodeAttr<int64_t>(node, "send_device_incarnation"))) {}
};

absl::Status NoRendezvous() {
  return absl::InternalError("this is a bug in Gyre: a transfer runs where there is no rendezvous");
}

// A dead _Send runs too: its input has no value, and the deadness travels.
absl::Status Send(KernelContext& ctx, const EdgeAttrs& attrs) {
  if (ctx.env().rendezvous == nullptr) return NoRendezvous();
  Tensor value = ctx.TakeInput(0);
  const bool is_dead = !value.has_value();
  return ctx.env().rendezvous->Send(attrs.edge, ctx.tag(), {std::move(value), is_dead});
}

absl::Status Take(KernelContext& ctx, Rendezvous::Item item) {
  if (item.is_dead) return absl::OkStatus();
  if (item.value.dtype() != ctx.output_dtype(0)) {
    return absl::InvalidArgumentError(absl::StrCat("received ", DTypeName(item.value.dtype()),
                                                   " where ", DTypeName(ctx.output_dtype(0)),
                                                   " was expected"));
  }
  ctx.set_output(0, std::move(item.value));
  return absl::OkStatus();
}

void Recv(KernelContext& ctx, const EdgeAttrs& attrs, KernelDone done) {
  if (ctx.env().rendezvous == nullptr) return done(NoRendezvous());
  ctx.env().rendezvous->RecvAsync(
      attrs.edge, ctx.tag(), [&ctx, done = std::move(done)](absl::StatusOr<Rendezvous::Item> item) {
        done(item.ok() ? Take(ctx, *std::move(item)) : item.status());
      });
}

std::optional<absl::Status> TryRecv(KernelContext& ctx, const EdgeAttrs& attrs) {
  Rendezvous::Item item;
  if (ctx.env().rendezvous == nullptr ||
      !ctx.env().rendezvous->TryRecv(attrs.edge, ctx.tag(), &item))
    return std::nullopt;
  return Take(ctx, std::move(item));
}

constexpr absl::string_view kEdgeAttrs =
    "tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; "
    "client_terminated: bool = false}";

}  // namespace

void RegisterSendRecv(OpRegistry& ops) {
  for (const char* name : {"_Send", "_HostSend"}) {
    const std::string schema = absl::StrCat(name, "(tensor: T) -> {T: type; ", kEdgeAttrs);
    ops.Add({.schema = schema,
             .doc = "Sends `tensor`, or its deadness, to the _Recv that names the same edge.",
             .kind = OpKind::kTransfer,
             .traits = {.effect = Effect::kIo},
             .shape = shape::None,
             .gradient = NotDifferentiable("differentiate before partitioning"),
             .kernel = Compute<Send>()});
  }
  for (const char* name : {"_Recv", "_HostRecv"}) {
    const std::string schema =
        absl::StrCat(name, "() -> tensor: tensor_type {tensor_type: type; ", kEdgeAttrs);
    ops.Add({.schema = schema,
             .doc = "Waits for what the _Send of the same edge sends.",
             .kind = OpKind::kTransfer,
             .traits = {.effect = Effect::kIo},
             .shape = shape::Unknown,
             .gradient = NotDifferentiable("differentiate before partitioning"),
             .kernel = Compute<Recv, TryRecv>()});
  }
}

}  // namespace gyre
