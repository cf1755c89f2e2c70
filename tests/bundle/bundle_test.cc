// Tensor bundles: what is written comes back, sliced and sharded, and lies in the files as
// TensorFlow expects it.
#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "bundle/index.h"
#include "bundle/reader.h"
#include "bundle/slice.h"
#include "bundle/table.h"
#include "bundle/writer.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace gyre {
namespace {

using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Shape ShapeOf(Dims dims) { return Shape::Trusted(std::move(dims)); }

template <typename T>
std::vector<T> Values(const absl::StatusOr<Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  if (!tensor.ok() || tensor->dtype() != DTypeOf<T>) return {};
  return std::vector<T>(tensor->values<T>().begin(), tensor->values<T>().end());
}

BundleReader Open(const std::string& prefix) {
  absl::StatusOr<BundleReader> bundle = BundleReader::Open(prefix);
  EXPECT_TRUE(bundle.ok()) << bundle.status();
  return *std::move(bundle);
}

SliceSpec Spec(absl::string_view text) { return **ParseSliceSpec(text); }

TEST(Bundle, HoldsAllTypes) {
  const TempFolder folder;
  std::vector<BundleItem> items;
  for (int d = 1; d <= 23; ++d) {
    const DType dtype = static_cast<DType>(d);
    if (!IsTrivial(dtype)) continue;
    items.push_back({std::string(DTypeName(dtype)), *Tensor::Zeros(dtype, ShapeOf({2, 3}), {})});
  }
  items.push_back(
      {"words", Tensor::Vector<std::string>({"", "zw\xc3\xb6lf", std::string("\0x", 2)})});
  items.push_back({"empty", *Tensor::Make(DType::kFloat, ShapeOf({0, 4}))});
  items.push_back({"scalar", Tensor::Scalar(2.5)});
  ASSERT_TRUE(WriteBundle(folder.Path("b"), items).ok());
  const BundleReader bundle = Open(folder.Path("b"));
  EXPECT_EQ(bundle.Names().size(), items.size());
  for (const BundleItem& item : items) {
    const absl::StatusOr<Tensor> read = bundle.Read(item.name);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->dtype(), item.value.dtype());
    EXPECT_EQ(read->shape(), item.value.shape());
  }
  EXPECT_THAT(Values<std::string>(bundle.Read("words")),
              ElementsAre("", "zw\xc3\xb6lf", std::string("\0x", 2)));
  EXPECT_THAT(Values<double>(bundle.Read("scalar")), ElementsAre(2.5));
  EXPECT_TRUE(absl::IsNotFound(bundle.Read("nobody").status()));
}

TEST(Bundle, HoldsManyKeysInManyBlocks) {
  const TempFolder folder;
  std::vector<BundleItem> items;
  for (int32_t i = 0; i < 20000; ++i)
    items.push_back({absl::StrCat("layer/", i, "/kernel/with/a/long/name"), Tensor::Scalar(i)});
  ASSERT_TRUE(WriteBundle(folder.Path("b"), items).ok());
  EXPECT_GT(std::filesystem::file_size(IndexFile(folder.Path("b"))), 600000);
  const BundleReader bundle = Open(folder.Path("b"));
  EXPECT_EQ(bundle.Names().size(), items.size());
  EXPECT_THAT(Values<int32_t>(bundle.Read(items[17321].name)), ElementsAre(17321));
}

TEST(Bundle, ReadsAndWritesSlices) {
  const TempFolder folder;
  const Tensor left = Tensor::FromValues<int32_t>({1, 2, 4, 5}, ShapeOf({2, 2}));
  const Tensor right = Tensor::FromValues<int32_t>({3, 6}, ShapeOf({2, 1}));
  ASSERT_TRUE(WriteBundle(folder.Path("b"),
                          {{"m", left, Spec("2 3 -:0,2")}, {"m", right, Spec("2 3 -:2,1")}})
                  .ok());
  const BundleReader bundle = Open(folder.Path("b"));
  EXPECT_THAT(bundle.Names(), ElementsAre("m"));
  EXPECT_THAT(Values<int32_t>(bundle.Read("m")), ElementsAre(1, 2, 3, 4, 5, 6));
  // A slice that is stored, one across those that are, and one of another tensor.
  EXPECT_THAT(Values<int32_t>(bundle.ReadSlice("m", Spec("2 3 0,2:2,1"))), ElementsAre(3, 6));
  EXPECT_THAT(Values<int32_t>(bundle.ReadSlice("m", Spec("2 3 1,1:1,2"))), ElementsAre(5, 6));
  EXPECT_THAT(std::string(bundle.ReadSlice("m", Spec("3 3 1,1:1,2")).status().message()),
              HasSubstr("a slice of [3,3] is asked for"));
}

