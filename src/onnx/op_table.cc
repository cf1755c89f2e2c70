#include "onnx/op_table.h"

namespace gyre::onnx {
namespace {

const OpTable& Table() {
  static const OpTable* const kTable = [] {
    auto* const table = new OpTable();
    AddPairOps(*table);
    AddMathOps(*table);
    AddActivationOps(*table);
    AddLogicOps(*table);
    AddReduceOps(*table);
    AddShapeOps(*table);
    AddIndexOps(*table);
    AddMatrixOps(*table);
    AddConvOps(*table);
    AddPoolOps(*table);
    AddPadOps(*table);
    AddNormOps(*table);
    AddControlOps(*table);
    AddSequenceOps(*table);
    AddRecurrentOps(*table);
    AddQuantizeOps(*table);
    AddRandomOps(*table);
    AddLossOps(*table);
    AddResizeOps(*table);
    AddImageOps(*table);
    AddSignalOps(*table);
    AddTextOps(*table);
    AddAttentionOps(*table);
    return table;
  }();
  return *kTable;
}

}  // namespace

OpFn FindOp(const std::string& domain, const std::string& op) {
  const auto& ops = Table().ops();
  const auto it = ops.find(domain.empty() ? op : domain + "." + op);
  return it == ops.end() ? nullptr : it->second;
}

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (const auto& [name, write] : Table().ops()) names.push_back(name);
  return names;
}

}  // namespace gyre::onnx
