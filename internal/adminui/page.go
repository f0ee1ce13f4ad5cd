package adminui

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"strconv"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// messageView is what message.html shows.
type messageView struct {
	T *texts
	message
}

// harden sets the headers that every answer below /console/ has. The code of
// a link is in the URL, hence no-referrer and no-store.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (u *UI) message(w http.ResponseWriter, status int, m message) {
	u.render(w, status, "message", messageView{u.texts, m})
}

// render writes a page. It is whole before the status is written, so that a
// mistake in a template is a 500 and not half a page.
func (u *UI) render(w http.ResponseWriter, status int, page string, view any) {
	var b bytes.Buffer
	if err := u.pages.ExecuteTemplate(&b, page, view); err != nil {
		u.Log.Error("cannot render page", "page", page, "error", err)
		http.Error(w, u.texts.Broken, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the visitor has gone
}

// asset serves one file of the binary. There is no listing.
func (u *UI) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	body, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		u.message(w, http.StatusNotFound, u.texts.NotFound)
		return
	}
	// Not by package mime, which asks the machine it runs on.
	switch path.Ext(name) {
	case ".css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
	case ".js":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
