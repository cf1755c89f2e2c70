// Tensors and frames as bytes: what is written is read again, and bytes that are none do no harm.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cluster/damage.h"
#include "cluster/samples.h"
#include "cluster/wire/frame.h"
#include "cluster/wire/tensor_codec.h"
#include "gmock/gmock.h"
#include "ops/variant_ops.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::Damage;
using test::IsSame;
using ::testing::HasSubstr;

int Mutations() { return testing::IsLongTest() ? 1'000'000 : 100'000; }

std::string Encoded(const Tensor& tensor) {
  std::string bytes;
  const absl::Status status = EncodeTensor(tensor, bytes);
  EXPECT_TRUE(status.ok()) << status;
  return bytes;
}

absl::StatusOr<Tensor> Decoded(absl::string_view bytes, MemoryBudget* budget = nullptr) {
  return DecodeTensor(bytes, budget);
}

bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
}

TEST(TensorCodec, GivesBackWhatItWasGiven) {
  for (const Tensor& sample : test::Samples()) {
    const std::string bytes = Encoded(sample) + "next";
    const auto budget = MakeRef<MemoryBudget>();
    absl::string_view in = bytes;
    {
      const absl::StatusOr<Tensor> got = DecodeTensor(in, budget.get());
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_TRUE(IsSame(*got, sample)) << DTypeName(sample.dtype()) << sample.shape().ToString();
      EXPECT_EQ(in, "next");
    }
    EXPECT_EQ(budget->used(), 0);
  }
}

TEST(TensorCodec, RefusesWhatBelongsToAProcess) {
  class Thing final : public Object {
    absl::string_view type_name() const override { return "Thing"; }
  };
  std::string out;
  const auto refusal = [&](const Tensor& tensor) {
    const absl::Status status = EncodeTensor(tensor, out);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(Tensor::FromObject(DType::kResource, MakeRef<Thing>())),
            "a reference to a Thing cannot leave the process that made it");
  EXPECT_THAT(refusal(Tensor::FromRef(DType::kFloat, MakeRef<Thing>())), HasSubstr("a Thing"));
  EXPECT_THAT(refusal(Tensor::FromObject(DType::kVariant, MakeRef<Thing>())),
              HasSubstr("a Thing cannot leave"));
  EXPECT_THAT(refusal(*Tensor::Make(DType::kResource, Shape::Vector(2))), HasSubstr("resource"));
  EXPECT_THAT(refusal(Tensor()), HasSubstr("no value"));
  const Tensor handle = Tensor::FromObject(DType::kResource, MakeRef<Thing>());
  EXPECT_THAT(refusal(test::SomeOf({Tensor::Scalar(1.0f), handle})), HasSubstr("a Thing"));
}

// Neither direction may end the C++ stack.
TEST(TensorCodec, RefusesWhatIsNestedTooDeeply) {
  constexpr int kDeep = 100'000;
  const Tensor nothing = Tensor::FromObject(DType::kVariant, nullptr);
  const std::string inner = Encoded(nothing), outer = Encoded(test::SomeOf({nothing}));
  ASSERT_TRUE(absl::EndsWith(std::string(outer), inner));
  const std::string shell = outer.substr(0, outer.size() - inner.size());
  std::string bytes;
  for (int i = 0; i < kDeep; ++i) bytes += shell;
  const absl::Status status = Decoded(bytes + inner).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  Tensor deep = nothing;
  absl::Status encoded;
  for (int i = 0; i < 10'000 && encoded.ok(); ++i) {
    deep = test::SomeOf({deep});
    std::string out;
    encoded = EncodeTensor(deep, out);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(encoded)) << encoded;
}

TEST(TensorCodec, TakesNoMoreMemoryThanItsBudget) {
  const std::string bytes = Encoded(test::Sample(DType::kFloat, Shape::Vector(1000), 1));
  const auto budget = MakeRef<MemoryBudget>(3999);
  EXPECT_TRUE(absl::IsResourceExhausted(Decoded(bytes, budget.get()).status()));
  EXPECT_EQ(budget->used(), 0);
}

// C++'s bool has two values; bytes from elsewhere have 256.
TEST(TensorCodec, MakesBoolsOfAnyByte) {
  std::string bytes = Encoded(Tensor::Vector<bool>({false, true, true}));
  bytes.back() = '\x80';
  const absl::StatusOr<Tensor> got = Decoded(bytes);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(IsSame(*got, Tensor::Vector<bool>({false, true, true})));
}

TEST(TensorCodecMalformed, RefusesWhatIsCutOff) {
  for (const Tensor& sample : test::Samples()) {
    const std::string bytes = Encoded(sample);
    const auto budget = MakeRef<MemoryBudget>();
    for (size_t n = 0; n < bytes.size(); ++n) {
      const absl::Status status = Decoded(bytes.substr(0, n), budget.get()).status();
      ASSERT_TRUE(IsRefusal(status)) << n << " of " << bytes.size() << ": " << status;
    }
    EXPECT_EQ(budget->used(), 0);
  }
}

