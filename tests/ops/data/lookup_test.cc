// Lookup tables: filled once, changed at will, with reserved keys, and from files.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "gmock/gmock.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;

AttrMap Types(DType key, DType value) {
  return Attrs({{"key_dtype", key}, {"value_dtype", value}});
}

Tensor Text(const std::string& text) { return Tensor::Scalar<std::string>(text); }
Tensor Texts(std::initializer_list<std::string> values) { return Tensor::Vector(values); }
Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector(values); }
Tensor Long(int64_t value) { return Tensor::Scalar(value); }

TEST(HashTable, IsFilledOnce) {
  ResourceRun run;
  const AttrMap attrs = Types(DType::kString, DType::kInt64);
  const Tensor table = run.Run("HashTableV2", {}, attrs);
  EXPECT_EQ(run.Error("LookupTableFindV2", {table, Text("a"), Long(-1)}).code(),
            absl::StatusCode::kFailedPrecondition);
  run.All("LookupTableImportV2", {table, Texts({"a", "b"}), Longs({10, 20})});
  const Tensor keys = Texts({"b", "x", "a", "a"});
  EXPECT_THAT(Values<int64_t>(run.Run("LookupTableFindV2", {table, keys, Long(-1)})),
              ElementsAre(20, -1, 10, 10));
  EXPECT_EQ(run.Run("LookupTableSizeV2", {table}).scalar<int64_t>(), 2);
  // As many entries again: it is as it was.
  run.All("InitializeTableV2", {table, Texts({"c", "d"}), Longs({1, 2})});
  EXPECT_EQ(run.Run("LookupTableFindV2", {table, Text("a"), Long(-1)}).scalar<int64_t>(), 10);
  EXPECT_EQ(run.Error("InitializeTableV2", {table, Texts({"c"}), Longs({1})}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(run.Error("LookupTableInsertV2", {table, Text("c"), Long(1)}).code(),
            absl::StatusCode::kUnimplemented);
  // Found again by its name, but not as a table of other types.
  const Tensor same = run.Run("HashTableV2", {}, attrs);
  EXPECT_EQ(run.Run("LookupTableSizeV2", {same}).scalar<int64_t>(), 2);
  EXPECT_TRUE(IsInvalid(run.Error("HashTableV2", {}, Types(DType::kInt64, DType::kInt64)),
                        "is there already"));
  EXPECT_TRUE(IsInvalid(run.Error("LookupTableFindV2", {table, Long(1), Long(-1)}), "keys"));
}

TEST(HashTable, RefusesAKeyWithTwoValues) {
  ResourceRun run;
  const Tensor table = run.Run("AnonymousHashTable", {}, Types(DType::kInt64, DType::kString));
  EXPECT_EQ(run.Error("LookupTableImportV2", {table, Longs({1, 1}), Texts({"a", "b"})}).code(),
            absl::StatusCode::kFailedPrecondition);
  run.All("LookupTableImportV2", {table, Longs({1, 1}), Texts({"a", "a"})});
  EXPECT_EQ(run.Run("LookupTableSizeV2", {table}).scalar<int64_t>(), 1);
}

TEST(HashTable, HasAnOlderForm) {
  ResourceRun run;
  const Tensor table = run.Run("HashTable", {}, Types(DType::kInt32, DType::kFloat));
  run.All("InitializeTable",
          {table, Tensor::Vector<int32_t>({-1, 7}), Tensor::Vector<float>({1.5F, 2.5F})});
  EXPECT_EQ(
      run.Run("LookupTableFind", {table, Tensor::Scalar<int32_t>(-1), Tensor::Scalar<float>(0)})
          .scalar<float>(),
      1.5F);
}

TEST(MutableHashTable, Changes) {
  ResourceRun run;
  const Tensor table = run.Run("MutableHashTableV2", {}, Types(DType::kInt64, DType::kString));
  run.All("LookupTableInsertV2", {table, Longs({1, 2, 3}), Texts({"a", "b", "c"})});
  run.All("LookupTableInsertV2", {table, Longs({2}), Texts({"B"})});
  run.All("LookupTableRemoveV2", {table, Longs({1, 9})});
  EXPECT_THAT(
      Values<std::string>(run.Run("LookupTableFindV2", {table, Longs({1, 2, 3}), Text("?")})),
      ElementsAre("?", "B", "c"));
  // A default of its own for each key.
  EXPECT_THAT(
      Values<std::string>(run.Run("LookupTableFindV2", {table, Longs({1, 2}), Texts({"x", "y"})})),
      ElementsAre("x", "B"));
  auto all = run.All("LookupTableExportV2", {table},
                     Attrs({{"Tkeys", DType::kInt64}, {"Tvalues", DType::kString}}));
  std::vector<int64_t> keys = Values<int64_t>(all[0]);
  std::sort(keys.begin(), keys.end());
  EXPECT_THAT(keys, ElementsAre(2, 3));
  run.All("LookupTableImportV2", {table, Longs({5}), Texts({"e"})});
  EXPECT_EQ(run.Run("LookupTableSizeV2", {table}).scalar<int64_t>(), 1);
}

TEST(MutableHashTable, HoldsManyKeys) {
  ResourceRun run;
  const Tensor table = run.Run("MutableHashTableV2", {}, Types(DType::kInt64, DType::kInt64));
  constexpr int64_t kCount = 100'000;
  std::vector<int64_t> keys(kCount), values(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    keys[i] = i * 7919;
    values[i] = i;
  }
  const Tensor k = Tensor::FromValues<int64_t>(keys, ShapeOf({kCount}));
  run.All("LookupTableInsertV2",
          {table, k, Tensor::FromValues<int64_t>(values, ShapeOf({kCount}))});
  EXPECT_EQ(Values<int64_t>(run.Run("LookupTableFindV2", {table, k, Long(-1)})), values);
  run.All("LookupTableRemoveV2", {table, k});
  EXPECT_EQ(run.Run("LookupTableSizeV2", {table}).scalar<int64_t>(), 0);
}

TEST(MutableHashTable, HoldsTensors) {
  ResourceRun run;
  AttrMap attrs = Types(DType::kString, DType::kFloat);
  attrs.Set("value_shape", Partial({2}));
  const Tensor table = run.Run("MutableHashTableOfTensorsV2", {}, attrs);
  const Tensor rows = Tensor::FromValues<float>({1, 2, 3, 4}, ShapeOf({2, 2}));
  run.All("LookupTableInsertV2", {table, Texts({"a", "b"}), rows});
  const Tensor found =
      run.Run("LookupTableFindV2", {table, Texts({"b", "x"}), Tensor::Vector<float>({0, -1})});
  EXPECT_EQ(found.shape(), ShapeOf({2, 2}));
  EXPECT_THAT(Values<float>(found), ElementsAre(3, 4, 0, -1));
}

TEST(DenseHashTable, ReservesTwoKeys) {
  ResourceRun run;
  const AttrMap attrs = Types(DType::kInt64, DType::kInt64);
  const Tensor table = run.Run("MutableDenseHashTableV2", {Long(-1), Long(-2)}, attrs);
  run.All("LookupTableInsertV2", {table, Longs({5}), Longs({50})});
  EXPECT_THAT(Values<int64_t>(run.Run("LookupTableFindV2", {table, Longs({5, 6}), Long(0)})),
              ElementsAre(50, 0));
  EXPECT_TRUE(
      IsInvalid(run.Error("LookupTableInsertV2", {table, Longs({-1}), Longs({0})}), "empty_key"));
  EXPECT_TRUE(IsInvalid(run.Error("AnonymousMutableDenseHashTable", {Long(1), Long(1)}, attrs),
                        "different"));
}

TEST(TableFromFile, ReadsColumnsLinesAndNumbers) {
  const std::string path = ::testing::TempDir() + "/gyre_vocabulary.txt";
  std::ofstream(path) << "ape\t3\nbee\t4\r\ncat\t5";
  ResourceRun run;
  const auto fill = [&](const Tensor& table, int64_t key, int64_t value, int64_t size = -1) {
    return run.Try("InitializeTableFromTextFileV2", {table, Text(path)},
                   Attrs({{"key_index", key}, {"value_index", value}, {"vocab_size", size}}));
  };
  const auto table = [&](DType key, DType value) {
    return run.Run("AnonymousHashTable", {}, Types(key, value));
  };
  const Tensor columns = table(DType::kString, DType::kInt64);
  ASSERT_TRUE(fill(columns, 0, 1).ok());
  EXPECT_THAT(
      Values<int64_t>(run.Run("LookupTableFindV2", {columns, Texts({"cat", "ape"}), Long(0)})),
      ElementsAre(5, 3));
  const Tensor lines = table(DType::kInt64, DType::kString);
  ASSERT_TRUE(fill(lines, -1, -2, 2).ok());
  EXPECT_THAT(Values<std::string>(run.Run("LookupTableFindV2", {lines, Longs({1, 2}), Text("?")})),
              ElementsAre("bee\t4", "?"));
  EXPECT_TRUE(IsInvalid(fill(table(DType::kString, DType::kInt64), 0, 0).status(), "not a int64"));
  EXPECT_TRUE(IsInvalid(fill(table(DType::kString, DType::kInt64), 0, 7).status(), "column 7"));
  EXPECT_TRUE(IsInvalid(fill(table(DType::kInt64, DType::kString), -1, -2, 9).status(), "3 lines"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace gyre::test
