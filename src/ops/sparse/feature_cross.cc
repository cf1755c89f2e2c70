#include "ops/sparse/feature_cross.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ops/mover.h"
#include "ops/sparse/sparse_tensor.h"
#include "ops/text/fingerprint.h"

namespace gyre {
namespace {

// TensorFlow's way to make one fingerprint of two.
uint64_t Mixed(uint64_t x) { return x ^ (x >> 47); }

uint64_t Combined(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995U;
  uint64_t result = first ^ kFactor ^ (Mixed(second * kFactor) * kFactor);
  result *= kFactor;
  result = Mixed(result) * kFactor;
  return Mixed(result);
}

// What TensorFlow hashes of an integer: as many bytes as the number of its type has.
absl::string_view HashedBytes(const int64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(int32_t)};
}

uint64_t NumberOf(const CrossHash& hash, const CrossColumn& column, int64_t place) {
  const bool is_strong = hash.form == CrossHash::Form::kStrong;
  if (column.texts != nullptr) {
    const std::string& text = column.texts[place];
    return is_strong ? SipHash24(hash.salt[0], hash.salt[1], text) : FarmFingerprint64(text);
  }
  const int64_t& number = column.numbers[place];
  if (is_strong) return SipHash24(hash.salt[0], hash.salt[1], HashedBytes(number));
  if (hash.form == CrossHash::Form::kKeyed || column.is_dense) return static_cast<uint64_t>(number);
  return FarmFingerprint64(HashedBytes(number));
}

// Calls `visit` with the places of the features of each combination, the last column's varying
// fastest.
template <typename Visit>
absl::Status ForCombinations(const KernelContext& ctx, absl::Span<const CrossColumn> columns,
                             const Visit& visit) {
  const size_t width = columns.size();
  std::vector<int64_t> places(width);
  int64_t done = 0;
  for (int64_t row = 0; row < columns[0].starts.rows(); ++row) {
    bool has_next = true;
    for (size_t c = 0; c < width; ++c) {
      places[c] = columns[c].starts[row];
      has_next &= columns[c].starts.count(row) > 0;
    }
    if (row % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    while (has_next) {
      if (done % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (!visit(done++, places)) return absl::OkStatus();
      size_t c = width;
      while (c > 0 && ++places[c - 1] == columns[c - 1].starts[row + 1]) {
        places[c - 1] = columns[c - 1].starts[row];
        --c;
      }
      has_next = c > 0;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RowStarts> RowStarts::Make(const KernelContext& ctx, int64_t rows) {
  const std::optional<int64_t> size = CheckedAdd(rows, 1);
  if (!size) return absl::InvalidArgumentError(absl::StrCat("there are ", rows, " rows, too many"));
  RowStarts starts;
  GYRE_ASSIGN_OR_RETURN(starts.owner_, ctx.AllocateZeros(DType::kInt64, Shape::Vector(*size)));
  starts.data_ = starts.owner_.mutable_values<int64_t>().data();
  starts.rows_ = rows;
  return starts;
}

CrossColumn FeaturesOf(const Tensor& values) {
  CrossColumn column;
  if (values.dtype() == DType::kString) {
    column.texts = values.values<std::string>().data();
  } else {
    column.numbers = values.values<int64_t>().data();
  }
  return column;
}

absl::StatusOr<CrossColumn> DenseColumnAt(const KernelContext& ctx, int input) {
  const Tensor& t = ctx.input(input);
  if (t.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense inputs must be matrices, but one is of shape ", t.shape().ToString()));
  }
  CrossColumn column = FeaturesOf(t);
  column.is_dense = true;
  GYRE_ASSIGN_OR_RETURN(column.starts, RowStarts::Make(ctx, t.dim(0)));
  for (int64_t row = 0; row <= t.dim(0); ++row) {
    if (row % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    column.starts[row] = row * t.dim(1);
  }
  return column;
}

absl::StatusOr<CrossColumn> SparseColumnAt(const KernelContext& ctx, int indices, int values,
                                           int shape) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput sparse,
                        SparseInputAt(ctx, indices, values, shape, "", false));
  if (sparse.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("sparse inputs must be of rank 2, but one is of rank ", sparse.rank()));
  }
  CrossColumn column = FeaturesOf(ctx.input(values));
  const int64_t rows = sparse.shape[0];
  GYRE_ASSIGN_OR_RETURN(column.starts, RowStarts::Make(ctx, rows));
  int64_t last = 0;
  for (int64_t i = 0; i < sparse.n; ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t row = sparse.row(i)[0];
    if (row < last || row >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows of a sparse input must be in order and lie in [0, ", rows,
                       "), but indices[", i, ",0] = ", row));
    }
    last = row;
    ++column.starts[row + 1];
  }
  for (int64_t row = 0; row < rows; ++row) {
    if (row % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    column.starts[row + 1] += column.starts[row];
  }
  return column;
}

int64_t CrossHash::Bucket(absl::Span<const CrossColumn> columns,
                          absl::Span<const int64_t> places) const {
  uint64_t result = key;
  for (size_t c = 0; c < columns.size(); ++c) {
    const uint64_t number = NumberOf(*this, columns[c], places[c]);
    result = c == 0 && form != Form::kKeyed ? number : Combined(result, number);
  }
  const uint64_t buckets = num_buckets > 0
                               ? static_cast<uint64_t>(num_buckets)
                               : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(result % buckets);
}

absl::StatusOr<RowStarts> CrossStarts(const KernelContext& ctx,
                                      absl::Span<const CrossColumn> columns) {
  const int64_t rows = columns[0].starts.rows();
  for (const CrossColumn& column : columns) {
    if (column.starts.rows() == rows) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "all inputs must have equally many rows, but have ", rows, " and ", column.starts.rows()));
  }
  GYRE_ASSIGN_OR_RETURN(RowStarts starts, RowStarts::Make(ctx, rows));
  for (int64_t row = 0; row < rows; ++row) {
    if (row % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    std::optional<int64_t> count = 1;
    for (const CrossColumn& column : columns) {
      if (column.starts.count(row) == 0) count = 0;
    }
    for (const CrossColumn& column : columns) {
      if (count && *count > 0) count = CheckedMul(*count, column.starts.count(row));
    }
    const std::optional<int64_t> end =
        count ? CheckedAdd(starts[row], *count) : std::optional<int64_t>();
    if (!end) return absl::InvalidArgumentError("there are more crosses than can be counted");
    starts[row + 1] = *end;
  }
  return starts;
}

absl::StatusOr<Tensor> CrossValues(const KernelContext& ctx, absl::Span<const CrossColumn> columns,
                                   int64_t total, const CrossHash* hash,
                                   absl::string_view separator) {
  GYRE_ASSIGN_OR_RETURN(
      Tensor values,
      ctx.Allocate(hash != nullptr ? DType::kInt64 : DType::kString, Shape::Vector(total)));
  if (hash != nullptr) {
    int64_t* to = values.mutable_values<int64_t>().data();
    GYRE_RETURN_IF_ERROR(
        ForCombinations(ctx, columns, [&](int64_t i, const std::vector<int64_t>& places) {
          to[i] = hash->Bucket(columns, places);
          return true;
        }));
    return values;
  }
  std::string* to = values.mutable_values<std::string>().data();
  Mover<std::string> mover(ctx, values);
  GYRE_RETURN_IF_ERROR(
      ForCombinations(ctx, columns, [&](int64_t i, const std::vector<int64_t>& places) {
        std::string text;
        for (size_t c = 0; c < columns.size(); ++c) {
          if (c > 0) text.append(separator.data(), separator.size());
          if (columns[c].texts != nullptr) {
            text.append(columns[c].texts[places[c]]);
          } else {
            absl::StrAppend(&text, columns[c].numbers[places[c]]);
          }
        }
        if (!mover.Admit(text)) return false;
        to[i] = std::move(text);
        return true;
      }));
  GYRE_RETURN_IF_ERROR(mover.status());
  return values;
}

}  // namespace gyre
