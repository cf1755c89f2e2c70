#include "tensor/io/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "tensor/io/bytes.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are written as they lie in memory");

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kAlignment = 64;

// NumPy's type codes, without the byte order.
constexpr std::array<std::pair<absl::string_view, DType>, 14> kCodes = {{
    {"f2", DType::kHalf},
    {"f4", DType::kFloat},
    {"f8", DType::kDouble},
    {"i1", DType::kInt8},
    {"i2", DType::kInt16},
    {"i4", DType::kInt32},
    {"i8", DType::kInt64},
    {"u1", DType::kUint8},
    {"u2", DType::kUint16},
    {"u4", DType::kUint32},
    {"u8", DType::kUint64},
    {"b1", DType::kBool},
    {"c8", DType::kComplex64},
    {"c16", DType::kComplex128},
}};

struct Header {
  DType dtype = DType::kInvalid;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
};

// Reads the header, which is a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (2,
// 3), }
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<Header> Parse() {
    Header header;
    GYRE_RETURN_IF_ERROR(Expect("{"));
    while (!Accept("}")) {
      GYRE_ASSIGN_OR_RETURN(const absl::string_view key, Quoted());
      GYRE_RETURN_IF_ERROR(Expect(":"));
      GYRE_RETURN_IF_ERROR(Entry(key, header));
      if (!Accept(",")) {
        GYRE_RETURN_IF_ERROR(Expect("}"));
        break;
      }
    }
    if (entries_.size() != 3) {
      return absl::InvalidArgumentError("the header lacks one of descr, fortran_order, shape");
    }
    return header;
  }

 private:
  absl::Status Entry(absl::string_view key, Header& header) {
    entries_.insert(key);
    if (key == "descr") return Descr(header);
    if (key == "fortran_order") {
      header.fortran_order = Accept("True");
      return header.fortran_order ? absl::OkStatus() : Expect("False");
    }
    if (key == "shape") return Dimensions(header);
    return absl::InvalidArgumentError(absl::StrCat("the header has an unknown entry '", key, "'"));
  }

  absl::Status Descr(Header& header) {
    if (absl::StartsWith(rest_, "[")) {
      return absl::InvalidArgumentError("it holds records, not numbers");
    }
    GYRE_ASSIGN_OR_RETURN(const absl::string_view descr, Quoted());
    absl::string_view code = descr;
    header.big_endian = absl::ConsumePrefix(&code, ">");
    if (!header.big_endian && !absl::ConsumePrefix(&code, "<") &&
        !absl::ConsumePrefix(&code, "|")) {
      absl::ConsumePrefix(&code, "=");
    }
    const auto* found =
        std::find_if(kCodes.begin(), kCodes.end(), [&](const auto& c) { return c.first == code; });
    if (found == kCodes.end()) {
      return absl::InvalidArgumentError(absl::StrCat("it holds elements of type '", descr,
                                                     "'; only numbers and bools can be read"));
    }
    header.dtype = found->second;
    return absl::OkStatus();
  }

  absl::Status Dimensions(Header& header) {
    Dims dims;
    GYRE_RETURN_IF_ERROR(Expect("("));
    while (!Accept(")")) {
      const size_t length = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      int64_t dim;
      if (!absl::SimpleAtoi(rest_.substr(0, length), &dim)) {
        return absl::InvalidArgumentError("the header's shape is not a tuple of whole numbers");
      }
      Skip(length);
      dims.push_back(dim);
      if (!Accept(",")) {
        GYRE_RETURN_IF_ERROR(Expect(")"));
        break;
      }
    }
    GYRE_ASSIGN_OR_RETURN(header.shape, Shape::Make(dims));
    return absl::OkStatus();
  }

  absl::StatusOr<absl::string_view> Quoted() {
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const size_t end =
        quote == '\'' || quote == '"' ? rest_.find(quote, 1) : absl::string_view::npos;
    if (end == absl::string_view::npos)
      return absl::InvalidArgumentError("the header is not a dict");
    const absl::string_view text = rest_.substr(1, end - 1);
    Skip(end + 1);
    return text;
  }

  bool Accept(absl::string_view token) {
    SkipSpace();
    if (!absl::StartsWith(rest_, token)) return false;
    Skip(token.size());
    return true;
  }
  absl::Status Expect(absl::string_view token) {
    if (Accept(token)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the header is not a dict: '", token, "' is missing before '", rest_.substr(0, 20), "'"));
  }
  void Skip(size_t n) {
    rest_.remove_prefix(n);
    SkipSpace();
  }
  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  absl::string_view rest_;
  std::set<absl::string_view> entries_;  // those that were there
};

struct HeaderText {
  std::string text;
  int64_t end = 0;  // where the elements begin
};

