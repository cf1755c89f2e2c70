// SerializeTensor, ParseTensor: tensors as the bytes of a TensorProto, and back.
#include "ops/parse/tensor_bytes.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/text/string_bytes.h"
#include "tensor/text_charge.h"
#include "wire/wire_reader.h"

namespace gyre {
namespace {

using wire::PutBytes;
using wire::PutNumber;
using wire::WireReader;
using Field = WireReader::Field;
using Type = WireReader::Type;

// Fields of a TensorProto.
enum : int {
  kDtype = 1,
  kShape = 2,
  kContent = 4,
  kFloatVal = 5,
  kDoubleVal = 6,
  kIntVal = 7,
  kStringVal = 8,
  kScomplexVal = 9,
  kInt64Val = 10,
  kBoolVal = 11,
  kDcomplexVal = 12,
  kHalfVal = 13,
  kUint32Val = 16,
  kUint64Val = 17,
};

absl::Status NoTensor() {
  return absl::InvalidArgumentError("could not parse `serialized` as a tensor");
}

absl::StatusOr<Shape> ParseShape(absl::string_view bytes) {
  Dims dims;
  WireReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
    if (field.number != 2) continue;
    int64_t size = 0;
    WireReader dim(field.bytes);
    Field part;
    while (dim.Next(part)) {
      if (part.number == 1) size = static_cast<int64_t>(part.value);
    }
    if (dim.is_malformed() || dims.size() >= Shape::kMaxRank) return NoTensor();
    dims.push_back(size);
  }
  if (reader.is_malformed()) return NoTensor();
  return Shape::Make(dims);
}

// The field that has the values of a type.
int ValueField(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return kFloatVal;
    case DType::kDouble:
      return kDoubleVal;
    case DType::kString:
      return kStringVal;
    case DType::kComplex64:
      return kScomplexVal;
    case DType::kComplex128:
      return kDcomplexVal;
    case DType::kInt64:
      return kInt64Val;
    case DType::kBool:
      return kBoolVal;
    case DType::kHalf:
    case DType::kBfloat16:
      return kHalfVal;
    case DType::kUint32:
      return kUint32Val;
    case DType::kUint64:
      return kUint64Val;
    default:
      return kIntVal;
  }
}

// Values that stand one by one, the last of which is that of all behind it.
class ValueReader {
 public:
  ValueReader(const KernelContext& ctx, Tensor& out) : ctx_(ctx), out_(out) {
    const bool is_complex = out.dtype() == DType::kComplex64 || out.dtype() == DType::kComplex128;
    size_ = DTypeSize(out.dtype()) / (is_complex ? 2 : 1);
    room_ = out.dtype() == DType::kString ? 0 : out.bytes() / std::max<size_t>(1, size_);
    is_fixed_ = is_complex || out.dtype() == DType::kFloat || out.dtype() == DType::kDouble;
  }

