package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Parsers of settings that hold no secret. Each says what would be right
// when the value is not.

func parseListen(v string) (string, error) {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		return "", fmt.Errorf("%s is not host:port; write for example 127.0.0.1:8080, :8080 or [::1]:8080", quoted(v))
	}
	if host != "" && !validHost(host) {
		return "", fmt.Errorf("the host in %s is neither an IP address nor a host name", quoted(v))
	}
	if !validPort(port, 0) {
		return "", fmt.Errorf("the port in %s must be a number from 0 to 65535; 0 picks a free port", quoted(v))
	}
	return v, nil
}

// parsePath takes the path of a file that is read later. A URL, or what is meant
// to be in the file, is not one.
func parsePath(v string) (string, error) {
	if strings.Contains(v, "://") || strings.Contains(v, "-----BEGIN") {
		return "", errors.New("this is not a path; write the path of a file")
	}
	return v, nil
}

// hostName is compiled when it is first asked, as every pattern of settings: most settings are not
// set, and to compile all took 4 ms of each start of the program.
var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_]([0-9A-Za-z_.-]*[0-9A-Za-z_.])?$`) })

func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	// A name whose last label is a number is a mistyped address (WHATWG URL, section 3.5).
	name := strings.TrimSuffix(host, ".")
	last := name[strings.LastIndex(name, ".")+1:]
	return len(host) <= 253 && hostName().MatchString(host) && strings.Trim(last, "0123456789") != ""
}

func validPort(port string, least uint64) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n >= least
}

// parseWorker repeats nothing back: a URL that is mistyped holds a password all
// the same.
func parseWorker(v string) (Worker, error) {
	kind, rest, more := strings.Cut(v, ":")
	switch {
	case kind == WorkerStatic:
		n, err := whole(rest, 0, 1023)
		if err != nil {
			return Worker{}, errors.New("static needs a number that no other instance has; write static:N with N from 0 to 1023")
		}
		return Worker{Kind: WorkerStatic, Number: n}, nil
	case kind == WorkerZooKeeper:
		z, err := ParseZooKeeper(v)
		return Worker{Kind: WorkerZooKeeper, ZooKeeper: z, url: NewSecret(v)}, err
	case kind == WorkerRedis && more:
		return Worker{}, errors.New("redis takes no address here; write redis alone, and the address in FLAKEPASS_REDIS")
	case (kind == WorkerFile || kind == WorkerSQL || kind == WorkerRedis) && !more:
		return Worker{Kind: kind}, nil
	default:
		return Worker{}, errors.New("this is not a way to get a worker number; write file, sql, redis, zookeeper://host:2181/path, or static:N with N from 0 to 1023")
	}
}

// String is the worker as an operator writes it, without its password.
func (w Worker) String() string {
	switch w.Kind {
	case WorkerStatic:
		return WorkerStatic + ":" + strconv.Itoa(w.Number)
	case WorkerZooKeeper:
		// A key names the instance; it is no secret.
		url, query, ok := strings.Cut(w.url.Reveal(), "?")
		if shown := hideURL(url); ok {
			return shown + "?" + query
		}
		return hideURL(url)
	}
	return w.Kind
}

// reserved are the headers that a token must not be looked for in: they have
// a meaning of their own, belong to one hop (RFC 9110, section 7.6.1), or are
// rewritten or logged on the way.
var reserved = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection", "Content-Encoding", "Content-Length",
	"Content-Type", "Cookie", "Cookie2", "Date", "Expect", "Forwarded", "Host", "Http2-Settings", "Idempotency-Key", "If-Match", "If-Modified-Since",
	"If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive", "Last-Event-Id", "Origin", "Pragma", "Priority", "Proxy-Authenticate",
	"Proxy-Authorization", "Proxy-Connection", "Range", "Referer", "Set-Cookie", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "User-Agent", "Via", "X-Auth-Act", "X-Auth-Expires-In", "X-Auth-Idle-Expires-In",
	"X-Auth-Passive", "X-Auth-Role", "X-Auth-Session-Id", "X-Auth-Signature", "X-Auth-Slots", "X-Auth-User-Id", "X-Auth-Username",
	"X-Real-Ip", "X-Request-Id",
}

// fieldName is a part of the tokens of RFC 9110, section 5.6.2: proxies such as nginx drop a header with
// an underscore, and other characters are a mistake, such as quotes that a shell did not take.
var fieldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z][0-9A-Za-z-]{0,63}$") })

func parseHeader(v string) (string, error) {
	if !fieldName().MatchString(v) {
		return "", fmt.Errorf("%s is not the name of a header; write one of at most 64 letters, digits and hyphens, such as X-Auth-Token", quoted(v))
	}
	name := textproto.CanonicalMIMEHeaderKey(v)
	if slices.Contains(reserved, name) || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Sec-") {
		return "", fmt.Errorf("the header %s has another meaning; choose one of your own, such as X-Auth-Token", name)
	}
	return name, nil
}

// minForwardKey is the least length of a key, in bytes: that of the hash that it
// is used with.
const minForwardKey = 32

func parseForwardKey(v string) (Secret, error) {
	if len(v) < minForwardKey {
		return Secret{}, fmt.Errorf("the key has %d characters and needs at least %d; make one with: openssl rand -hex 32", len(v), minForwardKey)
	}
	return NewSecret(v), nil
}

// A method is kept in a column of 64 characters, and is a label of a metric.
var method = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._:-]{0,63}$`) })

// mostMethods bounds the series of the metric.
const mostMethods = 64

// password is the method of a login with a password here.
const password = "pwd"

func parseMethods(v string) ([]string, error) {
	var all []string
	for _, item := range strings.Split(v, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == password:
			return nil, fmt.Errorf("%s is the method of a login with a password here; give that of another system another name, such as ldap", quoted(item))
		case !method().MatchString(item):
			return nil, fmt.Errorf("%s is no method; write 1 to 64 lower-case letters, digits and . _ : -, for example sms or oidc:apple", quoted(item))
		case !slices.Contains(all, item):
			all = append(all, item)
		}
	}
	if len(all) > mostMethods {
		return nil, fmt.Errorf("these are %d methods; write at most %d", len(all), mostMethods)
	}
	return all, nil
}
