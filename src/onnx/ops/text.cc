// Texts.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

Expr Texts(NodeContext& c, const std::vector<std::string>& texts) {
  return c.b().Constant(
      Tensor::FromValues<std::string>(texts, Shape::Vector(static_cast<int64_t>(texts.size()))));
}

Expr EmptyText(NodeContext& c) { return c.b().Constant(Tensor::Scalar(std::string())); }

void StringConcat(NodeContext& c) {
  const Expr x = c.in(0), y = c.in(1);
  if (c.failed()) return;
  const Expr shape = c.op("BroadcastArgs", {DimsOf(c, x), DimsOf(c, y)});
  c.out(0, c.op("StringJoin", {c.op("BroadcastTo", {x, shape}), c.op("BroadcastTo", {y, shape})}));
}

void RegexFullMatch(NodeContext& c) {
  const Expr pattern = c.b().Constant(Tensor::Scalar(c.Text("pattern", "")));
  c.out(0, c.op("RegexFullMatch", {c.in(0), pattern}));
}

Expr Lower(NodeContext& c, const Expr& x) {
  return c.op("StringLower", {x}, {{"encoding", std::string("utf-8")}});
}
Expr Upper(NodeContext& c, const Expr& x) {
  return c.op("StringUpper", {x}, {{"encoding", std::string("utf-8")}});
}

// Without words to be left out, in other letters; of nothing, one empty text.
void StringNormalizer(NodeContext& c) {
  const Expr x = c.in(0);
  const int rank = c.Rank(x);
  if (c.failed()) return;
  if (rank != 1 && rank != 2) return c.Invalid("it takes a vector, or one in a row");
  Expr words = AsShape(c, x, {-1});
  const std::vector<std::string> left_out = c.Texts("stopwords");
  if (!left_out.empty()) {
    const bool is_sensitive = c.Int("is_case_sensitive", 0) != 0;
    Expr stop = Texts(c, left_out), compared = words;
    if (!is_sensitive) stop = Lower(c, stop), compared = Lower(c, compared);
    const Expr is_stop = c.op(
        "Any", {c.op("Equal", {Unsqueezed(c, compared, 1), Unsqueezed(c, stop, 0)}), c.b().Int(1)});
    const Expr kept = AsShape(c, c.op("Where", {c.op("LogicalNot", {is_stop})}), {-1});
    words = Taken(c, words, kept, 0);
  }
  const std::string action = c.Text("case_change_action", "NONE");
  if (action == "LOWER") words = Lower(c, words);
  if (action == "UPPER") words = Upper(c, words);
  const Expr count = Maximum(c, DimOf(c, words, 0), c.i64(1));
  const Expr padded = c.op("ConcatV2", {words, Texts(c, {""}), c.b().Int(0)});
  const Expr result = c.op("Slice", {padded, c.i64s({0}), Pack(c, {count})});
  c.out(0, rank == 2 ? Unsqueezed(c, result, 0) : result);
}

// Parts on a last axis, filled up with empty texts, and how many there are.
void StringSplit(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  const Expr dims = DimsOf(c, x);
  const Expr flat = AsShape(c, x, {-1});
  const Expr delimiter = c.b().Constant(Tensor::Scalar(c.Text("delimiter", "")));
  std::vector<Expr> parts =
      c.b().Ops("StringSplitV2", {flat, delimiter}, {{"maxsplit", c.Int("maxsplit", -1)}}, 3);
  if (c.failed()) return;
  if (c.Text("delimiter", "").empty()) {
    // Between spaces there is no empty part, but Gyre's op has one where nothing is left to split.
    const Expr kept = AsShape(c, c.op("Where", {c.op("NotEqual", {parts[1], EmptyText(c)})}), {-1});
    parts[0] = Taken(c, parts[0], kept, 0);
    parts[1] = Taken(c, parts[1], kept, 0);
  }
  const Expr rows = Taken(c, parts[0], c.b().Int(0), 1), size = DimOf(c, flat, 0);
  const Expr counts = c.op("UnsortedSegmentSum", {c.op("OnesLike", {rows}), rows, size});
  const Expr width =
      Reduced(c, "Max", c.op("ConcatV2", {counts, c.i64s({0}), c.b().Int(0)}), {0}, false);
  const Expr empty = c.op("Fill", {Pack(c, {size, width}), EmptyText(c)});
  const Expr filled = c.op("TensorScatterUpdate", {empty, parts[0], parts[1]});
  c.out(0, c.op("Reshape", {filled, c.op("ConcatV2", {dims, Pack(c, {width}), c.b().Int(0)})}));
  c.out(1, c.op("Reshape", {counts, dims}));
}

}  // namespace

void AddTextOps(OpTable& t) {
  t.Add("RegexFullMatch", RegexFullMatch);
  t.Add("StringConcat", StringConcat);
  t.Add("StringNormalizer", StringNormalizer);
  t.Add("StringSplit", StringSplit);
}

}  // namespace gyre::onnx
