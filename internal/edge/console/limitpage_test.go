package console_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// limits sends the form as it stands after a change of those fields.
func (w *world) limits(c *http.Cookie, pairs ...string) *httptest.ResponseRecorder {
	all := map[string]string{
		"login_place_1_count": "5", "login_place_1_period": "1m", "login_place_2_count": "20", "login_place_2_period": "1h",
		"login_place_3_count": "50", "login_place_3_period": "1d", "login_place_4_count": "", "login_place_4_period": "",
		"login_account_1_count": "100", "login_account_1_period": "30d", "login_address_1_count": "120", "login_address_1_period": "1m",
		"register_1_count": "30", "register_1_period": "1h", "introspect_1_count": "1000", "introspect_1_period": "1s",
		"version": "1", "note": "", "do": "save",
	}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	var form []string
	for k, v := range all {
		form = append(form, k, v)
	}
	return w.sendForm(c, "/console/limits", form...)
}

// Each limit is shown with what it comes to, its default, and what may be typed.
func TestLimitsAreShownInWords(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.see(c, "/console/limits")
	wantStatus(t, page, 200)
	wantText(t, page, `aria-current="page">Limits</a>`, "This is what is in force. Version 1 of the policy.",
		`name="login_place_3_count" type="text" inputmode="numeric" value="50"`, `name="login_place_4_period" type="text" value=""`,
		"5 at once, then one more every 12 seconds", "20 at once, then one more every 3 minutes", "50 at once, then one more every 28 minutes 48 seconds",
		"100 at once, then one more every 7 hours 12 minutes", "120 at once, then 2 a second", "1,000 at once, then 1,000 a second",
		"Default: 5 in 1 minute, 20 in 1 hour, 50 in 1 day.", "Default: 1,000 in 1 second.",
		"Allowed: 3 to 1,000, in 1 second to 90 days; at least one more every day; at most 10 a second; the last rule at most one every 10 minutes.",
		"Allowed: 10 to 100, in 1 day to 90 days; at least one more every day.",
		"Allowed: 1 to 1,000,000, in 1 second to 1 hour; at least one more every second.", "Version 1")
	wantNoText(t, page, "FLAKEPASS_THROTTLE", `value="default:`)
	w.ui.LimitsOff = true
	wantText(t, w.see(c, "/console/limits"), "FLAKEPASS_THROTTLE=off: nothing is limited")
	r := httptest.NewRequest(http.MethodGet, "/console/limits", nil)
	r.AddCookie(c)
	r.Header.Set("Accept-Language", "zh")
	wantText(t, w.do(r), "可立即尝试 5 次，之后每 12 秒增加一次", "允许范围：10 到 100 次，时间 1 天到 90 天；至少每天增加一次。", "默认：100 次（30 天内）。")
}

// A rule that brings fewer than one attempt a second is shown by the minute where
// seconds would not be whole.
func TestUnevenRulesInWords(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	for typed, want := range map[[2]string]string{
		{"40", "1m"}: "40 at once, then 40 a minute", {"70", "1m"}: "70 at once, then 1.2 a second", {"100", "100m"}: "100 at once, then one more every minute",
	} {
		wantText(t, w.limits(c, "do", "preview", "login_address_1_count", typed[0], "login_address_1_period", typed[1]), want)
	}
}

func TestPreviewOfLimitsChangesNothing(t *testing.T) {
	w := newWorld(t)
	page := w.limits(w.enter(), "do", "preview", "login_address_1_count", "240", "login_place_3_count", "", "login_place_3_period", "", "login_place_4_count", "40", "login_place_4_period", "1 day")
	wantStatus(t, page, 200)
	wantText(t, page, "Attempts from one address: <del>120 in 1 minute</del> → <ins>240 in 1 minute</ins>",
		"<del>5 in 1 minute, 20 in 1 hour, 50 in 1 day</del> → <ins>5 in 1 minute, 20 in 1 hour, 40 in 1 day</ins>",
		`value="default:login_address"`, `value="default:all"`, `value="240"`)
	wantNoText(t, page, `value="default:register"`)
	if len(w.policies.events) != 0 {
		t.Error("a preview has changed the policy")
	}
}

