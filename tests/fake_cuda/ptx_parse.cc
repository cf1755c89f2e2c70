// PTX's text, as LLVM writes it: one instruction to a line.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "fake_cuda/memory.h"
#include "fake_cuda/ptx.h"

namespace fake_cuda {
namespace {

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(Trimmed(part));
  return parts;
}

// Operands: those in braces or brackets are one.
std::vector<std::string> SplitOperands(const std::string& text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(Trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!Trimmed(part).empty()) parts.push_back(Trimmed(part));
  return parts;
}

unsigned BitsOf(const std::string& type) {
  if (type == "pred") return 8;
  return type.size() < 2 ? 0 : static_cast<unsigned>(std::strtoul(type.c_str() + 1, nullptr, 10));
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  std::unique_ptr<PtxModule> Parse() {
    auto module = std::make_unique<PtxModule>();
    std::stringstream lines(text_);
    for (std::string line; std::getline(lines, line);) {
      if (const size_t comment = line.find("//"); comment != std::string::npos)
        line.resize(comment);
      line = Trimmed(line);
      if (line.empty()) continue;
      if (!ok_) break;
      ParseLine(line);
      if (ended_ != nullptr) module->kernels[name_] = std::move(ended_);
    }
    if (!ok_) return nullptr;
    return module;
  }

 private:
  void Fail(const std::string& why) {
    if (std::exchange(ok_, false)) std::fprintf(stderr, "the fake driver's PTX: %s\n", why.c_str());
  }

  void ParseLine(const std::string& line) {
    if (is_in_body_) return ParseBody(line);
    if (line.find(".entry") != std::string::npos) {
      const size_t begin = line.find(".entry") + 7;
      name_ = Trimmed(line.substr(begin, line.find('(') - begin));
      kernel_ = std::make_shared<PtxKernel>();
      registers_ = {{"%tid.x", 0}, {"%ntid.x", 1}, {"%ctaid.x", 2}, {"%nctaid.x", 3}};
      parameters_.clear();
      labels_.clear();
      jumps_.clear();
      locals_.clear();
    } else if (line.starts_with(".param") && kernel_ != nullptr) {
      ParseParameter(line);
    } else if (line == "{" && kernel_ != nullptr) {
      is_in_body_ = true;
    } else if (line.find(".shared") != std::string::npos) {
      ParseVariable(line, shared_, shared_bytes_, kSharedSpace);
    } else if (line.starts_with(".global") || line.starts_with(".const") ||
               line.find(" .global") != std::string::npos) {
      ParseGlobal(line);
    } else if (line.find(".func") != std::string::npos) {
      Fail("functions that are called: " + line);
    }
  }

  // `.param .align 8 .b8 name[384]` or `.param .u64 name`.
  void ParseParameter(const std::string& line) {
    Layout(line, parameters_, kernel_->parameter_bytes, kParameterSpace);
  }

  // Gives the variable a place behind the others of its space.
  void Layout(const std::string& line, std::map<std::string, Word>& names, size_t& end,
              Word space) {
    size_t align = 1, bytes = 0;
    std::string name;
    std::stringstream words(line);
    for (std::string word; words >> word;) {
      if (word == ".align") {
        words >> align;
      } else if (word[0] == '.' && BitsOf(word.substr(1)) != 0 && word != ".param") {
        bytes = BitsOf(word.substr(1)) / 8;
      } else if (word[0] != '.') {
        name = word;
      }
    }
    while (!name.empty() && (name.back() == ',' || name.back() == ';' || name.back() == ')'))
      name.pop_back();
    if (const size_t bracket = name.find('['); bracket != std::string::npos) {
      bytes *= std::strtoul(name.c_str() + bracket + 1, nullptr, 10);
      name.resize(bracket);
    } else {
      align = std::max(align, bytes);
    }
    end = (end + align - 1) / align * align;
    names[name] = space | end;
    end += bytes;
  }

  void ParseVariable(const std::string& line, std::map<std::string, Word>& names, size_t& end,
                     Word space) {
    Layout(line, names, end, space);
  }

  // `.global .align 8 .b8 name[24] = {1, 2, …};`, or without values.
  void ParseGlobal(const std::string& line) {
    size_t bytes = 0;
    std::map<std::string, Word> names;
    Layout(line.substr(0, line.find('=')), names, bytes, 0);
    unsigned size = 1;
    for (const char* type : {".b16", ".b32", ".b64", ".u16", ".u32", ".u64", ".f32", ".f64"})
      if (line.find(type) != std::string::npos) size = BitsOf(type + 1) / 8;
    const Word address = TheMemory().Allocate(std::max<size_t>(bytes, 1));
    TheMemory().Begin(address);
    auto* const to = static_cast<char*>(TheMemory().Host(address, bytes));
    std::fill_n(to, bytes, 0);
    if (const size_t begin = line.find('{'); begin != std::string::npos) {
      size_t at = 0;
      for (const std::string& value :
           Split(line.substr(begin + 1, line.find('}') - begin - 1), ',')) {
        const Word word = Immediate(value);
        for (unsigned b = 0; b < size && at < bytes; ++b)
          to[at++] = static_cast<char>(word >> (8 * b));
      }
    }
    for (const auto& [name, offset] : names) globals_[name] = address;
  }

  static Word Immediate(const std::string& text) {
    if (text.starts_with("0f") || text.starts_with("0F"))
      return std::strtoul(text.c_str() + 2, nullptr, 16);
    if (text.starts_with("0d") || text.starts_with("0D"))
      return std::strtoull(text.c_str() + 2, nullptr, 16);
    if (text[0] == '-') return static_cast<Word>(std::strtoll(text.c_str(), nullptr, 0));
    return std::strtoull(text.c_str(), nullptr, 0);
  }

  void ParseBody(const std::string& line) {
    if (line == "}") {
      if (--depth_ >= 0) return;
      depth_ = 0;
      return EndKernel();
    }
    if (line == "{") {
      ++depth_;
      return;
    }
    if (line.starts_with(".reg")) return;  // registers are known by their names
    if (line.starts_with(".local"))
      return ParseVariable(line, locals_, kernel_->local_bytes, kLocalSpace);
    if (line.starts_with(".shared"))
      return ParseVariable(line, shared_, shared_bytes_, kSharedSpace);
    if (line.starts_with(".loc") || line.starts_with(".pragma")) return;
    if (line.back() == ':') {
      labels_[line.substr(0, line.size() - 1)] = static_cast<uint32_t>(kernel_->code.size());
      return;
    }
    for (std::string statement : Split(line, ';')) {
      // Of `{ .reg .b16 tmp; mov.b32 {tmp, %h1}, %r1; }`, braces of their own.
      if (statement.starts_with("{") && statement.find('}') == std::string::npos)
        statement = Trimmed(statement.substr(1));
      if (statement.empty() || statement == "}" || statement.starts_with(".reg")) continue;
      ParseInstruction(statement);
    }
  }

  void EndKernel() {
    is_in_body_ = false;
    for (const auto& [at, label] : jumps_) {
      const auto it = labels_.find(label);
      if (it == labels_.end()) return Fail("no label " + label);
      kernel_->code[at].target = it->second;
    }
    kernel_->registers = static_cast<uint32_t>(registers_.size());
    kernel_->shared_bytes = shared_bytes_;
    ended_ = std::move(kernel_);
  }

  uint32_t Register(const std::string& name) {
    return registers_.emplace(name, static_cast<uint32_t>(registers_.size())).first->second;
  }

  PtxOperand Operand(const std::string& text) {
    if (text[0] == '%' || text == "tmp" || text == "temp") return {true, Register(text), 0};
    for (const auto* names : {&parameters_, &locals_, &shared_, &globals_})
      if (const auto it = names->find(text); it != names->end()) return {false, 0, it->second};
    if (std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text[0] != '-')
      Fail("what is " + text);
    return {false, 0, Immediate(text)};
  }

  void ParseInstruction(std::string text) {
    PtxInstruction op;
    op.text = text;
    if (text[0] == '@') {
      const size_t end = text.find_first_of(" \t");
      op.is_negated = text[1] == '!';
      op.guard = static_cast<int>(
          Register(text.substr(op.is_negated ? 2 : 1, end - (op.is_negated ? 2 : 1))));
      text = Trimmed(text.substr(end));
    }
    const size_t end = text.find_first_of(" \t");
    const std::vector<std::string> name = Split(text.substr(0, end), '.');
    const std::vector<std::string> operands =
        SplitOperands(end == std::string::npos ? "" : text.substr(end));
    if (name[0] == "ret" || name[0] == "exit") {
      op.action = PtxInstruction::Action::kReturn;
    } else if (name[0] == "bra") {
      op.action = PtxInstruction::Action::kBranch;
      jumps_.emplace_back(kernel_->code.size(), operands[0]);
    } else if (name[0] == "bar" || name[0] == "barrier") {
      op.action = PtxInstruction::Action::kBarrier;
    } else if (name[0] == "ld" || name[0] == "st") {
      ParseMemory(name, operands, op);
    } else if (name[0] == "mov" && (operands[0][0] == '{' || operands[1][0] == '{')) {
      ParsePack(name, operands, op);
    } else {
      ParseComputing(name, operands, op);
    }
    kernel_->code.push_back(std::move(op));
  }

  void ParseComputing(const std::vector<std::string>& name,
                      const std::vector<std::string>& operands, PtxInstruction& op) {
    op.compute = FindPtxFunction(name);
    if (op.compute == nullptr) return Fail("what does " + op.text + " do");
    op.results.push_back(Register(operands[0]));
    for (size_t i = 1; i < operands.size(); ++i) op.operands.push_back(Operand(operands[i]));
    if (op.operands.size() > 3) Fail("operands of " + op.text);
    op.operands.resize(3);
  }

  std::vector<std::string> Elements(const std::string& text) {
    if (text[0] != '{') return {text};
    return Split(text.substr(1, text.size() - 2), ',');
  }

  void ParseMemory(const std::vector<std::string>& name, const std::vector<std::string>& operands,
                   PtxInstruction& op) {
    const bool loads = name[0] == "ld";
    op.action = loads ? PtxInstruction::Action::kLoad : PtxInstruction::Action::kStore;
    const std::string& type = name.back();
    op.bytes = static_cast<uint8_t>(BitsOf(type) / 8);
    op.is_signed = type[0] == 's';
    for (const std::string& part : name) {
      if (part == "shared") op.space = kSharedSpace;
      if (part == "local") op.space = kLocalSpace;
      if (part == "param") op.space = kParameterSpace;
    }
    std::string place = operands[loads ? 1 : 0];
    place = place.substr(1, place.size() - 2);
    const size_t sign = place.find_last_of("+-");
    if (sign != std::string::npos && sign > 0) {
      const size_t number = place[sign] == '+' ? sign + 1 : sign;
      op.offset = std::strtoll(place.c_str() + number, nullptr, 0);
      place = Trimmed(place.substr(0, sign));
      if (!place.empty() && place.back() == '+') place.pop_back();
    }
    op.operands.push_back(Operand(place));
    for (const std::string& element : Elements(operands[loads ? 0 : 1])) {
      if (loads) {
        op.results.push_back(Register(element));
      } else {
        op.operands.push_back(Operand(element));
      }
    }
    if (op.bytes == 0 || op.results.size() > kMostResults) Fail("the type of " + op.text);
  }

  void ParsePack(const std::vector<std::string>& name, const std::vector<std::string>& operands,
                 PtxInstruction& op) {
    const bool unpacks = operands[0][0] == '{';
    op.action = unpacks ? PtxInstruction::Action::kUnpack : PtxInstruction::Action::kPack;
    const std::vector<std::string> parts = Elements(operands[unpacks ? 0 : 1]);
    op.bytes = static_cast<uint8_t>(BitsOf(name.back()) / 8 / parts.size());
    for (const std::string& part : parts) {
      if (unpacks) {
        op.results.push_back(Register(part));
      } else {
        op.operands.push_back(Operand(part));
      }
    }
    if (unpacks) {
      op.operands.push_back(Operand(operands[1]));
    } else {
      op.results.push_back(Register(operands[0]));
    }
  }

  const std::string& text_;
  bool ok_ = true;
  bool is_in_body_ = false;
  int depth_ = 0;
  std::string name_;
  std::shared_ptr<PtxKernel> kernel_, ended_;
  std::map<std::string, uint32_t> registers_, labels_;
  std::vector<std::pair<size_t, std::string>> jumps_;
  std::map<std::string, Word> parameters_, locals_, shared_, globals_;
  size_t shared_bytes_ = 0;
};

}  // namespace

std::unique_ptr<PtxModule> ParsePtx(const std::string& text) { return Parser(text).Parse(); }

}  // namespace fake_cuda
