package session_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// An owner is the database of user 42, who acts by the first of the logins held. Each login
// of another user, and each need, is as the test says.
type owner struct {
	session.Rows
	session.Writer
	held      []session.Session
	denied    map[audit.Need]error
	end       error // of a write
	deaf      error // of a publication
	endings   []session.Ending
	kept      idworker.ID
	asked     []audit.Need
	published []idworker.ID
}

var ownedAt = time.UnixMilli(1_800_000_000_000).UTC()

// owned is the ID of a login that has begun so long ago.
func owned(ago time.Duration) idworker.ID { return idworker.Default().Smallest(ownedAt.Add(-ago)) }

func newOwner() (*owner, *session.Service) {
	o := &owner{denied: map[audit.Need]error{}}
	for _, hours := range []time.Duration{1, 2, 3} {
		o.held = append(o.held, session.Session{ID: owned(hours * time.Hour), UserID: 42, Username: "ada", Seen: ownedAt, Device: session.DeviceOf("phone", "x")})
	}
	o.held = append(o.held, session.Session{ID: owned(4 * time.Hour), UserID: 43, Username: "eve", Seen: ownedAt})
	return o, &session.Service{
		Store: o, Rows: o, Writer: o, Rights: o, EventIDs: minter{ownedAt}, Policy: policy.Fixed(policy.Default()), Now: func() time.Time { return ownedAt },
	}
}

func (o *owner) Get(_ context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	for _, s := range o.held {
		if s.ID == id {
			return s, nil
		}
	}
	return session.Session{}, session.ErrNotFound
}

func (o *owner) End(_ context.Context, e session.Ending) (session.Session, error) {
	ended, err := o.ends(e, func(s *session.Session) bool { return s.ID == e.ID })
	if err != nil {
		return session.Session{}, err
	}
	return ended[0], nil
}

func (o *owner) EndUser(_ context.Context, e session.Ending, keep idworker.ID) ([]session.Session, error) {
	o.kept = keep
	return o.ends(e, func(s *session.Session) bool { return s.UserID == e.UserID && s.ID != keep && s.Alive() })
}

func (o *owner) ends(e session.Ending, which func(*session.Session) bool) (ended []session.Session, err error) {
	o.endings = append(o.endings, e)
	if err := cmp.Or(o.end, o.denied[e.Record.Need]); err != nil {
		return nil, err
	}
	for i := range o.held {
		s := &o.held[i]
		if !which(s) {
			continue
		}
		was := *s
		was.Before = !s.Alive()
		if s.Alive() {
			s.Ended, was.Ended = e.Reason, e.Reason
		}
		ended = append(ended, was)
	}
	return ended, nil
}

func (o *owner) Authorize(_ context.Context, _ audit.Actor, need audit.Need) error {
	o.asked = append(o.asked, need)
	return o.denied[need]
}

func (o *owner) Publish(_ context.Context, ended ...session.Session) error {
	for _, s := range ended {
		o.published = append(o.published, s.ID)
	}
	return o.deaf
}

// here is ada, by her newest login.
var here = audit.Actor{ID: 42, Name: "ada", Session: owned(time.Hour), Via: audit.ViaAPI, RequestID: "r7"}

// TestEndOfAnOwnLogin: another one needs a proof, that which asks is a logout, and the
// holder's reason is what its token is refused with.
func TestEndOfAnOwnLogin(t *testing.T) {
	for id, want := range map[idworker.ID]struct {
		need   audit.Need
		reason string
	}{
		owned(time.Hour):     {audit.NeedsLogin, ""},
		owned(2 * time.Hour): {audit.NeedsOwnProof, session.AnotherDevice},
	} {
		o, s := newOwner()
		ended, err := s.EndOwn(t.Context(), here, id)
		if err != nil || ended.ID != id || ended.Ended != session.LoggedOut || ended.Before || !slices.Equal(o.published, []idworker.ID{id}) || len(o.asked) != 0 {
			t.Errorf("%v: %+v, %v, published %v, asked %v", id, ended, err, o.published, o.asked)
			continue
		}
		e := o.endings[0]
		if e.Record == nil || e.Record.Need != want.need || e.Record.Reason != want.reason || e.Record.By != here || e.Record.ID == 0 || e.Hash != (session.Hash{}) {
			t.Errorf("%v: ending %+v by %+v", id, e, e.Record)
		}
		event, err := e.Event(session.Session{ID: id, UserID: 42, Username: "ada", Seen: ownedAt, Device: session.DeviceOf("phone", "x")})
		if old := string(event.Old); err != nil || event.Action != audit.LoginLoggedOut || event.Target != audit.AboutLogin(id, "ada") || event.By != here ||
			!strings.Contains(old, `"device_class":"phone","device_name":"x"`) || event.New != nil {
			t.Errorf("%v: event %+v, old %s, %v", id, event, old, err)
		}
	}
}

