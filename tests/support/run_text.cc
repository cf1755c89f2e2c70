#include "support/run_text.h"

#include "ir/text/parser.h"
#include "ops/registry.h"

namespace gyre::testing {

std::unique_ptr<Session> SessionFor(const std::string& text, const SessionOptions& options) {
  absl::StatusOr<std::shared_ptr<const Program>> program = ParseProgram(text, Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return nullptr;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(program), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

absl::Status RunStatus(Session& session, const Feeds& feeds, const std::string& fetch,
                       const RunOptions& options) {
  return session.Run(feeds, {fetch}, {}, options).status();
}

}  // namespace gyre::testing
