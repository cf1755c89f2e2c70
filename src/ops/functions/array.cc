// The same elements in another form: reshaped, repeated, bordered, cut out.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

std::vector<Term> Pad(FormulaContext& f) {
  const Term x = f.tensor(0), paddings = f.tensor(1);
  const std::string mode = absl::AsciiStrToUpper(f.plain<std::string>(2));
  if (mode == "REFLECT" || mode == "SYMMETRIC")
    return {f.Last("MirrorPad", {x, paddings}, {{"mode", mode}})};
  if (mode != "CONSTANT") {
    f.builder().RefuseValue(
        absl::StrCat("mode must be CONSTANT, REFLECT or SYMMETRIC, got ", mode, "."));
  }
  if (f.is_default(3)) return {f.Last("Pad", {x, paddings})};
  return {f.Last("PadV2", {x, paddings, f.tensor(3)})};
}

std::vector<Term> Slice(FormulaContext& f) {
  const Term begin = f.tensor(1), size = f.tensor(2);
  if (begin.dtype() == size.dtype()) return {f.Last("Slice", {f.tensor(0), begin, size})};
  const Term wide_begin = f.Sizes(1, DType::kInt64);
  return {f.Last("Slice", {f.tensor(0), wide_begin, f.Sizes(2, DType::kInt64)})};
}

// Element j of the result is of source i when ends[i - 1] <= j < ends[i].
std::vector<Term> Repeat(FormulaContext& f) {
  FormulaBuilder& b = f.builder();
  Term x = f.tensor(0);
  if (!f.is_given(2)) x = Reshape(x, b.Ints({-1}));
  const auto along = static_cast<int32_t>(f.is_given(2) ? f.plain<int64_t>(2) : 0);
  const Term axis = along >= 0 ? b.Int(along) : f.op("Rank", {x}) + along;
  const Term length = f.op("GatherV2", {ShapeOf(x), axis, b.Int(0)});
  const Term repeats = Cast(f.tensor(1), DType::kInt32);
  const Term counts = f.op("BroadcastTo", {repeats, Reshape(length, b.Ints({1}))});
  const Term starts = f.op("Cumsum", {counts, b.Int(0)}) - counts;
  const Term total = f.op("Sum", {counts, b.Int(0)});
  const Term present = f.op("Where", {f.op("Greater", {counts, b.Int(0)})});
  const Term kept = Reshape(f.op("GatherV2", {starts, present, b.Int(0)}), b.Ints({-1}));
  const Term marks = f.op("UnsortedSegmentSum", {OnesLike(kept), kept, total});
  const Term picked = f.op("Cumsum", {marks, b.Int(0)}) - 1;
  const Term sources = f.op("GatherV2", {Reshape(present, b.Ints({-1})), picked, b.Int(0)});
  return {f.Last("GatherV2", {x, sources, b.Int(along)})};
}

// A slice of a vector; `stop` nullopt: to the end.
Term Part(FormulaContext& f, Term vector, int32_t start, std::optional<int32_t> stop) {
  FormulaBuilder& b = f.builder();
  return f.op("StridedSlice", {vector, b.Ints({start}), b.Ints({stop.value_or(0)}), b.Ints({1})},
              {{"end_mask", int64_t{stop ? 0 : 1}}});
}

// Throws where a mask is known to be of another shape than the dimensions from `axis` on.
void CheckMask(FormulaContext& f, const PartialShape& tensor, const PartialShape& mask, int axis) {
  if (!tensor.has_rank() || axis < 0) return;
  Dims masked;
  for (int i = axis; i < tensor.rank() && i < axis + mask.rank(); ++i)
    masked.push_back(tensor.dim(i));
  const PartialShape wanted(masked);
  if (wanted.rank() == mask.rank() && wanted.Intersect(mask).ok()) return;
  f.builder().RefuseValue(absl::StrCat("boolean_mask: the mask has shape ", mask.ToString(),
                                       ", but the dimensions of the tensor from axis ", axis,
                                       " on are ", wanted.ToString()));
}

