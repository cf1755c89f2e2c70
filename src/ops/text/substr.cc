// Substr: of each text, `len` bytes or characters from `pos` on.
#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"
#include "ops/text/map_texts.h"

namespace gyre {
namespace {

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The byte at which the character `steps` after byte `at` begins, at most the end of the text.
size_t After(absl::string_view text, size_t at, uint64_t steps) {
  for (; steps > 0 && at < text.size(); --steps) {
    do {
      ++at;
    } while (at < text.size() && !StartsCharacter(text[at]));
  }
  return at;
}

// Where character `pos` begins, counted from the end if it is negative; npos: out of range.
size_t CharacterAt(absl::string_view text, int64_t pos) {
  const int64_t count = std::count_if(text.begin(), text.end(), StartsCharacter);
  if (pos > count || pos < -count) return absl::string_view::npos;
  return After(text, 0, static_cast<uint64_t>(pos < 0 ? pos + count : pos));
}

size_t ByteAt(absl::string_view text, int64_t pos) {
  const auto size = static_cast<int64_t>(text.size());
  if (pos > size || pos < -size) return absl::string_view::npos;
  return static_cast<size_t>(pos < 0 ? pos + size : pos);
}

struct SubstrAttrs {
  explicit SubstrAttrs(const Node& node)
      : of_characters(NodeAttr<std::string>(node, "unit") == "UTF8_CHAR") {}
  bool of_characters;

  absl::StatusOr<absl::string_view> Take(absl::string_view text, int64_t pos, int64_t len) const {
    const size_t begin = of_characters ? CharacterAt(text, pos) : ByteAt(text, pos);
    if (begin == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("pos ", pos, " is out of range for the string '",
                       absl::Utf8SafeCEscape(text.substr(0, 100)), "'"));
    }
    // A negative length takes all bytes that follow, but no characters.
    if (!of_characters) return text.substr(begin, static_cast<size_t>(len));
    if (len < 0) return absl::string_view();
    return text.substr(begin, After(text, begin, static_cast<uint64_t>(len)) - begin);
  }
};

template <typename T>
struct SubstrKernel {
  static absl::Status Run(KernelContext& ctx, const SubstrAttrs& attrs) {
    const Tensor &input = ctx.input(0), &pos = ctx.input(1), &len = ctx.input(2);
    if (pos.shape() != len.shape()) {
      return absl::InvalidArgumentError(absl::StrCat("pos and len must have one shape, but have ",
                                                     pos.shape().ToString(), " and ",
                                                     len.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(
        const PartialShape known,
        shape::BroadcastShapes(PartialShape(input.shape()), PartialShape(pos.shape())));
    const std::optional<Shape> wanted = known.ToShape();
    if (!wanted) return absl::InvalidArgumentError("the result has too many elements");
    const Shape& shape = *wanted;
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
    const std::string* texts = input.values<std::string>().data();
    const T* positions = pos.values<T>().data();
    const T* lengths = len.values<T>().data();
    std::string* parts = out.mutable_values<std::string>().data();
    const Dims text_strides = StridesWithin(input.shape(), shape);
    const Dims pos_strides = StridesWithin(pos.shape(), shape);
    Dims index(shape.rank(), 0);
    Mover<std::string> mover(ctx, out);
    int64_t text = 0, at = 0;
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      if (i % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      absl::StatusOr<absl::string_view> part = attrs.Take(texts[text], positions[at], lengths[at]);
      if (!part.ok()) return Annotate(part.status(), absl::StrCat("element ", i));
      if (!mover.AdmitSize(part->size())) return mover.status();
      parts[i].assign(part->data(), part->size());
      for (int d = shape.rank() - 1; d >= 0; --d) {
        text += text_strides[d];
        at += pos_strides[d];
        if (++index[d] < shape.dim(d)) break;
        index[d] = 0;
        text -= text_strides[d] * shape.dim(d);
        at -= pos_strides[d] * shape.dim(d);
      }
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  // By dimension of `to`, how far elements of a tensor that is broadcast to it lie apart.
  static Dims StridesWithin(const Shape& from, const Shape& to) {
    Dims strides(to.rank(), 0);
    int64_t stride = 1;
    for (int d = from.rank() - 1; d >= 0; --d) {
      if (from.dim(d) != 1) strides[d + to.rank() - from.rank()] = stride;
      stride *= from.dim(d);
    }
    return strides;
  }
};

absl::Status SubstrShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape pos, c.input(1).Intersect(c.input(2)));
  GYRE_ASSIGN_OR_RETURN(PartialShape out, shape::BroadcastShapes(c.input(0), pos));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

void RegisterSubstr(OpRegistry& ops) {
  ops.Add(
      {.schema = "Substr(input: string, pos: T, len: T) -> output: string {T: {int32, int64}; "
                 "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'}",
       .doc = "Of each string `len` bytes or characters, from `pos` on (negative: from the end).",
       .shape = SubstrShape,
       .gradient = NotDifferentiable("strings have no derivative"),
       .kernel = ForTypes<SubstrKernel, IndexTypes>("T")});
}

}  // namespace gyre
