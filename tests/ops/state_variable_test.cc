// Variables behind references and handles: initialisation, updates, scatters, gathers, optimisers.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>

#include "ops/resource_run.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

using test::Attrs;
using test::InferShapes;
using test::Inputs;
using test::IsInvalid;
using test::Partial;
using test::ResourceRun;
using test::Says;
using test::Values;

Tensor MakeRefVariable(ResourceRun& run, const std::string& name, DType dtype = DType::kFloat,
                       PartialShape shape = Partial({2})) {
  return run.Run("VariableV2", {},
                 Attrs({{"dtype", dtype}, {"shape", shape}, {"shared_name", name}}));
}

Tensor MakeHandle(ResourceRun& run, const std::string& name, DType dtype = DType::kFloat,
                  PartialShape shape = PartialShape::Unknown()) {
  return run.Run("VarHandleOp", {},
                 Attrs({{"dtype", dtype}, {"shape", shape}, {"shared_name", name}}));
}

Tensor Read(ResourceRun& run, const Tensor& handle, DType dtype = DType::kFloat) {
  return run.Run("ReadVariableOp", {handle}, Attrs({{"dtype", dtype}}));
}

TEST(RefVariable, IsUninitialisedUntilAssigned) {
  ResourceRun run;
  const Tensor ref = MakeRefVariable(run, "w");
  ASSERT_TRUE(ref.is_ref());
  EXPECT_FALSE(run.Run("IsVariableInitialized", {ref}).scalar<bool>());
  const absl::Status status = ReadRef(ref).status();
  EXPECT_TRUE(Says(status, absl::StatusCode::kFailedPrecondition,
                   "Attempting to use uninitialized value w"));
  EXPECT_TRUE(
      Says(ReadRef(ref, "node/w").status(), absl::StatusCode::kFailedPrecondition, "value node/w"));
  EXPECT_TRUE(Says(run.Error("AssignAdd", {ref, Tensor::Vector<float>({1, 2})}),
                   absl::StatusCode::kFailedPrecondition, "uninitialized value w"));

  const Tensor out = run.Run("Assign", {ref, Tensor::Vector<float>({1, 2})});
  EXPECT_TRUE(out.is_ref());
  EXPECT_TRUE(run.Run("IsVariableInitialized", {ref}).scalar<bool>());
  EXPECT_EQ(Values<float>(*ReadRef(out)), (std::vector<float>{1, 2}));
}

TEST(RefVariable, OfOneNameIsOneVariableOfTheSession) {
  ResourceRun run;
  run.Run("Assign", {MakeRefVariable(run, "w"), Tensor::Vector<float>({1, 2})});
  EXPECT_EQ(Values<float>(*ReadRef(MakeRefVariable(run, "w"))), (std::vector<float>{1, 2}));
  EXPECT_FALSE(ReadRef(MakeRefVariable(run, "other")).ok());
  EXPECT_TRUE(IsInvalid(run.Error("VariableV2", {},
                                  Attrs({{"dtype", DType::kInt32},
                                         {"shape", Partial({2})},
                                         {"shared_name", std::string("w")}})),
                        "variable w is of type float32 in this session, not int32"));
}

// What reads by one node rests on the shape that this node says.
TEST(NamedVariable, KeepsTheShapeThatItWasMadeWith) {
  ResourceRun run;
  const auto make = [&](const char* op, PartialShape shape) {
    return run
        .Try(op, {},
             Attrs({{"dtype", DType::kFloat},
                    {"shape", std::move(shape)},
                    {"shared_name", absl::StrCat("by ", op)}}))
        .status();
  };
  for (const char* op : {"VarHandleOp", "VariableV2"}) {
    EXPECT_TRUE(make(op, Partial({-1, 2})).ok());
    EXPECT_TRUE(make(op, Partial({-1, 2})).ok());
    EXPECT_TRUE(make(op, PartialShape::Unknown()).ok());
    for (const PartialShape& other : {Partial({3, 2}), Partial({-1, 3}), Partial({2})}) {
      EXPECT_TRUE(IsInvalid(make(op, other), absl::StrCat("variable by ", op,
                                                          " was made with shape [?,2] in this "
                                                          "session, not ",
                                                          other.ToString())));
    }
  }
}

