// Lists and optionals. A list that is made in a row is one list for all rows, whose elements have
// the axis of rows in front; its length and where things stand in it must be the same in all rows.
// So are optionals, in which gradients keep what a branch has computed.
#include "absl/algorithm/container.h"
#include "base/status.h"
#include "passes/vectorize/dims.h"
#include "passes/vectorize/row_context.h"

namespace gyre::vectorize {
namespace {

// Elements that are lists or optionals in turn: each is one for all rows.
bool HoldsLists(const RowContext& c) {
  return c.attr<DType>("element_dtype", DType::kInvalid) == DType::kVariant;
}
Rows RowsOfElements(const RowContext& c) {
  return HoldsLists(c) ? Rows::kElements : Rows::kStacked;
}

// The shape of elements that input i states, with the axis of rows. -1 says nothing, and stays.
Expr ElementShape(RowContext& c, int i) {
  if (HoldsLists(c)) return c.input(i);
  const PartialShape& shape = c.row_shape(i);
  if (shape.has_rank()) return shape.rank() == 0 ? c.input(i) : c.with_rows(c.input(i));
  return Cast(c.builder().Int(-1), c.input_dtype(i));
}

// How many dimensions a tensor has when its first two axes are swapped: a row of it, and the rows.
int RankWithRows(const PartialShape& row) { return row.has_rank() ? row.rank() + 1 : -1; }

absl::Status NeedElements(const RowContext& c) {
  if (c.rows_of(0) == Rows::kElements) return absl::OkStatus();
  return NotBatched("what differs from row to row is put into a list that does not");
}

// Input i as an element.
absl::StatusOr<Expr> Element(RowContext& c, int i) {
  if (!HoldsLists(c)) return c.stacked(i);
  if (c.rows_of(i) == Rows::kElements) return c.input(i);
  return NotBatched("a list that is the same for all rows is put into a list that is not");
}

absl::Status NeedTensors(const RowContext& c) {
  if (!HoldsLists(c)) return absl::OkStatus();
  return NotBatched("it is a list of lists");
}

// EmptyTensorList, TensorListReserve.
absl::Status Make(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(0));
  return c.Emit({ElementShape(c, 0), c.input(1)}, {}, {Rows::kElements});
}

absl::Status FromTensor(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr elements = FirstAxesSwapped(c.input(0), RankWithRows(c.row_shape(0)));
  return c.Emit({elements, ElementShape(c, 1)}, {}, {Rows::kElements});
}

absl::Status Length(RowContext& c) { return c.Emit({c.input(0)}, {}, {Rows::kSame}); }

absl::Status Stack(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr stack = c.op("TensorListStack", {c.input(0), ElementShape(c, 1)},
                          {{"element_dtype", c.node().signature.outputs[0].dtype},
                           {"num_elements", c.attr<int64_t>("num_elements", -1)}});
  c.Set(0, FirstAxesSwapped(stack, RankWithRows(c.output_row_shape(0))));
  return absl::OkStatus();
}

absl::Status GetItem(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  const AttrMap dtype = {{"element_dtype", c.node().signature.outputs[0].dtype}};
  if (c.rows_of(1) == Rows::kSame)
    return c.Emit({c.input(0), c.input(1), ElementShape(c, 2)}, {}, {RowsOfElements(c)});
  GYRE_RETURN_IF_ERROR(NeedTensors(c));
  // From one list each row takes another element.
  if (c.rows_of(0) == Rows::kSame) {
    return c.EmitAs("TensorListGather", {c.input(0), c.input(1), Cast(c.input(2), DType::kInt32)},
                    dtype);
  }
  const Expr stack =
      c.op("TensorListStack", {c.input(0), Cast(ElementShape(c, 2), DType::kInt32)}, dtype);
  const Expr lists = FirstAxesSwapped(
      stack, c.output_row_shape(0).has_rank() ? c.output_row_shape(0).rank() + 2 : -1);
  return c.EmitAs("GatherV2", {lists, c.input(1), c.builder().Int(1)},
                  {{"batch_dims", int64_t{1}}});
}

absl::Status Gather(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  const Expr elements = c.op("TensorListGather", {c.input(0), c.input(1), ElementShape(c, 2)},
                             {{"element_dtype", c.node().signature.outputs[0].dtype}});
  c.Set(0, FirstAxesSwapped(elements, RankWithRows(c.output_row_shape(0))));
  return absl::OkStatus();
}

absl::Status SetItem(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedElements(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  GYRE_ASSIGN_OR_RETURN(const Expr item, Element(c, 2));
  return c.Emit({c.input(0), c.input(1), item}, {}, {Rows::kElements});
}

absl::Status PushBack(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedElements(c));
  GYRE_ASSIGN_OR_RETURN(const Expr item, Element(c, 1));
  return c.Emit({c.input(0), item}, {}, {Rows::kElements});
}

absl::Status PopBack(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), ElementShape(c, 1)}, {}, {Rows::kElements, RowsOfElements(c)});
}

absl::Status Resize(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.input(1)}, {}, {Rows::kElements});
}

