#include "cluster/watch/firings.h"

#include <algorithm>
#include <vector>

#include "base/status.h"
#include "cluster/wire/tensor_codec.h"

namespace gyre::cluster {
namespace {

// What engines tell of the surroundings of a node, and a little more.
constexpr size_t kMostAround = 128;
// Of a text: names that are longer are cut off.
constexpr size_t kMostTextBytes = 4096;
// Beyond this nothing has a size.
constexpr int64_t kMostBytes = int64_t{1} << 40;
// About what a firing, a place and a join take; nodes and texts take what they are long.
constexpr size_t kFiringBytes = 56, kPlaceBytes = 28, kJoinBytes = 24;

absl::Status Malformed() {
  return absl::InvalidArgumentError("it sent firings that make no sense");
}

// What is sent may be any number.
int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

class Reader {
 public:
  Reader(const proto::Firings& in, const FiringsOf& of, RunObserver& observer)
      : in_(in), of_(of), observer_(observer) {}

  absl::Status Read() {
    for (int i = 0; i < in_.places_size(); ++i) {
      const proto::Firings::Place& place = in_.places(i);
      if (place.outer() > static_cast<uint32_t>(i) || place.kind() < 0 ||
          place.kind() > static_cast<int>(Surrounding::Kind::kCall))
        return Malformed();
    }
    for (const proto::Firings::Join& join : in_.joins()) {
      GYRE_ASSIGN_OR_RETURN(const int thread, Thread(join.thread()));
      const int64_t asked = Time(join.asked_nanos());
      observer_.OnJoined(thread, asked, std::max(asked, Time(join.joined_nanos())));
    }
    for (const proto::Firings::Firing& firing : in_.firings()) GYRE_RETURN_IF_ERROR(Read(firing));
    return absl::OkStatus();
  }

 private:
  absl::Status Read(const proto::Firings::Firing& in) {
    if (in.node() >= static_cast<uint32_t>(in_.nodes_size())) return Malformed();
    const proto::Firings::Node& node = in_.nodes(static_cast<int>(in.node()));
    if (node.graph() >= static_cast<uint32_t>(kMostGraphs)) return Malformed();
    Firing firing;
    firing.node = Text(node.name());
    firing.op = Text(node.op());
    firing.device = Text(node.device());
    firing.is_plumbing = node.is_plumbing();
    firing.is_call = node.is_call();
    firing.saving_loop = Text(node.saving_loop());
    firing.saved_value = Text(node.saved_value());
    GYRE_RETURN_IF_ERROR(SetAround(in.place()));
    firing.around = around_;
    GYRE_ASSIGN_OR_RETURN(firing.thread, Thread(in.thread()));
    firing.was_taken = in.was_taken();
    firing.start_nanos = Time(in.start_nanos());
    firing.end_nanos = std::max(firing.start_nanos, Time(in.end_nanos()));
    firing.bytes = std::clamp<int64_t>(in.bytes(), 0, kMostBytes);
    firing.saved_bytes = std::clamp<int64_t>(in.saved_bytes(), 0, kMostBytes);
    TokenOrigin origin;
    if (node.graph() > 0) {
      origin.graph = of_.graphs + node.graph();
      origin.node = node.number();
      origin.sources = absl::MakeConstSpan(node.sources().data(), node.sources().size());
      origin.frame = in.frame();
      origin.iteration = in.iteration();
      origin.outer_frame = in.outer_frame();
      origin.outer_iteration = in.outer_iteration();
      firing.origin = &origin;
    }
    GYRE_RETURN_IF_ERROR(SetOutputs(in));
    firing.outputs = outputs_;
    return observer_.OnFired(firing);
  }