TEST(RefVariable, AddsAndSubtractsInPlaceWithoutChangingWhatWasRead) {
  ResourceRun run;
  const Tensor ref = MakeRefVariable(run, "w");
  run.Run("Assign", {ref, Tensor::Vector<float>({1, 2})});
  const Tensor before = *ReadRef(ref);
  run.Run("AssignAdd", {ref, Tensor::Vector<float>({10, 20})});
  EXPECT_EQ(Values<float>(*ReadRef(ref)), (std::vector<float>{11, 22}));
  EXPECT_EQ(Values<float>(before), (std::vector<float>{1, 2}));
  const void* buffer = ReadRef(ref)->raw_data();
  run.Run("AssignSub", {ref, Tensor::Vector<float>({1, 2})});
  EXPECT_EQ(Values<float>(*ReadRef(ref)), (std::vector<float>{10, 20}));
  EXPECT_EQ(ReadRef(ref)->raw_data(), buffer)
      << "nobody else reads the buffer: it should be reused";
}

TEST(RefVariable, AssignChecksTheShapeUnlessToldNotTo) {
  ResourceRun run;
  const Tensor ref = MakeRefVariable(run, "w");
  EXPECT_TRUE(
      IsInvalid(run.Error("Assign", {ref, Tensor::Vector<float>({1, 2, 3})}),
                "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]"));
  run.Run("Assign", {ref, Tensor::Vector<float>({1, 2, 3})}, Attrs({{"validate_shape", false}}));
  EXPECT_EQ(ReadRef(ref)->shape(), Shape::Vector(3));
  EXPECT_TRUE(IsInvalid(run.Error("AssignAdd", {ref, Tensor::Vector<float>({1, 2})}),
                        "Cannot update variable w with shape [3] using a Tensor with shape [2]"));
}

TEST(RefVariable, SelectsOneOfSeveralReferences) {
  ResourceRun run;
  const Tensor a = MakeRefVariable(run, "a"), b = MakeRefVariable(run, "b");
  run.Run("Assign",
          {run.Run("RefSelect", {Tensor::Scalar(1), a, b}), Tensor::Vector<float>({5, 6})});
  EXPECT_FALSE(ReadRef(a).ok());
  EXPECT_EQ(Values<float>(*ReadRef(run.Run("RefIdentity", {b}))), (std::vector<float>{5, 6}));
  EXPECT_TRUE(IsInvalid(run.Error("RefSelect", {Tensor::Scalar(2), a, b}),
                        "Index must be in the range [0, 2) but got 2"));
  EXPECT_TRUE(IsInvalid(run.Error("RefSelect", {Tensor::Vector<int32_t>({0}), a, b}),
                        "Index must be a scalar, but it has shape [1]"));
}

TEST(RefVariable, TemporaryStartsAsZerosAndEndsAsItsLastValue) {
  ResourceRun run;
  const AttrMap attrs =
      Attrs({{"dtype", DType::kInt32}, {"shape", Partial({2})}, {"var_name", std::string("t")}});
  const Tensor ref = run.Run("TemporaryVariable", {}, attrs);
  run.Run("AssignAdd", {ref, Tensor::Vector<int32_t>({3, 4})});
  EXPECT_TRUE(IsInvalid(
      run.Error("DestroyTemporaryVariable", {ref}, Attrs({{"var_name", std::string("u")}})),
      "var_name is u, but the reference is to t"));
  const Tensor last =
      run.Run("DestroyTemporaryVariable", {ref}, Attrs({{"var_name", std::string("t")}}));
  EXPECT_EQ(Values<int32_t>(last), (std::vector<int32_t>{3, 4}));
  EXPECT_FALSE(ReadRef(ref).ok());
}

TEST(ResourceVariable, ReadBeforeInitialisationNamesTheVariable) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "some_var");
  EXPECT_FALSE(run.Run("VarIsInitializedOp", {handle}).scalar<bool>());
  const AttrMap read = Attrs({{"dtype", DType::kFloat}});
  EXPECT_TRUE(Says(run.Error("ReadVariableOp", {handle}, read),
                   absl::StatusCode::kFailedPrecondition, "Could not find variable some_var"));
  run.All("AssignVariableOp", {handle, Tensor::Scalar(2.0f)});
  EXPECT_TRUE(run.Run("VarIsInitializedOp", {handle}).scalar<bool>());
  EXPECT_EQ(Read(run, handle).scalar<float>(), 2.0f);
}

