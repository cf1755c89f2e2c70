// StringNGrams: neighbouring texts of ragged rows, joined.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kMaxWidth = 1 << 20;

struct NGramAttrs {
  static absl::StatusOr<NGramAttrs> Make(const Node& node) {
    NGramAttrs attrs{NodeAttr<std::string>(node, "separator"),
                     NodeAttr<std::string>(node, "left_pad"),
                     NodeAttr<std::string>(node, "right_pad"),
                     NodeAttr<std::vector<int64_t>>(node, "ngram_widths"),
                     NodeAttr<int64_t>(node, "pad_width"),
                     NodeAttr<bool>(node, "preserve_short_sequences")};
    for (const int64_t width : attrs.widths) {
      if (width >= 1 && width <= kMaxWidth) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("ngram_widths must lie between 1 and ", kMaxWidth, ", but has ", width));
    }
    return attrs;
  }

  // How much padding there is on each side.
  int64_t Pad(int64_t width) const {
    return pad_width < 0 ? width - 1 : std::min(pad_width, width - 1);
  }
  int64_t Count(int64_t length, int64_t width) const {
    return std::max<int64_t>(0, length + 2 * Pad(width) - width + 1);
  }
  bool KeepsWhole(int64_t length, int64_t count) const {
    return keeps_short && count == 0 && length > 0;
  }
  int64_t CountAll(int64_t length) const {
    int64_t n = 0;
    for (const int64_t width : widths) n += Count(length, width);
    return KeepsWhole(length, n) ? 1 : n;
  }

  std::string separator, left_pad, right_pad;
  std::vector<int64_t> widths;
  int64_t pad_width;
  bool keeps_short;
};

// Part of a row with padding around it.
struct NGram {
  int64_t left, begin, tokens, right;
};

// `i` of `count` n-grams.
NGram Part(int64_t pad, int64_t width, int64_t i, int64_t count) {
  const int64_t left = std::max<int64_t>(0, pad - i);
  const int64_t right = std::max<int64_t>(0, pad - (count - (i + 1)));
  return {left, left > 0 ? 0 : i - pad, std::max<int64_t>(0, width - left - right), right};
}

class Writer {
 public:
  Writer(const KernelContext& ctx, const NGramAttrs& attrs, Tensor& out)
      : ctx_(ctx),
        attrs_(attrs),
        mover_(ctx, out),
        next_(out.mutable_values<std::string>().data()) {}

  absl::Status Write(const std::string* row, const NGram& part) {
    const int64_t pieces = part.left + part.tokens + part.right;
    size_t size = attrs_.separator.size() * static_cast<size_t>(std::max<int64_t>(0, pieces - 1)) +
                  attrs_.left_pad.size() * static_cast<size_t>(part.left) +
                  attrs_.right_pad.size() * static_cast<size_t>(part.right);
    for (int64_t i = 0; i < part.tokens; ++i) size += row[part.begin + i].size();
    if (!mover_.AdmitSize(size)) return mover_.status();
    std::string& out = *next_++;
    out.reserve(size);
    int64_t piece = 0;
    const auto add = [&](const std::string& text) {
      if (piece++ > 0) out += attrs_.separator;
      out += text;
    };
    for (int64_t i = 0; i < part.left; ++i) add(attrs_.left_pad);
    for (int64_t i = 0; i < part.tokens; ++i) add(row[part.begin + i]);
    for (int64_t i = 0; i < part.right; ++i) add(attrs_.right_pad);
    work_ += pieces + 1;
    if (work_ < 4096) return absl::OkStatus();
    work_ = 0;
    return ctx_.Poll();
  }

 private:
  const KernelContext& ctx_;
  const NGramAttrs& attrs_;
  Mover<std::string> mover_;
  std::string* next_;
  int64_t work_ = 0;
};

