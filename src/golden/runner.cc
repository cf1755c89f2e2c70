#include "golden/runner.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/env.h"
#include "golden/as_onnx.h"
#include "golden/compare.h"
#include "golden/gradient.h"
#include "golden/model.h"
#include "golden/strict_load.h"
#include "saved_model/graph_or_model.h"

namespace gyre::golden {
namespace {

// How much later than its deadline a run may end.
constexpr int64_t kGraceMs = 5000;
constexpr int64_t kNanosPerMs = 1000000;

// What was wrong, in a sentence; nullopt when all was as wanted.
using Complaint = std::optional<std::string>;

std::string Show(const absl::Status& status) {
  if (status.ok()) return "it succeeded";
  return absl::StrCat("got ", absl::StatusCodeToString(status.code()), " (", status.message(), ")");
}

Complaint CheckError(const absl::Status& got, const ExpectedError& want) {
  std::string wanted = absl::StatusCodeToString(want.code);
  const bool has_alternative =
      want.alternative_code != absl::StatusCode::kOk && want.alternative_code != want.code;
  if (has_alternative)
    absl::StrAppend(&wanted, " or ", absl::StatusCodeToString(want.alternative_code));
  const bool is_wanted =
      got.code() == want.code || (has_alternative && got.code() == want.alternative_code);
  if (!is_wanted) return absl::StrCat(Show(got), ", want ", wanted);
  const std::string message = absl::AsciiStrToLower(std::string(got.message()));
  if (absl::StrContains(message, absl::AsciiStrToLower(want.message_contains))) return std::nullopt;
  return absl::StrCat(Show(got), ", want a message with '", want.message_contains, "'");
}

Complaint CheckValues(const Step& step, const std::vector<Tensor>& got) {
  if (got.size() != step.expect.size()) {
    return absl::StrCat("got ", got.size(), " values for ", step.expect.size(), " fetches");
  }
  std::vector<std::string> complaints;
  for (size_t i = 0; i < got.size(); ++i) {
    if (const auto difference = Difference(got[i], step.expect[i], step.tolerance)) {
      complaints.push_back(absl::StrCat(step.fetches[i], " ", *difference));
    }
  }
  if (complaints.empty()) return std::nullopt;
  return absl::StrJoin(complaints, "; ");
}

absl::StatusOr<std::vector<Tensor>> RunStep(const Step& step, const GraphOrModel& loaded,
                                            const RunOptions& options) {
  if (step.signature.empty())
    return loaded.session().Run(step.feeds, step.fetches, step.targets, options);
  return RunBySignature(step, *loaded.model, options);
}

Complaint CheckStep(const Case& golden, size_t number, const CheckOptions& options,
                    const GraphOrModel& loaded) {
  const Step& step = golden.steps[number];
  RunOptions run;
  run.timeout_ms = step.timeout_ms > 0 ? step.timeout_ms : options.timeout_ms;
  const int64_t start = SystemClock().NowNanos();
  const auto results = options.as_onnx
                           ? RunAsOnnx(golden, number, loaded, run, options.onnx_folder)
                           : RunStep(step, loaded, run);
  const int64_t elapsed_ms = (SystemClock().NowNanos() - start) / kNanosPerMs;
  if (run.timeout_ms > 0 && elapsed_ms > run.timeout_ms + kGraceMs) {
    return absl::StrCat("it ended after ", elapsed_ms, " ms, its deadline was ", run.timeout_ms,
                        " ms");
  }
  if (step.error) return CheckError(results.status(), *step.error);
  if (!results.ok()) return Show(results.status());
  return CheckValues(step, *results);
}

// The reference engine takes all devices for one.
bool IsCut(const SessionOptions& session) {
  if (session.engine == EngineKind::kReference) return false;
  return session.cluster != nullptr || !session.devices.empty();
}

// Loads the graph and runs init and steps in one session, up to the first complaint.
Complaint CheckRuns(const Case& golden, const CheckOptions& options, CheckResult& result) {
  const auto loaded = LoadGraphOrModel(golden.graph_path(), {.session = options.session});
  if (!loaded.ok()) {
    if (golden.load_error) return CheckError(loaded.status(), *golden.load_error);
    return absl::StrCat("loading: ", Show(loaded.status()));
  }
  if (IsCut(options.session)) result.cuts = CountCuts(golden, loaded->session(), options.session);
  if (options.session.engine == EngineKind::kCompiled)
    result.native = CountNative(golden, loaded->session(), options.session);
  if (loaded->model != nullptr) {
    if (const Complaint complaint = CheckModel(golden, *loaded->model)) return complaint;
  }
  RunOptions run;
  run.timeout_ms = options.timeout_ms;
  for (const std::string& op : golden.init) {
    const absl::Status status = loaded->session().Run({}, {}, {op}, run).status();
    if (!status.ok()) return absl::StrCat("init ", op, ": ", Show(status));
  }
  for (size_t i = 0; i < golden.steps.size(); ++i) {
    if (const Complaint complaint = CheckStep(golden, i, options, *loaded)) {
      return absl::StrCat("step ", i, ": ", *complaint);
    }
    // Later steps find what it left.
    if (options.as_onnx) RunStep(golden.steps[i], *loaded, run).IgnoreError();
  }
  return std::nullopt;
}

CheckResult Judge(const std::string& what, const Complaint& complaint) {
  if (!complaint) return {what, Outcome::kPassed, ""};
  // Asked for in a form that it does not have (passes/raise/raise.h).
  if (absl::StrContains(*complaint, "the graph has no structured form"))
    return {what, Outcome::kSkipped, *complaint};
  if (absl::StrContains(*complaint, "no form in ONNX"))
    return {what, Outcome::kSkipped, *complaint};
  return {what, Outcome::kFailed, *complaint};
}

CheckResult CheckSteps(const Case& golden, const CheckOptions& options) {
  CheckResult seen;
  CheckResult result = Judge(golden.id(), CheckRuns(golden, options, seen));
  result.cuts = std::move(seen.cuts);
  result.native = std::move(seen.native);
  return result;
}

// A graph that must be refused: when it is loaded or, where the case has steps, by each of these.
CheckResult CheckRefusal(const Case& golden, const CheckOptions& options) {
  const ExpectedError& want = *golden.load_error;
  const absl::Status status = LoadStrictly(golden.graph_path());
  if (!status.ok()) return Judge(golden.id(), CheckError(status, want));
  if (!golden.steps.empty()) return CheckSteps(golden, options);
  if (want.optional) {
    return {golden.id(), Outcome::kSkipped, "the graph may be refused or accepted, and it loads"};
  }
  return Judge(golden.id(), absl::StrCat("the graph loads, but must be refused with ",
                                         absl::StatusCodeToString(want.code)));
}

CheckResult CheckForward(const Case& golden, const CheckOptions& options) {
  const bool wants_error =
      golden.load_error || std::any_of(golden.steps.begin(), golden.steps.end(),
                                       [](const Step& step) { return step.error.has_value(); });
  if (options.as_onnx && wants_error) return {golden.id(), Outcome::kSkipped, "it is to fail"};
  if (golden.load_error) return CheckRefusal(golden, options);
  return CheckSteps(golden, options);
}

}  // namespace

std::vector<CheckResult> RunCase(const Case& golden, const CheckOptions& options) {
  std::vector<CheckResult> results;
  const bool has_forward = !golden.steps.empty() || golden.load_error;
  if (has_forward && !options.gradients_only) {
    const int64_t start = SystemClock().NowNanos();
    results.push_back(CheckForward(golden, options));
    results.back().nanos = SystemClock().NowNanos() - start;
  }
  for (size_t i = 0; i < golden.gradients.size() && !options.as_onnx; ++i) {
    const int64_t start = SystemClock().NowNanos();
    results.push_back(Judge(absl::StrCat(golden.id(), " gradients[", i, "]"),
                            CheckGradient(golden, golden.gradients[i], options)));
    results.back().nanos = SystemClock().NowNanos() - start;
  }
  return results;
}

}  // namespace gyre::golden
