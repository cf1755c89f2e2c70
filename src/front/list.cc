#include "front/error.h"
#include "front/op_call.h"
#include "gyre/state.h"

namespace gyre {

using internal::OpCall;

namespace {

// A shape as list ops take it: -1 for what is not known, the scalar -1 for an unknown rank.
Operand AsOperand(const PartialShape& shape, const std::source_location& where) {
  if (!shape.has_rank()) return Operand(-1, where);
  std::vector<int32_t> dims;
  for (const int64_t dim : shape.dims()) dims.push_back(static_cast<int32_t>(dim));
  return Operand(dims, where);
}

PartialShape RowShape(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape::Unknown();
  return PartialShape(Dims(shape.dims().begin() + 1, shape.dims().end()));
}

}  // namespace

List::List(Value handle, DType dtype, PartialShape element_shape)
    : handle_(std::move(handle)), dtype_(dtype), element_shape_(std::move(element_shape)) {}

List List::empty(DType dtype, PartialShape element_shape, std::source_location where) {
  Value handle = OpCall("EmptyTensorList", where)
                     .In(AsOperand(element_shape, where))
                     .In(Operand(-1, where))
                     .Attr("element_dtype", dtype)
                     .One();
  return List(std::move(handle), dtype, std::move(element_shape));
}

List List::reserve(const Operand& size, DType dtype, PartialShape element_shape) {
  Value handle = OpCall("TensorListReserve", size.where())
                     .In(AsOperand(element_shape, size.where()))
                     .In(size)
                     .Attr("element_dtype", dtype)
                     .One();
  return List(std::move(handle), dtype, std::move(element_shape));
}

List List::from_rows(const Operand& tensor) {
  const Operand rows(to_value(tensor), tensor.where());
  PartialShape element_shape = RowShape(rows.value().shape());
  Value handle = OpCall("TensorListFromTensor", rows.where())
                     .In(rows)
                     .In(AsOperand(element_shape, rows.where()))
                     .One();
  return List(std::move(handle), rows.value().dtype(), std::move(element_shape));
}

Value List::get(const Operand& i) const {
  return OpCall("TensorListGetItem", i.where())
      .In(Operand(handle_, i.where()))
      .In(i)
      .In(AsOperand(element_shape_, i.where()))
      .Attr("element_dtype", dtype_)
      .One();
}

List List::set(const Operand& i, const Operand& element) const {
  return With(OpCall("TensorListSetItem", i.where())
                  .In(Operand(handle_, i.where()))
                  .In(i)
                  .In(element)
                  .Attr("element_dtype", dtype_)
                  .One());
}

List List::push_back(const Operand& element) const {
  return With(OpCall("TensorListPushBack", element.where())
                  .In(Operand(handle_, element.where()))
                  .In(element)
                  .Attr("element_dtype", dtype_)
                  .One());
}

std::pair<List, Value> List::pop_back(std::source_location where) const {
  std::vector<Value> outputs = OpCall("TensorListPopBack", where)
                                   .In(Operand(handle_, where))
                                   .In(AsOperand(element_shape_, where))
                                   .Attr("element_dtype", dtype_)
                                   .All();
  return {With(outputs[0]), outputs[1]};
}

Value List::size(std::source_location where) const {
  return OpCall("TensorListLength", where).In(Operand(handle_, where)).One();
}

Value List::stack(std::source_location where) const {
  return OpCall("TensorListStack", where)
      .In(Operand(handle_, where))
      .In(AsOperand(element_shape_, where))
      .Attr("element_dtype", dtype_)
      .One();
}

Value List::concat(std::source_location where) const {
  return OpCall("TensorListConcatV2", where)
      .In(Operand(handle_, where))
      .In(AsOperand(element_shape_, where))
      .In(Operand(std::vector<int64_t>(), where))
      .Attr("element_dtype", dtype_)
      .All()[0];
}

Value List::gather(const Operand& indices) const {
  return OpCall("TensorListGather", indices.where())
      .In(Operand(handle_, indices.where()))
      .In(indices)
      .In(AsOperand(element_shape_, indices.where()))
      .Attr("element_dtype", dtype_)
      .One();
}

}  // namespace gyre
