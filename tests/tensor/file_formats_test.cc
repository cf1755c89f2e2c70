// .npy and .safetensors: what is written reads back, files of others are understood, malformed ones
// are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gyre/core/tensor.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"
#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"

namespace gyre {
namespace {

using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kNumbers[] = {DType::kHalf,     DType::kFloat,  DType::kDouble, DType::kInt8,
                              DType::kInt16,    DType::kInt32,  DType::kInt64,  DType::kUint8,
                              DType::kUint16,   DType::kUint32, DType::kUint64, DType::kBool,
                              DType::kComplex64};

// A tensor whose bytes count up: every bit pattern must survive.
Tensor Counting(DType dtype, const Shape& shape) {
  Tensor tensor = *Tensor::Make(dtype, shape);
  unsigned char* bytes = static_cast<unsigned char*>(tensor.mutable_raw_data());
  const size_t n = DTypeSize(dtype) * static_cast<size_t>(shape.num_elements());
  for (size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<unsigned char>(dtype == DType::kBool ? i % 2 : i + 1);
  return tensor;
}

void ExpectSame(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  const size_t n = DTypeSize(want.dtype()) * static_cast<size_t>(want.num_elements());
  EXPECT_EQ(std::memcmp(got.raw_data(), want.raw_data(), n), 0);
}

std::vector<Shape> Shapes() {
  return {Shape(),
          Shape::Vector(0),
          Shape::Vector(5),
          *Shape::Make({2, 3}),
          *Shape::Make({2, 0, 3}),
          *Shape::Make({2, 1, 3, 1, 2})};
}

std::string Npy(const std::string& header, const std::string& data, char version = 1) {
  std::string file("\x93NUMPY", 6);
  file += {version, 0, static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

std::string Safetensors(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

TEST(Npy, WhatIsWrittenReadsBack) {
  const TempFolder folder;
  std::vector<DType> dtypes(std::begin(kNumbers), std::end(kNumbers));
  dtypes.push_back(DType::kComplex128);
  for (const DType dtype : dtypes) {
    for (const Shape& shape : Shapes()) {
      const Tensor tensor = Counting(dtype, shape);
      ASSERT_TRUE(WriteNpy(folder.Path("x.npy"), tensor).ok());
      const auto read = ReadNpy(folder.Path("x.npy"));
      ASSERT_TRUE(read.ok()) << read.status();
      ExpectSame(*read, tensor);
    }
  }
}

TEST(Npy, WritesWhatNumpyWrites) {
  const TempFolder folder;
  ASSERT_TRUE(WriteNpy(folder.Path("x.npy"), Tensor::Vector<int16_t>({1, 2})).ok());
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  const std::string padded = header + std::string(118 - header.size() - 1, ' ') + "\n";
  EXPECT_EQ(*ReadFile(folder.Path("x.npy")), Npy(padded, std::string("\1\0\2\0", 4)));
}

TEST(Npy, ReadsColumnMajorOrder) {
  const TempFolder folder;
  const std::string path = folder.Write(
      "x.npy", Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\4\2\5\3\6"));
  const auto read = ReadNpy(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->shape(), *Shape::Make({2, 3}));
  EXPECT_THAT(read->values<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, ReadsBigEndianNumbersPartByPart) {
  const TempFolder folder;
  const auto ints =
      ReadNpy(folder.Write("i.npy", Npy("{'descr': '>i4', 'fortran_order': False, 'shape': (1,)}",
                                        std::string("\0\0\1\2", 4), 2)));
  ASSERT_TRUE(ints.ok()) << ints.status();
  EXPECT_EQ(ints->values<int32_t>()[0], 0x102);
  const auto complex =
      ReadNpy(folder.Write("c.npy", Npy("{\"descr\": '>c8', 'shape': (), 'fortran_order': False}",
                                        std::string("\x3f\x80\0\0\x40\0\0\0", 8))));
  ASSERT_TRUE(complex.ok()) << complex.status();
  EXPECT_EQ(complex->scalar<complex64>(), complex64(1, 2));
}

TEST(Npy, AnyNonzeroByteIsTrue) {
  const TempFolder folder;
  const auto read =
      ReadNpy(folder.Write("b.npy", Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }",
                                        std::string("\0\2\xff", 3))));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->values<bool>(), ElementsAre(false, true, true));
}

TEST(Npy, MalformedFilesAreRefusedWithAReason) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::string data(8, '\0');
  const std::pair<std::string, std::string> kCases[] = {
      {"", "not an .npy file"},
      {"\x93NUMPX\1\0\0\0", "not an .npy file"},
      {Npy(good, data, 9), "version 9"},
      {Npy(good, data).substr(0, 30), "cut short within its header"},
      {Npy(good, "\1\2\3"), "but 3 bytes follow"},
      {Npy(good, data + data), "but 16 bytes follow"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", data),
       "bytes follow"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4), }", data),
       "x.npy"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", data),
       "whole numbers"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", data), "whole numbers"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", data), "')' is missing"},
      {Npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", data), "'|O'"},
      {Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", data), "records"},
      {Npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", data),
       "'False' is missing"},
      {Npy("{'descr': '<f4', 'shape': (2,), }", data), "lacks"},
      {Npy("{'colour': 'red'}", data), "'colour'"},
      {Npy("{'descr", data), "not a dict"},
      {Npy("", data), "not a dict"},
  };
  const TempFolder folder;
  for (const auto& [content, reason] : kCases) {
    const auto read = ReadNpy(folder.Write("x.npy", content));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << reason;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(reason));
  }
}

TEST(Npy, FilesThatAreNotThereOrNoFiles) {
  const TempFolder folder;
  EXPECT_EQ(ReadNpy(folder.Path("none.npy")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadNpy(folder.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(WriteNpy(folder.Path("no/such/folder.npy"), Tensor::Scalar(1.0f)).ok());
}

TEST(Npy, TypesWithoutANameAreNotWritten) {
  const TempFolder folder;
  for (const DType dtype : {DType::kBfloat16, DType::kString}) {
    EXPECT_EQ(WriteNpy(folder.Path("x.npy"), *Tensor::Make(dtype, Shape())).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(Safetensors, WhatIsWrittenReadsBack) {
  const TempFolder folder;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<DType> dtypes(std::begin(kNumbers), std::end(kNumbers));
  dtypes.push_back(DType::kBfloat16);
  for (const DType dtype : dtypes) {
    for (const Shape& shape : Shapes()) {
      tensors.emplace_back(absl::StrCat(DTypeName(dtype), shape.ToString(), ":0"),
                           Counting(dtype, shape));
    }
  }
  ASSERT_TRUE(WriteSafetensors(folder.Path("x.safetensors"), tensors).ok());
  const auto file = SafetensorsFile::Open(folder.Path("x.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Names().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto read = file->Read(name);
    ASSERT_TRUE(read.ok()) << read.status();
    ExpectSame(*read, tensor);
  }
  EXPECT_EQ(file->Read("none").status().code(), absl::StatusCode::kNotFound);
}

TEST(Safetensors, MetadataIsPassedOver) {
  const TempFolder folder;
  const auto file = SafetensorsFile::Open(folder.Write(
      "x.safetensors",
      Safetensors(
          R"({"__metadata__":{"by":"me"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}   )",
          "\7\10")));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->Names(), ElementsAre("a"));
  EXPECT_THAT(file->Read("a")->values<uint8_t>(), ElementsAre(7, 8));
}

TEST(Safetensors, MalformedFilesAreRefusedWithAReason) {
  const auto tensor = [](const std::string& description) {
    return "{\"a\":{" + description + "}}";
  };
  const std::pair<std::string, std::string> kCases[] = {
      {"", "not a safetensors file"},
      {std::string(8, '\xff'), "not a safetensors file"},
      {Safetensors("{", ""), "not a JSON object"},
      {Safetensors("[]", ""), "not a JSON object"},
      {Safetensors(std::string(100000, '['), ""), "not a JSON object"},
      {Safetensors("{\"a\":1}", ""), "is not described"},
      {Safetensors(tensor(R"("dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1])"), "1"), "dtype"},
      {Safetensors(tensor(R"("dtype":4,"shape":[1],"data_offsets":[0,1])"), "1"), "dtype"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[1])"), "1"), "data_offsets"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), "1"),
       "sound shape"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[1.5],"data_offsets":[0,1])"), "1"),
       "sound shape"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), "1"),
       "data_offsets"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1])"),
                   "1"),
       "sound"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
                   ""),
       "'a'"},
      {Safetensors(tensor(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"),
                   ""),
       "cannot have"},
      {Safetensors(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), "1234"),
       "cannot have 4 bytes"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"), "12"),
       "4 bytes, but 2 follow"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])"), "1234"),
       "2 bytes, but 4 follow"},
      {Safetensors(tensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,2])"), "12"), "holes"},
      {Safetensors(R"( {"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "1"),
       "not a JSON object"},
      {Safetensors(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},
                       "a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                   "1"),
       "two entries of the name 'a'"},
      {Safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                       "b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                   "1"),
       "overlap"},
      {Safetensors(R"({"__metadata__":{"a":1}})", ""), "__metadata__ must consist of strings"},
      {Safetensors(R"({"__metadata__":{"gyre.dtype.a":"complex128"},
                       "a":{"dtype":"F64","shape":[3],"data_offsets":[0,24]}})",
                   std::string(24, 'x')),
       "its metadata calls it complex128"},
      {Safetensors(
           tensor(
               R"("dtype":"U8","shape":[1],"data_offsets":[9223372036854775806,9223372036854775807])"),
           "1"),
       "holes"},
  };
  const TempFolder folder;
  for (const auto& [content, reason] : kCases) {
    const auto file = SafetensorsFile::Open(folder.Write("x.safetensors", content));
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << reason;
    EXPECT_THAT(std::string(file.status().message()), HasSubstr(reason));
  }
}

