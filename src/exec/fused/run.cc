// Running a group: by cells, by pieces, or kernel by kernel.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "exec/fused/group.h"

namespace gyre::fused {
namespace {

constexpr absl::string_view kFailedOp = "gyre/failed_op";

// What lies on the stack: cells of small groups, and pieces of what is between ops.
constexpr uint32_t kMaxCellBytesOnStack = 4096;
constexpr uint32_t kPieceBytes = 64 << 10;
constexpr int64_t kMaxPiece = 2048;  // elements
constexpr int64_t kMinPiece = 64;
// Elements of a task of its own: as much work as one op's kernel would make one of.
constexpr int64_t kTaskElements = 16384;
constexpr int64_t kMinTaskElements = 2048;
// Results between two looks at the clock: milliseconds of the slowest ops.
constexpr int64_t kPolledResults = 16 * kMaxPiece;

// The elements of a value.
enum class Extent : uint8_t {
  kOne,   // one element, used for all
  kRow,   // those of a row, again and again
  kFull,  // as many as the result
};

class Runner {
 public:
  Runner(KernelContext& ctx, const FusedGroup& group) : ctx_(ctx), group_(group) {}

  absl::Status Run() {
    if (AreScalars()) {
      if (RunScalars()) return absl::OkStatus();
    } else if (FindExtents()) {
      GYRE_ASSIGN_OR_RETURN(const bool has_results, RunPieces());
      if (has_results) return absl::OkStatus();
    }
    return RunKernels();
  }

 private:
  size_t num_inputs() const { return group_.inputs.size(); }
  const Tensor& given(ValueIndex value) const {
    return value < num_inputs() ? ctx_.input(static_cast<int>(value))
                                : *group_.constants[value - num_inputs()];
  }

  // Scalars.

  bool AreScalars() const {
    for (size_t i = 0; i < num_inputs(); ++i) {
      const Tensor& input = ctx_.input(static_cast<int>(i));
      if (!input.is_inline() || input.dtype() != group_.inputs[i]) return false;
    }
    return absl::c_all_of(group_.constants, [](const Tensor* t) { return t->is_inline(); });
  }

  bool RunScalars() {
    if (group_.num_cell_bytes <= kMaxCellBytesOnStack) {
      alignas(16) std::array<char, kMaxCellBytesOnStack> cells;
      return RunCells(cells.data());
    }
    absl::StatusOr<Tensor> cells =
        ctx_.Allocate(DType::kUint8, Shape::Vector(group_.num_cell_bytes));
    return cells.ok() && RunCells(static_cast<char*>(cells->mutable_raw_data()));
  }

  // False: some op has no result.
  bool RunCells(char* cells) {
    for (ValueIndex value = 0; value < group_.num_given(); ++value) {
      const Tensor& tensor = given(value);
      std::memcpy(cells + group_.cells[value], tensor.raw_data(), DTypeSize(tensor.dtype()));
    }
    int64_t results = 0;
    for (const CellStep& step : group_.steps) {
      if (++results % kPolledResults == 0 && !ctx_.Poll().ok()) return false;
      if (step.function == nullptr) {
        if (!RunOneElement(*step.op, cells)) return false;
        continue;
      }
      const void* const operands[kMaxBroadcastOperands] = {
          cells + step.operands[0], cells + step.operands[1], cells + step.operands[2]};
      if (!step.function(operands, cells + step.output)) return false;
    }
    const FusedOp& last = group_.ops.back();
    Tensor result = *Tensor::Make(last.dtype, Shape());  // no allocation
    std::memcpy(result.mutable_raw_data(), cells + last.cell, last.bytes);
    ctx_.set_output(0, std::move(result));
    return true;
  }
  bool RunOneElement(const FusedOp& op, char* cells) const {
    absl::InlinedVector<const void*, 8> operands;
    operands.reserve(op.operands.size());
    for (const ValueIndex operand : op.operands)
      operands.push_back(cells + group_.cell_of(operand));
    return op.kernel.rows->function(op.kernel.attrs.get(), operands.data(), operands.size(), 0,
                                    cells + op.cell, 1);
  }

  // Pieces.

