package console

import (
	"crypto/rand"
	"net/http"
)

const requestIDHeader = "X-Request-Id"

// contentPolicy allows files of our own and nothing else: no inline script, no
// inline style, no frame, no other host, and no text that becomes markup in the
// browser (Trusted Types, with no policy that could make one).
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// harden sets the headers that every answer below /console/ has. What is shown
// is for one person, hence no-store. The code of a link is in a URL, hence
// same-origin: no other site hears of it, and our own forms still say where
// they come from, which no-referrer would hide.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set(requestIDHeader, rand.Text())
		next.ServeHTTP(w, r)
	})
}