// Tensors that become elements `indices`, an input: their rows go in front.
absl::Status ScatterIntoExisting(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedElements(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  const Expr elements = FirstAxesSwapped(c.stacked(1), RankWithRows(c.row_shape(1)));
  return c.Emit({c.input(0), elements, c.input(2)}, {}, {Rows::kElements});
}

absl::Status Scatter(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  const Expr elements = FirstAxesSwapped(c.input(0), RankWithRows(c.row_shape(0)));
  return c.Emit({elements, c.input(1), ElementShape(c, 2), c.input(3)}, {}, {Rows::kElements});
}

// ---- Lists of adjoints

// What is added to elements: to one, or to several, whose rows go in front.
absl::Status AddAt(RowContext& c) {
  GYRE_RETURN_IF_ERROR(NeedElements(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  if (c.input_dtype(2) == DType::kVariant) {
    if (c.rows_of(2) != Rows::kElements) return NotBatched("a list for all rows is added to it");
    return c.Emit({c.input(0), c.input(1), c.input(2)}, {}, {Rows::kElements});
  }
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  const Expr values = c.stacked(2);
  return c.Emit({c.input(0), c.input(1),
                 rank == 0 ? values : FirstAxesSwapped(values, RankWithRows(c.row_shape(2)))},
                {}, {Rows::kElements});
}

absl::Status ClearAt(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.input(1)}, {}, {Rows::kElements});
}

absl::Status ItemsOrZeros(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  if (c.node().signature.outputs[0].dtype == DType::kVariant)
    return NotBatched("it is a list of lists");
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  if (rank == 0) return c.Emit({c.input(0), c.input(1), c.with_rows(c.input(2))});
  const Expr count = c.op("Size", {c.input(1)});
  const Expr dims =
      Joined({c.op("ExpandDims", {count, c.builder().Int(0)}), c.with_rows(Behind(c.input(2)))});
  const Expr items = c.op("_TensorListItemsOrZeros", {c.input(0), c.input(1), dims},
                          {{"T", c.node().signature.outputs[0].dtype}});
  c.Set(0, FirstAxesSwapped(items, RankWithRows(c.output_row_shape(0))));
  return absl::OkStatus();
}

absl::Status SumOfLists(RowContext& c) {
  std::vector<Expr> lists;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.rows_of(i) != Rows::kElements) return NotBatched("a list for all rows is added to it");
    lists.push_back(c.input(i));
  }
  return c.Emit(lists, {}, {Rows::kElements});
}

// ---- Optionals: all their components differ from row to row

absl::Status OptionalNone(RowContext& c) { return c.Emit({}, {}, {Rows::kElements}); }

absl::Status OptionalFromValue(RowContext& c) {
  std::vector<Expr> components;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const bool is_list = c.rows_of(i) == Rows::kElements;
    if (!is_list && c.input_dtype(i) == DType::kVariant)
      return NotBatched("a list that is the same for all rows is kept for the gradient");
    components.push_back(is_list ? c.input(i) : c.stacked(i));
  }
  return c.Emit(components, {}, {Rows::kElements});
}

absl::Status OptionalGetValue(RowContext& c) {
  auto shapes = c.attr<std::vector<PartialShape>>("output_shapes", {});
  std::vector<Rows> rows;
  for (size_t i = 0; i < c.node().signature.outputs.size(); ++i) {
    const bool is_list = c.node().signature.outputs[i].dtype == DType::kVariant;
    rows.push_back(is_list ? Rows::kElements : Rows::kStacked);
    if (!is_list && i < shapes.size()) shapes[i] = WithRowAxis(shapes[i], -1);
  }
  return c.Emit({c.input(0)}, {{"output_shapes", shapes}}, rows);
}

absl::Status OptionalHasValue(RowContext& c) { return c.Emit({c.input(0)}, {}, {Rows::kSame}); }

}  // namespace

bool MakesList(const Node& node) {
  static constexpr absl::string_view kMakers[] = {"EmptyTensorList", "TensorListReserve",
                                                  "OptionalNone", "OptionalFromValue"};
  return absl::c_linear_search(kMakers, node.op_name);
}

absl::Span<const NamedRule> ListRules() {
  static constexpr NamedRule kRules[] = {
      {"EmptyTensorList", {Make, true}},
      {"TensorListReserve", {Make, true}},
      {"TensorListFromTensor", {FromTensor, true}},
      {"TensorListLength", {Length, true}},
      {"TensorListStack", {Stack, true}},
      {"TensorListGetItem", {GetItem, true}},
      {"TensorListGather", {Gather, true}},
      {"TensorListSetItem", {SetItem, true}},
      {"TensorListPushBack", {PushBack, true}},
      {"TensorListPopBack", {PopBack, true}},
      {"TensorListResize", {Resize, true}},
      {"TensorListScatterIntoExistingList", {ScatterIntoExisting, true}},
      {"TensorListScatterV2", {Scatter, true}},
      {"_TensorListAddAt", {AddAt, true}},
      {"_TensorListClearAt", {ClearAt, true}},
      {"_TensorListItemsOrZeros", {ItemsOrZeros, true}},
      {"_TensorListSum", {SumOfLists, true}},
      {"OptionalNone", {OptionalNone, true}},
      {"OptionalFromValue", {OptionalFromValue, true}},
      {"OptionalGetValue", {OptionalGetValue, true}},
      {"OptionalHasValue", {OptionalHasValue, true}},
  };
  return kRules;
}

}  // namespace gyre::vectorize
