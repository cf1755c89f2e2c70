// Crosses of features: for each row of a batch, all combinations of one feature of each column.
// Stateless; any thread. Columns refer to tensors that must outlive them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/kernel.h"

namespace gyre {

// Where the features, or crosses, of each row begin, and behind the last row where they end.
// Charged to the run's budget: shapes may say any number of rows.
class RowStarts {
 public:
  RowStarts() = default;
  // Zeros.
  static absl::StatusOr<RowStarts> Make(const KernelContext& ctx, int64_t rows);

  int64_t rows() const { return rows_; }
  int64_t operator[](int64_t row) const { return data_[row]; }
  int64_t& operator[](int64_t row) { return data_[row]; }
  int64_t count(int64_t row) const { return data_[row + 1] - data_[row]; }
  int64_t total() const { return data_[rows_]; }
  absl::Span<const int64_t> all() const { return {data_, static_cast<size_t>(rows_) + 1}; }

 private:
  Tensor owner_;
  int64_t* data_ = nullptr;
  int64_t rows_ = 0;
};

// The features of one column: texts or integers, of which row b has those from starts[b] on before
// starts[b + 1].
struct CrossColumn {
  const std::string* texts = nullptr;  // null: `numbers`
  const int64_t* numbers = nullptr;
  RowStarts starts;
  bool is_dense = false;
};

// The column of a matrix, and of a sparse matrix whose parts stand at these inputs.
// INVALID_ARGUMENT unless they are such, with rows in order.
absl::StatusOr<CrossColumn> DenseColumnAt(const KernelContext& ctx, int input);
absl::StatusOr<CrossColumn> SparseColumnAt(const KernelContext& ctx, int indices, int values,
                                           int shape);

// Features of a tensor of strings or int64, without starts. Requirement: it is one.
CrossColumn FeaturesOf(const Tensor& values);

// How features become numbers, and their numbers one.
struct CrossHash {
  enum class Form : uint8_t { kKeyed, kPlain, kStrong };
  Form form = Form::kKeyed;
  uint64_t key = 0;           // of kKeyed: what the hash begins with
  uint64_t salt[2] = {0, 0};  // of kStrong
  int64_t num_buckets = 0;    // 0: as many as there are positive numbers

  int64_t Bucket(absl::Span<const CrossColumn> columns, absl::Span<const int64_t> places) const;
};

// Of the combinations. INVALID_ARGUMENT where columns have different numbers of rows, or there are
// too many. Requirement: there is a column.
absl::StatusOr<RowStarts> CrossStarts(const KernelContext& ctx,
                                      absl::Span<const CrossColumn> columns);

// All combinations, in order, as a vector of int64 (by `hash`) or of strings (hash is null: joined
// by `separator`).
absl::StatusOr<Tensor> CrossValues(const KernelContext& ctx, absl::Span<const CrossColumn> columns,
                                   int64_t total, const CrossHash* hash,
                                   absl::string_view separator);

}  // namespace gyre
