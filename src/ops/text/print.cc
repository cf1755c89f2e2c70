#include <atomic>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/print_text.h"
#include "tensor/format.h"

namespace gyre {
namespace {

// How often a Print has printed, over all runs of a session. Thread-safe.
class PrintCount final : public Object {
 public:
  static constexpr absl::string_view kTypeName = "PrintCount";
  absl::string_view type_name() const override { return kTypeName; }
  int64_t Next() { return count_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> count_{0};
};

struct PrintAttrs {
  explicit PrintAttrs(const Node& node)
      : message(NodeAttr<std::string>(node, "message")),
        first_n(NodeAttr<int64_t>(node, "first_n")),
        summarize(NodeAttr<int64_t>(node, "summarize")) {}
  std::string message;
  int64_t first_n;  // negative: no limit
  int64_t summarize;
};

bool HasPrintedEnough(const KernelContext& ctx, const PrintAttrs& attrs) {
  if (attrs.first_n < 0 || ctx.env().resources == nullptr) return false;
  const RefPtr<PrintCount> count = ctx.env().resources->LookupOrCreate<PrintCount>(
      "", ctx.node().name, [] { return MakeRef<PrintCount>(); });
  return count->Next() >= attrs.first_n;
}

absl::Status Print(KernelContext& ctx, const PrintAttrs& attrs) {
  if (!HasPrintedEnough(ctx, attrs)) {
    std::string text = attrs.message;
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      absl::StrAppend(&text, "[", FormatTensor(ctx.input(i), attrs.summarize), "]");
    }
    text += "\n";
    PrintText(ctx.env(), "stderr", text);
  }
  ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

constexpr absl::string_view kStreams[] = {"stdout", "stderr", "log(info)", "log(warning)",
                                          "log(error)"};

struct PrintV2Attrs {
  static absl::StatusOr<PrintV2Attrs> Make(const Node& node) {
    PrintV2Attrs attrs;
    attrs.stream = NodeAttr<std::string>(node, "output_stream");
    attrs.end = NodeAttr<std::string>(node, "end");
    for (const absl::string_view stream : kStreams) {
      if (attrs.stream == stream) return attrs;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown output_stream '", attrs.stream,
        "': it must be stdout, stderr, log(info), log(warning) or log(error); a graph may not name "
        "files to write to"));
  }
  std::string stream;
  std::string end;
};

absl::Status PrintV2(KernelContext& ctx, const PrintV2Attrs& attrs) {
  const Tensor& input = ctx.input(0);
  if (input.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must be a scalar, but its shape is ", input.shape().ToString()));
  }
  PrintText(ctx.env(), attrs.stream, absl::StrCat(input.scalar<std::string>(), attrs.end));
  return absl::OkStatus();
}

absl::Status PrintV2Shape(ShapeContext& c) { return c.RequireScalar(0); }

}  // namespace

void PrintText(const RunEnv& env, absl::string_view stream, absl::string_view text) {
  if (env.print) {
    env.print(stream, text);
    return;
  }
  std::FILE* file = stream == "stdout" ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

void RegisterPrint(OpRegistry& ops) {
  ops.Add({
      .schema = "Print(input: T, data: U) -> output: T {T: type; U: list(type) >= 0; "
                "message: string = ''; first_n: int = -1; summarize: int = 3}",
      .doc = "Passes its input on, and prints a message with the data.",
      .traits = {.effect = Effect::kIo, .hands_on = true},
      .shape = shape::SameAsInput,
      .gradient = {[](GradientContext& g) { g.Add(0, g.grad()); }},
      .kernel = Compute<&Print>(),
  });
}

void RegisterPrintV2(OpRegistry& ops) {
  ops.Add({
      .schema = "PrintV2(input: string) -> {output_stream: string = 'stderr'; end: string = '\n'}",
      .doc = "Prints a string.",
      .traits = {.effect = Effect::kIo},
      .shape = PrintV2Shape,
      .gradient = NotDifferentiable("it has no outputs"),
      .kernel = Compute<&PrintV2>(),
  });
}

}  // namespace gyre
