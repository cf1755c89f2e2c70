// ObjectCode: what a kernel does to objects that hold scalars or small tensors (lists, variables),
// for code that is generated: there, an object is a pointer that owns a reference, a scalar its
// bytes, and a small tensor the place of its elements.
//
// A kernel offers it with WithObjectCode, for each type of its scalars:
//
//   template <typename T>
//   struct PushBackCode {
//     static constexpr absl::string_view kInputs = "Ox", kOutputs = "O";
//     static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept;
//   };
//   .kernel = WithObjectCode<PushBackCode>("element_dtype", Compute<PushBack>())
//
// With a second template, it offers the same for small tensors in the place of scalars. A Code may
// have the most common case as a function that generated code can inline, as ops/scalar_code.h
// says:
//
//   static bool Quick(void* const* operands) noexcept;  // as Run
//   static const void* FirstWord();                     // of objects of the class that it is for
//
// and, if it appends a scalar to an object ("Ox" to "O"), the same for many in a row (AppendCode):
//
//   static bool OpenEnd(Object* object, void** next, void** end) noexcept;
//   static void CloseEnd(Object* object, void* next) noexcept;
#pragma once

#include <typeinfo>
#include <utility>

#include "absl/strings/string_view.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"

namespace gyre {

// `operands` point to the scalars, tensors and Object* of the inputs, then of the outputs, without
// those of kind '-'. False: it is the kernel's to do this, or to say why it cannot be done, and
// nothing has changed. Throws nothing.
using ObjectFunction = bool (*)(const Tensor::Alloc& alloc, void* const* operands);

// A small tensor of a shape that is known beforehand. Its elements are those of an input, or to
// become those of an output.
struct SmallTensor {
  const Shape* shape;
  void* elements;
};

// The first operand is an object of the class whose objects begin with this word (their table of
// virtual functions).
struct QuickCode {
  bool (*function)(void* const* operands);
  const std::type_info& code;
  const void* (*first_word)();
};

// Appends scalars to an object that nobody else has, by writing them where it will have them.
struct AppendCode {
  // From *next to *end is room for at least one. False: the next one is the function's to append.
  bool (*open)(Object* object, void** next, void** end);
  // What has been written up to `next` since then is appended. Until then nobody uses the object.
  void (*close)(Object* object, void* next);
};

struct ObjectCode {
  ObjectFunction function;
  // One letter for each input and each output of the node:
  //   x  a scalar
  //   e  a SmallTensor
  //   o  an object, lent
  //   O  an object: of an input, the function takes the reference if it returns true; of an output,
  //      it gives one
  //   t  a tensor, lent
  //   T  a tensor: of an input, the function may move it out if it returns true; of an output, it
  //      makes one
  //   -  an input that is no operand: an element shape, which must be a constant that the scalar
  //      or small tensor among the others fits
  absl::string_view inputs, outputs;
  const QuickCode* quick = nullptr;
  const AppendCode* append = nullptr;
  const ObjectCode* of_tensors = nullptr;  // the same, of small tensors in the place of scalars
};

template <typename Code>
inline const QuickCode kQuickCode = {&Code::Quick, typeid(Code), &Code::FirstWord};
template <typename Code>
inline constexpr AppendCode kAppendCode = {&Code::OpenEnd, &Code::CloseEnd};

namespace internal {
template <typename Code>
constexpr const QuickCode* QuickOf() {
  if constexpr (requires(void* const* operands) { Code::Quick(operands); })
    return &kQuickCode<Code>;
  return nullptr;
}
template <typename Code>
constexpr const AppendCode* AppendOf() {
  if constexpr (requires(Object* object, void* next) { Code::CloseEnd(object, next); })
    return &kAppendCode<Code>;
  return nullptr;
}
}  // namespace internal

template <typename Code>
inline constexpr ObjectCode kObjectCode = {&Code::Run, Code::kInputs, Code::kOutputs,
                                           internal::QuickOf<Code>(), internal::AppendOf<Code>()};

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

template <typename Code, typename CodeOfTensors>
inline constexpr ObjectCode kObjectCodes = {&Code::Run,
                                            Code::kInputs,
                                            Code::kOutputs,
                                            internal::QuickOf<Code>(),
                                            internal::AppendOf<Code>(),
                                            &kObjectCode<CodeOfTensors>};

template <template <typename> class Code, template <typename> class CodeOfTensors>
KernelFactory WithObjectCode(std::string attr, KernelFactory kernel) {
  return [attr = std::move(attr),
          kernel = std::move(kernel)](const Node& node) -> absl::StatusOr<Kernel> {
    GYRE_ASSIGN_OR_RETURN(Kernel made, kernel(node));
    VisitType<CellTypes>(NodeAttr<DType>(node, attr), [&](auto tag) {
      using T = typename decltype(tag)::type;
      made.object = &kObjectCodes<Code<T>, CodeOfTensors<T>>;
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
