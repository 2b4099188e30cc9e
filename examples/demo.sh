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
ask examples/shop/orders.xlsx "What is the total quantity of desk lamps ordered?"
ask examples/library.sqlite "How many books are still out?"
ask examples/shop/customers.csv examples/shop/helpdesk.sqlite "How many tickets were opened by customers from Norway?"

echo
if [ $failed -eq 0 ]; then
    echo "Now ask your own file:  $rowhop ask FILE \"your question\""
else
    echo "Not every question was answered. Try your own file:  $rowhop ask FILE \"your question\""
fi
exit $failed
