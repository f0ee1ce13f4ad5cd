#!/usr/bin/env bash
# Does with the current commit what a new machine does: clones it into an empty
# folder and runs the two commands of the README, with nothing in the caches of Go,
# of the tests and of npm, and no data of servers made before. Where Go and npm
# fetch from, and through what, is as it is for the caller. What the tests need of
# Debian is installed if it is missing, and stays.
#
# The first argument is run in the place of "make test". The folder is removed
# unless something fails.
set -euo pipefail
test=${1:-make test}
root=$(cd "$(dirname "$0")/../../.." && pwd)

# Short: the name of a Unix socket below it has 107 characters at most.
base=$(mktemp -d /tmp/fp.XXXXXX)
server=
finish() {
	status=$?
	[ -z "$server" ] || kill -KILL -- "-$server" 2>/dev/null || true
	if [ "$status" != 0 ]; then
		echo "fresh: failed with status $status; what it made is in $base" >&2
		exit "$status"
	fi
	chmod -R u+w "$base"
	rm -rf "$base"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

[ -z "$(git -C "$root" status --porcelain)" ] || echo "fresh: only what is committed is tried" >&2
git clone --quiet --no-hardlinks "$root" "$base/src"

# Where to fetch from may be written in files of the caller's HOME.
for name in GOPROXY GOSUMDB GONOSUMDB GONOPROXY GOPRIVATE GOINSECURE GOTOOLCHAIN GOFLAGS; do
	export "$name=$(go env "$name")"
done
[ ! -e "$HOME/.npmrc" ] || export NPM_CONFIG_USERCONFIG="${NPM_CONFIG_USERCONFIG:-$HOME/.npmrc}"
for name in $(env | sed -n 's/^\(FLAKEPASS_[A-Z0-9_]*\|XDG_[A-Z_]*\|MAKE[A-Z]*\|MFLAGS\)=.*/\1/p'); do
	unset "$name"
done
unset GOPATH GOBIN GOCACHE GOMODCACHE GOTMPDIR GOENV NPM_CONFIG_CACHE npm_config_cache
export HOME=$base/home TMPDIR=$base/tmp
mkdir "$HOME" "$TMPDIR"
cd "$base/src"

# The first command. Only the ports are not those of the README: they may be taken.
log=$base/serve.log
set -m # in a group of its own: "go run" hands no signal on
FLAKEPASS_LISTEN=127.0.0.1:0 FLAKEPASS_OPS_LISTEN=127.0.0.1:0 go run ./cmd/flakepass serve >"$log" 2>&1 &
server=$!
set +m
address() { sed -n "s/^ *$1  *\\(http:[^ ]*\\).*/\\1/p" "$log" | sed -n 1p; }
until ops=$(address ops) && [ -n "$ops" ] && curl -sf -o /dev/null "$ops/readyz"; do
	kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 1; }
	sleep 0.2
done
url=$(address API)

# say sends a request and fails unless the status of the answer, whose body it
# prints, is the first argument.
say() {
	want=$1
	shift
	got=$(curl -s -o "$base/answer" -w '%{http_code}' "$@")
	cat "$base/answer"
	[ "$got" = "$want" ] || { echo "fresh: ${*: -1}: status $got, not $want" >&2; exit 1; }
}
person='{"username":"alice","password":"correct horse battery staple"}'
say 201 -H 'Content-Type: application/json' -d "$person" "$url/v1/register" >/dev/null
token=$(say 200 -H 'Content-Type: application/json' -d "$person" "$url/v1/login" | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
say 200 -H "Authorization: Bearer $token" "$url/v1/me" | grep -q '"username":"alice"'
say 204 -X POST -H "Authorization: Bearer $token" "$url/v1/logout"
say 401 -H "Authorization: Bearer $token" "$url/v1/me" | grep -q '"code":"token_logged_out"'
kill -TERM -- "-$server"
wait "$server" || true # of "go run"; the server itself takes a moment more
while curl -s -o /dev/null "$ops/healthz"; do sleep 0.1; done
server=
echo "fresh: registered, logged in, recognised and logged out"

# The second command.
bash -c "$test" </dev/null
echo "fresh: done: $test"
