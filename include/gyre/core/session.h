// Session: loads a graph and runs parts of it, keeping variables and queues from run to run.
//
//   auto session = gyre::Session::Load("model.pb");
//   auto y = (*session)->Run({{"x:0", 3.0f}}, {"y:0"});
//
// The headers of gyre/core speak the dialect of Gyre's own layers: functions are in CamelCase, and
// errors are returned as absl::Status. Those of gyre/ itself throw, and are in snake_case: there,
// gyre::Model (gyre/model.h) is what a Session is here, and gyre::GraphSession (gyre/graph.h) runs
// graphs that are built in C++.
//
// A Session may be used from many threads at once; concurrent runs share its variables and nothing
// else. It owns its program and resources. Tensors that a run returns are the caller's and outlive
// the session.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/export.h"
#include "gyre/core/observer.h"
#include "gyre/core/options.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"

namespace gyre {

class Engine;
class Program;
class ResourceStore;

struct SessionOptions {
  EngineKind engine = EngineKind::kDataflow;
  // Not set: programs run as they are, and those that run for long are optimised in the background
  // and then run so, where that is faster; or as the environment variable GYRE_FORM says (a form,
  // or auto). Other forms than the program's own are made for each signature when it is first run.
  std::optional<ProgramForm> form;
  // kAuto: as the environment variable GYRE_COMPILE says (auto, always, never), if it is set.
  CompileMode compile = CompileMode::kAuto;
  // Seed of random ops whose own seeds are zero. Nondeterministic when 0.
  uint64_t seed = 0;
  ParallelOptions parallel;
  // Devices of this process, "cpu:4" for four, "cpu:2,null:1" for three of two types: nodes run
  // where the program asks them to (/device:CPU:1), the rest on the first that has kernels for
  // them. Empty: one device, whatever the program asks for. (Engines that have but one device
  // ignore them.)
  std::string devices;
  // Workers that run the programs, in place of this process: see ConnectCluster. Their devices are
  // the session's, and variables live on them.
  std::shared_ptr<const Engine> cluster;
  // Requests that none of the devices meets, or none with a kernel for it, are dropped, rather than
  // an error.
  bool soft_placement = false;
  PassOptions passes;  // of optimised programs
  // Where Print and its kin write: stream "stderr" or "stdout", text. Default: those streams.
  std::function<void(absl::string_view stream, absl::string_view text)> print;
  TestingOptions testing;
};

struct RunOptions {
  // The run fails with DEADLINE_EXCEEDED after this many milliseconds, what is compiled for it
  // included; 0: never.
  int64_t timeout_ms = 0;
  // The run fails with RESOURCE_EXHAUSTED when what it has made holds more bytes than this at once;
  // 0: three quarters of the machine's memory.
  int64_t budget_bytes = 0;
  // May be cancelled from another thread; null: not cancellable. Not owned.
  Cancellation* cancellation = nullptr;
  // Not empty: ops read files below this folder only, links followed, and write none; others are
  // PERMISSION_DENIED. Empty: what a program does to files is up to the program.
  std::string sandbox;
  // Sees what fires; null: nobody does. Not owned.
  RunObserver* observer = nullptr;
  // Answers where the run is; null: nobody asks. Not owned.
  ProgressProbe* progress = nullptr;
};

// Holds what its thread prepares to limits, as long as it lives: graphs and models that are read,
// verified, optimised, differentiated and compiled, by whatever function. What exceeds them ends
// with DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED or CANCELLED, and can be done again without them. What
// is prepared for a run is held to the run's own options; this is for the rest, and for graphs that
// nobody trusts:
//
//   const gyre::PreparationLimit limit({.timeout_ms = 1000, .budget_bytes = 256 << 20});
//   auto session = gyre::Session::Load(path);
//
// Belongs to the thread that makes it; of two, one within the other, both hold.
class GYRE_EXPORT PreparationLimit {
 public:
  // `timeout_ms`, `budget_bytes` and `cancellation` count, the rest does not. Less than 64 MiB is
  // no budget for a program.
  explicit PreparationLimit(const RunOptions& limits);
  ~PreparationLimit();
  PreparationLimit(const PreparationLimit&) = delete;
  PreparationLimit& operator=(const PreparationLimit&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What is fed: a tensor, or what makes one: a number, a text, a vector of numbers or texts, a list
// of numbers in braces. Those, which have types of C++, become the type that is wanted, if that
// holds their values: INVALID_ARGUMENT otherwise (0.5 as an integer).
class FeedValue {
 public:
  FeedValue(Tensor tensor) : tensor_(std::move(tensor)) {}
  template <internal::Number T>
  FeedValue(T number) : tensor_(Tensor::Scalar(internal::ToElement(number))), is_literal_(true) {}
  FeedValue(std::string text) : tensor_(Tensor::Scalar(std::move(text))), is_literal_(true) {}
  FeedValue(const char* text) : FeedValue(std::string(text)) {}
  template <internal::Number T>
    requires(!std::is_same_v<T, bool>)
  FeedValue(const std::vector<T>& numbers)
      : tensor_(internal::ToVector(numbers.data(), numbers.size())), is_literal_(true) {}
  template <internal::Number T>
  FeedValue(std::initializer_list<T> numbers)
      : tensor_(internal::ToVector(numbers.begin(), numbers.size())), is_literal_(true) {}
  FeedValue(const std::vector<std::string>& texts)
      : tensor_(Tensor::FromValues<std::string>(texts,
                                                Shape::Vector(static_cast<int64_t>(texts.size())))),
        is_literal_(true) {}

  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }
  bool is_literal() const { return is_literal_; }

 private:
  Tensor tensor_;
  bool is_literal_ = false;
};

using Feeds = std::vector<std::pair<std::string, FeedValue>>;

class GYRE_EXPORT Session {
 public:
  // Reads a GraphDef, binary or text, from a file. NOT_FOUND: no such file. INVALID_ARGUMENT: not a
  // sound graph; the message names the node.
  static absl::StatusOr<std::unique_ptr<Session>> Load(const std::string& path,
                                                       const SessionOptions& options = {});
  // The same from memory: a GraphDef, binary or text, or Gyre's own text form.
  static absl::StatusOr<std::unique_ptr<Session>> LoadFromMemory(
      absl::string_view graph, const SessionOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Program> program,
                                                         const SessionOptions& options = {});
  ~Session();