TEST(ResourceVariable, RejectsOtherTypesAndShapesAndHandles) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v", DType::kFloat, Partial({2, -1}));
  EXPECT_TRUE(IsInvalid(run.Error("AssignVariableOp", {handle, Tensor::Scalar(1)}),
                        "wrong dtype. Expected float32 got int32"));
  EXPECT_TRUE(IsInvalid(run.Error("AssignVariableOp", {handle, Tensor::Vector<float>({1})}),
                        "wrong shape [1]"));
  EXPECT_TRUE(IsInvalid(run.Error("ReadVariableOp", {handle}, Attrs({{"dtype", DType::kInt32}})),
                        "Trying to read variable v with wrong dtype. Expected int32 got float32"));
  const Tensor nothing = Tensor::FromObject(DType::kResource, nullptr);
  EXPECT_TRUE(IsInvalid(run.Error("ReadVariableOp", {nothing}, Attrs({{"dtype", DType::kFloat}})),
                        "must be a handle of a Variable, but it is empty"));
  const Tensor stack =
      run.Run("StackV2", {Tensor::Scalar(-1)}, Attrs({{"elem_type", DType::kFloat}}));
  EXPECT_TRUE(IsInvalid(run.Error("VarIsInitializedOp", {stack}), "but it is one of a Stack"));
}

TEST(ResourceVariable, ValidatesTheShapeOfTheOldValueOnlyIfAsked) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v");
  run.All("AssignVariableOp", {handle, Tensor::Vector<float>({1, 2})});
  EXPECT_TRUE(IsInvalid(run.Error("AssignVariableOp", {handle, Tensor::Scalar(1.0f)},
                                  Attrs({{"validate_shape", true}})),
                        "wrong shape []"));
  run.All("AssignVariableOp", {handle, Tensor::Scalar(1.0f)});
  EXPECT_EQ(Read(run, handle).scalar<float>(), 1.0f);
}

template <typename T>
void ExpectUpdates(T start, T change, T sum, T difference) {
  ResourceRun run;
  const DType dtype = DTypeOf<T>;
  const Tensor handle = MakeHandle(run, "v", dtype);
  run.All("AssignVariableOp", {handle, Tensor::Vector<T>({start})});
  run.All("AssignAddVariableOp", {handle, Tensor::Vector<T>({change})});
  Tensor value = Read(run, handle, dtype);
  EXPECT_EQ(std::memcmp(value.raw_data(), &sum, sizeof(T)), 0) << std::string(DTypeName(dtype));
  run.All("AssignVariableOp", {handle, Tensor::Vector<T>({start})});
  run.All("AssignSubVariableOp", {handle, Tensor::Vector<T>({change})});
  value = Read(run, handle, dtype);
  EXPECT_EQ(std::memcmp(value.raw_data(), &difference, sizeof(T)), 0)
      << std::string(DTypeName(dtype));
}

TEST(ResourceVariable, UpdatesEveryNumberTypeAndIntegersWrap) {
  ExpectUpdates<float>(1, 2, 3, -1);
  ExpectUpdates<double>(1, 2, 3, -1);
  ExpectUpdates<Half>(Half(1.0f), Half(2.0f), Half(3.0f), Half(-1.0f));
  ExpectUpdates<BFloat16>(BFloat16(1.0f), BFloat16(2.0f), BFloat16(3.0f), BFloat16(-1.0f));
  ExpectUpdates<int8_t>(127, 1, -128, 126);
  ExpectUpdates<int16_t>(-32768, -1, 32767, -32767);
  ExpectUpdates<int32_t>(INT32_MAX, 1, INT32_MIN, INT32_MAX - 1);
  ExpectUpdates<int64_t>(INT64_MIN, -1, INT64_MAX, INT64_MIN + 1);
  ExpectUpdates<uint8_t>(255, 1, 0, 254);
  ExpectUpdates<uint16_t>(0, 1, 1, 65535);
  ExpectUpdates<uint32_t>(0, 1, 1, UINT32_MAX);
  ExpectUpdates<uint64_t>(0, 1, 1, UINT64_MAX);
  ExpectUpdates<complex64>({1, 2}, {3, -1}, {4, 1}, {-2, 3});
  ExpectUpdates<complex128>({1, 2}, {3, -1}, {4, 1}, {-2, 3});
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "b", DType::kBool);
  EXPECT_EQ(run.Error("AssignAddVariableOp", {handle, Tensor::Scalar(true)}).code(),
            absl::StatusCode::kUnimplemented);
}

