package console

import "testing"

// What takes a form only is no page to come back to after a login: a browser that
// is sent there is answered that the method is wrong.
func TestFormsAreNoPagesToComeBackTo(t *testing.T) {
	for _, p := range []string{
		codePath, logoutPath, "/console/language", expiryPath + "/revert", loginsPath + "/end", loginsPath + "/end-all",
		usersPath + "/7/reset", usersPath + "/7/reset/withdraw", usersPath + "/7/second-factor",
	} {
		if to := safePath(p); to != homePath {
			t.Errorf("%s leads to %s", p, to)
		}
	}
	if p := usersPath + "/7"; safePath(p) != p {
		t.Errorf("%s leads to %s", p, safePath(p))
	}
}
