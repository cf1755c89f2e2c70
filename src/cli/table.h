// Tables and units for people at a terminal. Pure functions and one value type; any thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace gyre::cli {

// Columns as wide as what stands in them: the first flush left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  size_t num_rows() const { return rows_.size() - 1; }
  void Print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "870 ns", "12.3 µs", "4.56 ms", "7.89 s".
std::string Duration(double nanos);
// "870 B", "12.3 KiB", …
std::string ByteCount(double bytes);
// "870", "12.3k", "4.56M".
std::string ShortCount(double count);

}  // namespace gyre::cli