// A saved change is in force, in the history and in the record, and leaves the
// times as they are.
func TestLimitsAreSaved(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	times := w.policies.inForce
	page := w.limits(c, "login_account_1_count", "50", "note", "a school")
	wantStatus(t, page, 303)
	got := w.policies.inForce
	if got.Limits.LoginAccount != (limit.Rule{Count: 50, Per: 30 * 24 * time.Hour}) || got.Limits.LoginPlace != limit.Default().LoginPlace ||
		got.Idle != times.Idle || got.Absolute != times.Absolute || got.Schedule != times.Schedule || got.Note != "a school" || got.UpdatedBy != "ada" || got.Version != 2 {
		t.Errorf("in force: %+v", got)
	}
	if len(w.policies.events) != 1 || !strings.Contains(string(w.policies.events[0].New), `"login_account":{"count":50`) {
		t.Errorf("events: %+v", w.policies.events)
	}
	page = w.see(c, page.Header().Get("Location"))
	wantText(t, page, "Saved. It is in force", "Attempts for one account from new places: <del>100 in 30 days</del> → <ins>50 in 30 days</ins>", "a school",
		`name="from" value="/console/limits"`)
	// The form that is sent twice is no conflict, and what is in force makes no version.
	wantStatus(t, w.limits(c, "login_account_1_count", "50"), 303)
	page = w.limits(c, "login_account_1_count", "50", "version", "2")
	if to := page.Header().Get("Location"); page.Code != 303 || !strings.Contains(to, "done=same") || len(w.policies.events) != 1 {
		t.Errorf("%d to %s, %d events", page.Code, to, len(w.policies.events))
	}
	// Back, from here to here.
	page = w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "2", "from", "/console/limits")
	if to := page.Header().Get("Location"); page.Code != 303 || to != "/console/limits?done=saved" || w.policies.inForce.Limits != limit.Default() {
		t.Errorf("%d to %s, in force %+v", page.Code, to, w.policies.inForce.Limits)
	}
	if to := w.sendForm(c, "/console/expiry/revert", "to", "2", "version", "3", "from", "https://evil.example").Header().Get("Location"); to != "/console/expiry?done=saved" {
		t.Errorf("leads to %s", to)
	}
}

// Older versions are a page further on, below the same limits.
func TestHistoryBelowLimitsHasPages(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	for i := range 11 {
		wantStatus(t, w.limits(c, "register_1_count", strconv.Itoa(40+i), "version", strconv.Itoa(1+i)), 303)
	}
	wantText(t, w.see(c, "/console/limits"), `href="/console/limits?before=3#history"`, "Version 12")
	page := w.see(c, "/console/limits?before=3")
	wantText(t, page, "Version 2", "Version 1", `value="50"`, `name="version" value="12"`)
	wantNoText(t, page, `href="/console/limits?before=`)
}

// What another admin saved meanwhile is shown and not overwritten.
func TestConflictOfLimitsShowsBoth(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	wantStatus(t, w.limits(c, "login_address_1_count", "240"), 303)
	page := w.limits(c, "login_address_1_count", "60", "note", "mine")
	wantStatus(t, page, 409)
	wantText(t, page, "Another admin has changed this meanwhile", "Version 2 is in force now, by ada.",
		">120 in 1 minute</td>", ">240 in 1 minute</td>", ">60 in 1 minute</td>", `value="60"`, `value="mine"`, `name="version" value="2"`)
	wantNoText(t, page, ">30 in 1 hour</td>") // which was not changed
	if w.policies.inForce.Limits.LoginAddress.Count != 240 {
		t.Error("their version is lost")
	}
	wantText(t, w.limits(c, "do", "preview", "login_address_1_count", "60"), "Another admin has changed this meanwhile")
	wantStatus(t, w.limits(c, "login_address_1_count", "60", "version", "2"), 303)
	// A change of the times by another is a conflict as well, and is not undone.
	wantStatus(t, w.dial(c, "do", "save", "idle", "10d", "version", "3"), 303)
	wantStatus(t, w.limits(c, "login_address_1_count", "70", "version", "3"), 409)
	wantStatus(t, w.limits(c, "login_address_1_count", "70", "version", "4"), 303)
	if got := w.policies.inForce; got.Idle != 10*24*time.Hour || got.Limits.LoginAddress.Count != 70 {
		t.Errorf("in force: %+v", got)
	}
}

