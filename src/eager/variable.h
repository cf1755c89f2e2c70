// Variables of a Context: tensors of dtype resource, which ops read and change.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "eager/tensor.h"
#include "gyre/core/session.h"
#include "gyre/core/shape.h"

namespace gyre::eager {

class Context;

// Keeps a variable findable by name in the store; forgets it there when the last handle is gone.
class GYRE_INTERNAL_EXPORT VariableOwner {
 public:
  VariableOwner(std::shared_ptr<Session> session, std::string name, std::string device,
                bool is_watched)
      : session_(std::move(session)),
        name_(std::move(name)),
        device_(std::move(device)),
        is_watched_(is_watched) {}
  ~VariableOwner();
  VariableOwner(const VariableOwner&) = delete;
  VariableOwner& operator=(const VariableOwner&) = delete;
  const std::string& name() const { return name_; }
  // That graphs ask for; empty: any.
  const std::string& device() const { return device_; }
  // By tapes, when it is read.
  bool is_watched() const { return is_watched_; }

 private:
  const std::shared_ptr<Session> session_;  // whose store it is in
  const std::string name_;
  const std::string device_;
  const bool is_watched_;
};

struct VariableOptions {
  std::string device;      // that graphs ask for; empty: any
  bool is_watched = true;  // by tapes, when it is read
};

// The handle of a new variable with this value; a number is added to its name. INVALID_ARGUMENT,
// thrown, for a value that the shape does not allow.
GYRE_INTERNAL_EXPORT EagerTensor MakeVariable(Context& context, absl::string_view name,
                                              const Tensor& initial, const PartialShape& shape,
                                              VariableOptions options = {});

}  // namespace gyre::eager
