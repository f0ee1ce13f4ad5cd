package lincheck_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/lincheck"
)

// What the check leaves out changes no verdict: on small histories of random
// questions and random answers it says what the definition says. With logins that
// were not answered it may let pass what the definition would not, and never the
// other way round.
func TestShortHistoryHasTheVerdictOfTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	var legal, illegal, loose int
	for range 4_000 {
		history, unanswered := random(rng)
		bound := time.Duration(rng.IntN(6)) * ms
		got, want := lincheck.Check(history, bound).Legal, lincheck.Plainly(history, bound)
		switch {
		case got == want && want:
			legal++
		case got == want:
			illegal++
		case unanswered && got:
			loose++
		default:
			text := ""
			for _, o := range history {
				text += "  " + o.String() + "\n"
			}
			t.Fatalf("bound %v: legal %v, want %v\n%s", bound, got, want, text)
		}
	}
	t.Logf("%d legal, %d illegal, %d let pass", legal, illegal, loose)
	if legal < 1200 || illegal < 1200 || loose > 200 {
		t.Errorf("%d legal, %d illegal, %d let pass: these histories prove little", legal, illegal, loose)
	}
}

// random is a history of one user, mostly of answers that can be true.
func random(rng *rand.Rand) (history []lincheck.Op, unanswered bool) {
	logins := 1 + rng.IntN(3)
	for i := range logins {
		history = append(history, login(int64(i+1), time.Duration(10*i), time.Duration(10*i+1+rng.IntN(12))))
	}
	if rng.IntN(4) == 0 {
		unanswered = true
		history = append(history, lost(login(0, time.Duration(rng.IntN(30)), 0)))
	}
	codes := []string{out, replaced, replaced, invalid, "token_revoked"}
	for range 2 + rng.IntN(6) {
		token := int64(1 + rng.IntN(logins))
		// No client asks about a token that was in no answer.
		call := history[token-1].Return/ms + 1 + time.Duration(rng.IntN(12))
		back := call + 1 + time.Duration(rng.IntN(8))
		switch rng.IntN(8) {
		case 0:
			history = append(history, logout(token, call, back))
		case 1:
			history = append(history, lost(logout(token, call, 0)))
		case 2, 3:
			history = append(history, refuse(token, codes[rng.IntN(len(codes))], call, back))
		case 4:
			o := of(lincheck.End, "token_revoked", call, back)
			if rng.IntN(2) == 0 {
				o.Outcome, o.Code = lincheck.Unknown, ""
			}
			history = append(history, o)
		default:
			history = append(history, accept(token, call, back))
		}
	}
	rng.Shuffle(len(history), func(i, j int) { history[i], history[j] = history[j], history[i] })
	return history, unanswered
}

// FuzzCheck: whatever the history, there is a verdict, and it agrees with the one
// of the bound that is measured.
func FuzzCheck(f *testing.F) {
	f.Add(uint64(1), 0)
	f.Fuzz(func(t *testing.T, seed uint64, bound int) {
		history, _ := random(rand.New(rand.NewPCG(seed, 3)))
		b := time.Duration(uint(bound)%100) * ms
		smallest, v := lincheck.MeasuredBound(history)
		if got := lincheck.Check(history, b).Legal; got != (v.Legal && b >= smallest) {
			t.Errorf("bound %v: legal %v; measured %v, %v", b, got, smallest, fmt.Sprint(v))
		}
	})
}
