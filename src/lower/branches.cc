// If and Case.
//
//    x ──────> Switch ─── 1 ──> then ──╮              index out of range means the last side,
//                │ ╰───── 0 ──> else ──┴─> Merge      as _SwitchN has it:
//    p ──────────┴─> Switch(p, p)
//                      1 ╎  ╎ 0                       x ──> _SwitchN ─ i ─> branch i ─> Merge
//                  pivots of the sides                index ───┘
//
// A value that is there anyway, such as a constant, goes into both sides without a Switch. With
// effects, each side ends in a token that comes after them; the Merge of the tokens is what comes
// after the If.
#include <utility>

#include "absl/strings/str_cat.h"
#include "lower/expander.h"

namespace gyre::lower {

class BranchLowering {
 public:
  BranchLowering(Expander& expander, ExpandedBody& body, Structured& structured)
      : x_(expander),
        body_(body),
        structured_(structured),
        is_if_(SelectorOf(*structured.node) == Selector::kPredicate) {}

  void Lower(NodeState& state) {
    Select();
    MakePivots();
    SwitchInputs();
    for (int side = 0; side < num_sides(); ++side) ExpandSide(side);
    MergeResults(state);
    MergeTokens(state);
  }

 private:
  int num_sides() const { return static_cast<int>(structured_.callees.size()); }
  // The sides of an If stand in the order of its Switch: else, then.
  int CalleeOf(int side) const { return is_if_ ? 1 - side : side; }
  std::string SideName(int side) const {
    return is_if_ ? (side == 0 ? "else" : "then") : absl::StrCat("branch_", side);
  }
  std::string Name(absl::string_view what) const {
    return absl::StrCat(structured_.path, "/", what);
  }

  void Select() {
    Value selector =
        x_.Gated(structured_.inputs[0], structured_.place, structured_.where, Name("selector"));
    if (is_if_) {
      selector = x_.Condition(selector, body_.function, structured_.node->inputs[0],
                              structured_.place, structured_.where, Name("condition"));
    }
    selector_ = selector.e;
    ordered_ = structured_.finishes || selector.ordered;
    if (structured_.finishes && selector_.node != structured_.entry) {
      selector_ = x_.emitter().Plumb1(structured_.where, "Identity", Name("after_entry"),
                                      {selector_}, {structured_.entry});
    }
  }

  Endpoint SwitchOf(Endpoint e, const std::string& name) {
    AttrMap attrs;
    if (!is_if_) attrs.Set("num_outs", static_cast<int64_t>(num_sides()));
    return x_.emitter().Plumb1(structured_.where, is_if_ ? "Switch" : "_SwitchN", name,
                               {e, selector_}, {}, std::move(attrs));
  }

  void MakePivots() {
    const Endpoint sides = SwitchOf(selector_, Name("sides"));
    places_.resize(num_sides());
    for (int side = 0; side < num_sides(); ++side) {
      places_[side].loop = structured_.place.loop;
      places_[side].constants = structured_.place.constants;
      places_[side].pivot = x_.emitter().Plumb(structured_.where, "Identity", Name(SideName(side)),
                                               {{sides.node, side}});
    }
  }

  // What no side uses needs no Switch.
  void SwitchInputs() {
    const size_t n = structured_.inputs.size() - 1;
    std::vector<bool> used(n, false);
    for (int side = 0; side < num_sides(); ++side) {
      uses_.push_back(x_.Prepare(structured_, body_, CalleeOf(side)));
      const CalleeUse& use = uses_.back();
      for (size_t i = 0; i < n; ++i) {
        if (!use.is_inlined || x_.facts().Of(*use.function).uses_arg[i]) used[i] = true;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const Value& input = structured_.inputs[i + 1];
      inputs_.push_back(input);
      if (!used[i] || !input.gated) continue;
      const Endpoint e = x_.Use(input, structured_.place);
      inputs_.back().e = SwitchOf(e, Name(absl::StrCat("switch_", i)));
      inputs_.back().loop = structured_.place.loop;
    }
  }

  void ExpandSide(int side) {
    std::vector<Value> args;
    for (const Value& input : inputs_) {
      Value arg = input;
      if (input.gated) {
        arg.e.slot = side;
        arg.ordered = ordered_ || input.ordered;
      } else {
        arg.ordered = input.ordered && !structured_.finishes;
      }
      args.push_back(arg);
    }
    const NodeId entry = structured_.finishes ? places_[side].pivot : -1;
    sides_.push_back(x_.Expand(uses_[side], std::move(args), OutputTypes(*structured_.node),
                               places_[side], entry));
  }

  void MergeResults(NodeState& state) {
    for (int i = 0; i < structured_.node->num_outputs(); ++i) {
      std::vector<Endpoint> results;
      bool ordered = true;
      for (int side = 0; side < num_sides(); ++side) {
        const Value result = x_.Gated(sides_[side].results[i], places_[side], structured_.where,
                                      Name(absl::StrCat(SideName(side), "_", i)));
        results.push_back(result.e);
        ordered &= result.ordered;
      }
      const Endpoint merge =
          x_.emitter().Plumb1(structured_.where, "Merge", Name(absl::StrCat("merge_", i)), results);
      state.outputs.push_back({merge, structured_.place.loop, true, ordered});
    }
  }

  void MergeTokens(NodeState& state) {
    if (!structured_.finishes) return;
    std::vector<Endpoint> tokens;
    for (int side = 0; side < num_sides(); ++side) {
      const Endpoint pivot{places_[side].pivot, 0};
      tokens.push_back(sides_[side].completion.empty()
                           ? pivot
                           : x_.emitter().Plumb1(structured_.where, "Identity",
                                                 Name(absl::StrCat(SideName(side), "_finished")),
                                                 {pivot}, sides_[side].completion));
    }
    state.completion = x_.emitter().Plumb(structured_.where, "Merge", Name("finished"), tokens);
  }

  Expander& x_;
  ExpandedBody& body_;
  Structured& structured_;
  const bool is_if_;
  Endpoint selector_;
  bool ordered_ = false;  // the sides come after the entry of the body
  std::vector<Place> places_;
  std::vector<CalleeUse> uses_;
  std::vector<Value> inputs_;  // of the sides; of what is switched, the Switch
  std::vector<Expansion> sides_;
};

void LowerBranches(Expander& expander, ExpandedBody& body, Structured& structured,
                   NodeState& state) {
  BranchLowering(expander, body, structured).Lower(state);
}

}  // namespace gyre::lower
