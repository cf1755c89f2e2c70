// Where nodes run: what programs ask for, what must stand together, what follows its data.
#include "place/placement.h"

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "place/cutting.h"

namespace gyre::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// "a:0 b:1": on which device each node of the main graph runs; invariants on "*".
std::string Places(const std::string& text, const std::vector<std::string>& fetches,
                   const std::string& devices = "cpu:3") {
  const CutText cut = CutFor(devices, text, fetches);
  EXPECT_TRUE(cut.cut.ok()) << cut.cut.status();
  if (!cut.cut.ok()) return "";
  std::string all;
  for (const Node& node : cut.cut->whole.function.nodes) {
    const place::DeviceIndex device = cut.cut->placement.device[node.id];
    absl::StrAppend(&all, all.empty() ? "" : " ", node.name, ":",
                    device == place::kNoDevice ? "*" : absl::StrCat(device.value()));
  }
  return all;
}

std::string ErrorOf(const std::string& text, const std::vector<std::string>& fetches,
                    const std::string& devices = "cpu:2") {
  const CutText cut = CutFor(devices, text, fetches);
  EXPECT_FALSE(cut.cut.ok());
  return std::string(cut.cut.status().message());
}

TEST(Placement, HonoursRequestsInFullAndInPart) {
  EXPECT_EQ(Places(R"(
    graph {
      %a = Placeholder() dtype=float32 shape=() on "/job:localhost/task:0/device:CPU:2"
      %b = Neg(%a) on "/cpu:1"
      %c = Neg(%b) on "/job:localhost"
      %d = Neg(%c)
    })",
                   {"d"}),
            "a:2 b:1 c:0 d:0");
}

TEST(Placement, HonoursRequestsInBodies) {
  const std::string places = Places(R"(
    graph {
      %x = Placeholder() dtype=float32 shape=()
      %p = Placeholder() dtype=bool shape=()
      %y = StatelessIf(%p, %x) then_branch=@yes else_branch=@no : float32
    }
    func @yes(%x: float32) -> (y: float32) {
      %neg = Neg(%x) : float32 on "/cpu:1"
      return %neg
    }
    func @no(%x: float32) -> (y: float32) {
      %exp = Exp(%x) : float32 on "/cpu:2"
      return %exp
    })",
                                    {"y"});
  EXPECT_THAT(places, HasSubstr("y/neg:1"));
  EXPECT_THAT(places, HasSubstr("y/exp:2"));
}

TEST(Placement, KeepsVariablesAndTheirUsersTogether) {
  EXPECT_EQ(Places(R"(
    graph {
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource on "/cpu:1"
      %read = ReadVariableOp(%v) dtype=float32 : float32
      %y = Neg(%read)
    })",
                   {"y"}),
            "v:1 read:1 y:0");
}

TEST(Placement, HonoursColocation) {
  EXPECT_EQ(Places(R"(
    graph {
      %a = Placeholder() dtype=float32 shape=() on "/cpu:2"
      %b = Neg(%a) _class=["loc:@a"]
    })",
                   {"b"}),
            "a:2 b:2");
}

TEST(Placement, LetsPlumbingAndConstantsFollowTheirData) {
  EXPECT_EQ(Places(R"(
    graph {
      %p = Const() value=bool{true} : bool
      %x = Placeholder() dtype=float32 shape=() on "/cpu:1"
      %sw = Switch(%x, %p) : (float32, float32)
      %one = Const() value=float32{1} : float32
      %t = AddV2(%sw:1, %one) on "/cpu:2"
      %y = Merge(%sw, %t)
    })",
                   {"y"}),
            "p:1 x:1 sw:1 one:2 t:2 y:2");
}

TEST(Placement, SaysWhatNoDeviceMeets) {
  EXPECT_THAT(ErrorOf("graph {\n%a = Const() value=float32{1} on \"/gpu:0\"\n}", {"a"}),
              HasSubstr("node a asks for the device /device:GPU:0, but there are only"));
  EXPECT_THAT(ErrorOf("graph {\n%a = Const() value=float32{1} on \"/what/ever\"\n}", {"a"}),
              AllOf(HasSubstr("node a"), HasSubstr("'what' is not of the form")));
  const std::string text = R"(
    graph {
      %a = Const() value=float32{1} : float32 on "/cpu:1"
      %b = Neg(%a) _class=["loc:@a"] on "/cpu:0"
    })";
  EXPECT_THAT(ErrorOf(text, {"b"}), HasSubstr("nodes a and b must stand on one device"));
  EXPECT_TRUE(CutFor("cpu:2", text, {"b"}, {.soft = true}).cut.ok());
}

