// Bundles that are damaged, cut short or made up: an error that names the file, never a crash, and
// no memory beyond what the files can fill.
#include <gmock/gmock.h>

#include <filesystem>

#include "bundle/coding.h"
#include "bundle/masked_crc.h"
#include "bundle/reader.h"
#include "bundle/table.h"
#include "bundle/writer.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"
#include "wire/bundle.pb.h"

namespace gyre {
namespace {

using test::TempFolder;
using ::testing::HasSubstr;

// A bundle with a matrix in two slices, strings, and a scalar.
class MalformedBundle : public ::testing::Test {
 protected:
  void SetUp() override {
    const Tensor row = Tensor::FromValues<float>({1, 2}, Shape::Trusted({1, 2}));
    ASSERT_TRUE(WriteBundle(prefix_, {{"m", row, **ParseSliceSpec("2 2 0,1:-")},
                                      {"m", row, **ParseSliceSpec("2 2 1,1:-")},
                                      {"s", Tensor::Vector<std::string>({"ab", "c"})},
                                      {"x", Tensor::Scalar(1.0f)}})
                    .ok());
    index_ = *ReadFile(IndexFile(prefix_));
    data_ = *ReadFile(DataFile(prefix_, 0, 1));
  }

  // Reads all there is; the first error.
  absl::Status ReadAll() const {
    const absl::StatusOr<BundleReader> bundle = BundleReader::Open(prefix_);
    if (!bundle.ok()) return bundle.status();
    for (const std::string& name : bundle->Names()) {
      const absl::StatusOr<Tensor> value = bundle->Read(name);
      if (!value.ok()) return value.status();
    }
    return absl::OkStatus();
  }

  void WriteIndex(const std::string& bytes) const { folder_.Write("b.index", bytes); }
  void WriteData(const std::string& bytes) const { folder_.Write("b.data-00000-of-00001", bytes); }

  // An index of one entry with these fields, over data of eight bytes.
  std::string ErrorOf(const std::string& entry, const std::string& header = "\x08\x01") const {
    WriteIndex(WriteTable({{"", header}, {"v", entry}}));
    WriteData(std::string(8, '\0'));
    const absl::Status status = ReadAll();
    EXPECT_FALSE(absl::IsInternal(status)) << status;
    return std::string(status.message());
  }

