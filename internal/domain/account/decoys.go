package account

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/internal/domain/account/foreignhash"
)

// A FormatCount is how many users have hashes of one format: the algorithm and its costs.
type FormatCount struct {
	Format   string // "" is all users, with any hash or none
	Imported int64  // after the last import
	Users    int64  // when it was last counted
}

// mostFormats is how many formats are distinguished. Some systems draw the costs of each
// hash at random.
const mostFormats = 32

// Full reports whether counts have as many formats as are distinguished.
func Full(counts []FormatCount) bool { return len(counts) > mostFormats }

// MostCommon is counts with at most so many formats as are distinguished: the least common
// ones count as the last of these.
func MostCommon(counts []FormatCount) []FormatCount {
	slices.SortFunc(counts, func(a, b FormatCount) int {
		return cmp.Or(strings.Compare(a.Format, "")-strings.Compare(b.Format, ""), cmp.Compare(b.Imported, a.Imported), strings.Compare(a.Format, b.Format))
	})
	for len(counts) > mostFormats+1 {
		last := counts[len(counts)-1]
		counts = counts[:len(counts)-1]
		counts[mostFormats].Imported += last.Imported
		counts[mostFormats].Users += last.Users
	}
	return counts
}

// Format is that of a hash, or "" if there is none or none that can be read.
func (h *Hasher) Format(phc PHC) string {
	s, err := h.read(phc)
	if err != nil {
		return ""
	}
	return s.format
}

// Foreign reports whether any user has a hash that is not as a new one, or may have: an import
// has begun, and nothing was counted since.
func (h *Hasher) Foreign(counts []FormatCount) bool {
	return slices.ContainsFunc(counts, func(c FormatCount) bool {
		return c.Format == "" && c.Imported == 0 || c.Format != "" && c.Format != h.decoyFormat && c.Users > 0
	})
}

// FewForeign reports whether of a hundred users at most one has a hash that is not as a new one.
func (h *Hasher) FewForeign(counts []FormatCount) bool {
	var all, foreign int64
	for _, c := range counts {
		switch c.Format {
		case "":
			all = c.Users
		case h.decoyFormat:
		default:
			foreign += c.Users
		}
	}
	return all > 0 && foreign <= all/100 // not where an import has begun that was never counted
}

// A mix decides what is computed for names that no account has, so that they take as long
// as those of accounts do.
type mix struct {
	key   []byte
	cells []cell
}

// A cell is a format, the share of the names that had it after the last import, and the
// share of these that have it still.
type cell struct {
	decoy       PHC
	share, left float64
}

// SetMix has unknown names take as long as names of accounts do, by the formats that these
// have. key has to be the same for all instances. A name keeps what it has been given until
// the next import, but that it turns from a foreign format to ours, which is what a name of
// an account does. A format that cannot be computed is ours.
func (h *Hasher) SetMix(key []byte, counts []FormatCount) {
	var all FormatCount
	for _, c := range counts {
		if c.Format == "" {
			all = c
		}
	}
	m := &mix{key: key}
	for _, c := range counts {
		if c.Format == "" || c.Format == h.decoyFormat || c.Imported <= 0 || all.Imported <= 0 {
			continue
		}
		if decoy, err := h.decoyOf(c.Format); err == nil {
			// Accounts that are made since have ours.
			grown := float64(all.Imported) / float64(max(all.Imported, all.Users))
			m.cells = append(m.cells, cell{decoy, float64(c.Imported) / float64(all.Imported), grown * float64(c.Users) / float64(c.Imported)})
		}
	}
	h.mix.Store(m)
}

// decoyOf is a hash of that format and of no password.
func (h *Hasher) decoyOf(format string) (PHC, error) {
	text, err := foreignhash.Decoy(format)
	if err != nil {
		_, random, _ := strings.Cut(h.decoy.Reveal(), h.decoyFormat)
		text = format + random
	}
	phc := NewPHC(text)
	if h.Format(phc) != format {
		return PHC{}, fmt.Errorf("account: decoy: %w", ErrBadHash)
	}
	return phc, nil
}

// decoyFor is what is computed for a name.
func (h *Hasher) decoyFor(name string) PHC {
	m := h.mix.Load()
	if m == nil {
		return h.decoy
	}
	mac := hmac.New(sha256.New, m.key)
	_, _ = mac.Write([]byte("decoy\x00" + name))
	sum := mac.Sum(nil)
	which, still := fraction(sum), fraction(sum[8:])
	for _, c := range m.cells {
		if which < c.share {
			if still < c.left {
				return c.decoy
			}
			break
		}
		which -= c.share
	}
	return h.decoy
}

// fraction is a number from 0 to 1, without 1.
func fraction(b []byte) float64 { return float64(binary.BigEndian.Uint64(b)>>11) * math.Exp2(-53) }

// Decoy does the work of [Hasher.Verify] for a name without an account, so that
// the time of the answer does not reveal that. The hash it verifies against is a valid one
// of no password, and takes the same way through the pool. Its costs are those of a new
// hash, or, where users were imported, those that some of them have: see [Hasher.SetMix].
func (h *Hasher) Decoy(ctx context.Context, by Asker, name string, p Password) error {
	_, _, err := h.Verify(ctx, by, p, h.decoyFor(name))
	return err
}
