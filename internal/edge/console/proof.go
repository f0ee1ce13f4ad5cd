package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// An again shows the page of a form once more, with what is wrong, in a sentence each.
type again func(status int, problems ...string)

// plainly is for a form whose page is not shown once more: a page says what is wrong.
func (q *request) plainly(title string) again {
	return func(status int, problems ...string) { q.message(status, message{Title: title, Lines: problems}) }
}

// withProof runs do, which needs a login in which password and code were shown lately. If the form
// has the password, that proof comes first. If do fails because there is no proof, again shows the
// page of the form once more. That page asks for password and code in the form with this name, and
// keeps what was typed. So a user who has proven lately is not asked, and one submission both
// proves and acts.
//
// ok is false if the request is answered. Otherwise err is the error of do.
func (q *request) withProof(form url.Values, name string, again again, do func() error) (ok bool, err error) {
	q.keep(name, form)
	status, problem := 0, ""
	if form.Get("confirm_password") != "" {
		if err = q.confirmed(form); q.answerRefusal(err) {
			return false, nil
		}
		if err != nil {
			status, problem = q.refusal("confirm", err)
		}
	}
	if problem == "" {
		if err = do(); !errors.Is(err, audit.ErrUnproven) {
			return true, err
		}
		status, problem = http.StatusForbidden, q.t.Text("confirm.needed")
	}
	q.asks = true
	again(status, problem)
	return false, nil
}

// keep has the page of the form of that name, where it is shown once more, show what was
// typed into it.
func (q *request) keep(name string, form url.Values) { q.form, q.sent = name, form }

// Asks reports whether the page asks for password and code in the form of that name.
func (f frame) Asks(form string) bool { return f.asks && f.form == form }

// Sent is what was typed into a field of the form of that name, if the page shows it once
// more. Passwords and codes are never sent back.
func (f frame) Sent(form, field string) string {
	if f.form != form || field == "password" || field == "confirm_password" || field == "confirm_code" {
		return ""
	}
	return f.sent.Get(field)
}

const codePath = loginPath + "/code"

type codeView struct {
	frame
	Problem, Ticket, Next string
}

// askCode is the second step of a login: the password was right, and a ticket in
// the form stands for it.
func (q *request) askCode(status int, ticket, next, problem string) {
	f := q.frame(q.t.Text("login.title"), loginPath)
	f.Bad = problem != ""
	q.render(status, "code", codeView{frame: f, Problem: problem, Ticket: ticket, Next: next})
}

func (u *UI) postCode(q *request, form url.Values) {
	ticket, next := form.Get("ticket"), safePath(form.Get("next"))
	begun, err := u.Own.Finish(q.r.Context(), q.client(), account.RoleAdmin, ticket, secondfactor.NewCode(form.Get("code")))
	_, limited := errors.AsType[*ratelimit.LimitedError](err)
	switch {
	case err == nil:
		q.finishLogin(begun, next)
	case q.noRoom(err, next):
	case errors.Is(err, secondfactor.ErrInvalid), errors.Is(err, secondfactor.ErrRequired):
		q.askCode(http.StatusUnauthorized, ticket, next, q.t.Text("account.code_wrong"))
	case limited, errors.Is(err, secondfactor.ErrSealed): // the ticket is good
		status, problem := q.refusal("login", err)
		q.askCode(status, ticket, next, problem)
	default:
		status, problem := q.refusal("login", err)
		q.loginAgain(status, "", next, problem)
	}
}

// A passphraseField is where a user chooses a passphrase; passphrase.html shows
// it. What was typed is not in it, so it cannot come back.
type passphraseField struct {
	T           *texts
	ID, Name    string
	Label, Hint string // Hint may be empty
	Problems    []string
	Least       int  // characters, for the browser to hold to; 0: the server alone says
	Optional    bool // the form can do without
	Live        bool // setup.js says whether it is long enough, and can show it; its ID is password
	Focus       bool
}

// newPassphrase is a field of which the server alone says what is wrong.
func newPassphrase(t *texts, name, label string, problems []string) passphraseField {
	return passphraseField{T: t, ID: name, Name: name, Label: label, Hint: t.Text("setup.passphrase_hint"), Problems: problems}
}

func (f passphraseField) live() passphraseField {
	f.Least, f.Live = account.MinPasswordLength, true
	return f
}

func (v setupView) Passphrase() passphraseField {
	f := newPassphrase(v.T, "password", v.T.Text("setup.passphrase"), v.PasswordProblems).live()
	f.Focus = v.FocusPassword()
	return f
}

func (v passwordView) Passphrase() passphraseField {
	return newPassphrase(v.T, "password", v.T.Text("reset.new"), v.PasswordProblems).live()
}

func (v passwordView) Again() passphraseField {
	return passphraseField{T: v.T, ID: "password-again", Name: "password_again", Label: v.T.Text("reset.again"), Least: account.MinPasswordLength}
}

// Passphrase is that of a new user. A link can be given instead: a browser that held
// to the length would hold the form up for a field that is not shown.
func (v usersView) Passphrase() passphraseField {
	f := newPassphrase(v.T, "password", v.T.Text("setup.passphrase"), nil)
	f.Optional = true
	return f
}

// Passphrase is the new one. Beside a second factor fewer characters are enough.
func (v accountView) Passphrase() passphraseField {
	var problems []string
	if v.At == doPassword {
		problems = v.Problems
	}
	f := newPassphrase(v.T, "new_password", v.T.Text("account.new_password"), problems)
	if v.Factor {
		f.Hint = v.T.Text("account.new_beside")
	}
	return f
}
