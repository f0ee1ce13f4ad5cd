package cli

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
)

// TestRemoteAdviceCanHelp: a new login helps who is logged out, and nobody who is disabled.
func TestRemoteAdviceCanHelp(t *testing.T) {
	for code, want := range map[client.Code]string{
		client.TokenRevoked: "say `flakepass remote login URL NAME`", client.AccountDisabled: "ask another admin to enable it",
	} {
		if got := remoteError(&client.Problem{Status: 401, Code: code}).Error(); !strings.HasSuffix(got, "; "+want) {
			t.Errorf("%s: %s", code, got)
		}
	}
}

// TestRemoteRefusesToSendInTheClear: whatever the way to write a host that is not
// this machine.
func TestRemoteRefusesToSendInTheClear(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://auth.example.org": true, "https://10.0.0.1:8443/below": true, "http://127.0.0.1:8080": true, "http://localhost": true, "http://[::1]:80": true,
		"http://127.1.2.3": true,
		"http://auth":      false, "http://10.0.0.1": false, "http://localhost.example.org": false, "http://127.0.0.1.example.org": false,
		"http://2130706433": false, "http://0.0.0.0:8080": false, "http://[::]": false, "HTTP://auth": false, "http://127.0.0.1@auth": false,
		"http://user:x@127.0.0.1": false, "ftp://127.0.0.1": false, "": false, "auth": false, "https://": false, "https://a?x": false,
	} {
		if err := checkURL(url, false); (err == nil) != want {
			t.Errorf("%q: %v", url, err)
		}
	}
	if err := checkURL("http://auth", true); err != nil {
		t.Errorf("--insecure: %v", err)
	}
}

// FuzzTarget: what is read of the file is a server and its token, or an error
// that repeats neither.
func FuzzTarget(f *testing.F) {
	f.Add([]byte(`{"url":"https://auth.example.org","username":"root","token":"` + flakepass.NewToken(7).Reveal() + `"}`))
	f.Add([]byte(`{"url":"https://a:b@c","username":"root","token":"fp_canary"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseTarget("path", b)
		switch {
		case err == nil && (got.Token.IsZero() || got.Username == "" || checkURL(got.URL, true) != nil):
			t.Errorf("half a target: %+v", got)
		case err != nil && err.Error() != "path is damaged; remove it, and say `flakepass remote login URL NAME`":
			t.Errorf("the error is %q", err)
		}
	})
}
