package console_test

import (
	"html"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

func TestEveryAnswerIsHardened(t *testing.T) {
	w := newWorld(t)
	want := http.Header{
		"Content-Security-Policy": {"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
		"X-Content-Type-Options": {"nosniff"},
		"Cache-Control":          {"no-store"},
	}
	for name, page := range map[string]*httptest.ResponseRecorder{
		"form": w.open(), "bad code": w.get("/console/setup?code=x"), "style": w.get("/console/assets/console.css"),
		"script": w.get("/console/assets/setup.js"), "unknown": w.get("/console/nothing"), "problem": w.send("x", "x"),
		"method": w.do(httptest.NewRequest(http.MethodDelete, "/console/setup", nil)), "cleaned": w.get("/console//x"),
		"done": w.send("grace", passphrase), "used": w.open(),
	} {
		for key := range want {
			if got := page.Header().Get(key); got != want.Get(key) {
				t.Errorf("%s: %s = %q, want %q", name, key, got, want.Get(key))
			}
		}
	}
}

func TestUnknownPathsArePages(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/console/nothing", "/console/setup/", "/console/assets/", "/console/assets/nothing.css",
		"/console/assets/%2e%2e%2fconsole.go", "/console/assets/..%2fpages%2fsetup.html", "/elsewhere"} {
		page := w.get(path)
		wantStatus(t, page, 404)
		wantText(t, page, "This page does not exist")
		if got := page.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
			t.Errorf("%s: Content-Type %q", path, got)
		}
	}
	page := w.do(httptest.NewRequest(http.MethodDelete, "/console/setup", nil))
	wantStatus(t, page, 405)
	if got := page.Header().Get("Allow"); got != "GET, HEAD, POST" {
		t.Errorf("Allow = %q", got)
	}
}

var loads = regexp.MustCompile(`(?:href|src|action)="([^"]+)"`)

// The policy forbids whatever is not a file of our own; a page that has such
// a thing would look broken.
func TestPagesKeepTheirOwnPolicy(t *testing.T) {
	w := newWorld(t)
	w.populate(2)
	c := w.enter()
	w.record.events = []audit.Event{{ID: 5, By: audit.Actor{ID: 7, Name: "ada", Via: audit.ViaConsole}, Action: audit.PolicyChanged, Target: audit.Target{Kind: "user", ID: 9, Name: "bob"}}}
	w.giveResets()
	w.giveOpenLinks(30)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script[^>]*>[^<]|javascript:|<base|<(?:object|embed|applet|i?frame|frameset|portal)\b`)
	for name, page := range map[string]*httptest.ResponseRecorder{
		"form": w.open(), "problem": w.send("x", "x"), "unknown": w.get("/console/nothing"), "login": w.get("/console/login"),
		"home": w.see(c, "/console/"), "week": w.see(c, "/console/?span=week"), "audit": w.see(c, "/console/audit?actor=7"),
		"users": w.see(c, "/console/users"), "user": w.see(c, "/console/users/8"), "admin": w.see(c, "/console/users/7"), "logins": w.see(c, "/console/logins"),
		"everybody": w.sendForm(c, "/console/logins/end-all", "phrase", "x"), "bad user": w.sendForm(c, "/console/users", "username", "x", "password", "x", "role", "user"),
		"expiry": w.see(c, "/console/expiry"), "bad expiry": w.sendForm(c, "/console/expiry", "idle", "1m", "absolute", "x", "version", "1"),
		"given":    w.sendForm(c, "/console/users/8/reset", "life", "3600", "confirm_password", passphrase),
		"password": w.get("/console/password"), "bad password": w.setPassword("fpr_x", "x", "y"),
		"confirm": w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "1d", "touch", "1m", "schedule", "@hourly", "version", "1", "do", "save"),
	} {
		body := page.Body.String()
		if m := inline.FindString(body); m != "" {
			t.Errorf("%s has %q", name, m)
		}
		have := ids(body)
		for _, m := range loads.FindAllStringSubmatch(body, -1) {
			switch target := m[1]; {
			case strings.HasPrefix(target, "#"):
				if !have[target[1:]] {
					t.Errorf("%s links to %s, which is not there", name, target)
				}
			case strings.HasPrefix(target, "/console/assets/"):
				wantStatus(t, w.get(target), 200)
			case target != "/openapi.yaml" && target != "/console/setup" && !strings.Contains(target, "/reset") && !strings.HasPrefix(target, "/console/logins/end") && w.see(c, html.UnescapeString(target)).Code == 404:
				t.Errorf("%s refers to %s, which is not there", name, target)
			}
		}
		for _, m := range regexp.MustCompile(`(?:for|aria-controls|aria-labelledby|aria-describedby)="([^"]+)"`).FindAllStringSubmatch(body, -1) {
			for id := range strings.FieldsSeq(m[1]) {
				if !have[id] {
					t.Errorf("%s refers to the id %s, which is not there", name, id)
				}
			}
		}
	}
	for file, want := range map[string]string{"console.css": "text/css; charset=utf-8", "setup.js": "text/javascript; charset=utf-8", "mark.svg": "image/svg+xml"} {
		if got := w.get("/console/assets/" + file).Header().Get("Content-Type"); got != want {
			t.Errorf("%s: Content-Type %q, want %q", file, got, want)
		}
	}
}

// WCAG 2.2, success criteria 1.4.3 and 1.4.11.
func TestColoursHaveContrast(t *testing.T) {
	css := newWorld(t).get("/console/assets/console.css").Body.String()
	light, dark, ok := strings.Cut(css, "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark scheme")
	}
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		colour := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			colour[m[1]] = m[2]
		}
		for _, tt := range []struct {
			fore, back string
			min        float64
		}{
			{"text", "ground", 4.5}, {"text", "sheet", 4.5}, {"text", "code-ground", 4.5}, {"text", "error-ground", 4.5},
			{"muted", "sheet", 4.5}, {"accent", "sheet", 4.5}, {"on-accent", "accent", 4.5}, {"good", "sheet", 4.5},
			{"text", "accent-soft", 4.5}, {"text", "good-ground", 4.5}, {"accent", "ground", 4.5}, {"muted", "ground", 4.5}, {"good", "ground", 4.5},
			{"on-error", "error", 4.5}, {"accent", "accent-soft", 4.5}, {"muted", "error-ground", 4.5}, {"accent", "error-ground", 4.5},
			{"warn", "sheet", 3}, {"good", "sheet", 3}, {"error", "ground", 4.5}, {"error", "sheet", 4.5}, {"error", "error-ground", 4.5}, {"edge", "sheet", 3}, {"accent", "ground", 3},
		} {
			a, b := luminance(t, colour[tt.fore]), luminance(t, colour[tt.back])
			if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); got < tt.min {
				t.Errorf("%s: %s on %s has %.2f, want %.1f", scheme, tt.fore, tt.back, got, tt.min)
			}
		}
	}
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(b uint64) float64 {
		c := float64(b&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}
