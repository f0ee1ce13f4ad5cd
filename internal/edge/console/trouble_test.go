package console_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A form that comes after its login has ended leads to the login page, which
// says that it was not done, and from there to the page that it came from.
func TestFormOfALoginThatIsOverLeadsBack(t *testing.T) {
	w := newWorld(t)
	w.populate(2)
	for _, tt := range []struct{ form, from, next string }{
		{"/console/logins/end", base + "/console/logins?before=9", "/console/logins?before=9"},
		{"/console/users/8", base + "/console/users/8", "/console/users/8"},
		{"/console/logins/end", "", "/console/logins"},
		{"/console/logins/end-all", "http://evil.example/console/users", "/console/logins"},
		{"/console/expiry/revert", base + "/console/login?next=/console/users", "/console/expiry"},
		{"/console/expiry", base + "//evil.example/", "/console/expiry"},
		{"/console/users", base + "/elsewhere", "/console/users"},
	} {
		r := postForm(tt.form, url.Values{"id": {"9001"}})
		r.Host = strings.TrimPrefix(base, "http://")
		if tt.from != "" {
			r.Header.Set("Referer", tt.from)
		}
		r.AddCookie(&http.Cookie{Name: "__Host-flakepass", Value: "fp_over"})
		page := w.do(r)
		to, err := url.Parse(page.Header().Get("Location"))
		if page.Code != 303 || err != nil || to.Path != "/console/login" || to.Query().Get("next") != tt.next {
			t.Errorf("%s from %q leads to %d %s, want back to %s", tt.form, tt.from, page.Code, to, tt.next)
			continue
		}
		wantText(t, w.get(to.String()), "What you sent was not done.")
	}
	wantNoText(t, w.get("/console/login?why=token_expired"), "What you sent was not done.")
}

// If the database did not answer, it is unknown whether the change was made. The page
// does not say that nothing was changed; it links to the page that shows it.
func TestUndecidedFormSaysSo(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(2)
	c := w.enter()
	crowd.err = errors.New("disk on fire")
	page := w.see(c, "/console/users?name=bo")
	wantStatus(t, page, 503)
	wantText(t, page, "Not available now", `href="/console/users?name=bo">Try again`)
	if page.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	page = w.sendForm(c, "/console/users/8", "do", "disabled")
	wantStatus(t, page, 503)
	wantText(t, page, "The result is unknown", "may or may not have been made", `href="/console/users/8">Back to the page`)
	wantNoText(t, page, "Nothing was changed")
	w.verifyErr = errors.New("disk on fire")
	page = w.see(c, "/console/audit?actor=7")
	wantStatus(t, page, 503)
	wantText(t, page, `href="/console/audit?actor=7">Try again`)
	page = w.sendForm(c, "/console/users/8", "do", "disabled") // no admin was logged in to do it
	wantStatus(t, page, 503)
	wantText(t, page, "Nothing was changed", `href="/console/users/8">Back to the page`)
}

// The code of a link is nowhere on a page about an undecided check.
func TestUndecidedSetupKeepsItsCode(t *testing.T) {
	w := newWorld(t)
	w.hasErr = errors.New("disk on fire")
	page := w.open()
	wantStatus(t, page, 503)
	wantNoText(t, page, w.code, "Try again")
}

// A form that is sent twice is saved once, and the second answer is no conflict.
func TestSavingTwiceIsSavingOnce(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	save := []string{"idle", "13d", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1", "do", "save"}
	for range 2 {
		page := w.sendForm(c, "/console/expiry", save...)
		wantStatus(t, page, 303)
		if at := page.Header().Get("Location"); at != "/console/expiry?done=saved" {
			t.Errorf("leads to %s", at)
		}
	}
	for range 2 {
		page := w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "2")
		wantStatus(t, page, 303)
	}
	if got := w.policies.inForce.Version; got != 3 {
		t.Errorf("version %d is in force, want 3", got)
	}
	// Another user's change of the same kind is still shown.
	w.policies.inForce.UpdatedBy = "bob"
	wantStatus(t, w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "2"), 409)
}

