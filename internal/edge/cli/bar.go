package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A bar shows on standard error how far something has come: in one line on a
// terminal, and elsewhere in a line now and then.
type bar struct {
	w        io.Writer
	terminal bool
	what     string // is counted
	total    int64  // 0 if not known
	shown    time.Time
}

func (a *app) bar(what string, total int64) *bar {
	return &bar{w: a.errs, what: what, terminal: isTerminal(a.errs), total: total, shown: time.Now()}
}

// isTerminal reports whether a person reads what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// show says that n are done.
func (b *bar) show(n int64) {
	every := 5 * time.Second
	if b.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(b.shown) < every {
		return
	}
	b.shown = time.Now()
	if !b.terminal {
		_, _ = fmt.Fprintf(b.w, "%d %s so far\n", n, b.what)
		return
	}
	const width = 30
	line := fmt.Sprintf("%d %s", n, b.what)
	if b.total > 0 {
		full := int(min(n, b.total) * width / b.total)
		line = fmt.Sprintf("[%s%s] %d of %d %s", strings.Repeat("#", full), strings.Repeat(" ", width-full), n, b.total, b.what)
	}
	_, _ = fmt.Fprintf(b.w, "\r\x1b[K%s", line)
}

// end leaves the line to what comes next.
func (b *bar) end() {
	if b.terminal {
		_, _ = fmt.Fprint(b.w, "\r\x1b[K")
	}
}
