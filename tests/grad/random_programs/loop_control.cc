#include "grad/random_programs/loop_control.h"

namespace gyre::testing {
namespace {

constexpr int kMaxCount = 5;

using Ids = std::vector<Id>;

Ids Joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Id LoopControls::DataCount() { return values_.CountFromData(kMaxCount); }

LoopControl LoopControls::DataDependent() {
  switch (dice_.Below(7)) {
    case 0:
    case 1:
      return Norm();
    case 2:
      return Growth();
    case 3:
      return Rows(DataCount());
    case 4:
      return Flag(DataCount());
    case 5:
      return Both(Count(DataCount()), Norm());
    default:
      return Count(DataCount());
  }
}

LoopControl LoopControls::Other() {
  switch (dice_.Below(4)) {
    case 0:
      return Drain();
    case 1:
      return Rows(tree_.Int(dice_.Below(kMaxCount)));
    default:
      return Count(tree_.Int(dice_.Below(kMaxCount)));
  }
}

// while (i < limit) ++i, or while (i > 0) --i; by steps of 1 or 2.
LoopControl LoopControls::Count(Id limit) {
  const Id step = tree_.Int(dice_.OneOf({1, 1, 2}));
  const bool down = dice_.Chance(0.3);
  const Id zero = tree_.Int(0);
  return {{down ? limit : zero},
          [=, this](const Ids& vars) { return down ? Less(zero, vars[0]) : Less(vars[0], limit); },
          [=, this](const Ids& vars) {
            return Ids{tree_.Op(down ? "Sub" : "AddV2", {vars[0], step}, Type::kInt)};
          }};
}

// while (|x|² > threshold) x = x * factor, a factor of less than 0.7.
LoopControl LoopControls::Norm() {
  const Type type = dice_.OneOf({Type::kScalar, Type::kScalar, Type::kVector, Type::kMatrix});
  const Id small = values_.Tame(values_.Some(type));
  const Id init = tree_.Op("Mul", {small, tree_.Real(dice_.Real(1, 3))}, type);
  const Id threshold = values_.Between(0.1, 0.5, values_.Some(Type::kScalar));
  return {{init},
          [=, this](const Ids& vars) { return Less(threshold, values_.SquaredNorm(vars[0])); },
          [=, this](const Ids& vars) {
            const Id factor = values_.Between(0.2, 0.7, values_.Some(Type::kScalar));
            return Ids{tree_.Op("Mul", {vars[0], factor}, type)};
          }};
}

// while (x < threshold) x = x + step, a step of more than 0.3.
LoopControl LoopControls::Growth() {
  const Id init = values_.Tame(values_.Some(Type::kScalar));
  const Id threshold = values_.Between(0.2, 2, values_.Some(Type::kScalar));
  return {{init},
          [=, this](const Ids& vars) { return Less(vars[0], threshold); },
          [=, this](const Ids& vars) {
            const Id step = values_.Between(0.3, 1, values_.Some(Type::kScalar));
            return Ids{tree_.Op("AddV2", {vars[0], step}, Type::kScalar)};
          }};
}

// while (there is more than so much in a list) pop.
LoopControl LoopControls::Drain() {
  const Id list = values_.Some(dice_.OneOf({Type::kScalars, Type::kVectors, Type::kLists}));
  const Id rest = values_.SomeIndex(2);
  return {{list},
          [=, this](const Ids& vars) { return Less(rest, values_.Length(vars[0])); },
          [this](const Ids& vars) { return Ids{values_.Popped(vars[0])}; }};
}

// while (there are fewer rows than limit) append one.
LoopControl LoopControls::Rows(Id limit) {
  return {{values_.Some(Type::kRows)},
          [=, this](const Ids& vars) { return Less(values_.NumRows(vars[0]), limit); },
          [this](const Ids& vars) {
            const Id vector = values_.Tame(values_.Some(Type::kVector));
            return Ids{values_.WithRow(vars[0], vector)};
          }};
}

// A flag that the body sets, for a bounded number of iterations.
LoopControl LoopControls::Flag(Id limit) {
  const LoopControl count = Count(limit);
  return {
      Joined(count.inits, {values_.Some(Type::kBool)}),
      [=, this](const Ids& vars) { return And(count.goes_on(vars), vars[1]); },
      [=, this](const Ids& vars) { return Joined(count.next(vars), {values_.New(Type::kBool)}); }};
}

// As long as both want.
LoopControl LoopControls::Both(const LoopControl& a, const LoopControl& b) {
  const auto of_b = [n = static_cast<ptrdiff_t>(a.inits.size())](const Ids& vars) {
    return Ids(vars.begin() + n, vars.end());
  };
  return {Joined(a.inits, b.inits),
          [=, this](const Ids& vars) { return And(a.goes_on(vars), b.goes_on(of_b(vars))); },
          [=](const Ids& vars) { return Joined(a.next(vars), b.next(of_b(vars))); }};
}

}  // namespace gyre::testing
