package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// withProof does what needs a login in which password and code were shown lately.
// Where the form has the password, it is shown first. Where what is done fails
// because none was shown, again shows the page of the form once more: its frame asks
// for password and code in the form of that name, and has what was typed. So who has
// shown them lately is asked nothing, and one submission does both.
//
// ok is false if again has answered the request, and err is that of do otherwise.
func (v *visit) withProof(form url.Values, name string, again func(status int, problem string), do func() error) (ok bool, err error) {
	status, problem := 0, ""
	if form.Get("confirm_password") != "" {
		status, problem = v.confirmed(form)
	}
	if problem == "" {
		if err = do(); !errors.Is(err, audit.ErrUnproven) {
			return true, err
		}
		status, problem = http.StatusForbidden, v.t.Text("confirm.needed")
	}
	v.asks, v.sent = name, form
	again(status, problem)
	return false, nil
}

// Asks reports whether the page asks for password and code in the form of that name.
func (f frame) Asks(form string) bool { return f.asks == form }

// Sent is what was typed into a field of the form of that name, if the page asks for
// the password in it. Passwords and codes are never sent back.
func (f frame) Sent(form, field string) string {
	if f.asks != form || field == "password" || field == "confirm_password" || field == "confirm_code" {
		return ""
	}
	return f.sent.Get(field)
}
