#!/usr/bin/env bash
# Questions over the examples, answered by the embedded model: a CSV, a workbook, a database, two together, and a graph
# whose nodes carry text; and an RDF graph, which two methods are asked.
# What the right answers are is known here, so that the demo can say how it went.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rowhop=.venv/bin/rowhop
wrong=0

echo "Fetching the embedded model (once, about 1.1 GB) ..."
$rowhop model get qwen2.5-coder-1.5b || exit 1

ask() {  # expected value, sources, question
    local expected=$1 output
    shift
    printf '\n$ rowhop ask'
    printf ' %q' "${@:1:$#-1}"
    printf ' "%s"\n\n' "${@: -1}"
    output=$($rowhop ask "$@")
    printf '%s\n\n' "$output"
    if [ "${output%%$'\n'*}" = "$expected" ]; then
        echo "→ right"
    else
        echo "→ wrong: it is $expected"
        wrong=$((wrong + 1))
    fi
    echo "────────────────────────────────────────────────────────────"
}

ask 10 examples/shop/customers.csv "How many customers are from Norway?"
ask 44 examples/shop/orders.xlsx "What is the total quantity of desk lamps ordered?"
ask 7 examples/library.sqlite "How many books are still out?"
ask 13 examples/shop/customers.csv examples/shop/helpdesk.sqlite "How many tickets were opened by customers from Norway?"
ask "Jon Madlener" examples/trails "Who keeps the hut where rowing boats can be borrowed?"

for method in ppoga pandora; do
    ask "Old Quay" --method $method examples/lakes.ttl "Where was the captain of the Otter born?"
done

echo
[ $wrong -eq 0 ] && echo "All answers are right." || echo "$wrong of the answers are wrong."
echo "Now ask your own file:  $rowhop ask FILE \"your question\""
echo "Or in the browser, and drop it there:  $rowhop serve"
[ $wrong -eq 0 ]
