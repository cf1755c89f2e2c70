// The command line, golden graphs and files of graphs.
#include <signal.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "gyre/graph.h"
#include "python/arrays/items.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/python.h"
#include "python/tracing/body.h"

namespace gyre::python {
namespace {

const std::source_location kNowhere;

std::vector<std::string> TextsOf(nb::handle list, absl::string_view what) {
  std::vector<std::string> texts;
  for (const nb::handle item : nb::iter(list)) texts.emplace_back(TextOf(item, what));
  return texts;
}

// While it lives, Ctrl-C ends the process, as it ends the program `gyre`.
class DefaultInterrupt {
 public:
  DefaultInterrupt() {
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGINT, &plain, &before_);
  }
  ~DefaultInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  DefaultInterrupt(const DefaultInterrupt&) = delete;
  DefaultInterrupt& operator=(const DefaultInterrupt&) = delete;

 private:
  struct sigaction before_;
};

int Cli(nb::handle args) {
  const std::vector<std::string> words = TextsOf(args, "an argument");
  const nb::object python = nb::module_::import_("sys").attr("executable");
  const cli::Streams streams{
      std::cout, std::cerr, false, {std::string(TextOf(python, "sys.executable")), "-m", "gyre"}};
  const DefaultInterrupt default_interrupt;
  const nb::gil_scoped_release release;
  const int code = cli::Main(words, streams);
  std::cout.flush();
  return code;
}

// What `gyre check` counts in its last line, and all that it says.
nb::dict CheckGolden(nb::handle folder, nb::handle args) {
  std::vector<std::string> words = {"check", std::string(TextOf(folder, "a folder"))};
  for (std::string& word : TextsOf(args, "an argument")) words.push_back(std::move(word));
  std::ostringstream out, err;
  int code = 0;
  {
    const nb::gil_scoped_release release;
    code = cli::Main(words, cli::Streams{out, err, false});
  }
  nb::dict result;
  result["code"] = code;
  result["output"] = ToStr(out.str());
  result["errors"] = ToStr(err.str());
  int passed = 0, failed = 0, skipped = 0;
  const std::string text = out.str();
  const size_t end = text.find_last_not_of('\n');
  const size_t begin = end == std::string::npos ? std::string::npos : text.rfind('\n', end);
  const char* last = text.c_str() + (begin == std::string::npos ? 0 : begin + 1);
  std::sscanf(last, "%d passed, %d failed, %d skipped", &passed, &failed, &skipped);
  result["passed"] = passed;
  result["failed"] = failed;
  result["skipped"] = skipped;
  return result;
}

nb::list ImportGraph(nb::handle path, nb::handle outputs, nb::handle inputs) {
  const auto graph = RequireGraph("import_graph");
  ImportInputs replaced;
  if (!inputs.is_none()) {
    const nb::dict entries = ItemsOfDict(inputs, "inputs");
    for (const auto& [name, value] : entries) {
      const nb::object tensor = Convert(value);
      replaced.emplace_back(TextOf(name, "a name"), Operand(ValueIn(*graph, tensor), kNowhere));
    }
  }
  return WrapAll(import_graph(std::string(TextOf(path, "a path")), TextsOf(outputs, "an output"),
                              replaced, kNowhere),
                 graph);
}

}  // namespace

void BindTools(nb::module_& m) {
  m.def("cli", &Cli, nb::arg("args"), "Runs the command line `gyre ARGS...`; its exit code.");
  m.def("check_golden", &CheckGolden, nb::arg("folder"), nb::arg("args"),
        "Runs golden graphs: how many passed, failed and were skipped.");
  m.def("import_graph", &ImportGraph, nb::arg("path"), nb::arg("outputs"),
        nb::arg("inputs") = nb::none());
}

}  // namespace gyre::python
