#include "onnx/write/op_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onnx/ops/pairs.h"

namespace gyre::onnx {
namespace {

void WritePair(OpWriter& w) {
  const Pair& pair = *PairOfGyre(w.node().op_name);
  w.out(0,
        pair.operands == 1 ? w.Unary(pair.onnx, w.in(0)) : w.Binary(pair.onnx, w.in(0), w.in(1)));
}

const WriteTable& Table() {
  static const WriteTable* const kTable = [] {
    auto* const table = new WriteTable();
    for (const Pair& pair : Pairs()) table->Add(pair.gyre, WritePair);
    table->Add("Less", WritePair, LoopPart::kCompares);
    table->Add("LogicalAnd", WritePair, LoopPart::kBoth);
    AddMathWriters(*table);
    AddShapeWriters(*table);
    AddIndexWriters(*table);
    AddReduceWriters(*table);
    AddMatrixWriters(*table);
    AddImageWriters(*table);
    AddGradientWriters(*table);
    AddListWriters(*table);
    AddStateWriters(*table);
    return table;
  }();
  return *kTable;
}

}  // namespace

const ModelValue& OpWriter::in(int i) {
  static const ModelValue* const kNone = new ModelValue();
  if (i < num_inputs()) return inputs_[i];
  Invalid(absl::StrCat("it has no input ", i));
  return *kNone;
}

const ModelValue& OpWriter::list(int i) {
  if (!failed() && in(i).kind != Kind::kSequence)
    Invalid(absl::StrCat("its input ", i, " is no list whose making the model shows"));
  return in(i);
}

const WriteRule* FindWriteRule(const std::string& op) {
  const auto it = Table().rules().find(op);
  return it == Table().rules().end() ? nullptr : &it->second;
}

LoopPart LoopPartOf(const Node& node) {
  const WriteRule* const rule = FindWriteRule(node.op_name);
  return rule == nullptr ? LoopPart::kOther : rule->part;
}

std::vector<std::string> WrittenOps() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : Table().rules()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gyre::onnx
