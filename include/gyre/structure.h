// Structures of Values: what goes into loops, branches and functions, and comes out of them.
//
// A structure is a Value, a List, a std::tuple, pair, array or vector of structures, or an
// aggregate struct of up to 12 structures:
//
//   struct State { gyre::Value i; std::vector<gyre::Value> weights; };
//
// Its Values, in order, are its leaves; the leaf `weights[2]` of a State is called "1.2". A class
// of one's own is a structure if it has a member `template <typename F> void visit_values(F&& f)`,
// which calls `f` with each of its members that are structures. Numbers, tensors and variables in a
// structure that is handed in turn into Values. Stateless.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gyre/value.h"

namespace gyre {

namespace internal {

template <typename T>
inline constexpr bool kIsTuple = false;
template <typename... Ts>
inline constexpr bool kIsTuple<std::tuple<Ts...>> = true;
template <typename A, typename B>
inline constexpr bool kIsTuple<std::pair<A, B>> = true;

template <typename T>
inline constexpr bool kIsArray = false;
template <typename T, size_t n>
inline constexpr bool kIsArray<std::array<T, n>> = true;

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;

struct AnyVisitor {
  template <typename T>
  void operator()(T&) const {}
};
template <typename T>
concept VisitsValues = requires(T t) { t.visit_values(AnyVisitor()); };

// Becomes a Value: a number, a tensor, an operand, a variable.
template <typename T>
concept BecomesValue = !std::is_same_v<T, Value> && std::is_convertible_v<T, Operand>;

// Initialises a member of any type: how the members of an aggregate are counted.
struct AnyMember {
  template <typename T>
  operator T() const;
};

inline constexpr size_t kMaxMembers = 12;

template <typename T, size_t... is>
constexpr bool HasMembers(std::index_sequence<is...>) {
  return requires { T{(static_cast<void>(is), AnyMember())...}; };
}
template <typename T, size_t n = kMaxMembers + 1>
constexpr size_t CountMembers() {
  if constexpr (n == 0 || HasMembers<T>(std::make_index_sequence<n>())) {
    return n;
  } else {
    return CountMembers<T, n - 1>();
  }
}

// Calls f with each member of an aggregate.
template <typename T, typename F>
void VisitMembers(T& t, F&& f) {
  constexpr size_t n = CountMembers<std::remove_const_t<T>>();
  static_assert(n <= kMaxMembers, "a structure has at most 12 members; put a struct into it");
  const auto each = [&f](auto&... members) { (f(members), ...); };
  if constexpr (n == 1) {
    auto& [a] = t;
    each(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = t;
    each(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = t;
    each(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = t;
    each(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = t;
    each(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, g] = t;
    each(a, b, c, d, e, g);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, g, h] = t;
    each(a, b, c, d, e, g, h);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, g, h, i] = t;
    each(a, b, c, d, e, g, h, i);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, g, h, i, j] = t;
    each(a, b, c, d, e, g, h, i, j);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, g, h, i, j, k] = t;
    each(a, b, c, d, e, g, h, i, j, k);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, g, h, i, j, k, l] = t;
    each(a, b, c, d, e, g, h, i, j, k, l);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m] = t;
    each(a, b, c, d, e, g, h, i, j, k, l, m);
  }
}

// Calls f(leaf, path) for each leaf of a structure.
template <typename T, typename F>
void VisitLeaves(T& t, const std::string& path, F&& f) {
  size_t i = 0;
  const auto visit_part = [&](auto& part) {
    const std::string number = std::to_string(i++);
    VisitLeaves(part, path.empty() ? number : path + "." + number, f);
  };
  if constexpr (std::is_same_v<T, Value>) {
    f(t, path);
  } else if constexpr (VisitsValues<T>) {
    t.visit_values([&](auto& part) { VisitLeaves(part, path, f); });
  } else if constexpr (kIsTuple<T>) {
    std::apply([&](auto&... parts) { (visit_part(parts), ...); }, t);
  } else if constexpr (kIsArray<T> || kIsVector<T>) {
    for (auto& part : t) visit_part(part);
  } else {
    static_assert(std::is_aggregate_v<T>,
                  "this type is no structure of Values (gyre/structure.h says what is)");
    VisitMembers(t, visit_part);
  }
}