  absl::Status SetOutputs(const proto::Firings::Firing& in) {
    outputs_.clear();
    if (in.values_size() == 0) return absl::OkStatus();
    outputs_.resize(of_.num_outputs);
    for (const proto::Firings::Firing::Value& value : in.values()) {
      if (value.slot() < 0 || value.slot() >= of_.num_outputs) return Malformed();
      absl::string_view bytes = value.tensor();
      absl::StatusOr<Tensor> tensor = DecodeTensor(bytes, nullptr);
      if (!tensor.ok() || !bytes.empty()) return Malformed();
      outputs_[value.slot()] = *std::move(tensor);
    }
    return absl::OkStatus();
  }

  absl::string_view Text(uint32_t i) const {
    return i < static_cast<uint32_t>(in_.texts_size()) ? in_.texts(static_cast<int>(i))
                                                       : absl::string_view();
  }

  absl::StatusOr<int> Thread(int thread) const {
    if (thread < 0 || thread >= kMostThreads) return Malformed();
    return of_.first_thread + thread;
  }

  int64_t Time(int64_t theirs) const {
    return std::clamp(Minus(theirs, of_.offset_nanos), of_.first_nanos, of_.last_nanos);
  }

  absl::Status SetAround(uint32_t place) {
    if (place == place_) return absl::OkStatus();
    around_.clear();
    for (uint32_t p = place; p > 0; p = in_.places(static_cast<int>(p) - 1).outer()) {
      if (p > static_cast<uint32_t>(in_.places_size()) || around_.size() == kMostAround)
        return Malformed();
      const proto::Firings::Place& in = in_.places(static_cast<int>(p) - 1);
      around_.push_back({static_cast<Surrounding::Kind>(in.kind()), Text(in.name()),
                         Text(in.function()), in.iteration(), in.instance()});
    }
    std::reverse(around_.begin(), around_.end());
    place_ = place;
    return absl::OkStatus();
  }

