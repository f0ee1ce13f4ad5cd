package flakepass_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

// What a real server makes of a raw request is not always what was sent: Go
// joins folded lines with a space.
func TestGuardBehindARealServer(t *testing.T) {
	server := httptest.NewServer((&flakepass.Guard{Verifier: flakepass.VerifierFunc(toAlice), Header: "X-Auth-Token"}).Handler(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))
	t.Cleanup(server.Close)

	for name, c := range map[string]struct {
		lines  string
		status int
		says   string
	}{
		"good":                  {"authorization: bearer " + goldenText + "\r\n", 204, ""},
		"spaces around":         {"Authorization:   Bearer " + goldenText + " \t \r\n", 204, ""},
		"folded before token":   {"Authorization: Bearer\r\n " + goldenText + "\r\n", 204, ""},
		"folded in the token":   {"Authorization: Bearer " + goldenText[:20] + "\r\n " + goldenText[20:] + "\r\n", 401, "token_malformed"},
		"folded after token":    {"Authorization: Bearer " + goldenText + "\r\n " + secondGolden + "\r\n", 401, "token_malformed"},
		"two lines, two cases":  {"Authorization: Bearer " + goldenText + "\r\nAUTHORIZATION: Bearer " + secondGolden + "\r\n", 400, "credentials_ambiguous"},
		"two headers":           {"Authorization: Bearer " + goldenText + "\r\nx-auth-token: " + secondGolden + "\r\n", 400, "credentials_ambiguous"},
		"alias with underscore": {"X_Auth_Token: " + goldenText + "\r\n", 401, "token_missing"},
		"high bytes":            {"Authorization: Bearer " + strings.Repeat("\x80", 46) + "\r\n", 401, "token_malformed"},
		"16 KiB":                {"Authorization: Bearer " + strings.Repeat("A", 16<<10) + "\r\n", 401, "token_malformed"},
		"NUL":                   {"Authorization: Bearer " + goldenText + "\x00\r\n", 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var dialer net.Dialer
			conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n"+c.lines+"\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status || !strings.Contains(string(body), c.says) || leaks(string(body)) {
				t.Errorf("got %d %s, want %d %s", answer.StatusCode, body, c.status, c.says)
			}
		})
	}
}
