// map_fn, scan, foldl, foldr: loops over the rows of tensors, with lists for what goes in and out.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "front/body.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/control_flow.h"
#include "gyre/math.h"
#include "gyre/state.h"

namespace gyre::internal {
namespace {

// What a row of `rows` is, before there is one.
BodyArg RowArg(const Value& rows, const std::string& path, const std::source_location& where) {
  const PartialShape shape = rows.shape();
  if (shape.has_rank() && shape.rank() == 0)
    ThrowInvalid(absl::StrCat(Component(path), " is a scalar, and has no rows"), where);
  BodyArg arg = {.name = "row", .dtype = rows.dtype()};
  if (shape.has_rank())
    arg.info.shape = PartialShape(Dims(shape.dims().begin() + 1, shape.dims().end()));
  return arg;
}

// The loop over rows that all of these functions are.
class RowLoop {
 public:
  RowLoop(const Leaves& rows, const IterationOptions& options, const char* name,
          const std::source_location& where)
      : rows_(rows), options_(options), where_(where) {
    if (rows.values.empty()) ThrowInvalid("there is nothing to take rows of", where);
    if (options_.loop.name.empty()) options_.loop.name = name;
    // These are of the rows' loop, whose state has more components than the caller knows.
    if (!options_.loop.shape_invariants.empty())
      ThrowInvalid(absl::StrCat("a ", name, " takes no shape invariants"), where);
    for (size_t i = 0; i < rows.values.size(); ++i)
      row_args_.push_back(RowArg(rows.values[i], rows.paths[i], where));
    count_ = dim_of(At(rows.values[0]), 0);
    const PartialShape shape = rows.values[0].shape();
    if (shape.has_rank() && shape.rank() > 0) static_count_ = shape.dim(0);
    for (const Value& value : rows.values) lists_.push_back(List::from_rows(At(value)));
  }

  // The types and shapes of what `fn` makes of a state and a row.
  TracedBody Probe(const std::vector<BodyArg>& state, const BodyFn& fn) const {
    std::vector<BodyArg> args = state;
    args.insert(args.end(), row_args_.begin(), row_args_.end());
    const ScopePtr scope = CurrentScope(rows_.values, where_);
    TracedBody body =
        TraceBody(scope, "", {absl::StrCat("the function of ", options_.loop.name), LineOf(where_)},
                  args, fn, where_);
    body.scope->Discard();
    return body;
  }

  // An array for one result of each row.
  List Reserve(DType dtype, const PartialShape& shape) const {
    return List::reserve(At(count_), dtype, shape);
  }

  // Runs body(i, state) for each row number.
  std::vector<Value> Run(const Leaves& state, const RowFn& body) const {
    if (!options_.reverse) return ForRange(Range(At(count_)), state, body, options_.loop, where_);
    const Value last = At(count_) - Operand(1, where_);
    return ForRange(Range(At(last), Operand(-1, where_), Operand(-1, where_)), state, body,
                    options_.loop, where_);
  }

  std::vector<Value> RowsAt(const Value& i) const {
    std::vector<Value> row;
    for (const List& list : lists_) row.push_back(list.get(At(i)));
    return row;
  }

  // The rows in the list that `handle` is now, as one tensor.
  Value Stacked(const List& list, const Value& handle) const {
    Value stacked = List(handle, list.dtype(), list.element_shape()).stack(where_);
    if (static_count_ < 0 || !list.element_shape().has_rank()) return stacked;
    Dims dims = {static_count_};
    dims.insert(dims.end(), list.element_shape().dims().begin(), list.element_shape().dims().end());
    return ensure_shape(At(stacked), PartialShape(dims));
  }

  Operand At(const Value& value) const { return Operand(value, where_); }

 private:
  const Leaves& rows_;
  IterationOptions options_;
  const std::source_location where_;
  Value count_;
  int64_t static_count_ = -1;
  std::vector<BodyArg> row_args_;
  std::vector<List> lists_;
};

// Puts results into their lists: the state of a loop that keeps them.
void SetAll(const RowLoop& loop, const std::vector<List>& lists, absl::Span<const Value> handles,
            const Value& i, absl::Span<const Value> results, Leaves& next) {
  for (size_t k = 0; k < lists.size(); ++k) {
    const List list(handles[k], lists[k].dtype(), lists[k].element_shape());
    next.values.push_back(list.set(loop.At(i), loop.At(results[k])).handle());
    next.paths.push_back(absl::StrCat("result_", k));
  }
}

}  // namespace

std::vector<Value> MapRows(const Leaves& rows, const BodyFn& body, const IterationOptions& options,
                           const std::source_location& where) {
  const RowLoop loop(rows, options, "map_fn", where);
  const TracedBody probe = loop.Probe({}, body);
  std::vector<List> lists;
  Leaves state;
  for (size_t k = 0; k < probe.results.size(); ++k) {
    lists.push_back(loop.Reserve(probe.dtype(k), probe.info(k).shape));
    state.values.push_back(lists.back().handle());
    state.paths.push_back(absl::StrCat("result_", k));
  }
  const auto map_row = [&](const Value& i, absl::Span<const Value> handles) {
    const Leaves results = body(loop.RowsAt(i));
    Leaves next;
    SetAll(loop, lists, handles, i, results.values, next);
    return next;
  };
  std::vector<Value> results = loop.Run(state, map_row);
  for (size_t k = 0; k < results.size(); ++k) results[k] = loop.Stacked(lists[k], results[k]);
  return results;
}

std::vector<Value> FoldRows(const Leaves& rows, const Leaves& initial, const BodyFn& body,
                            bool keep, const IterationOptions& options,
                            const std::source_location& where) {
  const RowLoop loop(rows, options, keep ? "scan" : "fold", where);
  const size_t n = initial.values.size();
  std::vector<List> lists;
  Leaves state = initial;
  if (keep) {
    std::vector<BodyArg> args;
    for (const Value& value : initial.values)
      args.push_back({.name = "state", .dtype = value.dtype(), .info = {value.shape()}});
    const TracedBody probe = loop.Probe(args, body);
    for (size_t k = 0; k < std::min(n, probe.results.size()); ++k) {
      lists.push_back(loop.Reserve(probe.dtype(k), probe.info(k).shape));
      state.values.push_back(lists.back().handle());
      state.paths.push_back(absl::StrCat("result_", k));
    }
  }
  const auto fold_row = [&](const Value& i, absl::Span<const Value> current) {
    std::vector<Value> args(current.begin(), current.begin() + n);
    for (Value& value : loop.RowsAt(i)) args.push_back(std::move(value));
    Leaves next = body(args);
    if (next.values.size() == n) {
      const std::vector<Value> results = next.values;
      SetAll(loop, lists, current.subspan(n), i, results, next);
    }
    return next;
  };
  std::vector<Value> results = loop.Run(state, fold_row);
  if (!keep) return results;
  std::vector<Value> stacked;
  for (size_t k = 0; k < lists.size(); ++k)
    stacked.push_back(loop.Stacked(lists[k], results[n + k]));
  return stacked;
}

}  // namespace gyre::internal
