// Sequences are TensorLists, whose elements may differ in shape; optionals are optionals.
#include "base/status.h"
#include "onnx/op_table.h"
#include "onnx/ops/lists.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

// A sequence, and what carries its elements.
struct Sequence {
  Expr list;
  Type type;
  DType dtype = DType::kInvalid;
};

Sequence SequenceAt(NodeContext& c, int i) {
  const Value value = c.value(i);
  Sequence sequence = {value.expr, value.type, DType::kInvalid};
  if (c.failed()) return sequence;
  if (value.type.kind != Kind::kSequence || value.type.element == nullptr) {
    c.Invalid(absl::StrCat("its input ", i, " is a ", ToString(value.type), ", not a sequence"));
    return sequence;
  }
  const auto dtype = CarrierOf(*value.type.element);
  if (!dtype.ok()) c.Fail(dtype.status());
  sequence.dtype = dtype.ok() ? *dtype : DType::kInvalid;
  return sequence;
}

void SequenceEmpty(NodeContext& c) {
  const int elem_type = c.Int32("dtype", wire::TensorProto::FLOAT);
  const auto dtype = DTypeOfElem(elem_type);
  if (!dtype.ok()) return c.Fail(dtype.status());
  c.out(0, Value{EmptyList(c.scope(), *dtype), Type::SequenceOf(Type::Tensor(elem_type))});
}

void SequenceConstruct(NodeContext& c) {
  const Type element = c.value(0).type;
  const auto dtype = CarrierOf(element);
  if (!dtype.ok()) return c.Fail(dtype.status());
  Expr list = EmptyList(c.scope(), *dtype);
  for (int i = 0; i < c.num_inputs(); ++i) list = Pushed(c.scope(), list, c.value(i).expr);
  c.out(0, Value{list, Type::SequenceOf(element)});
}

void SequenceAtOp(NodeContext& c) {
  const Sequence sequence = SequenceAt(c, 0);
  const Expr position = Cast(AsScalar(c, c.in(1)), DType::kInt32);
  if (c.failed()) return;
  const Expr index = NonNegative(c, position, Length(c.scope(), sequence.list));
  c.out(0, Value{Item(c.scope(), sequence.list, index, sequence.dtype), *sequence.type.element});
}

void SequenceLength(NodeContext& c) {
  const Sequence sequence = SequenceAt(c, 0);
  if (!c.failed()) c.out(0, Cast(Length(c.scope(), sequence.list), DType::kInt64));
}

// What is at or behind the place moves on by one, from the last down.
void SequenceInsert(NodeContext& c) {
  const Sequence sequence = SequenceAt(c, 0);
  const Expr item = c.value(1).expr;
  if (c.failed()) return;
  if (!c.has(2)) return c.out(0, Value{Pushed(c.scope(), sequence.list, item), sequence.type});
  const Expr length = Length(c.scope(), sequence.list);
  const Expr place = NonNegative(c, Cast(AsScalar(c, c.in(2)), DType::kInt32), length);
  const Expr count = Cast(length - place, DType::kInt64);
  // Grown by the item itself: an element that is not there has no shape.
  const std::vector<Expr> moved =
      WriteFor(c.scope(), c.name(), count, {Pushed(c.scope(), sequence.list, item)},
               [&](Scope& s, const Expr& i, const std::vector<Expr>& v) -> std::vector<Expr> {
                 const Expr to = s.Reach(length) - Cast(i, DType::kInt32);
                 return {WithItem(s, v[0], to, Item(s, v[0], to - 1.0, sequence.dtype))};
               });
  c.out(0, Value{WithItem(c.scope(), moved[0], place, item), sequence.type});
}

void SequenceErase(NodeContext& c) {
  const Sequence sequence = SequenceAt(c, 0);
  if (c.failed()) return;
  const Expr length = Length(c.scope(), sequence.list);
  const Expr given = c.has(1) ? Cast(AsScalar(c, c.in(1)), DType::kInt32) : length - 1.0;
  const Expr place = NonNegative(c, given, length);
  const Expr count = Cast(length - 1.0 - place, DType::kInt64);
  const std::vector<Expr> moved =
      WriteFor(c.scope(), c.name(), count, {sequence.list},
               [&](Scope& s, const Expr& i, const std::vector<Expr>& v) -> std::vector<Expr> {
                 const Expr to = s.Reach(place) + Cast(i, DType::kInt32);
                 return {WithItem(s, v[0], to, Item(s, v[0], to + 1.0, sequence.dtype))};
               });
  const Expr shorter = Resized(c.scope(), moved[0], length - 1.0);
  c.out(0, Value{shorter, sequence.type});
}

