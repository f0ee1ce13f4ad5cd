package console_test

import (
	"cmp"
	"context"
	"errors"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// resets are one-time links, in memory.
type resets struct {
	w     *world
	live  map[idworker.ID]account.ResetToken
	calls []string
	by    audit.Actor
	from  netip.Addr
	wait  time.Duration
	err   error
}

func (w *world) giveResets() *resets {
	r := &resets{w: w, live: map[idworker.ID]account.ResetToken{}}
	w.ui.People.Resets, w.ui.Own.Links, w.ui.Own.Sources, w.ui.Own.Accounts = r, r, r, strict{people{w}}
	w.h = w.ui.Handler()
	return r
}

func (r *resets) StartReset(_ context.Context, _ audit.Actor, id idworker.ID, life time.Duration, reason string) (operator.StartedReset, error) {
	if err := errors.Join(r.err, r.w.proof()); err != nil {
		return operator.StartedReset{}, err
	}
	r.calls = append(r.calls, "start "+id.String()+" "+life.String()+" "+reason)
	r.live[id] = account.NewResetToken()
	return operator.StartedReset{Token: r.live[id], ExpiresAt: r.w.now.Add(life)}, nil
}

func (r *resets) Invite(_ context.Context, _ audit.Actor, username string, role account.Role, life time.Duration, reason string) (account.User, operator.StartedReset, error) {
	if err := errors.Join(r.err, r.w.proof()); err != nil {
		return account.User{}, operator.StartedReset{}, err
	}
	r.calls = append(r.calls, "invite "+username+" "+string(role)+" "+life.String()+" "+reason)
	r.live[50] = account.NewResetToken()
	return account.User{ID: 50, Username: username, Role: role}, operator.StartedReset{Token: r.live[50], ExpiresAt: r.w.now.Add(life)}, nil
}

func (r *resets) WithdrawReset(_ context.Context, _ audit.Actor, id idworker.ID, reason string) error {
	r.calls = append(r.calls, "withdraw "+id.String()+" "+reason)
	delete(r.live, id)
	return r.err
}

func (r *resets) Register(context.Context, netip.Addr) (ratelimit.Taken, error) {
	return ratelimit.Taken{}, nil
}

func (r *resets) Reset(_ context.Context, from netip.Addr) (ratelimit.Taken, error) {
	if r.from = from; r.wait > 0 {
		return ratelimit.Taken{}, &ratelimit.LimitedError{Limit: "reset", Retry: r.wait}
	}
	return ratelimit.Taken{}, nil
}

func (*resets) WasReset(context.Context, ratelimit.Attempt) {}
func (*resets) RefuseExport(time.Duration) error            { return nil }

func (r *resets) ByReset(_ context.Context, hash account.ResetHash, _ time.Time) (account.User, account.Issuer, error) {
	for id, live := range r.live {
		if live.Hash() == hash {
			return account.User{ID: id, Username: "bob"}, account.Issuer{}, r.err
		}
	}
	return account.User{}, account.Issuer{}, cmp.Or(r.err, account.ErrReset)
}

func (r *resets) UseReset(_ context.Context, used account.Reset, _ int64, _ account.PHC, _ time.Time, e audit.Event) ([]session.Session, error) {
	delete(r.live, used.UserID)
	r.by, r.calls = e.By, append(r.calls, "used by "+used.UserID.String())
	return nil, nil
}

// strict takes the passwords of the real rules.
type strict struct{ people }

func (strict) NewHash(_ context.Context, _ account.Asker, name string, p account.Password) (hash account.PHC, err error) {
	return hash, account.CheckPassword(name, p)
}

// setPassword sends the form of the page on which people set one.
func (w *world) setPassword(token, password, again string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.do(postForm("/console/password", url.Values{"reset_token": {token}, "password": {password}, "password_again": {again}}))
}

// An admin gives a link, which is shown once, and the person sets a passphrase
// with it, once.
func TestOneTimeLink(t *testing.T) {
	w := newWorld(t)
	w.populate(3)
	r := w.giveResets()
	c := w.enter()
	wantText(t, w.see(c, "/console/users/8"), "Make a one-time link", `value="3600" selected`, "10 minutes", "1 day")

	page := w.sendForm(c, "/console/users/8/reset", "life", "600", "reason", " forgot it ", "confirm_password", passphrase)
	wantStatus(t, page, 201)
	token := r.live[8].Reveal()
	wantText(t, page, `value="/console/password#`+token+`"`, `value="`+token+`"`, "user001")
	wantText(t, page, "One-time link")
	if len(r.calls) != 1 || r.calls[0] != "start 8 10m0s forgot it" {
		t.Errorf("calls: %q", r.calls)
	}
	for _, path := range []string{"/console/users/8", "/console/users", "/console/audit"} {
		wantNoText(t, w.see(c, path), token)
	}

	form := w.get("/console/password")
	wantStatus(t, form, 200)
	wantText(t, form, "At least 15 characters.", `name="reset_token"`, "setup.js")
	if got := form.Header().Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("Referrer-Policy: %q", got)
	}
	page = w.setPassword(token, "too short, aye", "too short, aye")
	wantStatus(t, page, 422)
	wantText(t, page, "Passphrase must have at least 15 characters", `value="`+token+`"`) // nothing is lost by a mistake
	wantNoText(t, page, "too short, aye")
	page = w.setPassword(token, passphrase, passphrase+"x")
	wantStatus(t, page, 422)
	wantText(t, page, "The two passphrases are not the same.")
	wantNoText(t, page, passphrase)

	page = w.setPassword("  "+token+"\n", passphrase, passphrase)
	wantStatus(t, page, 200)
	wantText(t, page, "The passphrase is set")
	if cookies := page.Result().Cookies(); len(cookies) != 0 {
		t.Errorf("a user was logged in: %v", cookies)
	}
	if r.by.Via != audit.ViaConsole || r.by.RequestID == "" || !r.from.IsValid() {
		t.Errorf("by %+v from %v", r.by, r.from)
	}
	page = w.setPassword(token, passphrase, passphrase)
	wantStatus(t, page, 403)
	wantText(t, page, "This one-time code does not work")
	wantNoText(t, page, token)
	if log := w.log.String(); strings.Contains(log, token) || strings.Contains(log, passphrase) || !strings.Contains(log, `"password reset","user_id":"8"`) {
		t.Errorf("log: %s", log)
	}
}

