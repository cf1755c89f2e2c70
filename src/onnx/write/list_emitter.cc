// Lists and optionals as ONNX has them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onnx/write/emitter.h"

namespace gyre::onnx {

ModelValue Emitter::EmptySequence(DType dtype) {
  if (failed()) return ModelValue();
  if (ElemOfDType(dtype) == 0) {
    Unsupported(dtype == DType::kVariant || dtype == DType::kInvalid
                    ? "a list of lists: ONNX's ops know sequences of tensors alone"
                    : absl::StrCat("ONNX has no tensors of ", DTypeName(dtype)));
    return ModelValue();
  }
  ModelValue result = Op("SequenceEmpty", {}, {IntAttr("dtype", ElemOfDType(dtype))}, dtype);
  result.kind = Kind::kSequence;
  return result;
}

ModelValue Emitter::ListOfRows(ModelValue rows) {
  ModelValue list;
  list.kind = Kind::kSequence;
  list.dtype = rows.dtype;
  if (rows.rank() > 0) {
    list.shape = PartialShape(Dims(rows.shape.dims().begin() + 1, rows.shape.dims().end()));
  }
  list.rows = std::make_shared<const ModelValue>(std::move(rows));
  return list;
}

ModelValue Emitter::AsOptional(const ModelValue& x) {
  if (failed() || !x.name.empty()) return x;
  if (ElemOfDType(x.dtype) == 0) {
    Unsupported("an optional of which nobody says what it holds");
    return x;
  }
  wire::AttributeProto type;
  type.set_name("type");
  type.set_type(wire::AttributeProto::TYPE_PROTO);
  ModelValue held = x;
  held.kind = x.holds_list ? Kind::kSequence : Kind::kTensor;
  held.holds_list = false;
  WriteType(held, false, type.mutable_tp());
  ModelValue result = x;
  result.name = Op("Optional", {}, {type}, x.dtype).name;
  return result;
}

ModelValue Emitter::AsSequence(const ModelValue& list) {
  if (failed() || !list.name.empty()) return list;
  ModelValue result;
  if (list.rows != nullptr) {
    result = Op("SplitToSequence", {*list.rows}, {IntAttr("axis", 0), IntAttr("keepdims", 0)},
                list.dtype);
  } else if (list.length != nullptr) {
    result = EmptySequence(list.dtype);
    if (IntOf(*list.length) == 0) {
      result.shape = list.shape;
      return result;
    }
    // Elements that are zeros, or, where nobody knows their shape, empty: they are not read before
    // they are written.
    Dims dims;
    if (const auto shape = list.shape.ToShape()) {
      dims.assign(shape->dims().begin(), shape->dims().end());
    } else {
      dims = {0};
    }
    const ModelValue zero = Number(list.dtype, 0);
    const ModelValue wanted = list.dims != nullptr && !list.shape.IsFullyKnown()
                                  ? Max(*list.dims, I64(0))
                                  : I64s({dims.begin(), dims.end()});
    model_.Open("reserve");
    ModelValue number, go, grown;
    number.name = model_.NewName("i");
    number.dtype = DType::kInt64;
    number.shape = PartialShape::Scalar();
    go.name = model_.NewName("go");
    go.dtype = DType::kBool;
    go.shape = PartialShape::Scalar();
    grown = list;
    grown.BecomeComputed(model_.NewName("grown"));
    for (const ModelValue& input : {number, go, grown}) model_.AddInput(input);
    const ModelValue item = Fill(wanted, zero);
    ModelValue next = Op("SequenceInsert", {grown, item}, {}, list.dtype);
    next.kind = Kind::kSequence;
    model_.AddOutput(go, false);
    model_.AddOutput(next, false);
    wire::GraphProto body = model_.Close();
    Attrs attrs;
    attrs.push_back(GraphAttr("body", std::move(body)));
    result = Op("Loop", {*list.length, None(), result}, std::move(attrs), list.dtype);
    result.may_lack = !list.shape.IsFullyKnown();
  } else {
    Unsupported("a list of which nothing is known");
  }
  result.kind = Kind::kSequence;
  result.dtype = list.dtype;
  result.shape = list.shape;
  result.handle = list.handle;
  return result;
}

// An element, or, where it has not been written, zeros.
ModelValue Emitter::Written(const ModelValue& element, const PartialShape& shape) {
  const auto whole = shape.ToShape();
  if (failed() || !whole || whole->num_elements() == 0) return element;
  const ModelValue is_there = Binary("Greater", SizeOf(element), I64(0));
  Attrs attrs;
  for (const bool there : {true, false}) {
    model_.Open(there ? "written" : "unwritten");
    const ModelValue zeros =
        there ? element
              : Fill(I64s({whole->dims().begin(), whole->dims().end()}), Number(element.dtype, 0));
    model_.AddOutput(zeros, false);
    attrs.push_back(GraphAttr(there ? "then_branch" : "else_branch", model_.Close()));
  }
  return Op("If", {is_there}, std::move(attrs), element.dtype, shape);
}

ModelValue Emitter::Whole(const ModelValue& list) {
  ModelValue sequence = AsSequence(list);
  if (!sequence.may_lack || !list.shape.IsFullyKnown()) return sequence;
  sequence = Mapped({sequence}, [&](const ModelValues& e) {
    ModelValue element = e[0];
    element.shape = PartialShape();
    return Written(element, list.shape);
  });
  sequence.shape = list.shape;
  return sequence;
}

// All elements as one tensor. Of none nothing says their type to ONNX.
ModelValue Emitter::Stacked(const ModelValue& sequence) {
  const auto joined = [&] {
    return Op("ConcatFromSequence", {sequence}, {IntAttr("axis", 0), IntAttr("new_axis", 1)},
              sequence.dtype);
  };
  if (!sequence.shape.has_rank()) return joined();
  std::vector<int64_t> nothing = {0};
  for (const int64_t dim : sequence.shape.dims()) nothing.push_back(std::max<int64_t>(dim, 0));
  const ModelValue has_any = Binary("Greater", LengthOf(sequence), I64(0));
  Attrs attrs;
  for (const bool any : {true, false}) {
    model_.Open(any ? "stack" : "nothing");
    model_.AddOutput(any ? joined() : Fill(I64s(nothing), Number(sequence.dtype, 0)), false);
    attrs.push_back(GraphAttr(any ? "then_branch" : "else_branch", model_.Close()));
  }
  return Op("If", {has_any}, std::move(attrs), sequence.dtype);
}

ModelValue Emitter::AsRows(const ModelValue& list) {
  if (list.rows != nullptr) return *list.rows;
  ModelValue result;
  const auto element = list.shape.ToShape();
  if (list.length != nullptr && element) {
    const ModelValue dims = Concat(
        {Unsqueeze(*list.length, {0}), I64s({element->dims().begin(), element->dims().end()})}, 0);
    result = Fill(dims, Number(list.dtype, 0));
  } else {
    result = Stacked(Whole(list));
  }
  if (list.shape.has_rank()) {
    Dims dims(list.shape.dims().begin(), list.shape.dims().end());
    dims.insert(dims.begin(), -1);
    result.shape = PartialShape(dims);
    model_.Describe(result);
  }
  return result;
}

ModelValue Emitter::LengthOf(const ModelValue& list) {
  if (list.rows != nullptr) return DimOf(*list.rows, 0);
  if (list.length != nullptr) return *list.length;
  return Op("SequenceLength", {list}, {}, DType::kInt64, PartialShape::Scalar());
}

ModelValue Emitter::Item(const ModelValue& list, const ModelValue& index) {
  ModelValue result;
  if (list.rows != nullptr) {
    result = Gather(*list.rows, index, 0);
  } else {
    const ModelValue sequence = AsSequence(list);
    result = Op("SequenceAt", {sequence, index}, {}, list.dtype);
    if (sequence.may_lack) result = Written(result, list.shape);
  }
  result.shape = list.shape;
  model_.Describe(result);
  return result;
}

ModelValue Emitter::Mapped(const ModelValues& lists,
                           const std::function<ModelValue(const ModelValues&)>& body) {
  ModelValues sequences, elements;
  for (const ModelValue& list : lists) sequences.push_back(AsSequence(list));
  if (failed()) return lists[0];
  model_.Open("map");
  for (const ModelValue& list : lists) {
    ModelValue element;
    element.name = model_.NewName("element");
    element.dtype = list.dtype;
    if (!list.may_lack) element.shape = list.shape;
    model_.AddInput(element);
    elements.push_back(std::move(element));
  }
  const ModelValue made = body(elements);
  model_.AddOutput(made, false);
  Attrs attrs;
  attrs.push_back(GraphAttr("body", model_.Close()));
  ModelValue result = Op("SequenceMap", sequences, std::move(attrs), made.dtype);
  result.kind = Kind::kSequence;
  result.shape = lists[0].shape;
  return result;
}

}  // namespace gyre::onnx