// One after the other, since the elements may differ along the axis.
void ConcatFromSequence(NodeContext& c) {
  const Sequence sequence = SequenceAt(c, 0);
  const int32_t axis = c.Int32("axis", 0);
  if (c.failed()) return;
  Scope& scope = c.scope();
  const Expr length = Cast(Length(scope, sequence.list), DType::kInt64);
  const bool is_new = c.Int("new_axis", 0) != 0;
  const auto item = [&](Scope& s, const Expr& i) {
    Expr x = Item(s, s.Reach(sequence.list), i, sequence.dtype);
    if (is_new) x = s.Op("ExpandDims", {x, s.b().Int(axis)});
    return x;
  };
  const std::vector<Expr> joined =
      WriteFor(scope, c.name(), length - 1.0, {item(scope, c.i64(0))},
               [&](Scope& s, const Expr& i, const std::vector<Expr>& v) -> std::vector<Expr> {
                 return {s.Op("ConcatV2", {v[0], item(s, i + 1.0), s.b().Int(axis)})};
               });
  c.out(0, Value{joined[0], *sequence.type.element});
}

// Parts of sizes that are given: by a list, by one number for all (the last may be less), or 1.
void SplitToSequence(NodeContext& c) {
  const Value x = c.value(0);
  if (!c.has(1) && c.Int("axis", 0) == 0 && c.Int("keepdims", 1) == 0 && !c.failed()) {
    const Expr list = c.op("TensorListFromTensor", {x.expr, c.b().Int(-1)});
    return c.out(0, Value{list, Type::SequenceOf(x.type)});
  }
  const int rank = c.Rank(x.expr);
  const int axis = c.Axis(c.Int("axis", 0), rank);
  if (c.failed()) return;
  const Expr size = DimOf(c, x.expr, axis);
  Expr sizes, count;
  const bool drops_axis = !c.has(1) && c.Int("keepdims", 1) == 0;
  const bool is_list = c.has(1) && c.Rank(c.in(1)) == 1;
  Expr part = c.i64(1);
  if (is_list) {
    sizes = Cast(c.in(1), DType::kInt64);
    count = DimOf(c, sizes, 0);
  } else {
    if (c.has(1)) part = Cast(AsScalar(c, c.in(1)), DType::kInt64);
    count = c.op("FloorDiv", {size + part - 1.0, part});
  }
  std::vector<Expr> variables = {EmptyList(c.scope(), x.expr.dtype()), c.i64(0)};
  const std::vector<Expr> results = WriteFor(
      c.scope(), c.name(), count, variables,
      [&](Scope& s, const Expr& i, const std::vector<Expr>& v) -> std::vector<Expr> {
        Expr length;
        if (is_list) {
          length = s.Op("GatherV2", {s.Reach(sizes), i, s.b().Int(0)});
        } else {
          length = s.Op("Minimum", {s.Reach(part), s.Reach(size) - v[1]});
        }
        std::vector<Expr> begin(rank, s.Int64(0)), extent(rank, s.Int64(-1));
        begin[axis] = v[1];
        extent[axis] = length;
        Expr piece = s.Op("Slice", {s.Reach(x.expr), s.Op("Pack", begin), s.Op("Pack", extent)});
        if (drops_axis)
          piece = s.Op("Squeeze", {piece}, {{"squeeze_dims", std::vector<int64_t>{axis}}});
        return {Pushed(s, v[0], piece), v[1] + length};
      });
  c.out(0, Value{results[0], Type::SequenceOf(x.type)});
}

