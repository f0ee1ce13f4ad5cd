package flakepass

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/wire"
)

// errAnswer means that what came is no answer of a flakepass server.
var errAnswer = errors.New("flakepass: what the server answers is not understood; is RemoteOptions.URL that of a flakepass server of this version?")

// An answer is what came of one call.
type serverAnswer struct {
	now      int64 // Unix milliseconds
	bound    time.Duration
	rule     *rule
	verdicts []verdict
	used     []bool
}

// A verdict is what is said of one token: it lives, or it is refused, or
// neither.
type verdict struct {
	alive    bool
	refusal  *Refusal
	id       ID
	of       place
	username string
	role     string
	device   string
	act      ID
	expires  time.Time // of one with an act
	method   string
	auth     int64 // Unix milliseconds
	seen     int64 // Unix milliseconds
	age      time.Duration
	believe  time.Duration
}

// refusals are those that a server may give for a token, by their codes.
var refusals = func() map[string]*Refusal {
	all := make(map[string]*Refusal)
	for _, r := range []*Refusal{
		ErrMalformed, ErrInvalid, ErrExpired, ErrIdle, ErrLoggedOut, ErrReplaced, ErrRevoked, ErrAccountDisabled,
	} {
		all[r.code] = r
	}
	return all
}()

// refusalOf is the refusal with that code. A code that is not known is still a
// refusal; where there is none it is nil, for no server says that.
func refusalOf(code string) *Refusal {
	if r, ok := refusals[code]; ok || code == "" {
		return r
	}
	return ErrInvalid
}

// ruleOf reads w, which is complete.
func ruleOf(w *wire.Rule) *rule {
	ms := func(m wire.Millis) int64 { return time.Duration(m).Milliseconds() }
	r := &rule{version: *w.Version, times: times{ms(w.Idle), ms(w.Absolute), ms(w.Touch), w.IdleBase.UnixMilli(), w.AbsoluteBase.UnixMilli()}}
	r.oldest = r.bornBase
	for i := range w.Scopes {
		s := &w.Scopes[i]
		if r.scopes == nil {
			r.scopes = make(map[scope]times)
		}
		t := times{ms(s.Idle), ms(s.Absolute), ms(s.Touch), s.IdleBase.UnixMilli(), s.AbsoluteBase.UnixMilli()}
		r.scopes[scope{s.DeviceClass, s.Role}] = t
		r.oldest = min(r.oldest, t.bornBase)
	}
	return r
}

// boundOf is the revocation bound that a server sent.
func boundOf(m wire.Millis) time.Duration { return min(time.Duration(m), time.Hour) }

// verdictOf reads w. A living token about which anything is missing is an error:
// it would be believed for ever, or taken for another user's. So is a refusal without a code.
func verdictOf(w *wire.Verification) (verdict, error) {
	switch w.State {
	case wire.Refused:
		why := refusalOf(w.Code)
		if why == nil {
			return verdict{}, errAnswer
		}
		return verdict{refusal: why}, nil
	case wire.Alive:
	default:
		return verdict{}, nil
	}
	who := w.Identity
	if who == nil || who.UserID == 0 || who.SessionID == 0 || who.Username == "" || !utf8.ValidString(who.Username) || who.Role == "" ||
		who.LastSeenAt.IsZero() || w.AsOfAge == nil || !w.AsOfAge.Sane() {
		return verdict{}, errAnswer
	}
	v := verdict{
		alive: true, id: who.SessionID, of: place{who.UserID, w.Slot}, username: who.Username, role: who.Role, device: who.DeviceClass, method: who.AuthMethod, seen: who.LastSeenAt.UnixMilli(), age: time.Duration(*w.AsOfAge),
	}
	if !who.AuthTime.IsZero() {
		v.auth = who.AuthTime.UnixMilli()
	}
	if v.act, v.expires = who.Act.Admin(), who.ExpiresAt.UTC(); who.Act != nil {
		if v.act == 0 || v.expires.IsZero() {
			return verdict{}, errAnswer
		}
		return v, nil // it is over by another rule than the policy's, and is asked about each time
	}
	if w.Believe != nil {
		if !w.Believe.Sane() {
			return verdict{}, errAnswer
		}
		v.believe = time.Duration(*w.Believe)
	}
	return v, nil
}

// readAnswer reads the answer to that many tokens and uses, or fails with
// [errAnswer].
func readAnswer(body []byte, tokens, reported int) (*serverAnswer, error) {
	var w wire.Verifications
	if json.Unmarshal(body, &w) != nil || w.Now.IsZero() || w.Bound <= 0 || !w.Rule.Complete() || len(w.Verifications) != tokens || len(w.Used) != reported {
		return nil, errAnswer
	}
	a := &serverAnswer{now: w.Now.UnixMilli(), used: w.Used, bound: boundOf(w.Bound), rule: ruleOf(w.Rule)}
	for i := range w.Verifications {
		v, err := verdictOf(&w.Verifications[i])
		if err != nil {
			return nil, err
		}
		a.verdicts = append(a.verdicts, v)
	}
	return a, nil
}

// health is whether the server can be asked. Each change is logged once.
type health struct{ failing atomic.Bool }

func (h *health) note(ctx context.Context, r *Remote, err error) {
	if r.closed.Load() || errors.Is(err, context.Canceled) {
		return
	}
	if err != nil && r.o.Failed != nil {
		r.o.Failed(err)
	}
	ctx = context.WithoutCancel(ctx)
	switch failing := err != nil; {
	case h.failing.Swap(failing) == failing:
	case errors.Is(err, ErrCredential):
		r.o.Log.ErrorContext(ctx, "flakepass refuses this service's own credential; every token that is not remembered is undecided", "err", err)
	case failing:
		r.o.Log.WarnContext(ctx, "flakepass cannot be asked; tokens that are not remembered are undecided", "err", err)
	default:
		r.o.Log.InfoContext(ctx, "flakepass can be asked again")
	}
}
