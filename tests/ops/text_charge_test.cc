// Text that ops make or copy is charged to the run's budget as long as it is there, and a run's
// deadline is asked for while it is copied.
#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "base/env.h"
#include "ops/math_values.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

constexpr int64_t kSide = 16;
constexpr int64_t kCount = kSide * kSide;
constexpr int64_t kTextBytes = int64_t{1} << 16;
constexpr int64_t kBudget = int64_t{1} << 22;  // less than half of what each case makes

Tensor Texts(std::vector<int64_t> dims) {
  const Shape shape = ShapeOf(std::move(dims));
  std::vector<std::string> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::string(kTextBytes, 'a');
    values[i].replace(0, 4, std::to_string(1000 + i));
  }
  return Tensor::FromValues<std::string>(values, shape);
}

Tensor Ints(std::vector<int32_t> values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  return Tensor::FromValues<int32_t>(values, ShapeOf(std::move(dims)));
}

struct Case {
  std::string op;
  std::vector<Tensor> inputs;
  AttrMap attrs = {};
};

std::vector<Case> SetCases() {
  const Tensor vector = Texts({kCount}), matrix = Texts({kSide, kSide});
  std::vector<int64_t> rows_and_columns;
  for (int64_t i = 0; i < kCount; ++i) {
    rows_and_columns.push_back(i / kSide);
    rows_and_columns.push_back(i % kSide);
  }
  const Tensor cells = Tensor::FromValues<int64_t>(rows_and_columns, ShapeOf({kCount, 2}));
  const Tensor square = Tensor::Vector<int64_t>({kSide, kSide});
  const AttrMap united = Attrs({{"set_operation", std::string("union")}});
  return {
      {"DenseToDenseSetOperation", {matrix, matrix}, united},
      {"DenseToSparseSetOperation", {matrix, cells, vector, square}, united},
      {"SparseToSparseSetOperation", {cells, vector, square, cells, vector, square}, united},
  };
}

