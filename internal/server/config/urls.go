package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The URLs are taken apart here and not by net/url, whose errors quote what
// they were given, password and all, and which knows no lists of hosts. No
// error of this file quotes any part of its input.

// pieces are the parts of scheme://user:password@host,host/path?query. The
// parts that end in Raw are still percent-encoded.
type pieces struct {
	scheme      string
	userRaw     string
	passwordRaw string
	hasUser     bool // there is an @
	hasPassword bool // there is a : before it
	hosts       []string
	path        string // without its first /
	query       string
	hasQuery    bool
}

var (
	errEncoding = errors.New("the URL is malformed; in a user or password write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25")
	errFragment = errors.New("the URL has a # in it; if it belongs to the user or password, write %23")
)

func takeApart(v string) (pieces, error) {
	var p pieces
	var rest string
	p.scheme, rest, _ = strings.Cut(v, "://")
	if strings.Contains(rest, "#") {
		return pieces{}, errFragment
	}
	rest, p.query, p.hasQuery = strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	p.path = path
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		p.hasUser = true
		p.userRaw, p.passwordRaw, p.hasPassword = strings.Cut(authority[:at], ":")
		authority = authority[at+1:]
	}
	if strings.Contains(path, "@") || strings.Contains(p.query, "@") {
		return pieces{}, errEncoding // a / or ? in a password ended it too early
	}
	for _, raw := range []string{p.userRaw, p.passwordRaw, p.path} {
		if _, err := url.PathUnescape(raw); err != nil {
			return pieces{}, errEncoding
		}
	}
	p.hosts = strings.Split(authority, ",")
	return p, nil
}

// addresses checks the hosts and gives each its port.
func (p pieces) addresses(defaultPort string) ([]string, error) {
	var addrs []string
	for _, h := range p.hosts {
		if h == "" {
			return nil, errors.New("the URL names no host, or has a comma with no host beside it; write scheme://host:port")
		}
		host, port, err := net.SplitHostPort(h)
		if err != nil { // no port, or not an address at all: validHost decides
			host, port = h, defaultPort
			if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") {
				host = h[1 : len(h)-1]
			} else if strings.Contains(h, ":") {
				host = "" // an IPv6 address without brackets
			}
		}
		if strings.HasPrefix(h, "[") {
			if a, err := netip.ParseAddr(host); err != nil || !a.Is6() || a.Zone() != "" {
				host = ""
			}
		}
		if !validHost(host) || strings.Contains(host, "%") {
			return nil, errors.New("the URL's host is neither an IP address nor a host name; if part of a password ended up there, write its @ as %40, : as %3A and / as %2F; IPv6 addresses go in brackets")
		}
		if !validPort(port, 1) {
			return nil, errors.New("the URL's port must be a number from 1 to 65535; if part of a password ended up there, write its / as %2F and its ? as %3F")
		}
		addrs = append(addrs, net.JoinHostPort(host, port))
	}
	return addrs, nil
}

// plainParams are the parameters of a MySQL URL whose values are shown; those
// of all others are hidden, because what they mean is not known.
var plainParams = []string{"tls", "timeout", "readTimeout", "writeTimeout", "compress", "allowCleartextPasswords"}

// showURL is a checked URL with what is secret in it replaced.
func showURL(u Secret) string { return hideURL(u.Reveal()) }

// hideURL is a checked URL with what is secret in it replaced.
func hideURL(v string) string {
	if v == "" {
		return ""
	}
	p, err := takeApart(v)
	if err != nil || !strings.Contains(v, "://") {
		return mask
	}
	var b strings.Builder
	b.WriteString(p.scheme + "://")
	if p.hasUser {
		b.WriteString(p.userRaw)
		if p.hasPassword {
			b.WriteString(":" + mask)
		}
		b.WriteString("@")
	}
	b.WriteString(strings.Join(p.hosts, ","))
	if p.path != "" {
		b.WriteString("/" + p.path)
	}
	if p.hasQuery {
		separator := "?"
		for _, pair := range strings.Split(p.query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			if !slices.Contains(plainParams, name) {
				value = mask
			}
			b.WriteString(separator + name + "=" + value)
			separator = "&"
		}
	}
	return b.String()
}

// parsePublicURL takes a scheme and a host, and a slash behind them, which is
// dropped: paths of ours go there.
func parsePublicURL(v string) (string, error) {
	u, ok := webURL(v)
	if !ok {
		return "", errors.New("this is not the URL of a server; write for example https://auth.example.org")
	}
	if u.User != nil {
		return "", errors.New("write the URL without a user: it is shown to people")
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", errors.New("write the URL without a path, a query and a fragment: the server knows its own paths")
	}
	return u.Scheme + "://" + u.Host, nil
}

// webURL is v as the URL of a server that speaks HTTP.
func webURL(v string) (*url.URL, bool) {
	u, err := url.Parse(v) // its error quotes the text, which may hold a password
	return u, err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && !strings.ContainsFunc(u.Host, notOfHost) &&
		(u.Port() != "" || !strings.HasSuffix(u.Host, ":")) && (u.Port() == "" || validPort(u.Port(), 1))
}

// notOfHost is what net/url lets through in a host, and nothing can be reached by.
func notOfHost(r rune) bool { return strings.ContainsRune(`"<>!$&'()*+,;=%`, r) }

// parseHookURL takes https, and http on this machine: passwords go there.
func parseHookURL(v string) (string, error) {
	u, ok := webURL(v)
	if !ok {
		return "", errors.New("this is not the URL of a server; write for example https://old.example.org/flakepass")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", errors.New("write the URL without a user, a query and a fragment: it is shown, and " + prefix + "IMPORT_HOOK_SECRET says who asks")
	}
	if a, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !a.IsLoopback()) {
		return "", errors.New("passwords are sent there; write https, or http for localhost")
	}
	return v, nil
}

// Lengths of the secret, in bytes: those of Standard Webhooks 1.0.
const minHookSecret, maxHookSecret = 24, 64

// parseHookSecret reads the bytes. No error repeats any.
func parseHookSecret(v string) (Secret, error) {
	secret, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(v, "whsec_"))
	if err != nil || len(secret) < minHookSecret || len(secret) > maxHookSecret {
		return Secret{}, fmt.Errorf("the secret is not %d to %d bytes in base64; make one with: echo \"whsec_$(openssl rand -base64 32)\"", minHookSecret, maxHookSecret)
	}
	return NewSecret(string(secret)), nil
}
