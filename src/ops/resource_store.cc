#include "ops/resource_store.h"

#include <utility>
#include <vector>

#include "base/fork.h"

namespace gyre {

RefPtr<Object> ResourceStore::LookupOrCreateObject(absl::string_view type,
                                                   absl::string_view container,
                                                   absl::string_view name,
                                                   const std::function<RefPtr<Object>()>& create) {
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  Key key(type, container, name);
  if (const auto it = objects_.find(key); it != objects_.end()) return it->second;
  return objects_.emplace(std::move(key), create()).first->second;
}

RefPtr<Object> ResourceStore::LookupObject(absl::string_view type, absl::string_view container,
                                           absl::string_view name) {
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  const auto it = objects_.find(Key(std::string(type), std::string(container), std::string(name)));
  return it == objects_.end() ? nullptr : it->second;
}

bool ResourceStore::Erase(absl::string_view type, absl::string_view container,
                          absl::string_view name) {
  RefPtr<Object> doomed;  // destroyed outside the lock
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  const auto it = objects_.find(Key(std::string(type), std::string(container), std::string(name)));
  if (it == objects_.end()) return false;
  doomed = std::move(it->second);
  objects_.erase(it);
  return true;
}

void ResourceStore::Clear() {
  std::map<Key, RefPtr<Object>> doomed;
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  doomed.swap(objects_);
}

void ResourceStore::ForEach(const std::function<void(absl::string_view, absl::string_view,
                                                     absl::string_view, Object&)>& visit) {
  std::vector<std::pair<Key, RefPtr<Object>>> all;
  {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    all.assign(objects_.begin(), objects_.end());
  }
  for (auto& [key, object] : all)
    visit(std::get<0>(key), std::get<1>(key), std::get<2>(key), *object);
}

}  // namespace gyre
