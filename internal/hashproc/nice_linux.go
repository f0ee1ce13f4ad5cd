package hashproc

import (
	"os/exec"
	"runtime"
	"syscall"
)

// nicer is by how much the process is less urgent than the server. At 10 it
// gets a tenth of a CPU for which both compete, and all of one that is idle.
const nicer = 10

// startNicely starts cmd less urgent than this process. A process inherits the
// urgency of the thread that starts it, for all the threads that it will have;
// told afterwards, those that it already has would stay as they are. The thread
// cannot become urgent again without a privilege, so it ends.
func startNicely(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: Go ends the thread with the goroutine
		if now, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
			// The system call answers 20 - nice. Where it is refused the process is as urgent as the server.
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, min(20-now+nicer, 19))
		}
		started <- cmd.Start()
	}()
	return <-started
}
