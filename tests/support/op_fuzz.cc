#include "support/op_fuzz.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/env.h"
#include "ops/dispatch.h"

namespace gyre::testing {
namespace {

constexpr int64_t kBudgetBytes = int64_t{256} << 20;
constexpr int64_t kDeadlineNanos = 500'000'000;
// Kernels that wait have nobody to wait for here.
constexpr int64_t kWaitNanos = 1'000'000;

const std::vector<int64_t>& OddIntegers() {
  static const auto* const values = new std::vector<int64_t>{0,
                                                             0,
                                                             1,
                                                             1,
                                                             2,
                                                             3,
                                                             -1,
                                                             -1,
                                                             -2,
                                                             4,
                                                             7,
                                                             8,
                                                             31,
                                                             63,
                                                             64,
                                                             100,
                                                             1000,
                                                             -100,
                                                             int64_t{1} << 31,
                                                             -(int64_t{1} << 31),
                                                             (int64_t{1} << 31) - 1,
                                                             int64_t{1} << 62,
                                                             std::numeric_limits<int64_t>::max(),
                                                             std::numeric_limits<int64_t>::min()};
  return *values;
}

const std::vector<double>& OddFloats() {
  static const auto* const values =
      new std::vector<double>{0.0,
                              -0.0,
                              1.0,
                              -1.0,
                              0.5,
                              2.0,
                              -3.5,
                              1e-30,
                              -1e-300,
                              1e30,
                              1e300,
                              -1e300,
                              100.25,
                              1e-7,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN(),
                              2147483648.0,
                              -9.3e18};
  return *values;
}

const std::vector<std::string>& OddStrings() {
  static const auto* const values = new std::vector<std::string>{"",
                                                                 "a",
                                                                 "loop",
                                                                 "ij,jk->ik",
                                                                 "...i,i->...",
                                                                 "ii->i",
                                                                 "->",
                                                                 "%s {} %d",
                                                                 std::string("\0\xff", 2),
                                                                 "é",
                                                                 std::string(300, 'x')};
  return *values;
}

const std::vector<DType>& AllTypes() {
  static const auto* const types = [] {
    auto* all = new std::vector<DType>;
    for (int d = 1; d <= 23; ++d) all->push_back(static_cast<DType>(d));
    return all;
  }();
  return *types;
}

}  // namespace

std::string FuzzedCall::ToString() const {
  std::string text = absl::StrCat(node.op_name, "(");
  for (const Tensor& input : inputs) {
    absl::StrAppend(&text, DTypeName(input.dtype()), input.shape().ToString(), " ");
  }
  absl::StrAppend(&text, ")");
  for (const auto& [name, value] : node.attrs)
    absl::StrAppend(&text, " ", name, "=", AttrToString(value));
  return text;
}

OpFuzzer::OpFuzzer(uint64_t seed) : random_(seed) { MakeObjects(); }

void OpFuzzer::MakeObjects() {
  resources_pool_.clear();
  variants_pool_.clear();
  handles_pool_.clear();
  const auto keep = [](absl::StatusOr<std::vector<Tensor>> made, std::vector<Tensor>& pool) {
    if (made.ok() && !made->empty()) pool.push_back((*made)[0]);
  };
  const auto attrs = [](std::vector<std::pair<std::string, AttrValue>> entries) {
    AttrMap map;
    for (auto& [name, value] : entries) map.Set(name, std::move(value));
    return map;
  };
  const auto run = [](absl::string_view op, std::vector<Tensor> inputs, AttrMap map) {
    EvaluateOp(op, std::move(inputs), std::move(map)).status().IgnoreError();
  };
  const Tensor flow = Tensor::Scalar<float>(0);
  for (const DType type : {DType::kFloat, DType::kInt32, DType::kString}) {
    const Tensor value = RandomTensor(type);
    const AttrMap variable = attrs({{"dtype", type}, {"shape", PartialShape::Unknown()}});
    keep(EvaluateOp("VarHandleOp", {}, variable), resources_pool_);
    keep(EvaluateOp("VarHandleOp", {}, variable), resources_pool_);
    run("AssignVariableOp", {resources_pool_.back(), value}, attrs({{"dtype", type}}));
    keep(EvaluateOp("StackV2", {Tensor::Scalar<int32_t>(3)}, attrs({{"elem_type", type}})),
         resources_pool_);
    run("StackPushV2", {resources_pool_.back(), value}, attrs({{"T", type}}));
    keep(EvaluateOp("Stack", {}, attrs({{"elem_type", type}})), handles_pool_);
    run("StackPush", {handles_pool_.back(), value}, attrs({{"T", type}}));
    keep(EvaluateOp("TensorArrayV3", {Tensor::Scalar<int32_t>(3)},
                    attrs({{"dtype", type},
                           {"dynamic_size", Chance(0.5)},
                           {"clear_after_read", Chance(0.5)}})),
         resources_pool_);
    for (int i = Chance(0.5) ? 2 : -1; i >= 0; --i) {
      run("TensorArrayWriteV3", {resources_pool_.back(), Tensor::Scalar<int32_t>(i), value, flow},
          attrs({{"T", type}}));
    }
    keep(EvaluateOp("FIFOQueueV2", {}, attrs({{"component_types", std::vector<DType>{type}}})),
         resources_pool_);
    run("QueueEnqueueV2", {resources_pool_.back(), value},
        attrs({{"Tcomponents", std::vector<DType>{type}}}));
    keep(EvaluateOp("EmptyTensorList", {Tensor::Scalar<int32_t>(-1), Tensor::Scalar<int32_t>(4)},
                    attrs({{"element_dtype", type}})),
         variants_pool_);
    keep(EvaluateOp("TensorListPushBack", {variants_pool_.back(), value},
                    attrs({{"element_dtype", type}})),
         variants_pool_);
    keep(EvaluateOp("TensorListReserve", {Tensor::Vector<int32_t>({2}), Tensor::Scalar<int32_t>(3)},
                    attrs({{"element_dtype", type}})),
         variants_pool_);
    keep(EvaluateOp("OptionalFromValue", {value},
                    attrs({{"Toutput_types", std::vector<DType>{type}}})),
         variants_pool_);
  }
  keep(EvaluateOp("MutexV2", {}), resources_pool_);
  keep(EvaluateOp("MutexLock", {resources_pool_.back()}), variants_pool_);
  keep(EvaluateOp("MutexV2", {}), resources_pool_);
  keep(EvaluateOp("OptionalNone", {}), variants_pool_);
  resources_pool_.push_back(Tensor::FromObject(DType::kResource, nullptr));
  variants_pool_.push_back(Tensor::FromObject(DType::kVariant, nullptr));
}

Shape OpFuzzer::RandomShape() {
  static const auto* const ranks = new std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8};
  static const auto* const extents = new std::vector<int64_t>{0, 1, 1, 2, 2, 3, 4, 5};
  // Empty, but with dimensions that overflow what is careless with them.
  static const auto* const hollow = new std::vector<Dims>{
      {0, int64_t{1} << 31}, {int64_t{1} << 62, 0}, {1, int64_t{1} << 31, 0, 3}};
  if (Chance(0.1)) return *Shape::Make(Pick(*hollow));
  Dims dims(Pick(*ranks));
  for (int64_t& d : dims)
    d = dims.size() > 4 ? std::min<int64_t>(Pick(*extents), 2) : Pick(*extents);
  return Shape::Trusted(std::move(dims));
}

