#include "support/large_programs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gyre::testing {
namespace {

constexpr char kHead[] = "graph {\n  %x = Placeholder() dtype=float32 shape=() : float32\n";
constexpr char kSignature[] = "(%x: float32) -> (y: float32) {\n";
constexpr char kLess[] =
    "func @less(%x: float32) -> (go: bool) {\n"
    "  %ten = Const() value=float32{10} : float32\n"
    "  %go = Less(%x, %ten) : bool\n  return %go\n}\n";
constexpr char kAddOne[] =
    "  %one = Const() value=float32{1} : float32\n  %next = AddV2(%x, %one) : float32\n";

std::string Function(absl::string_view name, int i, absl::string_view body,
                     absl::string_view result) {
  return absl::StrCat("func @", name, i, kSignature, body, "  return %", result, "\n}\n");
}

std::string Call(absl::string_view node, absl::string_view input, absl::string_view function,
                 int i) {
  return absl::StrCat("  %", node, " = PartitionedCall(%", input, ") f=@", function, i,
                      " : float32\n");
}

std::string Loop(absl::string_view node, absl::string_view input, absl::string_view body, int i) {
  return absl::StrCat("  %", node, " = StatelessWhile(%", input, ") cond=@less body=@", body, i,
                      " : float32\n");
}

// y0 … y(n-1), of which the last is called y.
std::string NameOf(int i, int n) { return i == n - 1 ? "y" : absl::StrCat("y", i); }
std::string Previous(int i) { return i == 0 ? "x" : absl::StrCat("y", i - 1); }

std::string Wide(int n) {
  std::string text = kHead;
  std::vector<std::string> inputs;
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&text, "  %n", i, " = Neg(%x) : float32\n");
    inputs.push_back(absl::StrCat("%n", i));
  }
  return absl::StrCat(text, "  %y = AddN(", absl::StrJoin(inputs, ", "), ") : float32\n}\n");
}

// Each node waits for one of its own.
std::string ControlsOfEach(int n) {
  std::string text = kHead;
  std::string last = "x";
  for (int i = 0; i < n; ++i) {
    const std::string name = i + 1 == n ? "y" : absl::StrCat("n", i);
    absl::StrAppend(&text, "  %c", i, " = NoOp()\n  %", name, " = Neg(%", last, ", ^%c", i,
                    ") : float32\n");
    last = name;
  }
  return absl::StrCat(text, "}\n");
}

std::string ControlInputs(int n) {
  std::string text = kHead;
  std::string controls;
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&text, "  %c", i, " = NoOp()\n");
    absl::StrAppend(&controls, ", ^%c", i);
  }
  return absl::StrCat(text, "  %y = Neg(%x", controls, ") : float32\n}\n");
}

// In the order in which a sorted list has most to move.
std::string Attributes(int n) {
  std::string text = absl::StrCat(kHead, "  %y = Neg(%x)");
  for (int i = 2 * n; i > n; --i) absl::StrAppend(&text, " _a", i, "=1");
  return absl::StrCat(text, " : float32\n}\n");
}

std::string LoopVariables(int n) {
  std::vector<std::string> inputs(n, "%x"), args, results, types(n, "float32"), next;
  std::string body;
  for (int i = 0; i < n; ++i) {
    args.push_back(absl::StrCat("%x", i, ": float32"));
    results.push_back(absl::StrCat("y", i, ": float32"));
    next.push_back(absl::StrCat("%n", i));
    absl::StrAppend(&body, "  %n", i, " = AddV2(%x", i, ", %one) : float32\n");
  }
  const std::string takes = absl::StrCat("(", absl::StrJoin(args, ", "), ") -> (");
  return absl::StrCat(
      kHead, "  %y = StatelessWhile(", absl::StrJoin(inputs, ", "), ") cond=@go body=@body : (",
      absl::StrJoin(types, ", "), ")\n}\nfunc @go", takes,
      "go: bool) {\n  %ten = Const() value=float32{10} : float32\n  %go = "
      "Less(%x0, %ten) : bool\n  return %go\n}\nfunc @body",
      takes, absl::StrJoin(results, ", "), ") {\n  %one = Const() value=float32{1} : float32\n",
      body, "  return ", absl::StrJoin(next, ", "), "\n}\n");
}

