package config

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Values of [Redis.Mode].
const (
	RedisSingle   = "single"
	RedisSentinel = "sentinel"
	RedisCluster  = "cluster"
)

// A Redis is a Redis URL taken apart, with what was left out filled in. The zero Redis is none.
type Redis struct {
	Mode     string // RedisSingle, RedisSentinel or RedisCluster
	TLS      bool
	Username string   // of the Redis servers; empty means the default user
	Password Secret   // of the Redis servers; empty means none
	Addrs    []string // host:port; of the server, the sentinels, or some nodes of the cluster
	Master   string   // the name that the sentinels know; empty in other modes
	DB       int      // always 0 in a cluster

	SentinelUsername string // of the sentinels themselves; empty means the default user
	SentinelPassword Secret // of the sentinels themselves; empty means none

	url Secret // as it was written
}

const redisForms = "supported are redis://host:6379/0, redis+sentinel://host:26379,host:26379/mastername and redis+cluster://host:6379,host:6379, and each with rediss for TLS"

// IsZero reports whether there is none.
func (r Redis) IsZero() bool { return r.Mode == "" }

// String is the URL as an operator writes it, without what is secret in it.
func (r Redis) String() string { return showURL(r.url) }

// ParseRedis takes a URL apart:
//
//	redis://[[user]:password@]host[:6379][/db]
//	redis+sentinel://[[user]:password@]host[:26379],host[:26379]/mastername[/db][?sentinel_password=password[&sentinel_username=user]]
//	redis+cluster://[[user]:password@]host[:6379],host[:6379]
//
// and the same with rediss, for TLS. Its errors are sentences for the person
// who wrote the URL, and hold no part of it.
func ParseRedis(v string) (Redis, error) {
	scheme, _, ok := strings.Cut(v, "://")
	kind, mode, _ := strings.Cut(scheme, "+")
	r := Redis{url: NewSecret(v)}
	switch {
	case !ok || kind != "redis" && kind != "rediss":
		return Redis{}, errors.New("this does not begin with the scheme of a Redis URL; " + redisForms)
	case scheme == kind:
		r.Mode = RedisSingle
	case mode == RedisSentinel || mode == RedisCluster:
		r.Mode = mode
	default:
		return Redis{}, errors.New("this kind of Redis is not supported; " + redisForms)
	}
	r.TLS = kind == "rediss"

	p, err := takeApart(v)
	if err != nil {
		return Redis{}, err
	}
	port := "6379"
	if r.Mode == RedisSentinel {
		port = "26379"
	}
	if r.Addrs, err = p.addresses(port); err != nil {
		return Redis{}, err
	}
	if r.Mode == RedisSingle && len(r.Addrs) > 1 {
		return Redis{}, errors.New("the URL names several hosts; begin it with redis+cluster:// or redis+sentinel://, or name one")
	}
	if p.hasUser && !p.hasPassword {
		return Redis{}, errors.New("the URL has a user without a password; for a password alone write redis://:password@host, with the colon")
	}
	if p.hasQuery {
		if err := r.parseQuery(p.query); err != nil {
			return Redis{}, err
		}
	}
	// takeApart has seen that both can be unescaped.
	r.Username, _ = url.PathUnescape(p.userRaw)
	password, _ := url.PathUnescape(p.passwordRaw)
	r.Password = NewSecret(password)
	if err := r.parsePath(p.path); err != nil {
		return Redis{}, err
	}
	return r, nil
}

// parseQuery reads what the sentinels themselves ask for. A + stands for
// itself, as before the @.
func (r *Redis) parseQuery(query string) error {
	if r.Mode != RedisSentinel {
		return errors.New("a Redis URL takes no parameters, unless it begins with redis+sentinel://; remove the ? and what follows, or if it belongs to a password write %3F")
	}
	given := map[string]string{}
	for pair := range strings.SplitSeq(query, "&") {
		name, raw, _ := strings.Cut(pair, "=")
		if name != "sentinel_password" && name != "sentinel_username" {
			return errors.New("after ? the Redis URL takes sentinel_password=... and sentinel_username=..., joined by &, and nothing else; in a password write ? as %3F and & as %26")
		}
		value, err := url.PathUnescape(raw)
		if _, twice := given[name]; err != nil || value == "" || twice {
			return errors.New(name + " in the Redis URL is empty, malformed or given twice; write " + name + "=value once, and percent-encode what is special")
		}
		given[name] = value
	}
	r.SentinelUsername, r.SentinelPassword = given["sentinel_username"], NewSecret(given["sentinel_password"])
	if r.SentinelPassword.IsZero() {
		return errors.New("the Redis URL has a sentinel_username without a sentinel_password; add that too")
	}
	return nil
}

