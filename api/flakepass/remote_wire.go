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
// refusal.
func refusalOf(code string) *Refusal {
	if r, ok := refusals[code]; ok {
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

// readAnswer reads the answer to that many tokens and uses, or fails with
// [errAnswer].
func readAnswer(body []byte, tokens, reported int) (*wire.Verifications, error) {
	w := new(wire.Verifications)
	if json.Unmarshal(body, w) != nil || w.Now.IsZero() || w.Bound <= 0 || !w.Rule.Complete() || len(w.Verifications) != tokens || len(w.Used) != reported {
		return nil, errAnswer
	}
	for i := range w.Verifications {
		if !whole(&w.Verifications[i]) {
			return nil, errAnswer
		}
	}
	return w, nil
}

// whole reports whether all is there that is said of one token. A living token about which
// anything is missing would be believed for ever, or taken for another user's. A refusal
// without a code is none.
func whole(v *wire.Verification) bool {
	switch v.State {
	case wire.Refused:
		return v.Code != ""
	case wire.Alive:
	default:
		return true
	}
	who := v.Identity
	switch {
	case who == nil || who.UserID == 0 || who.SessionID == 0 || who.Username == "" || !utf8.ValidString(who.Username) || who.Role == "" ||
		who.LastSeenAt.IsZero() || v.AsOfAge == nil || !v.AsOfAge.Sane():
		return false
	case who.Act != nil:
		return who.Act.Sub != 0 && !who.ExpiresAt.IsZero()
	}
	return v.Believe == nil || v.Believe.Sane()
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
