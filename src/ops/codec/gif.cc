// GIF89a: frames of palette indices, compressed by LZW, each drawn over the one before.
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ops/codec/codec.h"

namespace gyre::codec {
namespace {

absl::Status Invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("Invalid GIF data: ", what));
}

// What is left of the bytes.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  bool Byte(uint8_t& value) {
    if (bytes_.empty()) return false;
    value = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return true;
  }
  bool Short(int64_t& value) {
    uint8_t low, high;
    if (!Byte(low) || !Byte(high)) return false;
    value = low | high << 8;
    return true;
  }
  bool Take(size_t n, absl::string_view& taken) {
    if (n > bytes_.size()) return false;
    taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return true;
  }
  // A block, whose first byte is its length; empty: the end of blocks.
  bool Block(absl::string_view& block) {
    uint8_t n;
    return Byte(n) && Take(n, block);
  }
  bool SkipBlocks() {
    absl::string_view block;
    do {
      if (!Block(block)) return false;
    } while (!block.empty());
    return true;
  }

 private:
  absl::string_view bytes_;
};

struct Canvas {
  int64_t width, height;
  absl::string_view palette;  // three bytes for a color
};

struct Frame {
  int64_t left, top, width, height;
  bool interlaced;
  absl::string_view palette;
  int transparent;  // -1: none
};

// The row that comes as the nth of an interlaced image.
int64_t InterlacedRow(int64_t n, int64_t height) {
  constexpr int64_t kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  for (int pass = 0; pass < 4; ++pass) {
    const int64_t rows = (height - kFirst[pass] + kStep[pass] - 1) / kStep[pass];
    if (n < rows) return kFirst[pass] + n * kStep[pass];
    n -= std::max<int64_t>(rows, 0);
  }
  return height - 1;
}

// Draws indices as they come into the pixels of a canvas.
class Painter {
 public:
  Painter(const Canvas& canvas, const Frame& frame, uint8_t* pixels)
      : canvas_(canvas), frame_(frame), pixels_(pixels) {}

  bool is_full() const { return row_ == frame_.height; }
  bool has_bad_color() const { return bad_color_; }

  void Paint(uint8_t index) {
    if (is_full()) return;
    if (index != frame_.transparent) {
      if (3 * (index + size_t{1}) > frame_.palette.size()) {
        bad_color_ = true;
        return;
      }
      const int64_t y =
          frame_.top + (frame_.interlaced ? InterlacedRow(row_, frame_.height) : row_);
      std::memcpy(pixels_ + 3 * (y * canvas_.width + frame_.left + column_),
                  frame_.palette.data() + 3 * index, 3);
    }
    if (++column_ == frame_.width) {
      column_ = 0;
      ++row_;
    }
  }

 private:
  const Canvas& canvas_;
  const Frame& frame_;
  uint8_t* const pixels_;
  int64_t row_ = 0, column_ = 0;
  bool bad_color_ = false;
};

// Welch, "A technique for high-performance data compression", 1984, with codes that grow to 12
// bits.
class Lzw {
 public:
  explicit Lzw(int bits) : clear_(1 << bits), first_bits_(bits + 1) { Reset(); }

  // False at the end, or at a code that there is not (is_bad).
  bool Take(int code, Painter& painter) {
    if (code == clear_) {
      Reset();
      return true;
    }
    if (code == clear_ + 1) return false;
    if (before_ < 0) {
      if (code > clear_) return Bad();
      Emit(code, painter);
      before_ = code;
      return true;
    }
    if (code > next_ || (code == next_ && next_ >= kMost)) return Bad();
    // A code that is just being made begins as the one before it, and ends with that beginning.
    const uint8_t first = FirstOf(code == next_ ? before_ : code);
    if (next_ < kMost) {
      prefix_[next_] = static_cast<int16_t>(before_);
      suffix_[next_] = first;
      ++next_;
      if (next_ == 1 << bits_ && bits_ < 12) ++bits_;
    }
    Emit(code, painter);
    before_ = code;
    return true;
  }

  int bits() const { return bits_; }
  bool is_bad() const { return bad_; }

 private:
  static constexpr int kMost = 4096;

  bool Bad() {
    bad_ = true;
    return false;
  }
  void Reset() {
    bits_ = first_bits_;
    next_ = clear_ + 2;
    before_ = -1;
  }
  uint8_t FirstOf(int code) const {
    while (code >= clear_ + 2) code = prefix_[code];
    return static_cast<uint8_t>(code);
  }
  void Emit(int code, Painter& painter) {
    int n = 0;
    while (code >= clear_ + 2) {
      stack_[n++] = suffix_[code];
      code = prefix_[code];
    }
    painter.Paint(static_cast<uint8_t>(code));
    while (n > 0) painter.Paint(stack_[--n]);
  }

  const int clear_, first_bits_;
  int bits_ = 0, next_ = 0, before_ = -1;
  bool bad_ = false;
  std::array<int16_t, kMost> prefix_ = {};
  std::array<uint8_t, kMost> suffix_ = {}, stack_ = {};
};

