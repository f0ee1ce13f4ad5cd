#!/bin/sh
# Installs what the tests need and this machine lacks: redis-server,
# mariadb-server with Galera and what its nodes copy their data with, HAProxy, a
# library that sets the clock of one process, nginx, ZooKeeper with a Java to run
# it, sqlite3, Chromium, Node.js with npm, a C compiler for the race detector, PHP and the
# libraries of Python that hash passwords elsewhere, and a MySQL server.
# Does nothing, in a few milliseconds, when everything is there.
#
# Debian's stable releases carry no MySQL, only MariaDB, and the two differ
# where a store of logins looks closest: locks, upserts, the GET_LOCK family.
# So MySQL comes from Debian's own unstable suite, from the mirror that this
# machine's apt already uses, into a private folder: nothing of it is installed,
# and it runs with the C library it came with.
#
# FLAKEPASS_TEST_CACHE names the folder; $HOME/.cache/flakepass-test otherwise.
set -eu

cache=${FLAKEPASS_TEST_CACHE:-${HOME:?}/.cache/flakepass-test}
root=$cache/mysql
# What checks the pages of the console for accessibility: one file of npm.
axe=axe-core@4.14.1

# Server binaries live where an ordinary user's PATH may not reach.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

have() { command -v "$1" >/dev/null 2>&1; }

# have_mysql accepts a mysqld on PATH only if it is MySQL 8.4 or newer:
# MariaDB installs a program of the same name.
have_mysql() {
	if have mysqld; then
		version=$(mysqld --no-defaults --version 2>/dev/null) || version=
		case $version in
		*MariaDB*) ;;
		*" Ver 8.4."* | *" Ver 9."* | *" Ver "[1-9][0-9].*) return 0 ;;
		esac
	fi
	[ -x "$root/usr/sbin/mysqld" ]
}

missing() {
	have redis-server || echo redis-server
	have mariadbd || echo mariadb-server
	[ -e /usr/lib/galera/libgalera_smm.so ] || echo galera-4
	have rsync || echo rsync
	have haproxy || echo haproxy
	ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || echo libfaketime
	have nginx || echo nginx-light
	have java || echo default-jre-headless
	[ -e /usr/share/java/zookeeper.jar ] || echo libzookeeper-java
	have node || echo nodejs
	have npm || echo npm
	have ps || echo procps
	have sqlite3 || echo sqlite3
	have php || echo php-cli
	for library in django passlib bcrypt argon2; do
		[ -d "/usr/lib/python3/dist-packages/$library" ] || echo "python3-$library"
	done
	have cc || have gcc || echo gcc libc6-dev
	have chromium || echo chromium
}

have_axe() { [ -f "$cache/axe/package/axe.min.js" ]; }

packages=$(missing)
if [ -z "$packages" ] && have_mysql && have_axe; then
	exit 0
fi

if ! have apt-get; then
	echo "install.sh: apt-get not found. Install these by hand: ${packages:-nothing more}, and MySQL 8.4 or newer." >&2
	exit 1
fi

mkdir -p "$cache"
scratch=$(mktemp -d "$cache/install.XXXXXX")
policy=
as_root=
if [ "$(id -u)" != 0 ]; then
	as_root="sudo"
fi

cleanup() {
	status=$?
	rm -rf "$scratch"
	if [ -n "$policy" ]; then
		$as_root rm -f "$policy"
	fi
	exit $status
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

apt_get() {
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# install_packages installs without starting the services that come along: the
# tests start servers of their own. policy-rc.d is Debian's door for that.
install_packages() {
	if [ -n "$as_root" ] && ! have sudo; then
		echo "install.sh: $* missing. Run this as root, or install sudo." >&2
		exit 1
	fi
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		printf '#!/bin/sh\nexit 101\n' >"$scratch/policy-rc.d"
		policy=/usr/sbin/policy-rc.d
		$as_root install -m 755 "$scratch/policy-rc.d" "$policy"
	fi
	# One unreachable extra source is no reason to stop: install decides.
	apt_get update || true
	apt_get install --no-install-recommends "$@"
}

# mirror prints the address of this machine's Debian archive.
mirror() {
	# apt fills these in, not the shell.
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian \([^ ]*\)$/\1/p' | sed -n 1p
}

# fetch_mysql downloads MySQL and all it depends on, down to the C library, and
# unpacks it. An empty dpkg status file makes apt count nothing as installed.
fetch_mysql() {
	uri=$(mirror)
	if [ -z "$uri" ] && [ "$(id -u)" = 0 ]; then
		apt_get update || true
		uri=$(mirror)
	fi
	if [ -z "$uri" ]; then
		echo "install.sh: apt names no Debian mirror. Run apt-get update, or put MySQL 8.4 or newer on PATH." >&2
		exit 1
	fi
	apt=$scratch/apt
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/empty" "$scratch/root"
	: >"$apt/status"
	cat >"$apt/sid.sources" <<-SOURCES
		Types: deb
		URIs: $uri
		Suites: sid
		Components: main
		Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	SOURCES
	sid() {
		DEBIAN_FRONTEND=noninteractive apt-get -q -y \
			-o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" \
			-o Dir::Cache="$apt" -o Dir::Cache::archives="$apt/archives" \
			-o Dir::Etc::sourcelist="$apt/sid.sources" -o Dir::Etc::sourceparts="$apt/empty" \
			-o Dir::Etc::preferences="$apt/none" -o Dir::Etc::preferencesparts="$apt/empty" \
			-o APT::Default-Release= -o APT::Sandbox::User=root -o Acquire::Languages=none \
			-o Acquire::Retries=3 -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
			-o APT::Install-Recommends=false -o APT::Keep-Downloaded-Packages=true "$@" </dev/null
	}
	sid update
	sid -d install mysql-server-core mysql-client-core
	for deb in "$apt"/archives/*.deb; do
		dpkg-deb -x "$deb" "$scratch/root"
	done
	# One rename, so that a folder with this name is always whole.
	rm -rf "$root"
	mv "$scratch/root" "$root"
}

# fetch_axe unpacks the one file of axe-core, and its licence. Nothing of it is
# installed.
fetch_axe() {
	(cd "$scratch" && npm pack --silent "$axe" >/dev/null && mkdir axe &&
		tar -xzf axe-core-*.tgz -C axe package/axe.min.js package/LICENSE)
	rm -rf "$cache/axe"
	mv "$scratch/axe" "$cache/axe"
}

# Two runs at once would fetch twice and rename over each other.
exec 9>"$cache/install.lock"
flock 9

packages=$(missing)
if [ -n "$packages" ]; then
	# The list is meant to split into words.
	# shellcheck disable=SC2086
	install_packages $packages
fi
have_mysql || fetch_mysql
have_axe || fetch_axe
