package secondfactor

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// rekeyBatch is how many secrets one transaction writes: few enough that a login
// which waits for one of the rows does not notice.
const rekeyBatch = 50

// rekeyRead is how many secrets one call asks for: the store reads all users for them, some thousand
// with a statement.
const rekeyRead = 2000

// A Vault reads and replaces stored secrets, whether they were confirmed or not.
type Vault interface {
	// Secrets are those of up to limit users whose IDs are greater than after, in
	// the order of the IDs; none is the end.
	Secrets(ctx context.Context, after idworker.ID, limit int) ([]SealedSecret, error)
	// Reseal leaves Next in the place of Had, in each row that still has that, and
	// returns how many did. If any did, the event that e makes of their number is
	// written in the same transaction.
	Reseal(ctx context.Context, rows []Reseal, e func(changed int) audit.Event) (changed int, err error)
	// Uses says how many secrets begin with which bytes: of the form, and the ID of
	// the key.
	Uses(ctx context.Context) (map[[5]byte]int, error)
}

// A SealedSecret is as it is stored.
type SealedSecret struct {
	User idworker.ID
	Text []byte
}

// A Reseal is a secret, and the same under another key.
type Reseal struct {
	User      idworker.ID
	Had, Next []byte
}

// A Rekeyer encrypts stored secrets anew under the newest key. It is safe beside
// running instances, which need that key as well, and may be stopped at any time:
// the next one goes on.
type Rekeyer struct {
	Vault Vault
	Keys  Keys
	IDs   audit.IDs
}

// Rekeyed is what a run did, and what is left.
type Rekeyed struct {
	Key        string   // the ID of the newest key
	Changed    int      // encrypted under it, or, by a dry run, to be
	Unreadable int      // under a key that is configured, and damaged or another user's
	Keys       []KeyUse // after the run: the newest key, other configured ones, others
}

// A KeyUse is how many secrets are encrypted under a key. ID begins the SHA-256 of
// the key, in hexadecimal, and is empty for what has no form that is known.
type KeyUse struct {
	ID         string
	Secrets    int
	Configured bool
}

// Unknown is how many secrets are under keys that are not configured.
func (r Rekeyed) Unknown() (n int) {
	for _, u := range r.Keys {
		if !u.Configured {
			n += u.Secrets
		}
	}
	return n
}

// Left is how many secrets are under older keys that are configured.
func (r Rekeyed) Left() (n int) {
	for _, u := range r.Keys {
		if u.Configured && u.ID != r.Key {
			n += u.Secrets
		}
	}
	return n
}

// Run encrypts all secrets that are under an older configured key under the newest one,
// or only counts them if dry is set. It leaves secrets that it cannot decrypt. The
// record has each batch, with reason. It fails with [ErrOff] without keys.
// On another failure the earlier batches stay changed, and the result beside the
// error says how many secrets that are.
func (r *Rekeyer) Run(ctx context.Context, by audit.Actor, reason string, dry bool) (Rekeyed, error) {
	if r.Keys.None() {
		return Rekeyed{}, fmt.Errorf("secondfactor: rekey: %w", ErrOff)
	}
	done := Rekeyed{Key: r.Keys.all[0].name()}
	for after := idworker.ID(0); ; {
		secrets, err := r.Vault.Secrets(ctx, after, rekeyRead)
		if err != nil {
			return done, fmt.Errorf("secondfactor: rekey: %w", err)
		}
		if len(secrets) == 0 {
			break
		}
		after = secrets[len(secrets)-1].User
		for rows := range slices.Chunk(r.reseal(secrets, &done), rekeyBatch) {
			n := len(rows)
			if !dry {
				n, err = r.write(ctx, by, rows, reason)
			}
			done.Changed += n
			if err != nil {
				return done, fmt.Errorf("secondfactor: rekey: %w", err)
			}
		}
	}
	uses, err := r.Vault.Uses(ctx)
	if err != nil {
		return done, fmt.Errorf("secondfactor: rekey: %w", err)
	}
	done.Keys = r.Keys.uses(uses)
	return done, nil
}

// Missing names the keys under which secrets are stored, and which k does not have. There may be
// many users, so it looks only at the secrets of the first users who have one. That finds an
// instance whose keys are all different from those of the rest. It may also find an instance that
// lacks an older key, because that key was given up too early.
func (k Keys) Missing(ctx context.Context, v Vault) ([]string, error) {
	secrets, err := v.Secrets(ctx, 0, rekeyBatch)
	if err != nil {
		return nil, fmt.Errorf("secondfactor: missing keys: %w", err)
	}
	var missing []string
	for _, s := range secrets {
		if id := keyOf(s.Text); k.find(id) == nil {
			missing = append(missing, hex.EncodeToString(id[:]))
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// reseal is what is to be written for secrets under an older key.
func (r *Rekeyer) reseal(secrets []SealedSecret, done *Rekeyed) (rows []Reseal) {
	newest := r.Keys.all[0]
	for _, s := range secrets {
		with := r.Keys.find(keyOf(s.Text))
		if with == nil || with == newest {
			continue
		}
		text, err := r.Keys.open(forSecret, s.User, s.Text)
		if err != nil {
			done.Unreadable++
			continue
		}
		rows = append(rows, Reseal{s.User, s.Text, r.Keys.seal(forSecret, s.User, text)})
	}
	return rows
}

func (r *Rekeyer) write(ctx context.Context, by audit.Actor, rows []Reseal, reason string) (int, error) {
	target := audit.Target{Kind: "key", Name: r.Keys.all[0].name()}
	e, err := audit.New(ctx, r.IDs, by, audit.NeedsAdmin, audit.SecondFactorsRekeyed, target, reason, nil, nil)
	if err != nil {
		return 0, err
	}
	return r.Vault.Reseal(ctx, rows, func(changed int) audit.Event {
		e.New = fmt.Appendf(nil, `{"count":%d}`, changed)
		return e
	})
}

// name is the ID of a key as people see it.
func (k *key) name() string { return hex.EncodeToString(k.id[:]) }

// keyOf is the ID of the key that a text is encrypted under, or that of no key.
func keyOf(sealed []byte) (id [4]byte) {
	if len(sealed) >= 5 && sealed[0] == sealVersion {
		copy(id[:], sealed[1:5])
	}
	return id
}

// uses is how many secrets are under each key: all that are configured, in their
// order, and then the others.
func (k Keys) uses(counted map[[5]byte]int) []KeyUse {
	all := make([]KeyUse, len(k.all))
	for i, one := range k.all {
		all[i] = KeyUse{ID: one.name(), Configured: true}
	}
	var others []KeyUse
	for begin, n := range counted {
		id := keyOf(begin[:])
		name := hex.EncodeToString(id[:])
		if begin[0] != sealVersion {
			name = ""
		}
		switch i := slices.IndexFunc(all, func(u KeyUse) bool { return u.ID == name }); {
		case i >= 0:
			all[i].Secrets += n
		default:
			others = append(others, KeyUse{ID: name, Secrets: n})
		}
	}
	slices.SortFunc(others, func(a, b KeyUse) int { return cmp.Compare(a.ID, b.ID) })
	return append(all, others...)
}