  absl::Status Take(const Field& field) {
    if (out_.dtype() == DType::kString) return TakeText(field);
    if (field.type != Type::kBytes) return Put(&field.value);
    absl::string_view rest = field.bytes;
    while (!rest.empty()) {
      if (count_ % 65536 == 0) GYRE_RETURN_IF_ERROR(ctx_.Poll());
      uint64_t value = 0;
      if (is_fixed_) {
        if (rest.size() < size_) return NoTensor();
        std::memcpy(&value, rest.data(), size_);
        rest.remove_prefix(size_);
      } else if (!wire::TakeVarint(rest, value)) {
        return NoTensor();
      }
      GYRE_RETURN_IF_ERROR(Put(&value));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (out_.dtype() == DType::kString) {
      auto texts = out_.mutable_values<std::string>();
      Mover<std::string> mover(ctx_, out_);
      for (size_t i = count_; count_ > 0 && i < texts.size(); ++i)
        mover.Set(texts[i], texts[count_ - 1]);
      return mover.status();
    }
    char* bytes = static_cast<char*>(out_.mutable_raw_data());
    if (count_ == 0) {
      std::memset(bytes, 0, out_.bytes());
      return absl::OkStatus();
    }
    // Of a complex number both parts.
    const size_t element = DTypeSize(out_.dtype());
    const size_t done = count_ * size_;
    if (done % element != 0) return NoTensor();
    for (size_t at = done; at < out_.bytes(); at += element) {
      if (at % (1 << 20) == 0) GYRE_RETURN_IF_ERROR(ctx_.Poll());
      std::memcpy(bytes + at, bytes + done - element, element);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status TakeText(const Field& field) {
    auto texts = out_.mutable_values<std::string>();
    if (count_ >= texts.size() || field.type != Type::kBytes) return NoTensor();
    GYRE_RETURN_IF_ERROR(ChargeTextOf(ctx_, out_, HeapBytes(field.bytes.size())));
    if ((since_poll_ += field.bytes.size() + 256) > (1 << 20)) {
      since_poll_ = 0;
      GYRE_RETURN_IF_ERROR(ctx_.Poll());
    }
    texts[count_++].assign(field.bytes.data(), field.bytes.size());
    return absl::OkStatus();
  }
  absl::Status Put(const uint64_t* value) {
    if (count_ >= room_) return NoTensor();
    std::memcpy(static_cast<char*>(out_.mutable_raw_data()) + count_++ * size_, value, size_);
    return absl::OkStatus();
  }

  const KernelContext& ctx_;
  Tensor& out_;
  size_t size_ = 1;   // bytes of a value
  size_t room_ = 0;   // values
  size_t count_ = 0;  // so far
  bool is_fixed_ = false;
  size_t since_poll_ = 0;  // bytes of text
};

}  // namespace

absl::StatusOr<std::string> BytesOfTensor(const KernelContext& ctx, const Tensor& t) {
  const bool is_text = t.dtype() == DType::kString;
  if (!is_text && !IsTrivial(t.dtype())) {
    return absl::UnimplementedError(
        absl::StrCat("a tensor of ", DTypeName(t.dtype()), " cannot be serialized"));
  }
  int64_t size = 64 + 24 * int64_t{t.rank()};
  if (is_text) {
    for (const std::string& text : t.values<std::string>())
      size += static_cast<int64_t>(text.size()) + 12;
  } else {
    size += static_cast<int64_t>(t.bytes());
  }
  GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, size));
  std::string bytes;
  bytes.reserve(static_cast<size_t>(size));
  PutNumber(kDtype, static_cast<uint64_t>(t.dtype()), bytes);
  std::string shape;
  for (const int64_t d : t.shape().dims()) {
    std::string dim;
    if (d != 0) PutNumber(1, static_cast<uint64_t>(d), dim);  // defaults are not written
    PutBytes(2, dim, shape);
  }
  PutBytes(kShape, shape, bytes);
  if (is_text) {
    int64_t i = 0;
    for (const std::string& text : t.values<std::string>()) {
      if (i++ % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      PutBytes(kStringVal, text, bytes);
    }
  } else if (t.num_elements() > 0) {
    PutBytes(kContent, {static_cast<const char*>(t.raw_data()), t.bytes()}, bytes);
  }
  return bytes;
}

absl::StatusOr<Tensor> TensorOfBytes(const KernelContext& ctx, absl::string_view bytes,
                                     DType dtype) {
  if (dtype != DType::kString && !IsTrivial(dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("a tensor of ", DTypeName(dtype), " cannot be parsed"));
  }
  absl::string_view shape_bytes, content;
  uint64_t wire_dtype = 0;
  WireReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
    if (field.number == kDtype) wire_dtype = field.value;
    if (field.number == kShape) shape_bytes = field.bytes;
    if (field.number == kContent) content = field.bytes;
  }
  if (reader.is_malformed()) return NoTensor();
  if (wire_dtype != static_cast<uint64_t>(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("type mismatch between parsed tensor (",
                     wire_dtype < 128 ? DTypeName(DTypeFromWire(static_cast<int>(wire_dtype)))
                                      : absl::string_view("unknown"),
                     ") and dtype (", DTypeName(dtype), ")"));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ParseShape(shape_bytes));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype, shape));
  if (!content.empty() && dtype != DType::kString) {
    if (content.size() != out.bytes()) return NoTensor();
    std::memcpy(out.mutable_raw_data(), content.data(), content.size());
  } else {
    ValueReader values(ctx, out);
    WireReader again(bytes);
    const int wanted = ValueField(dtype);
    while (again.Next(field)) {
      if (field.number == wanted) GYRE_RETURN_IF_ERROR(values.Take(field));
    }
    GYRE_RETURN_IF_ERROR(values.Finish());
  }
  if (dtype == DType::kBool) {  // any byte but 0 is true
    auto* flags = static_cast<uint8_t*>(out.mutable_raw_data());
    for (int64_t i = 0; i < out.num_elements(); ++i) flags[i] = flags[i] != 0 ? 1 : 0;
  }
  return out;
}

namespace {

absl::Status Serialize(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(std::string bytes, BytesOfTensor(ctx, ctx.input(0)));
  GYRE_ASSIGN_OR_RETURN(Tensor out, TextScalar(ctx, std::move(bytes)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status Parse(KernelContext& ctx) {
  if (ctx.input(0).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("serialized must be a scalar, but is of shape ",
                                                   ctx.input(0).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(
      Tensor out, TensorOfBytes(ctx, ctx.input(0).scalar<std::string>(), ctx.output_dtype(0)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SerializeShape(ShapeContext& c) {
  c.set_output(0, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status ParseShapeRule(ShapeContext& c) { return c.RequireScalar(0); }

}  // namespace

void RegisterTensorBytes(OpRegistry& ops) {
  ops.Add({.schema = "SerializeTensor(tensor: T) -> serialized: string {T: type}",
           .doc = "A tensor as the bytes of a TensorProto.",
           .api = {"io.serialize_tensor"},
           .shape = SerializeShape,
           .gradient = NotDifferentiable("bytes have no derivative"),
           .kernel = Compute<Serialize>()});
  ops.Add({.schema = "ParseTensor(serialized: string) -> output: out_type {out_type: type}",
           .doc = "The tensor that the bytes of a TensorProto say.",
           .shape = ParseShapeRule,
           .gradient = NotDifferentiable("bytes have no derivative"),
           .kernel = Compute<Parse>()});
}

}  // namespace gyre
