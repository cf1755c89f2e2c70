// Index: a position in one kind of table. Positions in tables of other kinds are other types, so
// that the compiler sees where one is taken for another; each is as cheap as the integer it holds.
//
//     using NodeIndex = Index<struct NodeIndexTag>;
//     IndexedSpan<NodeIndex, PlanNode> nodes = ...;
//     nodes[NodeIndex(3)]
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gyre {

template <typename Tag, typename Int = uint32_t>
class Index {
 public:
  using Value = Int;

  Index() = default;  // not initialised, as an integer is
  constexpr explicit Index(Int value) : value_(value) {}
  constexpr Int value() const { return value_; }

  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  // `places` further on in the same table.
  friend constexpr Index operator+(Index i, Int places) { return Index(i.value_ + places); }
  friend constexpr Int operator-(Index a, Index b) { return a.value_ - b.value_; }
  friend constexpr auto operator<=>(Index, Index) = default;
  template <typename H>
  friend H AbslHashValue(H h, Index i) {
    return H::combine(std::move(h), i.value_);
  }

 private:
  Int value_;
};

// A table that others own, by its positions. As a pointer, it does not know where it ends.
template <typename I, typename T>
class IndexedSpan {
 public:
  IndexedSpan() = default;
  explicit IndexedSpan(T* data) : data_(data) {}
  T& operator[](I i) const { return data_[i.value()]; }
  I IndexOf(const T& row) const { return I(static_cast<typename I::Value>(&row - data_)); }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

// A table by its positions: a vector that integers and other tables' positions do not index.
template <typename I, typename T>
class IndexedVector {
 public:
  IndexedVector() = default;
  explicit IndexedVector(size_t size, const T& value = T()) : rows_(size, value) {}
  typename std::vector<T>::reference operator[](I i) { return rows_[i.value()]; }
  typename std::vector<T>::const_reference operator[](I i) const { return rows_[i.value()]; }
  size_t size() const { return rows_.size(); }
  // The position behind the last.
  I end_index() const { return I(static_cast<typename I::Value>(rows_.size())); }
  void push_back(T row) { rows_.push_back(std::move(row)); }
  void assign(size_t size, const T& value) { rows_.assign(size, value); }

 private:
  std::vector<T> rows_;
};

}  // namespace gyre
