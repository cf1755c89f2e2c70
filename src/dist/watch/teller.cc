#include "dist/watch/teller.h"

#include <limits>
#include <utility>

namespace gyre::dist {
namespace {

// Of a piece, and how many are on their way at most.
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr int kMostUnseen = 8;

}  // namespace

Teller::Teller(Host& host, const proto::Watch& watch, uint64_t step,
               std::shared_ptr<Cancellation> cancellation, Send send)
    : host_(host),
      watch_(watch),
      step_(step),
      cancellation_(std::move(cancellation)),
      send_(std::move(send)),
      probe_([this](const RunProgress& progress) { Answer(progress); }) {
  if (watch_.firings()) observers_.Add(this);
  if (watch_.trap_nan()) observers_.Add(&trap_);
  callback_ = cancellation_->AddCallback([this] {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
}

Teller::~Teller() { cancellation_->RemoveCallback(callback_); }

RunHooks Teller::hooks() {
  return {.observer = observers_.empty() ? nullptr : &observers_,
          .progress = watch_.progress() ? &probe_ : nullptr};
}

absl::Status Teller::OnFired(const Firing& firing) {
  std::unique_lock lock(mutex_);
  writer_.Add(firing);
  TellIfLarge(lock);
  return absl::OkStatus();
}

void Teller::OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) {
  std::unique_lock lock(mutex_);
  writer_.AddJoin(thread, asked_nanos, joined_nanos);
  TellIfLarge(lock);
}

// A run that is cancelled comes to an end: what is left of it holds nobody back.
void Teller::TellIfLarge(std::unique_lock<std::mutex>& lock) {
  while (writer_.size() >= kPieceBytes) {
    if (unseen_ < kMostUnseen || cancellation_->IsCancelled()) return Tell();
    host_.Wait(lock, changed_, std::numeric_limits<int64_t>::max());
  }
}

// Requirement: mutex_ is held.
void Teller::Tell() {
  proto::FromWorker message;
  message.mutable_fired()->set_step(step_);
  message.mutable_fired()->set_firings(writer_.Take());
  ++unseen_;
  send_(message);
}

void Teller::End() {
  const std::lock_guard lock(mutex_);
  if (writer_.size() > 0) Tell();
}

void Teller::OnSeen() {
  const std::lock_guard lock(mutex_);
  if (unseen_ > 0) --unseen_;
  changed_.notify_all();
}

void Teller::OnAsk(uint64_t question) {
  {
    const std::lock_guard lock(mutex_);
    question_ = question;
  }
  probe_.Ask();
}

void Teller::Answer(const RunProgress& progress) {
  proto::FromWorker message;
  proto::Progress& told = *message.mutable_progress();
  told.set_step(step_);
  {
    const std::lock_guard lock(mutex_);
    told.set_question(question_);
  }
  told.set_node(progress.node);
  told.set_is_waiting(progress.is_waiting);
  for (const RunProgress::Loop& loop : progress.loops) {
    proto::Progress::Loop& out = *told.add_loops();
    out.set_name(loop.name);
    out.set_iteration(loop.iteration);
    out.set_instance(loop.instance);
  }
  send_(message);
}

}  // namespace gyre::dist
