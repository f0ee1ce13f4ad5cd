package account_test

import (
	"context"
	"errors"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestOnlyWhatWasComparedIsAGuess: an attempt that ended before the comparison is
// undecided, for a name with an account and for one without; and one
// that was compared counts, whatever became of its request meanwhile.
func TestOnlyWhatWasComparedIsAGuess(t *testing.T) {
	s, users := newService(t)
	register(t, s, "alice")
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, name := range []string{"alice", "nobody"} {
		_, err := authenticate(s, gone, account.Asker{}, name, account.NewPassword("wrong horse battery staple"))
		if !errors.Is(err, account.ErrUndecided) || !errors.Is(err, account.ErrBusy) || errors.Is(err, account.ErrWrong) {
			t.Errorf("%s, by a client that had left: %v", name, err)
		}
		leaving, leave := context.WithCancel(t.Context())
		s.Hasher.Observe(true, func(string) { leave() }) // in the middle of it
		_, err = authenticate(s, leaving, account.Asker{}, name, account.NewPassword("wrong horse battery staple"))
		if errors.Is(err, account.ErrUndecided) || !errors.Is(err, account.ErrWrong) {
			t.Errorf("%s, by a client that left while it was compared: %v", name, err)
		}
	}
	users.lookup = errors.New("no answer")
	if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword("wrong horse battery staple")); !errors.Is(err, account.ErrUndecided) || !errors.Is(err, users.lookup) {
		t.Errorf("without the store: %v", err)
	}
}
