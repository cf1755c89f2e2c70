#include "golden/model.h"

#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "bundle/reader.h"
#include "graphdef/meta_graph.h"

namespace gyre::golden {
namespace {

using Complaint = std::optional<std::string>;

// How far a sum may be off, by the sum of magnitudes: elements may be added in any order.
constexpr double kSumTolerance = 1e-12;
constexpr absl::string_view kMetaGraphKind = "metagraph";

// ---- Reading

absl::StatusOr<DType> ReadDType(const Json& json, const std::string& where) {
  GYRE_ASSIGN_OR_RETURN(const std::string name, Text(json, "dtype", where));
  const std::optional<DType> dtype = ParseDType(name);
  if (dtype) return *dtype;
  return Mistake(where, absl::StrCat("dtype '", name, "' is none"));
}

// Nothing for null: an unknown rank.
absl::StatusOr<std::optional<std::vector<int64_t>>> ReadDims(const Json& json,
                                                             const std::string& where) {
  const Json& list = Member(json, "shape");
  if (list.is_null()) return std::nullopt;
  std::vector<int64_t> dims;
  if (!list.is_array()) return Mistake(where, "shape is not a list");
  for (const Json& dim : list) {
    if (!dim.is_number_integer() || dim.get<int64_t>() < -1)
      return Mistake(where, "shape is not a list of dimensions");
    dims.push_back(dim.get<int64_t>());
  }
  return dims;
}

absl::StatusOr<std::map<std::string, ExpectedSignature::Argument>> ReadArguments(
    const Json& json, const std::string& where) {
  std::map<std::string, ExpectedSignature::Argument> arguments;
  for (const auto& [name, value] : json.items()) {
    const std::string here = absl::StrCat(where, "[", name, "]");
    ExpectedSignature::Argument argument;
    GYRE_ASSIGN_OR_RETURN(argument.dtype, ReadDType(value, here));
    GYRE_ASSIGN_OR_RETURN(const auto dims, ReadDims(value, here));
    if (dims) argument.shape = PartialShape(Dims(dims->begin(), dims->end()));
    arguments.emplace(name, std::move(argument));
  }
  return arguments;
}

// A number, or [re, im].
absl::StatusOr<std::complex<double>> ReadComplex(const Json& json, const std::string& where) {
  if (json.is_boolean()) return json.get<bool>() ? 1.0 : 0.0;
  if (json.is_number()) return json.get<double>();
  if (json.is_array() && json.size() == 2 && json[0].is_number() && json[1].is_number())
    return std::complex<double>(json[0].get<double>(), json[1].get<double>());
  return Mistake(where, "not a number");
}

absl::StatusOr<ExpectedVariable> ReadVariable(const Json& json, const std::string& where) {
  ExpectedVariable variable;
  GYRE_ASSIGN_OR_RETURN(variable.dtype, ReadDType(json, where));
  GYRE_ASSIGN_OR_RETURN(auto dims, ReadDims(json, where));
  variable.shape = std::move(dims).value_or(std::vector<int64_t>());
  GYRE_ASSIGN_OR_RETURN(variable.sum, ReadComplex(Member(json, "sum"), Join(where, "sum")));
  const Json& first = Member(json, "first");
  if (first.is_string()) {
    variable.first_text = first.get<std::string>();
  } else if (!first.is_null()) {
    GYRE_ASSIGN_OR_RETURN(variable.first, ReadComplex(first, Join(where, "first")));
  }
  return variable;
}

// ---- Comparing

template <typename A>
Complaint CompareArguments(const std::map<std::string, SavedModel::Argument>& got, const A& want,
                           const std::string& title) {
  for (const auto& [name, argument] : want) {
    const auto found = got.find(name);
    if (found == got.end()) return absl::StrCat(title, " '", name, "' is missing");
    const SavedModel::Argument& there = found->second;
    if (there.dtype == argument.dtype && there.shape == argument.shape) continue;
    return absl::StrCat(title, " '", name, "' is ", DTypeName(there.dtype), there.shape.ToString(),
                        ", want ", DTypeName(argument.dtype), argument.shape.ToString());
  }
  if (got.size() == want.size()) return std::nullopt;
  return absl::StrCat(title, "s: got ", got.size(), ", want ", want.size());
}

Complaint CompareSignatures(const Case& golden, const SavedModel& model) {
  for (const auto& [name, want] : golden.signatures) {
    const auto found = model.signatures().find(name);
    if (found == model.signatures().end()) return absl::StrCat("signature ", name, " is missing");
    const std::string title = absl::StrCat("signature ", name, ": ");
    if (auto complaint = CompareArguments(found->second.inputs, want.inputs, title + "input"))
      return complaint;
    if (auto complaint = CompareArguments(found->second.outputs, want.outputs, title + "output"))
      return complaint;
  }
  if (model.signatures().size() == golden.signatures.size()) return std::nullopt;
  return absl::StrCat("got ", model.signatures().size(), " signatures, want ",
                      golden.signatures.size());
}

// What a case says of a tensor, of one that there is.
struct Summary {
  std::complex<double> sum;
  double magnitude = 0;  // of all elements, added
  std::optional<std::complex<double>> first;
  std::optional<std::string> first_text;

