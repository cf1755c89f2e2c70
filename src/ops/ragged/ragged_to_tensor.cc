// RaggedTensorToTensor: a dense tensor with the rows of a ragged one, filled up and cut off.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

enum class Partition : uint8_t { kFirstDimSize, kValueRowIds, kRowSplits };

struct ToTensorAttrs {
  static absl::StatusOr<ToTensorAttrs> Make(const Node& node) {
    ToTensorAttrs attrs;
    for (const std::string& type :
         NodeAttr<std::vector<std::string>>(node, "row_partition_types")) {
      if (type == "FIRST_DIM_SIZE" && attrs.types.empty()) {
        attrs.types.push_back(Partition::kFirstDimSize);
      } else if (type == "VALUE_ROWIDS" && !attrs.types.empty()) {
        attrs.types.push_back(Partition::kValueRowIds);
      } else if (type == "ROW_SPLITS") {
        attrs.types.push_back(Partition::kRowSplits);
      } else {
        return absl::InvalidArgumentError(absl::StrCat(
            "row_partition_types may be FIRST_DIM_SIZE in front, ROW_SPLITS, and VALUE_ROWIDS "
            "behind something, but has '",
            type, "'"));
      }
    }
    const int64_t count = NodeAttr<int64_t>(node, "num_row_partition_tensors");
    if (static_cast<int64_t>(attrs.types.size()) != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("row_partition_types must have one element for each of ", count,
                       " partitions, but has ", attrs.types.size()));
    }
    return attrs;
  }
  std::vector<Partition> types;

  bool has_size() const { return types[0] == Partition::kFirstDimSize; }
  int ragged_rank() const { return static_cast<int>(types.size()) - (has_size() ? 1 : 0); }
};

// What one partition says: for each of its values, in which row it is and at which place.
struct Level {
  std::vector<int64_t> rows, columns;
  int64_t longest = 0;
};

template <typename I>
absl::StatusOr<Level> ReadLevel(const KernelContext& ctx, const Tensor& t, Partition type,
                                int64_t parents, int64_t limit) {
  if (t.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a row partition must be a vector, but is of shape ", t.shape().ToString()));
  }
  const absl::Span<const I> given = t.values<I>();
  Level level;
  const auto add = [&](int64_t row, int64_t column) {
    level.rows.push_back(row);
    level.columns.push_back(column);
    level.longest = std::max(level.longest, column + 1);
  };
  if (type == Partition::kValueRowIds) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const int64_t row = given[i], last = i == 0 ? 0 : given[i - 1];
      if (row < last || row >= parents) {
        return absl::InvalidArgumentError(absl::StrCat("value_rowids[", i, "] = ", row,
                                                       " is not in [", last, ", ", parents, ")"));
      }
      add(row, i > 0 && row == last ? level.columns.back() + 1 : 0);
    }
    return level;
  }
  if (given.empty() || given[0] != 0 || static_cast<int64_t>(given.size()) != parents + 1) {
    return absl::InvalidArgumentError(absl::StrCat("row_splits must begin with 0 and have ",
                                                   parents, " + 1 elements, but has ",
                                                   given.size()));
  }
  for (int64_t row = 0; row < parents; ++row) {
    if (row % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (given[row + 1] < given[row]) {
      return absl::InvalidArgumentError(
          absl::StrCat("row_splits[", row + 1, "] = ", given[row + 1], " follows ", given[row]));
    }
    const int64_t n = given[row + 1] - given[row];
    if (given[row + 1] > limit) {
      return absl::InvalidArgumentError(absl::StrCat("row_splits[", row + 1, "] = ", given[row + 1],
                                                     " lies behind ", limit,
                                                     ", the number of what they part"));
    }
    for (int64_t i = 0; i < n; ++i) add(row, i);
  }
  return level;
}

// Dimensions that are wanted; -1: as large as need be. Nothing where no shape is wanted.
absl::StatusOr<std::optional<Dims>> WantedShape(const KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  Dims dims;
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(t.dtype(), [&](auto tag) {
    const auto values = t.values<typename decltype(tag)::type>();
    dims.assign(values.begin(), values.end());
    return absl::OkStatus();
  }));
  if (t.rank() == 0) {
    if (dims[0] == -1) return std::optional<Dims>();
    return absl::InvalidArgumentError(
        absl::StrCat("the only scalar value of shape is -1, for any, but it is ", dims[0]));
  }
  if (t.rank() != 1 || dims.size() > Shape::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be -1 or a vector, but is of shape ", t.shape().ToString()));
  }
  for (const int64_t d : dims) {
    if (d < -1) return absl::InvalidArgumentError(absl::StrCat("shape has a dimension ", d));
  }
  return std::optional<Dims>(std::move(dims));
}