PartialShape OpFuzzer::RandomPartialShape() {
  if (Chance(0.3)) return PartialShape::Unknown();
  PartialShape shape = RandomShape();
  for (int i = 0; i < shape.rank(); ++i) {
    if (Chance(0.3)) shape.set_dim(i, -1);
    if (Chance(0.05)) shape.set_dim(i, int64_t{1} << 40);
  }
  return shape;
}

Tensor OpFuzzer::RandomObject(DType dtype) {
  return dtype == DType::kResource ? Pick(resources_pool_) : Pick(variants_pool_);
}

Tensor OpFuzzer::RandomTensor(DType dtype) {
  const bool object = dtype == DType::kResource || dtype == DType::kVariant;
  if (object && (Chance(0.8) || resources_pool_.empty())) return RandomObject(dtype);
  const Shape shape = Chance(0.6) ? base_shape_ : RandomShape();
  Tensor t = *Tensor::Make(dtype, shape);
  const bool tame = Chance(0.5);  // small numbers, which make sense as indices and sizes
  const auto status = VisitElement(dtype, [&](auto) { return absl::OkStatus(); });
  if (!status.ok()) return t;
  if (object) {
    for (auto& element : t.mutable_values<RefPtr<Object>>()) {
      element = RefPtr<Object>::Share(RandomObject(dtype).object());
    }
    return t;
  }
  if (dtype == DType::kString) {
    for (std::string& s : t.mutable_values<std::string>()) s = Pick(OddStrings());
    return t;
  }
  if (dtype == DType::kBool) {
    for (bool& b : t.mutable_values<bool>()) b = Chance(0.5);
    return t;
  }
  const absl::Status filled = VisitType<NumberTypes>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& element : t.mutable_values<T>()) {
      if constexpr (std::is_integral_v<T>) {
        element = tame ? static_cast<T>(std::uniform_int_distribution<int>(0, 3)(random_))
                       : static_cast<T>(static_cast<uint64_t>(Pick(OddIntegers())));
      } else {
        const double value =
            tame ? std::uniform_real_distribution<double>(-2, 2)(random_) : Pick(OddFloats());
        // double → float beyond its range is undefined; what it stands for here is infinity.
        const float narrow = std::abs(value) > 3e38
                                 ? std::copysign(INFINITY, static_cast<float>(value > 0 ? 1 : -1))
                                 : static_cast<float>(value);
        if constexpr (std::is_same_v<T, complex64>) {
          element = T(narrow, -narrow);
        } else if constexpr (std::is_same_v<T, complex128>) {
          element = T(value, 1.0);
        } else if constexpr (std::is_same_v<T, double>) {
          element = value;
        } else {
          element = static_cast<T>(narrow);
        }
      }
    }
    return absl::OkStatus();
  });
  if (!filled.ok()) {  // quantised: any bytes
    auto* bytes = static_cast<unsigned char*>(t.mutable_raw_data());
    for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = static_cast<unsigned char>(random_());
  }
  return t;
}

