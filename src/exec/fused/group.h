// FusedGroup: elementwise ops that are one node of a plan, since nobody but the last of them sees
// what the others compute.
//
//   d0 = Sub(a, b)  d1 = Sub(a, c)  y = AddN(d0, Tanh(d1))     inputs: a b c     output: y
//
// Which ops: those of one output whose kernel says how it computes elements in a row
// (ops/row_code.h). The group of an op are the ops that it alone reads, and those that these alone
// read, and so on. So it waits for nothing that its last op would not wait for, and nobody waits
// for it who would not wait for that. Whatever is fetched, or what a control edge leaves, is a last
// op.
//
// How it runs, by what arrives:
//   scalars              each op's function of one element, on cells of one piece of memory
//   tensors of one shape,  piece by piece, small enough for the cache: the elements of all ops in
//   rows of it, scalars    turn; what is between them never becomes a tensor
//   anything else        each op's kernel, one after the other
// All three give the bits of the kernels, and an op without a result (a division by zero) is told
// by its kernel.
//
// Made once, immutable, shared by all runs. The program must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/hash_map.h"
#include "lower/lower.h"
#include "ops/kernel.h"

namespace gyre::fused {

// A value of a group: its inputs first, then its constants, then what its ops compute.
using ValueIndex = uint32_t;

struct FusedOp {
  const Node* node = nullptr;  // as kernels see it
  NodeId id = -1;              // in the lowered function
  Kernel kernel;
  std::vector<ValueIndex> operands;
  std::vector<bool> is_last;  // by operand: nobody reads it any more
  DType dtype = DType::kInvalid;
  uint32_t bytes = 0;  // of an element of the result
  uint32_t cell = 0;   // of scalars: where the result lies
  uint32_t slot = 0;   // of pieces: likewise; the last op's is the group's output
};

// Of scalars: what computes one op, from cells to a cell.
struct CellStep {
  ScalarFunction function = nullptr;  // null: by rows, of one element
  uint32_t operands[kMaxBroadcastOperands] = {};
  uint32_t output = 0;
  const FusedOp* op = nullptr;
};

struct FusedGroup {
  std::vector<DType> inputs;  // by input: of what type it is
  std::vector<const Tensor*> constants;
  std::vector<FusedOp> ops;  // producers first
  // Of scalars.
  std::vector<uint32_t> cells;  // of inputs and constants: where they lie
  std::vector<CellStep> steps;  // by op
  uint32_t num_cell_bytes = 0;  // with those of the ops
  uint32_t max_operands = 0;
  // Of pieces.
  uint32_t num_slots = 0;  // 0 and the output's apart
  uint32_t max_bytes = 0;  // of an element
  bool may_fail = false;   // some elements may have no result

  ValueIndex num_given() const { return static_cast<ValueIndex>(inputs.size() + constants.size()); }
  uint32_t cell_of(ValueIndex value) const {
    return value < num_given() ? cells[value] : ops[value - num_given()].cell;
  }
};

using FusedGroups = HashMap<NodeId, std::shared_ptr<const FusedGroup>>;

// Finds the groups of what the signature of `lowered` needs, by the node of the last op. That
// node's inputs and control inputs become those of the group; the others' nodes stay, and nobody
// needs them.
FusedGroups FuseGroups(Lowered& lowered);

// Runs a group as the kernel of its node. Errors say whose they are: FailedOp.
absl::Status RunGroup(KernelContext& ctx, const void* group);

// The node of the lowered function that an error of RunGroup is about; nullopt for others.
std::optional<NodeId> FailedOp(const absl::Status& status);

}  // namespace gyre::fused
