#include "cluster/samples.h"

#include <cstring>
#include <random>
#include <utility>

#include "ops/list/tensor_list.h"
#include "ops/variant_ops.h"

namespace gyre::test {
namespace {

// The form of a list of `dtype` whose elements may have any shape: see TensorList::TakeApart.
std::string AnyListOf(DType dtype) {
  std::string state = {static_cast<char>(dtype), '\0'};
  const int64_t any_size = -1;
  return state.append(reinterpret_cast<const char*>(&any_size), sizeof(any_size));
}

Tensor Make(absl::string_view type_name, VariantParts parts) {
  return Tensor::FromObject(DType::kVariant, *MakeVariant(type_name, std::move(parts), {}));
}

bool IsSameObject(const Object* a, const Object* b) {
  if (a == nullptr || b == nullptr) return a == b;
  const auto* const x = dynamic_cast<const AddableObject*>(a);
  const auto* const y = dynamic_cast<const AddableObject*>(b);
  if (x == nullptr || y == nullptr || a->type_name() != b->type_name()) return false;
  const VariantParts of_x = *x->TakeApart(), of_y = *y->TakeApart();
  if (of_x.state != of_y.state || of_x.components.size() != of_y.components.size()) return false;
  for (size_t i = 0; i < of_x.components.size(); ++i) {
    if (!IsSame(of_x.components[i], of_y.components[i])) return false;
  }
  return true;
}

}  // namespace

Tensor Sample(DType dtype, const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor tensor = *Tensor::Make(dtype, shape);
  if (dtype == DType::kString) {
    for (std::string& s : tensor.mutable_values<std::string>())
      s = std::string(random() % 40, static_cast<char>(random()));
  } else if (dtype == DType::kBool) {
    for (bool& b : tensor.mutable_values<bool>()) b = random() % 2 == 1;
  } else {
    auto* const bytes = static_cast<char*>(tensor.mutable_raw_data());
    for (size_t i = 0; i < tensor.num_elements() * DTypeSize(dtype); ++i)
      bytes[i] = static_cast<char>(random());
  }
  return tensor;
}

Tensor ListOf(DType dtype, std::vector<Tensor> elements) {
  return Make("TensorList", {AnyListOf(dtype), std::move(elements)});
}

Tensor SomeOf(std::vector<Tensor> components) {
  constexpr char kSome = '\1';
  return Make("Optional", {{kSome}, std::move(components)});
}

std::vector<Tensor> Samples() {
  std::vector<Tensor> samples;
  const std::vector<Shape> shapes = {Shape(),
                                     Shape::Vector(5),
                                     Shape::Trusted({2, 3}),
                                     Shape::Trusted({1, 2, 3}),
                                     Shape::Trusted({2, 1, 2, 2}),
                                     Shape::Trusted({1, 2, 1, 2, 1}),
                                     Shape::Trusted({2, 1, 1, 1, 2, 1}),
                                     Shape::Vector(0),
                                     Shape::Trusted({3, 0, 2})};
  uint64_t seed = 1;
  for (int number = 1; IsKnownWireDType(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (!IsTrivial(dtype) && dtype != DType::kString) continue;
    for (const Shape& shape : shapes) samples.push_back(Sample(dtype, shape, seed++));
  }
  const Tensor floats = Sample(DType::kFloat, Shape::Vector(7), seed++);
  const Tensor text = Sample(DType::kString, Shape::Vector(3), seed++);
  const Tensor list = ListOf(DType::kFloat, {floats, Tensor(), Tensor::Scalar(2.0f)});
  const Tensor nothing = Tensor::FromObject(DType::kVariant, nullptr);
  const Tensor some = SomeOf({text, list, floats});
  samples.insert(samples.end(), {list, nothing, some, ListOf(DType::kString, {}),
                                 ListOf(DType::kVariant, {list, nothing, some, Tensor()}),
                                 SomeOf({SomeOf({SomeOf({list})}), nothing})});
  Tensor several = *Tensor::Make(DType::kVariant, Shape::Trusted({2, 2}));
  several.mutable_values<RefPtr<Object>>()[1] = RefPtr<Object>::Share(list.object());
  several.mutable_values<RefPtr<Object>>()[2] = RefPtr<Object>::Share(some.object());
  samples.push_back(several);
  samples.push_back(*Tensor::Make(DType::kVariant, Shape::Vector(0)));
  return samples;
}

bool IsSame(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value()) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const size_t n = a.num_elements();
  if (a.dtype() == DType::kString) return a.values<std::string>() == b.values<std::string>();
  if (a.dtype() != DType::kVariant)
    return n == 0 || std::memcmp(a.raw_data(), b.raw_data(), n * DTypeSize(a.dtype())) == 0;
  if (a.rank() == 0) return IsSameObject(a.object(), b.object());
  for (size_t i = 0; i < n; ++i) {
    if (!IsSameObject(a.values<RefPtr<Object>>()[i].get(), b.values<RefPtr<Object>>()[i].get()))
      return false;
  }
  return true;
}

}  // namespace gyre::test