std::vector<Case> CopyCases() {
  const Tensor vector = Texts({kCount}), matrix = Texts({kSide, kSide}), one = Texts({});
  const Tensor sixteen = Texts({kSide}), cube = Texts({kCount, 1, 1});
  std::vector<int32_t> numbers(kCount);
  for (int32_t i = 0; i < kCount; ++i) numbers[i] = i;
  const Tensor ids = Ints(numbers), column = Ints(numbers, {kCount, 1});
  std::vector<int32_t> halves = numbers;
  for (int32_t& n : halves) n %= 2;
  const Tensor zero = Tensor::Scalar<int32_t>(0), side = Tensor::Scalar<int32_t>(kSide);
  const Tensor axis1 = Tensor::Scalar<int32_t>(1), size = Ints({kCount});
  const Tensor shape = Ints({kSide, kSide}), origin = Ints({0, 0}), ones = Ints({1, 1});
  const Tensor none = Ints({0, 0, 0, 0}, {2, 2});
  const Tensor border = Ints({kSide - 1, 0, 0, 0}, {2, 2});
  Tensor truths = *Tensor::Make(DType::kBool, ShapeOf({kSide, 1}));
  std::fill_n(truths.mutable_values<bool>().data(), kSide, true);
  const Tensor flags = truths.Reshaped(ShapeOf({kSide}));
  const auto text = [](absl::string_view t) { return Tensor::Scalar<std::string>(std::string(t)); };
  std::vector<int64_t> wide(numbers.begin(), numbers.end());
  const Tensor places = Tensor::FromValues<int64_t>(wide, ShapeOf({kCount, 1}));
  const Tensor places32 = ids, sparse_shape = Tensor::Vector<int64_t>({kCount});
  const Tensor no_axis = Tensor::FromValues<int64_t>({}, ShapeOf({0}));
  wide.push_back(kCount);
  const Tensor splits = Tensor::FromValues<int64_t>(wide, ShapeOf({kCount + 1}));
  const Tensor zero64 = Tensor::Scalar<int64_t>(0), whole = Tensor::Vector<int64_t>({0});
  constexpr int64_t kTexts = 128;
  std::vector<int64_t> ends;
  for (int64_t i = 0; i <= kTexts; ++i) ends.push_back(i * kTextBytes);
  const Tensor codes = Tensor::FromValues<int32_t>(std::vector<int32_t>(kTexts * kTextBytes, 'a'),
                                                   ShapeOf({kTexts * kTextBytes}));
  const AttrMap utf8 =
      Attrs({{"input_encoding", std::string("UTF-8")}, {"output_encoding", std::string("UTF-8")}});
  return {
      {"Add", {vector, vector}},
      {"AsString", {vector}},
      {"BatchToSpace", {Texts({4, 8, 8, 1}), none}, Attrs({{"block_size", int64_t{2}}})},
      {"BatchToSpaceND", {matrix, Ints({4}), Ints({0, 0}, {1, 2})}},
      {"BroadcastTo", {one, size}},
      {"Concat", {zero, vector, vector}},
      {"ConcatV2", {vector, vector, zero}},
      {"DepthToSpace", {Texts({1, 8, 8, 4})}, Attrs({{"block_size", int64_t{2}}})},
      {"DecodeBase64", {vector}},
      {"DynamicPartition", {vector, Ints(halves)}, Attrs({{"num_partitions", int64_t{2}}})},
      {"DynamicStitch", {ids, vector}, Attrs({{"N", int64_t{1}}})},
      {"EncodeBase64", {vector}},
      {"Fill", {size, one}},
      {"Gather", {vector, ids}},
      {"GatherNd", {vector, column}},
      {"GatherV2", {vector, ids, zero}},
      {"BatchMatrixDiag", {matrix}},
      {"BatchMatrixDiagPart", {cube}},
      {"BatchMatrixSetDiag", {matrix, sixteen}},
      {"MatrixBandPart", {matrix, side, side}},
      {"MatrixDiag", {matrix}},
      {"MatrixDiagPart", {cube}},
      {"MatrixDiagPartV2", {cube, zero, one}},
      {"MatrixDiagPartV3", {cube, zero, one}},
      {"MatrixDiagV2",
       {sixteen, zero, Tensor::Scalar<int32_t>(-1), Tensor::Scalar<int32_t>(-1), one}},
      {"MatrixSetDiag", {matrix, sixteen}},
      {"MatrixSetDiagV2", {matrix, sixteen, zero}},
      {"MatrixSetDiagV3", {matrix, sixteen, zero}},
      {"ListDiff", {vector, Tensor::Vector<std::string>({"b"})}},
      {"MatrixDiagV3",
       {sixteen, zero, Tensor::Scalar<int32_t>(-1), Tensor::Scalar<int32_t>(-1), one}},
      {"MirrorPad", {matrix, border}, Attrs({{"mode", std::string("REFLECT")}})},
      {"OneHot", {Ints(std::vector<int32_t>(kSide)), side, one, one}},
      {"Pack", {vector, vector}},
      {"Pad", {matrix, border}},
      {"PadV2", {matrix, border, one}},
      {"ParseTensor",
       {(*EvaluateOp("SerializeTensor", {vector}))[0]},
       Attrs({{"out_type", DType::kString}})},
      {"RaggedGather",
       {splits, vector, ids},
       Attrs({{"PARAMS_RAGGED_RANK", int64_t{1}}, {"OUTPUT_RAGGED_RANK", int64_t{1}}})},
      {"RaggedTensorToTensor",
       {Tensor::Scalar<int64_t>(-1), vector, text(""), splits},
       Attrs({{"num_row_partition_tensors", int64_t{1}},
              {"row_partition_types", std::vector<std::string>{"ROW_SPLITS"}}})},
      {"RandomShuffle", {vector}},
      {"ReduceJoin", {matrix, Ints({1})}},
      {"RegexReplace", {vector, text("b"), text("c")}},
      {"ReverseSequence",
       {matrix, Ints(std::vector<int32_t>(kSide, kSide))},
       Attrs({{"seq_dim", int64_t{1}}})},
      {"ReverseV2", {vector, Ints({0})}},
      {"Roll", {vector, axis1, zero}},
      {"ScatterNd", {column, vector, size}},
      {"Select", {flags, matrix, matrix}},
      {"SelectV2", {truths, matrix, matrix}},
      {"SerializeTensor", {vector}},
      {"Slice", {matrix, Ints({0, 1}), Ints({kSide, kSide - 1})}},
      {"SpaceToBatch", {Texts({1, kSide, kSide, 1}), none}, Attrs({{"block_size", int64_t{2}}})},
      {"SpaceToBatchND", {matrix, Ints({4}), Ints({0, 0}, {1, 2})}},
      {"SpaceToDepth", {Texts({1, kSide, kSide, 1})}, Attrs({{"block_size", int64_t{2}}})},
      {"SparseConcat",
       {places, places, vector, vector, sparse_shape, sparse_shape},
       Attrs({{"N", int64_t{2}}, {"concat_dim", int64_t{0}}})},
      {"SparseFillEmptyRows", {places, vector, sparse_shape, one}},
      {"SparseReorder", {places, vector, sparse_shape}},
      {"SparseSlice", {places, vector, sparse_shape, whole, sparse_shape}},
      {"SparseSplit", {zero64, places, vector, sparse_shape}, Attrs({{"num_split", int64_t{2}}})},
      {"SparseToDense", {places32, size, vector, one}},
      {"StatelessShuffle",
       {vector, Tensor::Vector<uint64_t>({1}), Tensor::Vector<uint64_t>({2, 3}), axis1}},
      {"Split", {axis1, matrix}, Attrs({{"num_split", int64_t{2}}})},
      {"SplitV", {matrix, Ints({8, 8}), axis1}, Attrs({{"num_split", int64_t{2}}})},
      {"StaticRegexReplace",
       {vector},
       Attrs({{"pattern", std::string("b")}, {"rewrite", std::string("c")}})},
      {"StridedSlice", {matrix, origin, shape, Ints({1, 2})}},
      {"StridedSliceGrad", {shape, origin, shape, ones, matrix}},
      {"StringFormat", {vector}, Attrs({{"summarize", int64_t{-1}}})},
      {"StringJoin", {vector, one}, Attrs({{"N", int64_t{2}}})},
      {"StringLower", {vector}},
      {"StringNGrams",
       {vector, splits},
       Attrs({{"separator", std::string()},
              {"ngram_widths", std::vector<int64_t>{1}},
              {"left_pad", std::string()},
              {"right_pad", std::string()},
              {"pad_width", int64_t{0}},
              {"preserve_short_sequences", false}})},
      {"StringSplit", {vector, text("b")}},
      {"StringSplitV2", {vector, text("b")}},
      {"StringStrip", {vector}},
      {"StringUpper", {vector}},
      {"Substr", {vector, zero, Tensor::Scalar<int32_t>(kTextBytes)}},
      {"TensorScatterAdd", {vector, column, vector}},
      {"TensorScatterUpdate", {vector, column, vector}},
      {"Tile", {sixteen, Ints({kSide})}},
      {"Transpose", {matrix, Ints({1, 0})}},
      {"UnicodeEncode",
       {codes, Tensor::FromValues<int64_t>(ends, ShapeOf({kTexts + 1}))},
       Attrs({{"output_encoding", std::string("UTF-8")}})},
      {"UnicodeTranscode", {vector}, utf8},
      {"Unique", {vector}},
      {"UniqueV2", {vector, no_axis}},
      {"UniqueWithCounts", {vector}},
      {"UniqueWithCountsV2", {vector, no_axis}},
      {"UnsortedSegmentJoin", {vector, ids, Tensor::Scalar<int32_t>(kCount)}},
      {"Unpack", {matrix}, Attrs({{"num", kSide}, {"axis", int64_t{1}}})},
  };
}

