// Any bytes at all as an image file: decoding them ends in an image or in a status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "ops/codec/codec.h"

namespace {

absl::Status Decode(const gyre::KernelContext& ctx, absl::string_view bytes) {
  using gyre::codec::Format;
  switch (gyre::codec::FormatOf(bytes)) {
    case Format::kJpeg:
      return gyre::codec::DecodeJpeg(ctx, bytes, {}).status();
    case Format::kPng:
      return gyre::codec::DecodePng(ctx, bytes, 0, gyre::DType::kUint16).status();
    case Format::kGif:
      return gyre::codec::DecodeGif(ctx, bytes, false).status();
    case Format::kBmp:
      return gyre::codec::DecodeBmp(ctx, bytes, 4).status();
    case Format::kUnknown:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto budget = gyre::MakeRef<gyre::MemoryBudget>(int64_t{64} << 20);
  const gyre::Node node;
  gyre::RunEnv env;
  env.budget = budget.get();
  const gyre::KernelContext ctx(node, env, gyre::Tag{}, {}, {});
  (void)Decode(ctx, {reinterpret_cast<const char*>(data), size});
  if (budget->used() != 0) std::abort();
  return 0;
}
