package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/internal/proof/measure"
)

// A row is one line of what is printed.
type row struct {
	name, value string
	// near is how far a number of the page may be from what is true: what changes
	// with every edit would make the page stale at every commit.
	near int
}

// report measures the repository in root. It asks for the ways of the two requests
// last, for they take longest.
func report(root string, ways func() (me, login measure.Way, err error)) ([]row, error) {
	files, err := measure.Files(root)
	if err != nil {
		return nil, err
	}
	rows := sizes(files)
	for _, more := range []func() ([]row, error){
		func() ([]row, error) { return entries(root) },
		func() ([]row, error) { return functions(files) },
		func() ([]row, error) { return interfaces(root, files) },
		func() ([]row, error) { return importers(root) },
		func() ([]row, error) {
			me, login, err := ways()
			return append(way("GET /v1/me", me), way("POST /v1/login", login)...), err
		},
	} {
		found, err := more()
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

const (
	linesNear = 200
	filesNear = 10
)

// hundreds rounds: the page is not about the last line.
func hundreds(files []measure.File) int { return (measure.Lines(files) + 50) / 100 * 100 }

func sizes(files []measure.File) []row {
	product, proof := measure.Of(files, measure.Product), measure.Of(files, measure.Proof)
	bySize := slices.SortedFunc(slices.Values(product), func(a, b measure.File) int { return a.Lines - b.Lines })
	median, largest := bySize[len(bySize)/2], bySize[len(bySize)-1]
	return []row{
		{"product lines", fmt.Sprint(hundreds(product)), linesNear},
		{"proof lines", fmt.Sprint(hundreds(proof)), linesNear},
		{"test lines", fmt.Sprint(hundreds(measure.Of(files, measure.Test))), linesNear},
		{"all but tests", fmt.Sprint(hundreds(append(product, proof...))), linesNear},
		{"product files", fmt.Sprintf("%d, median %d lines, largest %d", len(product), median.Lines, largest.Lines), filesNear},
	}
}

func entries(root string) ([]row, error) {
	list, err := os.ReadDir(path.Join(root, "internal"))
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, e.Name())
	}
	return []row{{"internal/", fmt.Sprintf("%d entries: %s", len(names), strings.Join(names, " ")), 0}}, err
}

func functions(files []measure.File) ([]row, error) {
	all, err := measure.Functions(measure.Of(files, measure.Product))
	if err != nil {
		return nil, err
	}
	plain := slices.DeleteFunc(slices.Clone(all), func(f measure.Function) bool { return f.Table })
	over := 0
	for _, f := range plain {
		if f.Lines > 60 {
			over++
		}
	}
	if len(plain) == 0 {
		return nil, errors.New("there are no functions")
	}
	return []row{
		{"functions", fmt.Sprintf("%d, median %d lines, p90 %d", len(all), all[len(all)/2].Lines, all[len(all)/10].Lines), 2 * filesNear},
		{"longest", fmt.Sprintf("%d lines; %d over 60 (tables not counted)", plain[0].Lines, over), 0},
	}, nil
}

func interfaces(root string, files []measure.File) ([]row, error) {
	all, err := measure.Interfaces(root, files)
	if err != nil {
		return nil, err
	}
	var wide []string
	over := 0
	for n, i := range all {
		if n < 3 {
			wide = append(wide, fmt.Sprintf("%s %d", i.Name, i.Methods))
		}
		if i.Methods > 4 {
			over++
		}
	}
	return []row{{"widest interfaces", fmt.Sprintf("%s; %d over 4 methods", strings.Join(wide, ", "), over), 0}}, nil
}

// ways measures the ways of both requests.
func ways(ctx context.Context, root string) (me, login measure.Way, err error) {
	dir, err := os.MkdirTemp("", "flakepass-way-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return measure.Ways(ctx, root, dir)
}

// way says through which packages a request goes, and through how many files of each.
func way(name string, w measure.Way) []row {
	counts := make([]string, 0, len(w.Packages()))
	for _, folder := range w.Packages() {
		n := len(slices.DeleteFunc(slices.Clone(w), func(file string) bool { return path.Dir(file) != folder }))
		counts = append(counts, fmt.Sprintf("%s %d", path.Base(folder), n))
	}
	const each = 8 // so that lines stay short
	rows := []row{{name, fmt.Sprintf("%d files in %d packages", len(w), len(counts)), 0}}
	for part := range slices.Chunk(counts, each) {
		rows = append(rows, row{"", strings.Join(part, ", "), 0})
	}
	return rows
}

func importers(root string) ([]row, error) {
	var rows []row
	for _, folder := range []string{"api", "idworker"} {
		dir, err := os.MkdirTemp("", "flakepass-importer-")
		if err != nil {
			return nil, err
		}
		n, err := measure.TakesOn(root, folder, dir)
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return nil, err
		}
		rows = append(rows, row{"importers of " + folder, fmt.Sprintf("%d modules of others", n), 0})
	}
	return rows, nil
}
