#include "base/index.h"

#include <gtest/gtest.h>

#include <concepts>
#include <string>
#include <type_traits>

#include "base/hash_map.h"

namespace gyre {
namespace {

using Row = Index<struct RowTag>;
using Column = Index<struct ColumnTag>;

template <typename Table, typename Position>
concept CanIndex = requires(Table table, Position at) { table[at]; };

TEST(Index, IsNoOtherTablesPositionAndNoInteger) {
  EXPECT_FALSE((std::is_convertible_v<Row, Column>));
  EXPECT_FALSE((std::is_convertible_v<uint32_t, Row>));
  EXPECT_FALSE((std::is_convertible_v<Row, uint32_t>));
  EXPECT_TRUE((CanIndex<IndexedVector<Row, int>, Row>));
  EXPECT_FALSE((CanIndex<IndexedVector<Row, int>, Column>));
  EXPECT_FALSE((CanIndex<IndexedVector<Row, int>, int>));
  EXPECT_FALSE((CanIndex<IndexedSpan<Row, int>, Column>));
  EXPECT_FALSE((std::equality_comparable_with<Row, Column>));
}

TEST(Index, IsAsCheapAsAnInteger) {
  EXPECT_EQ(sizeof(Row), sizeof(uint32_t));
  EXPECT_TRUE(std::is_trivial_v<Row>);
}

TEST(Index, CountsComparesAndHashes) {
  Row row(2);
  ++row;
  EXPECT_EQ(row, Row(3));
  EXPECT_EQ(row + 4, Row(7));
  EXPECT_EQ(Row(7) - row, 4U);
  EXPECT_LT(row, Row(4));
  HashMap<Row, std::string> names;
  names[row] = "third";
  EXPECT_EQ(names[Row(3)], "third");
}

TEST(Index, TablesAreReadByPosition) {
  int data[] = {10, 11, 12};
  const IndexedSpan<Row, int> span(data);
  span[Row(1)] = 21;
  EXPECT_EQ(data[1], 21);
  EXPECT_EQ(span.IndexOf(data[2]), Row(2));
  IndexedVector<Row, bool> flags(2, false);
  flags[Row(1)] = true;
  EXPECT_TRUE(flags[Row(1)]);
  EXPECT_FALSE(flags[Row(0)]);
  EXPECT_EQ(flags.end_index(), Row(2));
}

}  // namespace
}  // namespace gyre
