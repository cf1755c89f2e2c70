// Ops of strings, as they are called.
#include "ops/functions/families.h"

namespace gyre {

void RegisterTextFunctions(FunctionRegistry& functions) {
  constexpr absl::string_view kCase = "(input: tensor, encoding: string = '')";
  functions.Add({.signature = kCase,
                 .doc = "Each string with its letters of ASCII, or with encoding \"utf-8\" all "
                        "letters, in upper case.",
                 .api = {"strings.upper"},
                 .op = "StringUpper"});
  functions.Add({.signature = kCase,
                 .doc = "Each string with its letters of ASCII, or with encoding \"utf-8\" all "
                        "letters, in lower case.",
                 .api = {"strings.lower"},
                 .op = "StringLower"});
  functions.Add({.signature = "(input: tensor, out_type: type = float32)",
                 .doc = "Each string read as a number. InvalidArgumentError if it is none.",
                 .api = {"strings.to_number"},
                 .op = "StringToNumber"});
  functions.Add({.signature = "(input: tensor, precision: int = -1, scientific: bool = false, "
                              "shortest: bool = false, width: int = -1, fill: string = '')",
                 .doc = "Each element as text, by the rules of printf.",
                 .api = {"strings.as_string", "as_string"},
                 .op = "AsString"});
}

}  // namespace gyre
