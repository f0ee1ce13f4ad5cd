package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
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
func (v setupView) Secret() string { return v.Code.reveal() }

// FocusPassword reports whether the passphrase is the first thing to type.
func (v setupView) FocusPassword() bool { return v.Bad && len(v.UsernameProblems) == 0 }

func (u *UI) showSetup(v *visit) {
	v.hideReferrer()
	c := newCode(v.r.URL.Query().Get("code"))
	if u.admit(v, c) {
		v.render(http.StatusOK, "setup", setupView{frame: v.setupFrame(), Code: c})
	}
}

// hideReferrer keeps the code, which is in the URL of this page, out of the
// requests for the files that belong to it.
func (v *visit) hideReferrer() { v.w.Header().Set("Referrer-Policy", "no-referrer") }

// setupFrame has no switch for the language, which would lose the code.
func (v *visit) setupFrame() frame { return v.frame(v.t.Text("setup.title"), setupPath, "setup.js") }

// postSetup makes the admin. Requests with the code take turns, and each asks
// anew when its turn comes: of two, one creates and the other finds the link
// used. The link is spent only after the account exists, so that a mistake or
// a crash leaves it as it was. Only holders of the code queue.
func (u *UI) postSetup(v *visit) {
	v.hideReferrer()
	if err := u.checkSetupOrigin(v.r); err != nil {
		v.message(http.StatusForbidden, v.t.message("cross_origin"))
		return
	}
	fields, status := readForm(v.w, v.r)
	if status != 0 {
		v.message(status, v.t.refused(status))
		return
	}
	form := readSetup(fields)
	if !u.known(v, form.code) {
		return
	}
	user, ok := u.makeAdmin(v, form)
	if !ok {
		return
	}
	begun, err := u.Own.Login(v.r.Context(), v.client(), login.Credentials{Username: user.Username, Password: account.NewPassword(form.password), Only: account.RoleAdmin})
	if err != nil { // the account is there all the same
		u.Log.WarnContext(v.r.Context(), "console: login after setup", "err", err)
		v.see(loginPath, url.Values{"why": {"created"}})
		return
	}
	v.letIn(begun, homePath)
}

// makeAdmin answers the request, and returns false, unless it made the admin.
func (u *UI) makeAdmin(v *visit, form setupForm) (account.User, bool) {
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-v.r.Context().Done():
		return account.User{}, false // nobody is left to answer
	}
	if !u.admit(v, form.code) {
		return account.User{}, false
	}
	user, err := u.Own.CreateFirst(v.r.Context(), v.client(), form.username, account.NewPassword(form.password))
	switch {
	case errors.Is(err, account.ErrHasAdmin): // made on another instance since admit has asked
		u.link.spend()
		v.message(http.StatusGone, v.t.message("used"))
		return account.User{}, false
	case err != nil:
		u.again(v, form, err)
		return account.User{}, false
	}
	u.link.spend()
	return user, true
}

// known answers the request unless c is the code of a link in force. It costs
// no question to the database, so guessing loads nothing.
func (u *UI) known(v *visit, c code) bool {
	switch u.link.state(c, u.Now()) {
	case linkLive:
		return true
	case linkUsed:
		v.message(http.StatusGone, v.t.message("used"))
	case linkExpired:
		v.message(http.StatusGone, v.t.message("expired"))
	default:
		v.glimpse("first admin refused", audit.Sighting{Action: audit.LoginFailed, Reason: "setup_code_invalid", Admin: true})
		v.message(http.StatusNotFound, v.t.message("unknown"))
	}
	return false
}

// admit answers the request unless c may make the first admin.
func (u *UI) admit(v *visit, c code) bool {
	if !u.known(v, c) {
		return false
	}
	has, err := u.HasAdmin(v.r.Context())
	switch {
	case err != nil:
		v.unavailable("cannot ask for an admin", err)
		return false
	case has:
		u.link.spend()
		v.message(http.StatusGone, v.t.message("used"))
		return false
	}
	return true
}

// again shows the form once more, with what is wrong and what was typed,
// except for the passphrase.
func (u *UI) again(v *visit, form setupForm, err error) {
	page := setupView{frame: v.setupFrame(), Code: form.code, Username: form.username}
	page.Bad = true
	status := http.StatusUnprocessableEntity
	if bad, ok := errors.AsType[*account.InvalidError](err); ok {
		for _, f := range bad.Fields {
			switch sentence := v.t.field(f.Field, f.Code, f.Message); f.Field {
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
		page.UsernameProblems = []string{v.t.Text("setup.taken")}
	} else {
		status = http.StatusServiceUnavailable
		v.w.Header().Set("Retry-After", retryAfter)
		page.General = []string{v.t.Text("setup.failed")}
		if errors.Is(err, account.ErrBusy) {
			page.General = []string{v.t.Text("setup.busy")}
		} else if v.r.Context().Err() == nil { // else the person has left, which is no error
			u.Log.ErrorContext(v.r.Context(), "cannot create the first admin", "err", err)
		}
	}
	v.render(status, "setup", page)
}
