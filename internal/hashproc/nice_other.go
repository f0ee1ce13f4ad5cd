//go:build !linux

package hashproc

import "os/exec"

// startNicely starts cmd as urgent as this process is: elsewhere than on Linux
// urgency belongs to the whole process, and the server would lose its own.
func startNicely(cmd *exec.Cmd) error { return cmd.Start() }
