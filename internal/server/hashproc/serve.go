package hashproc

import (
	"io"
	"net/rpc"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// A Job is what the process is asked to compute. Its fields are exported for
// encoding/gob only.
type Job struct {
	Password string
	PHC      string         // to compare with
	Params   account.Params // to create with
}

const service = "Hash"

// hashing is what the process offers; its methods are those of net/rpc.
type hashing struct {
	engine account.Engine
	memory *memory
}

func (h hashing) Create(j Job, phc *string) (err error) {
	h.memory.reuse()
	*phc, err = h.engine.Create(j.Password, j.Params)
	return err
}

func (h hashing) Compare(j Job, ok *bool) (err error) {
	h.memory.reuse()
	*ok, err = h.engine.Compare(j.Password, j.PHC)
	return err
}

// Alive answers, which shows that the other side is this program.
func (hashing) Alive(j Job, ok *bool) error {
	*ok = j == Job{}
	return nil
}

// A memory keeps the pages of hashes that have ended for the next ones. A page that goes
// back to the system has to be cleared and mapped again, and a hash has 4,864 of them.
type memory struct{ returns atomic.Bool }

// reuse is called before each hash. The heap is little more than the memory of the hashes,
// so a collection costs little, and it frees those that have ended. Within a minute the
// pages that are free then go back to the system.
func (m *memory) reuse() {
	if m.returns.CompareAndSwap(false, true) {
		time.AfterFunc(time.Minute, func() {
			m.returns.Store(false)
			debug.FreeOSMemory()
		})
	}
	runtime.GC()
}

// Serve computes what it is asked on in and answers on out, as many at a time
// as it is asked, until in ends. It is for a process that does nothing else: the
// garbage is collected before each hash, and at no other time.
func Serve(in io.Reader, out io.WriteCloser, e account.Engine) error {
	s := rpc.NewServer()
	debug.SetGCPercent(-1)
	if err := s.RegisterName(service, hashing{e, new(memory)}); err != nil {
		return err
	}
	s.ServeConn(pipes{in, out})
	return nil
}

// pipes are the two ways of a conversation.
type pipes struct {
	io.Reader
	io.WriteCloser
}