TEST(Bundle, RefusesToWriteWhatCannotBeRead) {
  const TempFolder folder;
  const auto error = [&](std::vector<BundleItem> items) {
    return std::string(WriteBundle(folder.Path("b"), items).message());
  };
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_THAT(error({{"x", one}, {"x", one}}), HasSubstr("'x' cannot be saved: it is given twice"));
  EXPECT_THAT(error({{"", one}}), HasSubstr("its name is empty"));
  EXPECT_THAT(error({{"h", Tensor::FromObject(DType::kResource, nullptr)}}),
              HasSubstr("no values of type resource"));
  EXPECT_THAT(error({{"m", one, Spec("2 0,1")}}), HasSubstr("not of the value's shape []"));
  EXPECT_FALSE(std::filesystem::exists(IndexFile(folder.Path("b"))));
}

TEST(Bundle, JoinsParts) {
  const TempFolder folder;
  const Tensor row = Tensor::FromValues<float>({1, 2}, ShapeOf({1, 2}));
  ASSERT_TRUE(std::filesystem::create_directory(folder.Path("tmp")));
  const std::string a = folder.Path("tmp/part-0"), b = folder.Path("tmp/part-1");
  ASSERT_TRUE(WriteBundle(a, {{"x", Tensor::Scalar(1.0f)}, {"m", row, Spec("2 2 0,1:-")}}).ok());
  ASSERT_TRUE(WriteBundle(b, {{"y", Tensor::Scalar(2.0f)}, {"m", row, Spec("2 2 1,1:-")}}).ok());
  const std::string whole = folder.Path("whole");
  EXPECT_TRUE(absl::IsNotFound(MergeBundles({a, folder.Path("tmp/part-2")}, whole, {})));
  ASSERT_TRUE(MergeBundles({a, b, folder.Path("tmp/part-2")}, whole, {.allow_missing = true}).ok());
  const BundleReader bundle = Open(whole);
  EXPECT_THAT(bundle.Names(), ElementsAre("m", "x", "y"));
  EXPECT_THAT(Values<float>(bundle.Read("y")), ElementsAre(2));
  EXPECT_THAT(Values<float>(bundle.Read("m")), ElementsAre(1, 2, 1, 2));
  EXPECT_TRUE(std::filesystem::exists(DataFile(whole, 1, 2)));
  EXPECT_FALSE(std::filesystem::exists(folder.Path("tmp")));
}

TEST(Bundle, PartsMustNotHoldTheSameTensor) {
  const TempFolder folder;
  const std::string a = folder.Path("a"), b = folder.Path("b");
  ASSERT_TRUE(WriteBundle(a, {{"x", Tensor::Scalar(1.0f)}}).ok());
  ASSERT_TRUE(WriteBundle(b, {{"x", Tensor::Scalar(2.0f)}}).ok());
  EXPECT_THAT(std::string(MergeBundles({a, b}, folder.Path("c"), {}).message()),
              HasSubstr("is in another part of the checkpoint, too"));
  EXPECT_THAT(Values<float>(Open(a).Read("x")), ElementsAre(1));
}

TEST(Bundle, ReadsTensorsThatAreCutAcrossDataFiles) {
  const BundleReader bundle =
      Open(test::SourcePath("tests/saved_models/dtypes_sharded/model/variables/variables"));
  const BundleEntry* big = bundle.Find("big/.ATTRIBUTES/VARIABLE_VALUE");
  ASSERT_NE(big, nullptr);
  EXPECT_GT(big->slices.size(), 1);
  const absl::StatusOr<Tensor> value = bundle.Read("big/.ATTRIBUTES/VARIABLE_VALUE");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->shape(), big->shape);
}

// The bytes that tests/saved_models/README.md gives for keys of slices.
TEST(Bundle, KeysOfSlicesKeepTheirOrder) {
  const std::string key = SliceKey("w", {{{4, 100}, {0, -1}, {-64, 8191}, {63, 8192}}});
  EXPECT_EQ(key, std::string("\0w\0\1\1\4"
                             "\x84\xc0\x64"
                             "\x80\x7f"
                             "\x40\xdf\xff"
                             "\xbf\xe0\x20\x00",
                             18));
  const auto of_start = [](int64_t start) { return SliceKey("w", {{{start, 1}}}); };
  const int64_t starts[] = {
      INT64_MIN,        -(int64_t{1} << 40), -65,      -64, -1, 0, 63, 64, 8191, 8192,
      int64_t{1} << 33, int64_t{1} << 55,    INT64_MAX};
  for (size_t i = 1; i < std::size(starts); ++i)
    EXPECT_LT(of_start(starts[i - 1]), of_start(starts[i])) << starts[i];
}

TEST(Bundle, SlicesAreSpelledAsTheyAreParsed) {
  const SliceSpec spec = Spec("7 4 3,2:-");
  EXPECT_EQ(spec.full_shape, ShapeOf({7, 4}));
  EXPECT_EQ(spec.slice.ToString(), "3,2:-");
  EXPECT_EQ(spec.slice.Resolve(spec.full_shape)->ToString(), "3,2:0,4");
  EXPECT_FALSE(ParseSliceSpec("")->has_value());
  for (const char* bad : {"7", "7 4 3,2", "7 6,2", "7 -1,2", "x 0,1", "7 0;1", "-7 -", "7  0,1"})
    EXPECT_FALSE(ParseSliceSpec(bad).ok()) << bad;
}

}  // namespace
}  // namespace gyre
