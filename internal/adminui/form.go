package adminui

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// maxBody is the most bytes of a form. The longest passphrase that an account
// may have takes 3 KiB of them.
const maxBody = 8 << 10

// setupForm is what a person sent. The password goes from here into an
// account.Password and nowhere else.
type setupForm struct {
	code     code
	username string
	password string
}

// readForm reads the fields from the body alone, never from the URL. It
// returns the status of the refusal, or 0. A field that is there twice is
// refused: which one would count is anybody's guess.
//
// Blanks around the name are dropped, since keyboards of phones add one; of
// the passphrase nothing is.
func readForm(w http.ResponseWriter, r *http.Request) (setupForm, int) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return setupForm{}, http.StatusUnsupportedMediaType
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return setupForm{}, http.StatusRequestEntityTooLarge
	}
	form, parseErr := url.ParseQuery(string(body))
	if err != nil || parseErr != nil {
		return setupForm{}, http.StatusBadRequest
	}
	for _, values := range form {
		if len(values) > 1 {
			return setupForm{}, http.StatusBadRequest
		}
	}
	return setupForm{
		code:     newCode(form.Get("code")),
		username: strings.TrimSpace(strings.ToValidUTF8(form.Get("username"), "\uFFFD")),
		password: form.Get("password"),
	}, 0
}

// checkOrigin refuses a form that another site sent.
//
// One case is left to the code, which no other site knows: because the policy
// for referrers is no-referrer, browsers send our own form with the origin
// "null", and over plain HTTP from another machine they do not say same-origin
// either. A page that rests on a cookie could not allow this.
func (u *UI) checkOrigin(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "null" {
		return nil
	}
	return u.origin.Check(r)
}