TEST(ResourceVariable, ShapeAndDestruction) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v");
  run.All("AssignVariableOp",
          {handle, Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, test::ShapeOf({2, 3}))});
  EXPECT_EQ(Values<int32_t>(run.Run("VariableShape", {handle})), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(
      Values<int64_t>(run.Run("VariableShape", {handle}, Attrs({{"out_type", DType::kInt64}}))),
      (std::vector<int64_t>{2, 3}));
  run.All("DestroyResourceOp", {handle});
  EXPECT_FALSE(run.Run("VarIsInitializedOp", {handle}).scalar<bool>());
  run.All("DestroyResourceOp", {handle});
  EXPECT_EQ(
      run.Error("DestroyResourceOp", {handle}, Attrs({{"ignore_lookup_error", false}})).code(),
      absl::StatusCode::kNotFound);
}

TEST(ResourceVariable, ManyHandlesAndReadsAtOnce) {
  ResourceRun run;
  const std::vector<Tensor> handles =
      run.All("_VarHandlesOp", {},
              Attrs({{"containers", std::vector<std::string>{"", ""}},
                     {"shared_names", std::vector<std::string>{"a", "b"}},
                     {"N", int64_t{2}},
                     {"dtypes", std::vector<DType>{DType::kFloat, DType::kInt32}},
                     {"shapes", std::vector<PartialShape>{Partial({}), Partial({1})}}}));
  ASSERT_EQ(handles.size(), 2u);
  run.All("AssignVariableOp", {MakeHandle(run, "a"), Tensor::Scalar(1.5f)});
  run.All("AssignVariableOp", {handles[1], Tensor::Vector<int32_t>({7})});
  const AttrMap types = Attrs({{"dtypes", std::vector<DType>{DType::kFloat, DType::kInt32}}});
  const std::vector<Tensor> values = run.All("_ReadVariablesOp", handles, types);
  EXPECT_EQ(values[0].scalar<float>(), 1.5f);
  EXPECT_EQ(Values<int32_t>(values[1]), std::vector<int32_t>{7});
  EXPECT_TRUE(IsInvalid(run.Error("_ReadVariablesOp", {handles[0]}, types),
                        "dtypes must have N = 1 elements"));
}

TEST(ResourceVariable, AnonymousNameMakesAFreshVariableEachTime) {
  ResourceRun run;
  const std::string anonymous = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";
  run.All("AssignVariableOp", {MakeHandle(run, anonymous), Tensor::Scalar(1.0f)});
  EXPECT_FALSE(run.Run("VarIsInitializedOp", {MakeHandle(run, anonymous)}).scalar<bool>());
}

TEST(ResourceVariable, HandlesTellShapeRulesTypeAndShape) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v");
  const AttrMap made = Attrs({{"dtype", DType::kFloat}, {"shape", Partial({2, -1})}});
  const auto outputs = InferShapes("VarHandleOp", {}, made);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape, PartialShape::Scalar());
  const std::optional<HandleInfo> info = (*outputs)[0].handle;
  EXPECT_EQ(info, (HandleInfo{DType::kFloat, Partial({2, -1})}));

  EXPECT_EQ(
      (*InferShapes("ReadVariableOp", {handle}, Attrs({{"dtype", DType::kFloat}}), info))[0].shape,
      Partial({2, -1}));
  EXPECT_FALSE(
      InferShapes("ReadVariableOp", {handle}, Attrs({{"dtype", DType::kInt32}}), info).ok());
  EXPECT_FALSE(InferShapes("AssignVariableOp", {handle, Tensor::Scalar(1.0f)}, {}, info).ok());
  EXPECT_FALSE(InferShapes("AssignAddVariableOp", {handle, Tensor::Scalar(1)}, {}, info).ok());
  const auto shape = InferShapes("VariableShape", {handle}, {}, info);
  EXPECT_EQ((*shape)[0].shape, Partial({2}));
  EXPECT_EQ((*shape)[0].as_shape, Partial({2, -1}));
  EXPECT_EQ((*InferShapes("ResourceGather", {handle, Tensor::Vector<int32_t>({0, 1, 1})},
                          Attrs({{"dtype", DType::kFloat}}), info))[0]
                .shape,
            Partial({3, -1}));
}

