package console_test

import (
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// dial sends the form as it stands after a change of those fields.
func (w *world) dial(c *http.Cookie, pairs ...string) *httptest.ResponseRecorder {
	all := map[string]string{"idle": "14d", "absolute": "30d", "touch": "1m", "schedule": "@every 1m", "version": "1", "note": "", "do": "preview"}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	var form []string
	for k, v := range all {
		form = append(form, k, v)
	}
	return w.sendForm(c, "/console/expiry", form...)
}

func TestDialShowsWhatIsInForce(t *testing.T) {
	w := newWorld(t)
	page := w.see(w.enter(), "/console/expiry")
	wantText(t, page, `id="idle" name="idle" type="text" value="14d"`, `value="30d"`, `value="@every 1m"`, "Sweep: every minute, next at",
		"This is what is in force.", "<dd>100</dd>", "Version 1")
}

func TestPreviewChangesNothing(t *testing.T) {
	w := newWorld(t)
	page := w.dial(w.enter(), "idle", "49h30m") // of logins that are 0 to 99 hours old
	wantStatus(t, page, 200)
	wantText(t, page, "Ends 50 logins at once, 50 % of all.", `class="verdict drastic"`, `class="line before"`, `value="49h30m"`)
	page = w.dial(w.enter(), "idle", "13d")
	wantText(t, page, "This ends no login now.")
	if len(w.policies.events) != 0 || w.policies.inForce.Version != 1 {
		t.Error("a preview has changed the policy")
	}
}

func TestSavingIsRecordedForWhoDidIt(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.dial(c, "do", "save", "idle", "13 days", "note", "too long")
	wantStatus(t, page, 303)
	if got := w.policies.inForce; got.Idle != 13*24*time.Hour || got.UpdatedBy != "ada" || got.Note != "too long" {
		t.Errorf("in force: %+v", got)
	}
	if e := w.policies.events[0]; e.By.Via != audit.ViaConsole || e.By.ID != 7 || e.By.RequestID == "" || e.By.Address != "192.0.2.1" {
		t.Errorf("event by %+v", e.By)
	}
	page = w.see(c, page.Header().Get("Location"))
	wantText(t, page, "Saved. It is in force", "Idle timeout: <del>14 days</del> → <ins>13 days</ins>", "too long", "Go back to this")
	wantStatus(t, w.dial(c, "do", "save", "idle", "13d", "version", "2"), 303)
	if len(w.policies.events) != 1 {
		t.Error("saving what is in force made a version")
	}
}

func TestDrasticChangeAsksForThePassword(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.unproven, w.policies.proof = true, w.proof
	page := w.dial(c, "do", "save", "idle", "49h30m")
	wantStatus(t, page, 200)
	wantText(t, page, "It ends 50 logins at once, 50 % of all living ones.", "Save, and end 50 logins")
	_, rest, _ := strings.Cut(page.Body.String(), `name="confirm_for" value="`)
	key, _, _ := strings.Cut(rest, `"`)
	confirm := func(pairs ...string) *httptest.ResponseRecorder {
		return w.dial(c, append([]string{"do", "confirm", "idle", "49h30m", "confirm_for", html.UnescapeString(key), "confirm_password", passphrase}, pairs...)...)
	}
	page = confirm("confirm_password", "")
	wantStatus(t, page, 403)
	wantText(t, page, "Enter your passphrase again", "Save, and end 50 logins", `name="confirm_password"`, `value="49h30m"`)
	page = confirm("confirm_password", "not the right one")
	wantStatus(t, page, 403)
	wantText(t, page, "The passphrase is wrong.", "Save, and end 50 logins")
	wantNoText(t, page, "not the right one")
	// Who has confirmed one change has not confirmed another.
	wantText(t, confirm("idle", "1h"), "Ends 99 logins at once")
	wantText(t, confirm("confirm_for", ""), "Ends 50 logins at once")
	wantText(t, confirm("idle", "13d"), "This ends no login now.")
	if len(w.policies.events) != 0 {
		t.Fatal("changed without the password")
	}
	wantStatus(t, confirm(), 303)
	if w.policies.inForce.Idle != 49*time.Hour+30*time.Minute {
		t.Errorf("in force: %+v", w.policies.inForce)
	}
}

func TestConflictShowsBothAndKeepsWhatWasTyped(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	wantStatus(t, w.dial(c, "do", "save", "idle", "10d"), 303) // another user's tab
	page := w.dial(c, "do", "save", "idle", "12d", "note", "mine")
	wantStatus(t, page, 409)
	wantText(t, page, "Another admin has changed this meanwhile", "Version 2 is in force now, by ada.",
		">14 days</td>", ">10 days</td>", ">12 days</td>", `value="12d"`, `value="mine"`, `name="version" value="2"`)
	if w.policies.inForce.Idle != 10*24*time.Hour {
		t.Error("their version is lost")
	}
	wantStatus(t, w.dial(c, "do", "save", "idle", "12d", "version", "2"), 303)
	// A preview says so as well, before the user presses Save.
	wantText(t, w.dial(c, "idle", "11d", "version", "1"), "Another admin has changed this meanwhile")
}

func TestRevertIsOneClick(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	wantStatus(t, w.dial(c, "do", "save", "idle", "10d"), 303)
	wantStatus(t, w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "2"), 303)
	if got := w.policies.inForce; got.Version != 3 || got.Idle != 14*24*time.Hour || got.Note != "Back to version 1" {
		t.Errorf("in force: %+v", got)
	}
	// Back to something shorter ends logins, so it is asked.
	w.policies.history[0].Idle = 50 * time.Hour
	page := w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "3")
	wantStatus(t, page, 200)
	wantText(t, page, "Save, and end 50 logins", `value="2d 2h"`)
	wantStatus(t, w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "2"), 409)
	wantStatus(t, w.sendForm(c, "/console/expiry/revert", "to", "9", "version", "3"), 404)
	wantStatus(t, w.sendForm(c, "/console/expiry/revert", "to", "x", "version", "3"), 400)
}

