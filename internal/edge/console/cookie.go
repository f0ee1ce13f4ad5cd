package console

import (
	"net/http"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// cookieName begins with __Host-, which browsers accept only with Secure, for
// the whole host and for no other, and only over HTTPS or from this very
// machine: Chromium and Firefox count http://127.0.0.1 and http://localhost as
// safe. A browser that does not keeps no cookie, and the login page says so.
const cookieName = "__Host-flakepass"

// bake is the cookie with the token of a login. It ends with the browser, and
// no script can read it. SameSite=Strict keeps other sites from sending it
// along, which checkOrigin does not rely on.
func bake(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

func keep(w http.ResponseWriter, t flakepass.Token) { http.SetCookie(w, bake(t.Reveal(), 0)) }

// deviceCookie has the credential of the browser as a device. It outlives the
// login, and opens nothing.
const deviceCookie = cookieName + "-device"

// deviceAge is how long a browser keeps it, in seconds: as long as it is of use.
const deviceAge = 90 * 24 * 60 * 60

func keepDevice(w http.ResponseWriter, c ratelimit.DeviceCredential) {
	cookie := bake(c.Reveal(), deviceAge) //nolint:gosec // as every cookie that it makes
	cookie.Name = deviceCookie
	http.SetCookie(w, cookie)
}

// carriedDevice is the device credential that a browser sent, or none.
func carriedDevice(r *http.Request) (c ratelimit.DeviceCredential) {
	if all := r.CookiesNamed(deviceCookie); len(all) == 1 {
		c, _ = ratelimit.ParseDeviceCredential(all[0].Value)
	}
	return c
}

func forget(w http.ResponseWriter) { http.SetCookie(w, bake("", -1)) }

// carried is the token that a browser sent. Two cookies of the name are none:
// which one counts is anybody's guess.
func carried(r *http.Request) (flakepass.Token, error) {
	all := r.CookiesNamed(cookieName)
	switch len(all) {
	case 0:
		return flakepass.Token{}, flakepass.ErrMissing
	case 1:
		return flakepass.ParseToken(all[0].Value)
	}
	return flakepass.Token{}, flakepass.ErrAmbiguous
}
