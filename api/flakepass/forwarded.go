package flakepass

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Forwarded believes a proxy that has asked GET /v1/verify for each request
// and hands the answer on in headers (docs/proxies). It is a field of a [Guard].
// Set the fields once, before use.
//
// Every client can send such headers. They are believed only if every condition that is set here
// holds. If no condition is set, they are never believed. A header that was not believed does not
// reach the handler, nor a later reader of the request. The same is so for every other spelling of
// these headers, such as X_Auth_Role and X.Auth.Role, which some frameworks read as X-Auth-Role.
// The map of the request's headers is changed in place.
//
// The signature does not reach the handler either. A second Guard behind the first has it from the
// context of the request, and checks all of its own conditions again.
//
// A request without any of these headers brings no token. One whose headers are
// not believed, or not complete, is answered 503 and never 401: a proxy that got
// a new address or lost its key must not make apps throw their tokens away.
// [Guard.Undecided] receives an error wrapping [ErrForwarded], which says what to do.
//
// The Identity has what the server answered to the proxy. Its IssuedAt is read from the
// SessionID, and LastSeenAt is not known: it is zero. A client that polls through a
// proxy sends [PassiveHeader], which the proxy must pass on; [Guard.Passive]
// comes too late.
type Forwarded struct {
	// From lists the addresses of the proxies, as the connection has them
	// (RemoteAddr of the request; a header never counts). Do not put anything
	// in front of the Guard that changes RemoteAddr by a header.
	//
	// It protects against clients that cannot reach the service from such an address,
	// and not against another program that can. A Unix socket has no address: use
	// Keys there.
	From []netip.Prefix

	// Keys are those of which one must have signed the headers: see
	// [ForwardKey]. More than one lets a key be changed without an outage.
	Keys []ForwardKey
}

// ErrForwarded means that a request brings an identity that is not to be
// believed. A [Guard] answers 503.
var ErrForwarded = errors.New("forwarded identity not believed")

// The headers in which GET /v1/verify returns the identity.
const (
	userIDHeader    = "X-Auth-User-Id"
	usernameHeader  = "X-Auth-Username"
	roleHeader      = "X-Auth-Role"
	sessionIDHeader = "X-Auth-Session-Id"
	// actHeader is there in place of sessionIDHeader if an admin acts for the user. Its value is
	// the ID of the admin, a semicolon and the ID of the session. So if it is lost on the way, the
	// identity is not complete. And a release that does not know actHeader does not take such a
	// request for one of the user.
	actHeader       = "X-Auth-Act"
	signatureHeader = "X-Auth-Signature"
)

// identityHeaders begins with the four headers that every answer about a login of the user has.
// The others follow.
var identityHeaders = [...]string{
	userIDHeader, usernameHeader, roleHeader, sessionIDHeader,
	ExpiresInHeader, IdleExpiresInHeader, actHeader, signatureHeader,
}

const (
	always   = 4 // of identityHeaders
	actClaim = 6 // the one of actHeader
)

// take reads who the proxy says sent r, and takes out of its headers whatever
// must not be believed. It is anonymous, and ErrMissing, if r does not say.
func (f *Forwarded) take(r *http.Request) (who Identity, anonymous bool, err error) {
	claims, claimed := claimsOf(r.Header)
	if !claimed {
		strip(r.Header, false)
		return Identity{}, true, ErrMissing
	}
	claims.recall(r.Context())
	now := time.Now()
	if err = f.believe(r, &claims, now); err == nil {
		who, err = claims.identity(now)
	}
	if err != nil {
		strip(r.Header, false)
		return Identity{}, false, fmt.Errorf("%w: %w", ErrForwarded, err)
	}
	strip(r.Header, true)
	return who, false, nil
}

// believe checks all that is set.
func (f *Forwarded) believe(r *http.Request, c *claims, now time.Time) error {
	if len(f.From) == 0 && len(f.Keys) == 0 {
		return errors.New("neither Forwarded.From nor Forwarded.Keys is set")
	}
	if len(f.From) > 0 {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		ip := peer.Addr().Unmap().WithZone("") // no prefix has a zone, and so none contains an address with one
		if err != nil || !slices.ContainsFunc(f.From, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return fmt.Errorf("the connection comes from %q, which is not in Forwarded.From", r.RemoteAddr)
		}
	}
	for i, values := range c {
		if len(values) > 1 {
			return fmt.Errorf("%s is there %d times; let the proxy replace it and not add to it", identityHeaders[i], len(values))
		}
	}
	if len(f.Keys) > 0 {
		return verifySignature(f.Keys, c, r.Method, requestURI(r), now)
	}
	return nil
}

