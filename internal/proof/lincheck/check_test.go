package lincheck_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/lincheck"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func login(token int64, call, back time.Duration) lincheck.Op {
	return lincheck.Op{User: "ada", Kind: lincheck.Login, Token: token, Outcome: lincheck.Done, Call: call * ms, Return: back * ms}
}

func logout(token int64, call, back time.Duration) lincheck.Op {
	return lincheck.Op{User: "ada", Kind: lincheck.Logout, Token: token, Outcome: lincheck.Done, Call: call * ms, Return: back * ms}
}

func accept(token int64, call, back time.Duration) lincheck.Op {
	return lincheck.Op{User: "ada", Kind: lincheck.Verify, Token: token, Outcome: lincheck.Done, Call: call * ms, Return: back * ms}
}

func refuse(token int64, code string, call, back time.Duration) lincheck.Op {
	o := accept(token, call, back)
	o.Outcome, o.Code = lincheck.Refused, code
	return o
}

func lost(o lincheck.Op) lincheck.Op {
	o.Outcome, o.Return = lincheck.Unknown, 0
	if o.Kind == lincheck.Login {
		o.Token = 0
	}
	return o
}

func of(kind lincheck.Kind, code string, call, back time.Duration) lincheck.Op {
	return lincheck.Op{User: "ada", Kind: kind, Code: code, Outcome: lincheck.Done, Call: call * ms, Return: back * ms}
}

func by(at string, o lincheck.Op) lincheck.Op { o.At = at; return o }

func expires(at time.Duration, o lincheck.Op) lincheck.Op { o.Expires = at * ms; return o }

const (
	out      = "token_logged_out"
	replaced = "token_replaced"
	invalid  = "token_invalid"
	expired  = "token_expired"
	disabled = "account_disabled"
)

