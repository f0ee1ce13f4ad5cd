package console

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// versions are the beginnings of the hashes of the assets, by name.
var versions = func() map[string]string {
	m := map[string]string{}
	files, err := assetFiles.ReadDir("assets")
	if err != nil { // embedded: the tests would see it fail
		panic(err)
	}
	for _, f := range files {
		body, err := assetFiles.ReadFile("assets/" + f.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		m[f.Name()] = hex.EncodeToString(sum[:6])
	}
	return m
}()

// assetURL is where a page finds an asset. It changes with the asset, so a
// browser may keep what it has for as long as it likes.
func assetURL(name string) string { return "/console/assets/" + name + "?v=" + versions[name] }

// asset serves one file of the binary. There is no listing.
func (u *UI) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	body, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		q := u.request(w, r)
		q.message(http.StatusNotFound, q.t.message("not_found"))
		return
	}
	// Not by package mime, which asks the machine it runs on.
	switch path.Ext(name) {
	case ".css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
	case ".js":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	case ".svg":
		w.Header().Set("Content-Type", "image/svg+xml")
	}
	if r.URL.Query().Get("v") == versions[name] {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

const requestIDHeader = "X-Request-Id"

// contentPolicy allows files of our own and nothing else: no inline script, no
// inline style, no frame, no other host, and no text that becomes markup in the
// browser (Trusted Types, with no policy that could make one).
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// harden sets the headers that every answer below /console/ has. What is shown
// is for one person, hence no-store. The code of a link is in a URL, hence
// same-origin: no other site receives it, and the forms of the console still say where
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

// A menuItem is a page that the menu leads to.
type menuItem struct {
	Path, Name string
	Current    bool
}

// Menu leads to all pages.
func (f frame) Menu() []menuItem {
	items := []menuItem{
		{Path: homePath, Name: f.T.Text("menu.overview")},
		{Path: usersPath, Name: f.T.Text("menu.users")},
		{Path: loginsPath, Name: f.T.Text("menu.logins")},
		{Path: expiryPath, Name: f.T.Text("menu.expiry")},
		{Path: limitsPath, Name: f.T.Text("limits.title")},
		{Path: auditPath, Name: f.T.Text("menu.audit")},
		{Path: accountPath, Name: f.T.Text("account.title")},
	}
	for i := range items {
		items[i].Current = items[i].Path == f.Here
	}
	return items
}

// uncheckable logs that a user with the right passphrase cannot log in, because the
// key of the second factor is not configured. The operator can mend that.
func (q *request) uncheckable(what string, err error) {
	q.u.Log.ErrorContext(q.r.Context(), "console: a second factor cannot be checked; set FLAKEPASS_SECOND_FACTOR_KEY to the key with which it was added",
		"at", what, "err", err, "request_id", q.w.Header().Get(requestIDHeader))
}
