package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// brief is the variable by which [Benchmarks] speaks to [Brief].
const brief = "FLAKEPASS_TEST_BRIEF"

// Benchmarks runs all benchmarks of the package under test for one iteration
// each, in a process of its own, and fails if one fails. It measures nothing: a
// benchmark that was not run for a while may no longer start.
func Benchmarks(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$", "-test.bench=.", "-test.benchtime=1x")
	cmd.Env = append(os.Environ(), brief+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("testenv: the benchmarks of this package: %v\n%s", err, out)
	}
}

// Brief returns small in a process that [Benchmarks] started, and usual
// otherwise. It is for the size of what a benchmark works on.
func Brief[T any](usual, small T) T {
	if os.Getenv(brief) != "" {
		return small
	}
	return usual
}
