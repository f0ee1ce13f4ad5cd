package secondfactor_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// A vault is one of many users. What a database must do beside is held in package
// sqlstore.
type vault struct {
	rows   map[idworker.ID][]byte
	events []audit.Event
	before func(secondfactor.Reseal) // called as each row is about to be compared
	failAt int                       // the write that fails; 0 is none
	writes int
	reads  int // calls of Secrets: each may read thousands of users
}

func (v *vault) Secrets(_ context.Context, after idworker.ID, limit int) (all []secondfactor.SealedSecret, _ error) {
	v.reads++
	for id, text := range v.rows {
		if id > after {
			all = append(all, secondfactor.SealedSecret{User: id, Text: text})
		}
	}
	slices.SortFunc(all, func(a, b secondfactor.SealedSecret) int { return int(a.User - b.User) })
	return all[:min(limit, len(all))], nil
}

func (v *vault) Reseal(_ context.Context, rows []secondfactor.Reseal, e func(int) audit.Event) (n int, _ error) {
	if v.writes++; v.writes == v.failAt {
		return 0, errors.New("away")
	}
	for _, r := range rows {
		if v.before != nil {
			v.before(r)
		}
		if bytes.Equal(v.rows[r.User], r.Had) {
			v.rows[r.User] = r.Next
			n++
		}
	}
	if n > 0 {
		v.events = append(v.events, e(n))
	}
	return n, nil
}

func (v *vault) Uses(context.Context) (map[[5]byte]int, error) {
	uses := map[[5]byte]int{}
	for _, text := range v.rows {
		var begin [5]byte
		copy(begin[:], text)
		uses[begin]++
	}
	return uses, nil
}

// kept is a vault of n users whose secrets are under the key of those bytes, and
// what makes the codes of each.
func kept(t *testing.T, n int, key byte) (*vault, map[idworker.ID]string) {
	t.Helper()
	v, secrets := &vault{rows: map[idworker.ID][]byte{}}, map[idworker.ID]string{}
	for id := idworker.ID(1); id <= idworker.ID(n); id++ {
		w := newWorld(t)
		w.Keys, w.user.ID = keys(t, key), id
		e, err := w.Begin(t.Context(), by, &w.user)
		if err != nil {
			t.Fatal(err)
		}
		v.rows[id], secrets[id] = w.kept.kept.Sealed, e.Secret.Reveal()
	}
	return v, secrets
}

