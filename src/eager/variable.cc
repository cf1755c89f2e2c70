#include "eager/variable.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "eager/context.h"
#include "eager/effect_log.h"
#include "eager/variable_store.h"
#include "front/error.h"
#include "ops/resource_store.h"

namespace gyre::eager {

VariableOwner::~VariableOwner() { session_->resources().Erase("Variable", "", name_); }

EagerTensor MakeVariable(Context& context, absl::string_view name, const Tensor& initial,
                         const PartialShape& shape, VariableOptions options) {
  if (!shape.Allows(initial.shape())) {
    gyre::internal::Throw(absl::InvalidArgumentError(
        absl::StrCat("an initial value of shape ", initial.shape().ToString(),
                     " does not fit the variable's shape ", shape.ToString())));
  }
  EffectLog::NoteNewVariable();
  static std::atomic<uint64_t> last{0};
  const std::string full_name = absl::StrCat(name, "_", last.fetch_add(1) + 1);
  std::shared_ptr<Session> session = context.session();
  Tensor handle = StoreVariable(session->resources(), full_name, initial, shape);
  return {std::move(handle), NewTensorId(),
          std::make_shared<const VariableOwner>(std::move(session), full_name,
                                                std::move(options.device), options.is_watched)};
}

}  // namespace gyre::eager
