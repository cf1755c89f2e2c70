#include "cli/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"

namespace gyre::cli {
namespace {

// Characters, not bytes: names may hold more than ASCII.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

std::string ThreeDigits(double value) {
  return absl::StrFormat(value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value);
}

// The value in the largest unit in which it is at least one.
std::string InUnits(double value, double step, absl::Span<const char* const> units) {
  size_t unit = 0;
  for (; unit + 1 < units.size() && value >= step; ++unit) value /= step;
  const std::string number = unit == 0 ? absl::StrFormat("%.0f", value) : ThreeDigits(value);
  return absl::StrCat(number, units[unit]);
}

}  // namespace

void Table::Print(std::ostream& out) const {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (const std::vector<std::string>& row : rows_) {
    std::string line = "  ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - Width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + space : space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

std::string Duration(double nanos) { return InUnits(nanos, 1000, {" ns", " µs", " ms", " s"}); }

std::string ByteCount(double bytes) {
  return InUnits(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string ShortCount(double count) { return InUnits(count, 1000, {"", "k", "M", "G"}); }

}  // namespace gyre::cli