// TestAForeignLoginIsAnUnknownOne: nothing is written about it, and it needs no proof to be
// told so.
func TestAForeignLoginIsAnUnknownOne(t *testing.T) {
	for what, id := range map[string]idworker.ID{"foreign": owned(4 * time.Hour), "unknown": 4711} {
		o, s := newOwner()
		o.denied[audit.NeedsOwnProof] = audit.ErrUnproven
		ended, err := s.EndOwn(t.Context(), here, id)
		if !errors.Is(err, session.ErrNotFound) || errors.Is(err, audit.ErrUnproven) || ended.ID != 0 || len(o.endings) != 0 || len(o.published) != 0 {
			t.Errorf("%s: %+v, %v, endings %v, published %v", what, ended, err, o.endings, o.published)
		}
		o.denied[audit.NeedsLogin] = flakepass.ErrLoggedOut
		if _, err := s.EndOwn(t.Context(), here, id); !errors.Is(err, flakepass.ErrLoggedOut) {
			t.Errorf("%s, by a login that is over: %v", what, err)
		}
	}
}

// TestAnOwnLoginThatWasOverNeedsTheSameRight: what has nothing to write asks for it.
func TestAnOwnLoginThatWasOverNeedsTheSameRight(t *testing.T) {
	o, s := newOwner()
	o.held[1].Ended = session.Revoked
	ended, err := s.EndOwn(t.Context(), here, owned(2*time.Hour))
	if err != nil || !ended.Before || ended.Ended != session.Revoked || len(o.published) != 1 || !slices.Equal(o.asked, []audit.Need{audit.NeedsOwnProof}) {
		t.Errorf("%+v, %v, published %v, asked %v", ended, err, o.published, o.asked)
	}
	o.denied[audit.NeedsOwnProof] = audit.ErrUnproven
	if ended, err := s.EndOwn(t.Context(), here, owned(2*time.Hour)); !errors.Is(err, audit.ErrUnproven) || ended.ID != 0 {
		t.Errorf("without a proof: %+v, %v", ended, err)
	}
	// It was over by the policy, and its row did not say so.
	o.denied, o.held[2].Seen = nil, ownedAt.Add(-policy.Default().Idle)
	if ended, err := s.EndOwn(t.Context(), here, owned(3*time.Hour)); err != nil || !ended.Before || ended.Ended != session.Idle {
		t.Errorf("idle: %+v, %v", ended, err)
	}
}

func TestEndOfTheOtherLoginsKeepsTheOneThatAsks(t *testing.T) {
	o, s := newOwner()
	o.held[2].Seen = ownedAt.Add(-policy.Default().Idle)
	ended, err := s.EndOthers(t.Context(), here)
	if err != nil || len(ended) != 2 || ended[0].Before || !ended[1].Before || o.kept != here.Session || len(o.published) != 2 || !o.held[0].Alive() || !o.held[3].Alive() {
		t.Errorf("%+v, %v, kept %v, published %v", ended, err, o.kept, o.published)
	}
	if r := o.endings[0].Record; r == nil || r.Need != audit.NeedsOwnProof || r.Reason != session.OtherDevices || r.By != here {
		t.Errorf("record %+v", r)
	}
	o.denied[audit.NeedsOwnProof] = audit.ErrUnproven
	if _, err := s.EndOthers(t.Context(), here); !errors.Is(err, audit.ErrUnproven) {
		t.Errorf("without a proof, and with nothing to end: %v", err)
	}
}

// TestLogoutEverywhereNeedsNoProof, and a login that is over ends nothing.
func TestLogoutEverywhereNeedsNoProof(t *testing.T) {
	o, s := newOwner()
	o.denied[audit.NeedsOwnProof] = audit.ErrUnproven
	ended, err := s.EndEverywhere(t.Context(), here)
	if err != nil || len(ended) != 3 || o.kept != 0 || len(o.published) != 3 || !o.held[3].Alive() {
		t.Errorf("%+v, %v, kept %v, published %v", ended, err, o.kept, o.published)
	}
	if r := o.endings[0].Record; r == nil || r.Need != audit.NeedsLogin || r.Reason != session.Everywhere {
		t.Errorf("record %+v", r)
	}
	o.denied[audit.NeedsLogin] = flakepass.ErrLoggedOut
	for _, nothing := range []error{nil, session.ErrNotFound} {
		o.end = nothing
		if ended, err := s.EndEverywhere(t.Context(), here); !errors.Is(err, flakepass.ErrLoggedOut) || len(ended) != 0 {
			t.Errorf("a second time, %v: %+v, %v", nothing, ended, err)
		}
	}
}

