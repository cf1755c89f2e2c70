// The types that options are made of, and their texts.
#include "gyre/core/options.h"

#include <thread>

#include "gmock/gmock.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

TEST(Options, TypesAreReadAsTheyAreWritten) {
  for (const EngineKind engine : kEngineKinds)
    EXPECT_EQ(*ParseEngineKind(to_string(engine)), engine);
  for (const ProgramForm form : kProgramForms) EXPECT_EQ(*ParseProgramForm(to_string(form)), form);
  for (const CompileMode mode : kCompileModes) EXPECT_EQ(*ParseCompileMode(to_string(mode)), mode);
  for (const Transport transport : {Transport::kAuto, Transport::kTcp, Transport::kSharedMemory})
    EXPECT_EQ(*ParseTransport(to_string(transport)), transport);
  for (const MemoryPolicy& policy :
       {MemoryPolicy::Save(), MemoryPolicy::Recompute(7), MemoryPolicy::Checkpoint(1 << 20)})
    EXPECT_EQ(*ParseMemoryPolicy(to_string(policy)), policy);
  EXPECT_EQ(*ParseMemoryPolicy(""), MemoryPolicy());
}

TEST(Options, OtherTextsAreErrorsThatSayWhatThereIs) {
  EXPECT_THAT(
      std::string(ParseEngineKind("warp").status().message()),
      HasSubstr("there is no engine called 'warp'; there is dataflow, reference, compiled"));
  EXPECT_THAT(std::string(ParseProgramForm("").status().message()), HasSubstr("imported, raised"));
  EXPECT_THAT(std::string(ParseTransport("pigeon").status().message()),
              HasSubstr("there is auto, tcp, memory"));
  for (const char* text : {"keep", "recompute", "recompute()", "recompute(0)", "recompute(-1)",
                           "checkpoint(x)", "save(1)", "recompute(1"})
    EXPECT_EQ(ParseMemoryPolicy(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
}

TEST(Options, APolicyHasANumberOfAtLeastOne) {
  EXPECT_TRUE(CheckMemoryPolicy(MemoryPolicy::Recompute(1)).ok());
  EXPECT_FALSE(CheckMemoryPolicy(MemoryPolicy::Recompute(0)).ok());
  EXPECT_FALSE(CheckMemoryPolicy(MemoryPolicy::Checkpoint(-1)).ok());
}

TEST(Cancellation, SaysOnceThatARunIsToStop) {
  Cancellation cancellation;
  EXPECT_TRUE(cancellation.Poll().ok());
  int called = 0;
  cancellation.AddCallback([&] { ++called; });
  std::thread([&] { cancellation.Cancel(); }).join();
  cancellation.Cancel(absl::AbortedError("too late"));
  EXPECT_TRUE(cancellation.IsCancelled());
  EXPECT_EQ(cancellation.Poll().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(called, 1);
}

}  // namespace
}  // namespace gyre
