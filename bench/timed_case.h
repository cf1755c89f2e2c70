// TimedCase: a case made ready to be run again and again: compiled, its result checked once.
//
// Owned by one thread; a case with clients starts its own for the length of a call.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/env.h"
#include "graph.h"
#include "graphdef/export.h"
#include "gyre/core/session.h"
#include "session/names.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/format.h"
#include "workload.h"

namespace gyre::bench {

struct BenchOptions {
  EngineKind engine = EngineKind::kDataflow;
  int threads = 1;  // that a case may use, all its clients together
};

class TimedCase {
 public:
  // Ends the process when the case cannot run or gives a wrong result: that would be no fast time.
  TimedCase(const Case& what, const BenchOptions& options) : clients_(what.clients) {
    SessionOptions session_options;
    session_options.engine = options.engine;
    session_options.parallel.window = what.window;
    session_options.parallel.threads = std::max(1, options.threads / what.clients);
    if (what.configure) what.configure(session_options);
    if (what.prepare) {
      run_ = what.prepare(session_options);
      units_ = what.prepared_units;
      return;
    }
    const Workload work = what.make();
    units_ = work.units;
    if (what.as_process) {
      PrepareProcess(what, work, options);
    } else {
      PrepareSession(what, work, session_options);
    }
  }

  TimedCase(const TimedCase&) = delete;
  TimedCase& operator=(const TimedCase&) = delete;

  int64_t units() const { return units_; }

  // Runs at least `times` times, spread over the clients; the nanoseconds and the runs they took.
  std::pair<int64_t, int64_t> Time(int64_t times) const {
    const int64_t each = (times + clients_ - 1) / clients_;
    const int64_t begin = SystemClock().NowNanos();
    if (clients_ == 1) {
      for (int64_t i = 0; i < each; ++i) run_();
    } else {
      RunOnThreads(clients_, [&](int) {
        for (int64_t i = 0; i < each; ++i) run_();
      });
    }
    return {SystemClock().NowNanos() - begin, each * clients_};
  }

 private:
  void PrepareSession(const Case& what, const Workload& work, const SessionOptions& options) {
    session_ = OrDie(Session::Create(work.program, options));
    feeds_ = ValuesOf(work.feeds);
    callable_ = std::make_unique<Session::Callable>(
        OrDie(session_->Prepare(NamesOf(work.feeds), work.fetches, work.targets)));
    const std::string wrong = work.check(OrDie(callable_->Run(feeds_)));
    if (!wrong.empty()) Die(absl::StrCat(what.name, ": ", wrong));
    run_ = [this] {
      if (const auto result = callable_->Run(feeds_); !result.ok()) Die(result.status().ToString());
    };
  }

  void PrepareProcess(const Case& what, const Workload& work, const BenchOptions& options) {
    folder_ = std::make_unique<test::TempFolder>();
    const std::string graph = folder_->Write("graph.pb", OrDie(ExportGraphDef(*work.program)));
    // The shell that popen starts turns into the process: it costs half a millisecond.
    std::string command = absl::StrCat("exec ", test::BuildPath("bin/gyre"), " run ", graph);
    for (const auto& [name, value] : work.feeds)
      absl::StrAppend(&command, " --feed ", name, "=", FormatTensor(value, -1));
    absl::StrAppend(&command, " --fetch ", absl::StrJoin(work.fetches, ","));
    absl::StrAppend(&command, " --engine ", to_string(options.engine));
    // It prints the values it fetched; they must be the checked ones.
    Session& session = *(session_ = OrDie(Session::Create(work.program)));
    const std::vector<Tensor> want = OrDie(session.Run(work.feeds, work.fetches));
    if (const std::string wrong = work.check(want); !wrong.empty())
      Die(absl::StrCat(what.name, ": ", wrong));
    const std::string shown = FormatTensor(want[0], -1);
    run_ = [command, shown] {
      const std::string output = OutputOf(command);
      if (output.find(shown) == std::string::npos) Die(absl::StrCat(command, ": ", output));
    };
  }

  static std::string OutputOf(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) Die("cannot start a process");
    std::string output;
    char buffer[4096];
    while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
    if (pclose(pipe) != 0) Die(absl::StrCat(command, " failed"));
    return output;
  }

  int64_t units_ = 1;
  int clients_ = 1;
  std::unique_ptr<test::TempFolder> folder_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> callable_;
  std::vector<Tensor> feeds_;
  std::function<void()> run_;
};

}  // namespace gyre::bench
