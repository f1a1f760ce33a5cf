#!/bin/sh
# The smallest classifier: the class that most of the site's records have, for every row.
# Caucus runs it as: vote.sh RECORDS POOL SCHEMA (docs/site.md).
class=$(tail -n +2 "$1" | sed 's/.*,//' | sort | uniq -c | sort -rn | head -1 | sed 's/^ *[0-9]* //')
tail -n +2 "$2" | while read -r row; do echo "$class"; done