// Everything that is wrong is said at once, each at its limit, and what was typed
// stays.
func TestWrongLimitsAreSaidAtTheirFields(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.limits(c, "login_place_2_count", "4", "login_account_1_count", "101", "login_address_1_period", "soon", "register_1_count", "", "register_1_period", "", "introspect_1_count", "0")
	wantStatus(t, page, 422)
	wantText(t, page, "<title>Error: Limits", "Each rule needs a longer time, more attempts and a lower rate than the one before",
		"Attempts for one account from new places: this is not allowed. Allowed: 10 to 100",
		"Attempts from one address cannot be read.", "New accounts from one address must have a rule", "Questions of one service: this is not allowed",
		`href="#login_place_2_count"`, `href="#introspect_1_count"`, `value="soon"`, `value="101"`, "Shown when that is corrected.")
	for _, name := range []string{"login_place", "login_account", "login_address", "register", "introspect"} {
		if !ids(page.Body.String())[name+"-error"] {
			t.Errorf("nothing is said at %s", name)
		}
	}
	if n := strings.Count(page.Body.String(), `aria-invalid="true"`); n != 10 {
		t.Errorf("%d fields are marked, want both of five rules", n)
	}
	for field, typed := range map[string]string{"login_address_1_count": "-5", "login_account_1_count": "+50", "register_1_count": "1e3", "login_place_4_count": "60", "introspect_1_period": "0s", "login_place_4_period": "1d"} {
		wantStatus(t, w.limits(c, field, typed), 422)
	}
	// A 0 is no rule that is left out.
	wantStatus(t, w.limits(c, "login_place_4_count", "0", "login_place_4_period", "30d"), 422)
	wantText(t, w.limits(c, "login_place_3_count", "", "login_place_3_period", ""), "The last rule must allow at most one attempt every 10 minutes in the long run, such as 50 in 1 day.")
	wantText(t, w.limits(c, "register_1_count", "31", "note", "a\x1b[2J"), `id="note-error"`, "The reason must be one line, without control characters.", `href="#note"`)
	if len(w.policies.events) != 0 {
		t.Error("something was saved")
	}
}

// The default is put into the fields of one limit or of all, and nothing is saved
// by that.
func TestLimitsGoBackToTheirDefaults(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	wantStatus(t, w.limits(c, "login_address_1_count", "240", "register_1_count", "10"), 303)
	page := w.limits(c, "do", "default:login_address", "login_address_1_count", "rubbish", "register_1_count", "10", "version", "2")
	wantStatus(t, page, 200)
	wantText(t, page, `name="login_address_1_count" type="text" inputmode="numeric" value="120"`, `name="register_1_count" type="text" inputmode="numeric" value="10"`,
		"<del>240 in 1 minute</del> → <ins>120 in 1 minute</ins>")
	page = w.limits(c, "do", "default:all", "login_address_1_count", "240", "register_1_count", "10", "version", "2")
	wantText(t, page, `name="register_1_count" type="text" inputmode="numeric" value="30"`)
	wantNoText(t, page, `value="default:`)
	if len(w.policies.events) != 1 {
		t.Error("a button that fills in has saved")
	}
	wantStatus(t, w.limits(c, "version", "2"), 303)
	if w.policies.inForce.Limits != limit.Default() {
		t.Errorf("in force: %+v", w.policies.inForce.Limits)
	}
}

// Limits that cannot be read can be put right, also by what is shown in their
// place.
func TestUnreadableLimitsCanBeSaved(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.policies.inForce.LimitsErr = http.ErrBodyNotAllowed
	wantText(t, w.see(c, "/console/limits"), "The stored limits cannot be read.")
	page := w.limits(c)
	if to := page.Header().Get("Location"); page.Code != 303 || !strings.Contains(to, "done=saved") || len(w.policies.events) != 1 {
		t.Errorf("%d to %s, %d events", page.Code, to, len(w.policies.events))
	}
}