  // Runs what `fetches` and `targets` need, with the tensors named in `feeds` replaced, and returns
  // the fetches in order. Names are "node:slot"; "node" alone means slot 0. Targets are names of
  // nodes that run for their effects. INVALID_ARGUMENT or NOT_FOUND for names, types and shapes
  // that don't fit; otherwise the first error of the run. After an error the session stays usable;
  // effects that came before it stay.
  absl::StatusOr<std::vector<Tensor>> Run(const Feeds& feeds,
                                          const std::vector<std::string>& fetches,
                                          const std::vector<std::string>& targets = {},
                                          const RunOptions& options = {});

  // A signature looked up once and run often. Keeps the session's state alive; may be run from many
  // threads at once.
  class Callable {
   public:
    ~Callable();
    Callable(Callable&&) noexcept;
    // `feeds` in the order of the names given to Prepare.
    absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds,
                                            const RunOptions& options = {}) const;

   private:
    friend class Session;
    struct State;
    explicit Callable(std::shared_ptr<const State> state);
    std::shared_ptr<const State> state_;
  };
  absl::StatusOr<Callable> Prepare(const std::vector<std::string>& feeds,
                                   const std::vector<std::string>& fetches,
                                   const std::vector<std::string>& targets = {});

  // A variable that the program names, in whatever function. Of one in a container the name is
  // "container/name".
  struct VariableInfo {
    std::string name;
    DType dtype = DType::kInvalid;
    PartialShape shape;  // which shapes it may take
  };
  // In order of name.
  std::vector<VariableInfo> Variables() const;
  // What these variables hold, all of them at one moment: of each, a Tensor, which has no value
  // while the variable is uninitialised. NOT_FOUND for names that no variable has. On a cluster:
  // each by itself, by a run (whose errors these may be), and so for AssignVariables.
  absl::StatusOr<std::vector<Tensor>> ReadVariables(absl::Span<const std::string> names) const;
  // Changes all of these variables at one moment or, on an error, none: NOT_FOUND for names that no
  // variable has, INVALID_ARGUMENT for a value of another type, or of a shape that its variable may
  // not take.
  absl::Status AssignVariables(absl::Span<const std::pair<std::string, Tensor>> values);

  const Program& program() const;
  std::shared_ptr<const Program> shared_program() const;

  // A session for another snapshot of the program: a graph that has grown, say. The two share their
  // options, variables and queues; each may go before the other. INVALID_ARGUMENT as Create.
  absl::StatusOr<std::unique_ptr<Session>> WithProgram(
      std::shared_ptr<const Program> program) const;
  // The same, with loops compiled at another time.
  absl::StatusOr<std::unique_ptr<Session>> WithProgram(std::shared_ptr<const Program> program,
                                                       CompileMode compile) const;
  // The same with other options. Its runs are counted anew, so that random ops of a session with
  // a seed draw what they drew when that seed was first set.
  absl::StatusOr<std::unique_ptr<Session>> WithOptions(std::shared_ptr<const Program> program,
                                                       const SessionOptions& options) const;

