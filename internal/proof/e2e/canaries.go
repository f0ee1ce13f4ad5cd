// Package e2e starts the program as its users do, on each kind of database, and
// speaks to it over HTTP. The tests of the whole program share it.
package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// Canaries are the secrets that a test has sent or was sent: no store, log or
// metric may sing of one. A nil *canaries keeps none.
type Canaries struct {
	mu   sync.Mutex
	kept map[string]string // what to look for, and what it is
}

// NewPassword makes a password that no other text contains.
func NewPassword() string { return "a canary sings " + unnamed.Replace(rand.Text()) }

// unnamed takes the vowels out: a password must not contain the name of its user,
// and three letters of a random text may be "ada".
var unnamed = strings.NewReplacer("A", "8", "E", "9", "I", "1", "O", "0", "U", "W")

// Add remembers a text that must not be written anywhere, and what it is.
func (c *Canaries) Add(text, what string) {
	if c == nil || text == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]string{}
	}
	c.kept[text] = what
}

// Password adds a password.
func (c *Canaries) Password(text string) { c.Add(text, "a password") }

// Token adds a token, and its secret part alone.
func (c *Canaries) Token(text string) {
	c.Add(text, "a token")
	if len(text) == flakepass.TokenLen {
		c.Add(text[14:40], "the secret of a token")
	}
}

// Absent fails the test if a secret is in what was written.
func (c *Canaries) Absent(t testing.TB, where string, written []byte) {
	t.Helper()
	if len(written) == 0 {
		t.Errorf("%s: nothing to look at", where)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for text, what := range c.kept {
		for how, spelling := range spellings(text) {
			if bytes.Contains(written, []byte(spelling)) {
				t.Errorf("%s holds %s%s", where, what, how)
			}
		}
	}
}

// spellings are the forms in which a secret can be written, by what to call them.
func spellings(text string) map[string]string {
	quoted, _ := json.Marshal(text) // a text cannot fail to be JSON
	all := map[string]string{
		"": text, " in hex": hex.EncodeToString([]byte(text)), " in upper case hex": strings.ToUpper(hex.EncodeToString([]byte(text))),
		" in a form": url.QueryEscape(text), " in a path": url.PathEscape(text), " in JSON": strings.Trim(string(quoted), `"`),
	}
	// In the middle of a longer text, base64 has three forms; what it makes of the
	// ends depends on what stands beside them.
	for name, enc := range map[string]*base64.Encoding{" in base64": base64.RawStdEncoding, " in base64url": base64.RawURLEncoding} {
		for before := range 3 {
			coded := enc.EncodeToString([]byte("xx"[:before] + text))
			from, to := (before*8+5)/6, (before+len(text))*8/6
			all[fmt.Sprint(name, " after ", before)] = coded[from:to]
		}
	}
	return all
}

// Metrics reads the metrics of the instance whose operators listen at ops.
func Metrics(t testing.TB, ops string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ops+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: %d %v", resp.StatusCode, err)
	}
	return body
}