std::vector<Term> BooleanMask(FormulaContext& f) {
  FormulaBuilder& b = f.builder();
  const Term tensor = f.tensor(0), mask = f.tensor(1);
  const auto axis = static_cast<int32_t>(f.plain<int64_t>(2));
  const PartialShape known = f.shape(mask);
  if (!known.has_rank() || known.rank() == 0)
    b.RefuseValue("boolean_mask needs a mask of known rank, and no scalar.");
  CheckMask(f, f.shape(tensor), known, axis);
  const Term shape = ShapeOf(tensor);
  // As many as the mask has: a tensor of another size cannot be reshaped.
  const Term masked = Reshape(f.op("Size", {mask}), b.Ints({1}));
  const Term before = Part(f, shape, 0, axis);
  const Term after = Part(f, shape, axis + known.rank(), std::nullopt);
  const Term flat = Reshape(tensor, f.op("ConcatV2", {before, masked, after, b.Int(0)}));
  const Term rows = Reshape(f.op("Where", {Reshape(mask, b.Ints({-1}))}), b.Ints({-1}));
  return {f.Last("GatherV2", {flat, rows, b.Int(axis)})};
}

void RegisterForms(FunctionRegistry& functions) {
  functions.Add({.signature = "(input: tensor, type: type)",
                 .doc =
                     "The same bytes as elements of another type; where sizes differ, a dimension "
                     "more or less.",
                 .api = {"bitcast"},
                 .op = "Bitcast"});
  functions.Add({.signature = "(input: tensor, axis: tensor)",
                 .doc = "A dimension of size 1 more, before `axis` (-1: at the end).",
                 .api = {"expand_dims"},
                 .op = "ExpandDims"});
  functions.Add({.signature = "(input: tensor, axis/squeeze_dims: ints = none)",
                 .doc = "Without dimensions of size 1: all, or those listed. "
                        "InvalidArgumentError if one has another size.",
                 .api = {"squeeze"},
                 .op = "Squeeze"});
  functions.Add({.signature = "(tensor: tensor, shape: shape)",
                 .doc = "The same elements in row-major order under another shape; one size may "
                        "be -1. InvalidArgumentError if the number of elements differs.",
                 .api = {"reshape"},
                 .op = "Reshape"});
}

}  // namespace

void RegisterArrayFunctions(FunctionRegistry& functions) {
  RegisterForms(functions);
  functions.Add({.signature = "(input: tensor, shape: shape)",
                 .doc = "Stretched to a shape that it broadcasts to. InvalidArgumentError if it "
                        "does not.",
                 .api = {"broadcast_to"},
                 .op = "BroadcastTo"});
  functions.Add({.signature = "(input: tensor, multiples: shape)",
                 .doc = "Repeated so many times along each dimension.",
                 .api = {"tile"},
                 .op = "Tile"});
  functions.Add({.signature = "(input: tensor, repeats: tensor, axis: int = none)",
                 .doc = "Each element along an axis so often: one number for all, or one for "
                        "each. Without axis: of the flattened input.",
                 .api = {"repeat"},
                 .formula = Repeat});
  functions.Add({.signature = "(tensor: T, paddings: tensor, mode: string = CONSTANT, "
                              "constant_values: T = 0.0)",
                 .doc = "With a border: paddings[d] = [before, after] in dimension d. Mode "
                        "\"CONSTANT\" fills it with `constant_values`, \"REFLECT\" mirrors without "
                        "the edge, \"SYMMETRIC\" with it.",
                 .api = {"pad"},
                 .formula = Pad});
  functions.Add({.signature = "(tensor: tensor, axis: shape)",
                 .doc = "Reversed along the axes listed.",
                 .api = {"reverse"},
                 .op = "ReverseV2"});
  functions.Add({.signature = "(input: tensor, seq_lengths: tensor, seq_axis/seq_dim: int, "
                              "batch_axis/batch_dim: int = 0)",
                 .doc = "Each batch element with the first seq_lengths[b] steps reversed, the "
                        "rest as it is.",
                 .api = {"reverse_sequence"},
                 .op = "ReverseSequence"});
  functions.Add({.signature = "(input_: tensor, begin: shape, size: shape)",
                 .doc = "The box of elements that starts at `begin`; a size of -1 means up to the "
                        "end.",
                 .api = {"slice"},
                 .formula = Slice});
  functions.Add({.signature = "(tensor: tensor, mask: tensor, axis: int = 0)",
                 .doc = "The elements (or slices) where `mask` is true. Its rank must be known; "
                        "its shape is that of the dimensions of `tensor` from `axis` on, which "
                        "become one. ValueError where it is known to be another.",
                 .api = {"boolean_mask"},
                 .formula = BooleanMask});
}

}  // namespace gyre
