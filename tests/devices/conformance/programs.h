// Programs whose values lie in a device's memory, wherever it need not compute: equal to the same
// on one CPU.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "devices/conformance/device.h"
#include "support/run_text.h"

namespace gyre::testing {

// In a program's text, DEV is the device.
class DevicePrograms : public DeviceConformance {
 protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    if (IsSkipped()) return;
    // The last device of the set is the one that is tested.
    const bool is_cpu = type_->name == "CPU";
    devices_ = is_cpu ? "cpu:2" : absl::StrCat("cpu:1,", absl::AsciiStrToLower(type_->name), ":1");
    name_ = absl::StrCat("device:", type_->name, ":", is_cpu ? 1 : 0);
    const auto name = DeviceName::Parse(absl::StrCat("/", name_));
    device_ = *LocalDevice(*name);
    before_ = device_->memory().bytes_in_use;
  }
  // Nothing is left of the sessions.
  void TearDown() override {
    if (device_ == nullptr) return;
    for (const StreamUse use : {StreamUse::kCompute, StreamUse::kToDevice, StreamUse::kToHost})
      EXPECT_TRUE(device_->stream(use).Record()->Wait().ok());
    EXPECT_EQ(device_->memory().bytes_in_use, before_);
  }

  std::unique_ptr<Session> OnDevice(const std::string& text, SessionOptions options = {}) const {
    options.devices = devices_;
    return SessionFor(absl::StrReplaceAll(text, {{"DEV", absl::StrCat("/", name_)}}), options);
  }

  // The same results there as on one CPU, whatever the window; and values have been there.
  void ExpectEqual(const std::string& text, const std::vector<Feeds>& runs,
                   const std::vector<std::string>& fetches, SessionOptions options = {}) const {
    const auto plain = SessionFor(absl::StrReplaceAll(text, {{"DEV", ""}}), options);
    ASSERT_NE(plain, nullptr);
    const int64_t allocations = device_->memory().num_allocations;
    for (const int window : {0, 1, 32}) {
      options.parallel.window = window;
      const auto session = OnDevice(text, options);
      ASSERT_NE(session, nullptr);
      for (const Feeds& feeds : runs) {
        const auto want = plain->Run(feeds, fetches);
        const auto got = session->Run(feeds, fetches);
        ASSERT_TRUE(want.ok()) << want.status();
        ASSERT_TRUE(got.ok()) << got.status();
        for (size_t i = 0; i < fetches.size(); ++i) {
          EXPECT_EQ((*got)[i].device(), nullptr);
          EXPECT_TRUE(SameBytes((*want)[i], (*got)[i])) << fetches[i] << ", window " << window;
        }
      }
    }
    if (type_->is_discrete) {
      EXPECT_GT(device_->memory().num_allocations, allocations) << "nothing was on the device";
    }
  }

  std::string devices_, name_;
  Device* device_ = nullptr;
  int64_t before_ = 0;
};

}  // namespace gyre::testing
