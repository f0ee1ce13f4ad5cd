package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestBarIsALineNowAndThen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &bar{w: &out, what: "logins", terminal: true, total: 200}
	b.show(50)
	if b.shown.IsZero() {
		t.Error("it does not remember when it was shown")
	}
	b.shown = time.Now().Add(time.Hour) // it was, however slow this machine is, a moment ago
	b.show(51)                          // too soon
	if got := out.String(); got != "\r\x1b[K[#######                       ] 50 of 200 logins" {
		t.Errorf("%q", got)
	}
	b.shown = time.Time{}
	b.show(300) // more came meanwhile
	b.end()
	if got := out.String(); !strings.Contains(got, "[##############################] 300 of 200 logins") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("%q", got)
	}
	out.Reset()
	b = &bar{w: &out, what: "logins"}
	b.show(7)
	b.end()
	if got := out.String(); got != "7 logins so far\n" {
		t.Errorf("not on a terminal: %q", got)
	}
}