template <typename T>
absl::Status CheckSplits(absl::Span<const T> splits, int64_t size) {
  if (splits.empty()) {
    return absl::InvalidArgumentError("data_splits must have an element at least");
  }
  if (splits[0] != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("data_splits must begin with 0, not ", splits[0]));
  }
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1] || splits[i] > size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data_splits[", i, "] = ", splits[i], " is not in [", splits[i - 1], ", ", size, "]"));
    }
  }
  if (splits.back() != size) {
    return absl::InvalidArgumentError(absl::StrCat("data_splits must end with the size of data, ",
                                                   size, ", not ", splits.back()));
  }
  return absl::OkStatus();
}

template <typename T>
struct NGramKernel {
  static absl::Status Run(KernelContext& ctx, const NGramAttrs& attrs) {
    for (const int i : {0, 1}) {
      if (ctx.input(i).rank() == 1) continue;
      return absl::InvalidArgumentError(absl::StrCat(i == 0 ? "data" : "data_splits",
                                                     " must be a vector, but its shape is ",
                                                     ctx.input(i).shape().ToString()));
    }
    const std::string* data = ctx.input(0).values<std::string>().data();
    const absl::Span<const T> splits = ctx.input(1).values<T>();
    // Without any row, there may be no splits either.
    const bool is_empty = splits.empty() && ctx.input(0).num_elements() == 0;
    if (!is_empty) GYRE_RETURN_IF_ERROR(CheckSplits(splits, ctx.input(0).num_elements()));
    GYRE_ASSIGN_OR_RETURN(Tensor out_splits, ctx.Allocate(DTypeOf<T>, ctx.input(1).shape()));
    const absl::Span<T> ends = out_splits.mutable_values<T>();
    int64_t total = 0;
    if (!ends.empty()) ends[0] = 0;
    for (size_t i = 1; i < splits.size(); ++i) {
      if (i % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const std::optional<int64_t> sum =
          CheckedAdd(total, attrs.CountAll(splits[i] - splits[i - 1]));
      if (!sum || *sum > std::numeric_limits<T>::max()) {
        return absl::InvalidArgumentError("there are more n-grams than can be counted");
      }
      total = *sum;
      ends[i] = static_cast<T>(total);
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, Shape::Vector(total)));
    Writer writer(ctx, attrs, out);
    for (size_t i = 1; i < splits.size(); ++i) {
      const int64_t length = splits[i] - splits[i - 1];
      GYRE_RETURN_IF_ERROR(WriteRow(attrs, data + splits[i - 1], length, writer));
    }
    ctx.set_output(0, std::move(out));
    ctx.set_output(1, std::move(out_splits));
    return absl::OkStatus();
  }

 private:
  static absl::Status WriteRow(const NGramAttrs& attrs, const std::string* row, int64_t length,
                               Writer& writer) {
    int64_t written = 0;
    for (const int64_t width : attrs.widths) {
      const int64_t count = attrs.Count(length, width);
      for (int64_t i = 0; i < count; ++i) {
        GYRE_RETURN_IF_ERROR(writer.Write(row, Part(attrs.Pad(width), width, i, count)));
      }
      written += count;
    }
    if (!attrs.KeepsWhole(length, written)) return absl::OkStatus();
    // Too short for any: the row as one, with all of its padding.
    const int64_t pad = std::max<int64_t>(0, attrs.pad_width);
    return writer.Write(row, {pad, 0, length, pad});
  }
};

absl::Status NGramShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  c.set_output(0, PartialShape(Dims{-1}));
  c.set_output(1, c.input(1).has_rank() ? c.input(1) : PartialShape(Dims{-1}));
  return absl::OkStatus();
}

}  // namespace

void RegisterNgrams(OpRegistry& ops) {
  ops.Add({.schema = "StringNGrams(data: string, data_splits: Tsplits) -> ngrams: string, "
                     "ngrams_splits: Tsplits {separator: string; ngram_widths: list(int) >= 0; "
                     "left_pad: string; right_pad: string; pad_width: int; "
                     "preserve_short_sequences: bool; Tsplits: {int32, int64} = int64}",
           .doc = "Neighbouring strings of ragged rows joined to n-grams of given widths.",
           .shape = NGramShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = ForTypes<NGramKernel, IndexTypes>("Tsplits")});
}

}  // namespace gyre
