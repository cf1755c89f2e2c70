#!/usr/bin/env bash
# Runs three models that TensorFlow exported, says what happened, and draws the graph of a fourth.
# Needs bash, awk, and the built program (./dev demo builds it and installs graphviz).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

gyre=${GYRE:-build/release/bin/gyre}
models=tests/golden/models
pictures=build/demo

title() { printf '\n%s\n%s\n' "$1" "${1//?/-}"; }
# Results of `gyre run`, as bare numbers: one row a line, without names and brackets.
rows() { sed -e 's/^.* = *//' | tr -d '[]' | sed -e '/^ *$/d' -e 's/^ *//'; }

beam_search() {
  title "1. Beam search: a while loop that keeps the three best sentences"
  local words=(the cat dog sat on mats .)
  # Row i: how likely each word is after word i.
  local logp
  logp=$(awk '{
      line = ""
      for (i = 2; i <= NF; ++i) line = line (i > 2 ? "," : "") ($i > 0 ? log($i) : "-99")
      rows = rows (NR > 1 ? "," : "") "[" line "]"
    } END { print "[" rows "]" }' <<'TABLE'
the    0  .6  .4   0   0   0   0
cat    0   0   0  .8   0   0  .2
dog    0   0   0  .5   0   0  .5
sat    0   0   0   0  .9   0  .1
on    .2   0   0   0   0  .8   0
mats   0   0   0   0   0   0   1
.      0   0   0   0   0   0   1
TABLE
  )
  echo "A table says how likely each of seven words follows another. Starting from \"the\", the"
  echo "loop extends its beams by six words; a second loop walks the back-pointers."
  local result
  result=$("$gyre" run $models/beam_search_v2/graph.pb --feed start=0 --feed "logp=$logp" \
    --fetch score,seq | rows)
  awk -v words="${words[*]}" '
    BEGIN { split(words, word, " ") }
    NR == 1 { split($0, score, " "); next }
    {
      text = word[1]
      for (i = 1; i <= NF && word[$i + 1] != "."; ++i) text = text " " word[$i + 1]
      printf "  %4.1f %%  %s.\n", 100 * exp(score[NR - 1]), text
    }' <<<"$result"
}

lstm() {
  title "2. An LSTM over sequences of different lengths"
  local lengths="4 3 7 2"
  # The same seven inputs of five numbers in each of the four sequences.
  local x
  x=$(awk 'BEGIN {
      for (b = 0; b < 4; ++b) for (t = 0; t < 7; ++t) for (i = 0; i < 5; ++i)
        text = text (i ? "," : t ? "],[" : b ? "]],[[" : "[[[") sprintf("%.6f", sin(1 + 5 * t + i))
      print text "]]]"
    }')
  echo "Four times the same input, but only the first $lengths steps count. The loop stops with the"
  echo "longest; a sequence that has ended gives zeros and keeps its state. First output per step:"
  "$gyre" run $models/lstm_lengths_v2/graph.pb --feed "x=$x" --feed "len=[${lengths// /,}]" \
    --fetch o | rows |
    awk -v lengths="$lengths" '
      BEGIN { split(lengths, length_of, " ") }
      { b = int((NR - 1) / 7) + 1; t = (NR - 1) % 7 + 1; o[b, t] = $1 }
      END {
        agree = "yes"; zeros = "yes"
        for (b = 1; b <= 4; ++b) {
          printf "  length %d:", length_of[b]
          for (t = 1; t <= 7; ++t) {
            printf " %7.4f", o[b, t]
            if (t > length_of[b] && o[b, t] != 0) zeros = "no"
            if (t <= length_of[b] && o[b, t] != o[3, t]) agree = "no"
          }
          print ""
        }
        print "  Do the steps that count agree bit for bit? " agree ". Are the others zero? " zeros "."
        exit agree zeros != "yesyes"
      }'
}

# q_feeds SEED PERCENT: --feed options of one episode: in PERCENT of its 60 steps a random action.
q_feeds() {
  awk -v seed="$1" -v percent="$2" '
    # Park and Miller: the same numbers from every awk.
    function draw(n) { seed = (seed * 16807) % 2147483647; return int(seed / 65536) % n }
    BEGIN {
      for (i = 0; i < 60; ++i) {
        comma = i ? "," : ""
        explore = explore comma (draw(100) < percent ? "true" : "false")
        action = action comma draw(2)
        replay = replay comma draw(16)
      }
      print "--feed explore=[" explore "] --feed action=[" action "] --feed replay=[" replay "]"
    }'
}

q_learning() {
  title "3. Q-learning: acting, remembering and learning in one loop of the graph"
  echo "A corridor of six cells with the goal at its right end: reaching it pays 1, any other step"
  echo "costs 0.01. Variables keep what was learned from one run of the session to the next."
  local episodes=() percents=(100 50 20 5) i
  for i in "${!percents[@]}"; do
    # shellcheck disable=SC2207  # the feeds hold no spaces
    episodes+=(${episodes:+--then} $(q_feeds $((1234567 * (i + 1))) "${percents[i]}") --fetch total)
  done
  "$gyre" run $models/q_learning/graph.pb --init q/Assign,buf/Assign "${episodes[@]}" \
    --then --fetch q_now | rows |
    awk -v percents="${percents[*]}" '
      BEGIN { split(percents, percent, " ") }
      NR <= 4 { printf "  60 steps, %3d %% of them at random: reward %6.2f\n", percent[NR], $1; next }
      NR <= 9 { policy = policy ($1 == $2 ? " ?" : $1 > $2 ? " left" : " right") }
      END { print "  What it learned to do in the five cells before the goal:" policy }'
}

picture() {
  title "4. A picture"
  mkdir -p $pictures
  local graph=tests/golden/while_v1/collatz/graph.pb
  "$gyre" run $graph --feed s=27 --fetch k,mx | rows |
    awk 'NR == 1 { k = $1 } END { print "The Collatz sequence from 27 takes " k " steps and climbs to " $1 "." }'
  "$gyre" show $graph --svg $pictures/collatz.svg >/dev/null
  echo "Its loop, as Switch, Merge, Enter, Exit and NextIteration: $PWD/$pictures/collatz.svg"
}

checked() {
  title "5. Are these numbers right?"
  echo "Each model comes with what TensorFlow computed. All models, compared:"
  "$gyre" check $models | sed 's/^/  /'
}

beam_search
lstm
q_learning
picture
checked
