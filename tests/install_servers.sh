#!/usr/bin/env bash
# The tests start a PostgreSQL and a MariaDB of their own and drive the page in Chromium. This installs the programs where
# that is possible (Debian, as root), and otherwise says which tests will be skipped. It never fails: the tests say what
# is missing.
set -u

missing=()
compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || command -v postgres >/dev/null || missing+=(postgresql)
command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || missing+=(mariadb-server)
command -v chromium >/dev/null || missing+=(chromium)
command -v chromedriver >/dev/null || missing+=(chromium-driver)
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Not installed: ${missing[*]}. Tests that need them will be skipped (apt-get install ${missing[*]} as root)."
    exit 0
fi
echo "Installing ${missing[*]} for the tests ..."
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    rm -f "$log"
else
    tail -5 "$log"
    echo "${missing[*]} could not be installed. Tests that need them will be skipped."
fi
exit 0