TEST(VariableScatter, ReplacesAddsSubtractsMultipliesRows) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v", DType::kInt32);
  run.All("AssignVariableOp",
          {handle, Tensor::FromValues<int32_t>({1, 2, 3, 4, 5, 6}, test::ShapeOf({3, 2}))});
  const Tensor rows = Tensor::Vector<int64_t>({2, 0});
  const Tensor updates = Tensor::FromValues<int32_t>({10, 20, 30, 40}, test::ShapeOf({2, 2}));
  run.All("ResourceScatterAdd", {handle, rows, updates});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{31, 42, 3, 4, 15, 26}));
  run.All("ResourceScatterSub", {handle, rows, updates});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  run.All("ResourceScatterMul", {handle, Tensor::Vector<int32_t>({1, 1}), Tensor::Scalar(3)});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{1, 2, 27, 36, 5, 6}));
  run.All("ResourceScatterUpdate", {handle, Tensor::Scalar(0), Tensor::Vector<int32_t>({8, 9})});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{8, 9, 27, 36, 5, 6}));
}

TEST(VariableScatter, AFailedScatterChangesNothing) {
  ResourceRun run;
  const Tensor ref = MakeRefVariable(run, "v", DType::kFloat, Partial({3}));
  run.Run("Assign", {ref, Tensor::Vector<float>({1, 2, 3})});
  EXPECT_TRUE(IsInvalid(run.Error("ScatterAdd", {ref, Tensor::Vector<int32_t>({0, 3}),
                                                 Tensor::Vector<float>({5, 5})}),
                        "indices[1] = 3 is not in [0, 3)"));
  EXPECT_TRUE(IsInvalid(
      run.Error("ScatterUpdate", {ref, Tensor::Vector<int32_t>({0, -1}), Tensor::Scalar(5.0f)}),
      "indices[1] = -1 is not in [0, 3)"));
  EXPECT_TRUE(IsInvalid(
      run.Error("ScatterMul", {ref, Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<float>({5})}),
      "Must have updates.shape = indices.shape + params.shape[1:]"));
  EXPECT_EQ(Values<float>(*ReadRef(ref)), (std::vector<float>{1, 2, 3}));
  const Tensor out =
      run.Run("ScatterSub", {ref, Tensor::Vector<int32_t>({2, 2}), Tensor::Vector<float>({1, 1})});
  EXPECT_EQ(Values<float>(*ReadRef(out)), (std::vector<float>{1, 2, 1}));
}

TEST(VariableScatter, DividesRowsAndTakesExtrema) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v", DType::kInt32);
  const int32_t least = std::numeric_limits<int32_t>::min();
  run.All("AssignVariableOp", {handle, Tensor::Vector<int32_t>({-7, least, 9})});
  const Tensor rows = Tensor::Vector<int32_t>({0, 1});
  run.All("ResourceScatterDiv", {handle, rows, Tensor::Vector<int32_t>({2, -1})});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{-3, least, 9}));
  EXPECT_TRUE(
      IsInvalid(run.Error("ResourceScatterDiv", {handle, rows, Tensor::Vector<int32_t>({1, 0})}),
                "integer division by zero: updates[1] is 0"));
  run.All("ResourceScatterMax", {handle, rows, Tensor::Vector<int32_t>({-9, 4})});
  run.All("ResourceScatterMin", {handle, Tensor::Scalar(2), Tensor::Scalar(5)});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)), (std::vector<int32_t>{-3, 4, 5}));

  const Tensor ref = MakeRefVariable(run, "f");
  run.Run("Assign", {ref, Tensor::Vector<float>({1, 2})});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  run.Run("ScatterMin", {ref, rows, Tensor::Vector<float>({nan, 3})});
  EXPECT_TRUE(std::isnan(Values<float>(*ReadRef(ref))[0]));
  run.Run("ScatterDiv", {ref, Tensor::Vector<int32_t>({1}), Tensor::Vector<float>({4})});
  EXPECT_EQ(Values<float>(*ReadRef(ref))[1], 0.5f);
}

