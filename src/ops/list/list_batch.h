// Pieces of the batching rules of lists.
//
// A list that is made in a row is one list for all rows, whose elements have the axis of rows in
// front; its length and where things stand in it must be the same in all rows. So are optionals, in
// which gradients keep what a branch has computed.
#pragma once

#include "absl/status/statusor.h"
#include "ir/batch_context.h"

namespace gyre::list_batch {

// Elements that are lists or optionals in turn: each is one for all rows.
bool HoldsLists(const BatchContext& c);
Rows RowsOfElements(const BatchContext& c);
// The shape of elements that input i states, with the axis of rows. -1 says nothing, and stays.
Expr ElementShape(BatchContext& c, int i);
// A refusal unless input 0 is a list whose elements are stacked.
absl::Status NeedElements(const BatchContext& c);
// A refusal for lists of lists.
absl::Status NeedTensors(const BatchContext& c);
// Input i as an element.
absl::StatusOr<Expr> Element(BatchContext& c, int i);

}  // namespace gyre::list_batch
