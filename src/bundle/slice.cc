#include "bundle/slice.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace gyre {
namespace {

// The codes below keep the order of what they stand for (TensorFlow's OrderedCode).

void PutOrderedNumber(uint64_t value, std::string& out) {
  std::string bytes;
  for (; value != 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value));
  out.push_back(static_cast<char>(bytes.size()));
  out += bytes;
}

void PutOrderedText(absl::string_view text, std::string& out) {
  for (const char c : text) {
    out.push_back(c);
    if (c == '\0') out.push_back('\xff');
    if (c == '\xff') out.push_back('\0');
  }
  out.append("\0\1", 2);
}

// n bytes hold 7n - 1 bits in two's complement; n leading ones and a zero say how many they are,
// flipped for negative numbers.
void PutOrderedSigned(int64_t value, std::string& out) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int bits = magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude);
  const int n = std::max(1, (bits + 1 + 6) / 7);
  std::string bytes;
  for (int i = n - 1; i >= 0; --i)
    bytes.push_back(i >= 8 ? (value < 0 ? '\xff' : '\0') : static_cast<char>(value >> (8 * i)));
  for (int bit = 0; bit < n; ++bit)
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (0x80 >> (bit % 8)));
  out += bytes;
}

absl::Status BadSpec(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is no slice: dimensions and the slice are wanted, as in '7 4 3,2:0,4'"));
}

}  // namespace

absl::StatusOr<TensorSlice> TensorSlice::Resolve(const Shape& full) const {
  const bool fits = static_cast<int>(extents.size()) == full.rank();
  TensorSlice resolved = *this;
  for (int i = 0; fits && i < full.rank(); ++i) {
    Extent& e = resolved.extents[i];
    if (e.length < 0) e = {0, full.dim(i)};
    if (e.start < 0 || e.start > full.dim(i) || e.length > full.dim(i) - e.start)
      return absl::InvalidArgumentError(
          absl::StrCat("the slice ", ToString(), " does not lie in ", full.ToString()));
  }
  if (fits) return resolved;
  return absl::InvalidArgumentError(absl::StrCat("the slice ", ToString(), " has ", extents.size(),
                                                 " axes, but the tensor is ", full.ToString()));
}

Shape TensorSlice::shape() const {
  Dims dims;
  for (const Extent& e : extents) dims.push_back(e.length);
  return Shape::Trusted(std::move(dims));
}

std::string TensorSlice::ToString() const {
  return absl::StrJoin(extents, ":", [](std::string* out, const Extent& e) {
    if (e.length < 0) {
      out->push_back('-');
    } else {
      absl::StrAppend(out, e.start, ",", e.length);
    }
  });
}

absl::StatusOr<std::optional<SliceSpec>> ParseSliceSpec(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  const absl::string_view box = words.back();
  words.pop_back();
  std::vector<int64_t> dims;
  for (const absl::string_view word : words) {
    dims.emplace_back();
    if (!absl::SimpleAtoi(word, &dims.back()) || dims.back() < 0) return BadSpec(text);
  }
  TensorSlice slice;
  if (!box.empty()) {
    for (const absl::string_view part : absl::StrSplit(box, ':')) {
      TensorSlice::Extent& e = slice.extents.emplace_back();
      if (part == "-") continue;
      const std::vector<absl::string_view> ends = absl::StrSplit(part, ',');
      if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &e.start) ||
          !absl::SimpleAtoi(ends[1], &e.length) || e.start < 0 || e.length < 0) {
        return BadSpec(text);
      }
    }
  }
  GYRE_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  GYRE_RETURN_IF_ERROR(slice.Resolve(shape).status());
  return SliceSpec{std::move(shape), std::move(slice)};
}

std::string SliceKey(absl::string_view name, const TensorSlice& slice) {
  std::string key;
  PutOrderedNumber(0, key);
  PutOrderedText(name, key);
  PutOrderedNumber(slice.extents.size(), key);
  for (const TensorSlice::Extent& e : slice.extents) {
    PutOrderedSigned(e.start, key);
    PutOrderedSigned(e.length, key);
  }
  return key;
}

}  // namespace gyre
