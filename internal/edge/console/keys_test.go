package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// TestConsoleSaysWhichKeyIsMissing: an admin whose second factor nothing could
// check was answered that the server could not check the passphrase.
func TestConsoleSaysWhichKeyIsMissing(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	sealed := fmt.Errorf("secondfactor: open: %w: key 0a is not in FLAKEPASS_SECOND_FACTOR_KEY", secondfactor.ErrSealed)
	w.own = own{ticket: true, err: sealed}
	page := w.do(postForm("/console/login/code", url.Values{"ticket": {"the-ticket"}, "code": {"123456"}}))
	wantStatus(t, page, 503)
	wantText(t, page, "A recovery code still works.", "FLAKEPASS_SECOND_FACTOR_KEY", `value="the-ticket"`, `name="code"`)
	if len(page.Result().Cookies()) != 0 || page.Header().Get("Retry-After") == "" || !strings.Contains(w.log.String(), "set FLAKEPASS_SECOND_FACTOR_KEY to the key") {
		t.Errorf("header %v, log %s", page.Header(), &w.log)
	}
	page = w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1",
		"do", "confirm", "confirm_for", dialKey, "confirm_password", passphrase, "confirm_code", "123456")
	wantStatus(t, page, 503)
	wantText(t, page, "A recovery code still works.")
}
