#!/bin/sh
# vuln.sh DATABASE FOLDER... runs the program $GOVULNCHECK in the module of each
# folder. DATABASE is empty for the public one. What was found, or could not be
# loaded, fails. A public database that cannot be reached is no finding: it is
# told in one line, so that nobody takes it for "nothing found".
set -eu

database=$1
shift
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for folder in "$@"; do
	echo "govulncheck: $folder"
	status=0
	(cd "$folder" && "$GOVULNCHECK" -tags nomsgpack ${database:+-db "$database"} ./...) >"$said" 2>&1 || status=$?
	if [ "$status" = 1 ] && grep -q '^govulncheck: fetching vulnerabilities:' "$said"; then
		echo "govulncheck: skipped, the database of vulnerabilities cannot be reached: $(sed -n 's/^govulncheck: fetching vulnerabilities: //p' "$said" | head -n 1)"
		exit 0
	fi
	cat "$said"
	[ "$status" = 0 ] || exit "$status"
done
