#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The whole string must be a number that T can hold, apart from white space around it.
bool Parse(absl::string_view text, float* value) { return absl::SimpleAtof(text, value); }
bool Parse(absl::string_view text, double* value) { return absl::SimpleAtod(text, value); }
template <typename T>
bool Parse(absl::string_view text, T* value) {
  return absl::SimpleAtoi(text, value);
}

template <typename T>
struct StringToNumberKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor& input = ctx.input(0);
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, input.shape()));
    const absl::Span<const std::string> strings = input.values<std::string>();
    const absl::Span<T> numbers = out.mutable_values<T>();
    for (size_t i = 0; i < strings.size(); ++i) {
      if (i % 4096 == 4095) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (!Parse(strings[i], &numbers[i])) {
        return absl::InvalidArgumentError(absl::StrCat("'", absl::Utf8SafeCEscape(strings[i]),
                                                       "' (element ", i, ") is not a ",
                                                       DTypeName(DTypeOf<T>)));
      }
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterStringToNumber(OpRegistry& ops) {
  ops.Add({
      .schema = "StringToNumber(string_tensor: string) -> output: out_type "
                "{out_type: {float, double, int32, int64, uint32, uint64} = float}",
      .doc = "Reads each string as a number.",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("strings have no derivative"),
      .kernel = ForTypes<StringToNumberKernel,
                         Types<float, double, int32_t, int64_t, uint32_t, uint64_t>>("out_type"),
  });
}

}  // namespace gyre
