// OpDef: what the IR knows of an operation: schema, traits, rules. Kernels are
// in ops/.
//
// An OpDef is immutable once registered and lives as long as its registry; it may be read from any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/dtype.h"
#include "gyre/core/export.h"
#include "ir/attr.h"

namespace gyre {

class BatchContext;
class GradientContext;
class ShapeContext;
class SimplifyContext;
struct Node;
struct ValueKind;

// One formal input or output. Its type is fixed (`dtype`), named by an attribute (`type_attr`),
// repeated
// (`number_attr` times), or a whole list (`type_list_attr`).
struct ArgDef {
  std::string name;
  DType dtype = DType::kInvalid;
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
};

enum class AttrKind : uint8_t { kString, kInt, kFloat, kBool, kType, kShape, kTensor, kFunc };

struct AttrDef {
  std::string name;
  AttrKind kind = AttrKind::kString;
  bool is_list = false;
  std::optional<AttrValue> default_value;
  std::optional<int64_t> minimum;    // of the value, or of the list's length
  std::vector<DType> allowed_types;  // empty: all
  std::vector<std::string> allowed_strings;
};

// How engines and passes treat a node. Everything that IsPlain has a kernel.
enum class OpKind : uint8_t {
  kPlain,
  kConst,
  kIdentity,
  kNoOp,
  kToBool,
  kSwitch,  // Switch, RefSwitch
  kSwitchN,
  kMerge,  // Merge, RefMerge
  kEnter,
  kExit,
  kNextIteration,
  kLoopCond,
  kControlTrigger,
  kIf,     // If, StatelessIf, _If
  kCase,   // Case, StatelessCase
  kWhile,  // While, StatelessWhile, _While
  kFor,
  kCall,  // PartitionedCall, StatefulPartitionedCall, RemoteCall
  kSymbolicGradient,
  kArg,
  kRetval,
  kPlaceholder,
  kTransfer,  // _Send, _Recv, _HostSend, _HostRecv: run even when dead
};

// Computes its outputs from its inputs, by a kernel if need be.
constexpr bool IsPlain(OpKind kind) {
  switch (kind) {
    case OpKind::kPlain:
    case OpKind::kConst:
    case OpKind::kIdentity:
    case OpKind::kNoOp:
    case OpKind::kToBool:
      return true;
    default:
      return false;
  }
}

// Moves deadness or frames: what only the dataflow dialect has.
constexpr bool IsPrimitive(OpKind kind) {
  switch (kind) {
    case OpKind::kSwitch:
    case OpKind::kSwitchN:
    case OpKind::kMerge:
    case OpKind::kEnter:
    case OpKind::kExit:
    case OpKind::kNextIteration:
    case OpKind::kLoopCond:
      return true;
    default:
      return false;
  }
}

// Runs a body again and again.
constexpr bool IsLoop(OpKind kind) { return kind == OpKind::kWhile || kind == OpKind::kFor; }

// If, Case, While, For or a call.
constexpr bool IsStructured(OpKind kind) {
  switch (kind) {
    case OpKind::kIf:
    case OpKind::kCase:
    case OpKind::kWhile:
    case OpKind::kFor:
    case OpKind::kCall:
      return true;
    default:
      return false;
  }
}

// What a node does beside computing its outputs from its inputs.
enum class Effect : uint8_t {
  kNone,      // pure: equal inputs give equal outputs; may be dropped, shared and moved
  kRead,      // reads a resource: commutes with other reads
  kWrite,     // changes a resource
  kAllocate,  // makes a fresh per-run resource (stack, array): may be dropped, not shared
  kRandom,    // draws random numbers: may be dropped, not shared
  kIo,        // prints, asserts, calls the host: always kept, ordered
};

// What gradients, analyses and loaders must know an op by, where its rules do not tell.
enum class Role : uint8_t {
  kOther,
  kArray,  // works on a TensorArray, whose flow says in which order
  kMakesStack,
  kPushes,
  kPops,
  kClosesStack,
  kReadsAll,       // of the variable that input 0 is a handle of
  kReadsRows,      // … the rows that input 1 names (GatherV2)
  kReadsElements,  // … what input 1 names (GatherNd)
  kAssigns,        // makes input 1 what the variable of input 0 holds
  kRestores,       // reads tensors from a file, by the names in input 1 and the slices in input 2
  kSum,            // of two numbers
  kDifference,
  kMatrixProduct,  // of two matrices, each of which may be turned
  kElement,        // the part of input 0 that scalars name, its other inputs
  kSetElement,     // input 0 with input 1 as that part
};

struct OpTraits {
  Effect effect = Effect::kNone;
  bool elementwise =
      false;  // output element i depends on the inputs' elements i (after broadcasting) alone
  bool commutative = false;
  bool aggregate = false;
  bool allows_uninitialized_input = false;
  // Output i is input i, whatever else the op does.
  bool hands_on = false;
  // Hands its input on untouched: given a reference where a value is expected, it passes the
  // reference on, and the variable is read where the value is used.
  bool forwards = false;
  // The output has the elements of input 0 in their order, maybe in another shape.
  bool is_view = false;
  // Each element of the outputs is some element of the inputs of the outputs' type, or a zero;
  // which one depends on shapes and on the other inputs alone.
  bool moves_elements = false;
  // It computes shapes, from tensors of which it reads the shapes alone or from shapes: small and
  // cheap.
  bool computes_shapes = false;
  // Makes variables: names them by its attributes.
  bool makes_variable = false;
  // Loops and branches keep by it what their gradients need: it stays where that is.
  bool keeps_for_gradients = false;
  // With Effect::kIo: runs code of the host, which may do anything to any resource.
  bool calls_host = false;
  // With Effect::kRandom: the op that draws the same numbers, now or later, from the key and the
  // counter of _DrawKey: op(input 0, key, counter, alg, the other inputs).
  absl::string_view drawn_again_by = {};
  Role role = Role::kOther;
};

// How a node runs a function that it names.
enum class CalleeKind : uint8_t {
  kBranch,     // one of them, once
  kCondition,  // before each iteration: its result says whether there is one
  kBody,       // once an iteration: its results are the variables of the next
  kFunction,   // once
};

// The functions of a structured node, and what it hands them. Its inputs are selectors, then
// arguments or variables, one for each argument of its functions but the counters; its outputs are
// the results of a branch, of the function, or of the last body.
struct Structure {
  struct Functions {
    absl::string_view attr;  // a function, or a list of them
    CalleeKind kind;
  };
  std::vector<Functions> functions = {};
  int num_selectors = 0;  // the predicate of If, the index of Case, the bounds of For, …
  int num_counters = 0;   // leading arguments of the functions that the node makes: For's index
  absl::string_view stateless = {};  // the op that is the same without effects; empty: none
};

// What may make a node's kernel fail, but for a lack of memory.
enum class Failure : uint8_t {
  kByValues,  // what its inputs hold
  kByShapes,  // shapes that do not fit together
  kNever,
};
// Null: kByValues for all nodes.
using FailureFn = Failure (*)(const Node& node);
// For registrations.
namespace fails {
inline Failure ByShapes(const Node&) { return Failure::kByShapes; }
inline Failure Never(const Node&) { return Failure::kNever; }
}  // namespace fails

using ShapeFn = absl::Status (*)(ShapeContext&);
using GradientFn = void (*)(GradientContext&);
using BatchFn = absl::Status (*)(BatchContext&);
using SimplifyFn = void (*)(SimplifyContext&);
// By output, what stands behind it, given that of all inputs (ops/value_kind.h). Null: a variant is
// what the inputs are, anything else a plain tensor.
using KindsFn = std::vector<ValueKind> (*)(const Node& node, const std::vector<ValueKind>& inputs);

// How the rows of a batch go through an op together: ir/batch_context.h.
struct Batch {
  BatchFn rule = nullptr;    // null: one after the other, but for elementwise ops
  bool knows_lists = false;  // inputs and outputs may be lists whose elements are stacked rows
  bool makes_list = false;   // … which the node makes: it may come to hold what differs
};

// A gradient rule, or the reason why there is none to be had.
struct Gradient {
  GradientFn rule = nullptr;
  std::string not_differentiable = {};  // the reason
  bool refuses = false;                 // asking for it is an error; else nothing flows back
};
// The derivative is zero wherever it exists, or there is nothing to differentiate: outputs are not
// connected with inputs.
inline Gradient NotDifferentiable(absl::string_view why) {
  return Gradient{nullptr, std::string(why), false};
}
// There may be a derivative, but it is not to be had: a gradient that would have to pass fails.
inline Gradient RefusesGradient(absl::string_view why) {
  return Gradient{nullptr, std::string(why), true};
}

struct GYRE_EXPORT OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::string doc;  // one sentence
  OpKind kind = OpKind::kPlain;
  OpTraits traits;
  Structure structure;
  ShapeFn shape = nullptr;
  Gradient gradient;
  Batch batch;
  SimplifyFn simplify = nullptr;  // null: nothing is known
  FailureFn failure = nullptr;
  KindsFn kinds = nullptr;