Tensor OpFuzzer::RandomRef(DType dtype) {
  if (dtype == DType::kString && !handles_pool_.empty() && Chance(0.7)) return Pick(handles_pool_);
  AttrMap attrs;
  attrs.Set("dtype", dtype);
  attrs.Set("shape", PartialShape::Unknown());
  absl::StatusOr<std::vector<Tensor>> made = EvaluateOp("VariableV2", {}, attrs);
  if (!made.ok()) return Tensor();
  if (Chance(0.7)) EvaluateOp("Assign", {(*made)[0], RandomTensor(dtype)}).status().IgnoreError();
  return (*made)[0];
}

DType OpFuzzer::RandomType(const AttrDef& def) {
  // The objects at hand hold floats more often than not.
  if (Chance(0.4) &&
      (def.allowed_types.empty() || absl::c_linear_search(def.allowed_types, DType::kFloat))) {
    return DType::kFloat;
  }
  return Pick(def.allowed_types.empty() || Chance(0.01) ? AllTypes() : def.allowed_types);
}

AttrValue OpFuzzer::RandomAttr(const AttrDef& def) {
  const auto integer = [&]() -> int64_t {
    if (Chance(0.7))
      return std::uniform_int_distribution<int>(0, 3)(random_) +
             (Chance(0.8) && !def.is_list ? def.minimum.value_or(0) : 0);
    return Pick(OddIntegers());
  };
  const auto text = [&] {
    return def.allowed_strings.empty() ? Pick(OddStrings()) : Pick(def.allowed_strings);
  };
  const auto list = [&](auto make) {
    const auto least = static_cast<size_t>(Chance(0.8) ? def.minimum.value_or(0) : 0);
    std::vector<decltype(make())> values(
        least + std::uniform_int_distribution<size_t>(0, least > 0 ? 1 : 3)(random_));
    for (size_t i = 0; i < values.size(); ++i) values[i] = make();
    return AttrValue(values);
  };
  // A number for each dimension of images: mostly 1 for the first and the last.
  const auto by_dimension = [&] {
    const int64_t least = def.minimum.value_or(0);
    std::vector<int64_t> values(static_cast<size_t>(least > 0 ? least : 4), 1);
    for (size_t i = 1; i + 1 < values.size(); ++i) values[i] += static_cast<int64_t>(random_() % 3);
    if (Chance(0.2)) values[random_() % values.size()] = integer();
    return AttrValue(values);
  };
  const auto function = [&] { return FunctionRef{"f", nullptr}; };
  const auto number = [&] {
    return static_cast<float>(std::uniform_real_distribution<double>(-2, 2)(random_));
  };
  switch (def.kind) {
    case AttrKind::kString:
      return def.is_list ? list(text) : AttrValue(text());
    case AttrKind::kInt:
      if (def.is_list && Chance(def.minimum ? 0.9 : 0.3)) return by_dimension();
      return def.is_list ? list(integer) : AttrValue(integer());
    case AttrKind::kFloat:
      return def.is_list ? list(number) : AttrValue(number());
    case AttrKind::kBool:
      return def.is_list ? list([&] { return Chance(0.5); }) : AttrValue(Chance(0.5));
    case AttrKind::kType:
      return def.is_list ? list([&] { return RandomType(def); }) : AttrValue(RandomType(def));
    case AttrKind::kShape:
      return def.is_list ? list([&] { return RandomPartialShape(); })
                         : AttrValue(RandomPartialShape());
    case AttrKind::kTensor:
      return AttrValue(RandomTensor(Pick(AllTypes())));
    case AttrKind::kFunc:
      return def.is_list ? list(function) : AttrValue(function());
  }
  return std::monostate();
}