// requestURI is the target of r as it came over the wire: what a proxy hands to
// GET /v1/verify as X-Forwarded-Uri.
func requestURI(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.EscapedPath()
}

// claims are the values of identityHeaders.
type claims [len(identityHeaders)][]string

// claimsOf reports also whether there is a claim at all. Times alone say
// nothing.
func claimsOf(h http.Header) (c claims, claimed bool) {
	for i, name := range identityHeaders {
		c[i] = h[name]
		claimed = claimed || len(c[i]) > 0 && name != ExpiresInHeader && name != IdleExpiresInHeader
	}
	return c, claimed
}

type signatureKey struct{}

// withSignature is r with the signature that it came with in its context: a Guard takes it out of
// the headers. Only the signature is kept, and not that it was believed. So a second Guard believes
// no other identity, method or path than the first, nor for longer than [ForwardWindow].
func withSignature(r *http.Request, text string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), signatureKey{}, &text)) // a context prints a string, and no pointer
}

// recall adds the signature that a Guard in front has taken out.
func (c *claims) recall(ctx context.Context) {
	const i = len(identityHeaders) - 1
	if text, ok := ctx.Value(signatureKey{}).(*string); ok && len(c[i]) == 0 {
		c[i] = []string{*text}
	}
}

// value is the one value at i, or empty.
func (c *claims) value(i int) string {
	if len(c[i]) == 0 {
		return ""
	}
	return c[i][0]
}

// identity reads the claims as they are written by [ForwardKey.Forward].
func (c *claims) identity(now time.Time) (who Identity, err error) {
	wrong := func(name string) error { return fmt.Errorf("%s is not what /v1/verify answers", name) }
	if text := c.value(actClaim); text != "" {
		admin, session, _ := strings.Cut(text, ";")
		if who.Act, err = ParseID(admin); err != nil || c.value(3) != "" {
			return Identity{}, wrong(actHeader)
		}
		c[3] = []string{session}
	}
	for i := range always {
		if c.value(i) == "" {
			// Such as the client's "Connection: X-Auth-Role", by which the next hop
			// takes it out (RFC 9110 section 7.6.1).
			return Identity{}, fmt.Errorf("%s is missing; let the proxy copy it, and drop the Connection header of clients", identityHeaders[i])
		}
	}
	if who.UserID, err = ParseID(c.value(0)); err != nil {
		return Identity{}, wrong(userIDHeader)
	}
	if who.Username, err = url.PathUnescape(c.value(1)); err != nil || url.PathEscape(who.Username) != c.value(1) {
		return Identity{}, wrong(usernameHeader)
	}
	if who.Role = c.value(2); strings.ContainsFunc(who.Role, notOfRole) {
		return Identity{}, wrong(roleHeader)
	}
	if who.SessionID, err = ParseID(c.value(3)); err != nil {
		return Identity{}, wrong(sessionIDHeader)
	}
	who.IssuedAt = who.SessionID.Time()
	for i, at := range map[int]*time.Time{4: &who.ExpiresAt, 5: &who.IdleExpiresAt} {
		if text := c.value(i); text != "" {
			seconds, err := strconv.ParseUint(text, 10, 32) // 136 years
			if err != nil {
				return Identity{}, wrong(identityHeaders[i])
			}
			*at = now.UTC().Add(time.Duration(seconds) * time.Second)
		}
	}
	return who, nil
}

func notOfRole(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
}

// strip takes every spelling of the identity headers out of h; if they are
// believed, all but the right one. The signature is only for the service.
func strip(h http.Header, believed bool) {
	for name := range h {
		canonical := fold(name)
		if canonical != "" && (!believed || name != canonical || name == signatureHeader) {
			delete(h, name)
		}
	}
}

// fold returns the identity header that name is, or is taken for where whatever
// is neither a letter nor a digit counts the same (RFC 3875 section 4.1.18: CGI,
// and after it WSGI and PHP); empty if it is none.
func fold(name string) string {
	if len(name) < len(actHeader) || name[0]|0x20 != 'x' {
		return ""
	}
	for _, known := range identityHeaders {
		if len(known) == len(name) && folded(name, known) {
			return known
		}
	}
	return ""
}

func folded(name, known string) bool {
	for i := range len(name) {
		a, b := name[i], known[i]
		if b == '-' {
			if alphanumeric(a) {
				return false
			}
		} else if a != b && a != b|0x20 && a != b&^0x20 {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