TEST(Safetensors, WhatTheFormatCannotHoldIsNotWritten) {
  const TempFolder folder;
  const std::string path = folder.Path("x.safetensors");
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_FALSE(WriteSafetensors(path, {{"s", Tensor::Scalar<std::string>("text")}}).ok());
  EXPECT_FALSE(WriteSafetensors(path, {{"a", one}, {"a", one}}).ok());
  EXPECT_FALSE(WriteSafetensors(path, {{"\xff\xfe", one}}).ok());
  EXPECT_FALSE(WriteSafetensors(path, {{"__metadata__", one}}).ok());
}

// Whatever happens to a file's bytes, reading it ends in a tensor or in a reason.
TEST(FileFormats, MalformedByRandomEditsTheyNeverCrash) {
  const TempFolder folder;
  ASSERT_TRUE(WriteNpy(folder.Path("x.npy"), Counting(DType::kInt32, *Shape::Make({2, 3}))).ok());
  ASSERT_TRUE(WriteSafetensors(folder.Path("x.safetensors"),
                               {{"a", Counting(DType::kInt32, Shape::Vector(3))},
                                {"b", Counting(DType::kBool, Shape::Vector(5))}})
                  .ok());
  std::mt19937 random(20240501);
  for (const bool is_npy : {true, false}) {
    const std::string good = *ReadFile(folder.Path(is_npy ? "x.npy" : "x.safetensors"));
    for (int i = 0; i < 2000; ++i) {
      std::string bad = good;
      for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
        bad[random() % bad.size()] = static_cast<char>(random());
      }
      if (random() % 4 == 0) bad.resize(random() % bad.size());
      const std::string path = folder.Write("bad", bad);
      if (is_npy) {
        const auto read = ReadNpy(path);
        EXPECT_TRUE(!read.ok() || read->bytes() <= bad.size());
      } else if (const auto file = SafetensorsFile::Open(path); file.ok()) {
        for (const std::string& name : file->Names()) EXPECT_TRUE(file->Read(name).ok());
      }
    }
  }
}

}  // namespace
}  // namespace gyre