  // Says which elements each value has. False: they are not what pieces can be made of.
  bool FindExtents() {
    if (group_.num_slots > kPieceBytes / (kMinPiece * group_.max_bytes)) return false;
    for (ValueIndex value = 0; value < group_.num_given(); ++value) {
      const Tensor& tensor = given(value);
      if (!tensor.has_value() || tensor.is_ref() || tensor.device() != nullptr ||
          (value < num_inputs() && tensor.dtype() != group_.inputs[value]))
        return false;
      if (shape_ == nullptr || tensor.rank() > shape_->rank() ||
          (tensor.rank() == shape_->rank() && tensor.num_elements() > shape_->num_elements()))
        shape_ = &tensor.shape();
    }
    // Of no elements there would be no piece to say that an op of scalars fails.
    if (group_.may_fail && shape_->num_elements() == 0) return false;
    extents_.resize(group_.num_given() + group_.ops.size());
    for (ValueIndex value = 0; value < group_.num_given(); ++value)
      if (!FindExtent(given(value).shape(), extents_[value])) return false;
    for (size_t k = 0; k < group_.ops.size(); ++k) {
      const FusedOp& op = group_.ops[k];
      Extent extent = Extent::kOne;
      bool differ = false;
      for (const ValueIndex operand : op.operands) {
        differ |= extents_[operand] != extents_[op.operands[0]];
        extent = std::max(extent, extents_[operand]);
      }
      if (differ && !op.kernel.rows->broadcasts) return false;
      extents_[group_.num_given() + k] = extent;
    }
    return extents_.back() == Extent::kFull;
  }
  bool FindExtent(const Shape& shape, Extent& extent) {
    if (shape == *shape_) {
      extent = Extent::kFull;
    } else if (shape.IsScalar()) {
      extent = Extent::kOne;
    } else if ((row_ == nullptr || shape == *row_) && IsRow(shape)) {
      row_ = &shape;
      extent = Extent::kRow;
    } else {
      return false;
    }
    return true;
  }
  // The last dimensions of the result's, and enough elements to be worth a stretch of their own.
  bool IsRow(const Shape& shape) const {
    const int missing = shape_->rank() - shape.rank();
    if (missing <= 0 || shape.num_elements() < kMinPiece) return false;
    for (int i = 0; i < shape.rank(); ++i)
      if (shape.dim(i) != shape_->dim(missing + i)) return false;
    return true;
  }

  // False: some elements have no result.
  absl::StatusOr<bool> RunPieces() {
    const int64_t n = shape_->num_elements();
    GYRE_ASSIGN_OR_RETURN(Tensor result, MakeResult());
    char* const to = static_cast<char*>(result.mutable_raw_data());
    std::atomic<bool> failed{false};
    const auto run = [&](int64_t begin, int64_t end) {
      if (!RunTask(to, begin, end)) failed.store(true, std::memory_order_relaxed);
    };
    const int64_t grain = std::clamp(8 * kTaskElements / static_cast<int64_t>(group_.ops.size()),
                                     kMinTaskElements, kTaskElements);
    if (n <= grain) {
      run(0, n);
    } else {
      // The reference fits a std::function without an allocation.
      GYRE_RETURN_IF_ERROR(
          ctx_.ParallelRun(n, grain, [&run](int64_t begin, int64_t end) { run(begin, end); }));
    }
    if (failed.load(std::memory_order_relaxed)) return false;
    ctx_.set_output(0, std::move(result));
    return true;
  }

  // An input that nobody else sees, or a fresh tensor.
  absl::StatusOr<Tensor> MakeResult() {
    const FusedOp& last = group_.ops.back();
    for (size_t i = 0; i < num_inputs() && !group_.may_fail; ++i) {
      const Tensor& input = ctx_.input(static_cast<int>(i));
      // Without broadcasting, the last op may write its result before it has read the third
      // operand.
      const bool is_read_before =
          last.kernel.rows->broadcasts ||
          std::find(last.operands.begin() + std::min<size_t>(2, last.operands.size()),
                    last.operands.end(), i) == last.operands.end();
      if (extents_[i] == Extent::kFull && is_read_before && input.dtype() == last.dtype &&
          input.IsUnique())
        return ctx_.ReuseOrAllocate(static_cast<int>(i), last.dtype, *shape_);
    }
    return ctx_.Allocate(last.dtype, *shape_);
  }

