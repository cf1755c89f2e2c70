// HashMap and HashSet: hash tables whose entries lie in one array, in the order in which they came.
//
// An insertion that runs out of memory throws std::bad_alloc and leaves the table as it was.
// (Abseil's tables note their new capacity before they have it: one whose growth fails cannot even
// be destroyed.) Up to kScanned entries are found by looking at each, without a hash. Any insertion
// or removal invalidates iterators, pointers and references; a removal moves the last entry into
// the gap. Keys must not be changed in place. Not thread-safe, but for readers among themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace gyre {
namespace internal {

// What both have in common. `KeyOf::Get(entry)` is an entry's key.
template <typename Key, typename Entry, typename KeyOf>
class HashTable {
 public:
  // What a key is looked up by: strings without a copy.
  using Lookup =
      std::conditional_t<std::is_same_v<Key, std::string>, absl::string_view, const Key&>;
  using key_type = Key;
  using value_type = Entry;
  using iterator =
      std::conditional_t<std::is_same_v<Key, Entry>, typename std::vector<Entry>::const_iterator,
                         typename std::vector<Entry>::iterator>;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  HashTable() = default;
  HashTable(const HashTable&) = default;
  HashTable(HashTable&& other) noexcept
      : entries_(std::exchange(other.entries_, {})), places_(std::exchange(other.places_, {})) {}
  HashTable& operator=(const HashTable& other) {
    HashTable copy(other);
    swap(copy);
    return *this;
  }
  HashTable& operator=(HashTable&& other) noexcept {
    HashTable moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~HashTable() = default;

  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

  iterator find(Lookup key) { return begin() + Position(key); }
  const_iterator find(Lookup key) const { return begin() + Position(key); }
  bool contains(Lookup key) const { return Position(key) != static_cast<ptrdiff_t>(size()); }
  size_t count(Lookup key) const { return contains(key) ? 1 : 0; }

  // How many entries were removed: 0 or 1.
  size_t erase(Lookup key) {
    const ptrdiff_t position = Position(key);
    if (position == static_cast<ptrdiff_t>(size())) return 0;
    Remove(static_cast<uint32_t>(position));
    return 1;
  }
  void erase(const_iterator entry) {
    Remove(static_cast<uint32_t>(entry - static_cast<const HashTable&>(*this).begin()));
  }
  void clear() {
    entries_.clear();
    places_.clear();
  }
  void reserve(size_t n) {
    entries_.reserve(n);
    if (n > kScanned && 2 * n > places_.size()) Rehash(n);
  }
  void swap(HashTable& other) noexcept {
    entries_.swap(other.entries_);
    places_.swap(other.places_);
  }

 protected:
  // The entry of `key`, made by `make` if there is none, and whether it was.
  template <typename Make>
  std::pair<iterator, bool> FindOrAdd(Lookup key, const Make& make) {
    const size_t n = entries_.size();
    if (places_.empty() && n < kScanned) {
      if (const ptrdiff_t position = Position(key); position != static_cast<ptrdiff_t>(n))
        return {begin() + position, false};
      if (n == 0) entries_.reserve(kScanned / 2);
      make(entries_);
      return {end() - 1, true};
    }
    const uint32_t hash = HashOf(key);
    uint32_t at = places_.empty() ? 0 : PlaceOf(key, hash);
    if (!places_.empty() && places_[at].entry != kNone) return {begin() + places_[at].entry, false};
    if (places_.empty()) {
      if (const ptrdiff_t position = Scan(key); position != static_cast<ptrdiff_t>(n))
        return {begin() + position, false};
    }
    if (2 * (n + 1) > places_.size()) {
      Rehash(n + 1);
      at = PlaceOf(key, hash);
    }
    make(entries_);
    places_[at] = {hash, static_cast<uint32_t>(n)};
    return {end() - 1, true};
  }

 private:
  // As many entries are looked through faster than hashed.
  static constexpr size_t kScanned = 8;
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // Where an entry is: found by its hash, in this place of the table or the next free one's way.
  struct Place {
    uint32_t hash = 0;
    uint32_t entry = kNone;
  };

  static uint32_t HashOf(Lookup key) {
    const size_t hash = absl::Hash<std::decay_t<Lookup>>()(key);
    return static_cast<uint32_t>(hash ^ (hash >> 32));
  }
  uint32_t Mask() const { return static_cast<uint32_t>(places_.size() - 1); }

  ptrdiff_t Scan(Lookup key) const {
    ptrdiff_t i = 0;
    const ptrdiff_t n = static_cast<ptrdiff_t>(entries_.size());
    while (i < n && !(KeyOf::Get(entries_[i]) == key)) ++i;
    return i;
  }
  // size() when there is none.
  ptrdiff_t Position(Lookup key) const {
    if (places_.empty()) return Scan(key);
    const uint32_t entry = places_[PlaceOf(key, HashOf(key))].entry;
    return static_cast<ptrdiff_t>(entry == kNone ? entries_.size() : entry);
  }
  // The place of `key`, or the free one where it belongs.
  uint32_t PlaceOf(Lookup key, uint32_t hash) const {
    const uint32_t mask = Mask();
    uint32_t at = hash & mask;
    while (places_[at].entry != kNone &&
           !(places_[at].hash == hash && KeyOf::Get(entries_[places_[at].entry]) == key)) {
      at = (at + 1) & mask;
    }
    return at;
  }
  // The place that leads to entry number `entry`.
  uint32_t PlaceOfEntry(uint32_t entry) const {
    uint32_t at = HashOf(KeyOf::Get(entries_[entry])) & Mask();
    while (places_[at].entry != entry) at = (at + 1) & Mask();
    return at;
  }
  // Makes places for n entries, at least twice as many.
  void Rehash(size_t n) {
    if (n > kNone / 4) throw std::length_error("a hash table takes at most 2^30 entries");
    size_t size = 4 * kScanned;
    while (size < 2 * n) size *= 2;
    std::vector<Place> places(size);
    const auto mask = static_cast<uint32_t>(size - 1);
    const auto add = [&](Place place) {
      uint32_t at = place.hash & mask;
      while (places[at].entry != kNone) at = (at + 1) & mask;
      places[at] = place;
    };
    if (places_.empty()) {
      for (uint32_t i = 0; i < entries_.size(); ++i) add({HashOf(KeyOf::Get(entries_[i])), i});
    } else {
      for (const Place& place : places_) {
        if (place.entry != kNone) add(place);
      }
    }
    places_.swap(places);
  }
  void Remove(uint32_t entry) {
    const auto last = static_cast<uint32_t>(entries_.size() - 1);
    if (!places_.empty()) {
      uint32_t gap = PlaceOfEntry(entry);
      if (entry != last) places_[PlaceOfEntry(last)].entry = entry;
      // What was put behind the gap because the gap's place was taken moves up.
      const uint32_t mask = Mask();
      for (uint32_t at = (gap + 1) & mask; places_[at].entry != kNone; at = (at + 1) & mask) {
        if (((at - places_[at].hash) & mask) < ((at - gap) & mask)) continue;
        places_[gap] = places_[at];
        gap = at;
      }
      places_[gap] = Place();
    }
    if (entry != last) entries_[entry] = std::move(entries_[last]);
    entries_.pop_back();
  }

  std::vector<Entry> entries_;
  std::vector<Place> places_;  // empty, or a power of two, at most half of them taken
};

struct EntryIsKey {
  template <typename Key>
  static const Key& Get(const Key& entry) {
    return entry;
  }
};

struct KeyIsFirst {
  template <typename Entry>
  static const auto& Get(const Entry& entry) {
    return entry.first;
  }
};

}  // namespace internal

template <typename Key>
class HashSet : public internal::HashTable<Key, Key, internal::EntryIsKey> {
 public:
  using typename internal::HashTable<Key, Key, internal::EntryIsKey>::Lookup;
  using typename internal::HashTable<Key, Key, internal::EntryIsKey>::iterator;

