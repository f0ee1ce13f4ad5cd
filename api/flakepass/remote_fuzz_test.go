package flakepass

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

const goodAnswer = `{"now":"2026-11-21T11:40:00.000Z","bound_ms":5000,"policy":{"version":3,"idle_ms":1209600000,"absolute_ms":2592000000,"touch_ms":60000,"idle_base":"1970-01-01T00:00:00.000Z","absolute_base":"1970-01-01T00:00:00.000Z"},` +
	`"verifications":[{"state":"alive","as_of_age_ms":734,"believe_ms":41200,"slot":2,"identity":{"user_id":"398100274655301632","username":"alice","role":"user","session_id":"412873650192384001","last_seen_at":"2026-11-21T11:40:00.000Z"}},` +
	`{"state":"refused","code":"token_logged_out","title":"logged out"}],"used":[true]}`

// FuzzRemoteAnswer reads what may come in place of an answer. Nothing of it is
// believed that could not be an answer.
func FuzzRemoteAnswer(f *testing.F) {
	for _, old := range []string{"", `"alive"`, "734", "5000", `"398100274655301632"`, "412873650192384001", "41200", "3,", `"user"`, "true", "}],", "2026"} {
		for _, other := range []string{"null", "-1", "0", "1e300", `""`, `"x"`, "9223372036854775807", "{}"} {
			f.Add([]byte(strings.Replace(goodAnswer, old, other, 1)))
		}
	}
	f.Add([]byte(goodAnswer))
	f.Add([]byte(strings.Replace(goodAnswer, `"session_id":`, `"act":{"sub":"7"},"expires_at":"2026-11-21T12:40:00.000Z","session_id":`, 1)))
	f.Add([]byte(strings.Replace(goodAnswer, `"version":3,`, `"version":3,"scopes":[{"role":"admin","idle_ms":2,"absolute_ms":3,"touch_ms":1,"idle_base":"1970-01-01T00:00:00.000Z","absolute_base":"1970-01-01T00:00:00.000Z"}],`, 1)))
	f.Add([]byte(strings.Replace(goodAnswer, `"state":"refused"`, `"state":"undecided"`, 1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := readAnswer(body, 2, 1)
		if err != nil {
			if !errors.Is(err, errAnswer) {
				t.Errorf("%v", err)
			}
			return
		}
		rule, bound := ruleOf(a.Rule), boundOf(a.Bound)
		if len(a.Verifications) != 2 || len(a.Used) != 1 || bound <= 0 || bound > time.Hour || rule.idle <= 0 || rule.absolute <= 0 || rule.touch <= 0 {
			t.Errorf("believed: %+v", a)
		}
		for _, v := range a.Verifications {
			if who := v.Identity; v.State == wire.Refused && v.Code == "" || v.State == wire.Alive &&
				(who.SessionID <= 0 || who.UserID <= 0 || who.Username == "" || who.Role == "" || *v.AsOfAge < 0 || who.Act == nil && v.Believe != nil && *v.Believe < 0) {
				t.Errorf("believed: %+v", v)
			}
		}
	})
}

const goodStream = "id: A-17\nevent: reset\ndata: {\"covers_ms\":15000,\"bound_ms\":5000,\"every_ms\":1000}\n\n" +
	"event: policy\ndata: {\"version\":3,\"idle_ms\":1,\"absolute_ms\":2,\"touch_ms\":3,\"idle_base\":\"1970-01-01T00:00:00.000Z\",\"absolute_base\":\"1970-01-01T00:00:00.000Z\"}\n\n" +
	"event: beat\ndata: {\"elapsed_ms\":0,\"horizon_age_ms\":412,\"now\":\"2026-11-21T11:40:00.000Z\"}\n\n: a comment\n\nevent: floor\ndata: {\"floor\":\"12\"}\n\n" +
	"id: A-18\nevent: end\ndata: {\"user_id\":\"398100274655301632\",\"floor\":\"412873650192384001\",\"code\":\"token_logged_out\"}\n\n" +
	"id: A-19\nevent: slot_end\ndata: {\"user_id\":\"398100274655301632\",\"slot\":2,\"floor\":\"412873650192384001\",\"code\":\"token_logged_out\"}\n\n"

// FuzzRemoteStream follows what may come in place of a stream. Whatever it is,
// the horizon lies in no future, and nothing before a start counts.
func FuzzRemoteStream(f *testing.F) {
	f.Add([]byte(goodStream))
	f.Add([]byte(goodStream + "id: A-20\nevent: renamed\ndata: {\"user_id\":\"398100274655301632\"}\n\nevent: later\ndata: x\ndata:\n\n"))
	f.Add([]byte(strings.ReplaceAll(goodStream, "\n", "\r\n")))
	for _, old := range []string{"reset", "id: A-17\n", "15000", "5000", "1000}", `"elapsed_ms":0`, "412", "\n\n", "event: ", "data: ", "12", "2026"} {
		for _, other := range []string{"", "resumed", "-1", "9223372036854775807", "null", "\r\n", "\x00", "1e400", "\n"} {
			f.Add([]byte(strings.Replace(goodStream, old, other, 1)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := NewRemote(RemoteOptions{URL: "http://x", Credential: staticCredential})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s := stream{Remote: r}
		in := newEvents(bytes.NewReader(text))
		for {
			ev, err := in.next()
			if err != nil {
				break
			}
			began := s.begun
			if err := s.take(&ev); err != nil {
				break
			}
			if !began && ev.kind != "reset" {
				t.Errorf("a stream begins with %q", ev.kind)
			}
			now, _ := r.clock.now()
			if c := r.known.cover.Load(); c != nil && (c.horizon > now || c.from > now) {
				t.Errorf("covers %+v at %v", c, now)
			}
		}
	})
}

// TestRemoteStreamIsRead: every event of the example does what it says.
func TestRemoteStreamIsRead(t *testing.T) {
	r, err := NewRemote(RemoteOptions{URL: "http://x", Credential: staticCredential})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, end := range []string{"\n", "\r\n"} {
		s := stream{Remote: r}
		in := newEvents(strings.NewReader(strings.ReplaceAll(goodStream, "\n", end)))
		for n := 0; ; n++ {
			ev, err := in.next()
			if err != nil {
				if n != 6 {
					t.Errorf("%d events, want 6: %v", n, err)
				}
				break
			}
			if err := s.take(&ev); err != nil {
				t.Fatalf("%s: %v", ev.kind, err)
			}
		}
		if s.mark != "A-19" || s.every != time.Second || r.known.cover.Load() == nil || r.known.rule.Load().version != 3 || r.known.floor.Load() != 12 {
			t.Errorf("after the example: %+v", s)
		}
		for _, slot := range []wire.Slot{0, 2} {
			at := place{398100274655301632, slot}
			if why := r.known.find(at, 412873650192384001); why != ErrLoggedOut {
				t.Errorf("the end in slot %d says %v", slot, why)
			}
			if why := r.known.find(at, 412873650192384000); why != ErrReplaced {
				t.Errorf("an earlier login in slot %d: %v", slot, why)
			}
		}
		if why := r.known.find(place{398100274655301632, 1}, 412873650192384000); why != nil {
			t.Errorf("a login in another slot: %v", why)
		}
	}
}

// TestRemoteTakesNoOtherNumberForASlot: an end that is taken for one in another slot leaves
// its login alive.
func TestRemoteTakesNoOtherNumberForASlot(t *testing.T) {
	for _, slot := range []string{"0", "32", "255", "256", "-1", "1.0", `"1"`, "null", "1e0", "[]"} {
		ev := event{kind: "slot_end", data: []byte(`{"user_id":"1","slot":` + slot + `,"floor":"2","code":"token_revoked"}`)}
		if got, err := ev.read(); !errors.Is(err, errStream) {
			t.Errorf("slot %s: %+v, %v", slot, got, err)
		}
		if slot == "0" {
			continue
		}
		if _, err := readAnswer([]byte(strings.Replace(goodAnswer, `"slot":2`, `"slot":`+slot, 1)), 2, 1); !errors.Is(err, errAnswer) {
			t.Errorf("an answer in slot %s: %v", slot, err)
		}
	}
	ev := event{kind: "slot_end", data: []byte(`{"user_id":"1","floor":"2","code":"token_revoked"}`)}
	if got, err := ev.read(); !errors.Is(err, errStream) {
		t.Errorf("no slot: %+v, %v", got, err)
	}
}

// TestRemoteCacheIsBounded: and keeps what is in use.
func TestRemoteCacheIsBounded(t *testing.T) {
	var c remoteCache
	c.init(640)
	hot := &remembered{key: key{id: 1}}
	c.put(hot)
	for id := ID(2); id < 20_000; id++ {
		c.put(&remembered{key: key{id: id}})
		if c.get(1) != hot {
			t.Fatalf("after %d: what is in use was forgotten", id)
		}
	}
	n := 0
	for i := range c.shards {
		n += len(c.shards[i].at)
		for id, at := range c.shards[i].at {
			if c.shards[i].ring[at].key.id != id {
				t.Errorf("%v lies where %v is looked for", c.shards[i].ring[at].key.id, id)
			}
		}
	}
	if n > 640 {
		t.Errorf("%d entries, want at most 640", n)
	}
	older := &remembered{key: key{id: 1}, sent: -1}
	if c.put(older); c.get(1) != hot {
		t.Error("an older answer replaced a newer one")
	}
	c.drop(older)
	if c.get(1) != hot {
		t.Error("to drop one answer forgot another")
	}
	if c.drop(hot); c.get(1) != nil {
		t.Error("not dropped")
	}
}

// TestRemoteForgetsRatherThanGrow: when there are more ends than can be
// remembered, nothing that was remembered is believed.
func TestRemoteForgetsRatherThanGrow(t *testing.T) {
	r, err := NewRemote(RemoteOptions{URL: "http://x", Credential: staticCredential})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.known.cover.Store(&cover{})
	r.cache.put(&remembered{key: key{id: 1}})
	s := stream{Remote: r, mark: "A-1"}
	for user := ID(1); err == nil && user < 65*maxTombstones; user++ {
		if shardOf(user) == 0 && !r.known.add(place{user, 0}, 1, ErrLoggedOut, 0) {
			err = s.forget()
		}
	}
	if !errors.Is(err, errFlood) || r.known.cover.Load() != nil || r.cache.get(1) != nil || s.mark != "" {
		t.Errorf("%v; a cover %v, an answer %v, a mark %q", err, r.known.cover.Load(), r.cache.get(1), s.mark)
	}
}

// TestRemoteClockMovesOnlyForward: and by what a sleep was long.
func TestServerClockErrsOnTheSafeSide(t *testing.T) {
	c := serverClock{wall: 1_000_000, sent: instant(10 * time.Second), arrived: steady(12 * time.Second)}
	// The clock showed that at some time between; a minute later it shows a minute more.
	if got := c.latest(instant(72 * time.Second)); got < 1_000_000+62_000 {
		t.Errorf("latest %d", got)
	}
	if got := c.earliest(steady(72 * time.Second)); got > 1_000_000+60_000 || got < 1_000_000+59_000 {
		t.Errorf("earliest %d", got)
	}
	if got := c.earliest(steady(2 * time.Second)); got > 1_000_000-10_000 {
		t.Errorf("earliest before that %d", got)
	}
}

// TestRemoteResumesOnlyWhatItFollowed: a stream that broke off before its first
// beat, after a gap, and goes on later does not close the gap.
func TestRemoteResumesOnlyWhatItFollowed(t *testing.T) {
	r, err := NewRemote(RemoteOptions{URL: "http://x", Credential: staticCredential})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := stream{Remote: r}
	send := func(kind, id, data string) error { return s.take(&event{id: id, kind: kind, data: []byte(data)}) }
	if err := send("resumed", "A-1", `{"covers_ms":0,"bound_ms":5000,"every_ms":1000}`); err == nil {
		t.Error("resumed what was never followed")
	}
	now, _ := r.clock.now()
	old := cover{now - instant(time.Minute), now - instant(30*time.Second)}
	r.known.cover.Store(&old)
	if err := send("reset", "A-1", `{"covers_ms":15000,"bound_ms":5000,"every_ms":1000}`); err != nil {
		t.Fatal(err)
	}
	s.begun = false // it breaks off, and the next goes on
	s.sent, _ = r.clock.now()
	for _, e := range [][3]string{
		{"resumed", "A-1", `{"covers_ms":15000,"bound_ms":5000,"every_ms":1000}`},
		{"beat", "", `{"elapsed_ms":0,"horizon_age_ms":100,"now":"2026-11-21T11:40:00.000Z"}`},
		{"beat", "", `{"elapsed_ms":0,"horizon_age_ms":50,"now":"2026-11-21T11:40:00.000Z"}`},
	} {
		if err := send(e[0], e[1], e[2]); err != nil {
			t.Fatal(err)
		}
	}
	if c := r.known.cover.Load(); c.from <= old.horizon || c.horizon < now-instant(time.Second) {
		t.Errorf("covers %+v, and of what ended after %v nothing was sent", c, old.horizon)
	}
	if err := send("reset", "A-2", `{"covers_ms":15000,"bound_ms":5000,"every_ms":1000}`); err == nil {
		t.Error("a second start in one stream")
	}
}

// TestARefusalHasACode: what has none is no answer of a server, and refuses nobody. A code of
// a newer server does.
func TestARefusalHasACode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]*Refusal{"": nil, `"code":"",`: nil, `"code":"token_forgotten",`: ErrInvalid, `"code":"token_replaced",`: ErrReplaced} {
		a, err := readAnswer([]byte(strings.Replace(goodAnswer, `"code":"token_logged_out",`, code, 1)), 2, 1)
		if want == nil && !errors.Is(err, errAnswer) || want != nil && (err != nil || refusalOf(a.Verifications[1].Code) != want) {
			t.Errorf("answered with %q: %+v, %v", code, a, err)
		}
		for kind, slot := range map[string]wire.Slot{"end": 0, "slot_end": 2} {
			r, err := NewRemote(RemoteOptions{URL: "http://x", Credential: staticCredential})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			s := stream{Remote: r, begun: true, dies: math.MaxInt64}
			err = s.take(&event{kind: kind, data: []byte(`{"user_id":"7","slot":2,` + code + `"floor":"9"}`)})
			why := r.known.find(place{7, slot}, 9)
			if (err != nil) != (want == nil) || why != want {
				t.Errorf("%s with %q: %v, %v", kind, code, why, err)
			}
		}
	}
}