absl::StatusOr<HeaderText> ReadHeader(const InputFile& file) {
  std::array<unsigned char, 12> start{};
  const int64_t available = std::min<int64_t>(file.size(), start.size());
  GYRE_RETURN_IF_ERROR(file.ReadAt(0, start.data(), available));
  const absl::string_view magic(reinterpret_cast<const char*>(start.data()), kMagic.size());
  if (available < 10 || magic != kMagic) {
    return absl::InvalidArgumentError("it is not an .npy file");
  }
  const int version = start[6];
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("version ", version, " of the format is unknown"));
  }
  int64_t length = start[8] | start[9] << 8;
  int64_t begin = 10;
  if (version > 1) {
    length |= static_cast<int64_t>(start[10]) << 16 | static_cast<int64_t>(start[11]) << 24;
    begin = 12;
  }
  if (begin + length > file.size()) {
    return absl::InvalidArgumentError("it is cut short within its header");
  }
  std::string text(static_cast<size_t>(length), '\0');
  GYRE_RETURN_IF_ERROR(file.ReadAt(begin, text.data(), length));
  return HeaderText{std::move(text), begin + length};
}

// Turns the bytes of each number around.
void SwapBytes(Tensor& tensor) {
  const size_t element = DTypeSize(tensor.dtype());
  const size_t number = IsComplex(tensor.dtype()) ? element / 2 : element;
  char* data = static_cast<char*>(tensor.mutable_raw_data());
  const size_t bytes = element * static_cast<size_t>(tensor.num_elements());
  for (size_t i = 0; i < bytes; i += number) std::reverse(data + i, data + i + number);
}

// The tensor whose elements `columns` holds in column-major order.
absl::StatusOr<Tensor> FromColumnMajor(const Tensor& columns, Tensor::Alloc alloc) {
  const Shape& shape = columns.shape();
  GYRE_ASSIGN_OR_RETURN(Tensor rows, Tensor::Make(columns.dtype(), shape, alloc));
  const size_t element = DTypeSize(columns.dtype());
  Dims index(shape.rank(), 0), stride(shape.rank(), 1);
  for (int d = 1; d < shape.rank(); ++d) stride[d] = stride[d - 1] * shape.dim(d - 1);
  const char* from = static_cast<const char*>(columns.raw_data());
  char* to = static_cast<char*>(rows.mutable_raw_data());
  int64_t source = 0;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    std::memcpy(to + i * element, from + source * element, element);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      source += stride[d];
      if (++index[d] < shape.dim(d)) break;
      source -= stride[d] * shape.dim(d);
      index[d] = 0;
    }
  }
  return rows;
}

absl::StatusOr<Tensor> Read(const InputFile& file, Tensor::Alloc alloc) {
  GYRE_ASSIGN_OR_RETURN(const HeaderText raw, ReadHeader(file));
  GYRE_ASSIGN_OR_RETURN(const Header header, HeaderParser(raw.text).Parse());
  const int64_t available = file.size() - raw.end;
  const std::optional<int64_t> bytes =
      CheckedMul(header.shape.num_elements(), static_cast<int64_t>(DTypeSize(header.dtype)));
  if (!bytes || *bytes != available) {
    return absl::InvalidArgumentError(
        absl::StrCat("its header promises ", header.shape.num_elements(), " elements of ",
                     DTypeName(header.dtype), ", but ", available, " bytes follow"));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(header.dtype, header.shape, alloc));
  GYRE_RETURN_IF_ERROR(file.ReadAt(raw.end, tensor.mutable_raw_data(), *bytes));
  if (header.big_endian) SwapBytes(tensor);
  NormalizeBools(tensor);
  return header.fortran_order && tensor.rank() > 1 ? FromColumnMajor(tensor, alloc)
                                                   : absl::StatusOr<Tensor>(std::move(tensor));
}

}  // namespace

absl::StatusOr<Tensor> ReadNpy(const std::string& path, Tensor::Alloc alloc) {
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  absl::StatusOr<Tensor> tensor = Read(file, alloc);
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

absl::Status WriteNpy(const std::string& path, const Tensor& tensor) {
  const auto* code = std::find_if(kCodes.begin(), kCodes.end(),
                                  [&](const auto& c) { return c.second == tensor.dtype(); });
  if (code == kCodes.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": .npy files cannot hold elements of type ", DTypeName(tensor.dtype())));
  }
  const absl::string_view order = DTypeSize(tensor.dtype()) == 1 ? "|" : "<";
  std::string text = absl::StrCat(
      "{'descr': '", order, code->first, "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(tensor.shape().dims(), ", "), tensor.rank() == 1 ? ",), }" : "), }");
  const int64_t unpadded = static_cast<int64_t>(text.size()) + 11;  // what stands before, and '\n'
  text.append(static_cast<size_t>((kAlignment - unpadded % kAlignment) % kAlignment), ' ');
  text += '\n';
  // 254 dimensions of 20 characters each stay far below the 65,535 that version 1 allows.
  const char start[4] = {1, 0, static_cast<char>(text.size() & 0xff),
                         static_cast<char>(text.size() >> 8)};
  return WriteFile(path, {kMagic, absl::string_view(start, 4), text, ElementBytes(tensor)});
}

}  // namespace gyre
