package secondfactor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

func TestASecretCountsOnceACodeOfItWasShown(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Confirm(t.Context(), by, &w.user, secondfactor.NewCode("123456")); !errors.Is(err, secondfactor.ErrNotEnrolled) {
		t.Errorf("with nothing begun: %v", err)
	}
	first, err := w.Begin(t.Context(), by, &w.user)
	if err != nil || len(first.Secret.Reveal()) != 32 {
		t.Fatalf("Begin = %d letters, %v; want 32, which are 160 bits", len(first.Secret.Reveal()), err)
	}
	if err := w.check(w.code(first.Secret.Reveal(), 0)); !errors.Is(err, secondfactor.ErrNotEnrolled) {
		t.Errorf("checked before it counts: %v", err)
	}
	second, err := w.Begin(t.Context(), by, &w.user)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Confirm(t.Context(), by, &w.user, w.code(first.Secret.Reveal(), 0)); !errors.Is(err, secondfactor.ErrInvalid) {
		t.Errorf("with a code of the secret that was replaced: %v", err)
	}
	code := w.code(second.Secret.Reveal(), 0)
	codes, err := w.Confirm(t.Context(), by, &w.user, code)
	if err != nil || len(codes) != secondfactor.RecoveryCodes {
		t.Fatalf("Confirm = %d codes, %v", len(codes), err)
	}
	if err := w.check(code); !errors.Is(err, secondfactor.ErrInvalid) {
		t.Errorf("the code that confirmed it, again: %v", err)
	}
	if _, err := w.Begin(t.Context(), by, &w.user); !errors.Is(err, secondfactor.ErrEnrolled) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := w.Confirm(t.Context(), by, &w.user, code); !errors.Is(err, secondfactor.ErrEnrolled) {
		t.Errorf("confirmed twice: %v", err)
	}
	if !slices.Equal(w.kept.events, []audit.Action{audit.SecondFactorEnrolled}) {
		t.Errorf("events: %v", w.kept.events)
	}
}

// One step to either side, for clocks that differ; no more, and none twice.
func TestACodeIsGoodForOneStepToEitherSideAndOnce(t *testing.T) {
	for _, c := range []struct {
		steps int
		want  error
	}{{-2, secondfactor.ErrInvalid}, {-1, nil}, {0, nil}, {1, nil}, {2, secondfactor.ErrInvalid}} {
		w, secret, _ := enrolled(t)
		code := w.code(secret, c.steps)
		if err := w.check(code); !errors.Is(err, c.want) {
			t.Errorf("%d steps off: %v, want %v", c.steps, err, c.want)
		}
		if err := w.check(code); !errors.Is(err, secondfactor.ErrInvalid) {
			t.Errorf("%d steps off, again: %v", c.steps, err)
		}
	}
	w, secret, _ := enrolled(t)
	later, earlier := w.code(secret, 1), w.code(secret, 0)
	if err := w.check(later); err != nil {
		t.Fatal(err)
	}
	if err := w.check(earlier); !errors.Is(err, secondfactor.ErrInvalid) {
		t.Errorf("a code of before one that was used: %v", err)
	}
}

func TestOfManyUsesOfOneCodeOneWins(t *testing.T) {
	w, secret, codes := enrolled(t)
	w.Checked = nil
	for _, code := range []secondfactor.Code{w.code(secret, 0), secondfactor.NewCode(codes[0].Reveal())} {
		var won atomic.Int64
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if w.Check(t.Context(), by, &w.user, code) == nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if n := won.Load(); n != 1 {
			t.Errorf("%d of 50 won", n)
		}
	}
}

// A lost is a store in which another writer is always first.
type lost struct{ *memory }

func (lost) UseStep(context.Context, idworker.ID, []byte, int64) (bool, error) { return false, nil }

func (lost) Confirm(context.Context, idworker.ID, []byte, secondfactor.Factor, audit.Event) (bool, error) {
	return false, nil
}

// What was read is not what counts: the store has the last word.
func TestWhoComesSecondIsRefusedByTheStore(t *testing.T) {
	w, secret, _ := enrolled(t)
	w.Store, w.Codes = lost{w.kept}, lost{w.kept}
	if err := w.check(w.code(secret, 0)); !errors.Is(err, secondfactor.ErrInvalid) {
		t.Errorf("Check = %v, want ErrInvalid", err)
	}
	w = newWorld(t)
	e, err := w.Begin(t.Context(), by, &w.user)
	if err != nil {
		t.Fatal(err)
	}
	w.Store, w.Codes = lost{w.kept}, lost{w.kept}
	if codes, err := w.Confirm(t.Context(), by, &w.user, w.code(e.Secret.Reveal(), 0)); !errors.Is(err, secondfactor.ErrInvalid) || codes != nil {
		t.Errorf("Confirm = %v, want ErrInvalid and no codes", err)
	}
}

