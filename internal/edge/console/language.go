package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// languageCookie keeps the choice of a person. It is no secret.
const languageCookie = "flakepass-language"

// language is the one that the person chose, or the first of those that the
// browser asks for, by their weights (RFC 9110 section 12.5.4).
func language(r *http.Request) *texts {
	if c, err := r.Cookie(languageCookie); err == nil {
		if t := speak(c.Value); t != nil {
			return t
		}
	}
	type wish struct {
		t      *texts
		weight float64
	}
	var wishes []wish
	for i, part := range strings.Split(r.Header.Get("Accept-Language"), ",") {
		tag, params, _ := strings.Cut(part, ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			var err error
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if t := speak(strings.TrimSpace(tag)); t != nil && weight > 0 {
			wishes = append(wishes, wish{t, weight})
		}
		if i == 20 { // nobody speaks more
			break
		}
	}
	if len(wishes) == 0 {
		return languages()[0]
	}
	return slices.MaxFunc(wishes, func(a, b wish) int { // the first of equals
		switch {
		case a.weight < b.weight:
			return -1
		case a.weight > b.weight:
			return 1
		}
		return 0
	}).t
}

// speak finds a language by its tag, or nil. Traditional Chinese is served with
// the Simplified that there is.
func speak(tag string) *texts {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, t := range languages() {
		if p, _, _ := strings.Cut(t.Lang, "-"); p == primary {
			return t
		}
	}
	return nil
}

func (u *UI) chooseLanguage(v *visit, form url.Values) {
	if t := speak(form.Get("lang")); t != nil {
		http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // no secret, and to be kept over plain HTTP, too
			Name: languageCookie, Value: t.Lang, Path: "/console/", MaxAge: 365 * 24 * 3600,
			HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.r.TLS != nil,
		})
	}
	next := form.Get("next")
	if back, err := url.Parse(next); err == nil && back.Path == loginPath { // which safePath would not lead back to
		v.see(loginPath, url.Values{"next": {safePath(back.Query().Get("next"))}})
		return
	}
	v.see(safePath(next), nil)
}
