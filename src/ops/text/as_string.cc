#include <complex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"
#include "ops/text/string_bytes.h"
#include "tensor/format.h"

namespace gyre {
namespace {

// How a number becomes text: printf's rules.
struct AsStringAttrs {
  static constexpr int64_t kMaxWidth = 4096;

  static absl::StatusOr<AsStringAttrs> Make(const Node& node);

  std::string format;  // of one number: "%08.3f"
  int64_t width = -1;
  bool left = false;  // strings are put to the left of their field
};

absl::Status CheckNotation(const Node& node, DType dtype, int64_t precision) {
  const bool scientific = NodeAttr<bool>(node, "scientific");
  const bool shortest = NodeAttr<bool>(node, "shortest");
  if (scientific && shortest) {
    return absl::InvalidArgumentError("cannot select both scientific and shortest notation");
  }
  if (!IsInteger(dtype) && dtype != DType::kBool) return absl::OkStatus();
  if (scientific || shortest) {
    return absl::InvalidArgumentError(
        absl::StrCat("scientific and shortest format are not supported for ", DTypeName(dtype)));
  }
  if (precision > -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision is not supported for ", DTypeName(dtype)));
  }
  return absl::OkStatus();
}

absl::StatusOr<AsStringAttrs> AsStringAttrs::Make(const Node& node) {
  const DType dtype = NodeAttr<DType>(node, "T");
  const std::string& fill = NodeAttr<std::string>(node, "fill");
  const int64_t precision = NodeAttr<int64_t>(node, "precision");
  AsStringAttrs attrs;
  attrs.width = NodeAttr<int64_t>(node, "width");
  if (fill.size() > 1) {
    return absl::InvalidArgumentError("fill must be one character or none");
  }
  if (!fill.empty() && absl::string_view(" +-0#").find(fill[0]) == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("fill '", fill, "' is not supported: it must be one of ' ', +, -, 0, #"));
  }
  GYRE_RETURN_IF_ERROR(CheckNotation(node, dtype, precision));
  if (attrs.width > kMaxWidth || precision > kMaxWidth) {
    return absl::InvalidArgumentError(
        absl::StrCat("width and precision must be at most ", kMaxWidth));
  }
  attrs.left = fill == "-";
  attrs.format = absl::StrCat("%", fill);
  if (attrs.width > -1) absl::StrAppend(&attrs.format, attrs.width);
  if (IsInteger(dtype)) {
    attrs.format += "d";
    return attrs;
  }
  if (precision > -1) absl::StrAppend(&attrs.format, ".", precision);
  attrs.format += NodeAttr<bool>(node, "shortest")     ? "g"
                  : NodeAttr<bool>(node, "scientific") ? "e"
                                                       : "f";
  return attrs;
}

// Where Abseil writes a number. Not into a string: what is left it writes in a destructor, which
// cannot say that there is no memory.
struct Characters {
  char text[AsStringAttrs::kMaxWidth + 512];  // the digits before the point of a double, and more
  size_t size = 0;

  friend void AbslFormatFlush(Characters* out, absl::string_view part) {
    part = part.substr(0, sizeof(out->text) - out->size);
    out->size += part.copy(out->text + out->size, part.size());
  }
};

template <typename N>
std::string FormatNumber(const AsStringAttrs& attrs, N number) {
  Characters characters;
  // Cannot fail: Make built the format for this kind of number.
  (void)absl::FormatUntyped(&characters, absl::UntypedFormatSpec(attrs.format),
                            {absl::FormatArg(number)});
  return {characters.text, characters.size};
}

std::string ToText(const AsStringAttrs& attrs, const std::string& value) {
  const auto size = static_cast<int64_t>(value.size());
  if (size >= attrs.width) return value;
  const std::string padding(attrs.width - size, ' ');
  return attrs.left ? value + padding : padding + value;
}
std::string ToText(const AsStringAttrs&, bool value) { return value ? "true" : "false"; }
template <typename T>
std::string ToText(const AsStringAttrs& attrs, const std::complex<T>& value) {
  return absl::StrCat("(", FormatNumber(attrs, value.real()), ",",
                      FormatNumber(attrs, value.imag()), ")");
}
std::string ToText(const AsStringAttrs& attrs, Half value) {
  return FormatNumber(attrs, static_cast<float>(value));
}
std::string ToText(const AsStringAttrs& attrs, BFloat16 value) {
  return FormatNumber(attrs, static_cast<float>(value));
}
std::string ToText(const AsStringAttrs&, const RefPtr<Object>& value) {
  return absl::StrCat("<", value ? value->type_name() : "nothing", ">");
}
template <typename T>
std::string ToText(const AsStringAttrs& attrs, T value) {
  return FormatNumber(attrs, +value);  // promoted: a byte is a number, not a character
}

template <typename T>
absl::Status Convert(const KernelContext& ctx, const AsStringAttrs& attrs, absl::Span<const T> in,
                     Tensor& out) {
  const absl::Span<std::string> text = out.mutable_values<std::string>();
  Mover<std::string> mover(ctx, out);
  constexpr int64_t kGrain = 256;
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(static_cast<int64_t>(in.size()), kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::string made = ToText(attrs, in[i]);
          if (!mover.Admit(made)) return;
          text[i] = std::move(made);
        }
      }));
  return mover.status();
}

template <typename T>
struct AsStringKernel {
  static absl::Status Run(KernelContext& ctx, const AsStringAttrs& attrs) {
    const Tensor& input = ctx.input(0);
    if (attrs.width > 0) {
      const std::optional<int64_t> bytes = CheckedMul(attrs.width, input.num_elements());
      if (!bytes) return absl::ResourceExhaustedError("the text would be longer than memory");
      GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, *bytes));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, input.shape()));
    if (input.rank() == 0 && input.object() != nullptr) {
      const RefPtr<Object> object = RefPtr<Object>::Share(input.object());
      GYRE_RETURN_IF_ERROR(Convert(ctx, attrs, absl::MakeConstSpan(&object, 1), out));
    } else {
      GYRE_RETURN_IF_ERROR(Convert(ctx, attrs, input.values<T>(), out));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status AsStringShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

absl::StatusOr<Kernel> MakeAsString(const Node& node) {
  if (NodeAttr<DType>(node, "T") == DType::kVariant) {
    return internal::KernelBinder<&AsStringKernel<RefPtr<Object>>::Run>::Bind(node);
  }
  using TextTypes =
      Types<float, double, int32_t, uint8_t, int16_t, int8_t, int64_t, BFloat16, uint16_t, Half,
            uint32_t, uint64_t, complex64, complex128, bool, std::string>;
  return ForTypes<AsStringKernel, TextTypes>("T")(node);
}

}  // namespace

void RegisterAsString(OpRegistry& ops) {
  ops.Add({
      .schema = "AsString(input: T) -> output: string {T: {realnumbertype, complex64, complex128, "
                "bool, variant, string}; precision: int = -1; scientific: bool = false; "
                "shortest: bool = false; width: int = -1; fill: string = ''}",
      .doc = "Writes each element as text, by the rules of printf.",
      .traits = {.elementwise = true},
      .shape = AsStringShape,
      .gradient = NotDifferentiable("its result is a string"),
      .kernel = MakeAsString,
  });
}

}  // namespace gyre