  // For bindings that run ops by themselves, beside programs: the variables and queues, which live
  // as long as any of the sessions that share them; and the number of a run, no other run's.
  ResourceStore& resources() const;
  uint64_t CountRun() const;

 private:
  struct State;
  struct RemoteState;
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Program> program,
                                                         const SessionOptions& options,
                                                         std::shared_ptr<ResourceStore> resources,
                                                         std::shared_ptr<const RemoteState> remote);
  static absl::StatusOr<std::unique_ptr<Session>> ForProgram(
      std::shared_ptr<State> state, std::shared_ptr<const Program> program);
  explicit Session(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Processes that `gyre worker` has started, on this machine or others.
struct ClusterOptions {
  // "host:port" of each, whose devices are those of /job:worker/task:I, I its place in the list;
  // or "/job:ps/task:0=host:port". The first one's first device is the default.
  std::vector<std::string> workers;
  std::string token;  // that the workers were started with
  Transport transport = Transport::kAuto;
  // Not empty: variables and queues are those of all clients that give the same name, and last as
  // long as the workers. Empty: each session has its own.
  std::string shared_state;
  // A worker that says nothing for so long is gone, and what waits for it fails.
  int64_t failure_timeout_ms = 5000;
  // For how long a worker that waits for another polls before it sleeps. What comes in that time
  // comes some 20 to 40 µs sooner; the core is busy meanwhile.
  int64_t spin_us = 0;
};

// Calls the workers, for SessionOptions::cluster; any number of sessions may share them.
// UNAVAILABLE, naming the worker, for one that does not answer; UNAUTHENTICATED where the token is
// another; FAILED_PRECONDITION where a worker is of another version of Gyre; INVALID_ARGUMENT for
// addresses and options that are none.
GYRE_EXPORT absl::StatusOr<std::shared_ptr<const Engine>> ConnectCluster(
    const ClusterOptions& options);

// ---- Checkpoints: the variables of a session in a folder, to go on with later or elsewhere.
//
//   absl::Status saved = gyre::SaveCheckpoint(*session, "run/latest");
//   …
//   auto restored = gyre::RestoreCheckpoint(*another, "run/latest");
//
// The folder holds
//   variables-N.safetensors   the values, in a format that other programs read, too
//                             (https://github.com/huggingface/safetensors)
//   manifest.json             which of these files counts, its size, and of each tensor in it the
//                             dtype, the shape and a checksum (CRC-32C)
// Saving writes a new file, and replaces the manifest in one step once the file is on disk. So,
// whatever stops the process or the machine, what is restored is the last checkpoint that was
// saved, whole. What an interrupted one left behind is removed by the next.
//
// Any number of threads and processes may save to a folder and restore from it at the same time:
// what is restored is always one of the checkpoints, whole.

struct SaveOptions {
  // Which variables; empty: all of the program's.
  std::vector<std::string> variables;
};

struct RestoreOptions {
  // Which of the program's variables; empty: all. What else the checkpoint holds does not matter if
  // there are any here.
  std::vector<std::string> variables;
  // Variables that are not in the checkpoint stay as they are, and what no variable is called is
  // passed over. Without it, both are errors.
  bool partial = false;
};

// Saves what the variables hold at one moment to a folder, which is made if need be. Other runs may
// go on meanwhile.
// FAILED_PRECONDITION: a variable has no value yet. NOT_FOUND: there is no such variable.
// INVALID_ARGUMENT: a variable is of a type that files cannot hold (string, variant).
// PERMISSION_DENIED, RESOURCE_EXHAUSTED (of the disk), UNAVAILABLE, NOT_FOUND: the file system
// refused; the message says what. After an error the folder holds the checkpoint that it held
// before or, where only the last flush to disk failed, this one.
GYRE_EXPORT absl::Status SaveCheckpoint(const Session& session, const std::string& folder,
                                        const SaveOptions& options = {});

// Gives variables the values that were saved, and returns their names. `path`: a folder that
// SaveCheckpoint made, or a .safetensors file, of which there are no checksums.
// NOT_FOUND: no checkpoint there, or not of the same names as the program's variables.
// INVALID_ARGUMENT: files that are damaged or not sound, or values of other dtypes or shapes than
// the variables; the message lists them. RESOURCE_EXHAUSTED: it does not fit in memory.
// After an error no variable has changed.
GYRE_EXPORT absl::StatusOr<std::vector<std::string>> RestoreCheckpoint(
    Session& session, const std::string& path, const RestoreOptions& options = {});

}  // namespace gyre