std::string ManyFunctions(int n) {
  std::string text = kHead;
  for (int i = 0; i < n; ++i) text += Call(NameOf(i, n), Previous(i), "f", i);
  text += "}\n";
  for (int i = 0; i < n; ++i) text += Function("f", i, "  %a = Neg(%x) : float32\n", "a");
  return text;
}

std::string WideCase(int n) {
  std::vector<std::string> branches;
  std::string functions;
  for (int i = 0; i < n; ++i) {
    branches.push_back(absl::StrCat("@f", i));
    functions += Function("f", i, "  %a = Neg(%x) : float32\n", "a");
  }
  return absl::StrCat(kHead, "  %i = Const() value=int32{3} : int32\n",
                      "  %j = Identity(%i) : int32\n  %y = StatelessCase(%j, %x) branches=[",
                      absl::StrJoin(branches, ", "), "] : float32\n}\n", functions);
}

std::string Switches(int n) {
  std::string text = absl::StrCat(kHead, "  %zero = Const() value=float32{0} : float32\n",
                                  "  %p = Greater(%x, %zero) : bool\n");
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&text, "  %s", i, " = Switch(%", Previous(i), ", %p) : (float32, float32)\n");
    absl::StrAppend(&text, "  %t", i, " = Neg(%s", i, ":1) : float32\n");
    absl::StrAppend(&text, "  %", NameOf(i, n), " = Merge(%s", i, ", %t", i,
                    ") : (float32, int32)\n");
  }
  return text + "}\n";
}

std::string NestedSwitches(int n) {
  std::string text = absl::StrCat(kHead, "  %zero = Const() value=float32{0} : float32\n");
  std::string value = "x";
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&text, "  %p", i, " = Greater(%", value, ", %zero) : bool\n");
    absl::StrAppend(&text, "  %s", i, " = Switch(%", value, ", %p", i, ") : (float32, float32)\n");
    value = absl::StrCat("s", i, ":1");
  }
  for (int i = n - 1; i >= 0; --i) {
    const std::string name = i == 0 ? "y" : absl::StrCat("m", i);
    absl::StrAppend(&text, "  %", name, " = Merge(%s", i, ", %", value, ") : (float32, int32)\n");
    value = name;
  }
  return text + "}\n";
}

// Plumbing that follows nothing but who uses it.
std::string Identities(int n) {
  std::string text = absl::StrCat(kHead, "  %one = Const() value=float32{1} : float32\n");
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&text, "  %n", i, " = Identity(%", i == 0 ? "one" : absl::StrCat("n", i - 1),
                    ") : float32\n");
  }
  return absl::StrCat(text, "  %y = AddV2(%x, %n", n - 1, ") : float32 on \"/device:CPU:1\"\n}\n");
}

// A value that n additions each use twice.
std::string Diamonds(int n) {
  std::string text = kHead;
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&text, "  %", NameOf(i, n), " = AddV2(%", Previous(i), ", %", Previous(i),
                    ") : float32\n");
  }
  return text + "}\n";
}

}  // namespace

std::string SharedCase(int n) {
  const std::vector<std::string> branches(n, "@f0");
  return absl::StrCat(kHead, "  %i = Const() value=int32{3} : int32\n",
                      "  %j = Identity(%i) : int32\n  %y = StatelessCase(%j, %x) branches=[",
                      absl::StrJoin(branches, ", "), "] : float32\n}\n",
                      Function("f", 0, "  %a = Neg(%x) : float32\n", "a"));
}

std::string LoopsInARow(int n) {
  std::string text = kHead;
  for (int i = 0; i < n; ++i) text += Loop(NameOf(i, n), Previous(i), "body", 0);
  return absl::StrCat(text, "}\n", kLess, Function("body", 0, kAddOne, "next"));
}