template <typename I>
struct ToTensorKernel {
  static absl::Status Run(KernelContext& ctx, const ToTensorAttrs& attrs) {
    const Tensor& values = ctx.input(1);
    const int ragged_rank = attrs.ragged_rank();
    if (values.rank() < 1) {
      return absl::InvalidArgumentError("the values of a ragged tensor cannot be a scalar");
    }
    GYRE_ASSIGN_OR_RETURN(const std::optional<Dims> wanted, WantedShape(ctx));
    GYRE_ASSIGN_OR_RETURN(const int64_t rows, FirstDim(ctx, attrs));
    std::vector<Level> levels;
    int64_t count = rows;
    for (int i = 0; i < ragged_rank; ++i) {
      const int at = i + (attrs.has_size() ? 1 : 0);
      GYRE_ASSIGN_OR_RETURN(
          levels.emplace_back(),
          ReadLevel<I>(ctx, ctx.input(3 + at), attrs.types[at], count, Limit(ctx, attrs, at)));
      count = static_cast<int64_t>(levels.back().rows.size());
    }
    if (count != values.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("the row partitions are of ", count,
                                                     " values, but there are ", values.dim(0)));
    }
    Dims dims = {rows};
    for (const Level& level : levels) dims.push_back(level.longest);
    for (int d = 1; d < values.rank(); ++d) dims.push_back(values.dim(d));
    if (wanted) {
      if (wanted->size() != dims.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("shape must have ", dims.size(), " dimensions, but has ", wanted->size()));
      }
      for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
        if ((*wanted)[d] == -1) continue;
        if (d > ragged_rank && (*wanted)[d] != dims[d]) {
          return absl::InvalidArgumentError(absl::StrCat(
              "dimension ", d, " of shape, ", (*wanted)[d], ", is ", dims[d], " in all values"));
        }
        dims[d] = (*wanted)[d];
      }
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    return Fill(ctx, shape, levels, ragged_rank);
  }

 private:
  // How many values partition `at` can have, by what stands behind it.
  static int64_t Limit(const KernelContext& ctx, const ToTensorAttrs& attrs, int at) {
    if (at + 1 == static_cast<int>(attrs.types.size())) return ctx.input(1).dim(0);
    if (attrs.types[at + 1] == Partition::kRowSplits)
      return std::max<int64_t>(0, ctx.input(3 + at + 1).num_elements() - 1);
    // Rows of which the ids tell: some more may be empty, but they are not to be written out.
    return std::max<int64_t>(1 << 20, 2 * ctx.input(3 + at + 1).num_elements());
  }

  static absl::StatusOr<int64_t> FirstDim(const KernelContext& ctx, const ToTensorAttrs& attrs) {
    const Tensor& first = ctx.input(3);
    if (!attrs.has_size()) return std::max<int64_t>(0, first.num_elements() - 1);
    if (first.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("FIRST_DIM_SIZE must be a scalar, but is of "
                       "shape ",
                       first.shape().ToString()));
    }
    const int64_t rows = first.scalar<I>();
    if (rows < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("FIRST_DIM_SIZE must not be negative, but is ", rows));
    }
    return rows;
  }

  static absl::Status Fill(KernelContext& ctx, const Shape& shape, const std::vector<Level>& levels,
                           int ragged_rank) {
    const Tensor &values = ctx.input(1), &filler = ctx.input(2);
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(values.dtype(), shape));
    // The default value, broadcast to all.
    if (filler.rank() >= values.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "default_value, of shape ", filler.shape().ToString(),
          ", must have fewer dimensions than values, of shape ", values.shape().ToString()));
    }
    StridedAxes axes;
    const Dims to = RowMajorStrides(shape), from = RowMajorStrides(filler.shape());
    for (int d = 0; d < shape.rank(); ++d) {
      const int f = d - (shape.rank() - filler.rank());
      const bool is_own = f >= 0 && filler.dim(f) != 1;
      if (is_own && filler.dim(f) != shape.dim(d)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "default_value, of shape ", filler.shape().ToString(),
            ", cannot be broadcast to a value, of shape ", values.shape().ToString(), "[1:]"));
      }
      axes.push_back({shape.dim(d), is_own ? from[f] : 0, to[d]});
    }
    if (out.num_elements() > 0) {
      GYRE_RETURN_IF_ERROR(CopyStrided(ctx, filler, 0, out, 0, std::move(axes)));
      GYRE_RETURN_IF_ERROR(Place(ctx, levels, ragged_rank, out));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

  static absl::Status Place(const KernelContext& ctx, const std::vector<Level>& levels,
                            int ragged_rank, Tensor& out) {
    const Shape& shape = out.shape();
    const Tensor& values = ctx.input(1);
    // Of each row, the place of its first element in units of the level; -1: cut off.
    std::vector<int64_t> places;
    const int64_t rows = levels.empty() ? values.dim(0) : 0;
    for (int64_t i = 0; i < rows; ++i) places.push_back(i < shape.dim(0) ? i : -1);
    for (size_t l = 0; l < levels.size(); ++l) {
      const Level& level = levels[l];
      const int64_t size = shape.dim(static_cast<int>(l) + 1);
      std::vector<int64_t> next(level.rows.size());
      for (size_t i = 0; i < next.size(); ++i) {
        if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        const int64_t row = level.rows[i];
        const int64_t parent = l > 0 ? places[row] : row < shape.dim(0) ? row : -1;
        next[i] = parent < 0 || level.columns[i] >= size ? -1 : parent * size + level.columns[i];
      }
      places = std::move(next);
    }
    int64_t width = 1;
    for (int d = ragged_rank + 1; d < shape.rank(); ++d) width *= shape.dim(d);
    return VisitElement(out.dtype(), [&](auto tag) -> absl::Status {
      using T = typename decltype(tag)::type;
      const T* from = static_cast<const T*>(values.raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      Mover<T> mover(ctx, out);
      int64_t work = 0;
      for (size_t i = 0; i < places.size(); ++i) {
        if ((work += width + 1) > (1 << 16)) {
          work = 0;
          GYRE_RETURN_IF_ERROR(ctx.Poll());
        }
        if (places[i] >= 0)
          mover.Copy(from + static_cast<int64_t>(i) * width, width, to + places[i] * width);
      }
      return mover.status();
    });
  }
};

absl::Status ToTensorShape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() == 0) {
    if (c.input(1).has_rank() && c.input(1).rank() >= 1) {
      GYRE_ASSIGN_OR_RETURN(const ToTensorAttrs attrs, ToTensorAttrs::Make(c.node()));
      const int rank = attrs.ragged_rank() + c.input(1).rank();
      PartialShape out = PartialShape::UnknownOfRank(rank);
      for (int d = 1; d < c.input(1).rank(); ++d)
        out.set_dim(rank - c.input(1).rank() + d, c.input(1).dim(d));
      c.set_output(0, std::move(out));
    }
    return absl::OkStatus();
  }
  if (!c.input(0).has_rank()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(PartialShape out, c.InputAsShape(0));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Numbers in the place of values show where each of them has come to stand.
void ToTensorGradient(GradientContext& g) {
  if (!g.wants(1) && !g.wants(2)) return;
  const absl::StatusOr<ToTensorAttrs> attrs = ToTensorAttrs::Make(g.node());
  if (!attrs.ok()) return g.Fail(attrs.status());
  ExprBuilder& b = g.builder();
  const auto part = [&](Expr dims, int begin, int size) {
    return g.op("Slice", {dims, b.Ints({begin}), b.Ints({size})});
  };
  const Expr inner = part(g.input_dims(1), 1, -1);
  const Expr count = g.op("GatherV2", {g.input_dims(1), b.Int(0), b.Int(0)});
  const Expr head = part(g.output_dims(0), 0, attrs->ragged_rank() + 1);
  std::vector<Expr> inputs = {head, g.op("Range", {b.Int(0), count, b.Int(1)}), b.Int(-1)};
  for (int i = 3; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
  const Expr numbers = g.op(
      "RaggedTensorToTensor", inputs,
      AttrMap{
          {"num_row_partition_tensors", static_cast<int64_t>(attrs->types.size())},
          {"row_partition_types", g.attr<std::vector<std::string>>("row_partition_types", {})}});
  const Expr rows = Reshape(g.grad(), g.op("ConcatV2", {b.Ints({-1}), inner, b.Int(0)}));
  const Expr values = g.op("UnsortedSegmentSum", {rows, Reshape(numbers, b.Ints({-1})), count});
  if (g.wants(1)) g.Add(1, values);
  if (g.wants(2)) {
    const Expr rest = Sum(rows, b.Int(0)) - Sum(values, b.Int(0));
    gradient::AddStretched(g, 2, rest, std::nullopt);
  }
}

}  // namespace

void RegisterRaggedToTensor(OpRegistry& ops) {
  ops.Add({.schema = "RaggedTensorToTensor(shape: Tshape, values: T, default_value: T, "
                     "row_partition_tensors: num_row_partition_tensors * Tindex) -> result: T {T: "
                     "type; Tindex: {int64, int32}; Tshape: {int64, int32}; "
                     "num_row_partition_tensors: int >= 1; row_partition_types: list(string)}",
           .doc = "A dense tensor with the rows of a ragged one, filled up with a default value.",
           .shape = ToTensorShape,
           .gradient = {ToTensorGradient},
           .kernel = ForTypes<ToTensorKernel, IndexTypes>("Tindex")});
}

}  // namespace gyre
