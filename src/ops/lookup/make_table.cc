// The ops that make lookup tables: each in a form whose handle is a resource, in one for the table
// of its handle alone, and in the older one whose handle is a reference.
#include "ir/shape_context.h"
#include "ops/lookup/table.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using Kind = LookupTable::Kind;

struct TableAttrs {
  static absl::StatusOr<TableAttrs> Make(const Node& node) {
    TableAttrs attrs{ResourceName(node), {}};
    attrs.layout.key = NodeAttr<DType>(node, "key_dtype");
    attrs.layout.value = NodeAttr<DType>(node, "value_dtype");
    if (const auto* shape = node.attrs.Get<PartialShape>("value_shape")) {
      if (const std::optional<Shape> known = shape->ToShape()) {
        attrs.layout.value_shape = *known;
      } else if (shape->has_rank()) {
        return absl::InvalidArgumentError(
            absl::StrCat("value_shape must be known, but is ", shape->ToString()));
      }
    }
    if (const auto* buckets = node.attrs.Get<int64_t>("initial_num_buckets")) {
      if (*buckets < 1 || (*buckets & (*buckets - 1)) != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("initial_num_buckets must be a power of 2, but is ", *buckets));
      }
    }
    if (const auto* load = node.attrs.Get<float>("max_load_factor")) {
      if (!(*load > 0 && *load < 1)) {
        return absl::InvalidArgumentError(
            absl::StrCat("max_load_factor must lie between 0 and 1, but is ", *load));
      }
    }
    return attrs;
  }
  ResourceName where;
  LookupTable::Layout layout;
};

bool SameLayout(const LookupTable::Layout& a, const LookupTable::Layout& b) {
  return a.kind == b.kind && a.key == b.key && a.value == b.value && a.key_shape == b.key_shape &&
         a.value_shape == b.value_shape;
}

enum class Form : uint8_t { kHandle, kAnonymous, kRef };

template <Kind kKind, Form kForm>
absl::Status MakeTable(KernelContext& ctx, const TableAttrs& attrs) {
  LookupTable::Layout layout = attrs.layout;
  layout.kind = kKind;
  if constexpr (kKind == Kind::kDense) {
    layout.empty_key = ctx.input(0);
    layout.deleted_key = ctx.input(1);
    layout.key_shape = layout.empty_key.shape();
    if (layout.deleted_key.shape() != layout.key_shape) {
      return absl::InvalidArgumentError(absl::StrCat(
          "empty_key and deleted_key must have one shape, but have ", layout.key_shape.ToString(),
          " and ", layout.deleted_key.shape().ToString()));
    }
  }
  GYRE_ASSIGN_OR_RETURN(RefPtr<LookupTable> table, LookupTable::Make(attrs.where.name, layout));
  if constexpr (kForm != Form::kAnonymous) {
    RefPtr<LookupTable> fresh = std::move(table);
    table = FindOrCreate<LookupTable>(ctx, attrs.where, [&] { return fresh; });
    if (!SameLayout(table->layout(), layout)) {
      return absl::InvalidArgumentError(
          absl::StrCat("table '", attrs.where.name, "' is there already, with keys ",
                       DTypeName(table->layout().key), table->layout().key_shape.ToString(),
                       " and values ", DTypeName(table->layout().value),
                       table->layout().value_shape.ToString(), ", or of another kind"));
    }
  }
  RefPtr<Object> object = std::move(table);
  ctx.set_output(0, kForm == Form::kRef ? Tensor::FromRef(DType::kString, std::move(object))
                                        : Tensor::FromObject(DType::kResource, std::move(object)));
  return absl::OkStatus();
}

// The value's type and shape; unknown where a key is not a scalar.
absl::Status TableShape(ShapeContext& c) {
  c.set_output(0, PartialShape::Scalar());
  PartialShape value = PartialShape::Scalar();
  if (const auto* shape = c.attrs().Get<PartialShape>("value_shape"); shape && shape->has_rank())
    value = *shape;
  if (c.num_inputs() > 0 && !(c.input(0).has_rank() && c.input(0).rank() == 0))
    return absl::OkStatus();
  c.set_output_handle(0, {NodeAttr<DType>(c.node(), "value_dtype"), value});
  return absl::OkStatus();
}

template <Kind kKind, Form kForm>
void Add(OpRegistry& ops, absl::string_view name, absl::string_view inputs, absl::string_view attrs,
         absl::string_view doc) {
  const std::string shared =
      kForm == Form::kAnonymous
          ? ""
          : "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = "
            "false; ";
  const std::string schema = absl::StrCat(
      name, "(", inputs, ") -> table_handle: ", kForm == Form::kRef ? "Ref(string)" : "resource",
      " {", shared, "key_dtype: type; value_dtype: type", attrs, "}");
  ops.Add({.schema = schema,
           .doc = doc,
           .traits = {.effect = kForm == Form::kAnonymous ? Effect::kAllocate : Effect::kRead},
           .shape = TableShape,
           .gradient = NotDifferentiable("its result is a handle"),
           .kernel = Compute<MakeTable<kKind, kForm>>()});
}

template <Kind kKind>
void AddForms(OpRegistry& ops, absl::string_view name, absl::string_view inputs,
              absl::string_view attrs, absl::string_view doc) {
  Add<kKind, Form::kHandle>(ops, absl::StrCat(name, "V2"), inputs, attrs, doc);
  Add<kKind, Form::kAnonymous>(ops, absl::StrCat("Anonymous", name), inputs, attrs,
                               absl::StrCat(doc, " It belongs to its handle alone."));
  Add<kKind, Form::kRef>(ops, name, inputs, attrs, absl::StrCat(doc, " (The older form.)"));
}

}  // namespace

void RegisterMakeTable(OpRegistry& ops) {
  AddForms<Kind::kStatic>(ops, "HashTable", "", "", "A handle of a table that is filled once.");
  AddForms<Kind::kMutable>(ops, "MutableHashTable", "", "",
                           "A handle of a table whose keys and values change.");
  AddForms<Kind::kMutable>(ops, "MutableHashTableOfTensors", "", "; value_shape: shape = []",
                           "A handle of a table whose values are tensors of one shape.");
  AddForms<Kind::kDense>(ops, "MutableDenseHashTable",
                         "empty_key: key_dtype, deleted_key: "
                         "key_dtype",
                         "; value_shape: shape = []; initial_num_buckets: int = 131072; "
                         "max_load_factor: float = 0.8",
                         "A handle of a table that changes, in which two keys are reserved.");
}

}  // namespace gyre