absl::Status DecodeFrame(const KernelContext& ctx, Reader& reader, const Canvas& canvas,
                         const Frame& frame, uint8_t* pixels) {
  uint8_t size;
  if (!reader.Byte(size)) return Invalid("it ends too soon");
  if (size < 1 || size > 8) return Invalid(absl::StrCat("codes of ", size, " bits"));
  Painter painter(canvas, frame, pixels);
  const auto lzw = std::make_unique<Lzw>(size);
  uint64_t held = 0;
  int count = 0;
  bool ended = false;
  absl::string_view block;
  while (true) {
    if (!reader.Block(block)) return Invalid("it ends too soon");
    if (block.empty()) break;
    GYRE_RETURN_IF_ERROR(ctx.Poll());  // a block has 255 bytes, of at most 4096 pixels each
    for (const char byte : block) {
      held |= uint64_t{static_cast<uint8_t>(byte)} << count;
      count += 8;
      while (!ended && count >= lzw->bits()) {
        const int code = static_cast<int>(held & ((uint64_t{1} << lzw->bits()) - 1));
        held >>= lzw->bits();
        count -= lzw->bits();
        ended = !lzw->Take(code, painter) || painter.is_full();
      }
      if (ended) count = 0, held = 0;
    }
  }
  if (lzw->is_bad()) return Invalid("a code that there is not");
  if (painter.has_bad_color()) return Invalid("a color that is not in the palette");
  if (!painter.is_full()) return Invalid("a frame has too few pixels");
  return absl::OkStatus();
}

// A palette of 2^(n + 1) colors, where the low three bits of `flags` are n.
bool TakePalette(Reader& reader, uint8_t flags, absl::string_view& palette) {
  return reader.Take(size_t{3} << ((flags & 7) + 1), palette);
}

// What stands in front of frames. False where the bytes end.
bool ReadExtension(Reader& reader, int& transparent) {
  uint8_t label;
  if (!reader.Byte(label)) return false;
  constexpr uint8_t kGraphicControl = 0xf9;
  if (label == kGraphicControl) {
    absl::string_view block;
    if (!reader.Block(block)) return false;
    if (block.size() >= 4) transparent = (block[0] & 1) != 0 ? static_cast<uint8_t>(block[3]) : -1;
    if (block.empty()) return true;
  }
  return reader.SkipBlocks();
}

absl::StatusOr<Frame> ReadFrame(Reader& reader, const Canvas& canvas, int transparent) {
  Frame frame{0, 0, 0, 0, false, canvas.palette, transparent};
  uint8_t flags;
  if (!reader.Short(frame.left) || !reader.Short(frame.top) || !reader.Short(frame.width) ||
      !reader.Short(frame.height) || !reader.Byte(flags))
    return Invalid("it ends too soon");
  if (frame.width < 1 || frame.height < 1 || frame.left + frame.width > canvas.width ||
      frame.top + frame.height > canvas.height)
    return Invalid("a frame lies outside of the image");
  frame.interlaced = (flags & 0x40) != 0;
  if ((flags & 0x80) != 0 && !TakePalette(reader, flags, frame.palette))
    return Invalid("it ends too soon");
  if (frame.palette.empty()) return Invalid("a frame has no palette");
  return frame;
}

// Goes through all frames: counts them, or draws them into `pixels`, one canvas after the other.
absl::StatusOr<int64_t> ReadFrames(const KernelContext& ctx, Reader reader, const Canvas& canvas,
                                   bool first_only, uint8_t* pixels) {
  constexpr uint8_t kExtension = 0x21, kImage = 0x2c, kEnd = 0x3b;
  const int64_t canvas_bytes = 3 * canvas.width * canvas.height;
  int64_t count = 0;
  int transparent = -1;
  uint8_t kind;
  while (reader.Byte(kind) && kind != kEnd) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (kind == kExtension) {
      if (!ReadExtension(reader, transparent)) return Invalid("it ends too soon");
      continue;
    }
    if (kind != kImage) return Invalid("neither a frame nor an extension");
    GYRE_ASSIGN_OR_RETURN(const Frame frame, ReadFrame(reader, canvas, transparent));
    if (pixels == nullptr) {
      uint8_t size;
      if (!reader.Byte(size) || !reader.SkipBlocks()) return Invalid("it ends too soon");
    } else {
      uint8_t* const to = pixels + count * canvas_bytes;
      if (count > 0) std::memcpy(to, to - canvas_bytes, canvas_bytes);
      GYRE_RETURN_IF_ERROR(DecodeFrame(ctx, reader, canvas, frame, to));
    }
    transparent = -1;
    ++count;
    if (first_only) break;
  }
  return count;
}

}  // namespace

absl::StatusOr<Tensor> DecodeGif(const KernelContext& ctx, absl::string_view bytes,
                                 bool first_only) {
  Reader reader(bytes);
  Canvas canvas{};
  absl::string_view magic, rest;
  uint8_t flags;
  if (!reader.Take(6, magic) || !reader.Short(canvas.width) || !reader.Short(canvas.height) ||
      !reader.Byte(flags) || !reader.Take(2, rest))
    return Invalid("it ends too soon");
  if (magic != "GIF87a" && magic != "GIF89a") return Invalid("it does not begin as a GIF");
  if ((flags & 0x80) != 0 && !TakePalette(reader, flags, canvas.palette))
    return Invalid("it ends too soon");
  if (canvas.width < 1 || canvas.height < 1) return Invalid("it has no pixels");
  GYRE_ASSIGN_OR_RETURN(const int64_t frames, ReadFrames(ctx, reader, canvas, first_only, nullptr));
  if (frames == 0) return Invalid("it has no frames");
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({frames, canvas.height, canvas.width, 3}));
  GYRE_ASSIGN_OR_RETURN(Tensor image, ctx.AllocateZeros(DType::kUint8, shape));
  GYRE_RETURN_IF_ERROR(
      ReadFrames(ctx, reader, canvas, first_only, image.mutable_values<uint8_t>().data()).status());
  return image;
}

}  // namespace gyre::codec
