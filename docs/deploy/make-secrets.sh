#!/bin/sh
# Makes the secrets of docker-compose.yml: random passwords and a key, in ./secrets of
# the current folder. It overwrites none, because the database would still have the
# old password.
set -eu

if [ -e secrets ]; then
	echo "make-secrets.sh: ./secrets is there already. Remove it, and the volumes with it, to begin anew." >&2
	exit 1
fi

# random prints so many bytes as hexadecimal digits, which need no quotes in a URL.
random() {
	digits=$(od -An -v -N"$1" -tx1 /dev/urandom | tr -d ' \n')
	# A pipe hides that its first command has failed.
	if [ ${#digits} -ne $(($1 * 2)) ]; then
		echo "make-secrets.sh: od did not read /dev/urandom. Nothing was made." >&2
		exit 1
	fi
	printf '%s' "$digits"
}

mysql=$(random 20)
redis=$(random 20)
# What it encrypts cannot be read without it: keep a copy.
key=$(random 32)

# Containers read the files as their own users, so the files are readable and the
# folder is not.
mkdir -m 700 secrets
umask 022
printf '%s' "$mysql" >secrets/mysql_password
printf 'mysql://flakepass:%s@mysql:3306/flakepass' "$mysql" >secrets/database_url
printf 'requirepass %s\n' "$redis" >secrets/redis_conf
printf 'redis://:%s@redis:6379' "$redis" >secrets/redis_url
printf '%s' "$key" >secrets/second_factor_key
echo "Made ./secrets. Keep it out of backups that others can read, and keep a copy of second_factor_key."
