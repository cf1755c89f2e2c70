// Checkpoints: what is saved comes back, whatever stops the saving; what is damaged is refused.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/crc32c.h"
#include "gyre/core/session.h"
#include "support/file_faults.h"
#include "support/kill.h"
#include "support/paths.h"
#include "support/run_text.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"
#include "tensor/io/safetensors.h"

namespace gyre::testing {
namespace {

using Json = nlohmann::json;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A session of a program that names these variables: {"w", "float32", "(2,?)"}.
struct Named {
  std::string name, dtype, shape;
};
std::unique_ptr<Session> SessionOf(const std::vector<Named>& variables) {
  std::string text = "graph {\n";
  for (size_t i = 0; i < variables.size(); ++i) {
    absl::StrAppend(&text, "  %v", i, " = VarHandleOp() dtype=", variables[i].dtype,
                    " shape=", variables[i].shape, " shared_name=\"", variables[i].name,
                    "\" : resource\n");
  }
  return SessionFor(absl::StrCat(text, "}\n"));
}

Tensor Vec(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

// A session of variables w, of any length, and b, a scalar.
std::unique_ptr<Session> Model() {
  return SessionOf({{"w", "float32", "(?)"}, {"b", "float32", "()"}});
}
void Set(Session& session, const Tensor& w, float b) {
  ASSERT_TRUE(session.AssignVariables({{"w", w}, {"b", Tensor::Scalar(b)}}).ok());
}
float B(const Session& session) {
  const auto values = session.ReadVariables({"b"});
  return values.ok() && (*values)[0].has_value() ? (*values)[0].scalar<float>() : -1;
}
// What `path` holds as the model's b, or -1 where it is refused.
float Restored(const std::string& path) {
  const auto session = Model();
  return RestoreCheckpoint(*session, path).ok() ? B(*session) : -1;
}

void ExpectSays(const absl::Status& status, absl::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Checkpoint, EveryDTypeComesBack) {
  std::vector<Named> variables;
  std::vector<std::pair<std::string, Tensor>> values;
  for (int wire = 1; wire <= 23; ++wire) {
    const DType dtype = static_cast<DType>(wire);
    if (!IsTrivial(dtype)) continue;
    for (const std::string shape : {"()", "(3)", "(2,0)", "(2,3)"}) {
      const std::string name(absl::StrCat(DTypeName(dtype), "/", shape));
      variables.push_back({name, std::string(DTypeName(dtype)), shape});
      const Dims dims = shape == "()"      ? Dims{}
                        : shape == "(3)"   ? Dims{3}
                        : shape == "(2,0)" ? Dims{2, 0}
                                           : Dims{2, 3};
      Tensor value = *Tensor::Make(dtype, Shape::Trusted(dims));
      auto* bytes = static_cast<unsigned char*>(value.mutable_raw_data());
      const size_t n = DTypeSize(dtype) * static_cast<size_t>(value.num_elements());
      for (size_t i = 0; i < n; ++i)
        bytes[i] = static_cast<unsigned char>(dtype == DType::kBool ? i % 2 : 37 * i + 1);
      values.emplace_back(name, value);
    }
  }
  const TempFolder folder;
  const auto saved = SessionOf(variables), restored = SessionOf(variables);
  ASSERT_TRUE(saved->AssignVariables(values).ok());
  const absl::Status status = SaveCheckpoint(*saved, folder.Path("c"));
  ASSERT_TRUE(status.ok()) << status;
  // With the manifest, and from the file alone.
  for (const char* path : {"c", "c/variables-0.safetensors"}) {
    const auto names = RestoreCheckpoint(*restored, folder.Path(path));
    ASSERT_TRUE(names.ok()) << names.status();
    EXPECT_EQ(names->size(), values.size());
    for (const auto& [name, want] : values) {
      const Tensor got = (*restored->ReadVariables({name}))[0];
      ASSERT_EQ(got.dtype(), want.dtype()) << name;
      ASSERT_EQ(got.shape(), want.shape()) << name;
      const size_t n = DTypeSize(want.dtype()) * static_cast<size_t>(want.num_elements());
      EXPECT_EQ(std::memcmp(got.raw_data(), want.raw_data(), n), 0) << name;
    }
  }
}

// Every tensor lies at a multiple of its elements' size, as readers that map the file want.
TEST(Checkpoint, ElementsAreAligned) {
  const TempFolder folder;
  const auto session =
      SessionOf({{"a", "bool", "()"}, {"b", "float64", "()"}, {"c", "int16", "()"}});
  ASSERT_TRUE(session
                  ->AssignVariables({{"a", Tensor::Scalar(true)},
                                     {"b", Tensor::Scalar(1.0)},
                                     {"c", Tensor::Scalar<int16_t>(1)}})
                  .ok());
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path()).ok());
  const auto file = SafetensorsFile::Open(folder.Path("variables-0.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  for (const auto& [name, entry] : file->entries())
    EXPECT_EQ(entry.begin % static_cast<int64_t>(DTypeSize(entry.dtype)), 0) << name;
}

TEST(Checkpoint, TheLastOneThatWasSavedCounts) {
  const TempFolder folder;
  const auto session = Model();
  for (const float b : {1.0f, 2.0f, 3.0f}) {
    Set(*session, Vec({b, b}), b);
    ASSERT_TRUE(SaveCheckpoint(*session, folder.Path("deep/in/c")).ok());
    EXPECT_EQ(Restored(folder.Path("deep/in/c")), b);
  }
  EXPECT_THAT(FilesIn(folder.Path("deep/in/c")),
              ElementsAre("manifest.json", "variables-2.safetensors"));
}

TEST(Checkpoint, VariablesOfReferencesAndContainersAreSavedToo) {
  constexpr char kProgram[] = R"(
graph {
  %r = VariableV2() dtype=float32 shape=(2) shared_name="old" container="box" : float32&
  %one = Const() value=float32[2]{1, 2} : float32
  %init = Assign(%r, %one) : float32&
  %read = Identity(%r) : float32
}
)";
  const TempFolder folder;
  const auto session = SessionFor(kProgram), other = SessionFor(kProgram);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path()).ok());
  const auto names = RestoreCheckpoint(*other, folder.path());
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre("box/old"));
  const auto read = other->Run({}, {"read:0"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT((*read)[0].values<float>(), ElementsAre(1, 2));
}

// ---- Which variables

TEST(Checkpoint, AListOfVariablesIsSavedAndRestored) {
  const TempFolder folder;
  const auto session = Model(), other = Model();
  ASSERT_TRUE(session->AssignVariables({{"b", Tensor::Scalar(4.0f)}}).ok());
  ExpectSays(SaveCheckpoint(*session, folder.path()), absl::StatusCode::kFailedPrecondition,
             "variable 'w' has no value to save: initialize it first");
  ExpectSays(SaveCheckpoint(*session, folder.path(), {.variables = {"c"}}), kNotFound,
             "there is no variable called 'c'");
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path(), {.variables = {"b"}}).ok());
  ExpectSays(RestoreCheckpoint(*other, folder.path()).status(), kNotFound, "it has no 'w'");
  ExpectSays(RestoreCheckpoint(*other, folder.path(), {.variables = {"c"}}).status(), kNotFound,
             "there is no variable called 'c' in the program");
  EXPECT_EQ(B(*other), -1);
  ASSERT_TRUE(RestoreCheckpoint(*other, folder.path(), {.variables = {"b"}}).ok());
  EXPECT_EQ(B(*other), 4);
}

