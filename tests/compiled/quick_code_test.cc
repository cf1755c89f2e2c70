// Quick code (ops/object_code.h): native code does the common case of lists without calling what
// does all cases.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "compiled/library.h"
#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/list/tensor_list.h"
#include "ops/registry.h"

namespace gyre::testing {
namespace {

const ObjectCode* called = nullptr;  // what CountAndCall stands for
int calls = 0;

bool CountAndCall(const Tensor::Alloc& alloc, void* const* operands) {
  ++calls;
  return called->function(alloc, operands);
}

// An op on a list of float32, as native code in which calls are counted.
class ListOp {
 public:
  // `scalars`: the bytes of its inputs behind the list; `result_bytes`: of its scalar result, 0
  // where it has none.
  ListOp(const char* op, std::vector<Tensor> inputs, std::vector<uint32_t> scalars,
         uint32_t result_bytes) {
    AttrMap attrs;
    attrs.Set("element_dtype", DType::kFloat);
    auto node = MakeNode(Ops(), op, inputs, std::move(attrs));
    EXPECT_TRUE(node.ok()) << node.status();
    auto kernel = Ops().MakeKernel(*node);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    object_ = kernel->object;
    counted_ = *object_;
    counted_.function = &CountAndCall;
    compiled::Instruction instruction{.action = compiled::Action::kObject, .object = &counted_};
    region_.name = op;
    const auto cell = [&](uint32_t bytes, DType object) {
      region_.cells.push_back({.element_bytes = bytes, .object = object});
      return static_cast<uint32_t>(region_.cells.size() - 1);
    };
    changes_ = counted_.inputs[0] == 'O';
    instruction.inputs.push_back(cell(8, DType::kVariant));
    for (const uint32_t bytes : scalars) instruction.inputs.push_back(cell(bytes, DType::kInvalid));
    instruction.is_last.resize(instruction.inputs.size(), false);
    instruction.is_last[0] = changes_;
    instruction.live = instruction.inputs;
    std::vector<uint32_t> left;
    if (changes_) instruction.outputs.push_back(list_out_ = cell(8, DType::kVariant));
    if (result_bytes > 0) {
      instruction.outputs.push_back(result_ = cell(result_bytes, DType::kInvalid));
      left.push_back(result_);
    }
    const uint32_t stop = cell(1, DType::kInvalid);
    region_.constants = {{stop, std::string(1, '\0')}};
    region_.PlaceCells();
    region_.instructions = {instruction,
                            {.action = compiled::Action::kLeave, .inputs = {stop}, .live = left},
                            {.action = compiled::Action::kAgain, .targets = {0}}};
    region_.starts = {0};
    auto native = compiled::CompileRegion(region_);
    EXPECT_TRUE(native.ok()) << native.status();
    native_ = *std::move(native);
  }

  // The bytes of the scalar result.
  uint64_t Run(RefPtr<TensorList>& list, std::vector<uint64_t> scalars) {
    std::vector<uint64_t> cells(region_.num_words, 0);
    cells[0] = reinterpret_cast<uint64_t>(static_cast<Object*>(list.get()));
    std::copy(scalars.begin(), scalars.end(), cells.begin() + 1);
    const Tensor::Alloc alloc;
    int64_t iteration = 0;
    compiled::Frame frame = {.cells = cells.data(), .iterations = &iteration, .alloc = &alloc};
    called = object_;
    EXPECT_EQ(native_->Run(0, frame), 1u);
    if (changes_) {
      (void)list.release();
      list = RefPtr<TensorList>::Adopt(static_cast<TensorList*>(
          reinterpret_cast<Object*>(cells[region_.cells[list_out_].word])));
    }
    return cells[region_.cells[result_].word];
  }

 private:
  compiled::Region region_;
  const ObjectCode* object_ = nullptr;
  ObjectCode counted_{};
  bool changes_ = false;
  uint32_t list_out_ = 0, result_ = 0;
  std::unique_ptr<const compiled::NativeCode> native_;
};

uint64_t Bits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

Tensor ListTensor() {
  return Tensor::FromObject(DType::kVariant, MakeRef<TensorList>(DType::kFloat, PartialShape()));
}

TEST(QuickCode, ListsAreChangedAndReadWithFewCalls) {
  const NoFork no_fork;
  const Tensor any = Tensor::Scalar<int32_t>(-1), index = Tensor::Scalar<int32_t>(0);
  const Tensor shape = Tensor::Vector<int32_t>({}), value = Tensor::Scalar(1.0f);
  ListOp push("TensorListPushBack", {ListTensor(), value}, {4}, 0);
  ListOp set("TensorListSetItem", {ListTensor(), index, value}, {4, 4}, 0);
  ListOp get("TensorListGetItem", {ListTensor(), index, shape}, {4}, 4);
  ListOp pop("TensorListPopBack", {ListTensor(), any}, {}, 4);
  constexpr int kSize = 1000, kLeaf = 128;
  // The first of each leaf is a call, and where a first leaf grows.
  constexpr int kMostCalls = kSize / kLeaf + 8;
  auto list = MakeRef<TensorList>(DType::kFloat, PartialShape(Shape()));
  calls = 0;
  for (int i = 0; i < kSize; ++i) push.Run(list, {Bits(static_cast<float>(i))});
  EXPECT_EQ(list->size(), kSize);
  EXPECT_LE(calls, kMostCalls);
  calls = 0;
  for (int i = 0; i < kSize; ++i)
    set.Run(list, {static_cast<uint64_t>(i), Bits(static_cast<float>(2 * i))});
  EXPECT_LE(calls, kMostCalls);
  calls = 0;
  for (int i = 0; i < kSize; ++i)
    EXPECT_EQ(get.Run(list, {static_cast<uint64_t>(i)}), Bits(static_cast<float>(2 * i)));
  EXPECT_LE(calls, kMostCalls);
  calls = 0;
  for (int i = kSize; i-- > 0;) EXPECT_EQ(pop.Run(list, {}), Bits(static_cast<float>(2 * i)));
  EXPECT_EQ(list->size(), 0);
  EXPECT_LE(calls, kMostCalls);
}

TEST(QuickCode, AListThatOthersHaveStaysAsItIs) {
  const NoFork no_fork;
  ListOp push("TensorListPushBack", {ListTensor(), Tensor::Scalar(1.0f)}, {4}, 0);
  auto list = MakeRef<TensorList>(DType::kFloat, PartialShape(Shape()));
  for (int i = 0; i < 40; ++i) push.Run(list, {Bits(static_cast<float>(i))});
  const RefPtr<TensorList> copy = list->Copy();
  const RefPtr<TensorList> shared = list;
  push.Run(list, {Bits(-1)});  // a copy of its own, in which it goes on
  for (int i = 0; i < 10; ++i) push.Run(list, {Bits(-2)});
  EXPECT_EQ(list->size(), 51);
  for (const RefPtr<TensorList>& other : {copy, shared}) {
    ASSERT_EQ(other->size(), 40);
    EXPECT_EQ(*static_cast<const float*>(other->elements.Peek(39).data), 39);
    EXPECT_EQ(other->elements.Peek(40).data, nullptr);
  }
}

}  // namespace
}  // namespace gyre::testing
