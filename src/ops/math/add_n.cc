// Sums of many tensors, in the order of the inputs: numbers element by element, variants as the
// objects say.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/math/elementwise.h"
#include "ops/variant_ops.h"

namespace gyre {
namespace {

const char* BytesAt(const Tensor& t, int64_t element) {
  return static_cast<const char*>(t.raw_data()) +
         element * static_cast<int64_t>(DTypeSize(t.dtype()));
}

// The sum of one element each.
using AddOne = void (*)(const void* const* inputs, size_t num_inputs, void* sum);

template <typename T>
void AddFloats(const void* const* inputs, size_t num_inputs, void* sum) {
  T so_far = *static_cast<const T*>(inputs[0]);
  for (size_t i = 1; i < num_inputs; ++i) so_far += *static_cast<const T*>(inputs[i]);
  *static_cast<T*>(sum) = so_far;
}

struct AddNAttrs {
  static absl::StatusOr<AddNAttrs> Make(const Node& node) {
    const DType dtype = NodeAttr<DType>(node, "T");
    const BinaryRow row = AddRow(dtype);
    if (row == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("op ", node.op_name, " has no kernel for T = ", DTypeName(dtype)));
    }
    // Losses and their gradients are sums of many scalars.
    const AddOne one = dtype == DType::kFloat    ? &AddFloats<float>
                       : dtype == DType::kDouble ? &AddFloats<double>
                                                 : nullptr;
    return AddNAttrs{row, one, static_cast<int64_t>(DTypeSize(dtype))};
  }
  BinaryRow row;
  AddOne one;  // null: by `row`
  int64_t size;
};

// sum[i] = inputs[0][i] + …, in the order of the inputs.
bool AddRows(const void* attrs, const void* const* inputs, size_t num_inputs, uint32_t, void* sum,
             int64_t n) {
  const auto& add = *static_cast<const AddNAttrs*>(attrs);
  if (n == 1 && add.one != nullptr) {
    add.one(inputs, num_inputs, sum);
    return true;
  }
  if (num_inputs == 1) {
    std::memmove(sum, inputs[0], static_cast<size_t>(n * add.size));
    return true;
  }
  const void* so_far = inputs[0];
  for (size_t i = 1; i < num_inputs; ++i) {
    add.row(so_far, inputs[i], sum, n, Operands::kVectors);
    so_far = sum;
  }
  return true;
}
constexpr RowCode kAddRows = {&AddRows, /*broadcasts=*/false};

template <typename T>
absl::Status AddScalars(KernelContext& ctx) {
  T sum = ctx.input(0).scalar<T>();
  for (int i = 1; i < ctx.num_inputs(); ++i) sum += ctx.input(i).scalar<T>();
  ctx.set_output(0, Tensor::Scalar(sum));
  return absl::OkStatus();
}

absl::Status AddNumbers(KernelContext& ctx, const AddNAttrs& attrs) {
  const Shape& shape = ctx.input(0).shape();
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).shape() == shape) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("all inputs must have the same shape, but input 0 has ", shape.ToString(),
                     " and input ", i, " has ", ctx.input(i).shape().ToString()));
  }
  if (ctx.num_inputs() == 1) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  if (shape.IsScalar() && ctx.input(0).dtype() == DType::kFloat) return AddScalars<float>(ctx);
  GYRE_ASSIGN_OR_RETURN(Tensor sum, ctx.ReuseOrAllocate(0, ctx.input(0).dtype(), shape));
  char* to = static_cast<char*>(sum.mutable_raw_data());
  const int64_t size = static_cast<int64_t>(DTypeSize(sum.dtype()));
  GYRE_RETURN_IF_ERROR(ForPieces(ctx, shape.num_elements(), [&](int64_t begin, int64_t end) {
    char* piece = to + begin * size;
    const void* so_far = BytesAt(ctx.input(0), begin);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      attrs.row(so_far, BytesAt(ctx.input(i), begin), piece, end - begin, Operands::kVectors);
      so_far = piece;
    }
  }));
  ctx.set_output(0, std::move(sum));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> AddVariants(KernelContext& ctx, const Tensor& a, const Tensor& b) {
  if (!a.shape().IsScalar() || !b.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("variants are added one by one, but the shapes are ", a.shape().ToString(),
                     " and ", b.shape().ToString()));
  }
  const AddableObject* x = a.object_as<AddableObject>();
  if (x == nullptr || b.object() == nullptr) {
    const Object* culprit = a.object() == nullptr ? nullptr
                            : x == nullptr        ? a.object()
                                                  : b.object();
    return absl::InvalidArgumentError(
        absl::StrCat("variants that hold ", culprit == nullptr ? "nothing" : culprit->type_name(),
                     " cannot be added"));
  }
  GYRE_ASSIGN_OR_RETURN(RefPtr<Object> sum, x->Add(ctx, *b.object()));
  return Tensor::FromObject(DType::kVariant, std::move(sum));
}

