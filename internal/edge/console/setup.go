package console

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
)

// retryAfter goes with every 503, in seconds.
const retryAfter = "2"

// setupView is what setup.html shows. The passphrase is not in it, so it
// cannot come back.
type setupView struct {
	frame
	Code     code
	Username string

	General          []string // problems that belong to no field
	UsernameProblems []string
	PasswordProblems []string
}

// Secret is the code, for the hidden field and nothing else.
func (v setupView) Secret() string { return v.Code.Reveal() }

// FocusPassword reports whether the passphrase is the first thing to type.
func (v setupView) FocusPassword() bool { return v.Bad && len(v.UsernameProblems) == 0 }

func (u *UI) showSetup(q *request) {
	q.hideReferrer()
	c := newCode(q.r.URL.Query().Get("code"))
	if u.admit(q, c) {
		q.render(http.StatusOK, "setup", setupView{frame: q.setupFrame(), Code: c})
	}
}

// hideReferrer keeps the code, which is in the URL of this page, out of the
// requests for the files that belong to it.
func (q *request) hideReferrer() { q.w.Header().Set("Referrer-Policy", "no-referrer") }

// setupFrame has no switch for the language, which would lose the code.
func (q *request) setupFrame() frame { return q.frame(q.t.Text("setup.title"), setupPath, "setup.js") }

// postSetup makes the admin. Requests with the code take turns, and each asks
// anew when its turn comes: of two, one creates and the other finds the link
// used. The link is spent only after the account exists, so that a mistake or
// a crash leaves it as it was. Only holders of the code queue.
func (u *UI) postSetup(q *request, fields url.Values) {
	form := readSetup(fields)
	if !u.known(q, form.code) {
		return
	}
	user, ok := u.makeAdmin(q, form)
	if !ok {
		return
	}
	begun, err := u.Own.Login(q.r.Context(), q.client(), login.Credentials{Username: user.Username, Password: account.NewPassword(form.password), Only: account.RoleAdmin})
	if err != nil { // the account is there all the same
		q.logFailure(slog.LevelWarn, "login after setup", err)
		q.redirect(loginPath, url.Values{"why": {"created"}})
		return
	}
	q.finishLogin(begun, homePath)
}

// makeAdmin answers the request, and returns false, unless it made the admin.
func (u *UI) makeAdmin(q *request, form setupForm) (account.User, bool) {
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-q.r.Context().Done():
		return account.User{}, false // the client has gone
	}
	if !u.admit(q, form.code) {
		return account.User{}, false
	}
	user, err := u.Own.CreateFirst(q.r.Context(), q.client(), form.username, account.NewPassword(form.password))
	switch {
	case errors.Is(err, account.ErrHasAdmin): // made on another instance after admit has asked
		u.link.spend()
		q.message(http.StatusGone, q.t.message("used"))
		return account.User{}, false
	case err != nil:
		u.again(q, form, err)
		return account.User{}, false
	}
	u.link.spend()
	return user, true
}

// known answers the request unless c is the code of a link in force. It does not ask
// the database, so guesses cause no load.
func (u *UI) known(q *request, c code) bool {
	switch u.link.state(c, u.Now()) {
	case linkLive:
		return true
	case linkUsed:
		q.message(http.StatusGone, q.t.message("used"))
	case linkExpired:
		q.message(http.StatusGone, q.t.message("expired"))
	default:
		q.logFirst("first admin refused", audit.Incident{Action: audit.LoginFailed, Reason: "setup_code_invalid", Admin: true})
		q.message(http.StatusNotFound, q.t.message("unknown"))
	}
	return false
}

// admit answers the request unless c may make the first admin.
func (u *UI) admit(q *request, c code) bool {
	if !u.known(q, c) {
		return false
	}
	has, err := u.HasAdmin(q.r.Context())
	switch {
	case err != nil:
		q.unavailable("cannot ask for an admin", err)
		return false
	case has:
		u.link.spend()
		q.message(http.StatusGone, q.t.message("used"))
		return false
	}
	return true
}

// again shows the form once more, with what is wrong and what was typed,
// except for the passphrase.
func (u *UI) again(q *request, form setupForm, err error) {
	page := setupView{frame: q.setupFrame(), Code: form.code, Username: form.username}
	page.Bad = true
	status := http.StatusUnprocessableEntity
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		for _, f := range bad.Fields {
			switch sentence := q.t.field(f); f.Field {
			case "username":
				page.UsernameProblems = append(page.UsernameProblems, sentence)
			case "password":
				page.PasswordProblems = append(page.PasswordProblems, sentence)
			default:
				page.General = append(page.General, sentence)
			}
		}
	} else if errors.Is(err, account.ErrExists) {
		status = http.StatusConflict
		page.UsernameProblems = []string{q.t.Text("setup.taken")}
	} else {
		status = http.StatusServiceUnavailable
		q.w.Header().Set("Retry-After", retryAfter)
		page.General = []string{q.t.Text("setup.failed")}
		if errors.Is(err, account.ErrBusy) {
			page.General = []string{q.t.Text("setup.busy")}
		} else {
			q.logFailure(slog.LevelError, "cannot create the first admin", err)
		}
	}
	q.render(status, "setup", page)
}
