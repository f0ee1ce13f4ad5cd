// Command stats prints how large the code is and how it is shaped. With -update it
// writes that into ARCHITECTURE.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/flakepass/flakepass/internal/proof/measure"
)

func main() {
	update := flag.Bool("update", false, "write it into "+page)
	flag.Parse()
	if err := command(context.Background(), *update); err != nil {
		fmt.Fprintln(os.Stderr, "stats:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, update bool) error {
	rows, err := report(".", func() (me, login measure.Way, err error) { return ways(ctx, ".") })
	if err != nil {
		return err
	}
	text := format(rows)
	fmt.Print(text)
	if !update {
		return nil
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, _, after, err := block(string(old))
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+text+after), 0o644) //nolint:gosec // a public document
}