// The bytes of zlib's format that hold a text as it is, in blocks of at most 65,535 bytes.
std::string Stored(const std::string& text) {
  std::string bytes = "\x78\x01";
  uint32_t a = 1, b = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t size = std::min<size_t>(text.size() - at, 65'535);
    bytes.push_back(at + size == text.size() ? 1 : 0);
    for (const size_t number : {size, ~size}) {
      bytes.push_back(static_cast<char>(number & 255));
      bytes.push_back(static_cast<char>(number >> 8 & 255));
    }
    for (const size_t end = at + size; at < end; ++at) {
      bytes.push_back(text[at]);
      a = (a + static_cast<uint8_t>(text[at])) % 65'521;
      b = (b + a) % 65'521;
    }
  }
  for (const uint32_t half : {b, a}) {
    bytes.push_back(static_cast<char>(half >> 8));
    bytes.push_back(static_cast<char>(half & 255));
  }
  return bytes;
}

// Of features and sparse tensors: a text in each of as many rows.
std::vector<Case> FeatureCases() {
  const Tensor vector = Texts({kCount});
  std::vector<int64_t> rows, ends;
  std::vector<std::string> stored;
  for (int64_t i = 0; i < kCount; ++i) {
    rows.insert(rows.end(), {i, 0});
    ends.push_back(i);
    stored.push_back(Stored(vector.values<std::string>()[i]));
  }
  ends.push_back(kCount);
  const Tensor indices = Tensor::FromValues<int64_t>(rows, ShapeOf({kCount, 2}));
  const Tensor shape = Tensor::Vector<int64_t>({kCount, 1});
  const Tensor splits = Tensor::FromValues<int64_t>(ends, ShapeOf({kCount + 1}));
  const std::vector<DType> text = {DType::kString}, none;
  const AttrMap columns = Attrs({{"N", int64_t{1}}, {"sparse_types", text}, {"dense_types", none}});
  AttrMap joined = columns;
  joined.Set("hashed_output", false);
  joined.Set("num_buckets", int64_t{0});
  joined.Set("hash_key", int64_t{0});
  joined.Set("out_type", DType::kString);
  joined.Set("internal_type", DType::kString);
  const Tensor serialized = (*EvaluateOp("SerializeManySparse", {indices, vector, shape}, {}))[0];
  const AttrMap dtype = Attrs({{"dtype", DType::kString}});
  return {
      {"DecodeCompressed",
       {Tensor::FromValues<std::string>(stored, ShapeOf({kCount}))},
       Attrs({{"compression_type", std::string("ZLIB")}})},
      {"DeserializeManySparse", {serialized}, dtype},
      {"DeserializeSparse", {serialized}, dtype},
      {"RaggedCross",
       {vector, splits},
       Attrs({{"Nsparse", int64_t{0}},
              {"input_order", std::string("R")},
              {"hashed_output", false},
              {"num_buckets", int64_t{0}},
              {"hash_key", int64_t{0}},
              {"ragged_values_types", text},
              {"ragged_splits_types", std::vector<DType>{DType::kInt64}},
              {"sparse_values_types", none},
              {"dense_types", none},
              {"out_values_type", DType::kString},
              {"out_row_splits_type", DType::kInt64}})},
      {"SerializeManySparse", {indices, vector, shape}},
      {"SerializeSparse", {indices, vector, shape}},
      {"SparseCross", {indices, vector, shape}, joined},
      {"SparseCrossV2", {indices, vector, shape, Tensor::Scalar<std::string>("")}, columns},
  };
}

