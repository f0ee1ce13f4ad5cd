package breached

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // it is how the list is kept, and hides nothing
	"encoding/hex"
	"errors"
)

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
