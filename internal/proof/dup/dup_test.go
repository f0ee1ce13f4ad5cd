//go:build unix

// The tests are inside package main, which cannot be imported.
package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// The test binary is the command when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == mintCommand {
		os.Exit(mint(os.Args[2]))
	}
	os.Exit(m.Run())
}

// TestNothingIsMintedTwiceFromFiles is a short run; "make test" runs a
// longer one.
func TestNothingIsMintedTwiceFromFiles(t *testing.T) {
	k, err := kindOf("file")
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.try(t.Context(), t.TempDir(), 0, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(strings.Join(columns(), " | "))
	t.Log(strings.Join(r.cells(), " | "))
	if r.result.Twice > 0 || r.result.IDs == 0 {
		t.Errorf("%+v", r.result)
	}
}

// TestLenderWithoutAFenceIsFound shows that the test can fail. It ends with the first
// ID that was minted twice: its processes take long to start on a busy machine.
func TestLenderWithoutAFenceIsFound(t *testing.T) {
	k, err := kindOf("unfenced")
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.try(t.Context(), t.TempDir(), firstTwice, 3*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
	k.fenced = true // and had it promised otherwise:
	r.kind = k
	if err := r.verdict(); err == nil {
		t.Errorf("%d were minted twice, and no error is returned", r.result.Twice)
	}
	t.Logf("%d of %d, such as %v", r.result.Twice, r.result.IDs, r.result.Examples)
}

// TestJournalSurvivesItsProcess: what a killed process wrote down is read, and a
// slot that it did not fill is none.
func TestJournalSurvivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	j, err := newJournal(filepath.Join(dir, "0-"))
	if err != nil {
		t.Fatal(err)
	}
	const n = slots + 10 // into the second file
	for id := range idworker.ID(n) {
		if id == 7 {
			j.page.Load().next.Add(1) // killed between Next and the store
		}
		if err := j.note(id + 1); err != nil {
			t.Fatal(err)
		}
	}
	var last idworker.ID
	err = collect(filepath.Join(dir, "0-"), func(ids []idworker.ID) error {
		for _, id := range ids {
			if id != last+1 {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
		}
		return nil
	})
	if err != nil || last != n {
		t.Errorf("read up to %d of %d, %v", last, n, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFullJournalSaysSo(t *testing.T) {
	j, err := newJournal(filepath.Join(t.TempDir(), "0-"))
	if err != nil {
		t.Fatal(err)
	}
	j.files = mostFiles
	j.page.Load().next.Store(slots)
	if err := j.note(1); err == nil {
		t.Error("written behind the end")
	}
}

func TestUnknownLenderIsRefused(t *testing.T) {
	if _, err := choose(kinds(), "file,oracle", time.Hour); err == nil || !strings.Contains(err.Error(), "oracle") {
		t.Errorf("got %v", err)
	}
}