  HashSet() = default;
  template <typename Iterator>
  HashSet(Iterator first, Iterator last) {
    insert(first, last);
  }
  HashSet(std::initializer_list<Key> keys) : HashSet(keys.begin(), keys.end()) {}

  // The key's place, and whether it is new.
  std::pair<iterator, bool> insert(Lookup key) {
    return this->FindOrAdd(key, [&](std::vector<Key>& keys) { keys.emplace_back(key); });
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }
};

template <typename Key, typename Value>
class HashMap : public internal::HashTable<Key, std::pair<Key, Value>, internal::KeyIsFirst> {
 public:
  using Entry = std::pair<Key, Value>;
  using typename internal::HashTable<Key, Entry, internal::KeyIsFirst>::Lookup;
  using typename internal::HashTable<Key, Entry, internal::KeyIsFirst>::iterator;
  using mapped_type = Value;

  HashMap() = default;
  template <typename Iterator>
  HashMap(Iterator first, Iterator last) {
    insert(first, last);
  }
  HashMap(std::initializer_list<Entry> entries) : HashMap(entries.begin(), entries.end()) {}

  // The key's entry, and whether it is new: then its value is made of `args`, else those are left
  // alone.
  template <typename... Args>
  std::pair<iterator, bool> try_emplace(Lookup key, Args&&... args) {
    return this->FindOrAdd(key, [&](std::vector<Entry>& entries) {
      entries.emplace_back(std::piecewise_construct, std::forward_as_tuple(key),
                           std::forward_as_tuple(std::forward<Args>(args)...));
    });
  }
  template <typename Arg>
  std::pair<iterator, bool> emplace(Lookup key, Arg&& arg) {
    return try_emplace(key, std::forward<Arg>(arg));
  }
  std::pair<iterator, bool> insert(Entry entry) {
    return try_emplace(entry.first, std::move(entry.second));
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(*first);
  }
  template <typename Arg>
  std::pair<iterator, bool> insert_or_assign(Lookup key, Arg&& arg) {
    const auto [it, is_new] = try_emplace(key, std::forward<Arg>(arg));
    if (!is_new) it->second = std::forward<Arg>(arg);
    return {it, is_new};
  }
  Value& operator[](Lookup key) { return try_emplace(key).first->second; }
  // Throws std::out_of_range when there is none.
  const Value& at(Lookup key) const {
    const auto it = this->find(key);
    if (it == this->end()) throw std::out_of_range("there is no such key");
    return it->second;
  }
  Value& at(Lookup key) { return const_cast<Value&>(std::as_const(*this).at(key)); }
};

}  // namespace gyre