// TestOwnEndsThatAreUnpublishedAreDone: each was published, also after one that failed.
func TestOwnEndsThatAreUnpublishedAreDone(t *testing.T) {
	for what, do := range map[string]func(*session.Service) (int, error){
		"one": func(s *session.Service) (int, error) {
			one, err := s.EndOwn(t.Context(), here, owned(2*time.Hour))
			return min(1, int(one.ID)), err
		},
		"others": func(s *session.Service) (int, error) {
			all, err := s.EndOthers(t.Context(), here)
			return len(all), err
		},
		"all": func(s *session.Service) (int, error) {
			all, err := s.EndEverywhere(t.Context(), here)
			return len(all), err
		},
	} {
		o, s := newOwner()
		o.deaf = session.ErrUnpublished
		if n, err := do(s); !errors.Is(err, session.ErrUnpublished) || n == 0 || len(o.published) != n {
			t.Errorf("%s: %d, %v, published %v", what, n, err, o.published)
		}
		o, s = newOwner()
		o.end = errors.New("away")
		if n, err := do(s); session.Done(err) || n != 0 || len(o.published) != 0 {
			t.Errorf("%s, while the database is away: %d, %v, published %v", what, n, err, o.published)
		}
		o, s = newOwner()
		s.EventIDs = minter{}
		if n, err := do(s); !errors.Is(err, errNoID) || n != 0 || len(o.endings) != 0 {
			t.Errorf("%s, without an ID for its event: %d, %v", what, n, err)
		}
	}
}

// TestTheMostLoginsFitTheRecord: an end must not fail because the devices have long names.
func TestTheMostLoginsFitTheRecord(t *testing.T) {
	for reason, action := range map[session.Reason]audit.Action{session.LoggedOut: audit.LoginLoggedOut, session.Revoked: audit.LoginEnded} {
		for _, long := range []string{"x", strings.Repeat("<", session.MaxDeviceName), strings.Repeat("😀", session.MaxDeviceName)} {
			var was []session.Session
			for i := range session.MaxSlots {
				was = append(was, session.Session{
					ID: 1<<62 + idworker.ID(i), UserID: 1 << 62, Username: strings.Repeat("m", 64), Seen: ownedAt.Add(time.Millisecond), Device: session.DeviceOf("desktop", long),
				})
			}
			e := session.Ending{UserID: 1 << 62, Reason: reason, Record: &session.Record{By: here, Need: audit.NeedsLogin}}
			event, err := e.EventOfUser(was)
			var old []map[string]any
			if err != nil || json.Unmarshal(event.Old, &old) != nil || len(old) != session.MaxSlots || event.Action != action || event.Target.ID != 1<<62 {
				t.Errorf("%s, %.3s: %+v, old %s, %v", reason, long, event, event.Old, err)
				continue
			}
			if fmt.Sprint(old[31]["session_id"]) != was[31].ID.String() || (old[0]["device_name"] != nil) != (long == "x") {
				t.Errorf("%s, %.3s: old %s", reason, long, event.Old)
			}
			if _, err := e.EventOfUser(was[:1]); err != nil {
				t.Errorf("one alone: %v", err)
			}
		}
	}
}

func TestLivingAreThoseThatThePolicyKeeps(t *testing.T) {
	o, s := newOwner()
	o.held[1].Seen = ownedAt.Add(-policy.Default().Idle)
	o.held[2].Ended = session.Revoked
	old := session.Session{ID: owned(policy.Default().Absolute), UserID: 42, Seen: ownedAt}
	living, err := s.Living(append(o.held[:3:3], old, session.Session{}))
	if err != nil || len(living) != 1 || living[0].ID != o.held[0].ID || !living[0].IssuedAt.Equal(ownedAt.Add(-time.Hour)) ||
		!living[0].ExpiresAt.Equal(ownedAt.Add(policy.Default().Absolute-time.Hour)) || !living[0].IdleExpiresAt.Equal(ownedAt.Add(policy.Default().Idle)) {
		t.Errorf("%+v, %v", living, err)
	}
	s.Known = &known{}
	if living, err := s.Living(o.held); err == nil {
		t.Errorf("by no clock: %+v", living)
	}
}

// TestLoginWhoseUserIsNotFoundIsOverAsItsRowSays: also a server that lacks the user may have it.
func TestLoginWhoseUserIsNotFoundIsOverAsItsRowSays(t *testing.T) {
	o, s := newOwner()
	o.held[1].Ended = session.Disabled
	for id, want := range map[idworker.ID]error{o.held[0].ID: nil, o.held[1].ID: flakepass.ErrAccountDisabled, owned(0): flakepass.ErrRevoked} {
		err := s.Over(t.Context(), id)
		refusal, refused := errors.AsType[*flakepass.Refusal](err)
		if err == nil || refused != (want != nil) || refused && !errors.Is(refusal, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
