#include "ops/text/regex.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

using CharSet = Regex::CharSet;
using Step = Regex::Step;

constexpr size_t kMaxSteps = 10000;
constexpr int kMaxDepth = 100;
constexpr int kMaxRepeat = 1000;
constexpr size_t kPollEvery = 1024;  // characters

// Takes one character. Bytes that are no UTF-8 stand for themselves, beyond all characters.
uint32_t TakeChar(absl::string_view& text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = at(0);
  const size_t size = first < 0x80   ? 1
                      : first < 0xc2 ? 0
                      : first < 0xe0 ? 2
                      : first < 0xf0 ? 3
                      : first < 0xf5 ? 4
                                     : 0;
  bool sound = size > 0 && size <= text.size();
  uint32_t c = size <= 1 ? first : first & (0x7f >> size);
  for (size_t i = 1; sound && i < size; ++i) {
    sound = (at(i) & 0xc0) == 0x80;
    c = c << 6 | (at(i) & 0x3f);
  }
  text.remove_prefix(sound ? size : 1);
  return sound ? c : 0x110000 + first;
}

// A pattern as a tree.
struct Tree {
  enum class Kind : uint8_t { kEmpty, kChar, kBegin, kEnd, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kEmpty;
  CharSet set = {};
  std::vector<Tree> parts = {};
  int least = 0;
  int most = -1;  // -1: any number
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the pattern is malformed: ", what));
}

// \d, \w, \s; nullopt for other letters.
std::optional<CharSet> NamedSet(char letter) {
  switch (letter) {
    case 'd':
    case 'D':
      return CharSet{{{'0', '9'}}, letter == 'D'};
    case 'w':
    case 'W':
      return CharSet{{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}, letter == 'W'};
    case 's':
    case 'S':
      return CharSet{{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, letter == 'S'};
    default:
      return std::nullopt;
  }
}

class Parser {
 public:
  explicit Parser(absl::string_view pattern) : rest_(pattern) {}

  absl::StatusOr<Tree> Parse() {
    GYRE_ASSIGN_OR_RETURN(Tree tree, Choice(0));
    if (!rest_.empty()) return Malformed("a ')' has no '('");
    return tree;
  }

 private:
  bool Take(absl::string_view token) {
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  absl::StatusOr<Tree> Choice(int depth) {
    if (depth > kMaxDepth) return Malformed("its groups are nested too deeply");
    Tree choice{.kind = Tree::Kind::kChoice};
    do {
      GYRE_ASSIGN_OR_RETURN(choice.parts.emplace_back(), Sequence(depth));
    } while (Take("|"));
    return choice;
  }

  absl::StatusOr<Tree> Sequence(int depth) {
    Tree sequence{.kind = Tree::Kind::kSequence};
    while (!rest_.empty() && rest_[0] != '|' && rest_[0] != ')') {
      GYRE_ASSIGN_OR_RETURN(Tree atom, Atom(depth));
      GYRE_ASSIGN_OR_RETURN(sequence.parts.emplace_back(), Repeated(std::move(atom)));
    }
    return sequence;
  }

  absl::StatusOr<Tree> Repeated(Tree atom) {
    Tree repeat{.kind = Tree::Kind::kRepeat};
    if (Take("+")) {
      repeat.least = 1;
    } else if (Take("?")) {
      repeat.most = 1;
    } else if (!rest_.empty() && rest_[0] == '{') {
      GYRE_RETURN_IF_ERROR(Counts(repeat));
    } else if (!Take("*")) {
      return atom;
    }
    Take("?");  // as few as possible: the same, where the whole text must match
    if (!rest_.empty() && absl::string_view("*+?{").find(rest_[0]) != absl::string_view::npos)
      return Malformed("a repetition is repeated; put it into a group");
    repeat.parts.push_back(std::move(atom));
    return repeat;
  }

  // "{2}", "{2,}", "{2,5}".
  absl::Status Counts(Tree& repeat) {
    Take("{");
    const auto number = [&](int fallback) {
      int n = -1;
      while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9' && n <= kMaxRepeat) {
        n = std::max(n, 0) * 10 + (rest_[0] - '0');
        rest_.remove_prefix(1);
      }
      return n < 0 ? fallback : n;
    };
    repeat.least = number(-1);
    repeat.most = Take(",") ? number(-1) : repeat.least;
    const bool ordered = repeat.most < 0 || repeat.least <= repeat.most;
    if (!Take("}") || repeat.least < 0 || !ordered || repeat.least > kMaxRepeat ||
        repeat.most > kMaxRepeat) {
      return Malformed(absl::StrCat("a repetition is {n}, {n,} or {n,m}, up to ", kMaxRepeat));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Tree> Atom(int depth) {
    if (Take("(")) {
      if (!Take("?:") && !rest_.empty() && rest_[0] == '?')
        return absl::UnimplementedError("patterns with flags or named groups, '(?', are not read");
      GYRE_ASSIGN_OR_RETURN(Tree group, Choice(depth + 1));
      if (!Take(")")) return Malformed("a '(' has no ')'");
      return group;
    }
    if (Take("^") || Take("\\A")) return Tree{.kind = Tree::Kind::kBegin};
    if (Take("$") || Take("\\z")) return Tree{.kind = Tree::Kind::kEnd};
    Tree atom{.kind = Tree::Kind::kChar};
    if (Take(".")) {
      atom.set = {{{'\n', '\n'}}, true};
    } else if (Take("[")) {
      GYRE_ASSIGN_OR_RETURN(atom.set, Class());
    } else if (absl::string_view("*+?").find(rest_[0]) != absl::string_view::npos) {
      return Malformed("there is nothing to repeat");
    } else {
      GYRE_ASSIGN_OR_RETURN(atom.set, CharOrEscape());
    }
    return atom;
  }

  absl::StatusOr<CharSet> CharOrEscape() {
    const uint32_t c = TakeChar(rest_);
    if (c != '\\') return CharSet{{{c, c}}, false};
    if (rest_.empty()) return Malformed("it ends with a '\\'");
    if (auto named = NamedSet(rest_[0])) {
      rest_.remove_prefix(1);
      return *std::move(named);
    }
    constexpr absl::string_view kLetters = "tnrfv", kMeant = "\t\n\r\f\v";
    const uint32_t escaped = TakeChar(rest_);
    const size_t control =
        escaped < 0x80 ? kLetters.find(static_cast<char>(escaped)) : absl::string_view::npos;
    if (control != absl::string_view::npos) {
      const auto meant = static_cast<uint32_t>(kMeant[control]);
      return CharSet{{{meant, meant}}, false};
    }
    const bool is_word = escaped >= 0x80 || NamedSet('w')->Has(escaped);
    if (is_word) {
      return absl::UnimplementedError(
          "the pattern has an escape that is not read: of letters there "
          "are \\A \\z \\d \\w \\s \\t \\n \\r \\f \\v");
    }
    return CharSet{{{escaped, escaped}}, false};
  }

  absl::StatusOr<CharSet> Class() {
    CharSet set;
    set.negated = Take("^");
    for (bool first = true; first || !Take("]"); first = false) {
      if (rest_.empty()) return Malformed("a '[' has no ']'");
      if (rest_.substr(0, 2) == "[:")
        return absl::UnimplementedError("patterns with named classes, '[:', are not read");
      GYRE_ASSIGN_OR_RETURN(CharSet item, CharOrEscape());
      if (item.negated)
        return absl::UnimplementedError("opposites such as \\D within [] are not read");
      const bool is_range =
          item.ranges.size() == 1 && rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']';
      if (is_range) {
        Take("-");
        GYRE_ASSIGN_OR_RETURN(const CharSet end, CharOrEscape());
        if (end.negated || end.ranges.size() != 1 || end.ranges[0].second < item.ranges[0].first)
          return Malformed("a range in [] ends before it begins");
        item.ranges[0].second = end.ranges[0].second;
      }
      set.ranges.insert(set.ranges.end(), item.ranges.begin(), item.ranges.end());
    }
    return set;
  }

  absl::string_view rest_;
};

// Turns a tree into steps, from its end to its beginning: each knows what follows it.
class Compiler {
 public:
  absl::StatusOr<std::vector<Step>> Compile(const Tree& tree) {
    const int match = Add({.kind = Step::Kind::kMatch});
    const int begin = Emit(tree, match);
    if (IsTooLarge()) return Malformed(absl::StrCat("it takes more than ", kMaxSteps, " steps"));
    // The first step is where it begins.
    steps_.insert(steps_.begin(), {.kind = Step::Kind::kSplit, .next = begin, .other = begin});
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].next >= 0) ++steps_[i].next;
      if (steps_[i].other >= 0) ++steps_[i].other;
    }
    return std::move(steps_);
  }

 private:
  int Add(Step step) {
    if (steps_.size() <= kMaxSteps) steps_.push_back(std::move(step));
    return static_cast<int>(steps_.size()) - 1;
  }

  int Emit(const Tree& tree, int next) {
    ++emitted_;
    if (IsTooLarge()) return next;  // Compile says so
    switch (tree.kind) {
      case Tree::Kind::kEmpty:
        return next;
      case Tree::Kind::kChar:
        return Add({.kind = Step::Kind::kChar, .set = tree.set, .next = next});
      case Tree::Kind::kBegin:
        return Add({.kind = Step::Kind::kBegin, .next = next});
      case Tree::Kind::kEnd:
        return Add({.kind = Step::Kind::kEnd, .next = next});
      case Tree::Kind::kSequence:
        for (auto part = tree.parts.rbegin(); part != tree.parts.rend(); ++part)
          next = Emit(*part, next);
        return next;
      case Tree::Kind::kChoice: {
        int begin = Emit(tree.parts.back(), next);
        for (size_t i = tree.parts.size() - 1; i-- > 0;) {
          const int other = begin;
          const int way = Emit(tree.parts[i], next);
          begin = Add({.kind = Step::Kind::kSplit, .next = way, .other = other});
        }
        return begin;
      }
      case Tree::Kind::kRepeat:
        return EmitRepeat(tree, next);
    }
    return next;
  }

  int EmitRepeat(const Tree& tree, int next) {
    const Tree& part = tree.parts[0];
    if (tree.most < 0) {  // any number more: a split that leads back to itself
      const int split = Add({.kind = Step::Kind::kSplit, .other = next});
      const int body = Emit(part, split);
      steps_[static_cast<size_t>(split)].next = body;
      next = split;
    } else {
      for (int i = tree.least; i < tree.most; ++i) {
        const int way = Emit(part, next);
        next = Add({.kind = Step::Kind::kSplit, .next = way, .other = next});
      }
    }
    for (int i = 0; i < tree.least; ++i) next = Emit(part, next);
    return next;
  }

  // What is repeated may be empty: it makes no steps, but takes time.
  bool IsTooLarge() const { return steps_.size() > kMaxSteps || emitted_ > 10 * kMaxSteps; }

  std::vector<Step> steps_;
  size_t emitted_ = 0;
};

// The steps that may come next, each once.
class StepSet {
 public:
  explicit StepSet(size_t size) : seen_(size, 0) {}
  void Clear() {
    ++generation_;
    steps_.clear();
  }
  bool Add(int step) {
    if (seen_[static_cast<size_t>(step)] == generation_) return false;
    seen_[static_cast<size_t>(step)] = generation_;
    steps_.push_back(step);
    return true;
  }
  const std::vector<int>& steps() const { return steps_; }

