// `gyre ops`: what operations there are, and everything that is registered of one.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "ir/attr_kind.h"
#include "ops/families.h"
#include "ops/functions/registry.h"
#include "ops/registry.h"

namespace gyre::cli {
namespace {

absl::string_view EffectText(Effect effect) {
  switch (effect) {
    case Effect::kNone:
      return "none: equal inputs give equal outputs";
    case Effect::kRead:
      return "reads a resource";
    case Effect::kWrite:
      return "changes a resource";
    case Effect::kAllocate:
      return "makes a fresh resource of the run";
    case Effect::kRandom:
      return "draws random numbers";
    case Effect::kIo:
      return "acts on the world outside; always kept, in order";
  }
  return "";
}

// "x: T", "xs: N times T", "any: any number, of types Tin".
std::string ArgText(const ArgDef& arg) {
  std::string type = !arg.type_attr.empty() ? arg.type_attr
                     : !arg.type_list_attr.empty()
                         ? absl::StrCat("any number, of types ", arg.type_list_attr)
                         : std::string(DTypeName(arg.dtype));
  if (arg.is_ref) type = absl::StrCat("reference to ", type);
  if (!arg.number_attr.empty()) type = absl::StrCat(arg.number_attr, " times ", type);
  return absl::StrCat(arg.name, ": ", type);
}

std::string AttrText(const AttrDef& attr) {
  std::string text =
      absl::StrCat(attr.name, ": ", attr.is_list ? "list of " : "", AttrKindName(attr.kind));
  if (attr.minimum)
    absl::StrAppend(&text, ", ", attr.is_list ? "length " : "", "at least ", *attr.minimum);
  if (!attr.allowed_types.empty()) {
    absl::StrAppend(&text, ", one of ",
                    absl::StrJoin(attr.allowed_types, " ", [](std::string* out, DType dtype) {
                      absl::StrAppend(out, DTypeName(dtype));
                    }));
  }
  if (!attr.allowed_strings.empty()) {
    absl::StrAppend(&text, ", one of '", absl::StrJoin(attr.allowed_strings, "' '"), "'");
  }
  if (attr.default_value) absl::StrAppend(&text, ", default ", AttrToString(*attr.default_value));
  return text;
}

// Control flow has no rules: the gradient of a program is made of its structure (src/grad).
std::string GradientText(const OpDef& op) {
  if (!op.gradient.not_differentiable.empty())
    return absl::StrCat("none: ", op.gradient.not_differentiable);
  if (op.gradient.rule != nullptr) return "has a rule";
  if (IsStructured(op.kind)) return "through the functions that it calls";
  if (IsPrimitive(op.kind)) return "as part of the loop or conditional that it is raised to";
  if (op.kind == OpKind::kSymbolicGradient) return "as the gradient that it stands for";
  return "as part of the function whose argument or result it is";
}

std::string TraitsText(const OpTraits& traits) {
  std::vector<absl::string_view> words;
  if (traits.elementwise) words.push_back("elementwise");
  if (traits.commutative) words.push_back("commutative");
  if (traits.aggregate) words.push_back("aggregate");
  if (traits.allows_uninitialized_input) words.push_back("takes an uninitialised variable");
  return absl::StrJoin(words, ", ");
}

// The functions of C++ and Python that are this op.
std::string FunctionsText(const OpDef& op) {
  std::vector<std::string> names = Ops().PublicNames(op.name);
  for (const PublicFunction* function : Functions().All()) {
    if (function->op == op.name)
      names.insert(names.end(), function->names.begin(), function->names.end());
  }
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "gyre.", name);
  });
}

void PrintOp(const OpRegistry& ops, const OpDef& op, std::ostream& out) {
  out << FormatOpSchema(op) << "\n\n" << op.doc << "\n\n";
  for (const ArgDef& arg : op.inputs) out << "  input      " << ArgText(arg) << "\n";
  for (const ArgDef& arg : op.outputs) out << "  output     " << ArgText(arg) << "\n";
  for (const AttrDef& attr : op.attrs) out << "  attribute  " << AttrText(attr) << "\n";
  if (const std::string functions = FunctionsText(op); !functions.empty())
    out << "  functions  " << functions << "\n";
  out << "  effect     " << EffectText(op.traits.effect) << "\n";
  if (const std::string traits = TraitsText(op.traits); !traits.empty())
    out << "  traits     " << traits << "\n";
  out << "  gradient   " << GradientText(op) << "\n";
  out << "  executed   " << (ops.HasKernel(op.name) ? "by a kernel" : "by the engines themselves")
      << "\n";
}

// Families in the order of ops/families.h, each with its ops; then plug-ins in the order in which
// they were loaded.
void PrintAll(std::ostream& out) {
  const auto print = [&](absl::string_view title, const OpRegistry& ops) {
    out << title << "\n";
    for (const OpDef* op : ops.Own()) out << "  " << op->name << ": " << op->doc << "\n";
  };
  const auto print_family = [&](absl::string_view family, void (*add)(OpRegistry&)) {
    OpRegistry ops;
    add(ops);
    print(family, ops);
  };
#define GYRE_PRINT_FAMILY(name) print_family(#name, &Register##name##Ops);
  GYRE_OP_FAMILIES(GYRE_PRINT_FAMILY)
#undef GYRE_PRINT_FAMILY
  for (const OpRegistry* part = Ops().next(); part != nullptr; part = part->next())
    print(absl::StrCat("plug-in ", part->origin()), *part);
  out << Ops().All().size() << " ops\n";
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kOpsCommand, words, 0, 1);
  if (!arguments.ok()) return Misuse(kOpsCommand, streams, arguments.status());
  if (arguments->positional().empty()) {
    PrintAll(streams.out);
    return kSuccess;
  }
  const std::string& name = arguments->positional()[0];
  if (const OpDef* op = Ops().Find(name)) {
    PrintOp(Ops(), *op, streams.out);
    return kSuccess;
  }
  std::vector<std::string> names;
  for (const OpDef* op : Ops().All()) names.push_back(op->name);
  return Misuse(
      kOpsCommand, streams,
      absl::NotFoundError(absl::StrCat("there is no op '", name, "'", DidYouMean(name, names))));
}

}  // namespace

const Command kOpsCommand = {
    "ops", "[NAME]", "Lists the operations by family, or says everything about one.", {}, "", &Run,
};

}  // namespace gyre::cli
