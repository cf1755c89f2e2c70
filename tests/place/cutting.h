// Placing and cutting programs that are given as text.
#pragma once

#include <string>
#include <vector>

#include "devices/device_set.h"
#include "gtest/gtest.h"
#include "ir/parse.h"
#include "place/cut_program.h"
#include "session/names.h"

namespace gyre::testing {

// The main graph of a program, cut for devices of this process.
struct CutText {
  std::shared_ptr<const Program> program;
  absl::StatusOr<place::CutProgram> cut;
};

inline CutText CutFor(const std::string& devices, const std::string& text,
                      const std::vector<std::string>& fetches,
                      const place::PlaceOptions& options = {}) {
  CutText result{Parse(text), absl::UnknownError("not cut")};
  const auto signature = MainNames(*result.program).FindSignature({}, fetches, {});
  EXPECT_TRUE(signature.ok()) << signature.status();
  if (signature.ok())
    result.cut = place::Cut(*result.program, *signature, *ParseDeviceSet(devices), options);
  return result;
}

}  // namespace gyre::testing
