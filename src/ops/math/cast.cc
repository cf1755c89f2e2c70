// Cast: numbers from one type to another.
//
// Integers wrap around. A fraction is cut off. A number that an integer type cannot hold, NaN
// included, becomes what x86's conversion instructions make of it: the least int32 or int64; types
// narrower than 32 bits take the low bits of the conversion to int32, uint32 those of the
// conversion to int64, and uint64 holds numbers up to 2⁶⁴ and is otherwise as int64. A complex
// number gives its real part to a type that is not complex. Anything but zero is true.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

using CastTypes = Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                        uint64_t, float, double, Half, BFloat16, complex64, complex128>;
// Pairs of these have a loop of their own.
using CommonTypes = Types<bool, int32_t, int64_t, float, double>;
// What all others pass through, without loss.
using WideTypes = Types<int64_t, uint64_t, double>;

template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

template <typename T>
using WideType = std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t,
                                    std::conditional_t<std::is_integral_v<T>, int64_t, double>>;

template <typename D>
D Truncated(double x) {
  if constexpr (std::is_same_v<D, int64_t>) {
    return x >= -0x1p63 && x < 0x1p63 ? static_cast<int64_t>(x)
                                      : std::numeric_limits<int64_t>::min();
  } else if constexpr (std::is_same_v<D, uint64_t>) {
    return x >= 0x1p63 && x < 0x1p64 ? static_cast<uint64_t>(x)
                                     : static_cast<uint64_t>(Truncated<int64_t>(x));
  } else if constexpr (std::is_same_v<D, uint32_t>) {
    return static_cast<uint32_t>(Truncated<int64_t>(x));
  } else {
    const bool fits = x > -0x1p31 - 1 && x < 0x1p31;
    return static_cast<D>(fits ? static_cast<int32_t>(x) : std::numeric_limits<int32_t>::min());
  }
}

// To D from bool, an integer, float or double.
template <typename D, typename S>
D Convert(S x) {
  if constexpr (std::is_same_v<D, bool>) {
    return x != S(0);
  } else if constexpr (std::is_integral_v<D> && std::is_floating_point_v<S>) {
    return Truncated<D>(static_cast<double>(x));
  } else if constexpr (kIsSmallFloat<D>) {
    return D(static_cast<float>(x));
  } else if constexpr (kIsComplex<D>) {
    return D(static_cast<typename D::value_type>(x));
  } else {
    return static_cast<D>(x);
  }
}

// An element as a number that Convert takes. A bool is read as the byte that it is.
template <typename S>
auto Load(const void* data, int64_t i) {
  if constexpr (std::is_same_v<S, bool>) {
    return static_cast<const uint8_t*>(data)[i] != 0;
  } else if constexpr (kIsSmallFloat<S>) {
    return static_cast<float>(static_cast<const S*>(data)[i]);
  } else if constexpr (kIsComplex<S>) {
    return static_cast<const S*>(data)[i].real();
  } else {
    return static_cast<const S*>(data)[i];
  }
}

template <typename S, typename D>
void CastRow(const void* x, void* y, int64_t n) {
  D* to = static_cast<D*>(y);
  for (int64_t i = 0; i < n; ++i) to[i] = Convert<D>(Load<S>(x, i));
}

template <typename S, typename D>
struct CastScalar {
  static bool Scalar(const void* const* inputs, void* output) noexcept {
    *static_cast<D*>(output) = Convert<D>(Load<S>(inputs[0], 0));
    return true;
  }
};

template <typename S, typename D>
void CastComplexRow(const void* x, void* y, int64_t n) {
  const S* from = static_cast<const S*>(x);
  D* to = static_cast<D*>(y);
  for (int64_t i = 0; i < n; ++i) to[i] = D(from[i]);
}

// The row that `make`, called with the type of Set that `dtype` is, gives; null when it is none of
// them.
template <typename Set, typename Make>
UnaryRow RowOf(DType dtype, Make make) {
  UnaryRow row = nullptr;
  VisitType<Set>(dtype, [&](auto tag) {
    row = make(tag);
    return absl::OkStatus();
  }).IgnoreError();
  return row;
}

UnaryRow DirectRow(DType from, DType to) {
  if (from == DType::kComplex64 && to == DType::kComplex128)
    return &CastComplexRow<complex64, complex128>;
  if (from == DType::kComplex128 && to == DType::kComplex64)
    return &CastComplexRow<complex128, complex64>;
  return RowOf<CommonTypes>(from, [&](auto from_tag) {
    return RowOf<CommonTypes>(to, [](auto to_tag) -> UnaryRow {
      return &CastRow<typename decltype(from_tag)::type, typename decltype(to_tag)::type>;
    });
  });
}

// What DirectRow does to one element; null where there is none.
const ScalarCode* DirectScalar(DType from, DType to) {
  const ScalarCode* code = nullptr;
  VisitType<CommonTypes>(from, [&](auto from_tag) {
    return VisitType<CommonTypes>(to, [&](auto to_tag) {
      code = &kScalarCode<
          CastScalar<typename decltype(from_tag)::type, typename decltype(to_tag)::type>>;
      return absl::OkStatus();
    });
  }).IgnoreError();
  return code;
}