// The body for each element, others beside it: tensors are the same for all.
void SequenceMap(NodeContext& c) {
  const wire::GraphProto* const graph = c.Graph("body");
  const Sequence first = SequenceAt(c, 0);
  if (c.failed()) return;
  std::vector<Value> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    inputs.push_back(c.value(i));
    if (inputs.back().type.kind == Kind::kSequence) SequenceAt(c, i);  // it says what it is one of
  }
  if (c.failed()) return;
  const auto read_body = [&](Scope& s, const Expr& i) {
    std::vector<Value> values;
    for (const Value& input : inputs) {
      const Expr x = s.Reach(input.expr);
      if (input.type.kind != Kind::kSequence) {
        values.push_back({x, input.type});
        continue;
      }
      const auto dtype = CarrierOf(*input.type.element);
      values.push_back({Item(s, x, i, dtype.ok() ? *dtype : first.dtype), *input.type.element});
    }
    return c.Body(s, *graph, values);
  };
  std::vector<Type> types;
  std::vector<Expr> lists;
  {
    const Trial trial_run(c.scope());
    Scope trial(c.scope().writing(), "trial", &c.scope());
    for (const Value& value : read_body(trial, trial.Int64(0))) {
      types.push_back(value.type);
      const auto dtype = CarrierOf(value.type);
      if (!dtype.ok()) return c.Fail(dtype.status());
      lists.push_back(EmptyList(c.scope(), *dtype));
    }
    if (trial.failed()) return c.Fail(trial.b().status());
  }
  const std::vector<Expr> results =
      WriteFor(c.scope(), c.name(), Cast(Length(c.scope(), first.list), DType::kInt64), lists,
               [&](Scope& s, const Expr& i, const std::vector<Expr>& v) -> std::vector<Expr> {
                 const std::vector<Value> made = read_body(s, i);
                 std::vector<Expr> next;
                 for (size_t k = 0; k < made.size(); ++k)
                   next.push_back(Pushed(s, v[k], made[k].expr));
                 return next;
               });
  if (c.failed()) return;
  for (size_t k = 0; k < types.size(); ++k)
    c.out(static_cast<int>(k), Value{results[k], Type::SequenceOf(types[k])});
}

void Optional(NodeContext& c) {
  if (c.has(0)) {
    const Value x = c.value(0);
    return c.out(0, Value{c.op("OptionalFromValue", {x.expr}), Type::OptionalOf(x.type)});
  }
  const auto* const attribute = c.Find("type");
  if (attribute == nullptr) return c.Invalid("it has neither an input nor a type");
  const auto type = ReadType(attribute->tp());
  if (!type.ok()) return c.Fail(type.status());
  c.out(0, Value{c.op("OptionalNone", {}), Type::OptionalOf(*type)});
}

// Of anything else than an optional it is known.
void OptionalHasElement(NodeContext& c) {
  if (c.has(0)) {
    const Value x = c.value(0);
    if (x.type.kind == Kind::kOptional) return c.out(0, c.op("OptionalHasValue", {x.expr}));
  }
  c.out(0, c.b().Constant(Tensor::Scalar(c.has(0))));
}

void OptionalGetElement(NodeContext& c) {
  const Value x = c.value(0);
  if (c.failed()) return;
  if (x.type.kind != Kind::kOptional) return c.out(0, Value{c.op("Identity", {x.expr}), x.type});
  if (x.type.element == nullptr) return c.Invalid("nobody says what the optional holds");
  const auto dtype = CarrierOf(*x.type.element);
  if (!dtype.ok()) return c.Fail(dtype.status());
  c.out(0, Value{HeldBy(c.scope(), x.expr, *dtype), *x.type.element});
}

}  // namespace

void AddSequenceOps(OpTable& t) {
  t.Add("ConcatFromSequence", ConcatFromSequence);
  t.Add("Optional", Optional);
  t.Add("OptionalGetElement", OptionalGetElement);
  t.Add("OptionalHasElement", OptionalHasElement);
  t.Add("SequenceAt", SequenceAtOp);
  t.Add("SequenceConstruct", SequenceConstruct);
  t.Add("SequenceEmpty", SequenceEmpty);
  t.Add("SequenceErase", SequenceErase);
  t.Add("SequenceInsert", SequenceInsert);
  t.Add("SequenceLength", SequenceLength);
  t.Add("SequenceMap", SequenceMap);
  t.Add("SplitToSequence", SplitToSequence);
}

}  // namespace gyre::onnx
