#include "grad/random_programs/expressions.h"

#include <algorithm>

namespace gyre::testing {
namespace {

constexpr int kMaxDepth = 3;

AttrMap ElementAttr(Type list) { return {{"element_dtype", DTypeFor(ElementOf(list))}}; }

}  // namespace

Id Expressions::Constant(Type type) {
  switch (type) {
    case Type::kInt:
      return tree_.Int(dice_.Below(4));
    case Type::kBool:
      return tree_.Constant(Type::kBool, Tensor::Scalar(dice_.Chance(0.5)));
    case Type::kScalars:
    case Type::kVectors:
    case Type::kLists:
      return EmptyList(type);
    case Type::kRows:
      return tree_.Constant(type,
                            dice_.Numbers(Shape::Trusted({dice_.Between(0, 2), kSize}), -1, 1));
    default:
      return tree_.Constant(type, dice_.Numbers(*ShapeFor(type).ToShape(), -1, 1));
  }
}

Id Expressions::Some(Type type) {
  const std::vector<Id> visible = tree_.Visible(type);
  const bool fresh = depth_ < kMaxDepth && dice_.Chance(0.12);
  if (visible.empty() || fresh) return depth_ < kMaxDepth ? New(type) : Constant(type);
  const int n = static_cast<int>(visible.size());
  return visible[std::max(dice_.Below(n), dice_.Below(n))];  // rather a late one
}

Id Expressions::New(Type type) {
  ++depth_;
  Id id = -1;
  switch (type) {
    case Type::kScalar:
      id = NewScalar();
      break;
    case Type::kVector:
      id = NewVector();
      break;
    case Type::kMatrix:
      id = NewMatrix();
      break;
    case Type::kRows:
      id = NewRows();
      break;
    case Type::kInt:
      id = NewInt();
      break;
    case Type::kBool:
      id = NewBool();
      break;
    default:
      id = NewList(type);
  }
  --depth_;
  return id;
}

Id Expressions::Scaled(Id x, double factor) {
  return tree_.Op("Mul", {x, tree_.Real(factor)}, tree_.type(x));
}

Id Expressions::OnePlusSquare(Id x) {
  return tree_.Part("AddV2", {tree_.Part("Square", {x}), tree_.Real(1)});
}

Id Expressions::Tame(Id x) {
  const Type type = tree_.type(x);
  switch (dice_.Below(5)) {
    case 0:
      return tree_.Op("Sin", {x}, type);
    case 1:
      return Scaled(tree_.Op("Atan", {x}, type), 0.8);
    case 2:
      return tree_.Op("RealDiv", {x, OnePlusSquare(x)}, type);
    default:
      return tree_.Op("Tanh", {x}, type);
  }
}

Id Expressions::Unary(Id x) {
  const Type type = tree_.type(x);
  switch (dice_.Below(8)) {
    case 0:
      return tree_.Op("Exp", {Scaled(Tame(x), 0.5)}, type);
    case 1:
      return tree_.Op("Sqrt", {OnePlusSquare(x)}, type);
    case 2:
      return tree_.Op("Log1p", {tree_.Part("Square", {x})}, type);
    case 3:
      return tree_.Op("Reciprocal", {OnePlusSquare(x)}, type);
    case 4:
      return tree_.Op("Square", {Tame(x)}, type);
    default:
      return tree_.Op(dice_.OneOf({"Sin", "Cos", "Tanh", "Sigmoid", "Neg", "Atan", "Identity"}),
                      {x}, type);
  }
}

Id Expressions::Binary(Id x, Id y, Type type) {
  if (dice_.Chance(0.3)) std::swap(x, y);
  switch (dice_.Below(8)) {
    case 0:
      return tree_.Op("RealDiv", {x, OnePlusSquare(y)}, type);
    case 1:
      return Tame(tree_.Op("SquaredDifference", {x, y}, type));
    case 2:
      return tree_.Op(dice_.OneOf({"Maximum", "Minimum"}), {x, y}, type);
    case 3:
      return tree_.Op("Pow", {OnePlusSquare(Tame(x)), tree_.Part("Tanh", {y})}, type);
    default:
      return tree_.Op(dice_.OneOf({"AddV2", "Add", "Sub", "Mul", "Mul"}), {x, y}, type);
  }
}

// `then` where a comparison holds, `otherwise` elsewhere.
Id Expressions::Chosen(Type type) {
  const Id which = tree_.Part("Greater", {Some(type), Constant(Type::kScalar)});
  return tree_.Op("SelectV2", {which, Some(type), Some(dice_.OneOf({type, Type::kScalar}))}, type);
}

Id Expressions::Reduced(std::initializer_list<const char*> ops, Id x, std::vector<int32_t> axes,
                        Type type) {
  return tree_.Op(dice_.OneOf(ops), {x, tree_.Ints(axes)}, type);
}

Id Expressions::Column(Id vector) {
  return tree_.Part("Reshape", {vector, tree_.Ints({kSize, 1})});
}

Id Expressions::Flat(Id x) { return tree_.Op("Reshape", {x, tree_.Ints({kSize})}, Type::kVector); }

// Of something of `size`, an int that is not 0.
Id Expressions::IndexInto(Id size) {
  return tree_.Op("FloorMod", {Some(Type::kInt), size}, Type::kInt);
}

Id Expressions::SomeIndex(int n) { return IndexInto(tree_.Int(n)); }

Id Expressions::CountFromData(int n) {
  const Id x = dice_.Chance(0.5) ? Some(Type::kScalar) : SquaredNorm(Some(Type::kVector));
  const Id count = tree_.Op("Cast", {tree_.Part("Mul", {x, tree_.Real(dice_.Real(2, 5))})},
                            Type::kInt, {{"DstT", DType::kInt32}});
  return tree_.Op("FloorMod", {count, tree_.Int(n)}, Type::kInt);
}

Id Expressions::Between(double low, double high, Id x) {
  const Id fraction = tree_.Part("Sigmoid", {x});
  return tree_.Op("AddV2", {tree_.Part("Mul", {fraction, tree_.Real(high - low)}), tree_.Real(low)},
                  tree_.type(x));
}

Id Expressions::SquaredNorm(Id x) {
  const Id squares = tree_.Part("Square", {x});
  if (tree_.type(x) == Type::kScalar) return squares;
  const std::vector<int32_t> axes =
      tree_.type(x) == Type::kVector ? std::vector<int32_t>{0} : std::vector<int32_t>{0, 1};
  return tree_.Op("Sum", {squares, tree_.Ints(axes)}, Type::kScalar);
}

Id Expressions::NewScalar() {
  switch (dice_.Below(10)) {
    case 9:
      return tree_.Add(
          {.op = "Unpack", .attrs = {{"num", int64_t{kSize}}}, .inputs = {Some(Type::kVector)}},
          {Type::kScalar, Type::kScalar, Type::kScalar})[dice_.Below(kSize)];
    case 0:
      return Binary(Some(Type::kScalar), Some(Type::kScalar), Type::kScalar);
    case 1:
      return Reduced({"Sum", "Mean", "Prod"}, Some(Type::kVector), {0}, Type::kScalar);
    case 2:
      return Reduced({"Sum", "Mean"}, Some(Type::kMatrix), {0, 1}, Type::kScalar);
    case 3:
      return Reduced({"Sum"}, Some(Type::kRows), {0, -1}, Type::kScalar);
    case 4:
      return tree_.Op("GatherV2", {Some(Type::kVector), SomeIndex(kSize), tree_.Int(0)},
                      Type::kScalar);
    case 5:
      return Scaled(tree_.Op("Cast", {Some(Type::kInt)}, Type::kScalar, {{"DstT", DType::kDouble}}),
                    0.3);
    case 6:
      return Element(Type::kScalars);
    case 7:
      return Chosen(Type::kScalar);
    default:
      return Unary(Some(Type::kScalar));
  }
}

Id Expressions::NewVector() {
  switch (dice_.Below(14)) {
    case 12: {
      const Id begin = tree_.Part("Pack", {SomeIndex(kSize)});
      const Id end = tree_.Part("AddV2", {begin, tree_.Int(1)});
      return tree_.Op("StridedSlice", {Some(Type::kMatrix), begin, end, tree_.Ints({1})},
                      Type::kVector, {{"shrink_axis_mask", int64_t{1}}});
    }
    case 13:
      return tree_.Op("Einsum", {Some(Type::kMatrix), Some(Type::kVector)}, Type::kVector,
                      {{"equation", std::string(dice_.OneOf({"ij,j->i", "ij,i->j", "ii,i->i"}))}});
    case 0:
    case 1:
      return Binary(Some(Type::kVector), Some(dice_.OneOf({Type::kVector, Type::kScalar})),
                    Type::kVector);
    case 2:
      return Flat(tree_.Part("MatMul", {Some(Type::kMatrix), Column(Some(Type::kVector))},
                             {{"transpose_a", dice_.Chance(0.3)}}));
    case 3:
      return tree_.Op("GatherV2",
                      {Some(Type::kMatrix), SomeIndex(kSize), tree_.Int(dice_.Below(2))},
                      Type::kVector);
    case 4: {
      const Id rows = RowsAndOne();
      return tree_.Op("GatherV2", {rows, IndexInto(NumRows(rows)), tree_.Int(0)}, Type::kVector);
    }
    case 5:
      return Reduced({"Sum", "Mean", "Prod"}, Some(Type::kMatrix), {dice_.Below(2)}, Type::kVector);
    case 6:
      return Reduced({"Sum"}, Some(Type::kRows), {0}, Type::kVector);
    case 7:
      return tree_.Op("Pack", {Some(Type::kScalar), Some(Type::kScalar), Some(Type::kScalar)},
                      Type::kVector);
    case 8:
      return Element(Type::kVectors);
    case 9:
      return Chosen(Type::kVector);
    case 10:
      return dice_.Chance(0.5)
                 ? tree_.Op("Softmax", {Some(Type::kVector)}, Type::kVector)
                 : tree_.Op("Cumsum", {Some(Type::kVector), tree_.Int(0)}, Type::kVector);
    default:
      return Unary(Some(Type::kVector));
  }
}

Id Expressions::NewMatrix() {
  switch (dice_.Below(10)) {
    case 8:
      return tree_.Op("BroadcastTo", {Some(Type::kVector), tree_.Ints({kSize, kSize})},
                      Type::kMatrix);
    case 9:
      return tree_.Op("UnsortedSegmentSum",
                      {Some(Type::kMatrix), tree_.Ints({dice_.Below(3), 2, 0}), tree_.Int(kSize)},
                      Type::kMatrix);
    case 0:
      return Binary(Some(Type::kMatrix),
                    Some(dice_.OneOf({Type::kMatrix, Type::kVector, Type::kScalar})),
                    Type::kMatrix);
    case 1:
    case 2:
      return Scaled(
          tree_.Op("MatMul", {Some(Type::kMatrix), Some(Type::kMatrix)}, Type::kMatrix,
                   {{"transpose_a", dice_.Chance(0.3)}, {"transpose_b", dice_.Chance(0.3)}}),
          0.5);
    case 3:
      return Binary(Column(Some(Type::kVector)), Some(Type::kVector), Type::kMatrix);
    case 4:
      return tree_.Op("Transpose", {Some(Type::kMatrix), tree_.Ints({1, 0})}, Type::kMatrix);
    case 5: {
      const Id list = Pushed(Type::kVectors);
      const Id size = Length(list);
      const Id indices = tree_.Part("Pack", {IndexInto(size), IndexInto(size), IndexInto(size)});
      return tree_.Op("TensorListGather", {list, indices, tree_.Ints({kSize})}, Type::kMatrix,
                      ElementAttr(Type::kVectors));
    }
    case 6:
      return tree_.Op("GatherV2",
                      {Some(Type::kMatrix), tree_.Ints({dice_.Below(3), dice_.Below(3), 0}),
                       tree_.Int(dice_.Below(2))},
                      Type::kMatrix);
    default:
      return Unary(Some(Type::kMatrix));
  }
}

Id Expressions::WithRow(Id rows, Id vector) {
  const Id row = tree_.Part("ExpandDims", {vector, tree_.Int(0)});
  return tree_.Op("ConcatV2", {rows, row, tree_.Int(0)}, Type::kRows);
}

Id Expressions::RowsAndOne() {
  const Id rows = Some(Type::kRows);
  return WithRow(rows, Some(Type::kVector));
}

Id Expressions::NumRows(Id rows) {
  const Id shape = tree_.Part("Shape", {rows});
  return tree_.Op("GatherV2", {shape, tree_.Int(0), tree_.Int(0)}, Type::kInt);
}

Id Expressions::NewRows() {
  const auto axis = [&] { return tree_.Int(0); };
  switch (dice_.Below(7)) {
    case 0:
      return tree_.Op("ExpandDims", {Some(Type::kVector), axis()}, Type::kRows);
    case 1:
      return RowsAndOne();
    case 2:
      return Binary(Some(Type::kRows), Some(dice_.OneOf({Type::kVector, Type::kScalar})),
                    Type::kRows);
    case 3:
      return Stacked(Some(Type::kVectors));
    case 4:  // all but the first
      return tree_.Op("Slice", {RowsAndOne(), tree_.Ints({1, 0}), tree_.Ints({-1, -1})},
                      Type::kRows);
    case 5:
      return tree_.Op("MatMul", {Some(Type::kRows), Some(Type::kMatrix)}, Type::kRows);
    default:
      return Unary(Some(Type::kRows));
  }
}

Id Expressions::NewInt() {
  switch (dice_.Below(5)) {
    case 0:
      return Length(Some(dice_.OneOf({Type::kScalars, Type::kVectors, Type::kLists})));
    case 1:
      return NumRows(Some(Type::kRows));
    case 2:
      return tree_.Op(dice_.OneOf({"AddV2", "Sub"}), {SomeIndex(5), Constant(Type::kInt)},
                      Type::kInt);
    default:
      return CountFromData(5);
  }
}

Id Expressions::NewBool() {
  switch (dice_.Below(4)) {
    case 0:
      return tree_.Op("Equal", {SomeIndex(2), tree_.Int(0)}, Type::kBool);
    case 1:
      return tree_.Op(dice_.OneOf({"LogicalAnd", "LogicalOr"}),
                      {Some(Type::kBool), Some(Type::kBool)}, Type::kBool);
    default:
      return tree_.Op(dice_.OneOf({"Greater", "Less"}),
                      {Some(Type::kScalar), Constant(Type::kScalar)}, Type::kBool);
  }
}

// ---- Lists ----

// Of elements, where it may be told: not known, or known.
Id Expressions::ElementShape(Type list) {
  return list == Type::kVectors ? tree_.Ints({kSize}) : tree_.Ints({});
}

Id Expressions::EmptyList(Type list) {
  const bool tells = dice_.Chance(0.7);
  return tree_.Op("EmptyTensorList", {tells ? ElementShape(list) : tree_.Int(-1), tree_.Int(-1)},
                  list, ElementAttr(list));
}

Id Expressions::Stacked(Id list) {
  return tree_.Op("TensorListStack", {list, ElementShape(Type::kVectors)}, Type::kRows,
                  ElementAttr(Type::kVectors));
}

Id Expressions::Length(Id list) { return tree_.Op("TensorListLength", {list}, Type::kInt); }

Id Expressions::Pushed(Type list) {
  return tree_.Op("TensorListPushBack", {Some(list), Some(ElementOf(list))}, list,
                  ElementAttr(list));
}

Id Expressions::Popped(Id list, Id* element) {
  const Type type = tree_.type(list);
  const std::vector<Id> both = tree_.Add(
      {.op = "TensorListPopBack", .attrs = ElementAttr(type), .inputs = {list, ElementShape(type)}},
      {type, ElementOf(type)});
  if (element != nullptr) *element = both[1];
  return both[0];
}

Id Expressions::Element(Type type) {
  const Id list = Pushed(type);
  if (dice_.Chance(0.3)) {
    Id element = -1;
    Popped(list, &element);
    return element;
  }
  return tree_.Op("TensorListGetItem", {list, IndexInto(Length(list)), ElementShape(type)},
                  ElementOf(type), ElementAttr(type));
}

Id Expressions::NewList(Type list) {
  if (list == Type::kVectors && dice_.Chance(0.15)) return Element(Type::kLists);
  if (list != Type::kLists && dice_.Chance(0.5)) return FromNumbers(list);
  const Id more = Pushed(list);
  switch (dice_.Below(4)) {
    case 0:
      return tree_.Op("TensorListSetItem", {more, IndexInto(Length(more)), Some(ElementOf(list))},
                      list, ElementAttr(list));
    case 1:
      return Popped(more);
    default:
      return more;
  }
}

Id Expressions::FromNumbers(Type list) {
  const AttrMap attrs = ElementAttr(list);
  const Type rows = list == Type::kScalars ? Type::kVector : Type::kMatrix;
  switch (dice_.Below(6)) {
    case 0: {
      const Id reserved =
          tree_.Part("TensorListReserve", {ElementShape(list), tree_.Int(kSize)}, attrs);
      return tree_.Op("TensorListSetItem", {reserved, SomeIndex(kSize), Some(ElementOf(list))},
                      list, attrs);
    }
    case 1:
      return tree_.Op("TensorListScatterV2",
                      {Some(rows), tree_.Ints({2, 0, 1}), ElementShape(list), tree_.Int(-1)}, list,
                      attrs);
    case 2:
      return tree_.Op("TensorListScatterIntoExistingList",
                      {Some(list), Some(rows), tree_.Ints({1, 2, 0})}, list, attrs);
    case 3:
      return tree_.Op("TensorListResize", {Some(list), tree_.Int(dice_.Below(4))}, list);
    case 4:
      return tree_.Op("TensorListFromTensor",
                      {Some(rows == Type::kMatrix ? Type::kRows : rows), ElementShape(list)}, list,
                      attrs);
    default:
      return tree_.Op("TensorListFromTensor", {Some(rows), ElementShape(list)}, list, attrs);
  }
}

}  // namespace gyre::testing
