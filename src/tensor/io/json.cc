#include "tensor/io/json.h"

#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

using Parser = nlohmann::json;

// What our formats have, and some to spare. Ten bytes of brackets would become half a kilobyte.
constexpr size_t kMaxDepth = 8;

// Makes values of what the parser tells it: true to go on.
class Builder : public nlohmann::json_sax<Parser> {
 public:
  explicit Builder(absl::string_view what) : what_(what) {}

  // Once the parser has been through the text, without a complaint or with one.
  absl::StatusOr<Json> Finish(bool is_sound) {
    if (!status_.ok()) return status_;
    if (!is_sound || root_.As<JsonObject>() == nullptr) return NoObject();
    return std::move(root_);
  }

  bool null() override { return Add({nullptr}); }
  bool boolean(bool value) override { return Add({value}); }
  bool number_integer(int64_t value) override { return Add({value}); }
  bool number_unsigned(uint64_t value) override { return Add({value}); }
  bool number_float(double value, const std::string&) override { return Add({value}); }
  bool string(std::string& value) override { return Add({std::move(value)}); }
  bool binary(Parser::binary_t&) override { return false; }  // not in texts
  bool start_object(size_t) override { return Open({JsonObject()}); }
  bool start_array(size_t) override { return Open({JsonArray()}); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    const auto [member, is_new] = std::get<JsonObject>(around_.back()->value).try_emplace(name);
    next_ = &member->second;
    if (!is_new) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat(what_, " has two entries of the name '", name, "'"));
    }
    return is_new;
  }
  bool parse_error(size_t, const std::string&, const Parser::exception&) override { return false; }

 private:
  absl::Status NoObject() const {
    return absl::InvalidArgumentError(absl::StrCat(what_, " is not a JSON object"));
  }
  // Where the next value belongs.
  Json& Next() {
    if (around_.empty()) return root_;
    if (auto* const array = std::get_if<JsonArray>(&around_.back()->value))
      return array->emplace_back();
    return *next_;
  }
  bool Add(Json value) {
    Next() = std::move(value);
    return true;
  }
  bool Open(Json value) {
    if (around_.size() == kMaxDepth) return false;
    Json& opened = Next();
    opened = std::move(value);
    around_.push_back(&opened);
    return true;
  }
  bool Close() {
    around_.pop_back();
    return true;
  }

  const absl::string_view what_;
  Json root_;
  std::vector<Json*> around_;  // the objects and arrays that are open
  Json* next_ = nullptr;       // in the innermost object: what the last name stands for
  absl::Status status_;
};

// A value without members. Throws where it is no UTF-8.
template <typename T>
std::string Printed(const T& value) {
  return Parser(value).dump();
}

class Printer {
 public:
  explicit Printer(int indent) : indent_(indent) {}

  void Print(const Json& json) {
    if (const auto* const object = json.As<JsonObject>()) {
      PrintMembers('{', '}', *object, [&](const auto& member) {
        text_ += Printed(member.first);
        text_ += indent_ >= 0 ? ": " : ":";
        Print(member.second);
      });
    } else if (const auto* const array = json.As<JsonArray>()) {
      PrintMembers('[', ']', *array, [&](const Json& member) { Print(member); });
    } else {
      std::visit(
          [&](const auto& value) {
            using T = std::decay_t<decltype(value)>;
            if constexpr (!std::is_same_v<T, JsonArray> && !std::is_same_v<T, JsonObject>)
              text_ += Printed(value);
          },
          json.value);
    }
  }
  std::string Take() { return std::move(text_); }

 private:
  template <typename Members, typename PrintMember>
  void PrintMembers(char open, char close, const Members& members, const PrintMember& print) {
    text_ += open;
    depth_ += 1;
    bool is_first = true;
    for (const auto& member : members) {
      if (!std::exchange(is_first, false)) text_ += ',';
      BreakLine();
      print(member);
    }
    depth_ -= 1;
    if (!members.empty()) BreakLine();
    text_ += close;
  }
  void BreakLine() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<size_t>(indent_) * depth_, ' ');
  }

  const int indent_;
  size_t depth_ = 0;
  std::string text_;
};

}  // namespace

const Json* Json::Find(absl::string_view name) const {
  const auto* const object = As<JsonObject>();
  if (object == nullptr) return nullptr;
  const auto found = object->find(name);
  return found == object->end() ? nullptr : &found->second;
}

absl::StatusOr<Json> ParseJsonObject(absl::string_view text, absl::string_view what) {
  try {
    Builder builder(what);
    const bool is_sound = Parser::sax_parse(text.begin(), text.end(), &builder);
    return builder.Finish(is_sound);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " does not fit in memory"));
  }
}

absl::StatusOr<std::string> PrintJson(const Json& json, absl::string_view what, int indent) {
  Printer printer(indent);
  try {
    printer.Print(json);
  } catch (const Parser::type_error&) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is not UTF-8"));
  }
  return printer.Take();
}

}  // namespace gyre
