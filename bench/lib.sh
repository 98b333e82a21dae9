# Shared by the benchmarks: where the program is, medians, ratios. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ASSAY=${ASSAY:-target/release/assay}
ROUNDS=${ROUNDS:-5}
SCALE=${SCALE:-full}   # smoke: as small as it gets, to show that it works
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-bench.XXXXXX")
LOOPS=()
cleanup() {
  for loop in "${LOOPS[@]}"; do losetup -d "$loop" || true; done
  rm -rf "$WORK"
}
trap cleanup EXIT

# The median of the numbers on standard input.
median() { sort -g | awk '{ n[NR] = $1 } END { print NR % 2 ? n[(NR + 1) / 2] : (n[NR / 2] + n[NR / 2 + 1]) / 2 }'; }

# ratio NAME A B: one line of the results, A and B files of numbers from alternating runs.
ratio() {
  local a b
  a=$(median <"$2"); b=$(median <"$3")
  awk -v name="$1" -v a="$a" -v b="$b" -v n="$(wc -l <"$2")" \
    'BEGIN { printf "| %s | %.4g | %.4g | %.3f | %d |\n", name, a, b, a / b, n }'
}

# A loop device of $1 MiB with direct I/O; its name in LOOP. Detached at the end.
make_loop() {
  fallocate -l "$1M" "$WORK/loop-${#LOOPS[@]}.img"
  LOOP=$(losetup -f --show --direct-io=on "$WORK/loop-${#LOOPS[@]}.img")
  LOOPS+=("$LOOP")
}

# judged COMMAND…: accepts the exit code of any verdict. On a noisy machine, oversleeping makes a closed loop INVALID;
# its speed is measured nevertheless.
judged() {
  local code=0
  "$@" || code=$?
  case $code in 0|10|11) ;; *) return "$code" ;; esac
}

# The consent token of a device.
token() { "$ASSAY" devices "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["token"] or "")'; }

# example NAME ARGUMENT…: runs an example of assay-model; example_of CRATE NAME ARGUMENT…: one of another crate. At smoke
# size it is the one that the tests have built beside the program.
example() { example_of assay-model "$@"; }
example_of() {
  local built=${ASSAY%/*}/examples/$2
  if [ "$SCALE" = smoke ] && [ -x "$built" ]; then "$built" "${@:3}"
  else cargo run --release --quiet -p "$1" --example "$2" -- "${@:3}"; fi
}

skip() { echo "| $1 | skipped: $2 | | | |"; exit 0; }
