#include "base/hash_map.h"

#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(HashMapTest, EntriesStandInTheOrderInWhichTheyCame) {
  HashMap<std::string, int> map = {{"b", 1}, {"a", 2}};
  map["c"] = 3;
  EXPECT_THAT(map, ElementsAre(Pair("b", 1), Pair("a", 2), Pair("c", 3)));
  EXPECT_EQ(map.erase("b"), 1);
  EXPECT_EQ(map.erase("b"), 0);
  EXPECT_THAT(map, ElementsAre(Pair("c", 3), Pair("a", 2)));
}

TEST(HashMapTest, AnEntryIsMadeOnce) {
  HashMap<std::string, std::unique_ptr<int>> map;
  auto value = std::make_unique<int>(1);
  EXPECT_TRUE(map.emplace("a", std::move(value)).second);
  value = std::make_unique<int>(2);
  EXPECT_FALSE(map.emplace("a", std::move(value)).second);
  EXPECT_NE(value, nullptr);  // what was not put in is still the caller's
  EXPECT_EQ(*map.at("a"), 1);
  EXPECT_FALSE(map.insert_or_assign("a", std::move(value)).second);
  EXPECT_EQ(*map.at("a"), 2);
  EXPECT_THROW(map.at("b"), std::out_of_range);
}

TEST(HashMapTest, AKeyMayLieInTheMapItself) {
  HashMap<int, int> next;
  for (int i = 0; i < 1000; ++i) next[i] = i + 1;
  for (int i = 999; i < 3000; ++i) next[next[i]] = i + 2;
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(next.at(i), i + 1);
}

// Against std::unordered_map, with small keys that fall close together and are often there.
TEST(HashMapTest, RandomStepsAgreeWithAnotherMap) {
  std::mt19937_64 random(20261123);
  for (const uint64_t keys : {4, 12, 100, 5000}) {
    HashMap<uint64_t, uint64_t> map;
    std::unordered_map<uint64_t, uint64_t> other;
    for (int step = 0; step < 40'000; ++step) {
      const uint64_t key = random() % keys;
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(map.erase(key), other.erase(key));
          break;
        case 1:
          ASSERT_EQ(map.try_emplace(key, step).second, other.try_emplace(key, step).second);
          break;
        default:
          ASSERT_EQ(map.contains(key), other.contains(key));
          if (map.contains(key)) {
            ASSERT_EQ(map.at(key), other.at(key));
          }
      }
      ASSERT_EQ(map.size(), other.size());
    }
    for (const auto& [key, value] : map) ASSERT_EQ(other.at(key), value);
    HashMap<uint64_t, uint64_t> moved = std::move(map);
    EXPECT_EQ(moved.size(), other.size());
    moved.clear();
    EXPECT_TRUE(moved.empty());
    EXPECT_FALSE(moved.contains(1));
  }
}

// A key whose copies fail when told to.
struct Fragile {
  explicit Fragile(int n) : number(n) {}
  Fragile(const Fragile& other) : number(other.number) {
    if (copies_left-- == 0) throw std::bad_alloc();
  }
  Fragile(Fragile&&) noexcept = default;
  Fragile& operator=(Fragile&&) noexcept = default;
  friend bool operator==(const Fragile& a, const Fragile& b) { return a.number == b.number; }
  template <typename H>
  friend H AbslHashValue(H h, const Fragile& key) {
    return H::combine(std::move(h), key.number);
  }

  int number;
  static int copies_left;
};
int Fragile::copies_left = -1;

TEST(HashMapTest, AnInsertionThatFailsLeavesTheMapAsItWas) {
  for (const int size : {0, 3, 7, 8, 9, 40, 500}) {
    HashSet<Fragile> set;
    for (int i = 0; i < size; ++i) set.insert(Fragile(i));
    Fragile::copies_left = 0;
    EXPECT_THROW(set.insert(Fragile(size)), std::bad_alloc);
    EXPECT_EQ(set.size(), size);
    EXPECT_FALSE(set.contains(Fragile(size)));
    EXPECT_TRUE(set.insert(Fragile(size)).second);
    for (int i = 0; i <= size; ++i) EXPECT_TRUE(set.contains(Fragile(i)));
  }
}

}  // namespace
}  // namespace gyre
