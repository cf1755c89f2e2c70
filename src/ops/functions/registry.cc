#include "ops/functions/registry.h"

#include <map>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/functions/families.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using Kind = Parameter::Kind;

std::optional<Kind> KindOf(absl::string_view word) {
  static const auto* const kinds = new std::map<absl::string_view, Kind>{
      {"tensor", Kind::kTensor}, {"axes", Kind::kAxes}, {"shape", Kind::kShape},
      {"bool", Kind::kBool},     {"int", Kind::kInt},   {"ints", Kind::kInts},
      {"float", Kind::kFloat},   {"type", Kind::kType}, {"string", Kind::kString}};
  if (const auto it = kinds->find(word); it != kinds->end()) return it->second;
  const bool is_letter = word.size() == 1 && absl::ascii_isupper(word[0]);
  return is_letter ? std::optional(Kind::kTensor) : std::nullopt;
}

std::optional<PlainValue> ParseDefault(Kind kind, absl::string_view text) {
  int64_t integer;
  double number;
  if (text == "none") return PlainValue();
  if (kind == Kind::kBool && (text == "true" || text == "false")) return text == "true";
  if (kind == Kind::kString) return std::string(text == "''" ? "" : text);
  if (kind == Kind::kType) {
    const std::optional<DType> dtype = ParseDType(text);
    return dtype ? std::optional<PlainValue>(*dtype) : std::nullopt;
  }
  if (kind != Kind::kFloat && absl::SimpleAtoi(text, &integer)) return integer;
  if (kind != Kind::kInt && absl::SimpleAtod(text, &number)) return number;
  return std::nullopt;
}

// The text before a character and the one behind it, without blanks around them.
std::pair<absl::string_view, absl::string_view> Halves(absl::string_view text, char at) {
  const size_t middle = text.find(at);
  if (middle == text.npos) return {absl::StripAsciiWhitespace(text), {}};
  return {absl::StripAsciiWhitespace(text.substr(0, middle)),
          absl::StripAsciiWhitespace(text.substr(middle + 1))};
}

// "name: kind = default".
std::optional<Parameter> ParseParameter(absl::string_view text) {
  const auto [declared, fallback] = Halves(text, '=');
  auto [names, word] = Halves(declared, ':');
  const auto [name, attr] = Halves(names, '/');
  Parameter parameter;
  parameter.is_optional = absl::ConsumeSuffix(&word, "?");
  const std::optional<Kind> kind = KindOf(word);
  if (!kind || name.empty()) return std::nullopt;
  parameter.kind = *kind;
  parameter.group = word.size() == 1 ? word[0] : 0;
  parameter.name = std::string(name);
  parameter.attr = std::string(attr.empty() ? name : attr);
  if (fallback.empty()) return parameter;
  parameter.default_value = ParseDefault(*kind, fallback);
  return parameter.default_value ? std::optional(parameter) : std::nullopt;
}

absl::Status ParseSignature(absl::string_view signature, PublicFunction& function) {
  const size_t end = signature.rfind(')');
  const auto unreadable = [&](absl::string_view part) {
    return absl::InvalidArgumentError(
        absl::StrCat("signature '", signature, "' cannot be read at '", part, "'"));
  };
  if (signature.empty() || signature[0] != '(' || end == signature.npos) return unreadable("(");
  for (const absl::string_view part :
       absl::StrSplit(signature.substr(1, end - 1), ',', absl::SkipWhitespace())) {
    std::optional<Parameter> parameter = ParseParameter(part);
    if (!parameter) return unreadable(part);
    function.parameters.push_back(*std::move(parameter));
  }
  absl::string_view results = absl::StripAsciiWhitespace(signature.substr(end + 1));
  if (results.empty()) return absl::OkStatus();
  if (!absl::ConsumePrefix(&results, "->")) return unreadable(results);
  for (const absl::string_view result : absl::StrSplit(results, ','))
    function.results.emplace_back(absl::StripAsciiWhitespace(result));
  return absl::OkStatus();
}

AttrValue ToAttr(const PlainValue& value) {
  return std::visit(
      [](const auto& given) -> AttrValue {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, double>) {
          return static_cast<float>(given);
        } else {
          return given;
        }
      },
      value);
}

bool IsInput(const Parameter& parameter) {
  return parameter.kind == Kind::kTensor || parameter.kind == Kind::kAxes ||
         parameter.kind == Kind::kShape;
}

// What calls an op with these parameters.
absl::StatusOr<FormulaFn> CallOf(const OpDef& op, const std::vector<Parameter>& parameters) {
  size_t inputs = 0;
  for (const Parameter& parameter : parameters) {
    if (IsInput(parameter)) {
      ++inputs;
    } else if (op.FindAttr(parameter.attr) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.name, " has no attribute '", parameter.attr, "'"));
    }
  }
  if (inputs != op.inputs.size() || op.outputs.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signature of ", op.name, " is not that of its inputs and one output"));
  }
  return [name = op.name, parameters](FormulaContext& f) {
    std::vector<Term> tensors;
    AttrMap attrs;
    for (int i = 0; i < static_cast<int>(parameters.size()); ++i) {
      if (IsInput(parameters[i])) {
        tensors.push_back(parameters[i].kind == Kind::kAxes ? f.Axes(i, tensors[0]) : f.tensor(i));
      } else if (f.argument(i).plain.index() != 0) {
        attrs.Set(parameters[i].attr, ToAttr(f.argument(i).plain));
      }
    }
    return std::vector<Term>{f.Last(name, tensors, std::move(attrs))};
  };
}

}  // namespace

void FunctionRegistry::Add(FunctionRegistration registration) {
  PublicFunction function{.names = {registration.api.begin(), registration.api.end()},
                          .doc = std::string(registration.doc),
                          .op = std::string(registration.op),
                          .formula = std::move(registration.formula)};
  absl::Status status = ParseSignature(registration.signature, function);
  if (status.ok() && !registration.op.empty()) {
    const OpDef* const op = Ops().Find(registration.op);
    if (op == nullptr) {
      status = absl::NotFoundError(absl::StrCat("there is no op called ", registration.op));
    } else {
      absl::StatusOr<FormulaFn> call = CallOf(*op, function.parameters);
      status = call.status();
      if (call.ok()) function.formula = *std::move(call);
      if (function.doc.empty()) function.doc = op->doc;
    }
  }
  const std::string name = function.name();
  if (status.ok() && !functions_.emplace(name, std::move(function)).second)
    status = absl::AlreadyExistsError(absl::StrCat("function ", name, " is registered twice"));
  status_.Update(status);
}

std::vector<const PublicFunction*> FunctionRegistry::All() const {
  std::vector<const PublicFunction*> all;
  for (const auto& [name, function] : functions_) all.push_back(&function);
  return all;
}

const PublicFunction* FunctionRegistry::Find(absl::string_view name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second;
}

const FunctionRegistry& Functions() {
  static const FunctionRegistry* const registry = [] {
    auto* functions = new FunctionRegistry;
#define GYRE_ADD(name) Register##name##Functions(*functions);
    GYRE_FUNCTION_FAMILIES(GYRE_ADD)
#undef GYRE_ADD
    return functions;
  }();
  return *registry;
}

std::vector<int> InputOfOperands(const OpDef& op, size_t operands) {
  std::vector<int> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const size_t length = op.inputs[i].number_attr.empty() ? 1 : operands + 1 - op.inputs.size();
    inputs.insert(inputs.end(), length, static_cast<int>(i));
  }
  return inputs;
}

}  // namespace gyre
