package adminui

import (
	"net/http"

	"github.com/flakepass/flakepass"
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