TEST(Checkpoint, WhatDoesNotFitIsListedAndChangesNothing) {
  const TempFolder folder;
  const auto session = Model();
  Set(*session, Vec({1, 2}), 3);
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path()).ok());
  const auto other = SessionOf({{"w", "float64", "(3)"}, {"b", "float32", "()"}});
  const absl::Status status = RestoreCheckpoint(*other, folder.path()).status();
  ExpectSays(status, kInvalid,
             "variable 'w' is float64[3] in the program, but float32[2] in the checkpoint");
  EXPECT_EQ(B(*other), -1);
  ExpectSays(RestoreCheckpoint(*other, folder.path(), {.partial = true}).status(), kInvalid,
             "variable 'w' is");

  const auto third = SessionOf({{"w", "float32", "(2)"}, {"c", "float32", "()"}});
  const absl::Status names = RestoreCheckpoint(*third, folder.path()).status();
  ExpectSays(names, kNotFound, "it has no 'c'");
  ExpectSays(names, kNotFound, "the program has no variable called 'b', which it holds");
  const auto partly = RestoreCheckpoint(*third, folder.path(), {.partial = true});
  ASSERT_TRUE(partly.ok()) << partly.status();
  EXPECT_THAT(*partly, ElementsAre("w"));
}

TEST(Checkpoint, WhatFilesCannotHoldIsRefusedByName) {
  const TempFolder folder;
  const auto session = SessionOf({{"s", "string", "()"}});
  ASSERT_TRUE(session->AssignVariables({{"s", Tensor::Scalar<std::string>("text")}}).ok());
  ExpectSays(SaveCheckpoint(*session, folder.path()), kInvalid,
             "variable 's' cannot be saved: files hold no elements of type string");
  ExpectSays(session->AssignVariables({{"s", Tensor::Scalar(1.0f)}}), kInvalid,
             "variable 's' takes string[], not float32[]");
}

