// What a worker is made of: the state that its clients share, and each client. For worker.cc and
// worker_client.cc alone.
//
// Lock order: Worker::State's mutex and a client's are never held together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "base/hash_map.h"
#include "cluster/again.h"
#include "cluster/messages.h"
#include "cluster/watch/run_reporter.h"
#include "cluster/worker.h"
#include "exec/dataflow/devices.h"

namespace gyre::cluster {

struct Worker::State {
  State(Host& h, const WorkerOptions& o)
      : host(h),
        options(o),
        mesh(h,
             {.incarnation = o.incarnation,
              .failure_nanos = o.failure_nanos,
              .most_callers = o.most_callers},
             {.on_lost = [this](const Peer& peer, const absl::Status& why) { OnLost(peer, why); },
              .on_message = [this](const Peer& from,
                                   absl::string_view message) { OnMessage(from, message); }}) {}

  void OnLost(const Peer& peer, const absl::Status& why);
  void OnMessage(const Peer& from, absl::string_view message);

  // A task beside the caller, which the worker's end waits for; after that there are none. What
  // has been polled is the listener's, if it was that which polled and has nothing else to do.
  // std::bad_alloc where there is no memory for it: then nothing has happened. The task throws
  // nothing.
  void Spawn(const std::shared_ptr<State>& self, bool is_polled, std::function<void()> task) {
    {
      const std::lock_guard lock(mutex);
      if (ends) return;
      ++busy;
      if (is_polled && idle_listener == std::this_thread::get_id() && !attended) {
        attended = std::move(task);
        return;
      }
    }
    absl::Cleanup is_no_task = [this] { EndTask(); };
    host.Spawn([self, task = std::move(task)]() mutable { self->Do(std::move(task)); });
    std::move(is_no_task).Cancel();
  }
  void Do(std::function<void()> task) {
    task();
    task = nullptr;
    EndTask();
  }
  void EndTask() {
    const std::lock_guard lock(mutex);
    --busy;
    changed.notify_all();
  }
  void Attend();

  Host& host;
  const WorkerOptions options;
  Mesh mesh;
  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false;                           // guarded by mutex: the worker is going
  int busy = 0;                                // guarded by mutex: tasks
  int running = 0;                             // guarded by mutex: steps
  bool has_step_listener = false;              // guarded by mutex
  std::thread::id idle_listener;               // guarded by mutex: while it polls or waits
  std::function<void()> attended;              // guarded by mutex: its next task
  std::vector<std::weak_ptr<Client>> clients;  // guarded by mutex
  // guarded by mutex: those that may call, by their incarnation
  HashMap<uint64_t, std::weak_ptr<Client>> callers;
  // guarded by mutex: variables that clients share, by the name they give
  HashMap<std::string, std::shared_ptr<ResourceStore>> shared;
};

// One client's programs and steps.
class Worker::Client final : public LinkHandler, public std::enable_shared_from_this<Client> {
 public:
  Client(std::shared_ptr<State> state, std::shared_ptr<ControlLink> link)
      : state_(std::move(state)), link_(std::move(link)) {}

  void OnMessage(absl::string_view message) override;
  // Of its channel, concurrently with the others.
  void OnMessageOfStep(const Peer& from, absl::string_view message);
  void OnClosed(const absl::Status& why) override;
  // That a channel to another process is gone: a part that is done may have sent what its peer,
  // which has begun since, waits for in vain.
  void TellLost(const Peer& peer, const absl::Status& why);
  // Ends what runs and waits, for the client or the worker is gone.
  void CancelAll(const absl::Status& why);
  void Close() { link_->Close(); }

 private:
  struct Member {
    std::string name;
    uint64_t incarnation = 0;
  };
  struct CompiledProgram {
    dataflow::PartsHere parts;
    std::vector<std::string> fetches;                       // names of its parts'
    std::vector<std::pair<std::string, uint64_t>> devices;  // and whose: 0 for this worker's
    std::shared_ptr<ResourceStore> resources;
    std::mutex mutex;
    std::shared_ptr<const Routes> routes;  // guarded by mutex; of the peers there were last
  };

  void Take(absl::string_view message);
  void Reply(const proto::FromWorker& message) { link_->Send(message.SerializeAsString()); }
  // Calls `answer`, which sends what the client waits for. Where there is no memory for that, the
  // link is closed.
  template <typename F>
  void Answer(F answer) {
    if (!Again(std::move(answer))) link_->Close();
  }
  // By the way that the step came, if the message is small.
  void Report(const PeerPtr& via, const proto::FromWorker& message);
  void Greet(const proto::Hello& hello);
  absl::Status Join(const proto::Join& join);
  void StartCompile(std::shared_ptr<const proto::Compile> compile);
  void CompileAndAnswer(const proto::Compile& compile, Cancellation& cancellation);
  absl::Status Compile(const proto::Compile& compile, Cancellation& cancellation,
                       proto::Compiled* reply);
  void Drop(const proto::Drop& drop);
  void StartRun(std::shared_ptr<const proto::Run> run, PeerPtr via);
  void Cancel(const proto::Cancel& cancel);
  struct Step {
    std::shared_ptr<Cancellation> cancellation;
    std::shared_ptr<RunReporter> reporter;  // null: nobody watches
  };
  // That of a step under way, if it is watched.
  std::shared_ptr<RunReporter> ReporterOf(uint64_t step);
  void RunAndAnswer(const proto::Run& run, const PeerPtr& via, const Step& step);
  absl::Status Run(const proto::Run& run, const PeerPtr& via, const Step& step, proto::Done* reply);
  void ForgetStep(uint64_t step);
  // What has not been cancelled yet; null: nothing.
  std::shared_ptr<Cancellation> NextUnderway();
  absl::StatusOr<std::shared_ptr<const Routes>> RoutesOf(CompiledProgram& program);
  std::shared_ptr<ResourceStore> ResourcesOf(const proto::Compile& compile);

  const std::shared_ptr<State> state_;
  const std::shared_ptr<ControlLink> link_;
  bool is_known_ = false;               // of OnMessage alone: it has shown the token
  std::atomic<bool> has_ended_{false};  // nothing is begun for it any more

  std::mutex mutex_;     // guards what follows
  std::string secret_;   // of its cluster's channels
  uint64_t caller_ = 0;  // the client's incarnation
  std::vector<Member> members_;
  int self_ = -1;
  HashMap<uint64_t, std::shared_ptr<CompiledProgram>> programs_;
  // By program: ends what is done for one that the client, or its time, gives up.
  HashMap<uint64_t, std::shared_ptr<Cancellation>> compiling_;
  std::map<uint64_t, Step> steps_;
  std::deque<std::pair<uint64_t, absl::Status>> cancelled_;      // steps that have not come yet
  HashMap<uint64_t, std::shared_ptr<ResourceStore>> own_state_;  // by session
};

}  // namespace gyre::cluster