func TestEverythingWrongIsSaidBesideItsField(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.dial(c, "idle", "soon", "absolute", "1", "touch", "-1s")
	wantStatus(t, page, 422)
	for _, id := range []string{"idle-error", "absolute-error", "touch-error"} {
		if !ids(page.Body.String())[id] {
			t.Errorf("no %s", id)
		}
	}
	page = w.dial(c, "idle", "1m", "absolute", "401d", "schedule", "bad", "do", "save")
	wantStatus(t, page, 422)
	wantText(t, page, "The idle timeout must be at least 5 minutes.", "The absolute lifetime must be at most 400 days.", "The schedule cannot be used.", `value="401d"`)
}

// Not to know what a change would do is no reason to show nothing.
func TestDialWithoutFigures(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.policies.err = errors.New("disk on fire")
	page := w.see(c, "/console/expiry")
	wantStatus(t, page, 503)
	wantNoText(t, page, "disk on fire")
	w.policies.err = nil
	w.policies.logins = nil
	page = w.see(c, "/console/expiry")
	wantStatus(t, page, 200)
	wantNoText(t, page, "<path", "NaN")
}

func TestSchedulesInWords(t *testing.T) {
	for spec, want := range map[string]string{
		"@every 1m": "every minute", "@every 90s": "every 1 minute 30 seconds", "@hourly": "on the hour", "*/5 * * * *": "by the cron expression */5 * * * *",
	} {
		w := newWorld(t)
		w.policies.inForce.Schedule = spec
		wantText(t, w.see(w.enter(), "/console/expiry"), want)
	}
}

func TestPolicyNotesCannotBreakOut(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	evil := `"><script>alert(1)</script>`
	wantStatus(t, w.dial(c, "do", "save", "idle", "13d", "note", evil), 303)
	if body := w.dial(c, "idle", evil).Body.String(); strings.Contains(body, "<script>alert") {
		t.Error("what was typed breaks out")
	}
	if body := w.see(c, "/console/expiry").Body.String(); strings.Contains(body, "<script>alert") {
		t.Error("the note breaks out")
	}
}

