package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestAttemptThatRevealsNothingIsReturned, also after the client has left; any
// other counts.
func TestAttemptThatRevealsNothingIsReturned(t *testing.T) {
	undecided := fmt.Errorf("login: %w", account.Undecided(account.ErrBusy))
	for err, want := range map[error]int{
		undecided: 1, &account.RefusedError{UserID: 7, Err: undecided}: 1,
		account.ErrWrong: 0, account.ErrDisabled: 0, account.ErrBusy: 0, errors.New("who knows"): 0, context.Canceled: 0, nil: 0,
	} {
		for path, body := range map[string]string{
			"POST /v1/login": `{"username":"ada","password":"x"}`, "PUT /v1/me/password": `{"current_password":"a","new_password":"b"}`,
			"POST /v1/me/reauthenticate": `{"password":"a","code":"123456"}`,
		} {
			w := &world{login: err, change: err}
			method, path, _ := strings.Cut(path, " ")
			ctx, leave := context.WithCancel(t.Context())
			req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+caller)
			h := handler(t, w, nil)
			leave()
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			if w.returned != want || want == 1 && rec.Code != http.StatusServiceUnavailable {
				t.Errorf("%s after %v: %d given back, want %d; status %d", path, err, w.returned, want, rec.Code)
			}
		}
	}
}
