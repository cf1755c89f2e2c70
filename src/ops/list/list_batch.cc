#include "ops/list/list_batch.h"

namespace gyre::list_batch {

bool HoldsLists(const BatchContext& c) {
  return c.attr<DType>("element_dtype", DType::kInvalid) == DType::kVariant;
}

Rows RowsOfElements(const BatchContext& c) {
  return HoldsLists(c) ? Rows::kElements : Rows::kStacked;
}

Expr ElementShape(BatchContext& c, int i) {
  if (HoldsLists(c)) return c.input(i);
  const PartialShape& shape = c.row_shape(i);
  if (shape.has_rank()) return shape.rank() == 0 ? c.input(i) : c.with_rows(c.input(i));
  return Cast(c.builder().Int(-1), c.input_dtype(i));
}

absl::Status NeedElements(const BatchContext& c) {
  if (c.rows_of(0) == Rows::kElements) return absl::OkStatus();
  return batch::Refuse("what differs from row to row is put into a list that does not");
}

absl::StatusOr<Expr> Element(BatchContext& c, int i) {
  if (!HoldsLists(c)) return c.stacked(i);
  if (c.rows_of(i) == Rows::kElements) return c.input(i);
  return batch::Refuse("a list that is the same for all rows is put into a list that is not");
}

absl::Status NeedTensors(const BatchContext& c) {
  if (!HoldsLists(c)) return absl::OkStatus();
  return batch::Refuse("it is a list of lists");
}

}  // namespace gyre::list_batch