// Into the wide type of `from`.
UnaryRow WideningRow(DType from) {
  return RowOf<CastTypes>(from, [](auto tag) -> UnaryRow {
    using S = typename decltype(tag)::type;
    return &CastRow<S, WideType<S>>;
  });
}

UnaryRow NarrowingRow(DType wide, DType to) {
  return RowOf<WideTypes>(wide, [&](auto wide_tag) {
    return RowOf<CastTypes>(to, [](auto to_tag) -> UnaryRow {
      return &CastRow<typename decltype(wide_tag)::type, typename decltype(to_tag)::type>;
    });
  });
}

// Quantised numbers are cast as the integers that they are stored as.
DType StoredAs(DType dtype) {
  switch (dtype) {
    case DType::kQint8:
      return DType::kInt8;
    case DType::kQuint8:
      return DType::kUint8;
    case DType::kQint16:
      return DType::kInt16;
    case DType::kQuint16:
      return DType::kUint16;
    case DType::kQint32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

// Bits of a double's fraction that do not fit `dtype`.
int ExcessBits(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kComplex64:
      return 52 - 23;
    case DType::kHalf:
      return 52 - 10;
    case DType::kBfloat16:
      return 52 - 7;
    default:
      return 0;
  }
}

struct CastAttrs {
  static absl::StatusOr<CastAttrs> Make(const Node& node);

  DType result;
  uint8_t from_size = 0;
  uint8_t to_size = 0;
  bool same_bytes = false;    // nothing to convert
  UnaryRow direct = nullptr;  // else through the wide type:
  UnaryRow widen = nullptr;
  UnaryRow narrow = nullptr;
  uint64_t dropped_bits = 0;  // of the wide double, before it is narrowed (`Truncate`)
};

absl::StatusOr<CastAttrs> CastAttrs::Make(const Node& node) {
  const DType from = StoredAs(NodeAttr<DType>(node, "SrcT"));
  const DType to = StoredAs(NodeAttr<DType>(node, "DstT"));
  CastAttrs attrs;
  attrs.result = NodeAttr<DType>(node, "DstT");
  attrs.from_size = static_cast<uint8_t>(DTypeSize(from));
  attrs.to_size = static_cast<uint8_t>(DTypeSize(to));
  attrs.same_bytes = from == to;
  if (attrs.same_bytes) return attrs;
  const bool truncate = NodeAttr<bool>(node, "Truncate") && (IsFloating(from) || IsComplex(from));
  if (truncate && !(IsComplex(from) && IsComplex(to))) {
    attrs.dropped_bits = (uint64_t{1} << ExcessBits(to)) - 1;
  }
  if (attrs.dropped_bits == 0) attrs.direct = DirectRow(from, to);
  if (attrs.direct != nullptr) return attrs;
  const DType wide = from == DType::kUint64                    ? DType::kUint64
                     : IsInteger(from) || from == DType::kBool ? DType::kInt64
                                                               : DType::kDouble;
  attrs.widen = WideningRow(from);
  attrs.narrow = NarrowingRow(wide, to);
  if (attrs.widen == nullptr || attrs.narrow == nullptr) {
    const DType source = NodeAttr<DType>(node, "SrcT");
    const absl::string_view instead = source == DType::kString ? ": StringToNumber reads numbers"
                                      : attrs.result == DType::kString ? ": AsString writes numbers"
                                                                       : "";
    return absl::UnimplementedError(absl::StrCat("there is no cast from ", DTypeName(source),
                                                 " to ", DTypeName(attrs.result), instead));
  }
  return attrs;
}

void CastPiece(const CastAttrs& attrs, const char* from, char* to, int64_t n) {
  if (attrs.direct != nullptr) return attrs.direct(from, to, n);
  constexpr int64_t kBlock = 256;
  alignas(64) char wide[kBlock * 8];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    attrs.widen(from + begin * attrs.from_size, wide, count);
    for (int64_t i = 0; attrs.dropped_bits != 0 && i < count; ++i) {
      double value;
      std::memcpy(&value, wide + i * 8, 8);
      if (value != value) continue;  // a NaN must not lose the bits that make it one
      uint64_t bits;
      std::memcpy(&bits, &value, 8);
      bits &= ~attrs.dropped_bits;
      std::memcpy(wide + i * 8, &bits, 8);
    }
    attrs.narrow(wide, to + begin * attrs.to_size, count);
  }
}

bool CastRows(const void* attrs, const void* const* inputs, size_t, uint32_t, void* output,
              int64_t n) {
  const auto& cast = *static_cast<const CastAttrs*>(attrs);
  if (cast.same_bytes) {
    std::memmove(output, inputs[0], static_cast<size_t>(n) * cast.to_size);
  } else {
    CastPiece(cast, static_cast<const char*>(inputs[0]), static_cast<char*>(output), n);
  }
  return true;
}
constexpr RowCode kCastRows = {&CastRows, /*broadcasts=*/false};