// The host of a link is the operator's to say, and no sender's.
func TestLinkIsNotMadeOfTheHostHeader(t *testing.T) {
	w := newWorld(t)
	w.populate(2)
	r := w.giveResets()
	c := w.enter()
	for _, public := range []string{"", "https://auth.example.org"} {
		w.ui.PublicURL = public
		req := postForm("/console/users/8/reset", url.Values{"life": {"3600"}, "confirm_password": {passphrase}})
		req.AddCookie(c)
		req.Host = "evil.example"
		req.Header.Set("X-Forwarded-Host", "evil.example")
		rec := httptest.NewRecorder()
		w.h.ServeHTTP(rec, req)
		wantStatus(t, rec, 201)
		wantText(t, rec, `value="`+public+`/console/password#`+r.live[8].Reveal())
		wantNoText(t, rec, "evil.example")
	}
}

// A link is as good as a password: an admin who gives one shows their own, and only
// an admin gives or withdraws one.
func TestOnlyAConfirmedAdminGivesLinks(t *testing.T) {
	w := newWorld(t)
	w.populate(2)
	r := w.giveResets()
	c := w.enter()
	page := w.sendForm(c, "/console/users/8/reset", "life", "3600", "confirm_password", "not the right passphrase")
	wantStatus(t, page, 403)
	wantText(t, page, "The passphrase is wrong.")
	wantStatus(t, w.sendForm(c, "/console/users/8/reset", "life", "soon", "confirm_password", passphrase), 400)
	for _, path := range []string{"/console/users/8/reset", "/console/users/8/reset/withdraw"} {
		page = w.do(postForm(path, url.Values{"life": {"3600"}, "confirm_password": {passphrase}}))
		wantStatus(t, page, 303)
		if to := page.Header().Get("Location"); !strings.Contains(to, "next=%2Fconsole%2Fusers%2F8&") {
			t.Errorf("%s: after the login leads to %s", path, to)
		}
		wantStatus(t, w.see(c, path), 405)
		req := postForm(path, url.Values{"life": {"3600"}, "confirm_password": {passphrase}})
		req.AddCookie(c)
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		rec := httptest.NewRecorder()
		w.h.ServeHTTP(rec, req)
		wantStatus(t, rec, 403)
	}
	if len(r.calls) != 0 {
		t.Errorf("calls: %q", r.calls)
	}
	page = w.sendForm(c, "/console/users/8/reset/withdraw")
	wantStatus(t, page, 303)
	wantText(t, w.see(c, page.Header().Get("Location")), "it no longer works")
	if len(r.calls) != 1 || r.calls[0] != "withdraw 8 " {
		t.Errorf("calls: %q", r.calls)
	}
	wantStatus(t, w.sendForm(c, "/console/users/99/reset", "life", "3600", "confirm_password", passphrase), 404)
}

// Every failure keeps the token in the form where it is still good, and the
// passphrase nowhere.
func TestPasswordPageSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		err    error
		wait   time.Duration
		status int
		says   string
		keeps  bool
	}{
		{nil, 30 * time.Second, 429, "Too many attempts", true},
		{account.ErrDisabled, 0, 403, "This account is disabled.", true},
		{account.ErrBusy, 0, 503, "The server is busy.", true},
		{errors.New("database away"), 0, 503, "not known whether the passphrase was set", true},
		{account.ErrReset, 0, 403, "does not work", false},
		{session.ErrUnpublished, 0, 200, "The passphrase is set", false},
	} {
		w := newWorld(t)
		r := w.giveResets()
		r.err, r.wait = c.err, c.wait
		token := account.NewResetToken().Reveal()
		page := w.setPassword(token, passphrase, passphrase)
		wantStatus(t, page, c.status)
		wantText(t, page, c.says)
		wantNoText(t, page, passphrase)
		if keeps := strings.Contains(page.Body.String(), token); keeps != c.keeps {
			t.Errorf("%v: the token is in the form: %v", c.err, keeps)
		}
		if retry := page.Header().Get("Retry-After"); (retry != "") != (c.status == 429 || c.status == 503) {
			t.Errorf("%v: Retry-After %q", c.err, retry)
		}
		if strings.Contains(w.log.String(), token) {
			t.Errorf("%v: the log has the token", c.err)
		}
	}
}
