package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/domain/account/foreignhash"
	"github.com/flakepass/flakepass/internal/domain/hidden"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// A Firebase is the parameters of a project of Firebase, without which its hashes cannot
// be read.
type Firebase = foreignhash.Firebase

// ParseFirebase reads them as the console of Firebase shows them.
func ParseFirebase(text string) (*Firebase, error) { return foreignhash.ParseFirebase(text) }

// An ImportedHash is the hash of a password as another system has made it. It cannot print
// itself. The zero one is none: the account has no password.
type ImportedHash struct {
	kept   PHC
	digest *foreignhash.Digest
}

// CodeUnsupported and CodeCost are what is wrong with a hash that is not taken: it is in no
// known format or malformed, or it costs more than a server agrees to compute.
const (
	CodeUnsupported = "unsupported"
	CodeCost        = "cost_out_of_bounds"
)

// ReadImportedHash reads a hash as it stands in a file. fb may be nil if there are none of
// Firebase. An empty text, and one that begins with an exclamation mark, as Django writes
// it for a password that was switched off, is no hash. It returns an [*invalid.Error] with
// the field password_hash, which does not repeat the text.
func ReadImportedHash(text string, fb *Firebase) (ImportedHash, error) {
	if text == "" || text[0] == '!' {
		return ImportedHash{}, nil
	}
	if strings.HasPrefix(text, "argon2"+ours) { // Django's
		text = text[len("argon2"):]
	}
	if strings.HasPrefix(text, ours) {
		p, err := decode(text)
		switch {
		case err != nil:
			return ImportedHash{}, invalid.Of("password_hash", CodeUnsupported, "cannot be used: argon2id: "+err.Error())
		case uint64(p.Memory)*uint64(p.Iterations) > mostWork:
			return ImportedHash{}, invalid.Of("password_hash", CodeCost, fmt.Sprintf("cannot be used: argon2id: %d KiB in %d passes, want at most %d KiB in all passes", p.Memory, p.Iterations, mostWork))
		}
		if len(text) > foreignhash.MaxText {
			return ImportedHash{}, invalid.Of("password_hash", CodeUnsupported, "cannot be used: argon2id: too long")
		}
		return ImportedHash{kept: NewPHC(text)}, nil
	}
	found, err := foreignhash.ReadImported(text, fb)
	switch {
	case err != nil:
		code := CodeUnsupported
		if errors.Is(err, foreignhash.ErrCost) {
			code = CodeCost
		}
		return ImportedHash{}, invalid.Of("password_hash", code, "cannot be used: "+strings.TrimPrefix(err.Error(), "foreignhash: "))
	case found.Digest != nil:
		return ImportedHash{digest: found.Digest}, nil
	}
	return ImportedHash{kept: NewPHC(found.Kept)}, nil
}

// mostWork is the memory of all passes of an imported Argon2id hash, in KiB: about a second on one core.
const mostWork = 4 * maxMemoryKiB

// ours begins our own hashes.
const ours = "$argon2id$"

// Ours reports whether a stored hash is of Argon2id as we make it, at any costs.
func (p PHC) Ours() bool { return strings.HasPrefix(p.Reveal(), ours) }

// IsZero reports whether there is no hash.
func (i ImportedHash) IsZero() bool { return i.kept.IsZero() && i.digest == nil }

// Is reports whether p is what is kept of the hash. For a digest it computes Argon2id.
func (i ImportedHash) Is(p PHC) bool {
	if i.digest != nil {
		return i.digest.HeldBy(p.Reveal())
	}
	return i.kept.Equal(p)
}

// text is the hash in one of several forms.
func (i ImportedHash) text() string {
	if i.digest != nil {
		text, _ := i.digest.Keep("")
		return text + i.digest.Secret()
	}
	return i.kept.Reveal()
}

// Same reports whether two lines have the same hash.
func (i ImportedHash) Same(j ImportedHash) bool { return NewPHC(i.text()).Equal(NewPHC(j.text())) }

// Sum is the same for the same hash, as long as the process runs.
func (i ImportedHash) Sum(seed maphash.Seed) uint64 { return maphash.String(seed, i.text()) }

// KeepAll is what is to be stored for hashes of a file, in their order. Each digest of an
// old system is put into Argon2id, which costs what a login does. It fails as
// [Hasher.Hash] does.
func (h *Hasher) KeepAll(ctx context.Context, by Asker, all []ImportedHash) ([]PHC, error) {
	kept := make([]PHC, len(all))
	errs := make([]error, len(all))
	var running sync.WaitGroup
	places := make(chan struct{}, max(1, h.size/int64(h.params.MemoryKiB)))
	for i, one := range all {
		if one.digest == nil {
			kept[i] = one.kept
			continue
		}
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			phc, err := h.Hash(ctx, by, Password{text: hidden.Of(one.digest.Secret())})
			if err == nil {
				var text string
				text, err = one.digest.Keep(phc.Reveal())
				kept[i] = NewPHC(text)
			}
			errs[i] = err
		})
	}
	running.Wait()
	return kept, cmp.Or(errs...) // one for all: they are as many as there are hashes
}

const maxExternalID = 190 // characters, as the column has it

// CheckExternalID returns an [*invalid.Error] for a text that is no external ID: one of more
// than 190 characters, or with characters that do not show, or with spaces at an end, which
// MySQL disregards. The empty text is none, and is accepted.
func CheckExternalID(s string) error {
	switch {
	case !utf8.ValidString(s) || strings.ContainsFunc(s, invalid.Unseen) || strings.TrimFunc(s, unicode.IsSpace) != s:
		return invalid.Of("external_id", CodeInvalidCharacters, "must have only characters that show, and no spaces at its ends")
	case utf8.RuneCountInString(s) > maxExternalID:
		return invalid.Of("external_id", CodeTooLong, fmt.Sprintf("must have at most %d characters", maxExternalID))
	}
	return nil
}
