// Two processes' meshes with a channel between them, for tests of what they say to each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/mesh.h"
#include "cluster/samples.h"
#include "gmock/gmock.h"
#include "support/cluster/test_host.h"

namespace gyre::test {

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr char kSecret[] = "the secret of a cluster";

// What a receive has been told.
struct Received {
  bool has_come = false;
  absl::StatusOr<Rendezvous::Item> item;
  Rendezvous::RecvCallback callback() {
    return [this](absl::StatusOr<Rendezvous::Item> got) {
      EXPECT_FALSE(has_come);
      has_come = true;
      item = std::move(got);
    };
  }
};

// Processes 1 and 2, with a channel between them that process 2 has dialled.
class Pair {
 public:
  explicit Pair(int64_t failure_nanos = 3600 * kSecond, bool needs_checksum = false)
      : network_([this](std::unique_ptr<cluster::ByteStream> stream) {
          auto& counts = counts_[num_streams_++ % 2];
          return std::make_unique<TappedStream>(std::move(stream), counts);
        }) {
    for (auto& counts : counts_) {
      counts = std::make_shared<TappedStream::Counts>();
      counts->needs_checksum = needs_checksum;
      counts->keeps = true;
    }
    const cluster::Mesh::Callbacks callbacks = {
        .on_lost = [this](const cluster::Peer& peer,
                          const absl::Status&) { lost_.push_back(peer.name); },
        .on_message =
            [this](const cluster::Peer& peer, absl::string_view message) {
              told_.push_back(absl::StrCat(peer.name, ": ", message));
            }};
    one_ = std::make_unique<cluster::Mesh>(host_one_, cluster::Mesh::Options{1, 0, failure_nanos},
                                           callbacks);
    two_ = std::make_unique<cluster::Mesh>(host_two_, cluster::Mesh::Options{2, 0, failure_nanos},
                                           callbacks);
    EXPECT_TRUE(one_->Expect(2, "worker two", {}, Transport::kAuto, kSecret, false).ok());
    EXPECT_TRUE(
        two_->Expect(1, "worker one", host_one_.channel_address(), Transport::kAuto, kSecret, true)
            .ok());
    Move();
    EXPECT_NE(one_->Find(2), nullptr);
    EXPECT_NE(two_->Find(1), nullptr);
  }

  // Everything that can travel does.
  void Move() {
    for (int i = 0; i < 40; ++i) {
      if (one_ != nullptr) one_->Tick();
      if (two_ != nullptr) two_->Tick();
    }
  }
  void PutForward(int64_t nanos) {
    host_one_.PutForward(nanos);
    host_two_.PutForward(nanos);
  }

  std::shared_ptr<cluster::StepRendezvous> BeginOne(uint64_t step) {
    auto got = one_->Begin(step,
                           std::make_shared<const cluster::Routes>(
                               cluster::Routes{{"one", nullptr}, {"two", one_->Find(2)}}),
                           MakeRef<MemoryBudget>());
    EXPECT_TRUE(got.ok()) << got.status();
    return *std::move(got);
  }
  std::shared_ptr<cluster::StepRendezvous> BeginTwo(uint64_t step,
                                                    int64_t budget = int64_t{1} << 40) {
    auto got = two_->Begin(step,
                           std::make_shared<const cluster::Routes>(
                               cluster::Routes{{"one", two_->Find(1)}, {"two", nullptr}}),
                           MakeRef<MemoryBudget>(budget));
    EXPECT_TRUE(got.ok()) << got.status();
    return *std::move(got);
  }
  void End(uint64_t step) {
    one_->End(step);
    two_->End(step);
    Move();
  }

  cluster::Mesh& one() { return *one_; }
  cluster::Mesh& two() { return *two_; }
  void EndOne() { one_ = nullptr; }
  // Bytes that process 1 has sent so far.
  TappedStream::Counts& from_one() { return *counts_[1]; }
  TappedStream::Counts& from_two() { return *counts_[0]; }
  const std::vector<std::string>& lost() const { return lost_; }
  const std::vector<std::string>& told() const { return told_; }

 private:
  std::shared_ptr<TappedStream::Counts> counts_[2];
  int num_streams_ = 0;
  TestNetwork network_;
  TestHost host_one_{network_, "one"}, host_two_{network_, "two"};
  std::vector<std::string> lost_, told_;
  std::unique_ptr<cluster::Mesh> one_, two_;
};

inline const TransferEdge& OneToTwo() {
  static const auto* const edge = new TransferEdge("x:0", "one", "two", 1);
  return *edge;
}
inline const TransferEdge& TwoToOne() {
  static const auto* const edge = new TransferEdge("y:0", "two", "one", 1);
  return *edge;
}

inline std::vector<Tensor> SmallAndLarge() {
  constexpr auto kEager = static_cast<int64_t>(cluster::Channel::kMaxEagerBytes);
  std::vector<Tensor> values = Samples();
  for (const int64_t bytes : {kEager - 1, kEager, kEager + 1, int64_t{5} << 20})
    values.push_back(Sample(DType::kUint8, Shape::Vector(bytes), bytes));
  values.push_back(Sample(DType::kFloat, Shape::Trusted({3, 1, 50'000}), 7));
  values.push_back(Sample(DType::kBool, Shape::Vector(2 * kEager), 7));
  values.push_back(Sample(DType::kString, Shape::Vector(1000), 8));
  const Tensor large = Sample(DType::kFloat, Shape::Vector(300'000), 9);
  values.push_back(ListOf(DType::kFloat, {large, Tensor(), large}));
  return values;
}

}  // namespace gyre::test
