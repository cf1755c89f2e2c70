// The recursion of many a test, as text.
#pragma once

#include <string>

#include "absl/strings/str_replace.h"

namespace gyre::testing {

// Functions of a program: down(n) = n > 0 ? down(n - 1) + 1 : n, for an integer type. As deep as n.
inline std::string DownFunctions(const std::string& type) {
  return absl::StrReplaceAll(R"(
func @down(%n: TYPE) -> (y: TYPE) {
  %zero = Const() value=TYPE{0} : TYPE
  %more = Greater(%n, %zero) : bool
  %y = StatelessIf(%more, %n) then_branch=@deeper else_branch=@bottom : TYPE
  return %y
}
func @bottom(%n: TYPE) -> (y: TYPE) {
  return %n
}
func @deeper(%n: TYPE) -> (y: TYPE) {
  %one = Const() value=TYPE{1} : TYPE
  %less = Sub(%n, %one) : TYPE
  %call = PartitionedCall(%less) f=@down : TYPE
  %y = AddV2(%call, %one) : TYPE
  return %y
}
)",
                             {{"TYPE", type}});
}

}  // namespace gyre::testing