func run(t *testing.T, v *vault, k secondfactor.Keys, dry bool) secondfactor.Rekeyed {
	t.Helper()
	done, err := (&secondfactor.Rekeyer{Vault: v, Keys: k, IDs: numbers{}}).Run(t.Context(), audit.Actor{}, "", dry)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// opens counts the users whose code is good under those keys alone.
func opens(t *testing.T, v *vault, secrets map[idworker.ID]string, k secondfactor.Keys) (n int) {
	t.Helper()
	for id, text := range v.rows {
		w := newWorld(t)
		w.Keys, w.user.ID = k, id
		w.kept.kept = secondfactor.Factor{Sealed: text, At: w.now}
		if w.check(w.code(secrets[id], 0)) == nil {
			n++
		}
	}
	return n
}

// Who starts an instance without a key that is needed hears which one it is.
func TestMissingKeysAreNamed(t *testing.T) {
	v, _ := kept(t, 3, 'a')
	for _, c := range []struct {
		keys secondfactor.Keys
		want int
	}{{keys(t, 'a'), 0}, {keys(t, 'b', 'a'), 0}, {keys(t, 'b'), 1}, {secondfactor.Keys{}, 1}} {
		missing, err := c.keys.Missing(t.Context(), v)
		if err != nil || len(missing) != c.want || c.want == 1 && missing[0] != run(t, v, keys(t, 'a'), true).Key {
			t.Errorf("with %v: %q, %v", c.keys, missing, err)
		}
	}
}

// After a run the old key decrypts nothing, and every app still works.
func TestRekeyLeavesNothingUnderAnOldKey(t *testing.T) {
	const n = 120
	v, secrets := kept(t, n, 'a')
	both := keys(t, 'b', 'a')
	if dry := run(t, v, both, true); dry.Changed != n || dry.Left() != n || len(v.events) != 0 || opens(t, v, secrets, keys(t, 'a')) != n {
		t.Errorf("a dry run: %+v, %d events", dry, len(v.events))
	}
	v.reads = 0
	done := run(t, v, both, false)
	if v.reads != 2 {
		t.Errorf("%d secrets were read by %d calls, want one and one that finds no more", n, v.reads)
	}
	if done.Changed != n || done.Left() != 0 || done.Unknown() != 0 || done.Keys[0] != (secondfactor.KeyUse{ID: done.Key, Secrets: n, Configured: true}) {
		t.Errorf("Run = %+v", done)
	}
	if under := opens(t, v, secrets, keys(t, 'b')); under != n {
		t.Errorf("%d of %d open under the new key alone", under, n)
	}
	if len(v.events) != 3 || v.events[0].Action != audit.SecondFactorsRekeyed || v.events[0].Target.Name != done.Key || string(v.events[2].New) != `{"count":20}` {
		t.Errorf("on record: %+v", v.events)
	}
	if again := run(t, v, both, false); again.Changed != 0 || len(v.events) != 3 {
		t.Errorf("the second time: %+v, %d events", again, len(v.events))
	}
}

// A run that was stopped in the middle has lost nothing, and the next goes on.
func TestRekeyGoesOnWhereItStopped(t *testing.T) {
	v, secrets := kept(t, 120, 'a')
	v.failAt = 2
	both := keys(t, 'b', 'a')
	done, err := (&secondfactor.Rekeyer{Vault: v, Keys: both, IDs: numbers{}}).Run(t.Context(), audit.Actor{}, "", false)
	if err == nil || done.Changed != 50 {
		t.Fatalf("Run = %+v, %v", done, err)
	}
	if n := opens(t, v, secrets, both); n != 120 {
		t.Errorf("%d of 120 open in between", n)
	}
	if done := run(t, v, both, false); done.Changed != 70 || done.Left() != 0 {
		t.Errorf("the next: %+v", done)
	}
}

// What a person changes meanwhile is not written over.
func TestRekeyLeavesWhatChangesMeanwhile(t *testing.T) {
	v, _ := kept(t, 3, 'a')
	other, _ := kept(t, 3, 'a')
	v.before = func(r secondfactor.Reseal) {
		if r.User == 2 {
			v.rows[2] = other.rows[2] // added anew, by an instance whose newest key is the old one
		}
	}
	done := run(t, v, keys(t, 'b', 'a'), false)
	if done.Changed != 2 || done.Left() != 1 || !bytes.Equal(v.rows[2], other.rows[2]) {
		t.Errorf("Run = %+v", done)
	}
}

// What cannot be decrypted stays as it is, and is reported.
func TestRekeyTellsWhatItCannotRead(t *testing.T) {
	v, _ := kept(t, 4, 'a')
	lostKey, _ := kept(t, 1, 'z')
	v.rows[1] = lostKey.rows[1]
	v.rows[2] = v.rows[3] // another user's
	v.rows[9] = []byte{9}
	want := map[idworker.ID][]byte{1: v.rows[1], 2: v.rows[2], 9: v.rows[9]}
	done := run(t, v, keys(t, 'b', 'a'), false)
	if done.Changed != 2 || done.Unreadable != 1 || done.Left() != 1 || done.Unknown() != 2 || done.Keys[2].ID != "" || len(done.Keys) != 4 {
		t.Errorf("Run = %+v", done)
	}
	for id, text := range want {
		if !bytes.Equal(v.rows[id], text) {
			t.Errorf("the row of user %d was written", id)
		}
	}
	if _, err := (&secondfactor.Rekeyer{Vault: v}).Run(t.Context(), audit.Actor{}, "", true); !errors.Is(err, secondfactor.ErrOff) {
		t.Errorf("without keys: %v", err)
	}
}

// moving is a store whose secret is encrypted anew before each of the first
// writes, as a run beside this instance does.
type moving struct {
	*memory
	t     *testing.T
	times int
}

func (m *moving) rekey(key byte) {
	if m.times == 0 {
		return
	}
	m.times--
	under := []byte{key, 'a', 'b', 'c'}
	if at := bytes.LastIndexByte(under, key); at > 0 {
		under = slices.Delete(under, at, at+1)
	}
	v := &vault{rows: map[idworker.ID][]byte{7: m.kept.Sealed}}
	run(m.t, v, keys(m.t, under...), false)
	m.kept.Sealed = v.rows[7]
}

func (m *moving) UseStep(ctx context.Context, user idworker.ID, sealed []byte, step int64) (bool, error) {
	m.rekey('b' + byte(m.times%2))
	if !bytes.Equal(sealed, m.kept.Sealed) {
		return false, nil
	}
	return m.memory.UseStep(ctx, user, sealed, step)
}

func (m *moving) Confirm(ctx context.Context, user idworker.ID, sealed []byte, f secondfactor.Factor, e audit.Event) (bool, error) {
	m.rekey('b' + byte(m.times%2))
	return m.memory.Confirm(ctx, user, sealed, f, e)
}

// A right code is not refused as wrong while the secret is encrypted under another
// key.
func TestACodeIsGoodWhileItsSecretMovesToAnotherKey(t *testing.T) {
	w := newWorld(t)
	w.Keys = keys(t, 'a', 'b', 'c')
	e, err := w.Begin(t.Context(), by, &w.user)
	if err != nil {
		t.Fatal(err)
	}
	m := &moving{memory: w.kept, t: t, times: 2}
	w.Store, w.Codes = m, m
	if _, err := w.Confirm(t.Context(), by, &w.user, w.code(e.Secret.Reveal(), 0)); err != nil {
		t.Errorf("Confirm = %v", err)
	}
	m = &moving{memory: w.kept, t: t, times: 2}
	w.Store, w.Codes = m, m
	later := w.code(e.Secret.Reveal(), 1)
	if err := w.check(later); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := w.check(later); !errors.Is(err, secondfactor.ErrInvalid) {
		t.Errorf("the same code again: %v", err)
	}
}