// TestPreviewSaysWhoLosesLogins: a lower number ends logins, of all devices or on a class of
// them, and those who lose some are not those whose times are over.
func TestPreviewSaysWhoLosesLogins(t *testing.T) {
	w := newWorld(t)
	w.policies.inForce.MaxSessions = 3
	c := w.enter()
	page := w.dial(c, "sessions", "1")
	wantText(t, page, "Ends 3 logins at once", "Above the number of logins", "3, of 2 users")
	wantText(t, w.dial(c, "sessions", "3", "over_limit", "replace_oldest", "classes", allClasses, "overrides", "class:phone=sessions:1"), "3, of 2 users")
	wantNoText(t, w.dial(c, "sessions", "4"), "Above the number")
	w.lang = "zh"
	wantText(t, w.dial(c, "sessions", "1"), "3 个，涉及 2 个用户")
}

// TestOlderInstanceIsNamedOnThePage beside the field that needs a newer one.
func TestOlderInstanceIsNamedOnThePage(t *testing.T) {
	w := newWorld(t)
	w.policies.refused, w.lang = &policy.OlderInstanceError{Name: "web-3<b>", Version: "v0.1.0"}, "zh"
	page := w.dial(w.enter(), "over_limit", "refuse", "classes", allClasses, "overrides", "", "sessions", "1")
	wantStatus(t, page, 422)
	wantText(t, page, `<p class="error" id="over_limit-error">实例 web-3<b> 运行旧版本`, `aria-describedby="over_limit-hint over_limit-error" aria-invalid="true"`)
	if strings.Contains(page.Body.String(), "web-3<b>") {
		t.Error("the name breaks out")
	}
}

const allClasses = "phone, tablet, desktop, web, tv, other"

// TestExpirySavesNothingThatTheAPIRefuses, and says at the field what it needs: it read what
// it did not know as a default, and cut what was too long.
func TestExpirySavesNothingThatTheAPIRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ field, typed, want string }{
		"over the limit": {"over_limit", "nope", `id="over_limit-error">Choose one of the list.`},
		"no class":       {"classes", "", `id="classes-error">The device classes must be`},
		"no number":      {"sessions", "", `id="sessions-error">The logins a user must be a number`},
		"a long note":    {"note", strings.Repeat("é", 1001), `id="note-error">The reason must have at most 1000 characters.`},
	} {
		w := newWorld(t)
		form := map[string]string{"idle": "13d", "sessions": "1", "over_limit": "replace_oldest", "classes": allClasses, "overrides": "", "do": "save"}
		form[tt.field] = tt.typed
		var pairs []string
		for k, v := range form {
			pairs = append(pairs, k, v)
		}
		page := w.dial(w.enter(), pairs...)
		if page.Code != 422 || len(w.policies.events) != 0 {
			t.Errorf("%s: %d, %d changes", name, page.Code, len(w.policies.events))
		}
		wantText(t, page, tt.want)
	}
	w := newWorld(t)
	page := w.limits(w.enter(), "login_address_1_count", "240", "note", strings.Repeat("x", 1001), "do", "save")
	wantStatus(t, page, 422)
	wantText(t, page, "The reason must have at most 1000 characters.")
}

// TestConfirmationOfSeveralLinesAsABrowserSendsIt: it ends each line of each field with CRLF, also
// of what names the values that were shown.
func TestConfirmationOfSeveralLinesAsABrowserSendsIt(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	typed := []string{"idle", "49h30m", "sessions", "1", "over_limit", "replace_oldest", "classes", "phone, web, other", "overrides", "class:phone=idle:1d\r\nclass:web=idle:1d"}
	page := w.dial(c, append(typed, "do", "save")...)
	_, rest, _ := strings.Cut(page.Body.String(), `name="confirm_for" value="`)
	key, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("nothing to confirm: %s", page.Body)
	}
	wantStatus(t, w.dial(c, append(typed, "do", "confirm", "confirm_for", strings.ReplaceAll(html.UnescapeString(key), "\n", "\r\n"))...), 303)
}
