// CTCGreedyDecoder and CTCBeamSearchDecoder: the labels that logits of each step make likely.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/first_error.h"
#include "ops/registry.h"
#include "ops/sequence/ctc_input.h"

namespace gyre {
namespace {

using ctc::kLogZero;
using ctc::LogAdd;
using ctc::Sequences;

constexpr int64_t kPollWork = 1 << 14;

struct GreedyAttrs {
  explicit GreedyAttrs(const Node& node)
      : merge(NodeAttr<bool>(node, "merge_repeated")),
        blank(NodeAttr<int64_t>(node, "blank_index")) {}
  bool merge;
  int64_t blank;
};

template <typename T>
struct GreedyDecoder {
  static absl::Status Run(KernelContext& ctx, const GreedyAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const Sequences in, ctc::SequenceInputs(ctx, 1));
    const int64_t blank = attrs.blank < 0 ? in.classes + attrs.blank : attrs.blank;
    if (blank < 0 || blank >= in.classes) {
      return absl::InvalidArgumentError(absl::StrCat("blank_index ", attrs.blank, " is not in [",
                                                     -in.classes, ", ", in.classes, ")"));
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({in.batch, 1}));
    GYRE_ASSIGN_OR_RETURN(Tensor scores, ctx.AllocateZeros(DTypeOf<T>, shape));
    T* const score = scores.mutable_values<T>().data();
    const T* logits = ctx.input(0).values<T>().data();
    std::vector<std::vector<int32_t>> decoded(in.batch);
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(in.batch, 1, [&](int64_t begin, int64_t end) {
      int64_t work = 0;
      for (int64_t b = begin; b < end; ++b) {
        int64_t before = -1;
        for (int64_t t = 0; t < in.lengths[b]; ++t) {
          if ((work += in.classes) >= kPollWork) {
            work = 0;
            if (!ctx.Poll().ok()) return;
          }
          const T* at = logits + in.At(t, b);
          const int64_t best = std::max_element(at, at + in.classes) - at;
          score[b] -= at[best];
          if (best != blank && !(attrs.merge && best == before))
            decoded[b].push_back(static_cast<int32_t>(best));
          before = best;
        }
      }
    }));
    GYRE_RETURN_IF_ERROR(ctx.Poll());  // pieces may have ended half-way
    GYRE_RETURN_IF_ERROR(ctc::SetSparse(ctx, decoded, 0, 1));
    ctx.set_output(3, std::move(scores));
    return absl::OkStatus();
  }
};

// Beams: the likeliest prefixes of labels. Those that end in a blank and those that do not are kept
// apart, since a label that is repeated counts only behind a blank.
template <typename T>
struct Probability {
  T total = kLogZero<T>, blank = kLogZero<T>, label = kLogZero<T>;
};

template <typename T>
struct Beam {
  int32_t parent, label;
  Probability<T> before, now;
};

template <typename T>
class BeamSearch {
 public:
  BeamSearch(const KernelContext& ctx, int64_t classes, int64_t width)
      : ctx_(ctx), classes_(classes), width_(width) {
    Beam<T> root{-1, -1, {}, {}};
    root.now.total = root.now.blank = 0;
    beams_.push_back(root);
    leaves_.push_back(0);
  }

  // The logits of one step.
  absl::Status Step(const T* logits) {
    const T sum = ctc::LogSum(logits, classes_);
    const auto log_p = [&](int64_t c) { return logits[c] - sum; };
    std::vector<int32_t> branches = Sorted();
    for (const int32_t b : branches) beams_[b].before = beams_[b].now;
    leaves_.clear();
    for (const int32_t b : branches) {
      Beam<T>& beam = beams_[b];
      if (beam.parent >= 0) {
        const Beam<T>& parent = beams_[beam.parent];
        if (IsActive(parent)) {
          beam.now.label = LogAdd(beam.now.label, beam.label == parent.label ? parent.before.blank
                                                                             : parent.before.total);
        }
        beam.now.label += log_p(beam.label);
      }
      beam.now.blank = beam.before.total + log_p(classes_ - 1);
      beam.now.total = LogAdd(beam.now.blank, beam.now.label);
      Push(b);
    }
    for (const int32_t b : branches) {
      if (!IsCandidate(beams_[b].before.total)) continue;
      GYRE_RETURN_IF_ERROR(Work(classes_));
      for (int64_t c = 0; c < classes_ - 1; ++c) GYRE_RETURN_IF_ERROR(Grow(b, c, log_p(c)));
    }
    return absl::OkStatus();
  }

