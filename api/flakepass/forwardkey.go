package flakepass

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A ForwardKey signs who sent a request, on the way from a proxy to the services
// behind it: HMAC-SHA-256 (RFC 2104) over the identity headers, the time, and the
// method and path of the request. flakepass signs its answers to GET /v1/verify
// if FLAKEPASS_FORWARD_KEY is set; [Forwarded] with the same key believes them.
// The zero ForwardKey signs nothing. A ForwardKey does not print itself.
//
// It protects against clients that can reach the service but do not know the key:
// an identity cannot be made up, changed, or moved to another method or path. It
// does not hide anything, does not cover the query or the body, and does not
// notice a repetition: within [ForwardWindow] a signed request that an attacker
// reads can be sent again, with another query and body. So it is no substitute
// for TLS where others can listen. A request that was signed before a logout can be sent again
// after the logout: it is believed for as long as [ForwardWindow].
type ForwardKey struct {
	_      [0]func() // not comparable
	secret *string   // fmt reads through unexported fields, and of a pointer shows the address
}

// ForwardWindow is how old a signature may be. It is also how far a signature may be ahead of this
// machine's clock. So the clocks of flakepass and of the services may differ by at most this time,
// less the time that a request takes.
const ForwardWindow = 30 * time.Second

// MinForwardKey is the least length of the text of a [ForwardKey], in bytes.
const MinForwardKey = 32

// NewForwardKey makes a key of a text, of which every byte counts. It must have
// at least [MinForwardKey] bytes; the error does not repeat it. Make one with:
// openssl rand -hex 32.
func NewForwardKey(text string) (ForwardKey, error) {
	if len(text) < MinForwardKey {
		return ForwardKey{}, fmt.Errorf("a key has at least %d characters, and this has %d; make one with: openssl rand -hex 32", MinForwardKey, len(text))
	}
	return ForwardKey{secret: &text}, nil
}

// IsZero reports whether k signs nothing.
func (k ForwardKey) IsZero() bool { return k.secret == nil }

// String says that there is a key.
func (k ForwardKey) String() string {
	if k.IsZero() {
		return "key(none)"
	}
	return "key(hidden)"
}

// Format hides the key under every verb of fmt.
func (k ForwardKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue hides the key from slog.
func (k ForwardKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText hides the key from encoders.
func (k ForwardKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Forward sets in h every header with the identity, as GET /v1/verify
// answers, and signs them for a request of that method and target; a query does
// not count. It is for proxies that are written in Go and have a [Guard] of their
// own. Headers that it does not set it deletes; other spellings of theirs are the
// caller's to strip.
func (k ForwardKey) Forward(h http.Header, who *Identity, method, target string) {
	// One text for all numbers, and one array for all values; no caller can append to a part.
	var room [80]byte // four numbers of 64 bits
	ids := strconv.AppendInt(room[:0], int64(who.UserID), 10)
	user := len(ids)
	ids = strconv.AppendInt(ids, int64(who.SessionID), 10)
	session := len(ids)
	digits, first := appendTimes(ids, who, time.Now())
	text := string(digits)
	v := []string{text[:user], url.PathEscape(who.Username), who.Role, text[user:session], text[session:first], text[first:]} // a header holds ASCII only
	for i := range v {
		if name := identityHeaders[i]; v[i] != "" || i < always {
			h[name] = v[i : i+1 : i+1]
		} else {
			delete(h, name)
		}
	}
	delete(h, actHeader)
	if who.Act != 0 {
		h[actHeader] = []string{who.Act.String() + ";" + v[3]}
		delete(h, sessionIDHeader)
	}
	delete(h, signatureHeader)
	if k.IsZero() || method == "" || target == "" {
		return
	}
	c, _ := claimsOf(h)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	h.Set(signatureHeader, at+"."+base64.RawURLEncoding.EncodeToString(k.sum(&c, method, target, at)))
}

// sum is the MAC. Line ends separate the parts, which none of them can
// hold; the first says what is signed, so that the key cannot be made to sign
// anything else.
func (k ForwardKey) sum(c *claims, method, target, at string) []byte {
	mac := hmac.New(sha256.New, []byte(*k.secret))
	path, _, _ := strings.Cut(target, "?")
	line := func(part string) { _, _ = mac.Write([]byte(part + "\n")) }
	for _, part := range []string{"flakepass forwarded identity 1", at, method, path} {
		line(part)
	}
	for i := range len(identityHeaders) - 1 { // all but the signature
		if i != actClaim || c.value(i) != "" { // what has none is signed as an earlier release does
			line(c.value(i))
		}
	}
	return mac.Sum(nil)
}

// verifySignature returns nil if one of the keys has signed c for that request,
// just now.
func verifySignature(keys []ForwardKey, c *claims, method, target string, now time.Time) error {
	text := c.value(len(identityHeaders) - 1)
	if text == "" {
		return errors.New("there is no signature; set FLAKEPASS_FORWARD_KEY, and let the proxy send X-Forwarded-Method and X-Forwarded-Uri to /v1/verify and copy " + signatureHeader)
	}
	at, sum, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != at {
		return errors.New(signatureHeader + " is not what /v1/verify answers")
	}
	got, err := base64.RawURLEncoding.Strict().DecodeString(sum)
	if err != nil || len(got) != sha256.Size || len(sum) != base64.RawURLEncoding.EncodedLen(len(got)) { // the decoder skips ends of lines
		return errors.New(signatureHeader + " is not what /v1/verify answers")
	}
	for i := range c {
		if strings.Contains(c.value(i), "\n") { // not from a wire
			return fmt.Errorf("%s has a line end", identityHeaders[i])
		}
	}
	good := false
	for _, k := range keys {
		if !k.IsZero() && hmac.Equal(got, k.sum(c, method, target, at)) {
			good = true
		}
	}
	switch age := now.Sub(time.Unix(seconds, 0)); {
	case !good:
		return errors.New("the signature is for another identity, method or path, or made with another key")
	case age > ForwardWindow || age < -ForwardWindow:
		return fmt.Errorf("the signature is %v old, and %v is the most; is a clock wrong?", age.Round(time.Second), ForwardWindow)
	}
	return nil
}