  const proto::Firings& in_;
  const FiringsOf& of_;
  RunObserver& observer_;
  uint32_t place_ = 0;  // whose surroundings are in around_
  std::vector<Surrounding> around_;
  std::vector<Tensor> outputs_;  // of the firing that is read
};

}  // namespace

uint32_t FiringsWriter::Text(absl::string_view text) {
  if (out_.texts_size() == 0) out_.add_texts("");
  if (text.empty()) return 0;
  text = text.substr(0, kMostTextBytes);
  const auto [it, is_new] =
      texts_.try_emplace(std::string(text), static_cast<uint32_t>(out_.texts_size()));
  if (is_new) {
    out_.add_texts(it->first);
    size_ += text.size();
  }
  return it->second;
}

uint32_t FiringsWriter::NodeOf(const Firing& firing) {
  const auto number = static_cast<uint32_t>(out_.nodes_size());
  const TokenOrigin* const origin = firing.origin;
  if (origin != nullptr) {
    const auto [it, is_new] = nodes_.try_emplace({origin->graph, origin->node}, number);
    if (!is_new) return it->second;
  }
  proto::Firings::Node& node = *out_.add_nodes();
  node.set_name(Text(firing.node));
  node.set_op(Text(firing.op));
  node.set_device(Text(firing.device));
  node.set_is_plumbing(firing.is_plumbing);
  node.set_is_call(firing.is_call);
  if (origin != nullptr) {
    const auto graph = static_cast<uint32_t>(graphs_.size() + 1);
    if (graph < kMostGraphs) graphs_.try_emplace(origin->graph, graph);
    const auto it = graphs_.find(origin->graph);
    node.set_graph(it == graphs_.end() ? 0 : it->second);
    node.set_number(origin->node);
    node.mutable_sources()->Add(origin->sources.begin(), origin->sources.end());
    size_ += origin->sources.size() * sizeof(int);
  }
  size_ += kPlaceBytes;
  return number;
}

uint32_t FiringsWriter::PlaceOf(absl::Span<const Surrounding> around) {
  uint32_t outer = 0;
  for (const Surrounding& s : around) {
    const uint32_t name = Text(s.name);
    const auto number = static_cast<uint32_t>(out_.places_size() + 1);
    const auto [it, is_new] = places_.try_emplace(
        {outer, static_cast<int>(s.kind), s.instance, s.iteration, name}, number);
    if (is_new) {
      proto::Firings::Place& place = *out_.add_places();
      place.set_outer(outer);
      place.set_kind(static_cast<int>(s.kind));
      place.set_name(name);
      place.set_function(Text(s.function));
      place.set_iteration(s.iteration);
      place.set_instance(s.instance);
      size_ += kPlaceBytes;
    }
    outer = it->second;
  }
  return outer;
}

void FiringsWriter::Add(const Firing& firing) {
  const uint32_t node = NodeOf(firing);
  // A node saves one value, if not in every firing.
  if (!firing.saved_value.empty()) {
    out_.mutable_nodes(static_cast<int>(node))->set_saving_loop(Text(firing.saving_loop));
    out_.mutable_nodes(static_cast<int>(node))->set_saved_value(Text(firing.saved_value));
  }
  const uint32_t place = PlaceOf(firing.around);
  proto::Firings::Firing& out = *out_.add_firings();
  out.set_node(node);
  out.set_place(place);
  out.set_thread(firing.thread);
  out.set_was_taken(firing.was_taken);
  out.set_start_nanos(firing.start_nanos);
  out.set_end_nanos(firing.end_nanos);
  out.set_bytes(firing.bytes);
  out.set_saved_bytes(firing.saved_bytes);
  if (const TokenOrigin* const origin = firing.origin; origin != nullptr) {
    out.set_frame(origin->frame);
    out.set_iteration(origin->iteration);
    out.set_outer_frame(origin->outer_frame);
    out.set_outer_iteration(origin->outer_iteration);
  }
  size_ += kFiringBytes;
}

void FiringsWriter::AddValue(int slot, std::string tensor) {
  size_ += tensor.size() + kJoinBytes;
  proto::Firings::Firing::Value& value =
      *out_.mutable_firings(out_.firings_size() - 1)->add_values();
  value.set_slot(slot);
  value.set_tensor(std::move(tensor));
}

void FiringsWriter::AddJoin(int thread, int64_t asked_nanos, int64_t joined_nanos) {
  proto::Firings::Join& join = *out_.add_joins();
  join.set_thread(thread);
  join.set_asked_nanos(asked_nanos);
  join.set_joined_nanos(joined_nanos);
  size_ += kJoinBytes;
}

std::string FiringsWriter::Take() {
  std::string bytes = out_.SerializeAsString();
  out_.Clear();
  texts_.clear();
  nodes_.clear();
  places_.clear();
  size_ = 0;
  return bytes;
}

namespace {
bool Parse(absl::string_view bytes, const FiringsOf& of, proto::Firings& firings) {
  const size_t most = kMostFiringsBytes + (of.num_outputs > 0 ? kMostValueBytes : 0);
  return bytes.size() <= most &&
         firings.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}
}  // namespace

int64_t FittingOffset(absl::string_view bytes, const FiringsOf& of) {
  proto::Firings in;
  if (!Parse(bytes, of, in) || in.firings().empty()) return of.offset_nanos;
  int64_t first = in.firings(0).start_nanos(), last = in.firings(0).end_nanos();
  for (const proto::Firings::Firing& firing : in.firings()) {
    first = std::min(first, firing.start_nanos());
    last = std::max(last, firing.end_nanos());
  }
  int64_t offset = of.offset_nanos;
  if (Minus(last, offset) > of.last_nanos) offset = Minus(last, of.last_nanos);
  if (Minus(first, offset) < of.first_nanos) offset = Minus(first, of.first_nanos);
  return offset;
}

absl::Status ReadFirings(absl::string_view bytes, const FiringsOf& of, RunObserver& observer) {
  proto::Firings firings;
  if (!Parse(bytes, of, firings)) return Malformed();
  return Reader(firings, of, observer).Read();
}

}  // namespace gyre::cluster
