// DecodeCSV: the fields of lines of text (RFC 4180), as tensors.
#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "tensor/text_charge.h"

namespace gyre {
namespace {

using FieldTypes = Types<float, double, int32_t, int64_t, std::string>;

struct CsvAttrs {
  static absl::StatusOr<CsvAttrs> Make(const Node& node) {
    CsvAttrs attrs;
    attrs.types = NodeAttr<std::vector<DType>>(node, "OUT_TYPE");
    attrs.columns = NodeAttr<std::vector<int64_t>>(node, "select_cols");
    attrs.missing = NodeAttr<std::string>(node, "na_value");
    attrs.has_quotes = NodeAttr<bool>(node, "use_quote_delim");
    const std::string& delimiter = NodeAttr<std::string>(node, "field_delim");
    if (delimiter.size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat("field_delim must be one character, but is '",
                                                     absl::Utf8SafeCEscape(delimiter), "'"));
    }
    attrs.delimiter = delimiter[0];
    if (!attrs.columns.empty() && attrs.columns.size() != attrs.types.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("select_cols must be empty or have ", attrs.types.size(),
                       " elements, as there are outputs, but has ", attrs.columns.size()));
    }
    for (size_t i = 0; i < attrs.columns.size(); ++i) {
      if (attrs.columns[i] >= 0 && (i == 0 || attrs.columns[i] > attrs.columns[i - 1])) continue;
      return absl::InvalidArgumentError("select_cols must rise, and have no negative elements");
    }
    return attrs;
  }
  std::vector<DType> types;
  std::vector<int64_t> columns;  // empty: all
  std::string missing;
  char delimiter = ',';
  bool has_quotes = true;
};

// Takes a line apart, field by field.
class Line {
 public:
  Line(absl::string_view text, const CsvAttrs& attrs) : rest_(text), attrs_(attrs) {}

  // False behind the last one.
  absl::StatusOr<bool> Next(std::string& field) {
    if (is_done_) return false;
    field.clear();
    if (attrs_.has_quotes && !rest_.empty() && rest_[0] == '"') return Quoted(field);
    const size_t end = std::min(rest_.find(attrs_.delimiter), rest_.size());
    const absl::string_view text = rest_.substr(0, end);
    if (attrs_.has_quotes && text.find_first_of("\"\r\n") != absl::string_view::npos) {
      return absl::InvalidArgumentError("unquoted fields cannot have quotes or line ends inside");
    }
    field.assign(text.data(), text.size());
    Skip(end);
    return true;
  }

 private:
  absl::StatusOr<bool> Quoted(std::string& field) {
    size_t at = 1;
    for (;; ++at) {
      if (at >= rest_.size()) {
        return absl::InvalidArgumentError("a quoted field has no quote at its end");
      }
      if (rest_[at] == '"') {
        if (at + 1 >= rest_.size() || rest_[at + 1] != '"') break;
        ++at;
      }
      field.push_back(rest_[at]);
    }
    ++at;
    if (at < rest_.size() && rest_[at] != attrs_.delimiter) {
      return absl::InvalidArgumentError("a quote inside of a field must be doubled");
    }
    Skip(at);
    return true;
  }
  // Past a field that ends there, and the delimiter behind it.
  void Skip(size_t end) {
    is_done_ = end >= rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
  }

  absl::string_view rest_;
  const CsvAttrs& attrs_;
  bool is_done_ = false;
};

bool Read(absl::string_view text, int32_t* to) { return absl::SimpleAtoi(text, to); }
bool Read(absl::string_view text, int64_t* to) { return absl::SimpleAtoi(text, to); }
bool Read(absl::string_view text, float* to) { return absl::SimpleAtof(text, to); }
bool Read(absl::string_view text, double* to) { return absl::SimpleAtod(text, to); }

class Columns {
 public:
  Columns(const KernelContext& ctx, const CsvAttrs& attrs, std::vector<Tensor>& out)
      : ctx_(ctx), attrs_(attrs), out_(out) {}