std::vector<Case> Cases() {
  std::vector<Case> cases = CopyCases();
  for (auto* more : {&FeatureCases, &SetCases})
    for (Case& each : more()) cases.push_back(std::move(each));
  return cases;
}

int64_t TextIn(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors) {
    if (t.dtype() != DType::kString) continue;
    for (const std::string& text : t.values<std::string>()) bytes += text.size();
  }
  return bytes;
}

TEST(TextCharge, TextThatDoesNotFitTheBudgetIsNotMade) {
  for (Case& each : Cases()) {
    ResourceRun run(kBudget);
    const absl::Status status = run.Error(each.op, std::move(each.inputs), std::move(each.attrs));
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << each.op << ": " << status;
    EXPECT_NE(Message(status).find("memory budget"), std::string::npos) << status;
    EXPECT_EQ(run.budget().used(), 0) << each.op;
    EXPECT_LE(run.budget().peak(), kBudget) << each.op;
  }
}

TEST(TextCharge, IsHeldAsLongAsTheText) {
  for (Case& each : Cases()) {
    ResourceRun run;
    {
      const std::vector<Tensor> made =
          run.All(each.op, std::move(each.inputs), std::move(each.attrs));
      ASSERT_GT(TextIn(made), 2 * kBudget - kSide * kTextBytes) << each.op;
      EXPECT_GE(run.budget().used(), TextIn(made)) << each.op;
    }
    EXPECT_EQ(run.budget().used(), 0) << each.op;
  }
}

