package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// goroutines are how many call at once.
var goroutines = []int{1, 2, 4, 8, 16}

// results are the cells of all rounds, by generator and number of goroutines.
type results map[string]map[int][]cell

// measureAll measures each generator with each number of goroutines, one after
// the other, and all of it again in each round: a neighbour who is busy for a
// while disturbs a round of all of them, and not all rounds of one.
func measureAll(progress io.Writer, gens []generator, rounds int, t times) (results, error) {
	all := make(results)
	begin := time.Now()
	for round := range rounds {
		for _, g := range gens {
			if all[g.name] == nil {
				all[g.name] = make(map[int][]cell)
			}
			for _, n := range goroutines {
				c, err := measure(g, n, t)
				if err != nil {
					return all, err
				}
				all[g.name][n] = append(all[g.name][n], c)
			}
		}
		_, _ = fmt.Fprintf(progress, "round %d of %d done after %v\n", round+1, rounds, time.Since(begin).Round(time.Second))
	}
	return all, nil
}

// A spread is the median of the rounds, the smallest and the largest.
type spread struct{ mid, low, high float64 }

func spreadOf(cells []cell, of func(cell) float64) spread {
	var v []float64
	for _, c := range cells {
		v = append(v, of(c))
	}
	slices.Sort(v)
	return spread{quantile(v, .5), quantile(v, 0), quantile(v, 1)}
}

func rateOf(c cell) float64 { return c.rate }
func cpuOf(c cell) float64  { return c.cpu }
