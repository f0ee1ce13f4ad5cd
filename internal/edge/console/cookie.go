package console

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// cookieName begins with __Host-, which browsers accept only with Secure, for
// the whole host and for no other, and only over HTTPS or from this very
// machine: Chromium and Firefox count http://127.0.0.1 and http://localhost as
// safe. A browser that does not keeps no cookie, and the login page says so.
const cookieName = "__Host-flakepass"

// newCookie is the cookie with the token of a login. It ends with the browser, and
// no script can read it. SameSite=Strict keeps other sites from sending it
// along, which checkOrigin does not rely on.
func newCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

func setToken(w http.ResponseWriter, t flakepass.Token) { http.SetCookie(w, newCookie(t.Reveal(), 0)) }

// deviceCookie has the credential of the browser as a device. It outlives the
// login, and opens nothing.
const deviceCookie = cookieName + "-device"

// deviceAge is how long a browser keeps it, in seconds: as long as it is of use.
const deviceAge = 90 * 24 * 60 * 60

func setDeviceCredential(w http.ResponseWriter, c ratelimit.DeviceCredential) {
	keep(w, deviceCookie, c.Reveal(), deviceAge)
}

// keep sets a cookie that outlives the login, locked as that of the login is.
func keep(w http.ResponseWriter, name, value string, age int) {
	cookie := newCookie(value, age) //nolint:gosec // as every cookie that it makes
	cookie.Name = name
	http.SetCookie(w, cookie)
}

// browserCookie has a random ID of the browser, so that two browsers of an admin are two
// devices. It is no secret of a login, and opens nothing.
const browserCookie = cookieName + "-browser"

// browserAge is how long a browser keeps it, in seconds. Browsers keep no cookie for longer.
const browserAge = 400 * 24 * 60 * 60

// device is the browser as a device. One that has no ID gets one when its login has begun.
func (q *request) device() *session.Device {
	id := q.newBrowser
	if all := q.r.CookiesNamed(browserCookie); len(all) == 1 {
		id = all[0].Value
	} else if id == "" {
		q.newBrowser = rand.Text()
		id = q.newBrowser
	}
	d, _ := session.ParseDevice([]string{"web"}, "web", "flakepass console", id) // with an ID that is too long it is of no class
	return d
}

func (q *request) setBrowser() {
	if q.newBrowser != "" {
		keep(q.w, browserCookie, q.newBrowser, browserAge)
	}
}

// deviceCredential is the device credential that a browser sent, or none.
func deviceCredential(r *http.Request) (c ratelimit.DeviceCredential) {
	if all := r.CookiesNamed(deviceCookie); len(all) == 1 {
		c, _ = ratelimit.ParseDeviceCredential(all[0].Value)
	}
	return c
}

func clearToken(w http.ResponseWriter) { http.SetCookie(w, newCookie("", -1)) }

// tokenOf is the token that a browser sent. Two cookies of the name are none: which
// one counts would be a guess.
func tokenOf(r *http.Request) (flakepass.Token, error) {
	all := r.CookiesNamed(cookieName)
	switch len(all) {
	case 0:
		return flakepass.Token{}, flakepass.ErrMissing
	case 1:
		return flakepass.ParseToken(all[0].Value)
	}
	return flakepass.Token{}, flakepass.ErrAmbiguous
}

// address is where a request comes from, for the log and the record. The API
// logs what is wrong with the headers of a proxy.
func (u *UI) address(r *http.Request) string {
	a, _ := clientaddr.Of(r, u.TrustedProxies)
	return clientaddr.Text(a)
}

// safePath is p if it leads to a page of the console, and the overview
// otherwise. It keeps the login page from leading to another site.
func safePath(p string) string {
	if len(p) > 1000 || strings.ContainsAny(p, "\\\r\n\t\x00#") {
		return homePath
	}
	to, err := url.Parse(p)
	if err != nil || to.Scheme != "" || to.Host != "" || to.User != nil || to.Opaque != "" {
		return homePath
	}
	clean := path.Clean(to.Path)
	if !strings.HasPrefix(to.Path, homePath) || clean != strings.TrimSuffix(to.Path, "/") || to.EscapedPath() != to.Path {
		return homePath
	}
	if strings.HasPrefix(clean, usersPath+"/") && path.Dir(clean) != usersPath {
		return homePath // a user has one page, and what is below it is for forms only
	}
	switch clean {
	case loginPath, codePath, roomPath, setupPath, passwordPath, logoutPath, "/console/language", expiryPath + "/revert", loginsPath + "/end", loginsPath + "/end-all", keysPath + "/revoke":
		return homePath
	}
	return to.String()
}
