// What PTX's instructions compute.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "fake_cuda/half.h"
#include "fake_cuda/ptx.h"

namespace fake_cuda {
namespace {

using Function = PtxInstruction::Function;

template <typename T>
T As(Word w) {
  if constexpr (std::is_same_v<T, bool>) {
    return (w & 1) != 0;
  } else {
    T value;
    std::memcpy(&value, &w, sizeof(T));
    return value;
  }
}
template <typename T>
Word Bits(T value) {
  Word w = 0;
  std::memcpy(&w, &value, sizeof(T));
  return w;
}
template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;
template <typename T>
struct WideOf {
  using Type = T;
};
template <>
struct WideOf<int16_t> {
  using Type = int32_t;
};
template <>
struct WideOf<uint16_t> {
  using Type = uint32_t;
};
template <>
struct WideOf<int32_t> {
  using Type = int64_t;
};
template <>
struct WideOf<uint32_t> {
  using Type = uint64_t;
};
template <typename T>
using UnsignedOf =
    typename std::conditional_t<kIsFloat<T>, std::type_identity<T>, std::make_unsigned<T>>::type;

// Integers wrap around.
template <typename T>
T Add(T a, T b) {
  return static_cast<T>(static_cast<UnsignedOf<T>>(a) + static_cast<UnsignedOf<T>>(b));
}
template <typename T>
T Sub(T a, T b) {
  return static_cast<T>(static_cast<UnsignedOf<T>>(a) - static_cast<UnsignedOf<T>>(b));
}
template <typename T>
T Mul(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
}
template <typename T>
T MulHigh(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return 0;
  } else {
    return static_cast<T>((static_cast<__int128>(a) * static_cast<__int128>(b)) >> (8 * sizeof(T)));
  }
}
template <typename T>
T Div(T a, T b) {
  if constexpr (!kIsFloat<T>) {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub<T>(0, a);
  }
  return a / b;
}
template <typename T>
T Rem(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0) return a;
    return std::is_signed_v<T> && b == static_cast<T>(-1) ? 0 : static_cast<T>(a % b);
  }
}
template <typename T>
T Min(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return b;
    if (a == b && std::signbit(a)) return a;
  }
  return b < a ? b : a;
}
template <typename T>
T Max(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return b;
    if (a == b && std::signbit(b)) return a;
    return std::isnan(b) || b < a ? a : b;
  }
  return a < b ? b : a;
}

template <typename T, T (*F)(T, T)>
Word Two(Word a, Word b, Word) {
  return Bits(F(As<T>(a), As<T>(b)));
}

enum class Compare : uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};

// As what a number is compared.
template <typename T>
auto Comparable(Word w) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToFloat(As<Half>(w));
  } else {
    return As<T>(w);
  }
}

template <typename T, Compare kHow>
Word SetP(Word x, Word y, Word) {
  const auto a = Comparable<T>(x), b = Comparable<T>(y);
  const bool unordered = a != a || b != b;
  switch (kHow) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return !unordered && a != b;
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    case Compare::kGe:
      return a >= b;
    case Compare::kEqu:
      return unordered || a == b;
    case Compare::kNeu:
      return a != b;
    case Compare::kLtu:
      return unordered || a < b;
    case Compare::kLeu:
      return unordered || a <= b;
    case Compare::kGtu:
      return unordered || a > b;
    case Compare::kGeu:
      return unordered || a >= b;
    case Compare::kNum:
      return !unordered;
    case Compare::kNan:
      return unordered;
  }
  return 0;
}

