// Session: loads a graph and runs parts of it, keeping variables and queues from run to run.
//
//   auto session = gyre::Session::Load("model.pb");
//   auto y = (*session)->Run({{"x:0", gyre::Tensor::Scalar(3.0f)}}, {"y:0"});
//
// A Session may be used from many threads at once; concurrent runs share its variables and nothing
// else. It owns its program and resources. Tensors that a run returns are the caller's and outlive
// the session.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/observer.h"
#include "gyre/shape.h"
#include "gyre/tensor.h"

namespace gyre {

class Cancellation;
class Engine;
class Program;
class ResourceStore;

// Which passes an optimised program goes through, and in which order (`gyre passes` lists them). By
// default all of them, in the order of their table; the rest is for tests and for finding mistakes.
struct PassOptions {
  std::vector<std::string> off;  // names of passes that are left out; "all": every one
  std::string only;              // this pass alone; empty: all
  uint64_t order_seed = 0;       // not 0: in an order drawn from this seed
  bool verify = false;           // looks after every pass whether the program is still sound
};

struct SessionOptions {
  // Which engine runs programs: see EngineNames(). Empty: the default. "compiled" makes native code
  // of small loops before the first run; a window, several devices, and whoever watches nodes or
  // iterations have them interpreted all the same.
  std::string engine;
  // Seed of random ops whose own seeds are zero. Nondeterministic when 0.
  uint64_t seed = 0;
  // Iterations of one loop that may be in flight at once, where the loop itself allows as many
  // (parallel_iterations): a window narrows loops, and widens none. 0: as each loop says.
  int window = 0;
  // Threads that work on one run at most, the caller's own among them; 0: one per core.
  int threads = 0;
  // For tests: not 0 runs ready nodes on one thread in an order drawn from this seed, the same each
  // time. (Engines that have but one order ignore it.)
  uint64_t schedule_seed = 0;
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
  // For tests: not 0 draws from this seed which device a node runs on; what must stand together
  // does.
  uint64_t spread_seed = 0;
  // The form in which programs run: see FormNames(). Empty: the first. Other forms are made for
  // each signature when it is first run.
  std::string form;
  PassOptions passes;
  // Where Print and its kin write: stream "stderr" or "stdout", text. Default: those streams.
  std::function<void(absl::string_view stream, absl::string_view text)> print;
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
class PreparationLimit {
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

using Feeds = std::vector<std::pair<std::string, Tensor>>;

class Session {
 public:
  // Reads a GraphDef, binary or text, from a file. NOT_FOUND: no such file. INVALID_ARGUMENT: not a
  // sound graph; the message names the node.
  static absl::StatusOr<std::unique_ptr<Session>> Load(const std::string& path,
                                                       const SessionOptions& options = {});
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
  // "auto" (shared memory within a machine, TCP between machines), "tcp" or "memory".
  std::string transport = "auto";
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
absl::StatusOr<std::shared_ptr<const Engine>> ConnectCluster(const ClusterOptions& options);

// Names accepted by SessionOptions::engine, default first.
std::vector<std::string> EngineNames();

// Names accepted by SessionOptions::form: "imported", as the program was loaded; "raised", with If,
// Case and While in place of primitives; "relowered", with primitives in place of these again, and
// "reraised", once more the other way; "optimized", raised and through the passes.
std::vector<std::string> FormNames();

}  // namespace gyre
