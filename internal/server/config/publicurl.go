package config

import (
	"errors"
	"net/url"
	"strings"
)

// parsePublicURL takes a scheme and a host, and a slash behind them, which is
// dropped: paths of ours go there.
func parsePublicURL(dst *string, v string) error {
	if v == "" {
		*dst = ""
		return nil
	}
	u, err := url.Parse(v) // its error quotes the text, which may hold a password
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || strings.ContainsFunc(u.Host, notOfHost) ||
		u.Port() == "" && strings.HasSuffix(u.Host, ":") || u.Port() != "" && !validPort(u.Port(), 1) {
		return errors.New("this is not the URL of a server; write for example https://auth.example.org")
	}
	if u.User != nil {
		return errors.New("write the URL without a user: it is shown to people")
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("write the URL without a path, a query and a fragment: the server knows its own paths")
	}
	*dst = u.Scheme + "://" + u.Host
	return nil
}

// notOfHost is what net/url lets through in a host, and nothing can be reached by.
func notOfHost(r rune) bool { return strings.ContainsRune(`"<>!$&'()*+,;=%`, r) }
