// Names of devices: in full, in part, and what they have in common.
#include "devices/device_name.h"

#include "absl/strings/str_cat.h"
#include "devices/device_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gyre {
namespace {

using testing::HasSubstr;

DeviceName Name(const std::string& text) {
  const auto name = DeviceName::Parse(text);
  EXPECT_TRUE(name.ok()) << name.status();
  return name.value_or(DeviceName());
}

TEST(DeviceName, ReadsWhatProgramsWrite) {
  const DeviceName full = Name("/job:worker/replica:0/task:1/device:CPU:2");
  EXPECT_TRUE(full.IsFull());
  EXPECT_EQ(full.job, "worker");
  EXPECT_EQ(full.task, 1);
  EXPECT_EQ(full.type, "CPU");
  EXPECT_EQ(full.id, 2);
  EXPECT_EQ(full.ToString(), "/job:worker/replica:0/task:1/device:CPU:2");
  for (const char* text : {"/cpu:1", "CPU:1", "cpu:1", "/device:CPU:1", "/device:cpu:1"})
    EXPECT_EQ(Name(text).ToString(), "/device:CPU:1") << text;
  EXPECT_EQ(Name("/device:GPU:*").ToString(), "/device:GPU");
  EXPECT_EQ(Name("/job:ps").ToString(), "/job:ps");
  EXPECT_EQ(Name("/job:*/task:3").ToString(), "/task:3");
  EXPECT_EQ(Name("").ToString(), "/");
  EXPECT_FALSE(Name("").IsFull());
}

TEST(DeviceName, SaysWhatIsNone) {
  for (const char* text : {"/job:", "/task:x", "/task:-1", "/device:CPU:one", "//", "/3",
                           "/job:a b", "/replica:99999999999999", "/device:"}) {
    const auto name = DeviceName::Parse(text);
    ASSERT_FALSE(name.ok()) << text << " is " << name->ToString();
    EXPECT_THAT(std::string(name.status().message()), HasSubstr(absl::StrCat("\"", text, "\"")));
  }
}

TEST(DeviceName, MatchesDevicesThatHaveItsParts) {
  const DeviceName device = DeviceName::Local("CPU", 1);
  for (const char* text : {"", "/cpu:1", "/device:CPU:*", "/job:localhost", "/task:0/cpu:1"})
    EXPECT_TRUE(Name(text).Matches(device)) << text;
  for (const char* text : {"/cpu:0", "/gpu:1", "/job:worker", "/task:1/cpu:1"})
    EXPECT_FALSE(Name(text).Matches(device)) << text;
}

TEST(DeviceName, HasTheJoinedPartsOfTwo) {
  EXPECT_EQ(Name("/job:ps").Intersect(Name("/cpu:1"))->ToString(), "/job:ps/device:CPU:1");
  EXPECT_EQ(Name("/cpu:1").Intersect(Name("/cpu:1"))->ToString(), "/device:CPU:1");
  const auto none = Name("/job:ps/cpu:0").Intersect(Name("/cpu:1"));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("/job:ps/device:CPU:0 and /device:CPU:1"));
}

TEST(DeviceSet, IsSoManyOfOneType) {
  const auto two = ParseDeviceSet("cpu:2");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[1].ToString(), "/job:localhost/replica:0/task:0/device:CPU:1");
  for (const char* text : {"", "cpu", "cpu:0", "cpu:-1", "cpu:x", "tpu:2", "cpu:5000"})
    EXPECT_FALSE(ParseDeviceSet(text).ok()) << text;
}

}  // namespace
}  // namespace gyre
