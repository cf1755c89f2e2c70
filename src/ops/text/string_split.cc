// StringSplit and StringSplitV2: the parts of texts, as a sparse tensor with a row for each text.
#include <algorithm>
#include <deque>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/map_texts.h"

namespace gyre {
namespace {

// Grows without moving what is there.
using Parts = std::deque<absl::string_view>;

// At each of the characters `separators`; at none of them, into its bytes.
void SplitAtAny(absl::string_view text, absl::string_view separators, bool skip_empty,
                Parts& parts) {
  if (separators.empty()) {
    for (size_t i = 0; i < text.size(); ++i) parts.push_back(text.substr(i, 1));
    return;
  }
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin || !skip_empty) parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return;
    begin = end + 1;
  }
}

// As Python's str.split; of `limit` parts, the rest is one more. `limit` < 0: as many as there are.
void SplitAtSpace(absl::string_view text, int64_t limit, Parts& parts) {
  text = absl::StripLeadingAsciiWhitespace(text);
  for (int64_t n = 0; !text.empty();) {
    const auto end = std::find_if(text.begin(), text.end(), [](char c) {
      return absl::ascii_isspace(static_cast<unsigned char>(c));
    });
    const auto size = static_cast<size_t>(end - text.begin());
    parts.push_back(text.substr(0, size));
    text = absl::StripLeadingAsciiWhitespace(text.substr(size));
    if (++n == limit) {
      parts.push_back(text);
      return;
    }
  }
}

void SplitAt(absl::string_view text, absl::string_view separator, int64_t limit, Parts& parts) {
  for (int64_t n = 1;; ++n) {
    const size_t end = text.find(separator);
    if (end == absl::string_view::npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
    if (n == limit) break;
  }
  parts.push_back(text);
}

absl::Status CheckInputs(const KernelContext& ctx, absl::string_view separator) {
  if (ctx.input(0).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must be a vector, but its shape is ", ctx.input(0).shape().ToString()));
  }
  if (ctx.input(1).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        separator, " must be a scalar, but its shape is ", ctx.input(1).shape().ToString()));
  }
  return absl::OkStatus();
}

// `split(text, parts)` appends the parts of a text.
template <typename Split>
absl::Status SplitAll(KernelContext& ctx, const Split& split) {
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  Parts parts;
  std::vector<int64_t> ends;
  ends.reserve(texts.size());
  int64_t longest = 0;
  for (const std::string& text : texts) {
    if (ends.size() % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const auto begin = static_cast<int64_t>(parts.size());
    split(text, parts);
    ends.push_back(static_cast<int64_t>(parts.size()));
    longest = std::max(longest, ends.back() - begin);
  }
  const auto n = static_cast<int64_t>(parts.size());
  GYRE_ASSIGN_OR_RETURN(const Shape indices_shape, Shape::Make({n, 2}));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, indices_shape));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DType::kString, Shape::Vector(n)));
  int64_t* index = indices.mutable_values<int64_t>().data();
  std::string* value = values.mutable_values<std::string>().data();
  Mover<std::string> mover(ctx, values);
  int64_t at = 0;
  for (size_t row = 0; row < ends.size(); ++row) {
    for (int64_t column = 0; at < ends[row]; ++column, ++at) {
      if (at % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      *index++ = static_cast<int64_t>(row);
      *index++ = column;
      if (!mover.AdmitSize(parts[at].size())) return mover.status();
      value[at].assign(parts[at].data(), parts[at].size());
    }
  }
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, Tensor::Vector<int64_t>({static_cast<int64_t>(texts.size()), longest}));
  return absl::OkStatus();
}

struct SplitAttrs {
  explicit SplitAttrs(const Node& node) : skip_empty(NodeAttr<bool>(node, "skip_empty")) {}
  bool skip_empty;
};

absl::Status Split(KernelContext& ctx, const SplitAttrs& attrs) {
  GYRE_RETURN_IF_ERROR(CheckInputs(ctx, "delimiter"));
  const std::string& separators = ctx.input(1).scalar<std::string>();
  return SplitAll(ctx, [&](const std::string& text, Parts& parts) {
    SplitAtAny(text, separators, attrs.skip_empty, parts);
  });
}

struct SplitV2Attrs {
  explicit SplitV2Attrs(const Node& node) : limit(NodeAttr<int64_t>(node, "maxsplit")) {}
  int64_t limit;
};

absl::Status SplitV2(KernelContext& ctx, const SplitV2Attrs& attrs) {
  GYRE_RETURN_IF_ERROR(CheckInputs(ctx, "sep"));
  const std::string& separator = ctx.input(1).scalar<std::string>();
  return SplitAll(ctx, [&](const std::string& text, Parts& parts) {
    if (attrs.limit == 0) {
      parts.push_back(text);
    } else if (separator.empty()) {
      SplitAtSpace(text, attrs.limit, parts);
    } else {
      SplitAt(text, separator, attrs.limit, parts);
    }
  });
}

absl::Status SplitShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  c.set_output(0, PartialShape(Dims{-1, 2}));
  c.set_output(1, PartialShape(Dims{-1}));
  c.set_output(2, PartialShape(Dims{2}));
  return absl::OkStatus();
}

}  // namespace

void RegisterStringSplit(OpRegistry& ops) {
  ops.Add({.schema = "StringSplit(input: string, delimiter: string) -> indices: int64, values: "
                     "string, shape: int64 {skip_empty: bool = true}",
           .doc = "The parts of strings between any of the characters of `delimiter`, sparse.",
           .shape = SplitShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = Compute<&Split>()});
  ops.Add({.schema = "StringSplitV2(input: string, sep: string) -> indices: int64, values: string, "
                     "shape: int64 {maxsplit: int = -1}",
           .doc = "The parts of strings between separators (empty: white space), sparse.",
           .shape = SplitShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = Compute<&SplitV2>()});
}

}  // namespace gyre