// The record shows moments as moments, in the zone of the viewer, and names
// things in the language of the page.
func TestRecordShowsMoments(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = []audit.Event{
		{
			ID: 5, Action: audit.UserDisabled, By: audit.Actor{ID: 7, Name: "ada", Via: audit.ViaConsole}, Target: audit.Target{Kind: "user", ID: 9, Name: "bob"},
			Old: json.RawMessage(`{}`), New: json.RawMessage(`{"disabled_at":"2026-11-21T18:45:22.225Z"}`),
		},
		{
			ID: 4, Action: audit.RoleChanged, By: audit.Actor{ID: 7, Name: "ada", Via: audit.ViaConsole}, Target: audit.Target{Kind: "user", ID: 9, Name: "bob"},
			Old: json.RawMessage(`{"role":"user","brand_new_seconds":60}`), New: json.RawMessage(`{"role":"admin"}`),
		},
		{ID: 3, Action: audit.AllLoginsEnded, By: audit.Actor{ID: 7, Name: "ada"}, Target: audit.Target{Kind: "login"}},
	}
	wantText(t, w.see(c, "/console/audit"), `disabled: <ins><time datetime="2026-11-21T18:45:22.225Z" title="2026-11-21 18:45:22 UTC">`,
		"role: <del>User</del> → <ins>Admin</ins>", "brand new: <del>1 minute</del> → –", ">logins<")
	r := w.do(func() *http.Request {
		r := postForm("/console/language", url.Values{"lang": {"zh-Hans"}})
		return r
	}())
	req := postForm("/console/audit", nil)
	req.Method = http.MethodGet
	req.AddCookie(c)
	req.AddCookie(r.Result().Cookies()[0])
	wantText(t, w.do(req), "停用时间：<ins><time", "角色：<del>用户</del> → <ins>管理员</ins>")
}

// A list keeps what it was asked for from page to page, and leads back to its
// beginning.
func TestListsKeepTheirFilter(t *testing.T) {
	w := newWorld(t)
	w.populate(70)
	c := w.enter()
	page := w.see(c, "/console/users?name=user")
	wantNoText(t, page, "First page")
	second := next(page)
	if to, err := url.Parse(second); err != nil || to.Query().Get("name") != "user" {
		t.Fatalf("the next page is %s", second)
	}
	page = w.see(c, second)
	wantText(t, page, `href="/console/users?name=user">First page`, `value="user"`)
	w.record.events = happened(120)
	page = w.see(c, "/console/audit?action=login.ended")
	wantText(t, w.see(c, next(page)), `href="/console/audit?action=login.ended">Newest`)
	page = w.see(c, "/console/logins")
	second = next(page)
	wantText(t, w.see(c, second), `name="next" value="`+second+`"`) // ending a login leads back to this very page
}

// Nothing on a page moves, except in a browser that states no preference for less
// motion (prefers-reduced-motion: no-preference).
func TestNothingMoves(t *testing.T) {
	css := newWorld(t).get("/console/assets/console.css").Body.String()
	// The sign that a count is running moves only there.
	css = regexp.MustCompile(`(?s)@media \(prefers-reduced-motion: no-preference\) \{.*?\n\}\n`).ReplaceAllString(css, "")
	if m := regexp.MustCompile(`(?i)\b(transition|animation|scroll-behavior)[a-z-]*\s*:|@keyframes`).FindString(css); m != "" {
		t.Errorf("the style has %s; put it within @media (prefers-reduced-motion: no-preference), and nowhere else", m)
	}
}

// A preview that cannot be made says why, in the place where it would be.
func TestPreviewThatCannotBeMadeSaysWhy(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.sendForm(c, "/console/expiry", "idle", "soon", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1")
	wantStatus(t, page, 422)
	wantText(t, page, "Shown when that is corrected.")
}
