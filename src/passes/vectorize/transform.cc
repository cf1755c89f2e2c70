#include "passes/vectorize/transform.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/calls.h"
#include "passes/vectorize/body.h"

namespace gyre::vectorize {
namespace {

// What tells calls apart that need functions of their own.
std::string KeyOf(const std::string& function, const std::vector<RowValue>& args,
                  const ResultRequest& request) {
  std::string key = function;
  for (const RowValue& arg : args) {
    absl::StrAppend(&key, ",", static_cast<int>(arg.rows), arg.info.shape.ToString());
    if (!arg.info.handle) continue;
    absl::StrAppend(&key, "<", DTypeName(arg.info.handle->dtype), arg.info.handle->shape.ToString(),
                    ">");
  }
  absl::StrAppend(&key, request.returns_rows ? "->+" : "->");
  for (const Rows rows : request.rows) absl::StrAppend(&key, ",", static_cast<int>(rows));
  return key;
}

}  // namespace

std::optional<Rows> Join(Rows a, Rows b) {
  if (a == b) return a;
  if (a == Rows::kElements || b == Rows::kElements) return std::nullopt;
  return Rows::kStacked;
}

BatchTransform::BatchTransform(const Program& program, bool fall_back, int64_t num_rows)
    : program_(program), effects_(program), fall_back_(fall_back), num_rows_(num_rows) {}

absl::StatusOr<RowsFunction> BatchTransform::Vectorize(const Function& function,
                                                       const std::vector<RowValue>& args,
                                                       const ResultRequest& request,
                                                       absl::string_view name) {
  if (IsOpaque(function))
    return batch::Refuse(absl::StrCat("'", function.name, "' is a graph of primitives"));
  return BatchedBody(*this, function, args, UniqueName(name)).Write(request);
}

absl::StatusOr<RowsFunction> BatchTransform::Vectorize(const FunctionRef& function,
                                                       const std::vector<RowValue>& args,
                                                       const ResultRequest& request) {
  const Function* const body = program_.FindFunction(function.name);
  if (body == nullptr)
    return absl::NotFoundError(absl::StrCat("there is no function '", function.name, "'"));
  if (function.attrs != nullptr && !function.attrs->empty())
    return batch::Refuse(absl::StrCat("'", function.name, "' is generic"));
  if (body->args.size() != args.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", function.name, "' has ", body->args.size(),
                                                   " arguments, not ", args.size()));
  }
  const std::string key = KeyOf(function.name, args, request);
  if (const auto made = made_.find(key); made != made_.end()) return made->second;
  if (!being_made_.insert(key).second)
    return batch::Refuse(absl::StrCat("'", function.name, "' calls itself"));
  absl::StatusOr<RowsFunction> made =
      Vectorize(*body, args, request, absl::StrCat(function.name, "_rows"));
  being_made_.erase(key);
  if (made.ok()) made_.emplace(key, *made);
  return made;
}

std::string BatchTransform::UniqueName(absl::string_view wanted) {
  std::string name(wanted);
  while (program_.FindFunction(name) != nullptr || name == program_.main().name ||
         numbers_.contains(name)) {
    name = absl::StrCat(wanted, "_", ++numbers_[std::string(wanted)]);
  }
  numbers_.emplace(name, 0);
  return name;
}

void BatchTransform::Add(Function function) {
  std::string name = function.name;
  functions_.insert_or_assign(std::move(name), std::move(function));
}

VectorizeResult BatchTransform::Finish(const std::string& root) const {
  VectorizeResult result;
  result.function = root;
  ProgramBuilder builder(program_);
  std::set<std::string> taken;
  std::vector<std::string> pending = {root};
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    const auto found = functions_.find(name);
    if (found == functions_.end() || !taken.insert(name).second) continue;
    builder.SetFunction(found->second);
    if (const auto loops = loops_.find(name); loops != loops_.end())
      result.loops.insert(result.loops.end(), loops->second.begin(), loops->second.end());
    for (std::string& named : gyre::NamedFunctions(found->second))
      pending.push_back(std::move(named));
    if (const auto gradient = gradients_.find(name); gradient != gradients_.end()) {
      builder.SetGradientFunction(name, gradient->second);
      pending.push_back(gradient->second);
    }
  }
  result.program = builder.Build();
  return result;
}

}  // namespace gyre::vectorize

namespace gyre {

absl::StatusOr<VectorizeResult> Vectorize(const std::shared_ptr<const Program>& program,
                                          const VectorizeRequest& request) {
  const Function& row = program->main();
  if (request.stacked.size() != row.args.size() || request.args.size() != row.args.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the function has ", row.args.size(),
                                                   " arguments, not ", request.stacked.size()));
  }
  if (request.num_rows > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.num_rows, " rows are too many: they are counted in int32"));
  }
  std::vector<vectorize::RowValue> args;
  for (size_t i = 0; i < row.args.size(); ++i) {
    args.push_back({request.stacked[i] ? Rows::kStacked : Rows::kSame, request.args[i]});
  }
  const vectorize::ResultRequest results{.rows =
                                             std::vector<Rows>(row.results.size(), Rows::kStacked)};
  vectorize::BatchTransform transform(*program, request.fall_back, request.num_rows);
  GYRE_ASSIGN_OR_RETURN(const vectorize::RowsFunction all,
                        transform.Vectorize(row, args, results, request.name));
  return transform.Finish(all.name);
}

}  // namespace gyre
