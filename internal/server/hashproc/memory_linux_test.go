package hashproc_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestMemoryOfHashesIsKept: a hash takes over the memory of one that has ended. So all
// later hashes together ask the system for fewer pages than a quarter of a single one.
func TestMemoryOfHashesIsKept(t *testing.T) {
	t.Parallel()
	e, _ := begin(t)
	quick := account.Params{MemoryKiB: 19 << 10, Iterations: 1, Parallelism: 1}
	hash := func(times int) {
		t.Helper()
		for range times {
			if _, err := e.Create("a passphrase", quick); err != nil {
				t.Fatal(err)
			}
		}
	}
	hash(3)
	before := pageFaults(t, pid(t, e))
	const later = 10
	hash(later)
	got, most := pageFaults(t, pid(t, e))-before, int(quick.MemoryKiB)<<10/os.Getpagesize()/4
	if got >= most {
		t.Errorf("%d hashes took %d new pages; want fewer than %d", later, got, most)
	}
	t.Logf("%d hashes took %d new pages", later, got)
}

// pageFaults is how many pages the system has given to a process without reading a file (proc(5), minflt).
func pageFaults(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
	n, err := strconv.Atoi(fields[8]) // ")" is the second field of proc(5), and minflt the tenth
	if err != nil {
		t.Fatal(err)
	}
	return n
}