func TestARecoveryCodeStandsForTheAppOnce(t *testing.T) {
	w, _, codes := enrolled(t)
	for i, c := range codes {
		if err := w.check(secondfactor.NewCode(strings.ToLower(c.Reveal()))); err != nil {
			t.Errorf("code %d: %v", i, err)
		}
		if err := w.check(secondfactor.NewCode(c.Reveal())); !errors.Is(err, secondfactor.ErrInvalid) {
			t.Errorf("code %d again: %v", i, err)
		}
	}
	if n := len(w.kept.kept.Recovery); n != 0 || w.counted["recovery"] != 10 || w.counted["invalid"] != 10 {
		t.Errorf("%d bytes are left; counted %v", n, w.counted)
	}
}

// TestARecoveryCodeThroughAnIssuerIsOfTheUser: the record has neither the key nor the address of
// the back end as the user's.
func TestARecoveryCodeThroughAnIssuerIsOfTheUser(t *testing.T) {
	w, _, codes := enrolled(t)
	issuer := audit.Actor{ID: 77, Key: 78, Name: "sms-backend", Via: audit.ViaAPI, RequestID: "r", Address: "198.51.100.1"}
	if err := w.Check(t.Context(), issuer, &w.user, secondfactor.NewCode(codes[0].Reveal())); err != nil {
		t.Fatal(err)
	}
	if want := (audit.Actor{ID: w.user.ID, Name: w.user.Username, Via: audit.ViaAPI, RequestID: "r"}); w.kept.used != want {
		t.Errorf("on record by %+v, want %+v", w.kept.used, want)
	}
}

// Without its key a secret is not readable, and no code of it is accepted. A
// recovery code is.
func TestALostKeyLeavesTheRecoveryCodes(t *testing.T) {
	w, secret, codes := enrolled(t)
	for name, other := range map[string]secondfactor.Keys{"none": {}, "another": keys(t, 'b')} {
		w.Keys = other
		if err := w.check(w.code(secret, 0)); !errors.Is(err, secondfactor.ErrSealed) {
			t.Errorf("%s: %v, want ErrSealed", name, err)
		}
	}
	if err := w.check(secondfactor.NewCode(codes[3].Reveal())); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
	w.Keys = keys(t, 'b', 'a') // rotated
	if err := w.check(w.code(secret, 0)); err != nil {
		t.Errorf("with the old key behind a new one: %v", err)
	}
	w.Keys = secondfactor.Keys{}
	if _, err := w.Begin(t.Context(), by, &w.user); !errors.Is(err, secondfactor.ErrOff) {
		t.Errorf("Begin without a key: %v", err)
	}
}

// A row copied to another user is of no use there.
func TestASecretIsBoundToItsUser(t *testing.T) {
	w, secret, codes := enrolled(t)
	eve := account.User{ID: 8, Username: "eve"}
	if err := w.Check(t.Context(), by, &eve, w.code(secret, 0)); !errors.Is(err, secondfactor.ErrSealed) {
		t.Errorf("a secret of another user: %v", err)
	}
	if err := w.Check(t.Context(), by, &eve, secondfactor.NewCode(codes[0].Reveal())); err == nil {
		t.Error("a recovery code of another user was taken")
	}
}

func TestRemoveComparesThePassword(t *testing.T) {
	w, _, _ := enrolled(t)
	w.kept.version = 4
	w.user.PasswordVersion = 3
	if err := w.Remove(t.Context(), by, &w.user); !errors.Is(err, account.ErrStale) {
		t.Errorf("Remove = %v, want ErrStale", err)
	}
	w.user.PasswordVersion = 4
	if err := w.Remove(t.Context(), by, &w.user); err != nil {
		t.Error(err)
	}
}

func TestATicketStandsForThePasswordForAWhile(t *testing.T) {
	w := newWorld(t)
	h := secondfactor.Holder{UserID: 7, Username: "zoë", PasswordVersion: 3}
	text := w.ticket(h)
	if got, err := w.Redeem(text); err != nil || got.UserID != h.UserID || got.Username != h.Username || got.PasswordVersion != h.PasswordVersion {
		t.Errorf("Redeem = %+v, %v", got, err)
	}
	for _, bad := range []string{"", "x", text[1:], text + "A", "B" + text[1:], strings.Repeat("A", 2000)} {
		if _, err := w.Redeem(bad); !errors.Is(err, secondfactor.ErrTicket) {
			t.Errorf("Redeem(%d letters) = %v", len(bad), err)
		}
	}
	w.now = w.now.Add(secondfactor.TicketLife)
	if _, err := w.Redeem(text); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("an old ticket: %v", err)
	}
}

