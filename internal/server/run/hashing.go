package run

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/hashproc"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/breached"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// OpenBreached opens the list of stolen passwords, until closeList; without one
// the Breaches are nil, which refuse none. failed, if not nil, is called for each
// password that was accepted without having been looked up, and once a minute while
// there is a new list that cannot be used, if it is watched ([watchStolen]).
func OpenBreached(cfg config.Config, log *slog.Logger, failed func()) (b *account.Breaches, closeList func(), err error) {
	if cfg.BreachedPasswords == "" {
		return nil, func() {}, nil
	}
	list, err := breached.Open(cfg.BreachedPasswords)
	if err != nil {
		return nil, nil, fmt.Errorf("FLAKEPASS_BREACHED_PASSWORDS: %w", err)
	}
	var unread, kept minutely // a disk that fails does so for each password
	count := func() {
		if failed != nil {
			failed()
		}
	}
	list.Kept = func(err error) {
		kept.do(func() {
			count()
			log.Warn("a new list of stolen passwords is not used; the one before is", "err", err)
		})
	}
	return &account.Breaches{List: list, Unread: func(ctx context.Context, err error) {
		count()
		unread.do(func() {
			log.WarnContext(ctx, "list of stolen passwords not read; a new password was accepted without it", "err", err)
		})
	}}, func() { _ = list.Close() }, nil
}

// watchStolen has b use a new list once it is there, until ctx ends. At rest it costs one stat
// a second, and nothing where no list is configured.
func watchStolen(ctx context.Context, b *account.Breaches) {
	if b == nil {
		return
	}
	if list, ok := b.List.(*breached.List); ok {
		list.Watch(ctx)
	}
}

// A minutely does something at most once a minute.
type minutely struct{ last atomic.Int64 } // Unix milliseconds; 0: never

func (m *minutely) do(f func()) {
	last, now := m.last.Load(), time.Now().UnixMilli()
	// A time to come is of a clock that was set back since.
	if recent := last <= now && now-last < time.Minute.Milliseconds(); !recent && m.last.CompareAndSwap(last, now) {
		f()
	}
}

// hashing is what hashes passwords, until end.
type hashing struct {
	engine   account.Engine
	end      func()
	warnings func() []string // what an operator should know of it
}

// newEngine starts the process that hashes passwords, unless the configuration says
// otherwise. If it cannot start, this process hashes them: logins work, and slow other
// requests down.
func newEngine(ctx context.Context, cfg config.Config, log *slog.Logger, metrics *telemetry.Metrics) hashing {
	here := hashing{account.Here{}, func() {}, func() []string { return nil }}
	if !cfg.HashProcess {
		return here
	}
	e, err := hashproc.New(log, func() *exec.Cmd { return hashProcess(cfg.HashWorkers) }) //nolint:contextcheck // the process outlives the request that starts it
	if err != nil {
		log.WarnContext(ctx, "passwords are hashed in the server's own process, and a flood of logins slows other requests down", "err", err)
		return here
	}
	metrics.Hashing(e.PID)
	return hashing{e, e.Close, e.Warnings}
}

// hashProcess is this program as the process that hashes. It gets no
// environment, which holds secrets that it does not need.
func hashProcess(workers int) *exec.Cmd {
	cmd := exec.Command(ownProgram(), "hash") //nolint:gosec,noctx // this program; the end of its input ends it
	cmd.Args[0] = "flakepass"
	cmd.Env = []string{"GOMAXPROCS=" + strconv.Itoa(min(workers, runtime.NumCPU()))}
	// Other processes of the same user can take what this one has open. It gets no terminal: the
	// server may have been started by root.
	cmd.Stderr = struct{ io.Writer }{os.Stderr} // by a pipe
	ownSession(cmd)
	return cmd
}

// ownProgram is the file of this program. On Linux that is the running program, even
// after an upgrade has replaced the file.
func ownProgram() string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}

// roomBytes is memory that the garbage collector counts as in use.
const roomBytes = 16 << 20

// spacious gives the collector room. It starts a cycle when the heap has
// doubled, and the heap of a server with few logins is some 10 MB: forty cycles
// a second under load. With the room they are a third as many, for at most
// 16 MB more. The room itself is never touched, so it takes no memory. An operator
// who sets GOGC or GOMEMLIMIT has decided otherwise.
//
// The caller keeps what it returns for as long as the server runs.
func spacious(environ func(string) (string, bool)) []byte {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := environ(name); set {
			return nil
		}
	}
	return make([]byte, roomBytes)
}

// formats keeps what is computed for unknown names like what the accounts have. Where
// nothing was imported it reads one empty table a minute.
type formats struct {
	db     *sqlstore.DB
	hasher *account.Hasher
	log    *slog.Logger
}

// NewImport adds users to that database.
func NewImport(db *sqlstore.DB, hasher *account.Hasher, ids audit.IDs) *operator.Import {
	return &operator.Import{Store: &sqlstore.Users{DB: db}, Formats: &sqlstore.HashFormats{DB: db}, Hasher: hasher, IDs: ids, Now: time.Now}
}

// NewExport reads the users of that database.
func NewExport(db *sqlstore.DB, ids audit.IDs) *operator.Export {
	return &operator.Export{Store: &sqlstore.Users{DB: db}, IDs: ids}
}

// run reads the counts now and once a minute, until ctx ends.
func (f formats) run(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		f.read(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (f formats) read(ctx context.Context) {
	counts, err := (&sqlstore.HashFormats{DB: f.db}).Load(ctx)
	var key []byte
	if err == nil && len(counts) > 0 {
		key, err = (&sqlstore.Settings{DB: f.db}).CacheKey(ctx)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		f.log.WarnContext(ctx, "formats of password hashes not read; unknown names take as long as before", "err", err)
	case err == nil && len(counts) > 0:
		f.hasher.SetMix(key, counts)
	}
}

// afterSweep counts the formats if the last count is an hour old and if some hashes are still of a
// foreign format: a login replaces such a hash by one of ours. If few are left it counts once a
// day: the shares change by less than a hundredth, and each count reads all users.
func (f formats) afterSweep(ctx context.Context) {
	store := &sqlstore.HashFormats{DB: f.db}
	counts, err := store.Load(ctx)
	ago, every := 0.0, 1.0
	if f.hasher.FewForeign(counts) {
		every = 24
	}
	if err == nil && f.hasher.Foreign(counts) {
		ago, err = store.Hours(ctx)
	}
	if err == nil && ago >= every {
		_, err = store.Count(ctx, f.hasher.Format, false)
	}
	if err != nil && ctx.Err() == nil {
		f.log.WarnContext(ctx, "formats of password hashes not counted; the next sweep tries again", "err", err)
	}
}