TEST(VariableScatter, SlicesAtIndexVectors) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v", DType::kInt32);
  run.All("AssignVariableOp",
          {handle, Tensor::FromValues<int32_t>({1, 2, 3, 4}, test::ShapeOf({2, 2}))});
  const Tensor before = Read(run, handle, DType::kInt32);
  const Tensor at = Tensor::FromValues<int64_t>({1, 0, 1, 0}, test::ShapeOf({2, 2}));
  run.All("ResourceScatterNdAdd", {handle, at, Tensor::Vector<int32_t>({10, 20})});
  run.All("ResourceScatterNdSub", {handle, Tensor::FromValues<int32_t>({0}, test::ShapeOf({1, 1})),
                                   Tensor::FromValues<int32_t>({5, 5}, test::ShapeOf({1, 2}))});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{-4, -3, 33, 4}));
  run.All("ResourceScatterNdMax", {handle, at, Tensor::Vector<int32_t>({1, 40})});
  run.All("ResourceScatterNdMin", {handle, at, Tensor::Vector<int32_t>({39, 50})});
  run.All("ResourceScatterNdUpdate", {handle, Tensor::Vector<int32_t>({0, 0}), Tensor::Scalar(7)});
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{7, -3, 39, 4}));
  EXPECT_EQ(Values<int32_t>(before), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_TRUE(
      IsInvalid(run.Error("ResourceScatterNdAdd",
                          {handle, Tensor::FromValues<int32_t>({0, 0, 2, 0}, test::ShapeOf({2, 2})),
                           Tensor::Vector<int32_t>({1, 1})}),
                "indices[1] = [2,0] does not index into shape [2,2]"));
  EXPECT_TRUE(
      IsInvalid(run.Error("ResourceScatterNdAdd", {handle, at, Tensor::Vector<int32_t>({1})}),
                "Must have updates.shape"));
  EXPECT_EQ(Values<int32_t>(Read(run, handle, DType::kInt32)),
            (std::vector<int32_t>{7, -3, 39, 4}));
  const Tensor ref = MakeRefVariable(run, "s", DType::kString);
  run.Run("Assign", {ref, Tensor::Vector<std::string>({"a", "b"})});
  run.Run("ScatterNdUpdate", {ref, Tensor::FromValues<int32_t>({1}, test::ShapeOf({1, 1})),
                              Tensor::Vector<std::string>({"z"})});
  EXPECT_EQ(Values<std::string>(*ReadRef(ref)), (std::vector<std::string>{"a", "z"}));
}

TEST(VariableScatter, StringsCanBeReplaced) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v", DType::kString);
  run.All("AssignVariableOp", {handle, Tensor::Vector<std::string>({"a", "b"})});
  const Tensor before = Read(run, handle, DType::kString);
  run.All("ResourceScatterUpdate",
          {handle, Tensor::Vector<int32_t>({1}), Tensor::Vector<std::string>({"z"})});
  EXPECT_EQ(Values<std::string>(Read(run, handle, DType::kString)),
            (std::vector<std::string>{"a", "z"}));
  EXPECT_EQ(Values<std::string>(before), (std::vector<std::string>{"a", "b"}));
}