// Each run of a program holds other users of a variable.
TEST(Placement, StateIsWhereItsMakerAsksForRatherThanItsUsers) {
  EXPECT_EQ(Places(R"(
    graph {
      %read = ReadVariableOp(%v) dtype=float32 : float32 on "/cpu:0"
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource on "/cpu:1"
      %y = Neg(%read) on "/cpu:2"
      %r = VariableV2() dtype=float32 shape=() on "/cpu:2"
      %more = AssignAdd(%r, %y) on "/cpu:0"
      %size = Const() value=int32{1} : int32
      %stack = StackV2(%size) elem_type=float32 : resource on "/cpu:1"
      %push = StackPushV2(%stack, %y) : float32 on "/cpu:0"
    })",
                   {"more", "push"}),
            "v:1 read:1 y:2 r:2 more:2 size:1 stack:1 push:1");
  // Makers of one state must agree.
  EXPECT_THAT(ErrorOf(R"(
    graph {
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource on "/cpu:1"
      %w = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource on "/cpu:0"
      %a = ReadVariableOp(%v) dtype=float32 : float32
      %b = ReadVariableOp(%w) dtype=float32 : float32
      %y = AddV2(%a, %b)
    })",
                      {"y"}),
              HasSubstr("nodes v and w must stand on one device"));
}

// A device must have kernels for what is placed there.
TEST(Placement, GoesByTheKernelsOfDevices) {
  const std::string devices = "null:1,cpu:1";  // the null device is 0
  const std::string text = R"(
    graph {
      %x = Placeholder() dtype=float32 shape=(2, 2)
      %a = Identity(%x) on "/null:0"
      %b = Identity(%a)
      %p = Const() value=bool{true} : bool
      %sw = Switch(%b, %p) : (float32, float32)
      %c = MatMul(%sw:1, %b)
    })";
  EXPECT_EQ(Places(text, {"c"}, devices), "x:0 a:0 b:0 p:1 sw:0 c:1");
  const std::string asks = R"(
    graph {
      %x = Placeholder() dtype=float32 shape=(2, 2) on "/null:0"
      %y = MatMul(%x, %x) on "/null:*"
    })";
  EXPECT_THAT(
      ErrorOf(asks, {"y"}, devices),
      HasSubstr("node y asks for the device /device:NULL, but there is no kernel for MatMul "
                "on NULL devices"));
  const CutText soft = CutFor(devices, asks, {"y"}, {.soft = true});
  ASSERT_TRUE(soft.cut.ok()) << soft.cut.status();
  EXPECT_EQ(soft.cut->placement.device,
            (std::vector{place::DeviceIndex(0), place::DeviceIndex(1)}));
  EXPECT_EQ(soft.cut->placement.why[1],
            "the first device with kernels for it: there is no kernel for MatMul on NULL devices");
  // Of a device of any type, the first that has one.
  EXPECT_EQ(Places(R"(
    graph {
      %x = Placeholder() dtype=float32 shape=() on "/task:0"
      %y = Neg(%x) on "/task:0"
    })",
                   {"y"}, devices),
            "x:0 y:1");
}

TEST(Placement, LeavesObjectsToTheHost) {
  const std::string devices = "cpu:1,null:1";
  EXPECT_THAT(
      ErrorOf(R"(
    graph {
      %s = Placeholder() dtype=string shape=()
      %y = Identity(%s) on "/null:0"
    })",
              {"y"}, devices),
      HasSubstr("no kernel for Identity of string on NULL devices, whose memory holds plain"));
  EXPECT_THAT(ErrorOf(R"(
    graph {
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
      %same = Identity(%v) on "/null:0"
      %y = ReadVariableOp(%same) dtype=float32 : float32
    })",
                      {"y"}, devices),
              AllOf(HasSubstr("node same asks for the device /device:NULL:0, but for node v, which "
                              "must stand with it"),
                    HasSubstr("there is no kernel for VarHandleOp on NULL devices")));
}

// Every frame without a predicate stays whole, however nodes are spread.
TEST(Placement, NeverCutsAFrameWithoutPredicate) {
  const std::string text = R"(
    graph {
      %x = Placeholder() dtype=float32 shape=()
      %in = Enter(%x) frame_name="f"
      %a = Neg(%in)
      %b = Exp(%a)
      %out = Exit(%b)
      %y = Neg(%out)
    })";
  bool cut_elsewhere = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const CutText cut = CutFor("cpu:2", text, {"y"}, {.spread_seed = seed});
    ASSERT_TRUE(cut.cut.ok()) << cut.cut.status();
    for (const place::Copy& copy : cut.cut->partition.copies) EXPECT_EQ(copy.frame, 0);
    cut_elsewhere |= !cut.cut->partition.copies.empty();
  }
  EXPECT_TRUE(cut_elsewhere);
}

}  // namespace
}  // namespace gyre::testing