func TestVerdicts(t *testing.T) {
	refusedLogin := login(0, 60, 65)
	refusedLogin.Outcome, refusedLogin.Code = lincheck.Refused, disabled
	for _, c := range []struct {
		name    string
		bound   time.Duration
		history []lincheck.Op
		legal   bool
	}{
		{"nothing", 0, nil, true},
		{"a login that is used and ended", 0, []lincheck.Op{login(7, 0, 10), accept(7, 11, 12), logout(7, 20, 30), refuse(7, out, 31, 32)}, true},

		{"accepted while its logout is under way", 0, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), accept(7, 25, 29)}, true},
		{"accepted after its logout was answered", 0, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), accept(7, 31, 32)}, false},
		{"accepted after its logout, within the bound", 5, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), accept(7, 34, 90)}, true},
		{"accepted after its logout, beyond the bound", 5, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), accept(7, 36, 90)}, false},
		{"accepted after it was replaced", 5, []lincheck.Op{login(7, 0, 10), login(8, 20, 30), accept(7, 36, 40)}, false},
		{"refused, and accepted later", 0, []lincheck.Op{login(7, 0, 10), logout(7, 20, 90), refuse(7, out, 30, 40), accept(7, 41, 42)}, false},
		{"refused, and asked before for what is accepted later", 0, []lincheck.Op{login(7, 0, 10), logout(7, 20, 90), refuse(7, out, 30, 40), accept(7, 39, 42)}, true},

		{"a living login refused", 50, []lincheck.Op{login(7, 0, 10), refuse(7, invalid, 11, 12)}, false},
		{"a living login refused, used before and after", 50, []lincheck.Op{login(7, 0, 10), accept(7, 11, 12), refuse(7, out, 13, 14), accept(7, 15, 16)}, false},
		{"a login refused before its logout was asked for", 50, []lincheck.Op{login(7, 0, 10), refuse(7, out, 15, 19), logout(7, 20, 30)}, false},
		{"a login refused while its logout is under way", 0, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), refuse(7, out, 15, 21)}, true},
		{"answered that it was replaced, and it was not", 0, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), refuse(7, replaced, 31, 32)}, false},
		{"answered that it is not known, and it ended last", 0, []lincheck.Op{login(7, 0, 10), login(8, 11, 20), refuse(7, invalid, 31, 32)}, false},
		{"answered that it is not known, after a later one has ended", 0, []lincheck.Op{login(7, 0, 10), login(8, 11, 20), logout(8, 21, 25), refuse(7, invalid, 31, 32)}, true},
		{"a logout that ends the next login", 9, []lincheck.Op{login(7, 0, 10), login(8, 11, 20), logout(7, 21, 25), refuse(8, out, 31, 32)}, false},
		{"IDs that do not grow", 0, []lincheck.Op{login(8, 0, 10), login(7, 11, 20)}, false},
		{"an ID that comes twice", 0, []lincheck.Op{login(7, 0, 10), login(7, 11, 20)}, false},
		{"two logins at once, the smaller ID answered last", 0, []lincheck.Op{login(8, 0, 10), login(7, 5, 20), accept(8, 21, 22)}, true},
		{"two logins at once, the smaller ID wins", 0, []lincheck.Op{login(8, 0, 10), login(7, 5, 20), accept(7, 21, 22)}, false},

		{"a logout without an answer that happened", 0, []lincheck.Op{login(7, 0, 10), lost(logout(7, 20, 0)), accept(7, 30, 31), refuse(7, out, 40, 41)}, true},
		{"a logout without an answer that never happened", 0, []lincheck.Op{login(7, 0, 10), lost(logout(7, 20, 0)), accept(7, 90, 91)}, true},
		{"a logout without an answer, half of it", 0, []lincheck.Op{login(7, 0, 10), lost(logout(7, 20, 0)), refuse(7, out, 30, 31), accept(7, 90, 91)}, false},
		{"a logout without an answer that happened before it was asked for", 0, []lincheck.Op{login(7, 0, 10), lost(logout(7, 20, 0)), refuse(7, out, 18, 19)}, false},
		{"a login without an answer that happened", 0, []lincheck.Op{login(7, 0, 10), lost(login(0, 20, 0)), accept(7, 30, 31), refuse(7, replaced, 40, 41)}, true},
		{"a login without an answer, half of it", 0, []lincheck.Op{login(7, 0, 10), lost(login(0, 20, 0)), refuse(7, replaced, 30, 31), accept(7, 40, 41)}, false},
		{"one login without an answer that ends two", 0, []lincheck.Op{login(7, 0, 10), lost(login(0, 11, 0)), refuse(7, replaced, 12, 13), login(8, 20, 30), refuse(8, replaced, 31, 32)}, false},
		{"a verify without an answer says nothing", 0, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), lost(accept(7, 31, 0))}, true},

		{"ended by a change of password", 0, []lincheck.Op{login(7, 0, 10), of(lincheck.End, "token_revoked", 20, 30), refuse(7, "token_revoked", 31, 32)}, true},
		{"accepted after a change of password", 5, []lincheck.Op{login(7, 0, 10), of(lincheck.End, "token_revoked", 20, 30), accept(7, 36, 37)}, false},
		{"disabled, and refused everywhere", 0, []lincheck.Op{login(7, 0, 10), of(lincheck.Disable, "", 20, 30), refuse(7, disabled, 31, 32), refusedLogin}, true},
		{"disabled, and logged in", 0, []lincheck.Op{of(lincheck.Disable, "", 0, 10), login(7, 11, 12)}, false},
		{"disabled and enabled, and the old login lives", 0, []lincheck.Op{login(7, 0, 10), of(lincheck.Disable, "", 20, 30), of(lincheck.Enable, "", 40, 50), accept(7, 51, 52)}, false},
		{"not disabled, and answered so", 0, []lincheck.Op{refusedLogin}, false},

		{"expired in its time", 0, []lincheck.Op{expires(1000, login(7, 0, 10)), accept(7, 990, 999), refuse(7, expired, 1001, 1002)}, true},
		{"expired long before its time", 0, []lincheck.Op{expires(1000, login(7, 0, 10)), refuse(7, expired, 500, 501)}, false},
		{"accepted long after its time", 9999, []lincheck.Op{expires(1000, login(7, 0, 10)), accept(7, 1500, 1501)}, false},

		{"refused here, accepted there, within the bound", 50, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), by("a", refuse(7, out, 31, 32)), by("b", accept(7, 33, 34))}, true},
		{"refused here, accepted here, within the bound", 50, []lincheck.Op{login(7, 0, 10), logout(7, 20, 30), by("a", refuse(7, out, 31, 32)), by("a", accept(7, 33, 34))}, false},
		{"ended here, accepted here, within the bound", 50, []lincheck.Op{login(7, 0, 10), by("a", logout(7, 20, 30)), by("a", accept(7, 33, 34))}, false},
		{"not known here, accepted here, within the bound", 50, []lincheck.Op{login(7, 0, 10), login(8, 11, 12), logout(8, 20, 30), by("a", refuse(7, invalid, 31, 32)), by("a", accept(7, 33, 34))}, true},
		{"logged out there, a new login here, accepted here, within the bound", 50, []lincheck.Op{login(7, 0, 10), by("b", logout(7, 11, 12)), by("a", login(8, 20, 30)), by("a", accept(7, 33, 34))}, true},
		{"replaced here, accepted here, within the bound", 50, []lincheck.Op{login(7, 0, 10), by("a", login(8, 20, 30)), by("a", accept(7, 33, 34))}, false},
	} {
		// Another user's history is no part of it, whatever the order of the ops.
		other := login(1, 0, 1)
		other.User = "bob"
		history := append(slices.Clone(c.history), other)
		slices.Reverse(history)
		v := lincheck.Check(history, c.bound*ms)
		if v.Legal != c.legal {
			t.Errorf("%s: %v, want legal %v", c.name, v, c.legal)
		}
		if !v.Legal && (v.User != "ada" || v.Why == "" || len(v.History) == 0 || !strings.Contains(v.String(), "illegal: ada")) {
			t.Errorf("%s: a verdict that does not say what is wrong: %v", c.name, v)
		}
	}
}

