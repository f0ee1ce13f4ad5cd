package console_test

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFormIsReadStrictly(t *testing.T) {
	w := newWorld(t)
	good := url.Values{"code": {w.code}, "username": {"grace"}, "password": {passphrase}}.Encode()
	typed := func(contentType string) *http.Request {
		r := postRaw(good)
		r.Header.Set("Content-Type", contentType)
		return r
	}
	inURL := postRaw("username=grace&password=" + url.QueryEscape(passphrase))
	inURL.URL.RawQuery = "code=" + w.code
	for name, tt := range map[string]struct {
		r    *http.Request
		want int
	}{
		"JSON":            {typed("application/json"), 415},
		"multipart":       {typed("multipart/form-data; boundary=x"), 415},
		"no type":         {typed(""), 415},
		"too large":       {postRaw(good + "&more=" + strings.Repeat("x", 16<<10)), 413},
		"bad escape":      {postRaw("code=%zz"), 400},
		"no UTF-8":        {postRaw(good + "&reason=%ff"), 400},
		"name no UTF-8":   {postRaw(good + "&%ff=x"), 400},
		"field twice":     {postRaw(good + "&username=mallory"), 400},
		"code in the URL": {inURL, 404},
		"code wrong":      {post("A"+w.code[1:]+"B", "grace", passphrase), 404},
		"code empty":      {post("", "grace", passphrase), 404},
	} {
		page := w.do(tt.r)
		if page.Code != tt.want || !strings.Contains(page.Body.String(), "<h1>") {
			t.Errorf("%s: status %d, want a page with %d", name, page.Code, tt.want)
		}
	}
	if w.admins() != 0 {
		t.Error("a refused form created an admin")
	}
	late := postRaw("")
	late.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded)) // as the limit of the server's time for a request makes it
	page := w.do(late)
	wantStatus(t, page, 503)
	wantText(t, page, "did not arrive in time")
	if page.Header().Get("Retry-After") == "" {
		t.Error("late, without Retry-After")
	}
	wantStatus(t, w.do(typed("application/x-www-form-urlencoded; charset=UTF-8")), 303)
}

func TestOtherSitesCannotSendTheForm(t *testing.T) {
	for name, tt := range map[string]struct {
		fetchSite, origin string
		want              int
	}{
		"own form":                      {"same-origin", "null", 303},
		"own form, plain HTTP":          {"", "null", 303}, // no-referrer hides the origin
		"own form, older browser":       {"", "http://example.com", 303},
		"no browser":                    {"", "", 303},
		"another site":                  {"cross-site", "https://evil.example", 403},
		"sandboxed frame":               {"cross-site", "null", 403},
		"sibling":                       {"same-site", "http://x.example.com", 403},
		"another site, older browser":   {"", "https://evil.example", 403},
		"another port, no fetch header": {"", "http://example.com:8081", 403},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := post(w.code, "grace", passphrase) // to example.com, as httptest has it
			r.Header.Del("Sec-Fetch-Site")
			if tt.fetchSite != "" {
				r.Header.Set("Sec-Fetch-Site", tt.fetchSite)
			}
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			wantStatus(t, w.do(r), tt.want)
			if created := w.admins() == 1; created != (tt.want == 303) {
				t.Errorf("created = %v", created)
			}
		})
	}
}

func FuzzForm(f *testing.F) {
	for _, body := range []string{"", "code=CODE&username=grace&password=short", "code=CODE&username=%22%3E%3Cscript%3E&password=x",
		"code=CODE;username=x", "code=CODE&username=%ff%00&password=%ff", "%", "code=CODE&code=CODE", "code=CODE&username=%25s&password=x", "code=CODE&username=a&password=" + strings.Repeat("%C3%A9", 300)} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := newWorld(t)
		page := httptest.NewRecorder() // w.do looks for texts that are not filled in, and a name may look like one
		w.h.ServeHTTP(page, postRaw(strings.ReplaceAll(body, "CODE", w.code)))
		if page.Code >= 500 {
			t.Fatalf("status %d", page.Code)
		}
		got := page.Body.String()
		if strings.Count(got, "<script") > 2 || strings.Count(got, "<input") > 3 {
			t.Fatalf("markup came through:\n%s", got)
		}
		if page.Code == 422 {
			form, err := url.ParseQuery(strings.ReplaceAll(body, "CODE", w.code))
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSpace(strings.ToValidUTF8(form.Get("username"), "\uFFFD"))
			// The parser of HTML reads NUL as U+FFFD.
			if name = strings.ReplaceAll(name, "\x00", "\uFFFD"); !strings.Contains(html.UnescapeString(got), `value="`+name+`"`) {
				t.Fatalf("name %q is not kept:\n%s", name, got)
			}
		}
	})
}
