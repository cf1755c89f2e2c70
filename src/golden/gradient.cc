#include "golden/gradient.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "golden/compare.h"
#include "gyre/core/session.h"
#include "session/gradient_program.h"
#include "session/names.h"

namespace gyre::golden {
namespace {

bool IsZero(const Tensor& value) {
  const absl::StatusOr<Tensor> zero = Tensor::Zeros(value.dtype(), value.shape(), {});
  return zero.ok() && !Difference(value, *zero, Tolerance());
}

// "No gradient" and zeros are the same answer.
std::optional<std::string> Compare(const std::optional<Tensor>& got, absl::string_view why_not,
                                   const std::optional<Tensor>& want, Tolerance tolerance) {
  if (got && want) return Difference(*got, *want, tolerance);
  if (got) return IsZero(*got) ? std::nullopt : std::optional<std::string>("is not zero");
  if (want && !IsZero(*want)) return absl::StrCat("is not connected: ", why_not);
  return std::nullopt;
}

struct Gradients {
  std::vector<std::optional<Tensor>> values;  // by x
  std::vector<std::string> why_not;           // by x: why there is no value
};

absl::StatusOr<Gradients> Run(const Case& golden, const Gradient& gradient,
                              const CheckOptions& options, const MemoryPolicy& memory) {
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> forward,
                        Session::Load(golden.graph_path(), options.session));
  RunOptions run;
  run.timeout_ms = options.timeout_ms;
  for (const std::string& op : golden.init)
    GYRE_RETURN_IF_ERROR(forward->Run({}, {}, {op}, run).status());
  NamedGradientRequest request{.ys = gradient.ys,
                               .xs = gradient.xs,
                               .grad_ys = gradient.grad_ys,
                               .order = gradient.order,
                               .memory = memory,
                               .feeds = NamesOf(gradient.feeds)};
  GYRE_ASSIGN_OR_RETURN(const GradientProgram made,
                        MakeGradientProgram(forward->shared_program(), request));
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, forward->WithProgram(made.program));
  Feeds feeds;
  for (size_t i = 0; i < made.feeds.size(); ++i)
    feeds.emplace_back(made.feeds[i], gradient.feeds[i].second);
  std::vector<std::string> fetches;
  for (const auto& name : made.gradients) {
    if (name) fetches.push_back(*name);
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> fetched,
                        session->Run(feeds, fetches, made.targets, run));
  Gradients found{.values = {}, .why_not = made.why_not};
  size_t next = 0;
  for (const auto& name : made.gradients)
    found.values.push_back(name ? std::optional<Tensor>(fetched[next++]) : std::nullopt);
  return found;
}

// What a memory policy has changed: of first derivatives, it may not change a bit.
std::vector<std::string> Compare(const Gradient& gradient, const Gradients& got,
                                 const Gradients& saved) {
  std::vector<std::string> complaints;
  for (size_t i = 0; i < got.values.size(); ++i) {
    const auto& [one, other] = std::tie(got.values[i], saved.values[i]);
    if (one.has_value() != other.has_value() || (one && !SameBits(*one, *other)))
      complaints.push_back(absl::StrCat("of ", gradient.xs[i], " differs from that of `save`"));
  }
  return complaints;
}

}  // namespace

std::optional<std::string> CheckGradient(const Case& golden, const Gradient& gradient,
                                         const CheckOptions& options) {
  const auto got = Run(golden, gradient, options, options.memory);
  if (!got.ok()) {
    return absl::StrCat("got ", absl::StatusCodeToString(got.status().code()), " (",
                        got.status().message(), ")");
  }
  std::vector<std::string> complaints;
  for (size_t i = 0; i < got->values.size(); ++i) {
    if (const auto wrong =
            Compare(got->values[i], got->why_not[i], gradient.expect[i], gradient.tolerance))
      complaints.push_back(absl::StrCat("of ", gradient.xs[i], " ", *wrong));
  }
  // Of higher orders, what is computed again has an adjoint of its own: sums associate otherwise.
  if (complaints.empty() && options.memory != MemoryPolicy() && gradient.order == 1) {
    const auto saved = Run(golden, gradient, options, MemoryPolicy());
    if (!saved.ok()) return absl::StrCat("under `save`: ", saved.status().message());
    complaints = Compare(gradient, *got, *saved);
  }
  if (complaints.empty()) return std::nullopt;
  return absl::StrJoin(complaints, "; ");
}

}  // namespace gyre::golden
