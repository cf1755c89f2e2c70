// ObjectCode: what a kernel does to objects that hold scalars (lists, variables), for code that is
// generated: there, an object is a pointer that owns a reference, and a scalar its bytes.
//
// A kernel offers it with WithObjectCode, for each type of its scalars:
//
//   template <typename T>
//   struct PushBackCode {
//     static constexpr absl::string_view kInputs = "Ox", kOutputs = "O";
//     static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept;
//   };
//   .kernel = WithObjectCode<PushBackCode>("element_dtype", Compute<PushBack>())
#pragma once

#include <utility>

#include "absl/strings/string_view.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"

namespace gyre {

// `operands` point to the scalars, tensors and Object* of the inputs, then of the outputs, without
// those of kind '-'. False: it is the kernel's to do this, or to say why it cannot be done, and
// nothing has changed. Throws nothing.
using ObjectFunction = bool (*)(const Tensor::Alloc& alloc, void* const* operands);

struct ObjectCode {
  ObjectFunction function;
  // One letter for each input and each output of the node:
  //   x  a scalar
  //   o  an object, lent
  //   O  an object: of an input, the function takes the reference if it returns true; of an output,
  //      it gives one
  //   t  a tensor, lent
  //   T  a tensor: of an input, the function may move it out if it returns true; of an output, it
  //      makes one
  //   -  an input that is no operand: an element shape, which must be a constant that any scalar
  //      fits ([] or -1)
  absl::string_view inputs, outputs;
};

template <typename Code>
inline constexpr ObjectCode kObjectCode = {&Code::Run, Code::kInputs, Code::kOutputs};

// Types whose scalars are cells: of at most eight bytes, and no complex ones.
using CellTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                        uint16_t, uint32_t, uint64_t, bool>;

// `kernel`, with Code<T> where attribute `attr` is T, one of those.
template <template <typename> class Code>
KernelFactory WithObjectCode(std::string attr, KernelFactory kernel) {
  return [attr = std::move(attr),
          kernel = std::move(kernel)](const Node& node) -> absl::StatusOr<Kernel> {
    GYRE_ASSIGN_OR_RETURN(Kernel made, kernel(node));
    VisitType<CellTypes>(NodeAttr<DType>(node, attr), [&](auto tag) {
      made.object = &kObjectCode<Code<typename decltype(tag)::type>>;
      return absl::OkStatus();
    }).IgnoreError();  // others have none
    return made;
  };
}

// `kernel`, with Code whatever its types are.
template <typename Code>
KernelFactory WithObjectCode(KernelFactory kernel) {
  return [kernel = std::move(kernel)](const Node& node) -> absl::StatusOr<Kernel> {
    GYRE_ASSIGN_OR_RETURN(Kernel made, kernel(node));
    made.object = &kObjectCode<Code>;
    return made;
  };
}

}  // namespace gyre
