package console

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// maxBody is the most bytes of a form. The longest passphrase that an account
// may have takes 3 KiB of them, the longest reason 9.
const maxBody = 16 << 10

// readForm reads the fields from the body alone, never from the URL. It
// returns the status of the refusal, or 0. A field that is there twice is
// refused: which one would count is anybody's guess.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, int) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return nil, http.StatusUnsupportedMediaType
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, http.StatusRequestEntityTooLarge
	}
	form, parseErr := url.ParseQuery(string(body))
	if err != nil || parseErr != nil {
		return nil, http.StatusBadRequest
	}
	for _, values := range form {
		if len(values) > 1 {
			return nil, http.StatusBadRequest
		}
	}
	return form, 0
}

// typed is what a person typed into that field, without the blanks around it,
// which keyboards of phones add.
func typed(form url.Values, field string) string {
	return strings.TrimSpace(strings.ToValidUTF8(form.Get(field), "\uFFFD"))
}

func typedName(form url.Values) string { return typed(form, "username") }

// setupForm is what a person sent to make the first admin. The password goes
// from here into an account.Password and nowhere else; of it no blank is
// dropped.
type setupForm struct {
	code     code
	username string
	password string
}

func readSetup(form url.Values) setupForm {
	return setupForm{code: newCode(form.Get("code")), username: typedName(form), password: form.Get("password")}
}

// checkSetupOrigin refuses a form that another site sent.
//
// One case is left to the code, which no other site knows: browsers that know
// no Sec-Fetch-Site, or do not send it over plain HTTP from another machine,
// may hide the origin. The pages that rest on the cookie do not allow this.
func (u *UI) checkSetupOrigin(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "null" {
		return nil
	}
	return u.origin.Check(r)
}
