//go:build unix

// Command dup tries to make the ID workers mint an ID twice. For each lender it
// starts processes that mint flat out and write every ID down, kills them with
// SIGKILL and starts them again, steps their clocks by milliseconds to hours in
// both directions, stops them for longer than any lender's patience, gives one
// number to two of them, kills and restarts the lender's server; and then looks
// for an ID that was written down twice. "make dup" runs it.
//
// A last row is minted under a lender without a fence, which is how most
// generators work. It has to show duplicates, or this command shows nothing.
//
// An ID counts as minted when Next has returned it and the process has written it
// down, in memory that survives the process, before doing anything else. One that
// a kill catches in between was used nowhere.
//
// The disk holds at most 512 MiB of IDs for each process, less than 3 GiB in all,
// beside the runs of package ledger.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == mintCommand {
		os.Exit(mint(os.Args[2]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dup:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var (
		ids    = flag.Uint64("ids", 0, "end when so many `IDs` were minted under all lenders; 0 means when the time is over")
		limit  = flag.Duration("for", 45*time.Second, "the `time` for all lenders together")
		only   = flag.String("only", "", "the `lenders` to try, separated by commas; all otherwise")
		parent = flag.String("dir", os.TempDir(), "where this command makes its `folder`")
	)
	flag.Parse()
	rows, err := choose(kinds(), *only, *limit)
	if err != nil {
		return err
	}
	if err := roomy(*parent); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*parent, "flakepass-dup-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return try(ctx, rows, dir, *ids, *limit)
}

// try runs every row and prints what came of it.
func try(ctx context.Context, rows []kind, dir string, ids uint64, limit time.Duration) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, strings.Join(columns(), "\t")+"\t")
	fenced := uint64(0)
	for _, k := range rows {
		if k.fenced {
			fenced++
		}
	}
	var failed error
	left := ids
	for i, k := range rows {
		// What one row leaves of the time, or of the IDs, is for the others. Servers
		// that start, and the search for what is there twice, take none of it: on a slow
		// disk the last row would have had none.
		goal, share := uint64(firstTwice), limit/time.Duration(len(rows)-i)
		if k.fenced {
			goal = left / fenced
			if ids > 0 {
				goal = max(1, goal) // 0 would mean: as long as there is time
			}
			fenced--
		}
		r, err := k.try(ctx, dir, goal, share)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		limit -= min(limit, r.took)
		if k.fenced {
			left -= min(left, r.result.IDs)
		}
		fmt.Fprintln(table, strings.Join(r.cells(), "\t")+"\t")
		fmt.Fprintf(os.Stderr, "dup: %s: %d IDs, %d twice, %v\n", k.name, r.result.IDs, r.result.Twice, r.took.Round(time.Second))
		if err := r.verdict(); err != nil && failed == nil {
			failed = err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return failed
}

// patientRun is how long a run has to be for the slow rows.
const patientRun = 5 * time.Minute

// choose picks kinds by their names. Nothing chosen means all whose server can be
// had.
func choose(all []kind, only string, limit time.Duration) ([]kind, error) {
	var rows []kind
	if only == "" {
		for _, k := range all {
			if k.server != "" && os.Getenv("FLAKEPASS_TEST_WITHSERVERS") == "" {
				fmt.Fprintf(os.Stderr, "dup: %s is left out: \"make dup\" knows where its server is\n", k.name)
				continue
			}
			if k.slow && limit < patientRun {
				fmt.Fprintf(os.Stderr, "dup: %s is left out: it takes a run of %v\n", k.name, patientRun)
				continue
			}
			rows = append(rows, k)
		}
		return rows, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, k := range all {
			if k.name == name {
				rows, found = append(rows, k), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no lender %q", name)
		}
	}
	return rows, nil
}

// roomy refuses a disk that a journal could fill: to run out of it in the middle
// of a mapped page kills a process with another signal than ours.
func roomy(dir string) error {
	const need = 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return err
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free < need {
		return fmt.Errorf("%s has %d MiB left; this needs %d. -dir names another folder", dir, free>>20, need>>20)
	}
	return nil
}