absl::Status AddNVariants(KernelContext& ctx) {
  Tensor sum = ctx.TakeInput(0);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(sum, AddVariants(ctx, sum, ctx.input(i)));
  }
  ctx.set_output(0, std::move(sum));
  return absl::OkStatus();
}

absl::StatusOr<Kernel> MakeAddN(const Node& node) {
  if (NodeAttr<DType>(node, "T") == DType::kVariant) return Compute<&AddNVariants>()(node);
  GYRE_ASSIGN_OR_RETURN(Kernel kernel, Compute<&AddNumbers>()(node));
  kernel.rows = &kAddRows;
  return kernel;
}

// What all inputs agree on; of variants also what is known of the first one's contents.
absl::Status AddNShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(shape::SameForAll(c));
  if (c.num_inputs() > 0 && c.input_handle(0)) c.set_output_handle(0, *c.input_handle(0));
  return absl::OkStatus();
}

// As AddNShape, and as the attribute `shape` promises.
absl::Status AccumulateShape(ShapeContext& c) {
  PartialShape shape = c.attrs().GetOr<PartialShape>("shape", PartialShape::Unknown());
  for (int i = 0; i < c.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(shape, shape.Intersect(c.input(i)));
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void SumOfAllGradient(GradientContext& g) {
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.wants(i)) g.Add(i, g.grad());
  }
}

struct AccumulateAttrs {
  static absl::StatusOr<AccumulateAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const AddNAttrs add, AddNAttrs::Make(node));
    return AccumulateAttrs{add, NodeAttr<PartialShape>(node, "shape")};
  }
  AddNAttrs add;
  PartialShape shape;
};

absl::Status Accumulate(KernelContext& ctx, const AccumulateAttrs& attrs) {
  if (!attrs.shape.Allows(ctx.input(0).shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the inputs have shape ", ctx.input(0).shape().ToString(),
                     ", but the op was declared with ", attrs.shape.ToString()));
  }
  return AddNumbers(ctx, attrs.add);
}

// sum = a + b, where `a` may be `sum`.
absl::Status AddElements(KernelContext& ctx, const void* a, const Tensor& b, void* sum) {
  const BinaryRow row = AddRow(b.dtype());
  if (row == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(DTypeName(b.dtype()), " has no sum"));
  const char* from = static_cast<const char*>(a);
  char* to = static_cast<char*>(sum);
  const int64_t size = static_cast<int64_t>(DTypeSize(b.dtype()));
  return ForPieces(ctx, b.num_elements(), [&](int64_t begin, int64_t end) {
    row(from + begin * size, BytesAt(b, begin), to + begin * size, end - begin, Operands::kVectors);
  });
}

void AddNSimplify(SimplifyContext& s) {
  if (s.num_inputs() == 1) s.Replace(0, s.input(0));
}

}  // namespace

absl::StatusOr<Tensor> AddTensors(KernelContext& ctx, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add a ", DTypeName(a.dtype()), " of shape ", a.shape().ToString(),
                     " and a ", DTypeName(b.dtype()), " of shape ", b.shape().ToString()));
  }
  if (a.dtype() == DType::kVariant) return AddVariants(ctx, a, b);
  GYRE_ASSIGN_OR_RETURN(Tensor sum, ctx.Allocate(a.dtype(), a.shape()));
  GYRE_RETURN_IF_ERROR(AddElements(ctx, a.raw_data(), b, sum.mutable_raw_data()));
  return sum;
}

absl::Status AddInto(KernelContext& ctx, const Tensor& value, void* sum) {
  return AddElements(ctx, sum, value, sum);
}

void RegisterAddN(OpRegistry& ops) {
  ops.Add({.schema = "AddN(inputs: N * T) -> sum: T {N: int >= 1; T: {float, double, int32, uint8, "
                     "int16, int8, "
                     "complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, "
                     "complex128, half, "
                     "uint32, uint64, variant}}",
           .doc = "The sum of all inputs, which have one shape; tensor lists and optionals are "
                  "added element by element.",
           .traits = {.elementwise = true, .commutative = true, .aggregate = true},
           .shape = AddNShape,
           .gradient = {SumOfAllGradient},
           .batch = {batch::Stacked},
           .simplify = AddNSimplify,
           .kernel = MakeAddN});
  ops.Add({.schema =
               "AccumulateNV2(inputs: N * T) -> sum: T {N: int >= 1; T: numbertype; shape: shape}",
           .doc = "The sum of all inputs, which have one shape.",
           .traits = {.elementwise = true, .commutative = true, .aggregate = true},
           .shape = AccumulateShape,
           .gradient = {SumOfAllGradient},
           .batch = {batch::ShapeAttr},
           .kernel = Compute<&Accumulate>()});
}

}  // namespace gyre