  bool stateful() const { return traits.effect != Effect::kNone; }
  const AttrDef* FindAttr(absl::string_view attr_name) const;
};

// Parses a schema line into the name, arguments and attributes of an OpDef:
//
//   Name(x: T, xs: N * T, r: Ref(T), any: Tlist, c: int32) -> y: T, ys: N * int32 {T: type; N: int
//   >= 1; …}
//
// Attributes are separated by ';': `name: kind [>= minimum] [= default]`, where kind is int, float,
// bool, string, type, shape, tensor, func, list(kind), a set of types `{int32, int64}` or of
// strings `{'a', 'b'}`, or a named set: numbertype, realnumbertype, floattype (bfloat16 half float
// double), complextype, inttype (all signed and unsigned), indextype (int32 int64). Defaults: 1,
// 0.5, true, 'text', int32, [], ? (unknown shape). INVALID_ARGUMENT with the position of the first
// mistake.
GYRE_EXPORT absl::StatusOr<OpDef> ParseOpSchema(absl::string_view schema);

// The schema line of `op`, in the syntax above.
GYRE_EXPORT std::string FormatOpSchema(const OpDef& op);

// Finds ops by name. Thread-safe for reading.
class GYRE_EXPORT OpLookup {
 public:
  virtual ~OpLookup() = default;
  // Null when there is no such op.
  virtual const OpDef* Find(absl::string_view name) const = 0;
};

// The types of one node's flattened inputs and outputs.
struct NodeSignature {
  struct Slot {
    DType dtype = DType::kInvalid;
    bool is_ref = false;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
};

// Fills in the schema's defaults, checks each attribute's kind and bounds against the schema, and
// resolves the types of all inputs and outputs. Attributes that the schema does not declare are
// kept as they are when their name starts with '_' (or, on import, always). INVALID_ARGUMENT names
// the attribute.
GYRE_EXPORT absl::StatusOr<NodeSignature> ResolveSignature(const OpDef& op, AttrMap& attrs);

// [begin, end) of the flattened inputs that belong to formal input `arg` (outputs: `is_output`).
GYRE_EXPORT absl::StatusOr<std::pair<int, int>> ArgRange(const OpDef& op, const AttrMap& attrs,
                                                         bool is_output, int arg);

}  // namespace gyre
