package console

import (
	"bytes"
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
		v := u.visit(w, r)
		v.message(http.StatusNotFound, v.t.message("not_found"))
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
