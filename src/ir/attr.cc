#include "ir/attr.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace gyre {
namespace {

bool TensorEquals(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value() || a.dtype() != b.dtype() || a.shape() != b.shape())
    return false;
  if (!a.has_value()) return true;
  if (a.dtype() == DType::kString) return a.values<std::string>() == b.values<std::string>();
  if (!IsTrivial(a.dtype())) return a.object() == b.object();
  return std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0;
}

// Floats that are equal, or the same NaN: an attribute must equal its own copy.
bool FloatEquals(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

template <typename T>
bool ValueEquals(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return TensorEquals(a, b);
  } else if constexpr (std::is_same_v<T, float>) {
    return FloatEquals(a, b);
  } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), TensorEquals);
  } else if constexpr (std::is_same_v<T, std::vector<float>>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), FloatEquals);
  } else {
    return a == b;
  }
}

bool MapEquals(const AttrMap& a, const AttrMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AttrMap::Entry& x, const AttrMap::Entry& y) {
                      return x.first == y.first && AttrEquals(x.second, y.second);
                    });
}

std::string ToText(const std::string& s) { return absl::StrCat("\"", absl::CHexEscape(s), "\""); }
std::string ToText(int64_t i) { return absl::StrCat(i); }
std::string ToText(float f) {
  char digits[32];
  absl::SNPrintF(digits, sizeof(digits), "%.9g", f);
  const std::string text = digits;
  return std::isfinite(f) && text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string ToText(bool b) { return b ? "true" : "false"; }
std::string ToText(DType d) { return std::string(DTypeName(d)); }
std::string ToText(const PartialShape& s) { return s.ToString(); }
std::string ToText(const Tensor& t) {
  return absl::StrCat("tensor(", DTypeName(t.dtype()), t.shape().ToString(), ")");
}
std::string ToText(const FunctionRef& f) {
  std::string text = absl::StrCat("@", f.name);
  if (f.attrs == nullptr || f.attrs->empty()) return text;
  return absl::StrCat(text, "{",
                      absl::StrJoin(*f.attrs, ", ",
                                    [](std::string* out, const AttrMap::Entry& e) {
                                      absl::StrAppend(out, e.first, "=", AttrToString(e.second));
                                    }),
                      "}");
}
std::string ToText(const AttrPlaceholder& p) { return absl::StrCat("$", p.name); }
std::string ToText(EmptyList) { return "[]"; }
std::string ToText(std::monostate) { return "none"; }
template <typename T>
std::string ToText(const std::vector<T>& list) {
  std::vector<std::string> parts;
  for (const auto& element : list) parts.push_back(ToText(static_cast<const T&>(element)));
  return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
}

}  // namespace

bool operator==(const FunctionRef& a, const FunctionRef& b) {
  static const AttrMap kNone;
  return a.name == b.name && MapEquals(a.attrs ? *a.attrs : kNone, b.attrs ? *b.attrs : kNone);
}

bool AttrEquals(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        return ValueEquals(value, std::get<std::decay_t<decltype(value)>>(b));
      },
      a);
}

std::string AttrToString(const AttrValue& value) {
  return std::visit([](const auto& v) { return ToText(v); }, value);
}

const AttrValue* AttrMap::Find(absl::string_view name) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Entry& e, absl::string_view n) { return e.first < n; });
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

AttrMap AttrMap::FromEntries(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.first < b.first; });
  AttrMap map;
  map.entries_ = std::move(entries);
  return map;
}

void AttrMap::Set(absl::string_view name, AttrValue value) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Entry& e, absl::string_view n) { return e.first < n; });
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::string(name), std::move(value));
  }
}

void AttrMap::Erase(absl::string_view name) {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& e) { return e.first == name; });
  if (it != entries_.end()) entries_.erase(it);
}

}  // namespace gyre
