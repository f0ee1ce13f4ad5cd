package zkworker

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"github.com/flakepass/flakepass/idworker/internal/durable"
)

// Close lets go of the file, as the end of the process would, and returns when
// no goroutine of its own is left. Nothing is handed back. The [Client] stays
// open.
func (k *Keyed) Close() error {
	k.mu.Lock()
	k.closed, k.owner = true, ""
	if k.cancel != nil {
		k.cancel()
	}
	k.mu.Unlock()
	k.waiting.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return nil
	}
	err := k.file.Close()
	k.file = nil
	return err
}

// open opens the file, once, and reads what is in it. A file that cannot be
// read, or is another key's, is as good as lost.
func (k *Keyed) open() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return ErrClosed
	case k.file != nil:
		return nil
	case k.Key == "":
		return errors.New("the key is empty")
	}
	if err := os.MkdirAll(filepath.Dir(k.File), 0o700); err != nil {
		return err
	}
	file, err := durable.Open(k.File)
	if errors.Is(err, durable.ErrBusy) {
		return fmt.Errorf("%w: %s", ErrInUse, k.File)
	}
	if err != nil {
		return err
	}
	first, second, err := file.Read(recordLen)
	if err == nil {
		err = durable.SyncDir(filepath.Dir(k.File)) // the file may be new
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	// What was acknowledged is in both copies; see durable.File.
	r, ok := parseReserve(first)
	other, both := parseReserve(second)
	switch {
	case !ok:
		r, ok = other, both
	case second != nil && !both:
		file.Damaged()
	}
	if second == nil || !ok || r.name != nameOf(k.Root, k.Key) {
		r = reserve{}
	}
	k.file, k.kept, k.turn = file, r, make(chan struct{}, 1)
	return nil
}

// write makes a reserve durable, and then the one that counts. The caller holds
// k.mu.
func (k *Keyed) write(r reserve) error {
	if k.file == nil {
		return ErrClosed
	}
	if r.number > maxNumber || r.used < 0 || r.until > maxFence {
		return fmt.Errorf("number %d until %d cannot be kept", r.number, r.until)
	}
	if err := k.file.Write(r.encode()); err != nil {
		return err
	}
	k.kept = r
	return nil
}

// A reserve is what the local file holds: ID time under a number that ZooKeeper
// has set aside for the process that knows the token. It is one line of text, for people
// who look into the file:
//
//	reserve 0007 name 5df6e0e2761359d3 token JBSWY3DPEHPK3PXPJBSWY3DPEH next -------------------------- used 0001763718183123 until 0001763721783123 5f3a9c01
//
// Instants are in Unix milliseconds; the last word is the CRC-32C of what is
// before it.
type reserve struct {
	number int
	name   string // of the path and key that it is for
	token  string // under which ZooKeeper has it; empty before the first answer
	next   string // under which it is asked for now; perhaps it has it already
	used   int64  // everything before is lent
	until  int64  // everything from here on is not ours
}

const (
	recordLen = 154
	noToken   = "--------------------------"
	maxNumber = 9999
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r reserve) encode() []byte {
	line := fmt.Appendf(nil, "reserve %04d name %s token %s next %s used %016d until %016d ",
		r.number, r.name, cmp.Or(r.token, noToken), cmp.Or(r.next, noToken), r.used, r.until)
	return fmt.Appendf(line, "%08x\n", crc32.Checksum(line, castagnoli))
}

var recordForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^reserve ([0-9]{4}) name ([0-9a-f]{16}) token ([A-Z2-7]{26}|-{26}) next ([A-Z2-7]{26}|-{26}) used ([0-9]{16}) until ([0-9]{16}) [0-9a-f]{8}\n$`)
})

// parseReserve reports false for anything that encode would not have written.
func parseReserve(b []byte) (reserve, bool) {
	m := recordForm().FindSubmatch(b)
	if m == nil {
		return reserve{}, false
	}
	var r reserve
	r.number, _ = strconv.Atoi(string(m[1])) // the pattern lets digits through
	r.name, r.token, r.next = string(m[2]), undash(m[3]), undash(m[4])
	r.used, _ = strconv.ParseInt(string(m[5]), 10, 64)
	r.until, _ = strconv.ParseInt(string(m[6]), 10, 64)
	if r.used > r.until || !bytes.Equal(r.encode(), b) {
		return reserve{}, false
	}
	return r, true
}

func undash(b []byte) string {
	if string(b) == noToken {
		return ""
	}
	return string(b)
}

// nameOf distinguishes reserves of other paths and keys from ours.
func nameOf(root, key string) string {
	sum := sha256.Sum256([]byte(root + "\x00" + key))
	return fmt.Sprintf("%x", sum[:8])
}
