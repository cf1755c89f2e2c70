// StringToHashBucket and its kin: the bucket that a text falls into.
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/fingerprint.h"
#include "ops/text/map_texts.h"

namespace gyre {
namespace {

struct BucketAttrs {
  explicit BucketAttrs(const Node& node)
      : buckets(static_cast<uint64_t>(NodeAttr<int64_t>(node, "num_buckets"))) {}
  uint64_t buckets;
};

template <uint64_t (*Hash)(absl::string_view)>
absl::Status Bucket(KernelContext& ctx, const BucketAttrs& attrs) {
  return NumberTexts<int64_t>(ctx, [&](const std::string& text) {
    return static_cast<int64_t>(Hash(text) % attrs.buckets);
  });
}

struct StrongAttrs {
  static absl::StatusOr<StrongAttrs> Make(const Node& node) {
    const auto& key = NodeAttr<std::vector<int64_t>>(node, "key");
    if (key.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("key must have 2 elements, but has ", key.size()));
    }
    return StrongAttrs{BucketAttrs(node).buckets, static_cast<uint64_t>(key[0]),
                       static_cast<uint64_t>(key[1])};
  }
  uint64_t buckets, key0, key1;
};

absl::Status StrongBucket(KernelContext& ctx, const StrongAttrs& attrs) {
  return NumberTexts<int64_t>(ctx, [&](const std::string& text) {
    return static_cast<int64_t>(SipHash24(attrs.key0, attrs.key1, text) % attrs.buckets);
  });
}

void Add(OpRegistry& ops, absl::string_view schema, absl::string_view doc, KernelFactory kernel,
         FailureFn failure) {
  ops.Add({.schema = schema,
           .doc = doc,
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("strings have no derivative"),
           .failure = failure,
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterHashBucket(OpRegistry& ops) {
  Add(ops, "StringToHashBucketFast(input: string) -> output: int64 {num_buckets: int >= 1}",
      "The bucket of each string, by FarmHash.", Compute<&Bucket<&FarmFingerprint64>>(),
      fails::Never);
  Add(ops, "StringToHashBucket(string_tensor: string) -> output: int64 {num_buckets: int >= 1}",
      "The bucket of each string, by MurmurHash; StringToHashBucketFast is better.",
      Compute<&Bucket<&SeededMurmur64>>(), fails::Never);
  Add(ops,
      "StringToHashBucketStrong(input: string) -> output: int64 {num_buckets: int >= 1; key: "
      "list(int)}",
      "The bucket of each string, by SipHash, which nobody without the key can foresee.",
      Compute<&StrongBucket>(), nullptr);
}

}  // namespace gyre
