package hashproc

import (
	"io"
	"net/rpc"

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
type hashing struct{ engine account.Engine }

func (h hashing) Create(j Job, phc *string) (err error) {
	*phc, err = h.engine.Create(j.Password, j.Params)
	return err
}

func (h hashing) Compare(j Job, ok *bool) (err error) {
	*ok, err = h.engine.Compare(j.Password, j.PHC)
	return err
}

// Alive answers, which shows that the other side is this program.
func (hashing) Alive(j Job, ok *bool) error {
	*ok = j == Job{}
	return nil
}

// Serve computes what it is asked on in and answers on out, as many at a time
// as it is asked, until in ends.
func Serve(in io.Reader, out io.WriteCloser, e account.Engine) error {
	s := rpc.NewServer()
	if err := s.RegisterName(service, hashing{e}); err != nil {
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