AttrMap OpFuzzer::RandomAttrs(const OpDef& op) {
  AttrMap attrs;
  for (const AttrDef& def : op.attrs) {
    if (def.default_value && Chance(0.5)) continue;
    attrs.Set(def.name, RandomAttr(def));
  }
  return attrs;
}

Tensor OpFuzzer::MutatedTensor(const Tensor& tensor) {
  // Objects stay what they are; what surrounds them changes.
  if (tensor.is_ref() || !IsTrivial(tensor.dtype()) || tensor.num_elements() == 0 || Chance(0.4)) {
    return tensor.is_ref() ? RandomRef(tensor.dtype()) : RandomTensor(tensor.dtype());
  }
  Tensor changed = *Tensor::Make(tensor.dtype(), tensor.shape());
  std::memcpy(changed.mutable_raw_data(), tensor.raw_data(), tensor.bytes());
  const Tensor other = RandomTensor(tensor.dtype());
  if (other.num_elements() == 0) return changed;
  // One element becomes another number.
  const size_t size = DTypeSize(tensor.dtype());
  const auto at = [&](const Tensor& t) {
    return std::uniform_int_distribution<int64_t>(0, t.num_elements() - 1)(random_) * size;
  };
  std::memcpy(static_cast<char*>(changed.mutable_raw_data()) + at(changed),
              static_cast<const char*>(other.raw_data()) + at(other), size);
  return changed;
}