// ---- What stops in the middle

TEST(Checkpoint, WhatWasLeftUnfinishedIsPassedOverAndRemoved) {
  const TempFolder folder;
  const auto session = Model();
  Set(*session, Vec({1}), 1);
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path()).ok());
  folder.Write("variables-1.safetensors", "half of");
  folder.Write("variables-7.safetensors", "written, but the manifest was not");
  folder.Write("manifest.json.unfinished", "{");
  folder.Write("notes.txt", "not ours");
  EXPECT_EQ(Restored(folder.path()), 1);
  Set(*session, Vec({2}), 2);
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path()).ok());
  EXPECT_EQ(Restored(folder.path()), 2);
  EXPECT_THAT(FilesIn(folder.path()),
              ElementsAre("manifest.json", "notes.txt", "variables-1.safetensors"));
}

// Files of this process grow no longer than `bytes` while it lives: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  sighandler_t handler_;
};

TEST(Checkpoint, ADiskThatIsFullAtAnyByteLeavesTheOldOrTheNew) {
  const TempFolder folder;
  const auto session = Model();
  Set(*session, Vec({1, 2, 3}), 0);
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path()).ok());
  float last = 0;
  int failures = 0, successes = 0;
  for (rlim_t bytes = 0; successes < 3; bytes += 3) {
    const float next = last + 1;
    Set(*session, Vec({next, 2, 3}), next);
    absl::Status status;
    {
      const FullDisk disk(bytes);
      status = SaveCheckpoint(*session, folder.path());
    }
    if (status.ok()) last = next;
    ++(status.ok() ? successes : failures);
    EXPECT_EQ(Restored(folder.path()), last) << status;
  }
  EXPECT_GT(failures, 50);
}

TEST(Checkpoint, WhereNothingCanBeWrittenTheOldOneStays) {
  const TempFolder folder;
  const auto session = Model();
  Set(*session, Vec({1}), 1);
  ASSERT_TRUE(SaveCheckpoint(*session, folder.Path("c")).ok());
  Set(*session, Vec({2}), 2);
  {
    const test::FileFault read_only(file_calls::Call::kWrite, EROFS);
    ExpectSays(SaveCheckpoint(*session, folder.Path("c")), absl::StatusCode::kPermissionDenied,
               "cannot write " + folder.Path("c/variables-1.safetensors") +
                   ": Read-only file system; write elsewhere");
  }
  EXPECT_EQ(Restored(folder.Path("c")), 1);
  EXPECT_THAT(FilesIn(folder.Path("c")), ElementsAre("manifest.json", "variables-0.safetensors"));
  folder.Write("file", "");
  EXPECT_FALSE(SaveCheckpoint(*session, folder.Path("file")).ok());
  EXPECT_FALSE(SaveCheckpoint(*session, folder.Path("file/c")).ok());
}

TEST(Checkpoint, AKilledWriterLeavesTheOldOrTheNewOneAndTheNextOneCleansUp) {
  const TempFolder folder(TempFolder::kInMemory);
  const auto session = Model();
  const auto save = [&](int i) {
    const auto b = static_cast<float>(i);
    Set(*session, Vec({b, b, b}), b);
    return SaveCheckpoint(*session, folder.path());
  };
  ASSERT_TRUE(save(0).ok());
  const int kills = test::KillAtRandomMoments(
      100,
      [&] {
        for (int i = 1;; ++i) {
          if (!save(i).ok()) ::_exit(1);
        }
      },
      [&] { EXPECT_GE(Restored(folder.path()), 0); });
  EXPECT_EQ(kills, 100);
  ASSERT_TRUE(save(7).ok());
  EXPECT_EQ(Restored(folder.path()), 7);
  EXPECT_THAT(FilesIn(folder.path()), ::testing::SizeIs(2));
}