absl::Status CastTensor(KernelContext& ctx, const CastAttrs& attrs) {
  if (attrs.same_bytes) {
    Tensor x = ctx.TakeInput(0);
    ctx.set_output(0, x.dtype() == attrs.result ? std::move(x) : x.Bitcast(attrs.result));
    return absl::OkStatus();
  }
  const Tensor& x = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor y, ctx.Allocate(attrs.result, x.shape()));
  const char* from = static_cast<const char*>(x.raw_data());
  char* to = static_cast<char*>(y.mutable_raw_data());
  GYRE_RETURN_IF_ERROR(ForPieces(ctx, x.num_elements(), [&](int64_t begin, int64_t end) {
    CastPiece(attrs, from + begin * attrs.from_size, to + begin * attrs.to_size, end - begin);
  }));
  ctx.set_output(0, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<Kernel> MakeCast(const Node& node) {
  GYRE_ASSIGN_OR_RETURN(Kernel kernel, Compute<&CastTensor>()(node));
  const auto* const attrs = static_cast<const CastAttrs*>(kernel.attrs.get());
  if (attrs->direct != nullptr || attrs->same_bytes)
    kernel.scalar = DirectScalar(NodeAttr<DType>(node, "SrcT"), NodeAttr<DType>(node, "DstT"));
  kernel.rows = &kCastRows;
  return kernel;
}

// The input's shape; and when integers stay integers, what is known of them as a shape.
absl::Status CastShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(shape::SameAsInput(c));
  const std::optional<PartialShape>& as_shape = c.inputs()[0].as_shape;
  const DType to = c.output_dtype(0);
  if (as_shape && (to == DType::kInt32 || to == DType::kInt64)) c.set_output_as_shape(0, *as_shape);
  return absl::OkStatus();
}

// Nothing flows through numbers that are not continuous.
void CastGradient(GradientContext& g) {
  const DType result = g.output_dtype(0);
  if (!g.wants(0) || !(IsFloating(result) || IsComplex(result))) return;
  g.Add(0, Cast(g.grad(), g.input_dtype(0)));
}

// How many bits of magnitude an integer type has, sign apart; 0 for what is none.
int IntegerBits(DType type) {
  switch (type) {
    case DType::kInt8:
      return 7;
    case DType::kUint8:
      return 8;
    case DType::kInt16:
      return 15;
    case DType::kUint16:
      return 16;
    case DType::kInt32:
      return 31;
    case DType::kUint32:
      return 32;
    case DType::kInt64:
      return 63;
    case DType::kUint64:
      return 64;
    default:
      return 0;
  }
}

bool IsSigned(DType type) { return IntegerBits(type) % 2 == 1; }

// Every value of `from` is one of `to`, and comes back from there.
bool Widens(DType from, DType to) {
  if (from == to) return true;
  const int from_bits = IntegerBits(from);
  const int to_bits = IntegerBits(to);
  if (from_bits > 0 && to_bits > 0)
    return from_bits <= to_bits && (IsSigned(to) || !IsSigned(from));
  if (from_bits > 0) return to == DType::kDouble && from_bits <= 32;
  if (to == DType::kDouble) return IsFloating(from);
  return to == DType::kFloat && (from == DType::kHalf || from == DType::kBfloat16);
}

// Through a wider type and back, or on: the detour changes nothing.
void CastSimplify(SimplifyContext& s) {
  const Endpoint x = s.input(0);
  const DType to = s.output_dtype(0);
  if (s.TypeOf(x) == to) return s.Replace(0, x);
  const Node* inner = s.Maker(0, "Cast");
  if (inner == nullptr) return;
  const Endpoint source = s.InputOf(*inner, 0);
  const DType from = s.TypeOf(source);
  if (!Widens(from, s.TypeOf(x))) return;
  if (from == to) return s.Replace(0, source);
  if (IntegerBits(from) == 0 || IntegerBits(s.TypeOf(x)) == 0) return;
  Node& direct = s.Edit();
  direct.inputs[0] = source;
  direct.attrs.Set("SrcT", from);
  direct.signature.inputs[0].dtype = from;
}

// Of text by what it says.
Failure CastFailure(const Node& node) {
  const bool has_text = node.signature.inputs[0].dtype == DType::kString ||
                        node.signature.outputs[0].dtype == DType::kString;
  return has_text ? Failure::kByValues : Failure::kNever;
}

}  // namespace

void RegisterCast(OpRegistry& ops) {
  ops.Add({.schema = "Cast(x: SrcT) -> y: DstT {SrcT: type; DstT: type; Truncate: bool = false}",
           .doc = "x as numbers of type DstT; integers wrap around, and a fraction that does not "
                  "fit is rounded to "
                  "nearest, or cut off if Truncate.",
           .traits = {.elementwise = true},
           .shape = CastShape,
           .gradient = {CastGradient},
           .simplify = CastSimplify,
           .failure = CastFailure,
           .kernel = MakeCast});
}

}  // namespace gyre
