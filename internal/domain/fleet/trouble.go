package fleet

import (
	"maps"
	"slices"
	"strings"
)

// A Trouble is what is wrong with an instance or with its Redis: a code, which a
// report carries, and an edge puts into words. Behind the code may stand ": " and
// what a program said of it.
type Trouble string

// Why an instance should get no requests.
const (
	Stopping           Trouble = "stopping"
	DatabaseSilent     Trouble = "database_silent"
	DatabaseRefuses    Trouble = "database_refuses"
	DatabaseFull       Trouble = "database_full"
	DatabaseReplaced   Trouble = "database_replaced"
	DatabaseSlow       Trouble = "database_slow"
	DatabaseDamaged    Trouble = "database_damaged"
	DatabaseLacking    Trouble = "database_lacking"
	SettingsUnreadable Trouble = "settings_unreadable"
	DatabaseReadOnly   Trouble = "database_read_only"
	DatabaseUnfit      Trouble = "database_unfit" // with the reason behind it
	DatabaseUnproven   Trouble = "database_unproven"
	WorkerRangeStuck   Trouble = "worker_range_stuck" // with what lends the number behind it
	WorkerLost         Trouble = "worker_lost"
	WorkerNoNumber     Trouble = "worker_no_number"
	WorkerNoRange      Trouble = "worker_no_range"
	WorkerUnfit        Trouble = "worker_unfit" // with the error behind it
)

// How Redis is doing, as Report.Redis says it.
const (
	RedisNone Trouble = "none" // this instance is configured without
	RedisGood Trouble = "ok"   // it keeps what it is asked to

	RedisSilent        Trouble = "redis_silent"
	RedisPassword      Trouble = "redis_password"
	RedisPermission    Trouble = "redis_permission"
	RedisUnknownMaster Trouble = "redis_unknown_master"
	RedisNoSentinel    Trouble = "redis_no_sentinel"
	RedisNoCluster     Trouble = "redis_no_cluster"
	RedisIsCluster     Trouble = "redis_is_cluster"
	RedisKeepsNoKeys   Trouble = "redis_keeps_no_keys"
	RedisReadOnly      Trouble = "redis_read_only"
	RedisRefuses       Trouble = "redis_refuses"
)

const unhealthy = "the ID worker is not healthy"

// sentences are the troubles in English. Those of Redis go on after "redis".
var sentences = map[Trouble]string{
	Stopping:           "stopping",
	DatabaseSilent:     "the database does not answer",
	DatabaseRefuses:    "the database refuses this instance, or has a certificate that is not trusted; the log of the instance says why",
	DatabaseFull:       "the database has no connection free for this instance, which opens up to 32; raise max_connections, or the limit of its user",
	DatabaseReplaced:   "the file of the database was replaced or removed while the instance had it open; restart the instance",
	DatabaseSlow:       "the database does not finish within a second; a table may be locked, or its server slow",
	DatabaseDamaged:    "the database lacks a table or a column that a migration has made; restore the database from a backup",
	DatabaseLacking:    "the database lacks a table or a column; `flakepass migrate up` brings it to this program's version",
	SettingsUnreadable: "the settings cannot be read from the database; the log of the instance says why",
	DatabaseReadOnly:   "the database takes no writes; it may be a replica, or set to read only",
	DatabaseUnfit:      "the promise cannot be kept on the database server",
	DatabaseUnproven:   "the database server may have lost the others of its cluster: it does not decide, or no poll has succeeded within the bound",
	WorkerRangeStuck:   "the range of the worker number cannot be extended; what lends it (FLAKEPASS_WORKER) may be down, full, or take no writes",
	WorkerLost:         unhealthy + ": idworker: number lost to another owner",
	WorkerNoNumber:     unhealthy + ": idworker: every worker number is in use",
	WorkerNoRange:      unhealthy + ": idworker: no range to mint from",
	WorkerUnfit:        unhealthy,

	RedisSilent:        "does not answer",
	RedisPassword:      "refuses the user or password",
	RedisPermission:    "does not permit the user what flakepass asks; docs/rights.md has the rights that it needs",
	RedisUnknownMaster: "has sentinels that know no master of that name",
	RedisNoSentinel:    "is no sentinel; begin the URL with redis://",
	RedisNoCluster:     "is not a cluster; begin the URL with redis://",
	RedisIsCluster:     "is a cluster; begin the URL with redis+cluster://",
	RedisKeepsNoKeys:   "is a server that keeps no keys; to reach Redis over sentinels begin the URL with redis+sentinel://",
	RedisReadOnly:      "is a replica, which takes no writes; name its master, or its sentinels",
	RedisRefuses:       "refuses what it is asked",
}

// Troubles are all that have a sentence.
func Troubles() []Trouble { return slices.Collect(maps.Keys(sentences)) }

// Error is the sentence, in English: a trouble can be an error. What an instance of
// another release says may have none, and stays as it is.
func (t Trouble) Error() string {
	code, detail := t.Cut()
	if s, ok := sentences[Trouble(code)]; ok {
		code = s
	}
	if detail != "" {
		detail = ": " + detail
	}
	return code + detail
}

// Cut is the code, and what stands behind it, which may be nothing.
func (t Trouble) Cut() (code, detail string) {
	code, detail, _ = strings.Cut(string(t), ": ")
	return code, detail
}

// Sentences are those of several troubles.
func Sentences(troubles []Trouble) []string {
	all := make([]string, len(troubles))
	for i, t := range troubles {
		all[i] = t.Error()
	}
	return all
}