TEST(Checkpoint, OfTwoWritersAtOnceOneWinsAndReadersSeeOneWhole) {
  const TempFolder folder(TempFolder::kInMemory);
  std::atomic<int> writing = 2;
  const auto write = [&](float first) {
    const auto session = Model();
    for (float b = first; b < first + 100; ++b) {
      Set(*session, Vec({b, b, b}), b);
      const absl::Status status = SaveCheckpoint(*session, folder.path());
      EXPECT_TRUE(status.ok()) << status;
    }
    --writing;
  };
  std::thread one(write, 1000.0f), two(write, 2000.0f);
  const auto reading = Model();
  while (writing > 0) {
    const absl::Status status = RestoreCheckpoint(*reading, folder.path()).status();
    if (absl::IsNotFound(status) && B(*reading) < 0) continue;  // none was saved yet
    EXPECT_TRUE(status.ok()) << status;
    if (status.ok()) {
      EXPECT_THAT((*reading->ReadVariables({"w"}))[0].values<float>(),
                  ::testing::Each(B(*reading)));
    }
  }
  one.join();
  two.join();
  EXPECT_TRUE(Restored(folder.path()) == 1099 || Restored(folder.path()) == 2099);
}

// Of two writers the slower may name a lower number than the other; then the next file takes a name
// that was there before.
TEST(Checkpoint, ReadersSeeOneWholeThoughAFileOfTheSameNameReplacesTheOther) {
  const TempFolder folder(TempFolder::kInMemory);
  const auto saved = Model();
  std::vector<std::pair<std::string, std::string>> manifest_and_values;
  for (const float b : {1.0f, 2.0f}) {
    const std::string path = folder.Path(absl::StrCat(b));
    Set(*saved, Vec({b, b, b}), b);
    ASSERT_TRUE(SaveCheckpoint(*saved, path).ok());
    manifest_and_values.emplace_back(*ReadFile(absl::StrCat(path, "/manifest.json")),
                                     *ReadFile(absl::StrCat(path, "/variables-0.safetensors")));
  }
  const std::string path = folder.Path("1");
  const auto put = [&](size_t i) {
    for (const auto& [name, text] :
         {std::pair("variables-0.safetensors", manifest_and_values[i].second),
          std::pair("manifest.json", manifest_and_values[i].first)})
      ASSERT_TRUE(WriteFile(absl::StrCat(path, "/", name), {text}).ok());
  };
  const auto session = Model();
  int calls = 0, restored_new = 0;
  for (int replaced_at = 0; replaced_at <= calls; ++replaced_at) {
    put(0);
    int call = 0;
    bool is_replacing = false;
    const file_calls::FaultHook replace = [&](file_calls::Call) {
      if (is_replacing || call++ != replaced_at) return 0;
      is_replacing = true;
      put(1);
      is_replacing = false;
      return 0;
    };
    file_calls::SetFaultHook(&replace);
    const absl::Status status = RestoreCheckpoint(*session, path).status();
    file_calls::SetFaultHook(nullptr);
    calls = std::max(calls, call);
    ASSERT_TRUE(status.ok()) << status << " when replaced at call " << replaced_at;
    EXPECT_THAT((*session->ReadVariables({"w"}))[0].values<float>(), ::testing::Each(B(*session)));
    restored_new += B(*session) == 2 ? 1 : 0;
  }
  EXPECT_GT(restored_new, 3);
  EXPECT_LE(restored_new, calls);
}

// ---- What fails

TEST(Checkpoint, EachCallOfTheSystemThatFailsOnceIsAnErrorAndLeavesTheOldOrTheNew) {
  const TempFolder folder(TempFolder::kInMemory);
  const auto session = Model();
  float last = 0;
  const auto save = [&] {
    Set(*session, Vec({last + 1, last + 1}), last + 1);
    return SaveCheckpoint(*session, folder.path());
  };
  ASSERT_TRUE(save().ok());
  last = 1;
  const int calls =
      test::FailEachCall(save, [&](const test::FaultCase& fault, const absl::Status& status) {
        const float found = Restored(folder.path());
        EXPECT_TRUE(found == last + 1 || (!status.ok() && found == last)) << fault << status;
        last = found;
        EXPECT_TRUE(!fault.MayLeaveFiles() || SaveCheckpoint(*session, folder.path()).ok());
        EXPECT_THAT(FilesIn(folder.path()), ::testing::SizeIs(2)) << fault;
        last = Restored(folder.path());
      });
  EXPECT_GT(calls, 30);
}

