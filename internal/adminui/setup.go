package adminui

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/flakepass/flakepass/internal/account"
)

// retryAfter goes with every 503, in seconds.
const retryAfter = "2"

// setupView is what setup.html shows. The passphrase is not in it, so it
// cannot come back.
type setupView struct {
	T        *texts
	Code     code
	Username string

	General          []string // problems that belong to no field
	UsernameProblems []string
	PasswordProblems []string
}

// Secret is the code, for the hidden field and nothing else.
func (v setupView) Secret() string { return v.Code.reveal() }

// Bad reports whether the page comes back with problems.
func (v setupView) Bad() bool {
	return len(v.General)+len(v.UsernameProblems)+len(v.PasswordProblems) > 0
}

// FocusPassword reports whether the passphrase is the first thing to type.
func (v setupView) FocusPassword() bool { return v.Bad() && len(v.UsernameProblems) == 0 }

type doneView struct {
	T     *texts
	Name  string
	Login string // URL
	Body  string // of the login request, in JSON, without the passphrase
}

func (u *UI) showSetup(w http.ResponseWriter, r *http.Request) {
	c := newCode(r.URL.Query().Get("code"))
	if u.admit(w, r, c) {
		u.render(w, http.StatusOK, "setup", setupView{T: u.texts, Code: c})
	}
}

// postSetup makes the admin. Requests with the code take turns, and each asks
// anew when its turn comes: of two, one creates and the other finds the link
// used. The link is spent only after the account exists, so that a mistake or
// a crash leaves it as it was. Only holders of the code queue.
func (u *UI) postSetup(w http.ResponseWriter, r *http.Request) {
	if err := u.checkOrigin(r); err != nil {
		u.message(w, http.StatusForbidden, u.texts.CrossOrigin)
		return
	}
	form, status := readForm(w, r)
	if status != 0 {
		u.message(w, status, u.texts.refused(status))
		return
	}
	if !u.known(w, form.code) {
		return
	}
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-r.Context().Done():
		return // nobody is left to answer
	}
	if !u.admit(w, r, form.code) {
		return
	}
	user, err := u.Create(r.Context(), form.username, account.NewPassword(form.password))
	if errors.Is(err, account.ErrHasAdmin) { // made on another instance since admit has asked
		u.link.spend()
		u.message(w, http.StatusGone, u.texts.Used)
		return
	}
	if err != nil {
		u.again(w, r, form, err)
		return
	}
	u.link.spend()
	u.Log.InfoContext(r.Context(), "first admin created", "user_id", user.ID.String())
	u.done(w, user)
}

// known answers the request unless c is the code of a link in force. It costs
// no question to the database, so guessing loads nothing.
func (u *UI) known(w http.ResponseWriter, c code) bool {
	switch u.link.state(c, u.Now()) {
	case linkLive:
		return true
	case linkUsed:
		u.message(w, http.StatusGone, u.texts.Used)
	case linkExpired:
		u.message(w, http.StatusGone, u.texts.Expired)
	default:
		u.message(w, http.StatusNotFound, u.texts.Unknown)
	}
	return false
}

// admit answers the request unless c may make the first admin.
func (u *UI) admit(w http.ResponseWriter, r *http.Request, c code) bool {
	if !u.known(w, c) {
		return false
	}
	has, err := u.HasAdmin(r.Context())
	switch {
	case err != nil:
		if !gone(r) {
			u.Log.ErrorContext(r.Context(), "cannot ask for an admin", "error", err)
		}
		w.Header().Set("Retry-After", retryAfter)
		u.message(w, http.StatusServiceUnavailable, u.texts.Unavailable)
		return false
	case has:
		u.link.spend()
		u.message(w, http.StatusGone, u.texts.Used)
		return false
	}
	return true
}

// again shows the form once more, with what is wrong and the name as typed.
func (u *UI) again(w http.ResponseWriter, r *http.Request, form setupForm, err error) {
	v := setupView{T: u.texts, Code: form.code, Username: form.username}
	status := http.StatusUnprocessableEntity
	if bad, ok := errors.AsType[*account.InvalidError](err); ok {
		for _, f := range bad.Fields {
			switch f.Field {
			case "username":
				v.UsernameProblems = append(v.UsernameProblems, u.texts.Username+" "+f.Message+".")
			case "password":
				v.PasswordProblems = append(v.PasswordProblems, u.texts.Passphrase+" "+f.Message+".")
			default:
				v.General = append(v.General, f.Field+" "+f.Message+".")
			}
		}
	} else if errors.Is(err, account.ErrExists) {
		status = http.StatusConflict
		v.UsernameProblems = []string{u.texts.Taken}
	} else {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", retryAfter)
		v.General = []string{u.texts.Failed}
		if errors.Is(err, account.ErrBusy) {
			v.General = []string{u.texts.Busy}
		} else if !gone(r) {
			u.Log.ErrorContext(r.Context(), "cannot create the first admin", "error", err)
		}
	}
	u.render(w, status, "setup", v)
}

func (u *UI) done(w http.ResponseWriter, user account.User) {
	body, err := json.Marshal(struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}{user.Username, u.texts.YourPassphrase})
	if err != nil { // two strings always marshal
		panic(err)
	}
	u.render(w, http.StatusOK, "done", doneView{
		T: u.texts, Name: user.Username, Login: u.link.address() + "/v1/login", Body: string(body),
	})
}

// gone reports whether the person has left. What fails after that is the
// leaving, which is no error to log.
func gone(r *http.Request) bool { return r.Context().Err() != nil }