 private:
  std::vector<uint64_t> seen_;
  uint64_t generation_ = 1;
  std::vector<int> steps_;
};

// Adds `step` and what it leads to without taking a character.
void AddWithFollowers(const std::vector<Step>& all, int step, bool at_begin, bool at_end,
                      StepSet& set) {
  std::vector<int> pending = {step};
  while (!pending.empty()) {
    const int i = pending.back();
    pending.pop_back();
    if (!set.Add(i)) continue;
    const Step& s = all[static_cast<size_t>(i)];
    if (s.kind == Step::Kind::kSplit) pending.insert(pending.end(), {s.next, s.other});
    if ((s.kind == Step::Kind::kBegin && at_begin) || (s.kind == Step::Kind::kEnd && at_end))
      pending.push_back(s.next);
  }
}

}  // namespace

bool Regex::CharSet::Has(uint32_t c) const {
  const bool listed = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    return range.first <= c && c <= range.second;
  });
  return listed != negated;
}

absl::StatusOr<Regex> Regex::Parse(absl::string_view pattern) {
  GYRE_ASSIGN_OR_RETURN(const Tree tree, Parser(pattern).Parse());
  GYRE_ASSIGN_OR_RETURN(std::vector<Step> steps, Compiler().Compile(tree));
  return Regex(std::move(steps));
}

absl::StatusOr<bool> Regex::FullMatch(absl::string_view text,
                                      const std::function<absl::Status()>& poll) const {
  StepSet now(steps_.size()), next(steps_.size());
  AddWithFollowers(steps_, 0, true, text.empty(), now);
  for (size_t count = 0; !text.empty() && !now.steps().empty(); ++count) {
    if (count % kPollEvery == 0) GYRE_RETURN_IF_ERROR(poll());
    const uint32_t c = TakeChar(text);
    next.Clear();
    for (const int i : now.steps()) {
      const Step& step = steps_[static_cast<size_t>(i)];
      if (step.kind == Step::Kind::kChar && step.set.Has(c))
        AddWithFollowers(steps_, step.next, false, text.empty(), next);
    }
    std::swap(now, next);
  }
  return std::any_of(now.steps().begin(), now.steps().end(), [&](int i) {
    return steps_[static_cast<size_t>(i)].kind == Step::Kind::kMatch;
  });
}

}  // namespace gyre