template <typename T>
Function FindSetP(const std::string& how) {
  static const std::map<std::string, Function> functions = {
      {"eq", &SetP<T, Compare::kEq>},   {"ne", &SetP<T, Compare::kNe>},
      {"lt", &SetP<T, Compare::kLt>},   {"le", &SetP<T, Compare::kLe>},
      {"gt", &SetP<T, Compare::kGt>},   {"ge", &SetP<T, Compare::kGe>},
      {"lo", &SetP<T, Compare::kLt>},   {"ls", &SetP<T, Compare::kLe>},
      {"hi", &SetP<T, Compare::kGt>},   {"hs", &SetP<T, Compare::kGe>},
      {"equ", &SetP<T, Compare::kEqu>}, {"neu", &SetP<T, Compare::kNeu>},
      {"ltu", &SetP<T, Compare::kLtu>}, {"leu", &SetP<T, Compare::kLeu>},
      {"gtu", &SetP<T, Compare::kGtu>}, {"geu", &SetP<T, Compare::kGeu>},
      {"num", &SetP<T, Compare::kNum>}, {"nan", &SetP<T, Compare::kNan>}};
  const auto it = functions.find(how);
  return it == functions.end() ? nullptr : it->second;
}

// Conversions.

enum class Rounding : uint8_t { kNone, kNearest, kZero, kDown, kUp };

template <Rounding kRounding, typename T>
T RoundToInteger(T x) {
  switch (kRounding) {
    case Rounding::kNone:
      return x;
    case Rounding::kNearest:
      return std::nearbyint(x);
    case Rounding::kZero:
      return std::trunc(x);
    case Rounding::kDown:
      return std::floor(x);
    case Rounding::kUp:
      return std::ceil(x);
  }
  return x;
}

// Out of range is the nearest number that there is; NaN is 0.
template <typename To, typename From>
To Clamped(From x) {
  if (x != x) return 0;
  using Limits = std::numeric_limits<To>;
  if (x >= std::ldexp(From{1}, Limits::digits)) return Limits::max();
  if (x <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(x);
}

template <typename To, typename From, Rounding kRounding>
Word Convert(Word w, Word, Word) {
  if constexpr (std::is_same_v<From, Half>) {
    const float x = ToFloat(As<Half>(w));
    if constexpr (std::is_same_v<To, Half>) {
      return Bits(ToHalf(RoundToInteger<kRounding>(x)));
    } else {
      return Convert<To, float, kRounding>(Bits(x), 0, 0);
    }
  } else {
    const From x = As<From>(w);
    if constexpr (std::is_same_v<To, Half>) {
      if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
        // Twice rounded otherwise: what has more than 53 bits has no half of its own.
        return Bits(ToHalf(static_cast<double>(static_cast<long double>(x))));
      }
      return Bits(ToHalf(static_cast<double>(x)));
    } else if constexpr (kIsFloat<From> && kIsFloat<To>) {
      if constexpr (sizeof(To) == sizeof(From)) return Bits(RoundToInteger<kRounding>(x));
      return Bits(static_cast<To>(x));
    } else if constexpr (kIsFloat<From>) {
      return Bits(Clamped<To>(RoundToInteger<kRounding>(x)));
    } else if constexpr (kIsFloat<To>) {
      return Bits(static_cast<To>(x));
    } else {
      // Sign or zero bits up to the end of a register.
      return static_cast<Word>(static_cast<int64_t>(static_cast<To>(x)));
    }
  }
}

template <typename T>
struct Tag {
  using Type = T;
};

// Calls f(Tag<T>()) for the type of this name; null: it is none.
template <typename F>
Function ForType(const std::string& name, const F& f) {
  if (name == "f32") return f(Tag<float>());
  if (name == "f64") return f(Tag<double>());
  if (name == "s8") return f(Tag<int8_t>());
  if (name == "s16") return f(Tag<int16_t>());
  if (name == "s32") return f(Tag<int32_t>());
  if (name == "s64") return f(Tag<int64_t>());
  if (name == "u8" || name == "b8") return f(Tag<uint8_t>());
  if (name == "u16" || name == "b16") return f(Tag<uint16_t>());
  if (name == "u32" || name == "b32") return f(Tag<uint32_t>());
  if (name == "u64" || name == "b64") return f(Tag<uint64_t>());
  return nullptr;
}
template <typename F>
Function ForTypeOrHalf(const std::string& name, const F& f) {
  return name == "f16" ? f(Tag<Half>()) : ForType(name, f);
}

