#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "front/op_call.h"
#include "gyre/state.h"

namespace gyre::internal {
namespace {

constexpr char kPlaceholder[] = "{}";

}  // namespace

Operation Print(const Text& text, const std::vector<Operand>& values) {
  std::string format = text.text;
  if (!absl::StrContains(format, kPlaceholder)) {
    for (size_t i = 0; i < values.size(); ++i) absl::StrAppend(&format, " ", kPlaceholder);
  }
  const Value line = OpCall("StringFormat", text.where)
                         .In(values)
                         .Attr("template", format)
                         .Attr("placeholder", std::string(kPlaceholder))
                         .One();
  return OpCall("PrintV2", text.where).In(Operand(line, text.where)).Add();
}

Operation Assert(const Operand& condition, const std::string& message,
                 const std::vector<Operand>& values) {
  const std::source_location& where = condition.where();
  const Operand checked(to_value(condition), where);
  if (checked.value().dtype() != DType::kBool) {
    ThrowInvalid(absl::StrCat("the condition of assert_that must be a bool, not ",
                              DTypeName(checked.value().dtype())),
                 where);
  }
  std::vector<Value> data = {MakeConstant(Tensor::Scalar(message), where)};
  for (const Operand& value : values) data.push_back(to_value(value));
  return OpCall("Assert", where).In(checked).In(data).Add();
}

}  // namespace gyre::internal