// TestRevertThatNeedsAPasswordRestoresTheLimits: it restored the times alone.
func TestRevertThatNeedsAPasswordRestoresTheLimits(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.policies.history[0].Idle = 50 * time.Hour // back to it ends logins
	w.policies.inForce.Limits.LoginAddress.Count = 240
	w.policies.inForce.Version = 2
	w.policies.history = append(w.policies.history, w.policies.inForce)
	page := w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "2")
	wantStatus(t, page, 200)
	wantText(t, page, "Save, and end 50 logins", `name="back_to" value="1"`, `name="with_limits" value="yes" checked`, "Also restore the limits of version 1",
		"Attempts from one address: <del>240 in 1 minute</del> → <ins>120 in 1 minute</ins>")
	_, rest, _ := strings.Cut(page.Body.String(), `name="confirm_for" value="`)
	key, _, _ := strings.Cut(rest, `"`)
	confirm := func(pairs ...string) *httptest.ResponseRecorder {
		return w.dial(c, append([]string{"do", "confirm", "idle", "2d 2h", "sessions", "1", "over_limit", "replace_oldest", "classes", "phone, tablet, desktop, web, tv, other", "overrides", "", "version", "2", "confirm_for", html.UnescapeString(key), "confirm_password", passphrase, "back_to", "1"}, pairs...)...)
	}
	// Who was shown the limits too has not confirmed the times alone, nor another version.
	wantText(t, confirm(), "Ends 50 logins at once", `name="with_limits" value="yes">`)
	wantStatus(t, confirm("with_limits", "yes", "back_to", "9"), 400)
	if len(w.policies.events) != 0 {
		t.Fatal("changed without being asked")
	}
	wantText(t, confirm("with_limits", "yes", "confirm_password", "x"), "The passphrase is wrong.", `name="with_limits" value="yes" checked`)
	wantStatus(t, confirm("with_limits", "yes"), 303)
	if got := w.policies.inForce; got.Limits != limit.Default() || got.Idle != 50*time.Hour || got.Version != 3 {
		t.Errorf("in force: %+v", got)
	}
}

// A conflict on the way back shows the limits too, and they can be left as they
// are.
func TestConflictOnTheWayBack(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	wantStatus(t, w.limits(c, "login_address_1_count", "240"), 303)
	wantStatus(t, w.dial(c, "do", "save", "idle", "10d", "version", "2"), 303)
	page := w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "2")
	wantStatus(t, page, 409)
	wantText(t, page, ">10 days</td>", ">14 days</td>", ">120 in 1 minute</td>", ">240 in 1 minute</td>", `with_limits" value="yes" checked`)
	wantStatus(t, w.dial(c, "do", "save", "idle", "14d", "version", "3", "back_to", "1"), 303)
	if got := w.policies.inForce; got.Limits.LoginAddress.Count != 240 || got.Idle != 14*24*time.Hour {
		t.Errorf("in force: %+v", got)
	}
	// And what is wrong with a version that never was is no 503.
	wantStatus(t, w.dial(c, "back_to", "99", "version", strconv.FormatInt(w.policies.inForce.Version, 10)), 200)
}

// The limits of one page are those that a version may hold: what the page typed is
// read as what it means.
func TestLimitsAreTypedWithoutLoss(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	odd := limit.Default()
	odd.LoginPlace = [limit.MaxPlace]limit.Rule{{Count: 3, Per: 7 * time.Second}, {Count: 10, Per: 10*time.Minute + time.Second}, {Count: 40, Per: 24 * time.Hour}, {Count: 100, Per: 31*24*time.Hour + time.Second}}
	w.policies.inForce = policy.Default()
	w.policies.inForce.Limits = odd
	body := w.see(c, "/console/limits").Body.String()
	var form []string
	for _, part := range strings.Split(body, "<input ")[1:] {
		name, ok := between(part, `name="`, `"`)
		value, _ := between(part, `value="`, `"`)
		if ok && (strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_period")) {
			form = append(form, name, value)
		}
	}
	page := w.limits(c, form...)
	if to := page.Header().Get("Location"); len(form) != 32 || !strings.Contains(to, "done=same") {
		t.Errorf("%d fields lead to %d %s", len(form)/2, page.Code, to)
	}
}

func between(s, from, to string) (string, bool) {
	_, rest, ok := strings.Cut(s, from)
	value, _, ok2 := strings.Cut(rest, to)
	return value, ok && ok2
}

// The record shows limits in words, and of what it cannot read as it is.
func TestRecordTellsOfLimits(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	wantStatus(t, w.limits(c, "login_address_1_count", "240"), 303)
	w.record.events = w.policies.events
	page := w.see(c, "/console/audit")
	wantText(t, page, "Attempts from one address: <del>120 in 1 minute</del> → <ins>240 in 1 minute</ins>")
	wantNoText(t, page, "login_place", "{")
	w.record.events[0].New = []byte(`{"limits":{"register":7}}`)
	wantText(t, w.see(c, "/console/audit"), `{"register":7}`)
}