TEST(VariableGather, RowsSlicesAndBatches) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "v");
  run.All("AssignVariableOp",
          {handle, Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, test::ShapeOf({2, 3}))});
  const AttrMap f = Attrs({{"dtype", DType::kFloat}});
  Tensor y = run.Run("ResourceGather",
                     {handle, Tensor::FromValues<int32_t>({1, 0, 1, 1}, test::ShapeOf({2, 2}))}, f);
  EXPECT_EQ(y.shape(), test::ShapeOf({2, 2, 3}));
  EXPECT_EQ(Values<float>(y), (std::vector<float>{4, 5, 6, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  y = run.Run("ResourceGather",
              {handle, Tensor::FromValues<int64_t>({2, 0}, test::ShapeOf({2, 1}))},
              Attrs({{"dtype", DType::kFloat}, {"batch_dims", int64_t{1}}}));
  EXPECT_EQ(y.shape(), test::ShapeOf({2, 1}));
  EXPECT_EQ(Values<float>(y), (std::vector<float>{3, 4}));
  y = run.Run("ResourceGatherNd",
              {handle, Tensor::FromValues<int32_t>({1, 2, 0, 0}, test::ShapeOf({2, 2}))}, f);
  EXPECT_EQ(Values<float>(y), (std::vector<float>{6, 1}));
  y = run.Run("ResourceGatherNd", {handle, Tensor::FromValues<int32_t>({}, test::ShapeOf({2, 0}))},
              f);
  EXPECT_EQ(y.shape(), test::ShapeOf({2, 2, 3}));
  EXPECT_TRUE(IsInvalid(run.Error("ResourceGather", {handle, Tensor::Vector<int32_t>({0, 2})}, f),
                        "indices[1] = 2 is not in [0, 2)"));
  EXPECT_TRUE(
      IsInvalid(run.Error("ResourceGatherNd", {handle, Tensor::Vector<int32_t>({0, -1})}, f),
                "does not index into param shape [2,3]"));
}

TEST(Optimizer, GradientDescentOnReferencesAndHandles) {
  ResourceRun run;
  const Tensor ref = MakeRefVariable(run, "r");
  run.Run("Assign", {ref, Tensor::Vector<float>({1, 2})});
  const Tensor out =
      run.Run("ApplyGradientDescent", {ref, Tensor::Scalar(0.5f), Tensor::Vector<float>({2, -2})});
  EXPECT_EQ(Values<float>(*ReadRef(out)), (std::vector<float>{0, 3}));
  const Tensor handle = MakeHandle(run, "h");
  EXPECT_TRUE(Says(run.Error("ResourceApplyGradientDescent",
                             {handle, Tensor::Scalar(1.0f), Tensor::Scalar(1.0f)}),
                   absl::StatusCode::kFailedPrecondition, "Could not find variable h"));
  run.All("AssignVariableOp", {handle, Tensor::Scalar(1.0f)});
  run.All("ResourceApplyGradientDescent", {handle, Tensor::Scalar(0.25f), Tensor::Scalar(2.0f)});
  EXPECT_EQ(Read(run, handle).scalar<float>(), 0.5f);
  EXPECT_TRUE(IsInvalid(run.Error("ResourceApplyGradientDescent",
                                  {handle, Tensor::Vector<float>({1}), Tensor::Scalar(1.0f)}),
                        "alpha is not a scalar: its shape is [1]"));
  EXPECT_TRUE(IsInvalid(run.Error("ResourceApplyGradientDescent",
                                  {handle, Tensor::Scalar(1.0f), Tensor::Vector<float>({1})}),
                        "do not have the same shape: [] [1]"));
}

TEST(Optimizer, MomentumAndNesterov) {
  for (const bool nesterov : {false, true}) {
    ResourceRun run;
    const Tensor var = MakeHandle(run, "v", DType::kDouble),
                 accum = MakeHandle(run, "a", DType::kDouble);
    run.All("AssignVariableOp", {var, Tensor::Scalar(1.0)});
    run.All("AssignVariableOp", {accum, Tensor::Scalar(4.0)});
    run.All("ResourceApplyMomentum",
            {var, accum, Tensor::Scalar(0.125), Tensor::Scalar(3.0), Tensor::Scalar(0.5)},
            Attrs({{"use_nesterov", nesterov}}));
    EXPECT_EQ(Read(run, accum, DType::kDouble).scalar<double>(), 5.0);  // 4 · 0.5 + 3
    // 1 − 5 · 0.125, or 1 − (3 · 0.125 + 5 · 0.5 · 0.125)
    EXPECT_EQ(Read(run, var, DType::kDouble).scalar<double>(), nesterov ? 0.3125 : 0.375);
  }
}

TEST(Optimizer, AdamFollowsItsFormula) {
  for (const bool nesterov : {false, true}) {
    ResourceRun run;
    const Tensor var = MakeHandle(run, "v", DType::kDouble),
                 m = MakeHandle(run, "m", DType::kDouble), v = MakeHandle(run, "s", DType::kDouble);
    run.All("AssignVariableOp", {var, Tensor::Vector<double>({1.0})});
    run.All("AssignVariableOp", {m, Tensor::Vector<double>({0.3})});
    run.All("AssignVariableOp", {v, Tensor::Vector<double>({0.2})});
    const double b1 = 0.9, b2 = 0.99, lr = 0.1, eps = 1e-3, g = -2.0;
    run.All(
        "ResourceApplyAdam",
        {var, m, v, Tensor::Scalar(b1 * b1), Tensor::Scalar(b2 * b2), Tensor::Scalar(lr),
         Tensor::Scalar(b1), Tensor::Scalar(b2), Tensor::Scalar(eps), Tensor::Vector<double>({g})},
        Attrs({{"use_nesterov", nesterov}}));
    const double m1 = b1 * 0.3 + (1 - b1) * g, v1 = b2 * 0.2 + (1 - b2) * g * g;
    const double rate = lr * std::sqrt(1 - b2 * b2) / (1 - b1 * b1);
    const double step = nesterov ? b1 * m1 + (1 - b1) * g : m1;
    EXPECT_NEAR(Values<double>(Read(run, m, DType::kDouble))[0], m1, 1e-15);
    EXPECT_NEAR(Values<double>(Read(run, v, DType::kDouble))[0], v1, 1e-15);
    EXPECT_NEAR(Values<double>(Read(run, var, DType::kDouble))[0],
                1 - rate * step / (std::sqrt(v1) + eps), 1e-14);
  }
}

TEST(Optimizer, OneVariableInSeveralRolesDoesNotLockForEver) {
  ResourceRun run;
  const Tensor v = MakeHandle(run, "v");
  run.All("AssignVariableOp", {v, Tensor::Scalar(1.0f)});
  run.All("ResourceApplyMomentum",
          {v, v, Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), Tensor::Scalar(1.0f)});
  EXPECT_EQ(Read(run, v).scalar<float>(), 2.0f);
}

// ---- Captured for loops that run again

TEST(CapturedVariable, KeepsTheValueThatItHad) {
  ResourceRun run;
  const Tensor handle = MakeHandle(run, "w");
  const AttrMap as_float = Attrs({{"dtype", DType::kFloat}});
  const auto capture = [&] { return run.Run("_CaptureVariable", {handle}, as_float); };
  const Tensor nothing = capture();
  EXPECT_TRUE(Says(run.Error("_CapturedValue", {handle, nothing}, as_float),
                   absl::StatusCode::kFailedPrecondition, "Could not find variable w"));
  ASSERT_TRUE(run.Try("AssignVariableOp", {handle, Tensor::Vector<float>({1, 2})}, as_float).ok());
  const Tensor captured = capture();
  ASSERT_TRUE(run.Try("AssignVariableOp", {handle, Tensor::Vector<float>({3, 4})}, as_float).ok());
  EXPECT_EQ(Values<float>(run.Run("_CapturedValue", {handle, captured}, as_float)),
            (std::vector<float>{1, 2}));
}

TEST(VariableObject, GivesTheBytesOfAScalarWithoutItsLock) {
  VariableObject variable("v", DType::kFloat, PartialShape::Unknown());
  EXPECT_EQ(variable.ReadScalar(), std::nullopt);
  variable.Assign(Tensor::Scalar(1.5f));
  EXPECT_EQ(variable.ReadScalar(), std::bit_cast<uint32_t>(1.5f));
  {
    VariableLock lock(variable);
    EXPECT_EQ(variable.ReadScalar(), std::nullopt) << "it may be changing";
    lock.value(variable) = Tensor::Scalar(2.5f);
  }
  EXPECT_EQ(variable.ReadScalar(), std::bit_cast<uint32_t>(2.5f));
  variable.Assign(Tensor::FromValues<float>({1, 2}, Shape::Vector(2)));
  EXPECT_EQ(variable.ReadScalar(), std::nullopt);
  variable.Assign(Tensor::Scalar(3.5f));
  variable.Destroy();
  EXPECT_EQ(variable.ReadScalar(), std::nullopt);
}

// Readers never see one half of an old value and one of a new one, nor an older value after a
// newer.
TEST(VariableObject, ConcurrentReadersSeeWholeValues) {
  VariableObject variable("v", DType::kInt64, PartialShape::Unknown());
  const auto value_of = [](int64_t k) { return k << 32 | k; };
  variable.Assign(Tensor::Scalar(value_of(0)));
  constexpr int64_t kLast = 20'000;
  std::thread writer([&] {
    for (int64_t k = 1; k <= kLast; ++k) variable.Assign(Tensor::Scalar(value_of(k)));
  });
  int64_t newest = 0;
  while (newest < kLast) {
    const std::optional<uint64_t> bytes = variable.ReadScalar();
    if (!bytes) continue;
    const auto k = static_cast<int64_t>(*bytes & 0xffffffff);
    ASSERT_EQ(static_cast<int64_t>(*bytes), value_of(k));
    ASSERT_GE(k, newest);
    newest = k;
  }
  writer.join();
}

}  // namespace
}  // namespace gyre
