#!/usr/bin/env bash
# Questions over the examples, answered by the embedded model: a CSV, a workbook, a database, a graph with text, and two together.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rowhop=.venv/bin/rowhop
failed=0

echo "Fetching the embedded model (once, about 1.1 GB) ..."
$rowhop model get qwen2.5-coder-1.5b || exit 1

ask() {
    echo
    printf '$ rowhop ask'
    printf ' %q' "${@:1:$#-1}"
    printf ' "%s"\n\n' "${@: -1}"
    $rowhop ask "$@" || failed=1
    echo
    echo "────────────────────────────────────────────────────────────"
}

ask examples/shop/customers.csv "How many customers are from Norway?"
ask examples/shop/orders.xlsx "What is the total amount of all orders?"
ask examples/library.sqlite "Which book was lent most often?"
ask examples/trails "Who keeps the hut that stands at the shore of a lake?"
ask examples/shop/customers.csv examples/library.sqlite "Which customers are also members of the library?"

echo
if [ $failed -eq 0 ]; then
    echo "Now ask your own file:  $rowhop ask FILE \"your question\""
else
    echo "Not every question was answered. Try your own file:  $rowhop ask FILE \"your question\""
fi
exit $failed