// The structure that a T becomes when it is handed in: its numbers and tensors are Values.
template <typename T>
struct StructureOf {
  using type = std::conditional_t<BecomesValue<T>, Value, T>;
};
template <>
struct StructureOf<void> {
  using type = std::tuple<>;
};
template <typename... Ts>
struct StructureOf<std::tuple<Ts...>> {
  using type = std::tuple<typename StructureOf<Ts>::type...>;
};
template <typename A, typename B>
struct StructureOf<std::pair<A, B>> {
  using type = std::pair<typename StructureOf<A>::type, typename StructureOf<B>::type>;
};
template <typename T, size_t n>
struct StructureOf<std::array<T, n>> {
  using type = std::array<typename StructureOf<T>::type, n>;
};

template <typename T>
using Structure = typename StructureOf<std::decay_t<T>>::type;

template <typename T>
Structure<T> ToStructure(const T& t, std::source_location where) {
  using S = Structure<T>;
  if constexpr (std::is_same_v<S, T>) {
    return t;
  } else if constexpr (BecomesValue<T>) {
    return to_value(Operand(t, where));
  } else if constexpr (kIsTuple<T>) {
    return std::apply([&](const auto&... parts) { return S(ToStructure(parts, where)...); }, t);
  } else {
    S array;
    for (size_t i = 0; i < array.size(); ++i) array[i] = ToStructure(t[i], where);
    return array;
  }
}

// The leaves of a structure, and what each is called; a lone Value is called "".
struct Leaves {
  std::vector<Value> values;
  std::vector<std::string> paths;
};

template <typename S>
Leaves LeavesOf(const S& structure) {
  Leaves leaves;
  S copy = structure;
  VisitLeaves(copy, "", [&](const Value& value, const std::string& path) {
    leaves.values.push_back(value);
    leaves.paths.push_back(path);
  });
  return leaves;
}

// `structure` with other leaves. Requirement: as many as it has.
template <typename S>
S WithLeaves(S structure, absl::Span<const Value> leaves) {
  size_t i = 0;
  VisitLeaves(structure, "", [&](Value& value, const std::string&) { value = leaves[i++]; });
  return structure;
}

// Calls f with `first…` and the parts of a tuple, pair or array; or, if it does not take these,
// with the structure as one.
template <typename F, typename S, typename... First>
decltype(auto) CallWith(F& f, S structure, First... first) {
  constexpr auto kTakesParts = []<typename... Parts>(const std::tuple<Parts...>*) {
    return std::is_invocable_v<F&, First..., Parts...>;
  };
  if constexpr (kIsTuple<S> || kIsArray<S>) {
    using Parts =
        decltype(std::apply([](auto... parts) { return std::tuple(parts...); }, structure));
    if constexpr (kTakesParts(static_cast<Parts*>(nullptr))) {
      return std::apply([&](auto&... parts) -> decltype(auto) { return f(first..., parts...); },
                        structure);
    } else {
      return f(first..., std::move(structure));
    }
  } else {
    return f(first..., std::move(structure));
  }
}

// As CallWith, with the result as a structure: the empty one if f returns nothing.
template <typename F, typename S, typename... First>
auto CallForStructure(F& f, std::source_location where, S structure, First... first) {
  using R = decltype(CallWith(f, std::move(structure), std::move(first)...));
  if constexpr (std::is_void_v<R>) {
    CallWith(f, std::move(structure), std::move(first)...);
    return std::tuple<>();
  } else {
    return ToStructure<std::decay_t<R>>(CallWith(f, std::move(structure), std::move(first)...),
                                        where);
  }
}

// What a construct returns to its caller: nothing for the empty structure.
template <typename S>
auto ToResult(S structure) {
  if constexpr (!std::is_same_v<S, std::tuple<>>) return structure;
}

}  // namespace internal
}  // namespace gyre
