package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/api/client"
)

// TestDisabledBackEndIsNoFaultOfThePerson: account_disabled is a 403 about the person, and a 401 about
// the account of the key.
func TestDisabledBackEndIsNoFaultOfThePerson(t *testing.T) {
	for status, want := range map[int]int{http.StatusForbidden: http.StatusForbidden, http.StatusUnauthorized: http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		answer(w, client.Issued{}, &client.Problem{Status: status, Code: client.AccountDisabled})
		if w.Code != want {
			t.Errorf("%d: answered %d, want %d", status, w.Code, want)
		}
	}
}
