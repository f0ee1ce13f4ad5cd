package breached

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // it is how the list is kept, and hides nothing
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// block is how much is read and looked through in one go, in bytes, once the
// search has come down to it.
const block = 4096

// An ordered is a file of lines in the order of their hashes.
type ordered struct {
	from io.ReaderAt
	size int64
}

// has reports whether the file has a line with that hash. The answer is right if
// the file is what [ordered.check] has found it to be.
//
// A line that begins before lo has a smaller hash, and one that begins at hi or
// behind it a larger one; lo is always the beginning of a line.
func (o *ordered) has(ctx context.Context, want sum) (bool, error) {
	lo, hi := int64(0), o.size
	for hi-lo > block {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		mid := lo + (hi-lo)/2
		at, end, got, err := o.lineAt(mid)
		switch {
		case errors.Is(err, io.EOF) || err == nil && at >= hi:
			hi = mid // none begins in the upper half
			continue
		case err != nil:
			return false, err
		}
		switch bytes.Compare(got[:], want[:]) {
		case 0:
			return true, nil
		case -1:
			lo = end
		default:
			hi = mid
		}
	}
	return o.scan(lo, hi, want)
}

// scan looks at all lines that begin in from lo to before hi.
func (o *ordered) scan(lo, hi int64, want sum) (bool, error) {
	if lo >= hi {
		return false, nil
	}
	text := make([]byte, min(hi+maxLine, o.size)-lo)
	if err := o.read(text, lo); err != nil {
		return false, err
	}
	for at := int64(0); at < hi-lo; {
		line, _, ended := bytes.Cut(text[at:], []byte("\n"))
		if !ended && lo+int64(len(text)) < o.size {
			return false, fmt.Errorf("at byte %d: %w", lo+at, errLong)
		}
		got, err := parseLine(line)
		if err != nil {
			return false, fmt.Errorf("at byte %d: %w", lo+at, err)
		}
		if got == want {
			return true, nil
		}
		at += int64(len(line)) + 1
	}
	return false, nil
}

// lineAt is the first line that begins at pos or behind it: where it begins,
// where the next one does, and its hash. The error is [io.EOF] if there is none.
func (o *ordered) lineAt(pos int64) (at, end int64, hash sum, err error) {
	from := max(pos-1, 0) // the end of the line before is looked for, too
	text := make([]byte, min(2*maxLine+1, o.size-from))
	if err := o.read(text, from); err != nil {
		return 0, 0, hash, err
	}
	skip := 0
	if pos > 0 {
		skip = bytes.IndexByte(text, '\n') + 1
		if skip == 0 && from+int64(len(text)) < o.size {
			return 0, 0, hash, fmt.Errorf("at byte %d: %w", pos, errLong)
		}
	}
	at = from + int64(skip)
	if pos > 0 && skip == 0 || at >= o.size {
		return 0, 0, hash, io.EOF
	}
	line, _, ended := bytes.Cut(text[skip:], []byte("\n"))
	if !ended && from+int64(len(text)) < o.size {
		return 0, 0, hash, fmt.Errorf("at byte %d: %w", at, errLong)
	}
	if hash, err = parseLine(line); err != nil {
		return 0, 0, hash, fmt.Errorf("at byte %d: %w", at, err)
	}
	return at, at + int64(len(line)) + 1, hash, nil
}

func (o *ordered) read(into []byte, at int64) error {
	n, err := o.from.ReadAt(into, at)
	if n == len(into) { // at the end, io.EOF may come along
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("at byte %d: %w", at, io.ErrUnexpectedEOF) // it has become shorter
	}
	return err
}

// samples is how many lines are looked at before a file is taken for a list.
const samples = 256

// check returns an error unless the first line, the last one, and some between
// them are lines of such a list, each with a larger hash than the one before.
func (o *ordered) check() error {
	if o.size == 0 {
		return errors.New("the file is empty")
	}
	var before sum
	next := int64(0) // where a line begins that was not looked at
	for i := range int64(samples) {
		pos := max(o.size/samples*i, next)
		if i == samples-1 {
			pos = max(o.size-maxLine, next) // and from there to the end
		}
		for {
			at, end, got, err := o.lineAt(pos)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if at > 0 && bytes.Compare(got[:], before[:]) <= 0 {
				return fmt.Errorf("at byte %d: %w", at, errUnsorted)
			}
			before, next, pos = got, end, end
			if i < samples-1 {
				break
			}
		}
	}
	return nil
}

const (
	digits = 2 * sha1.Size // of a hash, in hexadecimal

	// maxLine is the longest line, in bytes: the hash, a colon, a count of 20
	// digits, and the end.
	maxLine = digits + 1 + 20 + 2
)

// What is wrong with a line. None repeats it: the file may be any file.
var (
	errLong     = errors.New("the line is too long")
	errHash     = errors.New("the line does not begin with 40 hexadecimal digits, the SHA-1 of a password")
	errNTLM     = errors.New("the line has 32 hexadecimal digits, an NTLM hash; the list of SHA-1 hashes is needed")
	errTail     = errors.New("the line goes on after its hash with something other than a colon and a number")
	errUnsorted = errors.New("the line is not in the order of the hashes; the list that is ordered by hash is needed, and not the one by count")
)

type sum = [sha1.Size]byte

// parseLine reads a line without its end: a hash in either case, and, or not, a
// colon and how often the password was seen. The count is not used: once is
// enough.
func parseLine(line []byte) (sum, error) {
	var s sum
	hash, count, counted := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(":"))
	if len(hash) != digits {
		if _, err := hex.DecodeString(string(hash)); err == nil && len(hash) == 32 {
			return s, errNTLM
		}
		return s, errHash
	}
	if _, err := hex.Decode(s[:], hash); err != nil {
		return s, errHash
	}
	if counted && len(count) == 0 || len(count) > 20 {
		return s, errTail
	}
	for _, c := range count {
		if c < '0' || c > '9' {
			return s, errTail
		}
	}
	return s, nil
}
