// What is asked of lookup tables and done to them, in both forms of handles.
#include "ir/shape_context.h"
#include "ops/lookup/table.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status Find(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const LookupTable* table, TableInput(ctx));
  GYRE_ASSIGN_OR_RETURN(Tensor values, table->Find(ctx, ctx.input(1), ctx.input(2)));
  ctx.set_output(0, std::move(values));
  return absl::OkStatus();
}

absl::Status Insert(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(LookupTable * table, TableInput(ctx));
  return table->Insert(ctx, ctx.input(1), ctx.input(2));
}

absl::Status Remove(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(LookupTable * table, TableInput(ctx));
  return table->Remove(ctx, ctx.input(1));
}

absl::Status Fill(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(LookupTable * table, TableInput(ctx));
  return table->Fill(ctx, ctx.input(1), ctx.input(2));
}

absl::Status Size(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const LookupTable* table, TableInput(ctx));
  ctx.set_output(0, Tensor::Scalar<int64_t>(table->size()));
  return absl::OkStatus();
}

absl::Status Export(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const LookupTable* table, TableInput(ctx));
  for (const auto& [output, dtype, what] : {std::tuple(0, table->layout().key, "Tkeys"),
                                            std::tuple(1, table->layout().value, "Tvalues")}) {
    if (ctx.output_dtype(output) != dtype) {
      return absl::InvalidArgumentError(absl::StrCat(what, " must be ", DTypeName(dtype),
                                                     ", as table '", table->name(), "' has, not ",
                                                     DTypeName(ctx.output_dtype(output))));
    }
  }
  GYRE_ASSIGN_OR_RETURN(auto entries, table->Export(ctx));
  ctx.set_output(0, std::move(entries.first));
  ctx.set_output(1, std::move(entries.second));
  return absl::OkStatus();
}

// Keys are scalars where the type and shape of values are known.
absl::Status FindShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  const std::optional<HandleInfo>& handle = c.input_handle(0);
  if (!handle || !handle->shape.has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  if (handle->dtype != c.output_dtype(0)) return absl::OkStatus();
  Dims dims(c.input(1).dims().begin(), c.input(1).dims().end());
  dims.insert(dims.end(), handle->shape.dims().begin(), handle->shape.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status HandleIsScalar(ShapeContext& c) { return c.RequireScalar(0); }

struct Use {
  absl::string_view name, inputs, outputs, attrs, doc;
  Effect effect;
  ShapeFn shape;
  KernelFactory kernel;
};

void Add(OpRegistry& ops, const Use& use, bool is_ref) {
  const std::string schema = absl::StrCat(use.name, is_ref ? "" : "V2",
                                          "(table_handle: ", is_ref ? "Ref(string)" : "resource",
                                          use.inputs, ") ->", use.outputs, use.attrs);
  ops.Add({.schema = schema,
           .doc = is_ref ? absl::StrCat(use.doc, " (The older form.)") : std::string(use.doc),
           .traits = {.effect = use.effect},
           .shape = use.shape,
           .gradient = NotDifferentiable("what a table holds does not follow from its keys by a "
                                         "formula"),
           .kernel = use.kernel});
}

}  // namespace

void RegisterUseTable(OpRegistry& ops) {
  constexpr absl::string_view kTypes = " {Tin: type; Tout: type}";
  const Use uses[] = {
      {"LookupTableFind", ", keys: Tin, default_value: Tout", " values: Tout", kTypes,
       "The values of keys in a table; default_value for those that are not there.", Effect::kRead,
       FindShape, Compute<Find>()},
      {"LookupTableSize", "", " size: int64", "", "How many keys a table has.", Effect::kRead,
       shape::Scalar, Compute<Size>()},
      {"LookupTableExport", "", " keys: Tkeys, values: Tvalues", " {Tkeys: type; Tvalues: type}",
       "All keys of a table, and their values.", Effect::kRead, shape::Unknown, Compute<Export>()},
      {"LookupTableInsert", ", keys: Tin, values: Tout", "", kTypes,
       "Gives keys of a table their values; those that are there already, new ones.",
       Effect::kWrite, HandleIsScalar, Compute<Insert>()},
      {"LookupTableImport", ", keys: Tin, values: Tout", "", kTypes,
       "Makes these keys and values all that a table holds.", Effect::kWrite, HandleIsScalar,
       Compute<Fill>()},
  };
  for (const Use& use : uses) {
    Add(ops, use, /*is_ref=*/false);
    Add(ops, use, /*is_ref=*/true);
  }
  Add(ops,
      {"LookupTableRemove", ", keys: Tin", "", " {Tin: type}",
       "Takes keys out of a table; those that are not there are passed over.", Effect::kWrite,
       HandleIsScalar, Compute<Remove>()},
      /*is_ref=*/false);
  const Use fill = {"InitializeTable",
                    ", keys: Tkey, values: Tval",
                    "",
                    " {Tkey: type; Tval: type}",
                    "Fills a table.",
                    Effect::kWrite,
                    HandleIsScalar,
                    Compute<Fill>()};
  Add(ops, fill, /*is_ref=*/false);
  Add(ops, fill, /*is_ref=*/true);
}

}  // namespace gyre
