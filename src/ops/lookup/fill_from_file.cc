// InitializeTableFromTextFile: a table whose keys and values stand in the lines of a file.
#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/io/files.h"
#include "ops/lookup/table.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/text/string_bytes.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

constexpr int64_t kLineNumber = -1, kWholeLine = -2;

struct FileAttrs {
  static absl::StatusOr<FileAttrs> Make(const Node& node) {
    FileAttrs attrs{NodeAttr<int64_t>(node, "key_index"), NodeAttr<int64_t>(node, "value_index"),
                    NodeAttr<int64_t>(node, "vocab_size"), NodeAttr<int64_t>(node, "offset"),
                    NodeAttr<std::string>(node, "delimiter")};
    if (attrs.delimiter.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("delimiter must be one character, but is '", attrs.delimiter, "'"));
    }
    return attrs;
  }
  int64_t key, value, vocab_size, offset;
  std::string delimiter;
};

using ReadTypes = Types<int32_t, int64_t, float, double>;

bool Read(absl::string_view text, int32_t* to) { return absl::SimpleAtoi(text, to); }
bool Read(absl::string_view text, int64_t* to) { return absl::SimpleAtoi(text, to); }
bool Read(absl::string_view text, float* to) { return absl::SimpleAtof(text, to); }
bool Read(absl::string_view text, double* to) { return absl::SimpleAtod(text, to); }

// The column of keys, or that of values.
class Column {
 public:
  static absl::StatusOr<Column> Make(const KernelContext& ctx, DType dtype, int64_t index,
                                     int64_t lines, absl::string_view what) {
    if (index == kLineNumber && dtype != DType::kInt64 && dtype != DType::kInt32) {
      return absl::InvalidArgumentError(absl::StrCat("line numbers are int64, but ", what,
                                                     " of the table are ", DTypeName(dtype)));
    }
    if (index == kWholeLine && dtype != DType::kString) {
      return absl::InvalidArgumentError(absl::StrCat("whole lines are strings, but ", what,
                                                     " of the table are ", DTypeName(dtype)));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor tensor, ctx.Allocate(dtype, Shape::Vector(lines)));
    return Column(std::move(tensor), index);
  }

  Tensor& tensor() { return tensor_; }

  absl::Status Set(const KernelContext& ctx, int64_t row, int64_t number, absl::string_view line,
                   absl::string_view delimiter) {
    if (index_ == kLineNumber) {
      if (tensor_.dtype() == DType::kInt64) {
        tensor_.mutable_values<int64_t>()[row] = number;
      } else {
        tensor_.mutable_values<int32_t>()[row] = static_cast<int32_t>(number);
      }
      return absl::OkStatus();
    }
    absl::string_view field = line;
    if (index_ >= 0) {
      int64_t at = 0;
      bool found = false;
      for (const absl::string_view part : absl::StrSplit(line, delimiter)) {
        if (at++ != index_) continue;
        field = part;
        found = true;
        break;
      }
      if (!found) {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", row, " has ", at, " columns, but column ", index_, " is wanted"));
      }
    }
    if (tensor_.dtype() == DType::kString) {
      GYRE_RETURN_IF_ERROR(ChargeTextOf(ctx, tensor_, HeapBytes(field.size())));
      tensor_.mutable_values<std::string>()[row] = std::string(field);
      return absl::OkStatus();
    }
    bool is_read = false;
    GYRE_RETURN_IF_ERROR(VisitType<ReadTypes>(tensor_.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      is_read = Read(field, &tensor_.mutable_values<T>()[row]);
      return absl::OkStatus();
    }));
    if (is_read) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("line ", row, ": '",
                                                   absl::Utf8SafeCEscape(field.substr(0, 100)),
                                                   "' is not a ", DTypeName(tensor_.dtype())));
  }

 private:
  Column(Tensor tensor, int64_t index) : tensor_(std::move(tensor)), index_(index) {}

  Tensor tensor_;
  int64_t index_;
};

absl::StatusOr<std::string> FileText(const KernelContext& ctx, const std::string& path) {
  GYRE_RETURN_IF_ERROR(CheckMayRead(ctx, path));
  {
    GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
    GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, file.size()));
  }
  GYRE_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  std::erase(text, '\r');
  return text;
}

absl::Status FillFromFile(KernelContext& ctx, const FileAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(LookupTable * table, TableInput(ctx));
  GYRE_ASSIGN_OR_RETURN(const std::string path, FileNameInput(ctx, 1, "filename"));
  GYRE_ASSIGN_OR_RETURN(const std::string text, FileText(ctx, path));
  int64_t lines = std::count(text.begin(), text.end(), '\n');
  if (!text.empty() && text.back() != '\n') ++lines;
  if (attrs.vocab_size >= 0 && lines < attrs.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("vocab_size is ", attrs.vocab_size, ", but '",
                                                   path, "' has ", lines, " lines"));
  }
  if (attrs.vocab_size >= 0) lines = attrs.vocab_size;
  GYRE_ASSIGN_OR_RETURN(Column keys,
                        Column::Make(ctx, table->layout().key, attrs.key, lines, "keys"));
  GYRE_ASSIGN_OR_RETURN(Column values,
                        Column::Make(ctx, table->layout().value, attrs.value, lines, "values"));
  size_t begin = 0;
  for (int64_t i = 0; i < lines; ++i) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const size_t end = std::min(text.find('\n', begin), text.size());
    const absl::string_view line = absl::string_view(text).substr(begin, end - begin);
    const int64_t number =
        static_cast<int64_t>(static_cast<uint64_t>(i) + static_cast<uint64_t>(attrs.offset));
    for (Column* column : {&keys, &values}) {
      GYRE_RETURN_IF_ERROR(Annotate(column->Set(ctx, i, number, line, attrs.delimiter), path));
    }
    begin = end + 1;
  }
  return table->Fill(ctx, keys.tensor(), values.tensor());
}

absl::Status FileShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  return c.RequireScalar(1);
}

}  // namespace

void RegisterFillFromFile(OpRegistry& ops) {
  for (const bool is_ref : {false, true}) {
    const std::string schema = absl::StrCat(
        "InitializeTableFromTextFile", is_ref ? "" : "V2",
        "(table_handle: ", is_ref ? "Ref(string)" : "resource",
        ", filename: string) -> {key_index: int >= -2; value_index: int >= -2; vocab_size: int >= "
        "-1 = -1; delimiter: string = '\t'; offset: int = 0}");
    ops.Add({.schema = schema,
             .doc = "Fills a table from the lines of a file: columns, line numbers (-1) or whole "
                    "lines (-2).",
             .traits = {.effect = Effect::kIo},
             .shape = FileShape,
             .gradient = NotDifferentiable("it has no outputs"),
             .kernel = Compute<FillFromFile>()});
  }
}

}  // namespace gyre