  // The best paths, likeliest first, and the logarithms of their probabilities.
  absl::Status Best(int64_t n, bool merge, std::vector<std::vector<int32_t>>& paths, T* scores) {
    if (n > static_cast<int64_t>(leaves_.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("top_paths is ", n, ", but there are only ", leaves_.size(), " beams"));
    }
    const std::vector<int32_t> sorted = Sorted();
    for (int64_t i = 0; i < n; ++i) {
      int32_t after = -1;
      for (int32_t b = sorted[i]; beams_[b].parent >= 0; b = beams_[b].parent) {
        if (!merge || beams_[b].label != after) paths[i].push_back(beams_[b].label);
        after = beams_[b].label;
      }
      std::reverse(paths[i].begin(), paths[i].end());
      scores[i] = beams_[sorted[i]].now.total;
    }
    return absl::OkStatus();
  }

 private:
  bool IsActive(const Beam<T>& beam) const { return beam.now.total != kLogZero<T>; }
  // Whether `a` is the better one.
  bool Before(int32_t a, int32_t b) const {
    const T x = beams_[a].now.total, y = beams_[b].now.total;
    return x == y ? a < b : x > y;
  }
  auto Order() const {
    return [this](int32_t a, int32_t b) { return Before(a, b); };
  }
  std::vector<int32_t> Sorted() const {
    std::vector<int32_t> sorted = leaves_;
    std::sort(sorted.begin(), sorted.end(), Order());
    return sorted;
  }
  bool IsFull() const { return static_cast<int64_t>(leaves_.size()) >= width_; }
  bool IsCandidate(T total) const {
    return total > kLogZero<T> && (!IsFull() || total > beams_[leaves_.front()].now.total);
  }
  // Onto a heap with the worst on top.
  void Push(int32_t b) {
    leaves_.push_back(b);
    std::push_heap(leaves_.begin(), leaves_.end(), Order());
  }

  absl::Status Grow(int32_t b, int64_t c, T log_p) {
    const uint64_t key = static_cast<uint64_t>(b) << 32 | static_cast<uint64_t>(c);
    const auto found = children_.find(key);
    if (found != children_.end() && IsActive(beams_[found->second])) return absl::OkStatus();
    const Probability<T>& before = beams_[b].before;
    const T total = log_p + (c == beams_[b].label ? before.blank : before.total);
    if (!IsCandidate(total)) {
      // One that was dropped in this step is not followed any more.
      if (found != children_.end()) beams_[found->second].before = beams_[found->second].now = {};
      return absl::OkStatus();
    }
    int32_t child;
    if (found != children_.end()) {
      child = found->second;
    } else {
      GYRE_RETURN_IF_ERROR(Charge());
      child = static_cast<int32_t>(beams_.size());
      children_.emplace(key, child);
      beams_.push_back({b, static_cast<int32_t>(c), {}, {}});
    }
    Probability<T>& now = beams_[child].now;
    now.blank = kLogZero<T>;
    now.label = now.total = total;
    if (IsFull()) {
      std::pop_heap(leaves_.begin(), leaves_.end(), Order());
      beams_[leaves_.back()].now = {};
      leaves_.pop_back();
    }
    Push(child);
    return absl::OkStatus();
  }

  absl::Status Work(int64_t amount) {
    work_ += amount;
    if (work_ < kPollWork) return absl::OkStatus();
    work_ = 0;
    return ctx_.Poll();
  }

  // What beams take is charged to the run, some at a time.
  absl::Status Charge() {
    constexpr int64_t kBeams = 1024;
    if (static_cast<int64_t>(beams_.size()) >= std::numeric_limits<int32_t>::max())
      return absl::ResourceExhaustedError("there are more than 2^31 - 1 beams");
    if (beams_.size() % kBeams != 0) return absl::OkStatus();
    constexpr int64_t kBytes = kBeams * (sizeof(Beam<T>) + 32);
    GYRE_ASSIGN_OR_RETURN(Tensor charge, ctx_.Allocate(DType::kUint8, Shape::Vector(kBytes)));
    charges_.push_back(std::move(charge));
    return absl::OkStatus();
  }

  const KernelContext& ctx_;
  const int64_t classes_, width_;
  std::vector<Beam<T>> beams_;
  HashMap<uint64_t, int32_t> children_;  // by parent and label
  std::vector<int32_t> leaves_;
  std::vector<Tensor> charges_;
  int64_t work_ = 0;
};

