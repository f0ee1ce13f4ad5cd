package cli_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every command, and the process that hashes, prepares all packages before its first
// line runs. A regular expression that counts to 251 had taken a fifth of that.
func TestPackagesPrepareLittle(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	seen := 0
	for _, line := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) allocs$`).FindAllStringSubmatch(string(out), -1) {
		if !strings.HasPrefix(line[1], "github.com/flakepass/") {
			continue
		}
		seen++
		if n, _ := strconv.Atoi(line[2]); n > 1000 {
			t.Errorf("%s makes %d allocations before main; do it when it is first asked for", line[1], n)
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages of ours were seen: %.500s", seen, out)
	}
}
