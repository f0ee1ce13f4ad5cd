package redisstore_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

func encode(t testing.TB, key []byte, s session.Session) []byte {
	t.Helper()
	b, err := redisstore.Encode(key, redisstore.KeyOf(s.ID), &s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	long := strings.Repeat("é", 127)
	for _, s := range []session.Session{
		alive(1), gone(7, session.Replaced), {ID: 1<<63 - 1, UserID: 3, AsOf: time.UnixMilli(-5).UTC(), Seen: time.UnixMilli(0).UTC()},
		{ID: 9, Username: long, Role: long, Ended: "x", AsOf: time.UnixMilli(7).UTC(), Seen: time.UnixMilli(8).UTC()},
	} {
		s.AsOf = s.AsOf.Truncate(time.Millisecond).UTC()
		got, err := redisstore.Decode(secret, redisstore.KeyOf(s.ID), s.ID, encode(t, secret, s))
		if err != nil || got != s {
			t.Errorf("got %+v, %v; want %+v", got, err, s)
		}
	}
	phone := alive(1)
	phone.Device = session.DeviceOf("phone", "Ada’s phone")
	phone.AsOf = phone.AsOf.Truncate(time.Millisecond).UTC()
	got, err := redisstore.Decode(secret, redisstore.KeyOf(1), 1, encode(t, secret, phone))
	if phone.Device = session.DeviceOf("phone", ""); err != nil || got != phone {
		t.Errorf("got %+v, %v; want %+v, whose device has a class and no name", got, err, phone)
	}
	phone.Ended = session.LoggedOut
	if ended := encode(t, secret, phone); ended[0] != 1 {
		t.Error("an earlier release cannot read that a session on a phone has ended")
	}
	for _, device := range []*session.Device{nil, session.DeviceOf("tv", "")} {
		for _, why := range []session.Reason{"", session.LoggedOut} {
			further := alive(1)
			further.Slot, further.Ended, further.Device = session.MaxSlots-1, why, device
			further.AsOf = further.AsOf.Truncate(time.Millisecond).UTC()
			value := encode(t, secret, further)
			got, err := redisstore.Decode(secret, redisstore.KeyOf(1), 1, value)
			if why != "" {
				further.Device = nil
				if end, ok := redisstore.DecodeEnd(secret, value); !ok || end.Slot != further.Slot {
					t.Errorf("the message of an end in slot %d says %+v", further.Slot, end)
				}
			}
			if err != nil || got != further {
				t.Errorf("got %+v, %v; want %+v", got, err, further)
			}
			// A release that knows one slot does not take it for that.
			if value[0] != 3 {
				t.Errorf("a session in slot %d has version %d", further.Slot, value[0])
			}
			for _, slot := range []byte{0, session.MaxSlots, 255} {
				body := bytes.Clone(value[:len(value)-16])
				body[len(body)-1] = slot
				if got, err := redisstore.Decode(secret, redisstore.KeyOf(1), 1, redisstore.Sign(secret, redisstore.KeyOf(1), body)); err == nil {
					t.Errorf("slot %d is taken for %+v", slot, got)
				}
			}
		}
	}
	s := alive(1)
	s.Username = strings.Repeat("x", 256)
	if _, err := redisstore.Encode(secret, redisstore.KeyOf(1), &s); err == nil {
		t.Error("a name of 256 bytes fits into a length of one byte")
	}
}

// TestIssuedSessionIsKept: with how its user was authenticated, in any slot and of any class. A
// release that does not know issuers takes the value for none; an end is as it was.
func TestIssuedSessionIsKept(t *testing.T) {
	for _, slot := range []session.Slot{0, 5} {
		for _, on := range []*session.Device{nil, session.DeviceOf("phone", "")} {
			s := alive(7)
			s.Slot, s.Device, s.Auth = slot, on, &session.Auth{Method: "oidc:apple", At: time.UnixMilli(1795252353123).UTC()}
			value := encode(t, secret, s)
			got, err := redisstore.Decode(secret, redisstore.KeyOf(7), 7, value)
			if err != nil || got.Auth == nil || *got.Auth != *s.Auth || got.Slot != slot || got.Device.ClassName() != on.ClassName() || got.Username != s.Username || value[0] != 5 {
				t.Errorf("got %+v, %v", got, err)
			}
			s.Ended = session.LoggedOut
			if end := encode(t, secret, s); end[0] == 4 {
				t.Error("an end has a version that the release before does not know")
			}
			for name, edit := range map[string]func([]byte){
				"ended":            func(b []byte) { b[1+4*8+33] = 200 },
				"in no slot":       func(b []byte) { b[len(b)-1] = session.MaxSlots },
				"of another class": func(b []byte) { b[0] = 3 },
			} {
				body := bytes.Clone(value[:len(value)-16])
				edit(body)
				if got, err := redisstore.Decode(secret, redisstore.KeyOf(7), 7, redisstore.Sign(secret, redisstore.KeyOf(7), body)); err == nil {
					t.Errorf("%s: taken for %+v", name, got)
				}
			}
		}
	}
}

// TestForeignValuesAreMisses puts values into Redis that this deployment did not
// write there. Each is a question to the next tier and never an answer.
func TestForeignValuesAreMisses(t *testing.T) {
	server := testenv.Redis(t)
	rdb := admin(t, server)
	good := encode(t, secret, alive(7))
	foreign := map[string][]byte{
		"empty":                  {},
		"text":                   []byte("alive"),
		"zeros":                  make([]byte, len(good)),
		"another session's":      encode(t, secret, alive(8)),
		"another session's end":  encode(t, secret, gone(8, session.LoggedOut)),
		"another deployment's":   encode(t, bytes.Repeat([]byte("x"), 32), alive(7)),
		"cut off":                good[:len(good)-1],
		"longer":                 append(bytes.Clone(good), 0),
		"turned by one byte":     append(bytes.Clone(good[1:]), good[0]),
		"a name moved to a role": bytes.Replace(good, []byte("\x04user\x03ada"), []byte("\x03use\x04rada"), 1),
	}
	if bytes.Equal(foreign["a name moved to a role"], good) {
		t.Fatal("the forgery is the original")
	}
	var log testenv.Journal
	next := &fake{}
	next.set(alive(7))
	tier := open(t, server, next, func(o *redisstore.Options) { o.Log = logger(&log) })
	for what, value := range foreign {
		if err := rdb.Set(t.Context(), redisstore.KeyOf(7), value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		before, warned := next.asked(), log.Count("foreign")
		mustGet(t, tier, 7, "")
		if next.asked() != before+1 {
			t.Errorf("%s: believed", what)
		}
		if log.Count("foreign") != warned+1 {
			t.Errorf("%s: nobody is told", what)
		}
	}
	// An end takes its place all the same.
	if err := tier.Publish(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	mustGet(t, open(t, server, &fake{}), 7, session.LoggedOut)
}

// TestRefusedPasswordIsNoForeignValue changes the password under an instance that is connected.
// Its new connections are refused, which says nothing of what Redis holds.
func TestRefusedPasswordIsNoForeignValue(t *testing.T) {
	server := testenv.Redis(t)
	rdb := admin(t, server)
	acl := func(args ...any) {
		t.Helper()
		if err := rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("ACL", "SETUSER", "own", "on", ">old", "~*", "&*", "+@all")
	own := redisstore.Open(redisstore.Server{Addrs: []string{server.Addr}, Username: "own", Password: "old"})
	t.Cleanup(func() { _ = own.Close() })
	var log testenv.Journal
	foreign := 0
	next := &fake{}
	next.set(alive(7))
	tier, err := redisstore.NewSessions(own, next, redisstore.Options{
		Key: secret, Bound: bound, Log: logger(&log), Foreign: func(context.Context) { foreign++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	mustGet(t, tier, 7, "")
	acl("ACL", "SETUSER", "own", "resetpass", ">new")
	acl("CLIENT", "KILL", "USER", "own")
	for range 5 {
		mustGet(t, tier, 7, "")
	}
	if foreign != 0 || log.Count("foreign") != 0 {
		t.Errorf("%d alarms, %d lines of foreign values", foreign, log.Count("foreign"))
	}
	if log.Count("WRONGPASS") == 0 {
		t.Error("the log does not name the password")
	}
}

func TestValueIsBoundToItsKey(t *testing.T) {
	if _, err := redisstore.Decode(secret, "xx:s:7", 7, encode(t, secret, alive(7))); err == nil {
		t.Error("a value is accepted under a key that it was not written under")
	}
}

func TestNoBitMayFlip(t *testing.T) {
	for _, good := range [][]byte{encode(t, secret, alive(7)), encode(t, secret, gone(7, session.LoggedOut))} {
		for i := range good {
			for bit := range 8 {
				bad := bytes.Clone(good)
				bad[i] ^= 1 << bit
				if s, err := redisstore.Decode(secret, redisstore.KeyOf(7), 7, bad); err == nil {
					t.Fatalf("bit %d of byte %d flipped: accepted as %+v", bit, i, s)
				}
			}
		}
	}
}

// sessionsToRead has each form that a value may have: of the versions of the encoding, with and without
// a device, a way of login, and who acts.
func sessionsToRead() []session.Session {
	tv, sms := session.DeviceOf("tv", ""), &session.Auth{Method: "sms", At: time.UnixMilli(1)}
	acts := alive(7)
	acts.Act, acts.Slot = 9, session.SlotOfAct
	return []session.Session{
		acts, alive(7), gone(7, session.Idle), {ID: 7}, {ID: 7, Device: tv}, {ID: 7, Auth: sms}, {ID: 7, Slot: 2, Auth: sms},
		{ID: 7, Slot: 1}, {ID: 7, Slot: 1, Ended: session.LoggedOut}, {ID: 7, Slot: session.MaxSlots - 1, Device: tv},
		{ID: 7, Slot: 2, Device: tv, Auth: &session.Auth{Method: "sms", At: time.UnixMilli(-1)}},
		{ID: 7, Act: 9, Slot: session.SlotOfAct, Device: tv},
	}
}

// FuzzDecode: no value makes decode panic, and what it accepts is what the same
// key encodes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{}, int64(7))
	f.Add(make([]byte, 200), int64(0))
	for _, s := range sessionsToRead() {
		good := encode(f, secret, s)
		f.Add(good, int64(7))
		f.Add(good, int64(8))
		f.Add(good[:len(good)-1], int64(7))
		f.Add(encode(f, bytes.Repeat([]byte("x"), 32), s), int64(7))
	}
	f.Fuzz(func(t *testing.T, value []byte, n int64) {
		id := idworker.ID(n)
		_, _ = redisstore.DecodeEnd(secret, value)
		s, err := redisstore.Decode(secret, redisstore.KeyOf(id), id, value)
		if err != nil {
			return
		}
		if s.ID != id {
			t.Fatalf("accepted under %v: session %v", id, s.ID)
		}
		if again := encode(t, secret, s); !bytes.Equal(again, value) {
			t.Fatalf("accepted %x, which is not what this key writes: %x", value, again)
		}
	})
}

// FuzzDecodeSigned signs what the fuzzer makes up, so that it gets past the MAC
// to what a newer or broken release with the same key may have written.
func FuzzDecodeSigned(f *testing.F) {
	const macLen = 16
	for _, s := range sessionsToRead() {
		good := encode(f, secret, s)
		good = good[:len(good)-macLen]
		f.Add(good)
		if s.Act != 0 {
			f.Add(append(bytes.Clone(good[:len(good)-1]), 0)) // of the slot 0, in which nobody acts
		}
	}
	f.Add(append([]byte{5}, make([]byte, 68)...))            // no room for the time
	f.Add(append(append([]byte{4}, make([]byte, 67)...), 1)) // no room for who acts
	f.Add(make([]byte, 66))
	f.Add(append([]byte{1}, make([]byte, 68)...))
	f.Add(append(append([]byte{1}, make([]byte, 65)...), 255, 0, 0))
	f.Fuzz(func(t *testing.T, body []byte) {
		value := redisstore.Sign(secret, redisstore.KeyOf(7), body)
		s, err := redisstore.Decode(secret, redisstore.KeyOf(7), 7, value)
		if err == nil && (s.ID != 7 || !bytes.Equal(encode(t, secret, s), value)) {
			t.Fatalf("accepted %x as %+v", value, s)
		}
		if end, ok := redisstore.DecodeEnd(secret, value); ok && (err != nil || end.Alive() || end.ID != 7) {
			t.Fatalf("%x is a message of the end %+v, and no value: %v", value, end, err)
		}
	})
}

// TestMACIsHMACSHA256Of128Bits: it is computed here a second time.
func TestMACIsHMACSHA256Of128Bits(t *testing.T) {
	s := alive(1)
	value, key := encode(t, secret, s), redisstore.KeyOf(s.ID)
	body, mac := value[:len(value)-16], value[len(value)-16:]
	h := hmac.New(sha256.New, secret)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(key))))
	h.Write([]byte(key))
	h.Write(body)
	if want := h.Sum(nil)[:16]; !bytes.Equal(mac, want) {
		t.Errorf("the last 16 bytes of a value are %x, want %x", mac, want)
	}
}