struct BeamAttrs {
  static absl::StatusOr<BeamAttrs> Make(const Node& node) {
    const BeamAttrs attrs{NodeAttr<int64_t>(node, "beam_width"),
                          NodeAttr<int64_t>(node, "top_paths"),
                          NodeAttr<bool>(node, "merge_repeated")};
    if (attrs.paths > attrs.width) {
      return absl::InvalidArgumentError(
          absl::StrCat("top_paths is ", attrs.paths, ", more than beam_width, ", attrs.width));
    }
    return attrs;
  }
  int64_t width, paths;
  bool merge;
};

template <typename T>
struct BeamDecoder {
  static absl::Status Run(KernelContext& ctx, const BeamAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const Sequences in, ctc::SequenceInputs(ctx, 1));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({in.batch, attrs.paths}));
    GYRE_ASSIGN_OR_RETURN(Tensor scores, ctx.AllocateZeros(DTypeOf<T>, shape));
    T* const score = scores.mutable_values<T>().data();
    const T* logits = ctx.input(0).values<T>().data();
    // By sequence, by path.
    std::vector<std::vector<std::vector<int32_t>>> decoded(in.batch);
    FirstError error;
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(in.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        BeamSearch<T> search(ctx, in.classes, attrs.width);
        absl::Status status;
        for (int64_t t = 0; t < in.lengths[b] && status.ok(); ++t)
          status = search.Step(logits + in.At(t, b));
        decoded[b].resize(attrs.paths);
        if (status.ok())
          status = search.Best(attrs.paths, attrs.merge, decoded[b], score + b * attrs.paths);
        if (!status.ok()) return error.Set(b, std::move(status));
      }
    }));
    GYRE_RETURN_IF_ERROR(error.status());
    const int paths = static_cast<int>(attrs.paths);
    std::vector<std::vector<int32_t>> path(in.batch);
    for (int p = 0; p < paths; ++p) {
      for (int64_t b = 0; b < in.batch; ++b) path[b] = std::move(decoded[b][p]);
      GYRE_RETURN_IF_ERROR(ctc::SetSparse(ctx, path, p, paths));
    }
    ctx.set_output(3 * paths, std::move(scores));
    return absl::OkStatus();
  }
};

absl::Status DecoderShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(ctc::CheckShapes(c, 1));
  const int paths = (c.num_outputs() - 1) / 3;
  for (int p = 0; p < paths; ++p) {
    c.set_output(p, PartialShape(Dims{-1, 2}));
    c.set_output(paths + p, PartialShape(Dims{-1}));
    c.set_output(2 * paths + p, PartialShape(Dims{2}));
  }
  const int64_t batch = c.input(0).has_rank() ? c.input(0).dim(1) : -1;
  c.set_output(3 * paths, PartialShape(Dims{batch, paths}));
  return absl::OkStatus();
}

}  // namespace

void RegisterCtcDecoder(OpRegistry& ops) {
  ops.Add({
      .schema = "CTCGreedyDecoder(inputs: T, sequence_length: int32) -> decoded_indices: int64, "
                "decoded_values: int64, decoded_shape: int64, log_probability: T "
                "{merge_repeated: bool = false; blank_index: int = -1; T: {float, double} = float}",
      .doc = "The likeliest class of each step, without blanks, as a sparse matrix; and the "
             "negative sum of their logits.",
      .shape = DecoderShape,
      .gradient = NotDifferentiable("its results are integers, and the scores of a choice"),
      .kernel = ForTypes<GreedyDecoder, Types<float, double>>("T"),
  });
  ops.Add({
      .schema = "CTCBeamSearchDecoder(inputs: T, sequence_length: int32) -> decoded_indices: "
                "top_paths * int64, decoded_values: top_paths * int64, decoded_shape: top_paths * "
                "int64, log_probability: T {beam_width: int >= 1; top_paths: int >= 1; "
                "merge_repeated: bool = true; T: {float, double} = float}",
      .doc = "The likeliest labels, found by following the best beams, as sparse matrices; and the "
             "logarithms of their probabilities.",
      .shape = DecoderShape,
      .gradient = NotDifferentiable("its results are integers, and the scores of a choice"),
      .kernel = ForTypes<BeamDecoder, Types<float, double>>("T"),
  });
}

}  // namespace gyre
