package lincheck_test

import (
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/lincheck"
)

func TestRecorderKeepsRequestsAndAnswers(t *testing.T) {
	r := lincheck.NewRecorder()
	in := r.Ask("ada", lincheck.Login, 0, "a")
	in.Opened(7, time.Now().Add(time.Hour))
	in.Lost() // too late
	check := r.Ask("ada", lincheck.Verify, 7, "b")
	check.Refuse(invalid)
	r.Ask("ada", lincheck.End, 0, "").Ended("token_revoked")
	r.Ask("ada", lincheck.Verify, 7, "b").Done()
	r.Ask("ada", lincheck.Verify, 7, "c").Drop()
	r.Ask("ada", lincheck.Logout, 7, "b").Lost()
	r.Ask("ada", lincheck.Logout, 7, "c") // its client was killed
	got := r.History()
	want := []lincheck.Op{
		{User: "ada", Kind: lincheck.Login, Token: 7, At: "a", Outcome: lincheck.Done},
		{User: "ada", Kind: lincheck.Verify, Token: 7, At: "b", Outcome: lincheck.Refused, Code: invalid},
		{User: "ada", Kind: lincheck.End, Outcome: lincheck.Done, Code: "token_revoked"},
		{User: "ada", Kind: lincheck.Verify, Token: 7, At: "b", Outcome: lincheck.Done},
		{User: "ada", Kind: lincheck.Logout, Token: 7, At: "b", Outcome: lincheck.Unknown},
		{User: "ada", Kind: lincheck.Logout, Token: 7, At: "c", Outcome: lincheck.Unknown},
	}
	if len(got) != len(want) {
		t.Fatalf("%d ops, want %d: %v", len(got), len(want), got)
	}
	before := time.Duration(0)
	for i, o := range got {
		if o.Call < before || (o.Outcome != lincheck.Unknown && o.Return < o.Call) {
			t.Errorf("%v: a clock that goes back", o)
		}
		before = o.Call
		if i == 0 && (o.Expires < time.Hour-time.Minute || o.Expires > time.Hour+time.Minute) {
			t.Errorf("expires at %v, want about an hour", o.Expires)
		}
		o.Call, o.Return, o.Expires = 0, 0, 0
		if o != want[i] {
			t.Errorf("got %v, want %v", o, want[i])
		}
	}
}

func TestRecorderTakesManyClients(t *testing.T) {
	r := lincheck.NewRecorder()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				r.Ask("ada", lincheck.Verify, 7, "a").Done()
				_ = r.History()
			}
		})
	}
	all.Wait()
	if n := len(r.History()); n != 800 {
		t.Errorf("%d ops, want 800", n)
	}
}