Function FindConversion(const std::vector<std::string>& name) {
  const std::string& to = name[name.size() - 2];
  const std::string& from = name.back();
  Rounding rounding = Rounding::kNone;  // to an integer
  for (const std::string& part : name) {
    if (part == "rni") rounding = Rounding::kNearest;
    if (part == "rzi") rounding = Rounding::kZero;
    if (part == "rmi") rounding = Rounding::kDown;
    if (part == "rpi") rounding = Rounding::kUp;
  }
  return ForTypeOrHalf(to, [&](auto t) -> Function {
    using To = typename decltype(t)::Type;
    return ForTypeOrHalf(from, [&](auto f) -> Function {
      using From = typename decltype(f)::Type;
      switch (rounding) {
        case Rounding::kNone:
          return &Convert<To, From, Rounding::kNone>;
        case Rounding::kNearest:
          return &Convert<To, From, Rounding::kNearest>;
        case Rounding::kZero:
          return &Convert<To, From, Rounding::kZero>;
        case Rounding::kDown:
          return &Convert<To, From, Rounding::kDown>;
        case Rounding::kUp:
          return &Convert<To, From, Rounding::kUp>;
      }
      return nullptr;
    });
  });
}

template <typename T>
Function FindArithmetic(const std::string& op, const std::vector<std::string>& name) {
  const auto has = [&](const char* part) {
    return std::find(name.begin(), name.end(), part) != name.end();
  };
  if (op == "add") return &Two<T, &Add<T>>;
  if (op == "sub") return &Two<T, &Sub<T>>;
  if (op == "div") return &Two<T, &Div<T>>;
  if (op == "rem") return &Two<T, &Rem<T>>;
  if (op == "min") return &Two<T, &Min<T>>;
  if (op == "max") return &Two<T, &Max<T>>;
  if (op == "setp") return FindSetP<T>(name[1]);
  if (op == "mul" && has("hi")) return &Two<T, &MulHigh<T>>;
  if (op == "mul" && has("wide")) {
    return [](Word a, Word b, Word) {
      using Wide = typename WideOf<T>::Type;
      return Bits(Mul<Wide>(static_cast<Wide>(As<T>(a)), static_cast<Wide>(As<T>(b))));
    };
  }
  if (op == "mul") return &Two<T, &Mul<T>>;
  if (op == "mad" && has("wide")) {
    return [](Word a, Word b, Word c) {
      using Wide = typename WideOf<T>::Type;
      return Bits(Add<Wide>(Mul<Wide>(static_cast<Wide>(As<T>(a)), static_cast<Wide>(As<T>(b))),
                            As<Wide>(c)));
    };
  }
  if (op == "mad")
    return
        [](Word a, Word b, Word c) { return Bits(Add<T>(Mul<T>(As<T>(a), As<T>(b)), As<T>(c))); };
  if (op == "neg") {
    return [](Word a, Word, Word) {
      if constexpr (kIsFloat<T>) return Bits(-As<T>(a));
      return Bits(Sub<T>(0, As<T>(a)));
    };
  }
  if (op == "abs") {
    return [](Word a, Word, Word) {
      const T x = As<T>(a);
      if constexpr (kIsFloat<T>) return Bits(std::fabs(x));
      return Bits(x < 0 ? Sub<T>(0, x) : x);
    };
  }
  if constexpr (kIsFloat<T>) {
    if (op == "fma")
      return [](Word a, Word b, Word c) { return Bits(std::fma(As<T>(a), As<T>(b), As<T>(c))); };
    if (op == "sqrt") return [](Word a, Word, Word) { return Bits(std::sqrt(As<T>(a))); };
    if (op == "rcp") return [](Word a, Word, Word) { return Bits(T{1} / As<T>(a)); };
    if (op == "copysign")
      return [](Word a, Word b, Word) { return Bits(std::copysign(As<T>(b), As<T>(a))); };
  } else {
    constexpr unsigned kBits = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    if (op == "shl")
      return [](Word a, Word b, Word) {
        return (b & 0xFFFFFFFF) >= kBits ? 0 : Bits(static_cast<U>(As<U>(a) << (b & 63)));
      };
    if (op == "shr") {
      return [](Word a, Word b, Word) {
        const Word by = std::min<Word>(b & 0xFFFFFFFF, kBits);
        const T x = As<T>(a);
        if (by == kBits) return std::is_signed_v<T> && x < 0 ? Bits(static_cast<T>(-1)) : Word{0};
        return Bits(static_cast<T>(x >> by));
      };
    }
    if (op == "popc")
      return [](Word a, Word, Word) { return static_cast<Word>(std::popcount(As<U>(a))); };
    if (op == "clz")
      return [](Word a, Word, Word) { return static_cast<Word>(std::countl_zero(As<U>(a))); };
    if (op == "brev") {
      return [](Word a, Word, Word) {
        Word turned = 0;
        for (unsigned i = 0; i < kBits; ++i) turned |= (a >> i & 1) << (kBits - 1 - i);
        return turned;
      };
    }
    if (op == "bfe") {
      return [](Word a, Word b, Word c) {
        const Word from = b & 255, length = c & 255;
        const Word field = from >= 64 ? 0 : As<U>(a) >> from;
        if (length == 0) return Word{0};
        const Word mask = length >= 64 ? ~Word{0} : (Word{1} << length) - 1;
        const bool is_negative = std::is_signed_v<T> && (field >> (length - 1) & 1) != 0;
        return Bits(static_cast<U>(is_negative ? field | ~mask : field & mask));
      };
    }
  }
  return nullptr;
}

