#include "session/literal.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ops/evaluate.h"
#include "tensor/format.h"

namespace gyre::internal {
namespace {

absl::StatusOr<Tensor> Cast(const Tensor& tensor, DType dtype) {
  AttrMap attrs;
  attrs.Set("DstT", dtype);
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> cast, EvaluateOp("Cast", {tensor}, attrs));
  return cast[0];
}

int Rank(DType dtype) {
  if (IsComplex(dtype)) return 3;
  if (IsFloating(dtype)) return 2;
  return IsInteger(dtype) ? 1 : 0;
}

bool IsNumber(DType dtype) { return Rank(dtype) > 0 || dtype == DType::kBool; }

}  // namespace

absl::StatusOr<Tensor> ConvertLiteral(const Tensor& literal, DType dtype) {
  if (literal.dtype() == dtype) return literal;
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(FormatTensor(literal, 3), " of ", DTypeName(literal.dtype()), " is no ",
                     DTypeName(dtype), "; convert it with cast if that is meant"));
  };
  const bool loses_kind = Rank(literal.dtype()) > Rank(dtype) && !IsInteger(dtype);
  if (!IsNumber(literal.dtype()) || !IsNumber(dtype) || loses_kind) return refuse();
  GYRE_ASSIGN_OR_RETURN(Tensor converted, Cast(literal, dtype));
  if (Rank(dtype) >= 2) return converted;
  GYRE_ASSIGN_OR_RETURN(const Tensor back, Cast(converted, literal.dtype()));
  if (std::memcmp(back.raw_data(), literal.raw_data(), literal.bytes()) != 0) return refuse();
  return converted;
}

DType CommonType(DType a, DType b) { return Rank(b) > Rank(a) ? b : a; }

}  // namespace gyre::internal
