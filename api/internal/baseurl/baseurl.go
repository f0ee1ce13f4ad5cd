// Package baseurl checks the address of a server.
package baseurl

import (
	"errors"
	"net/url"
)

// Parse reads the address of a flakepass server, below which its paths lie. The error says
// what is wrong with that option, and repeats nothing of the text: it may hold a password.
func Parse(option, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return nil, errors.New(option + " must be that of a flakepass server, such as https://auth.example.org")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New(option + " must have no user, query or fragment")
	}
	return u, nil
}
