package config

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

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
