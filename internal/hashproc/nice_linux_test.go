package hashproc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIsLessUrgentThanTheServer: every thread of the process is, and none of
// this one's has become so.
func TestIsLessUrgentThanTheServer(t *testing.T) {
	own := niceness(t, os.Getpid())
	e, _ := begin(t, time.Minute)
	if _, err := e.Create("a passphrase", cheap); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(min(atoi(t, own[0])+10, 19))
	for _, nice := range niceness(t, pid(t, e)) {
		if nice != want {
			t.Errorf("a thread of the process has the niceness %s, want %s", nice, want)
		}
	}
	for _, nice := range niceness(t, os.Getpid()) {
		if nice != own[0] {
			t.Errorf("a thread of the server has the niceness %s, want %s", nice, own[0])
		}
	}
}

// niceness is that of each thread of a process.
func niceness(t *testing.T, pid int) (all []string) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, stat := range threads {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ...", where name may hold anything; nice is the 19th field.
		all = append(all, strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[16])
	}
	if len(all) == 0 {
		t.Skip("needs the /proc of Linux")
	}
	return all
}

func atoi(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
