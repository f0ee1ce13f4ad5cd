package login_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestTicketOfARefusalOpensTheLogin in place of the one that was chosen. The refusal comes
// after all proofs, counts as no guess, and names the logins; its ticket is none of a
// password alone, and that is no ticket of both.
func TestTicketOfARefusalOpensTheLogin(t *testing.T) {
	w, f := newGuarded(t)
	d := &devices{}
	w.login.Devices, w.login.Held = d, d
	full := &session.LimitError{Choices: []session.Session{{ID: 72, UserID: w.user.ID}, {ID: 69, UserID: w.user.ID}}, Last: 72}
	w.sessions.err = full
	if err := w.in(oldPassword, secondfactor.Code{}); errors.Is(err, login.ErrNoRoom) || !errors.Is(err, secondfactor.ErrRequired) {
		t.Errorf("before the code: %v", err)
	}
	needs, _ := errors.AsType[*login.NeedsCodeError](w.in(oldPassword, secondfactor.Code{}))
	err := w.in(oldPassword, good)
	refused, ok := errors.AsType[*login.NoRoomError](err)
	if !ok || len(refused.Logins) != 2 || refused.Logins[0].ID != 72 || w.limits.proved != 1 || w.limits.returned != 0 {
		t.Fatalf("%v, with %+v, %d proved", err, refused, w.limits.proved)
	}
	if code, failed := login.Reason(err); code != "session_limit" || failed {
		t.Errorf("on record as %q, %v", code, failed)
	}
	instead := func(ticket secondfactor.Ticket) error {
		_, err := w.login.Instead(t.Context(), w.client(), "", ticket.Reveal(), 69)
		return err
	}
	w.sessions.err = nil
	if err := instead(needs.Ticket); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("the ticket of the password alone: %v", err)
	}
	if _, err := w.login.Finish(t.Context(), w.client(), "", refused.Ticket.Reveal(), good); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("the ticket of both with a code: %v", err)
	}
	asked := f.asked
	if err := instead(refused.Ticket); err != nil || w.sessions.in != (session.Place{Instead: 69, Last: 72, ProofAge: w.sessions.in.ProofAge}) || f.asked != asked {
		t.Errorf("%v, in place of %+v, %d codes", err, w.sessions.in, f.asked-asked)
	}
	w.sessions.err = session.ErrMoved
	if err := instead(refused.Ticket); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("after another login: %v", err)
	}
	w.sessions.err = full
	later := func(d time.Duration) { f.Now = func() time.Time { return time.Now().Add(d) } }
	later(secondfactor.TicketLife - time.Minute)
	again, ok := errors.AsType[*login.NoRoomError](instead(refused.Ticket))
	if !ok {
		t.Fatal("without room still, the login began")
	}
	// The new ticket stands for the same proofs, and is over when the first one is.
	later(secondfactor.TicketLife + time.Minute)
	if err := instead(again.Ticket); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("a ticket for a ticket: %v", err)
	}
	f.Now = time.Now
	w.sessions.err = nil
	w.limits.err = &ratelimit.LimitedError{Limit: "login-place"}
	var known *account.RefusedError
	if err := instead(refused.Ticket); !errors.As(err, &known) || known.UserID != w.user.ID {
		t.Errorf("refused by a limit: %v; want it about the holder of the ticket", err)
	}
	w.limits.err = nil
	w.users.Change(w.user.ID, func(u *account.User) { u.PasswordVersion++ })
	if err := instead(refused.Ticket); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("after another password: %v", err)
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.PasswordVersion--; u.DisabledAt = u.CreatedAt })
	if err := instead(refused.Ticket); !errors.Is(err, account.ErrDisabled) {
		t.Errorf("disabled: %v", err)
	}
	if _, err := w.login.Instead(t.Context(), w.client(), "", "x", idworker.ID(69)); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("no ticket: %v", err)
	}
}

// TestTicketsAreAsOldAsThePassword that was shown for the first of them: what a login has proven is, and they end by that.
func TestTicketsAreAsOldAsThePassword(t *testing.T) {
	w, f := newGuarded(t)
	w.login.Devices = &devices{}
	now := time.Now()
	f.Now, w.login.Now = func() time.Time { return now }, func() time.Time { return now }
	if _ = w.in(oldPassword, good); w.sessions.in.ProofAge != 0 {
		t.Errorf("of a password that is shown now: %v", w.sessions.in.ProofAge)
	}
	needs, _ := errors.AsType[*login.NeedsCodeError](w.in(oldPassword, secondfactor.Code{}))
	w.sessions.err = &session.LimitError{Last: 72}
	now = now.Add(2 * time.Minute)
	_, err := w.login.Finish(t.Context(), w.client(), "", needs.Ticket.Reveal(), good)
	full, ok := errors.AsType[*login.NoRoomError](err)
	if !ok || w.sessions.in.ProofAge.Round(time.Second) != 2*time.Minute {
		t.Fatalf("%v, a proof of %v before", err, w.sessions.in.ProofAge)
	}
	w.sessions.err = nil
	now = now.Add(2 * time.Minute)
	instead := func() error {
		_, err := w.login.Instead(t.Context(), w.client(), "", full.Ticket.Reveal(), 72)
		return err
	}
	if err := instead(); err != nil || w.sessions.in.ProofAge.Round(time.Second) != 4*time.Minute {
		t.Errorf("%v, a proof of %v before", err, w.sessions.in.ProofAge)
	}
	if now = now.Add(time.Minute); !errors.Is(instead(), secondfactor.ErrTicket) {
		t.Error("a ticket outlives the one before")
	}
}
