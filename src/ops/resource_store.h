// ResourceStore: the named objects (variables, queues, …) of a session, shared by its runs.
//
// Thread-safe. A name is looked up within a container and a type: two objects of different types
// may share a name.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/export.h"
#include "gyre/core/tensor.h"

namespace gyre {

class GYRE_EXPORT ResourceStore {
 public:
  // The object, made by `create` if there is none yet.
  template <typename T>
  RefPtr<T> LookupOrCreate(absl::string_view container, absl::string_view name,
                           const std::function<RefPtr<T>()>& create) {
    return RefPtr<T>::Adopt(
        static_cast<T*>(LookupOrCreateObject(T::kTypeName, container, name, [&] {
                          return RefPtr<Object>(create());
                        }).release()));
  }
  // Null when there is none.
  template <typename T>
  RefPtr<T> Lookup(absl::string_view container, absl::string_view name) {
    return RefPtr<T>::Adopt(static_cast<T*>(LookupObject(T::kTypeName, container, name).release()));
  }
  // Forgets the object; handles to it keep it alive. False when there is none.
  bool Erase(absl::string_view type, absl::string_view container, absl::string_view name);
  // Forgets everything.
  void Clear();
  // Calls `visit(type, container, name, object)` for each object, in order of (type, container,
  // name).
  void ForEach(const std::function<void(absl::string_view type, absl::string_view container,
                                        absl::string_view name, Object& object)>& visit);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  RefPtr<Object> LookupOrCreateObject(absl::string_view type, absl::string_view container,
                                      absl::string_view name,
                                      const std::function<RefPtr<Object>()>& create);
  RefPtr<Object> LookupObject(absl::string_view type, absl::string_view container,
                              absl::string_view name);

  std::mutex mutex_;  // guards what follows
  std::map<Key, RefPtr<Object>> objects_;
};

}  // namespace gyre
