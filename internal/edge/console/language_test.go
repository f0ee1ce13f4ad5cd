package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

func TestLanguageIsTheReaders(t *testing.T) {
	w := newWorld(t)
	for accept, want := range map[string]string{
		"": "en", "zh-CN,zh;q=0.9,en;q=0.8": "zh-Hans", "en-GB,zh;q=0.9": "en", "fr,zh;q=0.2": "zh-Hans", "fr": "en", "en;q=0.1,zh": "zh-Hans",
		"zh;q=0": "en", "zh;q=x,en": "en", strings.Repeat("fr,", 50) + "zh": "zh-Hans", "*": "en",
	} {
		r := httptest.NewRequest(http.MethodGet, "/console/login", nil)
		r.Header.Set("Accept-Language", accept)
		page := w.do(r)
		if !strings.Contains(page.Body.String(), `<html lang="`+want+`">`) {
			t.Errorf("%q is not answered in %s", accept, want)
		}
	}
}

func TestChosenLanguageStays(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.sendForm(c, "/console/language", "lang", "zh-Hans", "next", "/console/audit?actor=7")
	if page.Code != 303 || page.Header().Get("Location") != "/console/audit?actor=7" {
		t.Fatalf("%d to %s", page.Code, page.Header().Get("Location"))
	}
	if c := page.Result().Cookies()[0]; c.SameSite != http.SameSiteLaxMode || !c.HttpOnly || c.Domain != "" {
		t.Errorf("cookie %+v", c)
	}
	r := httptest.NewRequest(http.MethodGet, "/console/expiry", nil)
	r.AddCookie(c)
	r.AddCookie(page.Result().Cookies()[0])
	r.Header.Set("Accept-Language", "en")
	wantText(t, w.do(r), "过期策略", `lang="zh-Hans"`)
	for _, lang := range []string{"", "fr", "zh-Hans\r\nx: y"} {
		if got := w.sendForm(c, "/console/language", "lang", lang).Result().Cookies(); lang != "zh-Hans\r\nx: y" && len(got) != 0 {
			t.Errorf("%q is kept: %v", lang, got)
		}
	}
	// The login page keeps where it leads to.
	page = w.sendForm(c, "/console/language", "lang", "en", "next", "/console/login?next=%2Fconsole%2Fexpiry&why=left")
	if to, err := url.Parse(page.Header().Get("Location")); err != nil || to.Path != "/console/login" || to.Query().Get("next") != "/console/expiry" {
		t.Errorf("leads to %v", to)
	}
}

// The page in another language is a new page: on a page that shows what is shown only
// once, the switch would lose it.
func TestPageThatIsShownOnceHasNoSwitchOfLanguage(t *testing.T) {
	w := newWorld(t)
	const language = `action="/console/language"`
	c := w.furnish(false)
	wantText(t, w.see(c, "/console/account"), language)
	pages := map[string]*httptest.ResponseRecorder{
		"secret":     w.sendForm(c, "/console/account", "do", "enrol", "current_password", passphrase),
		"wrong code": w.wrongCode(c),
		"link":       w.sendForm(c, "/console/users/8/reset", "life", "3600"),
		"key":        w.sendForm(c, "/console/users/9/keys", "name", "billing", "scope_verify", "on", "life", "90"),
		"token":      w.sendForm(c, "/console/users/8/impersonate", "reason", "ticket 7"),
	}
	w.own.none = false
	pages["recovery codes"] = w.sendForm(c, "/console/account", "do", "renew", "current_password", passphrase, "code", "123456")
	for name, page := range pages {
		if strings.Contains(page.Body.String(), language) || page.Code >= 300 && name != "wrong code" {
			t.Errorf("%s: %d, with a switch of the language or without what is shown:\n%s", name, page.Code, page.Body)
		}
	}
}

// wrongCode shows a wrong code for a secret that waits for its first one.
func (w *world) wrongCode(c *http.Cookie) *httptest.ResponseRecorder {
	w.own.err = secondfactor.ErrInvalid
	defer func() { w.own.err = nil }()
	return w.sendForm(c, "/console/account", "do", "confirm", "code", "123456")
}