TEST(Checkpoint, EachCallOfTheSystemThatFailsOnceWhileRestoringChangesNothing) {
  const TempFolder folder(TempFolder::kInMemory);
  const auto session = Model();
  Set(*session, Vec({1, 2}), 3);
  ASSERT_TRUE(SaveCheckpoint(*session, folder.path()).ok());
  const auto restore = [&] {
    Set(*session, Vec({7}), 7);
    return RestoreCheckpoint(*session, folder.path()).status();
  };
  const int calls =
      test::FailEachCall(restore, [&](const test::FaultCase& fault, const absl::Status& status) {
        EXPECT_EQ(B(*session), status.ok() ? 3 : 7) << fault;
        EXPECT_TRUE(status.ok() || absl::StrContains(status.message(), folder.path())) << status;
      });
  EXPECT_GT(calls, 8);
}

// ---- What is damaged

class DamagedCheckpoint : public ::testing::Test {
 protected:
  DamagedCheckpoint() : session_(Model()) {
    Set(*session_, Vec({1, 2}), 3);
    EXPECT_TRUE(SaveCheckpoint(*session_, folder_.path()).ok());
    manifest_ = *ReadFile(folder_.Path("manifest.json"));
    values_ = *ReadFile(folder_.Path("variables-0.safetensors"));
    Set(*session_, Vec({7}), 7);
  }

  absl::Status Restore() {
    const absl::Status status = RestoreCheckpoint(*session_, folder_.path()).status();
    EXPECT_TRUE(status.ok() || B(*session_) == 7) << "an error, and yet something changed";
    return status;
  }
  // With a manifest whose inner part was edited by somebody who knows about checksums.
  absl::Status RestoreWith(const std::function<void(Json&)>& edit) {
    Json json = Json::parse(manifest_);
    edit(json["checkpoint"]);
    const std::string inner = json["checkpoint"].dump();
    json["crc32c"] = Crc32c(inner.data(), inner.size());
    folder_.Write("manifest.json", json.dump());
    return Restore();
  }

  const TempFolder folder_;
  const std::unique_ptr<Session> session_;
  std::string manifest_, values_;
};

TEST_F(DamagedCheckpoint, ValuesThatChangedAreNoticed) {
  std::string bad = values_;
  bad[bad.size() - 5] ^= 1;
  folder_.Write("variables-0.safetensors", bad);
  ExpectSays(Restore(), kInvalid, "is damaged: tensor 'w' has another checksum");
  folder_.Write("variables-0.safetensors", values_.substr(0, values_.size() - 1));
  ExpectSays(Restore(), kInvalid, "12 bytes, but 11 follow");
  folder_.Write("variables-0.safetensors", absl::StrReplaceAll(values_, {{"\"b\"", "\"c\""}}));
  ExpectSays(Restore(), kInvalid, "its tensors are others than those of the manifest");
  ASSERT_TRUE(WriteSafetensors(folder_.Path("variables-0.safetensors"), {{"w", Vec({1})}}).ok());
  ExpectSays(Restore(), kInvalid, "not the file that was saved: it has");
  std::filesystem::remove(folder_.Path("variables-0.safetensors"));
  ExpectSays(Restore(), kNotFound, "variables-0.safetensors");
}

TEST_F(DamagedCheckpoint, ManifestsThatAreNoneAreRefusedWithAReason) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {std::string(100000, '['), "not a JSON object"},
      {manifest_.substr(0, manifest_.size() / 2), "not a JSON object"},
      {R"({"a":1,"a":2})", "two entries of the name 'a'"},
      {"{}", "not one of a checkpoint"},
      {R"({"checkpoint":{"format":1},"crc32c":-1})", "not one of a checkpoint"},
      {R"({"checkpoint":{"format":2},"crc32c":1})", "of another format than 1"},
      {absl::StrReplaceAll(manifest_, {{"float32", "float64"}}), "damaged"},
      {absl::StrReplaceAll(manifest_, {{"variables-0", "variables-1"}}), "damaged"},
  };
  for (const auto& [content, reason] : kCases) {
    folder_.Write("manifest.json", content);
    ExpectSays(Restore(), kInvalid, reason);
  }
  std::filesystem::remove(folder_.Path("manifest.json"));
  ExpectSays(Restore(), kNotFound, "no checkpoint in " + folder_.path());
}

