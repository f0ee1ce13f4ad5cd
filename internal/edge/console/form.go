package console

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"
)

// maxBody is the most bytes of a form. The longest passphrase that an account
// may have takes 3 KiB of them, the longest reason 9.
const maxBody = 16 << 10

// readForm reads the fields from the body alone, never from the URL. It
// returns the status of the refusal, or 0.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, int) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return nil, http.StatusUnsupportedMediaType
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // the network was slow, and the form may be good
		w.Header().Set("Retry-After", retryAfter)
		return nil, http.StatusServiceUnavailable
	}
	form, ok := readFields(string(body))
	if err != nil || !ok {
		return nil, http.StatusBadRequest
	}
	return form, 0
}

// readFields reads the fields of a form, or of a query. ok is false for what is not
// escaped as it should be, for what is no text in UTF-8, and for a field that is there
// twice: which one counts would be a guess.
func readFields(encoded string) (fields url.Values, ok bool) {
	fields, err := url.ParseQuery(encoded)
	for name, values := range fields {
		if len(values) > 1 || !utf8.ValidString(name+values[0]) {
			return nil, false
		}
	}
	return fields, err == nil
}

// typed is what a person typed into that field, without the blanks around it,
// which keyboards of phones add.
func typed(form url.Values, field string) string { return strings.TrimSpace(form.Get(field)) }

// setupForm is what a person sent to make the first admin. The password goes
// from here into an account.Password and nowhere else; of it no blank is
// dropped.
type setupForm struct {
	code     code
	username string
	password string
}

func readSetup(form url.Values) setupForm {
	return setupForm{code: newCode(form.Get("code")), username: typed(form, "username"), password: form.Get("password")}
}

// linkForm reads a form of a page that a one-time link leads to, unless another site
// sent it.
//
// One case is left to the secret of the link, which no other site knows: browsers that
// know no Sec-Fetch-Site, or do not send it over plain HTTP from another machine,
// may hide the origin. The pages that rest on the cookie do not allow this.
func (u *UI) linkForm(h func(*request, url.Values)) func(*request) {
	return func(q *request) {
		q.hideReferrer()
		hidden := q.r.Header.Get("Sec-Fetch-Site") == "" && q.r.Header.Get("Origin") == "null"
		if err := u.origin.Check(q.r); err != nil && !hidden {
			q.message(http.StatusForbidden, q.t.message("cross_origin"))
			return
		}
		q.withForm(h)
	}
}
