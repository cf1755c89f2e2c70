// Any bytes at all as a model of ONNX, or a value beside one: reading them ends in a program, which
// can be prepared to run or says why not, in a value or in a status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "gyre/core/session.h"
#include "onnx/import.h"
#include "onnx/value_file.h"
#include "ops/registry.h"

namespace {

// Whether it says that Gyre has a mistake, not the bytes.
bool IsMistake(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsUnknown(status);
}

void ReadValues(absl::string_view bytes) {
  const gyre::OnnxType tensor;
  const gyre::OnnxType sequence = {gyre::OnnxKind::kSequence, gyre::DType::kInvalid,
                                   std::make_shared<const gyre::OnnxType>(tensor)};
  const gyre::OnnxType optional = {gyre::OnnxKind::kOptional, gyre::DType::kInvalid, nullptr};
  for (const gyre::OnnxType& type : {tensor, sequence, optional}) {
    if (IsMistake(gyre::ReadOnnxValue(bytes, type).status())) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadValues(bytes);
  const auto model = gyre::ImportOnnx(bytes, gyre::Ops());
  if (IsMistake(model.status())) std::abort();
  if (model.ok() && IsMistake(gyre::Session::Create(model->program).status())) std::abort();
  return 0;
}
