#include "cluster/watch/run_reporter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cluster/wire/tensor_codec.h"
#include "session/watched_value.h"

namespace gyre::cluster {
namespace {

// Of a piece, and how many are on their way at most.
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr size_t kMostUnseen = 8;
constexpr size_t kMostUnseenBytes = size_t{32} << 20;
constexpr size_t kMostOfAFiring = kMostValueBytes / 2;

// Appends the value to those of one firing, of which there are `bytes` so far. What is too large is
// not encoded first, where its size tells.
absl::Status AddEncoded(const WatchedOutput& output, const Tensor& value, size_t& bytes,
                        std::vector<std::pair<int, std::string>>& values) {
  std::string tensor;
  absl::Status status;
  if (bytes + value.bytes() <= kMostOfAFiring) status = EncodeTensor(value, tensor);
  bytes += std::max(value.bytes(), tensor.size());
  if (status.ok() && bytes > kMostOfAFiring) {
    status = absl::ResourceExhaustedError(
        absl::StrCat(bytes, " bytes; ", kMostOfAFiring,
                     " are the most that one firing can tell of in another process"));
  }
  if (!status.ok()) return Annotate(status, absl::StrCat("watching ", output.node));
  values.emplace_back(output.slot, std::move(tensor));
  return absl::OkStatus();
}

}  // namespace

RunReporter::RunReporter(Host& host, const proto::Watch& watch, uint64_t step,
                         std::shared_ptr<Cancellation> cancellation, Send send)
    : host_(host),
      watch_(watch),
      step_(step),
      cancellation_(std::move(cancellation)),
      send_(std::move(send)),
      probe_([this](const RunProgress& progress) { Answer(progress); }) {
  for (const proto::Watch::Output& output : watch_.outputs())
    outputs_.push_back({output.node(), output.slot()});
  if (watch_.firings() || !outputs_.empty()) observers_.Add(this);
  if (watch_.trap_nan()) observers_.Add(&trap_);
  callback_ = cancellation_->AddCallback([this] {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
}

RunReporter::~RunReporter() { cancellation_->RemoveCallback(callback_); }

RunHooks RunReporter::hooks() {
  return {.observer = observers_.empty() ? nullptr : &observers_,
          .progress = watch_.progress() ? &probe_ : nullptr};
}

absl::Status RunReporter::OnFired(const Firing& firing) {
  std::vector<std::pair<int, std::string>> values;
  size_t bytes = 0;
  for (const WatchedOutput& output : outputs_) {
    const std::optional<Tensor> value = ValueOf(output, firing);
    if (value) GYRE_RETURN_IF_ERROR(AddEncoded(output, *value, bytes, values));
  }
  if (!watch_.firings() && values.empty()) return absl::OkStatus();
  std::unique_lock lock(mutex_);
  writer_.Add(firing);
  for (auto& [slot, tensor] : values) writer_.AddValue(slot, std::move(tensor));
  SendPieceIfLarge(lock);
  return absl::OkStatus();
}

void RunReporter::OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) {
  if (!watch_.firings()) return;
  std::unique_lock lock(mutex_);
  writer_.AddJoin(thread, asked_nanos, joined_nanos);
  SendPieceIfLarge(lock);
}

// A run that is cancelled comes to an end: what is left of it holds nobody back.
void RunReporter::SendPieceIfLarge(std::unique_lock<std::mutex>& lock) {
  while (writer_.size() >= kPieceBytes) {
    const bool is_little =
        unseen_.size() < kMostUnseen && unseen_bytes_ + writer_.size() <= kMostUnseenBytes;
    if (unseen_.empty() || is_little || cancellation_->IsCancelled()) return SendPiece();
    host_.Wait(lock, changed_, std::numeric_limits<int64_t>::max());
  }
}

// Requirement: mutex_ is held.
void RunReporter::SendPiece() {
  proto::FromWorker message;
  message.mutable_fired()->set_step(step_);
  message.mutable_fired()->set_firings(writer_.Take());
  unseen_.push_back(message.fired().firings().size());
  unseen_bytes_ += unseen_.back();
  send_(message);
}

void RunReporter::End() {
  const std::lock_guard lock(mutex_);
  if (writer_.size() > 0) SendPiece();
}

void RunReporter::OnSeen() {
  const std::lock_guard lock(mutex_);
  if (!unseen_.empty()) {
    unseen_bytes_ -= unseen_.front();
    unseen_.pop_front();
  }
  changed_.notify_all();
}

void RunReporter::OnAsk(uint64_t question) {
  {
    const std::lock_guard lock(mutex_);
    question_ = question;
  }
  probe_.Ask();
}

void RunReporter::Answer(const RunProgress& progress) {
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

}  // namespace gyre::cluster