  void Add(std::complex<double> value) {
    if (!first) first = value;
    sum += value;
    magnitude += std::abs(value);
  }
};

template <typename T>
void AddAll(const Tensor& tensor, Summary& summary) {
  for (const T& value : tensor.values<T>()) {
    if constexpr (std::is_same_v<T, std::string>) {
      summary.Add(static_cast<double>(value.size()));
      if (!summary.first_text) summary.first_text = value;
    } else if constexpr (std::is_same_v<T, complex64>) {
      summary.Add(std::complex<double>(value));
    } else if constexpr (std::is_same_v<T, complex128>) {
      summary.Add(value);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      summary.Add(static_cast<float>(value));
    } else {
      summary.Add(static_cast<double>(value));
    }
  }
}

template <typename... Ts>
bool AddAllOf(const Tensor& tensor, Summary& summary) {
  return ((tensor.dtype() == DTypeOf<Ts> && (AddAll<Ts>(tensor, summary), true)) || ...);
}

Complaint CompareVariable(const Tensor& got, const ExpectedVariable& want) {
  const absl::Span<const int64_t> dims = got.shape().dims();
  if (got.dtype() != want.dtype || dims != absl::MakeConstSpan(want.shape)) {
    return absl::StrCat("got ", DTypeName(got.dtype()), got.shape().ToString(), ", want ",
                        DTypeName(want.dtype), "[", absl::StrJoin(want.shape, ","), "]");
  }
  Summary summary;
  if (!AddAllOf<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                uint32_t, uint64_t, bool, complex64, complex128, std::string>(got, summary)) {
    return absl::StrCat("values of type ", DTypeName(got.dtype()), " cannot be summed up");
  }
  if (got.dtype() == DType::kString) summary.first.reset();
  if (summary.first != want.first || summary.first_text != want.first_text)
    return "its first element is another";
  if (std::abs(summary.sum - want.sum) <= kSumTolerance * summary.magnitude) return std::nullopt;
  return absl::StrCat("its elements come to ", summary.sum.real(), ", want ", want.sum.real());
}

Complaint CompareCheckpoint(const Case& golden, const std::string& prefix) {
  if (prefix.empty())
    return golden.variables.empty() ? std::nullopt : Complaint("there is no checkpoint");
  const absl::StatusOr<BundleReader> bundle = BundleReader::Open(prefix);
  if (!bundle.ok()) return std::string(bundle.status().message());
  size_t count = 0;
  for (const std::string& key : bundle->Names()) {
    if (key == kObjectGraphKey) continue;
    ++count;
    const std::string title = absl::StrCat("variable ", absl::CHexEscape(key), ": ");
    const auto want = golden.variables.find(key);
    if (want == golden.variables.end()) return title + "it is not expected";
    const absl::StatusOr<Tensor> value = bundle->Read(key);
    if (!value.ok()) return absl::StrCat(title, value.status().message());
    if (const Complaint complaint = CompareVariable(*value, want->second))
      return title + *complaint;
  }
  if (count == golden.variables.size()) return std::nullopt;
  return absl::StrCat("the checkpoint holds ", count, " variables, want ", golden.variables.size());
}

}  // namespace

absl::Status ReadModel(const Json& json, Case& result) {
  GYRE_ASSIGN_OR_RETURN(result.group, Text(json, "kind", ""));
  result.model = result.group == kMetaGraphKind ? "v1/model.meta" : "model";
  for (const auto& [name, signature] : Member(json, "signatures").items()) {
    const std::string where = absl::StrCat("signatures[", name, "]");
    ExpectedSignature& expected = result.signatures[name];
    GYRE_ASSIGN_OR_RETURN(expected.inputs,
                          ReadArguments(Member(signature, "inputs"), where + ".inputs"));
    GYRE_ASSIGN_OR_RETURN(expected.outputs,
                          ReadArguments(Member(signature, "outputs"), where + ".outputs"));
  }
  for (const auto& [key, variable] : Member(json, "variables").items()) {
    GYRE_ASSIGN_OR_RETURN(result.variables[key],
                          ReadVariable(variable, absl::StrCat("variables[", key, "]")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> RunBySignature(const Step& step, const SavedModel& model,
                                                   const RunOptions& options) {
  const SavedModel::Inputs inputs(step.feeds.begin(), step.feeds.end());
  GYRE_ASSIGN_OR_RETURN(SavedModel::Values outputs, model.Run(step.signature, inputs, options));
  std::vector<Tensor> results;
  for (const std::string& name : step.fetches) {
    const auto found = outputs.find(name);
    if (found == outputs.end()) {
      return absl::NotFoundError(
          absl::StrCat("signature ", step.signature, " has no output '", name, "'"));
    }
    results.push_back(std::move(found->second));
  }
  return results;
}

Complaint CheckModel(const Case& golden, const SavedModel& model) {
  if (Complaint complaint = CompareSignatures(golden, model)) return complaint;
  return CompareCheckpoint(golden, model.checkpoint());
}

}  // namespace gyre::golden