// A shift of two registers together.
template <bool kLeft>
Word Funnel(Word a, Word b, Word c) {
  const Word both = (b & 0xFFFFFFFF) << 32 | (a & 0xFFFFFFFF);
  const Word by = c & 31;
  return kLeft ? both << by >> 32 : both >> by & 0xFFFFFFFF;
}

Word Permute(Word a, Word b, Word selector) {
  const Word both = (b & 0xFFFFFFFF) << 32 | (a & 0xFFFFFFFF);
  Word result = 0;
  for (int i = 0; i < 4; ++i) {
    const Word nibble = selector >> (4 * i) & 15;
    Word byte = both >> (8 * (nibble & 7)) & 255;
    if ((nibble & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

}  // namespace

Function FindPtxFunction(const std::vector<std::string>& name) {
  const std::string& op = name[0];
  const std::string& type = name.back();
  if (op == "mov" || op == "cvta") return [](Word a, Word, Word) { return a; };
  if (op == "setp" && type == "f16") return FindSetP<Half>(name[1]);
  if (op == "cvt") return name.size() < 3 ? nullptr : FindConversion(name);
  if (op == "selp") return [](Word a, Word b, Word c) { return (c & 1) != 0 ? a : b; };
  if (op == "and") return [](Word a, Word b, Word) { return a & b; };
  if (op == "or") return [](Word a, Word b, Word) { return a | b; };
  if (op == "xor") return [](Word a, Word b, Word) { return a ^ b; };
  if (op == "not")
    return type == "pred" ? [](Word a, Word, Word) -> Word { return (a & 1) ^ 1; }
                          : [](Word a, Word, Word) -> Word { return ~a; };
  if (op == "shf") return name[1] == "l" ? &Funnel<true> : &Funnel<false>;
  if (op == "prmt") return &Permute;
  if (op == "testp") {
    if (type != "f32" && type != "f64") return nullptr;
    const bool is_float = type == "f32";
    if (name[1] == "infinite") {
      return is_float ? [](Word a, Word, Word) -> Word { return std::isinf(As<float>(a)); }
                      : [](Word a, Word, Word) -> Word { return std::isinf(As<double>(a)); };
    }
    return nullptr;
  }
  return ForType(type,
                 [&](auto tag) { return FindArithmetic<typename decltype(tag)::Type>(op, name); });
}

}  // namespace fake_cuda
