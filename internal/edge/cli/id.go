package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

type idCommand struct {
	Next   idNext   `cmd:"" help:"Mint IDs, under a worker number of the command's own."`
	Decode idDecode `cmd:"" help:"Say when and by which worker an ID was minted."`
}

type idNext struct {
	N   int  `short:"n" help:"How many, one on a line." default:"1"`
	New bool `help:"Where there is neither a database nor a folder of worker numbers, begin such a folder. IDs of two of them may be the same."`
}

func (c idNext) Validate() error {
	if c.N < 1 {
		return errors.New("-n is at least 1")
	}
	return nil
}

func (c idNext) Run(a *app) error {
	return a.withWorker(c.New, func(ctx context.Context, ids audit.IDs) error {
		out := bufio.NewWriter(a.out)
		for range c.N {
			id, err := ids.Next(ctx)
			if err != nil {
				// What is minted already is good, and is not kept back.
				return errors.Join(err, out.Flush())
			}
			if _, err := fmt.Fprintln(out, id); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// withWorker opens the database only if the worker number comes from there. Unless it may
// begin anew, it refuses a folder in which nobody has minted yet: in a wrong one the first
// number is lent again, and the IDs repeat those of the right one.
func (a *app) withWorker(anew bool, f func(context.Context, audit.IDs) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	log := telemetry.NewLog(a.errs, cfg.LogFormat, cfg.LogLevel)
	advise, err := a.asOwner(cfg, log)
	if err != nil {
		return err
	}
	if err := run.FindNumbers(cfg); err != nil && !anew {
		return fmt.Errorf("%w, and `flakepass id next --new` a folder of worker numbers without one", err)
	}
	var db *sqlstore.DB
	if run.LendsFromDatabase(cfg) {
		if db, err = run.OpenExisting(a.ctx, cfg, log); err != nil {
			return advise(err)
		}
		defer func() { _ = db.Close() }()
	}
	ids, closeIDs, err := run.OpenIDs(a.ctx, cfg, db, log)
	if err != nil {
		return advise(err)
	}
	defer closeIDs()
	return f(a.ctx, ids)
}

type idDecode struct {
	ID     idworker.ID `arg:"" help:"The ID, in decimal."`
	Layout string      `help:"One of ${enum}." enum:"default,twitter,leaf,baidu,sonyflake" default:"default"`
	Epoch  *epoch      `help:"Where the time of the IDs begins, if not where the layout has it: RFC 3339, or milliseconds since 1970." placeholder:"TIME"`
	JSON   bool        `help:"Print JSON."`
}

func (c idDecode) Validate() error {
	l := c.layout()
	if err := l.Validate(); err != nil {
		return fmt.Errorf("--epoch: %w", err)
	}
	if year := l.Time(c.ID).Year(); year > 9999 { // RFC 3339 has four digits
		return fmt.Errorf("--epoch: with this epoch the ID is of the year %d; the last that can be written is 9999", year)
	}
	return nil
}

func (c idDecode) layout() idworker.Layout {
	l := map[string]func() idworker.Layout{
		"default": idworker.Default, "twitter": idworker.Twitter, "leaf": idworker.Leaf,
		"baidu": idworker.Baidu, "sonyflake": idworker.Sonyflake,
	}[c.Layout]()
	if c.Epoch != nil {
		l.Epoch = c.Epoch.Time
	}
	return l
}

func (c idDecode) Run(a *app) error {
	l := c.layout()
	p := l.Decompose(c.ID)
	v := struct {
		ID         idworker.ID `json:"id"`
		Layout     string      `json:"layout"`
		Epoch      time.Time   `json:"epoch"`
		Time       time.Time   `json:"time"`
		Datacenter int64       `json:"datacenter"`
		Worker     int64       `json:"worker"`
		Sequence   int64       `json:"sequence"`
	}{c.ID, c.Layout, l.Epoch, p.Time, p.Datacenter, p.Worker, p.Sequence}
	return show(a.out, c.JSON, v, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "id\t%s\nlayout\t%s\nepoch\t%s\ntime\t%s\ndatacenter\t%d\nworker\t%d\nsequence\t%d\n",
			v.ID, v.Layout, v.Epoch.Format(time.RFC3339Nano), v.Time.Format(time.RFC3339Nano), v.Datacenter, v.Worker, v.Sequence)
	})
}

// An epoch is where the time of a layout begins.
type epoch struct{ time.Time }

// UnmarshalText reads an instant as RFC 3339 has it, or a number of
// milliseconds since 1970.
func (e *epoch) UnmarshalText(text []byte) error {
	written := text
	if ms, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		written = time.UnixMilli(ms).UTC().AppendFormat(nil, time.RFC3339Nano)
	}
	if (*wire.Time)(e).UnmarshalText(written) != nil {
		return fmt.Errorf("%q is no epoch; write an instant such as 2020-01-01T00:00:00Z, or milliseconds since 1970 such as 1577836800000, in the years 0 to 9999", text)
	}
	return nil
}