TEST(TensorCodecMalformed, TakesNoMoreThanItsBytesJustify) {
  constexpr int64_t kPerByte = 64;
  std::vector<std::string> originals;
  for (const Tensor& sample : test::Samples()) originals.push_back(Encoded(sample));
  Damage damage(testing::TestSeed());
  int accepted = 0;
  for (int i = 0; i < Mutations(); ++i) {
    // Lists and their like, which come last, have the most to get wrong.
    const size_t last = damage.Draw(2) == 0 ? originals.size() : 8;
    const std::string bytes = damage.To(originals[originals.size() - 1 - damage.Draw(last)]);
    const auto budget = MakeRef<MemoryBudget>();
    {
      const absl::StatusOr<Tensor> got = Decoded(bytes, budget.get());
      ASSERT_TRUE(got.ok() || IsRefusal(got.status())) << "mutation " << i << ": " << got.status();
      ASSERT_LE(budget->peak(), kPerByte * static_cast<int64_t>(bytes.size() + 64)) << i;
      if (got.ok()) {
        ++accepted;
        const absl::StatusOr<Tensor> again = Decoded(Encoded(*got));
        ASSERT_TRUE(again.ok() && IsSame(*again, *got)) << i;
      }
    }
    ASSERT_EQ(budget->used(), 0) << i;
  }
  EXPECT_GT(accepted, Mutations() / 100);
}

FrameHeader SomeHeader() {
  FrameHeader header;
  header.kind = FrameKind::kPulled;
  header.dtype = DType::kInt16;
  header.flags = FrameHeader::kEncoded;
  header.rank = 3;
  header.body_bytes = 0x89abcdef;
  header.step = 0xfedcba9876543210;
  header.key = {~uint64_t{0}, {0x1122334455667788, -5}};
  header.number = uint64_t{1} << 63;
  header.body_crc = 0xdeadbeef;
  return header;
}

std::string Bytes(const FrameHeader& header, bool with_checksum) {
  std::string bytes(FrameHeader::kBytes, '\0');
  EncodeHeader(header, with_checksum, bytes.data());
  return bytes;
}

TEST(Frames, HaveHeadersThatComeBack) {
  const FrameHeader want = SomeHeader();
  for (const bool with_checksum : {false, true}) {
    const absl::StatusOr<FrameHeader> got = DecodeHeader(Bytes(want, with_checksum), with_checksum);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->kind, want.kind);
    EXPECT_EQ(got->dtype, want.dtype);
    EXPECT_EQ(got->flags, want.flags);
    EXPECT_EQ(got->rank, want.rank);
    EXPECT_EQ(got->body_bytes, want.body_bytes);
    EXPECT_EQ(got->step, want.step);
    EXPECT_EQ(got->key, want.key);
    EXPECT_EQ(got->number, want.number);
    EXPECT_EQ(got->body_crc, with_checksum ? want.body_crc : 0);
  }
}

TEST(FramesMalformed, ShowDamageByTheirChecksum) {
  const std::string bytes = Bytes(SomeHeader(), true);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(absl::IsDataLoss(DecodeHeader(damaged, true).status())) << bit;
  }
}

TEST(FramesMalformed, AreRefusedOrReadAsTheyStand) {
  Damage damage(testing::TestSeed());
  const std::string header = Bytes(SomeHeader(), false);
  const std::string hello = EncodeHello({1, 2, "a secret of the cluster"});
  for (int i = 0; i < Mutations(); ++i) {
    const std::string bytes = damage.To(header);
    const absl::StatusOr<FrameHeader> got = DecodeHeader(bytes, false);
    if (got.ok()) {
      std::string again = Bytes(*got, false);
      // Both checksums are left out.
      ASSERT_EQ(again.substr(0, 48), bytes.substr(0, 48)) << i;
    } else {
      ASSERT_TRUE(absl::IsInvalidArgument(got.status())) << i;
    }
    const std::string call = damage.To(hello);
    const absl::StatusOr<Hello> caller = DecodeHello(call);
    if (caller.ok()) {
      ASSERT_EQ(EncodeHello(*caller), call) << i;
    } else {
      ASSERT_TRUE(absl::IsInvalidArgument(caller.status())) << i;
    }
  }
}

TEST(FramesMalformed, AreNoHelloOfAnotherVersion) {
  const std::string hello = EncodeHello({1, 2, "secret"});
  const absl::StatusOr<Hello> got = DecodeHello(hello);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->from, 1u);
  EXPECT_EQ(got->to, 2u);
  EXPECT_EQ(got->secret, "secret");
  std::string next = hello;
  next[4] = '\2';
  for (const std::string& bytes : {next, hello.substr(0, 20), hello + std::string(300, 'x'),
                                   std::string("GET / HTTP/1.1\r\n\r\n"), std::string()}) {
    EXPECT_THAT(std::string(DecodeHello(bytes).status().message()), HasSubstr("no tensor channel"));
  }
}

}  // namespace
}  // namespace gyre::cluster
