//nolint:forbidigo // it sleeps in bubbles of synctest only
package breached_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/store/breached"
)

func sum(password string) [20]byte { return sha1.Sum([]byte(password)) }

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNamedPipeIsNoList: nobody may have written to it, and a stop would not end the wait.
func TestNamedPipeIsNoList(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := breached.Open(pipe); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
		t.Error(err)
	}
}

// watch watches l until the test ends.
func watch(t *testing.T, l *breached.List) {
	t.Helper()
	var watching sync.WaitGroup
	ctx, end := context.WithCancel(t.Context())
	watching.Go(func() { l.Watch(ctx) })
	t.Cleanup(func() {
		end()
		watching.Wait()
		_ = l.Close()
	})
}

// replace puts a file in the place of another one as an operator should.
func replace(t *testing.T, path string, text []byte) {
	t.Helper()
	write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func listOf(passwords ...string) []byte {
	hashes := make([][20]byte, len(passwords))
	for i, p := range passwords {
		hashes[i] = sum(p)
	}
	return text(hashes, upper, "\n", true)
}

func asks(t *testing.T, l *breached.List, password string, want bool) {
	t.Helper()
	if got, err := l.Has(t.Context(), sum(password)); got != want || err != nil {
		t.Errorf("%q: %v, %v, want %v", password, got, err, want)
	}
}

func TestOpenRefusesWhatIsNoList(t *testing.T) {
	good := listOf("one", "two", "three", "four")
	lines := bytes.SplitAfter(good, []byte("\n"))
	byCount := slices.Concat(lines[2], lines[0], lines[1])
	for name, c := range map[string]struct {
		text string
		says string
	}{
		"empty":         {"", "empty"},
		"words":         {"password\n123456\n", "40 hexadecimal digits"},
		"packed":        {"\x1f\x8b\x08\x00" + strings.Repeat("\x00\xff", 400), "too long"},
		"NTLM":          {"31D6CFE0D16AE931B73C59D7E0C089C0:9\n", "NTLM"},
		"by count":      {string(byCount), "ordered by hash"},
		"twice":         {string(lines[0]) + string(lines[0]), "ordered by hash"},
		"no count":      {strings.TrimSuffix(string(lines[0]), "7\n") + "\n", "colon and a number"},
		"a tail":        {strings.Repeat("0", 40) + ":12x\n", "colon and a number"},
		"bad last line": {string(good) + "FFFF", "40 hexadecimal digits"},
		"long line":     {strings.Repeat("0", 40) + ":" + strings.Repeat("1", 400), "too long"},
	} {
		path := filepath.Join(t.TempDir(), "list")
		write(t, path, []byte(c.text))
		_, err := breached.Open(path)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "ordered by hash") {
			t.Errorf("%s: %v, want a sentence with %q and what to take", name, err, c.says)
		}
	}
	if _, err := breached.Open(t.TempDir()); err == nil {
		t.Error("a directory: accepted")
	}
	if _, err := breached.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A list that is replaced is used a second later, and the one before until then.
func TestReplacedListIsPickedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	write(t, path, listOf("old", "other"))
	synctest.Test(t, func(t *testing.T) {
		l, err := breached.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		watch(t, l)
		replace(t, path, listOf("new", "other", "third"))
		time.Sleep(time.Second - 1)
		asks(t, l, "old", true)
		asks(t, l, "new", false)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		asks(t, l, "old", false)
		asks(t, l, "new", true)
	})
}

// What cannot be used does not take the place of what is in use.
// It is heard of although nobody asks anything.
func TestBadReplacementIsNotUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	write(t, path, listOf("old", "other"))
	synctest.Test(t, func(t *testing.T) {
		l, err := breached.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var kept []error
		l.Kept = func(err error) { kept = append(kept, err) }
		watch(t, l)
		pass := func() {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		replace(t, path, listOf("first", "other")) // nobody asks for a password while it lies there
		pass()
		replace(t, path, []byte("<html>not found</html>"))
		pass()
		if runtime.GOOS != "windows" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		pass()
		if len(kept) != 2 || !errors.Is(kept[1], os.ErrNotExist) {
			t.Errorf("heard %v", kept)
		}
		asks(t, l, "old", false)
		asks(t, l, "first", true)
		replace(t, path, listOf("new"))
		pass()
		asks(t, l, "new", true)
	})
}

// A file that becomes shorter under us is an error, and no verdict.
func TestCutListIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	write(t, path, listOf("one", "two", "three", "four", "five"))
	l, err := breached.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := os.Truncate(path, 60); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Has(t.Context(), sum("one")); err == nil {
		t.Error("no error")
	}
}

func TestEndedContextAndClosedListAreErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	write(t, path, many(500))
	l, err := breached.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Has(ctx, sum("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := l.Has(t.Context(), sum("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Questions and replacements at the same time: no question meets a closed file.
func TestQuestionsDuringReplacements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	text := many(2000)
	write(t, path, text)
	synctest.Test(t, func(t *testing.T) {
		l, err := breached.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		watch(t, l)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 50 {
					time.Sleep(time.Second / 4)
					if found, err := l.Has(t.Context(), sum("7")); !found || err != nil {
						t.Errorf("%v, %v", found, err)
					}
				}
			})
		}
		for range 10 {
			time.Sleep(time.Second)
			replace(t, path, text)
		}
		all.Wait()
	})
}