  // Field `column`, for output `i` of record `row`.
  absl::Status Set(size_t i, int64_t row, int64_t column, const std::string& field) {
    const Tensor& filler = ctx_.input(static_cast<int>(i) + 1);
    const bool is_missing = field.empty() || field == attrs_.missing;
    if (is_missing && filler.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("field ", column, " is required but missing in record ", row));
    }
    return VisitType<FieldTypes>(out_[i].dtype(), [&](auto tag) -> absl::Status {
      using T = typename decltype(tag)::type;
      T& to = static_cast<T*>(out_[i].mutable_raw_data())[row];
      if constexpr (std::is_same_v<T, std::string>) {
        const std::string& from = is_missing ? filler.values<T>()[0] : field;
        GYRE_RETURN_IF_ERROR(ChargeTextOf(ctx_, out_[i], HeapBytes(from.size())));
        to = from;
      } else if (is_missing) {
        to = filler.values<T>()[0];
      } else if (!Read(field, &to)) {
        return absl::InvalidArgumentError(
            absl::StrCat("field ", column, " in record ", row, " is not a valid ",
                         DTypeName(DTypeOf<T>), ": ", absl::Utf8SafeCEscape(field.substr(0, 100))));
      }
      return absl::OkStatus();
    });
  }

 private:
  const KernelContext& ctx_;
  const CsvAttrs& attrs_;
  std::vector<Tensor>& out_;
};

absl::Status DecodeRecord(const KernelContext& ctx, const CsvAttrs& attrs, int64_t row,
                          const std::string& text, Columns& columns) {
  Line line(text, attrs);
  std::string field;
  size_t output = 0;
  for (int64_t column = 0;; ++column) {
    if (column % 256 == 255) GYRE_RETURN_IF_ERROR(ctx.Poll());
    absl::StatusOr<bool> has_field = line.Next(field);
    if (!has_field.ok()) return Annotate(has_field.status(), absl::StrCat("record ", row));
    if (!*has_field || (!attrs.columns.empty() && output == attrs.types.size())) {
      if (output == attrs.types.size()) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(
          "expect ", attrs.types.size(), " fields but have ", output, " in record ", row));
    }
    if (!attrs.columns.empty() && attrs.columns[output] != column) continue;
    if (output == attrs.types.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expect ", attrs.types.size(), " fields but have more in record ", row));
    }
    GYRE_RETURN_IF_ERROR(columns.Set(output, row, column, field));
    ++output;
  }
}

absl::Status Decode(KernelContext& ctx, const CsvAttrs& attrs) {
  for (size_t i = 0; i < attrs.types.size(); ++i) {
    const Tensor& filler = ctx.input(static_cast<int>(i) + 1);
    if (filler.rank() <= 1 && filler.num_elements() <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("record_defaults[", i, "] must have one element, or none, but is of shape ",
                     filler.shape().ToString()));
  }
  std::vector<Tensor> out;
  for (const DType dtype : attrs.types) {
    GYRE_ASSIGN_OR_RETURN(out.emplace_back(), ctx.Allocate(dtype, ctx.input(0).shape()));
  }
  Columns columns(ctx, attrs, out);
  int64_t row = 0;
  for (const std::string& record : ctx.input(0).values<std::string>()) {
    if (row % 256 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_RETURN_IF_ERROR(DecodeRecord(ctx, attrs, row, record, columns));
    ++row;
  }
  for (size_t i = 0; i < out.size(); ++i) ctx.set_output(static_cast<int>(i), std::move(out[i]));
  return absl::OkStatus();
}

absl::Status CsvShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return absl::OkStatus();
}

}  // namespace

void RegisterDecodeCsv(OpRegistry& ops) {
  ops.Add({.schema = "DecodeCSV(records: string, record_defaults: OUT_TYPE) -> output: OUT_TYPE "
                     "{OUT_TYPE: list({float, double, int32, int64, string}) >= 1; field_delim: "
                     "string = ','; use_quote_delim: bool = true; na_value: string = ''; "
                     "select_cols: list(int) = []}",
           .doc = "The fields of lines of comma-separated values, a tensor for each column.",
           .shape = CsvShape,
           .gradient = NotDifferentiable("text has no derivative"),
           .kernel = Compute<&Decode>()});
}

}  // namespace gyre
