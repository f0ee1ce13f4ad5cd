//go:build unix

package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestLedgerJudges: what counts as a violation, and what it does not.
func TestLedgerJudges(t *testing.T) {
	id, err := idworker.Default().Compose(idworker.Parts{Time: time.Now(), Worker: 1})
	if err != nil {
		t.Fatal(err)
	}
	text := flakepass.NewToken(flakepass.ID(id)).Reveal()
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	answer := func(sent float64, status int) attempt {
		a := attempt{who: "one, asked", sent: at(sent), received: at(sent + 0.1), status: status}
		if status == 503 {
			a.retryAfter = "1"
		}
		return a
	}
	i := &instance{}
	for name, c := range map[string]struct {
		do   func(l *ledger, token *token)
		want string // in the one violation; empty: there is none
	}{
		"alive and accepted":                  {func(l *ledger, k *token) { l.verified(i, k, answer(1, 200)) }, ""},
		"alive and refused":                   {func(l *ledger, k *token) { l.verified(i, k, answer(1, 401)) }, "is alive, and refused"},
		"undecided while something is broken": {func(l *ledger, k *token) { l.verified(i, k, answer(1, 503)) }, ""},
		"undecided in calm": {func(l *ledger, k *token) {
			l.settle()
			l.verified(i, k, answer(60, 503))
		}, "into calm"},
		"undecided in what was no calm": {func(l *ledger, k *token) {
			l.settle()
			l.verified(i, k, answer(60, 503))
			l.settle() // this machine stood still: again
		}, ""},
		"a login is pardoned in calm, a question is not": {func(l *ledger, k *token) {
			l.pardon = "asked"
			l.settle()
			l.verified(i, k, answer(60, 503))
		}, ""},
		"503 without Retry-After": {func(l *ledger, k *token) {
			a := answer(1, 503)
			a.retryAfter = ""
			l.verified(i, k, a)
		}, "503 with Retry-After"},
		"500":                   {func(l *ledger, k *token) { l.verified(i, k, answer(1, 500)) }, "status 500"},
		"silence":               {func(l *ledger, k *token) { l.verified(i, k, answer(1, 0)) }, "no answer"},
		"silence that is due":   {func(l *ledger, k *token) { a := answer(1, 0); a.away = true; l.verified(i, k, a) }, ""},
		"logout that failed":    {func(l *ledger, k *token) { l.begin(k); l.closed(k, answer(1, 503)); l.verified(i, k, answer(9, 200)) }, ""},
		"refused once asked to": {func(l *ledger, k *token) { l.begin(k); l.closed(k, answer(1, 503)); l.verified(i, k, answer(9, 401)) }, ""},
		"accepted within the bound": {func(l *ledger, k *token) {
			l.begin(k)
			l.closed(k, answer(1, 204))
			l.verified(i, k, answer(2, 200))
		}, ""},
		"accepted past the bound": {func(l *ledger, k *token) {
			l.begin(k)
			l.closed(k, answer(1, 202))
			l.verified(i, k, answer(2.2, 200))
		}, "after its end was acknowledged; the bound is 1s"},
		"accepted past the bound of a newer login": {func(l *ledger, k *token) {
			l.begin(k)
			l.opened(k, text, answer(1, 200))
			l.verified(i, k, answer(2.2, 200))
		}, "after its end was acknowledged; the bound is 1s"},
		"login lost": {func(l *ledger, k *token) { l.rows(nil, at(5)) }, "whose login was acknowledged"},
		"login kept": {func(l *ledger, k *token) { l.rows(map[idworker.ID]session.Hash{k.id: k.hash}, at(5)) }, ""},
		"logout lost": {func(l *ledger, k *token) {
			l.begin(k)
			l.closed(k, answer(1, 204))
			l.rows(map[idworker.ID]session.Hash{k.id: k.hash}, at(5))
		}, "whose end was acknowledged"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{bound: time.Second}
			k, ok := l.opened(nil, text, answer(0, 200))
			if !ok {
				t.Fatal("no token")
			}
			c.do(l, k)
			said := l.broken()
			if c.want == "" && len(said) > 0 || c.want != "" && (len(said) != 1 || !strings.Contains(said[0], c.want)) {
				t.Errorf("violations %q, want %q", said, c.want)
			}
		})
	}
}