  // Elements [begin, end) of the result. False: some have none, or the run is over.
  bool RunTask(char* to, int64_t begin, int64_t end) const {
    alignas(64) std::array<char, kPieceBytes> slots;
    const int64_t row = row_ == nullptr ? 0 : row_->num_elements();
    const auto room =
        static_cast<int64_t>(kPieceBytes / (std::max(1u, group_.num_slots) * group_.max_bytes));
    // Slots begin where vectors may.
    const int64_t piece = std::min(kMaxPiece, room) / kMinPiece * kMinPiece;
    const int64_t slot_bytes = piece * group_.max_bytes;
    absl::InlinedVector<const void*, 8> operands(group_.max_operands);
    struct alignas(16) One : std::array<char, 16> {};
    std::array<One, kMaxBroadcastOperands> ones;
    int64_t results = 0;  // since the last look at the clock
    for (int64_t at = begin, n = 0; at < end; at += n) {
      n = std::min(piece, end - at);
      const int64_t in_row = row == 0 ? 0 : at % row;
      if (row != 0) n = std::min(n, row - in_row);
      const auto start_of = [&](ValueIndex value) -> const char* {
        if (value >= group_.num_given()) {
          const FusedOp& op = group_.ops[value - group_.num_given()];
          return slots.data() + (op.slot - 1) * slot_bytes;
        }
        const Tensor& tensor = given(value);
        const int64_t offset = extents_[value] == Extent::kFull  ? at
                               : extents_[value] == Extent::kRow ? in_row
                                                                 : 0;
        return static_cast<const char*>(tensor.raw_data()) +
               offset * static_cast<int64_t>(DTypeSize(tensor.dtype()));
      };
      for (size_t k = 0; k < group_.ops.size(); ++k) {
        const FusedOp& op = group_.ops[k];
        const bool is_one = extents_[group_.num_given() + k] == Extent::kOne;
        if ((results += is_one ? 1 : n) >= kPolledResults) {
          results = 0;
          if (!ctx_.Poll().ok()) return false;
        }
        char* const output =
            op.slot == 0 ? to + at * op.bytes : slots.data() + (op.slot - 1) * slot_bytes;
        uint32_t repeated = 0;
        for (size_t i = 0; i < op.operands.size(); ++i) {
          operands[i] = start_of(op.operands[i]);
          if (is_one || extents_[op.operands[i]] != Extent::kOne) continue;
          repeated |= 1u << i;
          if (operands[i] != output) continue;  // or it would be overwritten before its last use
          std::memcpy(ones[i].data(), output, op.bytes);
          operands[i] = ones[i].data();
        }
        if (!op.kernel.rows->function(op.kernel.attrs.get(), operands.data(), op.operands.size(),
                                      repeated, output, is_one ? 1 : n))
          return false;
      }
    }
    return true;
  }

  // Kernels.

  absl::Status RunKernels() {
    std::vector<Tensor> results(group_.ops.size());
    absl::InlinedVector<Tensor, 4> operands;
    for (size_t k = 0; k < group_.ops.size(); ++k) {
      const FusedOp& op = group_.ops[k];
      GYRE_RETURN_IF_ERROR(ctx_.Poll());
      operands.clear();
      for (size_t i = 0; i < op.operands.size(); ++i)
        operands.push_back(Take(op.operands[i], op.is_last[i], results));
      KernelContext call(*op.node, ctx_.env(), Tag(), absl::MakeSpan(operands),
                         absl::MakeSpan(&results[k], 1));
      absl::Status status = op.kernel.run(call, op.kernel.attrs.get());
      if (status.ok() && !results[k].has_value())
        status = BugError(absl::StrCat("output 0 of ", op.node->op_name, " is missing"));
      if (!status.ok()) {
        status.SetPayload(kFailedOp, absl::Cord(absl::StrCat(op.id)));
        return status;
      }
    }
    ctx_.set_output(0, std::move(results.back()));
    return absl::OkStatus();
  }
  Tensor Take(ValueIndex value, bool is_last, std::vector<Tensor>& results) {
    if (value >= group_.num_given()) {
      Tensor& result = results[value - group_.num_given()];
      return is_last ? std::move(result) : result;
    }
    return is_last && value < num_inputs() ? ctx_.TakeInput(static_cast<int>(value)) : given(value);
  }

  KernelContext& ctx_;
  const FusedGroup& group_;
  const Shape* shape_ = nullptr;  // of the result, of pieces
  const Shape* row_ = nullptr;
  absl::InlinedVector<Extent, 32> extents_;  // by value
};

}  // namespace

absl::Status RunGroup(KernelContext& ctx, const void* group) {
  return Runner(ctx, *static_cast<const FusedGroup*>(group)).Run();
}

std::optional<NodeId> FailedOp(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kFailedOp);
  NodeId id = -1;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &id)) return std::nullopt;
  return id;
}

}  // namespace gyre::fused