TEST(TextCharge, OfWhatListsAreJoinedTo) {
  const AttrMap attrs = Attrs({{"element_dtype", DType::kString}});
  const Tensor scalar = Tensor::FromValues<int32_t>({}, ShapeOf({0}));
  ResourceRun run(4 * kBudget + 2 * kBudget);  // a list of texts, and not as many again
  const Tensor list = run.Run("TensorListFromTensor", {Texts({kCount}), scalar}, attrs);
  for (const bool gathers : {false, true}) {
    std::vector<int32_t> numbers(kCount);
    const absl::Status status =
        gathers ? run.Error("TensorListGather", {list, Ints(numbers), scalar}, attrs)
                : run.Error("TensorListStack", {list, scalar}, attrs);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  }
}

// Counts how often a run asks for its deadline.
class CountingClock final : public Clock {
 public:
  int64_t NowNanos() const override {
    ++looks_;
    return 0;
  }
  int64_t looks() const { return looks_; }

 private:
  mutable std::atomic<int64_t> looks_{0};
};

bool IsOneText(const std::string& op) {
  return op == "StringFormat" || op == "SerializeTensor" || op == "SerializeSparse";
}

TEST(TextCharge, DeadlinesAreAskedForWhileTextIsCopied) {
  for (Case& each : Cases()) {
    ResourceRun run;
    const CountingClock clock;
    Cancellation cancellation(/*deadline_nanos=*/1, clock);
    run.env().cancellation = &cancellation;
    const int64_t bytes = TextIn(run.All(each.op, std::move(each.inputs), std::move(each.attrs)));
    // One text of any length is made at a stretch.
    const int64_t wanted = IsOneText(each.op) ? 1 : bytes / (int64_t{4} << 20);
    EXPECT_GE(clock.looks(), wanted) << each.op;
  }
}

bool MayBeText(const OpDef& op, const ArgDef& arg) {
  if (arg.dtype != DType::kInvalid) return arg.dtype == DType::kString;
  const AttrDef* attr = op.FindAttr(arg.type_attr);
  if (attr == nullptr) return false;
  const std::vector<DType>& types = attr->allowed_types;
  return types.empty() || std::find(types.begin(), types.end(), DType::kString) != types.end();
}

// Ops whose text is not in question here.
const std::set<std::string>& Others() {
  static const std::set<std::string> names = {
      // Have no kernel for text.
      "Cast",
      "Einsum",
      "MirrorPadGrad",
      "NonDeterministicInts",
      "SparseTensorDenseMatMul",
      "TensorScatterMax",
      "TensorScatterMin",
      "TensorScatterSub",
      // Make files of numbers, and charge them once they are made.
      "EncodeJpeg",
      "EncodeJpegVariableQuality",
      "EncodePng",
      // Make empty or short texts.
      "ShardedFilename",
      "Empty",
      "ZerosLike",
      "FakeParam",
      // Hand on what they are given, or what lies elsewhere.
      "EnsureShape",
      "OptionalGetValue",
      "_ArrayToList",
      "_ListToArray",
      "_CapturedValue",
      "_OptionalGetOrZeros",
      "_Replayed",
      "PreventGradient",
      "RaggedTensorFromVariant",
      "RaggedTensorToSparse",
      "RaggedTensorToVariantGradient",
      "Placeholder",
      "PlaceholderWithDefault",
      "RefSelect",
      "StopGradient",
      "TensorListGetItem",
      "TensorListPopBack",
      "_DeviceArg",
      "_TensorListItemsOrZeros",
      // Finds no array to join.
      "TensorArrayConcatV2",
      // Copy with JoinParts and CopyItems: above.
      "TensorListConcat",
      "TensorListConcatV2",
      "TensorListGather",
      "TensorListStack",
  };
  return names;
}

TEST(TextCharge, EveryOpThatMakesTextIsHere) {
  std::set<std::string> known = Others();
  for (const Case& each : Cases()) known.insert(each.op);
  for (const OpDef* op : Ops().All()) {
    const bool is_pure = op->traits.effect == Effect::kNone || op->traits.effect == Effect::kRandom;
    if (op->kind != OpKind::kPlain || !is_pure || op->traits.hands_on || op->traits.forwards ||
        op->traits.is_view) {
      continue;
    }
    const bool makes_text = std::any_of(op->outputs.begin(), op->outputs.end(),
                                        [&](const ArgDef& out) { return MayBeText(*op, out); });
    EXPECT_TRUE(!makes_text || known.contains(op->name)) << op->name << " needs a case here";
  }
}

}  // namespace
}  // namespace gyre::test