// A history of a system that is right is legal with the staleness that it has,
// and the bound that is measured is no more than that.
func TestMeasuredBoundIsTheStaleness(t *testing.T) {
	for _, stale := range []time.Duration{0, 50 * ms, 400 * ms} {
		history := simulate(3, 6, 30, stale)
		if v := lincheck.Check(history, stale); !v.Legal {
			t.Fatalf("staleness %v: %v", stale, v)
		}
		got, v := lincheck.MeasuredBound(history)
		if !v.Legal || got > stale || got < stale*8/10 {
			t.Errorf("staleness %v: measured %v, %v", stale, got, v)
		}
		if got > 0 && lincheck.Check(history, got-ms).Legal {
			t.Errorf("staleness %v: measured %v, and less would do", stale, got)
		}
	}
}

// Each of these is one op in a history of 2,000 that is legal without it.
func TestPlantedViolationIsFound(t *testing.T) {
	const stale = 50 * ms
	history := simulate(7, 6, 30, stale)
	find := func(want func(lincheck.Op) bool) (int, lincheck.Op) {
		t.Helper()
		i := slices.IndexFunc(history, want)
		if i < 0 {
			t.Fatal("no such op")
		}
		return i, history[i]
	}
	_, ended := find(func(o lincheck.Op) bool { return o.Kind == lincheck.Logout && o.Token == 20 })
	at, used := find(func(o lincheck.Op) bool {
		return o.User == ended.User && o.Kind == lincheck.Verify && o.Outcome == lincheck.Done
	})
	begun, _ := find(func(o lincheck.Op) bool {
		return o.User == used.User && o.Kind == lincheck.Login && o.Token == used.Token
	})
	verify := func(token int64, outcome lincheck.Outcome, code string, call time.Duration) lincheck.Op {
		return lincheck.Op{User: ended.User, Kind: lincheck.Verify, Token: token, Outcome: outcome, Code: code, Call: call, Return: call + ms}
	}
	for name, plant := range map[string]func([]lincheck.Op) []lincheck.Op{
		"stale accept": func(h []lincheck.Op) []lincheck.Op {
			return append(h, verify(ended.Token, lincheck.Done, "", ended.Return+stale+ms))
		},
		"resurrection": func(h []lincheck.Op) []lincheck.Op {
			return append(h, verify(ended.Token, lincheck.Done, "", ended.Return+time.Minute))
		},
		"false refusal": func(h []lincheck.Op) []lincheck.Op {
			h[at].Outcome, h[at].Code = lincheck.Refused, invalid
			h[at].Call, h[at].Return = h[begun].Return+1, h[begun].Return+2
			return h
		},
		"lost login": func(h []lincheck.Op) []lincheck.Op {
			for i, o := range h { // acknowledged, and not recorded
				if o.User == used.User && o.Kind == lincheck.Verify && o.Token == used.Token {
					h[i].Outcome, h[i].Code = lincheck.Refused, invalid
				}
			}
			return append(h, verify(used.Token, lincheck.Refused, invalid, h[begun].Return+1))
		},
		"lost logout": func(h []lincheck.Op) []lincheck.Op {
			return append(h, verify(ended.Token, lincheck.Done, "", ended.Return+stale+5*ms))
		},
	} {
		planted := plant(slices.Clone(history))
		if v := lincheck.Check(planted, stale); v.Legal || v.User != ended.User {
			t.Errorf("%s: %v", name, v)
		}
	}
	if _, v := lincheck.MeasuredBound(append(slices.Clone(history), verify(999, lincheck.Done, "", 0))); v.Legal {
		t.Error("a token of no login is accepted, and there is a bound for it")
	}
}

func BenchmarkCheck(b *testing.B) {
	history := simulate(1, 50, 100, 500*ms)
	b.ReportMetric(float64(len(history)), "history-ops")
	for b.Loop() {
		if v := lincheck.Check(history, 500*ms); !v.Legal {
			b.Fatal(v)
		}
	}
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
