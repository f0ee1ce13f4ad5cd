package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/server/run"
)

type userImport struct {
	because
	File     string `arg:"" help:"A file of NDJSON, or of CSV with a header; - is standard input."`
	DryRun   bool   `help:"Report what would come of it, and change nothing."`
	Rejects  string `help:"Write each line that is not imported, and why, into this file, as NDJSON." placeholder:"FILE"`
	Firebase string `name:"firebase-config" help:"A file with the parameters of the project's passwords, as the console of Firebase shows them." placeholder:"FILE"`
	JSON     bool   `help:"Print JSON."`
}

func (userImport) Help() string {
	return "The fields of a line are username, external_id, aliases, password_hash (or hash), role, disabled and created. " +
		"A user who is here already is not changed, so it may be stopped at any time and said again. docs/moving.md has the formats."
}

func (c userImport) Run(a *app) error {
	in, total, err := c.open(a)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	file := newImportFile(in)
	lines, err := file.lines()
	if err != nil {
		return err
	}
	fb, err := c.firebase()
	if err != nil {
		return err
	}
	rejects, err := c.newRejects(a)
	if err != nil {
		return err
	}
	with := a.toMint
	if c.DryRun {
		with = a.toLook
	}
	return with(func(ctx context.Context, l *local) error {
		hasher, err := run.NewHasher(l.cfg, account.Here{})
		if err != nil {
			return err
		}
		bar := a.bar("users", total)
		im := run.NewImport(l.db, hasher, l.operators.Users.IDs)
		im.Source, im.Firebase, im.DryRun, im.Reason = c.source(), fb, c.DryRun, c.Reason
		im.Reject, im.Progress = func(r operator.Rejected) { bar.end(); rejects.add(r) }, bar.show
		done, err := im.Run(ctx, commandActor(), lines)
		bar.end()
		if err == nil {
			err = file.err
		}
		if err = errors.Join(err, rejects.close()); err != nil && done.Lines == 0 && ctx.Err() == nil {
			return err
		}
		if shown := c.show(a.out, done); err == nil {
			err = shown
		}
		return outcome(err, done)
	})
}

// outcome is what is said in the end: a failure, or that lines are left.
func outcome(err error, done operator.Imported) error {
	switch left := done.Conflicts + done.Bad; {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted: %w; what was added stays, say it again to go on", err)
	case err != nil:
		return fmt.Errorf("%w; what was added stays, say it again to go on", err)
	case left > 0:
		return fmt.Errorf("%d of %d lines were not imported", left, done.Lines)
	}
	return nil
}

// source is the file as the record has it.
func (c userImport) source() string {
	if c.File == "-" {
		return "standard input"
	}
	return filepath.Base(c.File)
}

// open opens the file, and counts its lines if a person sees the bar.
func (c userImport) open(a *app) (in io.ReadCloser, lines int64, err error) {
	if c.File == "-" {
		return io.NopCloser(a.in), 0, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, 0, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !isTerminal(a.errs) {
		return f, 0, nil
	}
	for b := make([]byte, 1<<20); ; {
		n, err := f.Read(b)
		lines += int64(bytes.Count(b[:n], []byte{'\n'}))
		if err != nil {
			break
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, lines, err
}

func (c userImport) firebase() (*account.Firebase, error) {
	if c.Firebase == "" {
		return nil, nil //nolint:nilnil // the hashes of all others need none
	}
	text, err := os.ReadFile(c.Firebase)
	if err != nil {
		return nil, err
	}
	return account.ParseFirebase(string(text))
}

func (c userImport) show(out io.Writer, done operator.Imported) error {
	return show(out, c.JSON, struct {
		DryRun bool `json:"dry_run"`
		operator.Imported
	}{c.DryRun, done}, func(w io.Writer) {
		verb, rest := "added", ""
		if c.DryRun {
			verb, rest = "to be added", "; nothing was changed"
		}
		_, _ = fmt.Fprintf(w, "%d lines: %d users %s, %d here already, %d in conflict, %d bad%s\n",
			done.Lines, done.Added, verb, done.Present, done.Conflicts, done.Bad, rest)
	})
}

// rejects says which lines were not imported: the first ones on standard error, and all in
// the file, if there is one.
type rejects struct {
	errs io.Writer
	said int
	file *os.File
	buf  *bufio.Writer
	err  error
}

const rejectsSaid = 20

// rejectBegins is what each line of the file begins with.
const rejectBegins = `{"line":`

func (c userImport) newRejects(a *app) (*rejects, error) {
	r := &rejects{errs: a.errs}
	if c.Rejects == "" {
		return r, nil
	}
	var err error
	if r.file, err = c.openRejects(); err != nil {
		return nil, err
	}
	r.buf = bufio.NewWriter(r.file)
	return r, nil
}

// openRejects opens a new file, or empties an earlier list, since the command may be said again.
// Any other file stays, above all the one of the users: it looks at what it has opened. A new
// file is made under no link, which another user may have put there.
func (c userImport) openRejects() (*os.File, error) {
	f, err := os.OpenFile(c.Rejects, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if f, err = os.OpenFile(c.Rejects, os.O_RDWR, 0); errors.Is(err, fs.ErrNotExist) {
		return nil, misuse(fmt.Sprintf("--rejects: %s is a link to a file that is missing; name another file", c.Rejects))
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		begin := make([]byte, len(rejectBegins))
		if n, _ := f.ReadAt(begin, 0); string(begin[:n]) != rejectBegins {
			err = misuse(fmt.Sprintf("--rejects: %s is there, and is no list of rejected lines; name another file", c.Rejects))
		} else {
			err = f.Truncate(0)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// add never repeats a value: it may be a password in the wrong column.
func (r *rejects) add(of operator.Rejected) {
	reasons := make([]wire.FieldError, len(of.Fields))
	words := make([]string, len(of.Fields))
	for i, f := range of.Fields {
		reasons[i] = wire.FieldError{Field: f.Field, Code: f.Code, Message: f.Message}
		words[i] = f.Field + " " + f.Message
	}
	switch r.said++; {
	case r.said <= rejectsSaid:
		_, _ = fmt.Fprintf(r.errs, "line %d: %s\n", of.Line, strings.Join(words, "; "))
	case r.said == rejectsSaid+1 && r.buf != nil:
		_, _ = fmt.Fprintln(r.errs, "and more; the file of --rejects has all")
	case r.said == rejectsSaid+1:
		_, _ = fmt.Fprintln(r.errs, "and more; with --rejects FILE, all are in the file")
	}
	if r.buf != nil && r.err == nil {
		r.err = json.NewEncoder(r.buf).Encode(struct {
			Line    int               `json:"line"`
			Reasons []wire.FieldError `json:"reasons"`
		}{of.Line, reasons})
	}
}

func (r *rejects) close() error {
	if r.buf == nil {
		return nil
	}
	return errors.Join(r.err, r.buf.Flush(), r.file.Close())
}
