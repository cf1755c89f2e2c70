#include "golden/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/variant_ops.h"
#include "tensor/format.h"

namespace gyre::golden {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kLongestString = 60;

// Show(x): text that reads back as x.
std::string Show(double x) { return FormatDouble(x); }
std::string Show(float x) { return FormatFloat(x); }
std::string Show(Half x) { return Show(static_cast<float>(x)); }
std::string Show(BFloat16 x) { return Show(static_cast<float>(x)); }
std::string Show(bool x) { return x ? "true" : "false"; }
template <std::integral T>
std::string Show(T x) {
  return std::to_string(x);
}
template <typename T>
std::string Show(std::complex<T> x) {
  return absl::StrCat("(", Show(x.real()), ", ", Show(x.imag()), ")");
}
std::string Show(const std::string& x) {
  const bool is_long = x.size() > kLongestString;
  return absl::StrCat("\"", absl::CEscape(absl::string_view(x).substr(0, kLongestString)),
                      is_long ? "…\"" : "\"");
}

// Error(got, want): how far one element is from what was wanted; 0 only when they are equal.
double Error(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double error = std::abs(got - want);
  return std::isnan(error) ? kInfinity : error;
}
double Error(std::complex<double> got, std::complex<double> want) {
  const double real = Error(got.real(), want.real());
  const double imaginary = Error(got.imag(), want.imag());
  return std::hypot(real, imaginary);
}
template <typename T>
double Error(const T& got, const T& want) {
  if (got == want) return 0;
  if constexpr (std::integral<T>) {
    // Never 0 for large integers that round to the same double.
    return std::max(1.0, std::abs(static_cast<double>(got) - static_cast<double>(want)));
  } else {
    return kInfinity;
  }
}

// Widen(x): what errors are measured in.
double Widen(double x) { return x; }
double Widen(float x) { return x; }
double Widen(Half x) { return static_cast<float>(x); }
double Widen(BFloat16 x) { return static_cast<float>(x); }
template <typename T>
std::complex<double> Widen(std::complex<T> x) {
  return x;
}
template <std::integral T>
T Widen(T x) {
  return x;
}
absl::string_view Widen(const std::string& x) { return x; }

// The error that an element may have.
template <typename T>
double Allowed(const T& want, Tolerance tolerance) {
  if constexpr (std::same_as<T, double> || std::same_as<T, std::complex<double>>) {
    const double allowed = tolerance.atol + tolerance.rtol * std::abs(want);
    return std::isfinite(allowed) ? allowed : 0;  // next to inf or nan nothing but the same will do
  } else {
    return 0;
  }
}

// "[1,2]": where element `i` of a row-major tensor is.
std::string IndexText(const Shape& shape, int64_t i) {
  std::vector<int64_t> index(shape.rank());
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = i % shape.dim(d);
    i /= shape.dim(d);
  }
  return absl::StrCat("[", absl::StrJoin(index, ","), "]");
}

template <typename T>
std::optional<std::string> ElementDifference(const Tensor& got, const Tensor& want,
                                             Tolerance tolerance) {
  int64_t count = 0, first = 0, worst = 0;
  double largest = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const auto& wanted = Widen(want.values<T>()[i]);
    const double error = Error(Widen(got.values<T>()[i]), wanted);
    if (error <= Allowed(wanted, tolerance)) continue;
    if (count++ == 0) first = i;
    if (error > largest) {
      largest = error;
      worst = i;
    }
  }
  if (count == 0) return std::nullopt;
  const Shape& shape = want.shape();
  std::string text =
      absl::StrCat(shape.IsScalar() ? "" : absl::StrCat("at ", IndexText(shape, first), " "),
                   "got ", Show(got.values<T>()[first]), ", want ", Show(want.values<T>()[first]));
  if (want.num_elements() > 1)
    absl::StrAppend(&text, "; ", count, " of ", want.num_elements(), " elements differ");
  if constexpr (!std::same_as<T, std::string> && !std::same_as<T, bool>) {
    absl::StrAppend(&text, "; largest error ", Show(largest));
    if (want.num_elements() > 1) absl::StrAppend(&text, " at ", IndexText(shape, worst));
    const double allowed = Allowed(Widen(want.values<T>()[worst]), tolerance);
    if (allowed > 0) absl::StrAppend(&text, ", allowed ", Show(allowed));
  }
  return text;
}

// Of lists and optionals: in what they hold.
std::optional<std::string> VariantDifference(const Tensor& got, const Tensor& want,
                                             Tolerance tolerance) {
  const auto* const a = got.object_as<AddableObject>();
  const auto* const b = want.object_as<AddableObject>();
  if (a == nullptr || b == nullptr) return "got or want nothing that can be compared";
  if (a->type_name() != b->type_name())
    return absl::StrCat("got a ", a->type_name(), ", want a ", b->type_name());
  const auto got_parts = a->TakeApart(), want_parts = b->TakeApart();
  if (!got_parts.ok()) return std::string(got_parts.status().message());
  if (!want_parts.ok()) return std::string(want_parts.status().message());
  const size_t count = want_parts->components.size();
  if (got_parts->components.size() != count) {
    return absl::StrCat("got ", got_parts->components.size(), " elements of a ", a->type_name(),
                        ", want ", count);
  }
  for (size_t i = 0; i < count; ++i) {
    const auto difference =
        Difference(got_parts->components[i], want_parts->components[i], tolerance);
    if (difference) return absl::StrCat("element ", i, ": ", *difference);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Difference(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  if (!got.has_value()) return "got no value";
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return absl::StrCat("got ", DTypeName(got.dtype()), got.shape().ToString(), ", want ",
                        DTypeName(want.dtype()), want.shape().ToString());
  }
  switch (want.dtype()) {
    case DType::kFloat:
      return ElementDifference<float>(got, want, tolerance);
    case DType::kDouble:
      return ElementDifference<double>(got, want, tolerance);
    case DType::kHalf:
      return ElementDifference<Half>(got, want, tolerance);
    case DType::kBfloat16:
      return ElementDifference<BFloat16>(got, want, tolerance);
    case DType::kInt8:
      return ElementDifference<int8_t>(got, want, tolerance);
    case DType::kInt16:
      return ElementDifference<int16_t>(got, want, tolerance);
    case DType::kInt32:
      return ElementDifference<int32_t>(got, want, tolerance);
    case DType::kInt64:
      return ElementDifference<int64_t>(got, want, tolerance);
    case DType::kUint8:
      return ElementDifference<uint8_t>(got, want, tolerance);
    case DType::kUint16:
      return ElementDifference<uint16_t>(got, want, tolerance);
    case DType::kUint32:
      return ElementDifference<uint32_t>(got, want, tolerance);
    case DType::kUint64:
      return ElementDifference<uint64_t>(got, want, tolerance);
    case DType::kBool:
      return ElementDifference<bool>(got, want, tolerance);
    case DType::kComplex64:
      return ElementDifference<complex64>(got, want, tolerance);
    case DType::kComplex128:
      return ElementDifference<complex128>(got, want, tolerance);
    case DType::kString:
      return ElementDifference<std::string>(got, want, tolerance);
    case DType::kVariant:
      return VariantDifference(got, want, tolerance);
    default:
      return absl::StrCat("values of type ", DTypeName(want.dtype()), " cannot be compared");
  }
}

bool SameBits(const Tensor& a, const Tensor& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kString) return a.values<std::string>() == b.values<std::string>();
  return !IsTrivial(a.dtype()) || std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0;
}

}  // namespace gyre::golden