// Where is the place of Redis for people, without anything secret.
func (r Redis) Where() string {
	where := strings.Join(r.Addrs, ",")
	if r.Master != "" {
		where += "/" + r.Master
	}
	return where
}

var masterName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`) })

func (r *Redis) parsePath(path string) error {
	db := path
	switch r.Mode {
	case RedisCluster:
		if path != "" {
			return errors.New("a Redis cluster has no databases to choose from; remove the / after the hosts and what follows")
		}
		return nil
	case RedisSentinel:
		r.Master, db, _ = strings.Cut(path, "/")
		if !masterName().MatchString(r.Master) {
			return errors.New("the name under which the sentinels know the master is missing or malformed; write redis+sentinel://host:26379/mastername")
		}
	}
	if db == "" {
		return nil
	}
	n, err := strconv.ParseUint(db, 10, 16)
	if err != nil {
		return errors.New("the database at the end of the Redis URL must be a number, such as 0")
	}
	r.DB = int(n)
	return nil
}

// A ZooKeeper is a ZooKeeper URL taken apart, with what was left out filled in.
type ZooKeeper struct {
	Addrs    []string // host:port
	Path     string   // under which numbers are kept, with its first /
	Username string   // of the digest scheme; empty means none
	Password Secret
	Key      string // that remembers its number; empty means that the session does
}

const zooKeeperForm = "write zookeeper://host:2181,host:2181/path, with user:password@ before the hosts if there is one"

// zooKeeperPath holds no empty part; a part of dots alone is refused beside it.
var zooKeeperPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_.-]{1,64}(/[0-9A-Za-z_.-]{1,64})*$`) })

// ParseZooKeeper takes a URL apart:
//
//	zookeeper://[user:password@]host[:2181],host[:2181]/path[?key=KEY]
//
// Its errors are sentences for the person who wrote the URL, and hold no part of
// it.
func ParseZooKeeper(v string) (ZooKeeper, error) {
	if !strings.HasPrefix(v, WorkerZooKeeper+"://") {
		return ZooKeeper{}, errors.New("this does not begin with zookeeper://; " + zooKeeperForm)
	}
	p, err := takeApart(v)
	if err != nil {
		return ZooKeeper{}, err
	}
	z := ZooKeeper{Path: "/" + p.path}
	if z.Addrs, err = p.addresses("2181"); err != nil {
		return ZooKeeper{}, err
	}
	// takeApart has seen that both can be unescaped.
	z.Username, _ = url.PathUnescape(p.userRaw)
	password, _ := url.PathUnescape(p.passwordRaw)
	z.Password = NewSecret(password)
	switch {
	case p.hasUser && (z.Username == "" || password == ""):
		return ZooKeeper{}, errors.New("the user or the password is missing from the URL; write zookeeper://user:password@host:2181/path, or leave both out with the @")
	case strings.Contains(z.Username, ":"):
		return ZooKeeper{}, errors.New("ZooKeeper has no users with a colon in the name; write another")
	case p.path == "":
		return ZooKeeper{}, errors.New("the path under which numbers are kept is missing from the URL; write for example zookeeper://host:2181/flakepass/workers")
	case !zooKeeperPath().MatchString(p.path):
		return ZooKeeper{}, errors.New("the path in the URL may hold letters, digits, _, . and - between single slashes only; if part of a password ended up there, write its / as %2F")
	}
	for _, part := range strings.Split(p.path, "/") {
		if strings.Trim(part, ".") == "" {
			return ZooKeeper{}, errors.New("a part of the path in the URL consists of dots; write another")
		}
	}
	if p.hasQuery {
		params, err := url.ParseQuery(p.query)
		if err != nil || len(params) != 1 || len(params["key"]) != 1 {
			return ZooKeeper{}, errors.New("a ZooKeeper URL takes one parameter, key; write ?key= and a name that no other instance has, such as its host and port")
		}
		z.Key = params.Get("key")
		if z.Key == "" || len(z.Key) > 128 || !utf8.ValidString(z.Key) || strings.ContainsAny(z.Key, "\x00\r\n") || strings.Trim(z.Key, ".") == "" {
			return ZooKeeper{}, errors.New("the key in the URL is empty or malformed; write at most 128 bytes that no other instance has, such as its host and port")
		}
	}
	return z, nil
}