  TempFolder folder_;
  const std::string prefix_ = folder_.Path("b");
  std::string index_;
  std::string data_;
};

TEST_F(MalformedBundle, EveryFlippedBitOfTheIndexIsNoticed) {
  ASSERT_TRUE(ReadAll().ok());
  // The footer has no checksum, but zeros that nobody reads, and the metaindex is not needed.
  size_t unnoticed = 0;
  for (size_t i = 0; i < index_.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = index_;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      WriteIndex(damaged);
      const absl::Status status = ReadAll();
      EXPECT_FALSE(absl::IsInternal(status)) << status;
      if (status.ok()) {
        ++unnoticed;
      } else {
        EXPECT_THAT(std::string(status.message()), HasSubstr("b.index")) << i;
      }
    }
  }
  EXPECT_LT(unnoticed, 8 * (48 + 13));
}

TEST_F(MalformedBundle, EveryLengthOfTheIndexIsNoticed) {
  for (size_t size = 0; size < index_.size(); ++size) {
    WriteIndex(index_.substr(0, size));
    EXPECT_TRUE(absl::IsInvalidArgument(ReadAll())) << size;
  }
}

TEST_F(MalformedBundle, EveryByteAndLengthOfTheDataIsNoticed) {
  for (size_t i = 0; i < data_.size(); ++i) {
    std::string damaged = data_;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    WriteData(damaged);
    EXPECT_TRUE(absl::IsInvalidArgument(ReadAll())) << i;
    WriteData(data_.substr(0, i));
    EXPECT_TRUE(absl::IsInvalidArgument(ReadAll())) << i;
  }
}

TEST_F(MalformedBundle, ErrorsNameFileAndKey) {
  std::string damaged = data_;
  damaged.back() ^= 1;
  WriteData(damaged);
  EXPECT_THAT(std::string(ReadAll().message()),
              HasSubstr(absl::StrCat("b.index: tensor 'x': ", DataFile(prefix_, 0, 1),
                                     ": it is damaged: its checksum is another")));
  std::filesystem::remove(DataFile(prefix_, 0, 1));
  EXPECT_THAT(std::string(ReadAll().message()), HasSubstr("b.data-00000-of-00001"));
  EXPECT_TRUE(absl::IsNotFound(ReadAll()));
}

wire::BundleEntryProto Entry(int dtype, std::initializer_list<int64_t> dims, int64_t size = 0) {
  wire::BundleEntryProto entry;
  entry.set_dtype(static_cast<wire::DataType>(dtype));
  for (const int64_t dim : dims) entry.mutable_shape()->add_dim()->set_size(dim);
  entry.set_size(size);
  return entry;
}

TEST_F(MalformedBundle, MadeUpEntriesAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const auto error_of = [&](const wire::BundleEntryProto& entry) {
    return ErrorOf(entry.SerializeAsString());
  };
  wire::BundleEntryProto floats = Entry(wire::DT_FLOAT, {2}, 8);
  EXPECT_THAT(error_of(floats), HasSubstr("checksum is another"));
  floats.set_offset(4);
  EXPECT_THAT(error_of(floats), HasSubstr("cut short"));
  floats.set_offset(-1);
  EXPECT_THAT(error_of(floats), HasSubstr("malformed"));
  floats.set_offset(0);
  floats.set_shard_id(7);
  EXPECT_THAT(error_of(floats), HasSubstr("data file 7 of 1"));
  EXPECT_THAT(error_of(Entry(wire::DT_FLOAT, {2}, 9)),
              HasSubstr("'v': float32[2] does not take 9 bytes"));
  EXPECT_THAT(error_of(Entry(wire::DT_FLOAT, {kHuge}, 4 * kHuge)), HasSubstr("cut short"));
  EXPECT_NE(error_of(Entry(wire::DT_FLOAT, {kHuge, kHuge}, 8)), "");
  EXPECT_THAT(error_of(Entry(wire::DT_STRING, {kHuge}, 8)), HasSubstr("cannot hold"));
  EXPECT_THAT(error_of(Entry(wire::DT_VARIANT, {}, 8)), HasSubstr("type variant"));
  EXPECT_THAT(error_of(Entry(99, {}, 8)), HasSubstr("type number 99"));
  EXPECT_THAT(ErrorOf("\xff\xff"), HasSubstr("a message is malformed"));
  wire::BundleHeaderProto header;
  header.set_num_shards(1);
  header.set_endianness(wire::BundleHeaderProto::BIG);
  EXPECT_THAT(ErrorOf("", header.SerializeAsString()), HasSubstr("big-endian"));
}

TEST_F(MalformedBundle, SlicesMustMakeUpTheTensor) {
  // Said to be in one slice of 2^40 rows; the slice itself is missing.
  wire::BundleEntryProto entry = Entry(wire::DT_FLOAT, {int64_t{1} << 40});
  entry.add_slices()->add_extent()->set_length(1);  // row 0
  EXPECT_THAT(ErrorOf(entry.SerializeAsString()), HasSubstr("its slice 0,1 is missing"));
  entry.mutable_shape()->mutable_dim(0)->set_size(0);
  EXPECT_THAT(ErrorOf(entry.SerializeAsString()), HasSubstr("does not lie in"));
}

// A block with its one restart and its trailer, put at the end of a file; returns where it lies.
std::string AppendBlock(std::string block, std::string& file) {
  PutFixed32(0, block);
  PutFixed32(1, block);
  std::string handle;
  PutVarint(file.size(), handle);
  PutVarint(block.size(), handle);
  block.push_back('\0');
  file += block;
  PutFixed32(MaskedCrc(block), file);
  return handle;
}

void AppendEntry(size_t shared, const std::string& rest, const std::string& value,
                 std::string& block) {
  PutVarint(shared, block);
  PutVarint(rest.size(), block);
  PutVarint(value.size(), block);
  block += rest + value;
}

TEST_F(MalformedBundle, KeysThatGrowFromAFewBytesAreRefused) {
  // Each key is the one before and a byte more, which takes a handful of bytes in the file.
  constexpr size_t kKey = 1 << 16;
  std::string file, block, index;
  AppendEntry(0, std::string(kKey, 'k'), "", block);
  for (size_t i = 0; i < 1000; ++i) AppendEntry(kKey + i, "z", "", block);
  AppendEntry(0, "z", AppendBlock(block, file), index);
  std::string footer = AppendBlock("", file);
  footer += AppendBlock(index, file);
  footer.resize(40);
  PutFixed64(0xdb4775248b80fb57, footer);
  WriteIndex(file + footer);
  EXPECT_THAT(std::string(ReadAll().message()), HasSubstr("its keys are too long"));
}

TEST_F(MalformedBundle, LinksMustNotLeadOutOfTheFolder) {
  const TempFolder outside;
  std::filesystem::rename(DataFile(prefix_, 0, 1), outside.Path("data"));
  std::filesystem::create_symlink(outside.Path("data"), DataFile(prefix_, 0, 1));
  EXPECT_TRUE(ReadAll().ok());
  const absl::StatusOr<BundleReader> confined = BundleReader::Open(prefix_, folder_.path());
  ASSERT_TRUE(confined.ok()) << confined.status();
  EXPECT_TRUE(absl::IsPermissionDenied(confined->Read("x").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(BundleReader::Open(prefix_, outside.path()).status()));
}

TEST_F(MalformedBundle, CompressedBlocksAreRefusedInWords) {
  std::string compressed = index_;
  // The first block ends where its trailer says how it is stored; find it by its checksum.
  for (size_t size = 1; size + 5 < compressed.size(); ++size) {
    if (MaskedCrc(absl::string_view(index_).substr(0, size + 1)) !=
        LoadFixed32(index_.data() + size + 1)) {
      continue;
    }
    std::string block = index_.substr(0, size) + '\1';
    std::string trailer;
    PutFixed32(MaskedCrc(block), trailer);
    compressed.replace(0, size + 5, block + trailer);
    break;
  }
  WriteIndex(compressed);
  const absl::Status status = ReadAll();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("compressed"));
}

}  // namespace
}  // namespace gyre