TEST_F(DamagedCheckpoint, ManifestsOfBadIntentAreRefusedWithAReason) {
  const auto file = [](const char* name) { return [=](Json& c) { c["file"] = name; }; };
  const auto tensor = [](const char* name, const Json& value) {
    return [=](Json& c) { c["tensors"]["w"][name] = value; };
  };
  const std::pair<std::function<void(Json&)>, std::string> kCases[] = {
      {file("../variables-0.safetensors"), "no sound file"},
      {file("x/variables-0.safetensors"), "no sound file"},
      {file("variables-00.safetensors"), "no sound file"},
      {file("variables--1.safetensors"), "no sound file"},
      {file("variables-9223372036854775807.safetensors"), "no sound file"},
      {file("manifest.json"), "no sound file"},
      {[](Json& c) { c["file"] = 1; }, "no sound file"},
      {[](Json& c) { c["bytes"] = -1; }, "no sound file"},
      {[](Json& c) { c["bytes"] = 1; }, "bytes, not the 1 of the manifest"},
      {[](Json& c) { c["tensors"] = {1}; }, "no sound file"},
      {[](Json& c) { c["tensors"]["w"] = 1; }, "'w' has no sound description"},
      {[](Json& c) { c["tensors"].erase("w"); }, "its tensors are others"},
      {tensor("dtype", "float31"), "'w' has no sound dtype"},
      {tensor("dtype", "int32"), "its tensors are others"},
      {tensor("shape", "2"), "'w' has no sound shape"},
      {tensor("shape", {-2}), "'w' has no sound shape"},
      {tensor("shape", {1ull << 62, 1ull << 62}), "'w' has no sound shape"},
      {tensor("shape", std::vector<int>(300, 1)), "'w' has no sound shape"},
      {tensor("crc32c", 4294967296), "'w' has no sound crc32c"},
      {tensor("crc32c", 0), "tensor 'w' has another checksum"},
  };
  for (const auto& [edit, reason] : kCases) ExpectSays(RestoreWith(edit), kInvalid, reason);
  EXPECT_TRUE(RestoreWith([](Json&) {}).ok());
}

TEST_F(DamagedCheckpoint, MalformedByRandomEditsItIsRefused) {
  std::mt19937 random(20240501);
  for (int i = 0; i < 2000; ++i) {
    const bool is_manifest = i % 2 == 0;
    const std::string& good = is_manifest ? manifest_ : values_;
    std::string bad = good;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    folder_.Write("manifest.json", is_manifest ? bad : manifest_);
    folder_.Write("variables-0.safetensors", is_manifest ? values_ : bad);
    if (Restore().ok()) {
      // Spaces became other spaces.
      EXPECT_EQ(B(*session_), 3) << bad;
      Set(*session_, Vec({7}), 7);
    }
  }
}

// ---- Files of others

// tests/session/python.safetensors was written by Python's safetensors 0.8.0:
//   save_file({"f": np.array([[1, 2, 3], [4, 5, 6]], np.float32), "h": np.array(1.5, np.float16),
//              "z": np.array([1 + 2j], np.complex64), "t": np.array([True, False]),
//              "i": np.array([], np.int64)}, path, metadata={"by": "Python"})
TEST(Checkpoint, AFileThatPythonWroteIsRestored) {
  const auto session = SessionOf({{"f", "float32", "(2,3)"},
                                  {"h", "float16", "()"},
                                  {"z", "complex64", "(1)"},
                                  {"t", "bool", "(2)"},
                                  {"i", "int64", "(?)"}});
  const auto names =
      RestoreCheckpoint(*session, test::SourcePath("tests/session/python.safetensors"));
  ASSERT_TRUE(names.ok()) << names.status();
  const auto values = session->ReadVariables({"f", "h", "z", "t", "i"});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT((*values)[0].values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(static_cast<float>((*values)[1].scalar<Half>()), 1.5f);
  EXPECT_EQ((*values)[2].scalar<complex64>(), complex64(1, 2));
  EXPECT_THAT((*values)[3].values<bool>(), ElementsAre(true, false));
  EXPECT_EQ((*values)[4].num_elements(), 0);
}

}  // namespace
}  // namespace gyre::testing