void OpFuzzer::Mutate(const OpDef& op, Model& model) {
  for (int changes = 1 + static_cast<int>(Chance(0.3)); changes > 0; --changes) {
    const bool has_attrs = !op.attrs.empty(), has_inputs = !model.inputs.empty();
    if (has_attrs && (!has_inputs || Chance(0.3))) {
      const AttrDef& def = Pick(op.attrs);
      if (def.kind != AttrKind::kType || Chance(0.1)) model.attrs.Set(def.name, RandomAttr(def));
    } else if (has_inputs) {
      const size_t i = std::uniform_int_distribution<size_t>(0, model.inputs.size() - 1)(random_);
      base_shape_ = model.inputs[i].is_ref() ? RandomShape() : model.inputs[i].shape();
      model.inputs[i] = MutatedTensor(model.inputs[i]);
    }
  }
}

// Resolves the signature and draws what inputs are missing.
absl::Status OpFuzzer::FillIn(FuzzedCall& call) {
  GYRE_ASSIGN_OR_RETURN(call.node.signature, ResolveSignature(*call.node.op, call.node.attrs));
  const auto& slots = call.node.signature.inputs;
  if (slots.size() > 64 || call.node.signature.outputs.size() > 64) {
    return absl::InvalidArgumentError("more inputs or outputs than are worth making");
  }
  call.inputs.resize(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    Tensor& input = call.inputs[i];
    if (input.has_value() && input.dtype() == slots[i].dtype && input.is_ref() == slots[i].is_ref)
      continue;
    input = slots[i].is_ref ? RandomRef(slots[i].dtype) : RandomTensor(slots[i].dtype);
    if (!input.has_value()) return absl::InvalidArgumentError("no such reference");
  }
  return absl::OkStatus();
}

void OpFuzzer::Run(FuzzedCall& call) {
  const absl::StatusOr<Kernel> kernel = Ops().MakeKernel(call.node);
  const bool waits = kernel.ok() && kernel->run_async != nullptr;
  Cancellation cancellation(SystemClock().NowNanos() + (waits ? kWaitNanos : kDeadlineNanos));
  auto budget = MakeRef<MemoryBudget>(kBudgetBytes);
  LocalRendezvous rendezvous;
  cancellation.AddCallback([&] { rendezvous.Abort(cancellation.status()); });
  RunEnv env;
  env.cancellation = &cancellation;
  env.budget = budget.get();
  env.resources = &resources_;
  env.rendezvous = &rendezvous;
  env.print = [](absl::string_view, absl::string_view) {};
  env.sandbox = "tests";  // no file is written, whatever an op is told
  call.outputs = EvaluateNode(Ops(), call.node, call.inputs, env, {1, 2});
}

absl::StatusOr<FuzzedCall> OpFuzzer::Call(const OpDef& op) {
  constexpr size_t kMaxModels = 32;
  constexpr int kCallsPerObjects =
      32;  // then the calls have closed, emptied or destroyed most of them
  if (++calls_ % kCallsPerObjects == 0) MakeObjects();
  base_shape_ = RandomShape();
  FuzzedCall call;
  call.node.id = 0;
  call.node.name = "fuzzed";
  call.node.op_name = op.name;
  call.node.op = &op;
  std::vector<Model>& models = models_[op.name];
  if (!models.empty() && Chance(0.6)) {
    Model model = Pick(models);
    Mutate(op, model);
    call.node.attrs = std::move(model.attrs);
    call.inputs = std::move(model.inputs);
  } else {
    call.node.attrs = RandomAttrs(op);
  }
  GYRE_RETURN_IF_ERROR(FillIn(call));
  // The kernel may take an input over and change it in place; a model keeps what went in.
  std::vector<Tensor> inputs = call.inputs;
  Run(call);
  if (call.outputs.ok()) {
    Model model{call.node.attrs, std::move(inputs)};
    if (models.size() < kMaxModels) {
      models.push_back(std::move(model));
    } else {
      models[std::uniform_int_distribution<size_t>(0, kMaxModels - 1)(random_)] = std::move(model);
    }
  }
  return call;
}

}  // namespace gyre::testing