std::string CallsTwice(int n) {
  std::string text = absl::StrCat(kHead, Call("y", "x", "f", 0), "}\n");
  for (int i = 0; i < n; ++i) {
    text +=
        Function("f", i, absl::StrCat(Call("a", "x", "f", i + 1), Call("b", "a", "f", i + 1)), "b");
  }
  return text + Function("f", n, "  %a = Neg(%x) : float32\n", "a");
}

std::string SharedBranches(int n) {
  std::string text = absl::StrCat(kHead, Call("y", "x", "f", 0), "}\n");
  for (int i = 0; i < n; ++i) {
    const std::string branch = absl::StrCat("@f", i + 1);
    text += Function("f", i,
                     absl::StrCat("  %zero = Const() value=float32{0} : float32\n"
                                  "  %p = Greater(%x, %zero) : bool\n"
                                  "  %m = Neg(%x) : float32\n"
                                  "  %a = StatelessIf(%p, %m) then_branch=",
                                  branch, " else_branch=", branch, " : float32\n"),
                     "a");
  }
  return text + Function("f", n, "  %a = Neg(%x) : float32\n", "a");
}

std::string LoopsTwice(int n) {
  std::string text = absl::StrCat(kHead, Loop("y", "x", "body", 0), "}\n", kLess);
  for (int i = 0; i < n; ++i) {
    text += Function(
        "body", i,
        absl::StrCat(kAddOne, Loop("v", "next", "body", i + 1), Loop("w", "v", "body", i + 1)),
        "w");
  }
  return text + Function("body", n, kAddOne, "next");
}

std::string NestedLoops(int n) {
  std::string text = absl::StrCat(kHead, Loop("y", "x", "body", 0), "}\n", kLess);
  for (int i = 0; i < n; ++i)
    text += Function("body", i, absl::StrCat(kAddOne, Loop("w", "next", "body", i + 1)), "w");
  return text + Function("body", n, kAddOne, "next");
}

std::string DeepCalls(int n) {
  std::string text = absl::StrCat(kHead, Call("y", "x", "f", 0), "}\n");
  for (int i = 0; i < n; ++i) text += Function("f", i, Call("a", "x", "f", i + 1), "a");
  return text + Function("f", n, "  %a = Neg(%x) : float32\n", "a");
}

std::string Chain(int n) {
  std::string text = kHead;
  for (int i = 0; i < n; ++i)
    absl::StrAppend(&text, "  %", NameOf(i, n), " = Neg(%", Previous(i), ") : float32\n");
  return text + "}\n";
}

const std::vector<LargeProgram>& LargePrograms() {
  static const auto* const programs = new std::vector<LargeProgram>{
      {.name = "Chain", .text = &Chain},
      {.name = "Wide", .text = &Wide},
      {.name = "ControlInputs", .text = &ControlInputs},
      {.name = "ControlsOfEach", .text = &ControlsOfEach, .n = 8000},
      {.name = "Attributes", .text = &Attributes},
      {.name = "Identities", .text = &Identities, .n = 500},
      {.name = "Diamonds", .text = &Diamonds},
      {.name = "LoopVariables", .text = &LoopVariables, .n = 600},
      {.name = "LoopsInARow", .text = &LoopsInARow, .n = 100},
      {.name = "NestedLoops", .text = &NestedLoops, .n = 80, .is_nested = true},
      {.name = "DeepCalls", .text = &DeepCalls, .n = 200, .is_nested = true},
      {.name = "ManyFunctions", .text = &ManyFunctions, .n = 300},
      {.name = "WideCase", .text = &WideCase, .n = 400},
      {.name = "SharedCase", .text = &SharedCase, .n = 500},
      {.name = "Switches", .text = &Switches, .n = 200},
      {.name = "NestedSwitches", .text = &NestedSwitches, .n = 20, .is_nested = true},
      {.name = "CallsTwice", .text = &CallsTwice, .n = 100},
      {.name = "SharedBranches", .text = &SharedBranches, .n = 100},
      {.name = "LoopsTwice", .text = &LoopsTwice, .n = 100, .is_nested = true},
  };
  return *programs;
}

}  // namespace gyre::testing