// TestATicketTakesOneCode: a wrong one leaves it good, and a code that was taken since
// ends it, also one that came without it, and new recovery codes.
func TestATicketTakesOneCode(t *testing.T) {
	for name, use := range map[string]func(w *world, secret string, codes []secondfactor.RecoveryCode, take func(secondfactor.Code) error) error{
		"of the app": func(w *world, secret string, _ []secondfactor.RecoveryCode, take func(secondfactor.Code) error) error {
			return take(w.code(secret, 0))
		},
		"for recovery": func(_ *world, _ string, codes []secondfactor.RecoveryCode, take func(secondfactor.Code) error) error {
			return take(secondfactor.NewCode(codes[0].Reveal()))
		},
		"without the ticket": func(w *world, secret string, _ []secondfactor.RecoveryCode, _ func(secondfactor.Code) error) error {
			return w.check(w.code(secret, 0))
		},
		"renewed": func(w *world, _ string, _ []secondfactor.RecoveryCode, _ func(secondfactor.Code) error) error {
			_, err := w.Renew(w.t.Context(), by, &w.user)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, secret, codes := enrolled(t)
			h, err := w.Redeem(w.ticket(secondfactor.Holder{UserID: w.user.ID, Username: "alice"}))
			if err != nil {
				t.Fatal(err)
			}
			take := func(c secondfactor.Code) error { return w.CheckTicket(t.Context(), by, &w.user, h, c) }
			for range 3 {
				if err := take(secondfactor.NewCode("000000")); !errors.Is(err, secondfactor.ErrInvalid) {
					t.Fatalf("a wrong code: %v", err)
				}
			}
			if err := use(w, secret, codes, take); err != nil {
				t.Fatal(err)
			}
			w.now = w.now.Add(time.Minute)
			for what, again := range map[string]secondfactor.Code{"the app": w.code(secret, 0), "recovery": secondfactor.NewCode(codes[1].Reveal())} {
				if err := take(again); !errors.Is(err, secondfactor.ErrTicket) {
					t.Errorf("another code, of %s: %v, want ErrTicket", what, err)
				}
			}
			if name != "renewed" {
				if err := w.check(secondfactor.NewCode(codes[1].Reveal())); err != nil {
					t.Errorf("a code that was refused with the ticket is used up: %v", err)
				}
			}
		})
	}
}

// Where no key is configured recovery codes still are of use, so the form that asks
// for one needs a ticket: it is good with the process that gave it.
// TestTicketOfBothProofsIsOverAfterACode: it needs none itself.
func TestTicketOfBothProofsIsOverAfterACode(t *testing.T) {
	w, secret, _ := enrolled(t)
	h, err := w.Redeem(w.ticket(secondfactor.Holder{UserID: w.user.ID, Username: "alice", Last: 77}))
	if err != nil || h.Last != 77 {
		t.Fatal(h, err)
	}
	if err := w.CheckTicket(t.Context(), by, &w.user, h, secondfactor.Code{}); err != nil {
		t.Errorf("without a code: %v", err)
	}
	if err := w.check(w.code(secret, 0)); err != nil {
		t.Fatal(err)
	}
	if err := w.CheckTicket(t.Context(), by, &w.user, h, secondfactor.Code{}); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("after a code: %v", err)
	}
}

func TestThereAreTicketsWithoutAKey(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.Keys, other.Keys = secondfactor.Keys{}, secondfactor.Keys{}
	h := secondfactor.Holder{UserID: 7, Username: "zoë", PasswordVersion: 3}
	text := w.ticket(h)
	if got, err := w.Redeem(text); text == "" || err != nil || got.UserID != h.UserID || got.Username != h.Username || got.PasswordVersion != h.PasswordVersion {
		t.Errorf("a ticket of %d letters: %+v, %v", len(text), got, err)
	}
	if _, err := other.Redeem(text); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("another process takes it: %v", err)
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	w, secret, codes := enrolled(t)
	e, err := newWorld(t).Begin(t.Context(), by, &w.user)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := e.URI.Picture()
	if err != nil {
		t.Fatal(err)
	}
	code := w.code(secret, 0)
	ticket, err := w.Ticket(t.Context(), secondfactor.Holder{UserID: 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{e, &e, codes, code, struct{ c secondfactor.Code }{code}, ticket, w.Keys, picture} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			text := strings.ToLower(fmt.Sprintf(verb, v))
			for _, hidden := range []string{secret, e.Secret.Reveal(), e.URI.Reveal(), codes[0].Reveal(), code.Reveal(), "h1v1", "61616161"} {
				if strings.Contains(text, strings.ToLower(hidden)) || strings.Contains(text, fmt.Sprintf("%x", hidden)) {
					t.Errorf("%T prints itself under %s", v, verb)
				}
			}
		}
	}
}

func TestTheURIIsWhatAppsRead(t *testing.T) {
	w := newWorld(t)
	w.user.Username = "zoë@example.org"
	e, err := w.Begin(t.Context(), by, &w.user)
	if err != nil {
		t.Fatal(err)
	}
	got := e.URI.Reveal()
	if !strings.HasPrefix(got, "otpauth://totp/flakepass:zo%C3%AB@example.org?") || strings.Contains(got, "+") {
		t.Error("the label is not escaped as apps expect")
	}
	for _, part := range []string{"secret=" + e.Secret.Reveal(), "issuer=flakepass", "algorithm=SHA1", "digits=6", "period=30"} {
		if !strings.Contains(got, part) {
			t.Errorf("the URI lacks %s", strings.SplitN(part, "=", 2)[0])
		}
	}
	// The corner by which a camera finds the code, behind the margin.
	if picture, err := e.URI.Picture(); err != nil || picture.Size < 29 || !strings.HasPrefix(picture.Path, "M4 4h7v1h-7z") {
		t.Errorf("the picture is none: %v, %d units", err, picture.Size)
	}
}
