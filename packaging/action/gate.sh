#!/usr/bin/env bash
# Runs a gate with the inputs of action.yml; its table goes into the summary of the run.
set -euo pipefail

if [[ -n $TEST && -n $RUNS ]] || [[ -z $TEST && -z $RUNS ]]; then
  echo "give either test or runs" >&2
  echo "verdict=error" >> "$GITHUB_OUTPUT"
  exit 2
fi
table=$(mktemp)
trap 'rm -f "$table"' EXIT
read -r -a runs <<< "$RUNS"
read -r -a test <<< "$TEST"
options=(--markdown "$table")
if [[ -n $BASELINE ]]; then options+=(--baseline-file "$BASELINE"); fi
if [[ -n $UNDECIDED ]]; then options+=(--undecided "$UNDECIDED"); fi
if [[ -n $TEST ]]; then options+=(-- "${test[@]}"); fi

code=0
"$PROGRAM" gate "$GATE" "${runs[@]}" "${options[@]}" || code=$?
cat "$table" >> "$GITHUB_STEP_SUMMARY"
case $code in
  0) verdict=passed ;;
  4) verdict=failed ;;
  5) verdict=undecided ;;
  *) verdict=error ;;
esac
echo "verdict=$verdict" >> "$GITHUB_OUTPUT"
exit "$code"
