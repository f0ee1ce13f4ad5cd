package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// bursts mint what fits into the lead after a rest, with the default layout.
func bursts(long time.Duration) ([]target, error) {
	var found []target
	for _, b := range []struct {
		goroutines int
		most       float64
	}{{1, 45}, {16, 60}} {
		s, err := burst(b.goroutines, max(1, int(min(100, long/(20*time.Millisecond)))))
		if err != nil {
			return nil, err
		}
		found = append(found, target{
			what: "burst of 32,000 after a rest, " + count(b.goroutines), want: fmt.Sprintf("≤ %.0f ns per ID", b.most),
			got: show(s, 1) + " ns", met: s.mid <= b.most,
		})
	}
	return found, nil
}

func burst(goroutines, times int) (spread, error) {
	const size = 32_000 // the lead is 40,960, less what the first millisecond has behind it
	s, err := ours()[0].open()
	if err != nil {
		return spread{}, err
	}
	var took []float64
	for range times {
		time.Sleep(20 * time.Millisecond) // until the clock has passed what was minted
		d, err := mintTogether(s, goroutines, size/goroutines)
		if err != nil {
			return spread{}, errors.Join(err, s.close())
		}
		took = append(took, float64(d)/size)
	}
	slices.Sort(took)
	return spread{quantile(took, .5), took[0], took[len(took)-1]}, s.close()
}

// mintTogether is how long it takes until each goroutine has called so often.
// One is this one: waking another would be measured as well.
func mintTogether(s source, goroutines, calls int) (time.Duration, error) {
	if goroutines == 1 {
		mint := s.caller()
		at := time.Now()
		for range calls {
			if err := mint(nil); err != nil {
				return 0, err
			}
		}
		return time.Since(at), nil
	}
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	errs := make([]error, goroutines)
	for i := range goroutines {
		ready.Add(1)
		done.Go(func() {
			mint := s.caller()
			ready.Done()
			<-begin
			for range calls {
				if errs[i] = mint(nil); errs[i] != nil {
					return
				}
			}
		})
	}
	ready.Wait()
	at := time.Now()
	close(begin)
	done.Wait()
	return time.Since(at), errors.Join(errs...)
}
