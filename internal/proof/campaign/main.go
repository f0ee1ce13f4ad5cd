//go:build unix

// Command campaign attacks the promise of docs/guarantees.md from outside. It
// starts instances of the flakepass program on one database, lets people and
// operators do at random what they can do over HTTP and at the shell, breaks
// what lies between, writes down every request and answer, and has package judge
// hold that history to the promise.
//
//	withservers -only redis -- campaign [-for 20m] [-seed n] [-db sqlite,mysql,mariadb] [-redis both] [-bound 1s] [-program bin/flakepass]
//
//	campaign -db galera,galera-one,group,semisync -bound 2s -redis off -faults . [-program bin/flakepass]
//
// is for clusters of databases. It has each of their faults happen once, in order, with
// people who log out meanwhile, and prints a row for each. Without -faults they happen
// by chance beside everything else.
//
// It knows the product by its documents alone and imports of it only what other
// services import. It exits with 1 and prints the shortest part of the history
// that shows what was wrong if an answer broke the promise, and the seed. The
// seed decides what is done, not when the processes are scheduled: a fault may
// need several runs to come again.
//
// The instances share the clock of the machine; that of a node of a cluster is set. The
// clock of an instance is set where -clock says by how much SIGUSR1 sets that of the
// program forward, and SIGUSR2 back: see testenv.SettableClock.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	o := options{}
	databases := flag.String("db", "sqlite,mysql,mariadb", "the databases, separated by commas")
	redis := flag.String("redis", "both", "on, off or both: with Redis, without, or each")
	flag.DurationVar(&o.length, "for", 20*time.Minute, "how long all configurations take together")
	seed := flag.String("seed", "", "decides what is done; empty: one is chosen")
	flag.DurationVar(&o.bound, "bound", time.Second, "the revocation bound of the instances, from 1s")
	faults := flag.String("faults", "", "a regular expression: have these faults of clusters happen once each, in order, and nothing by chance")
	flag.DurationVar(&o.clock, "clock", 0, "by how much SIGUSR1 and SIGUSR2 set the clock of the program; 0: they do not")
	flag.StringVar(&o.program, "program", "bin/flakepass", "the flakepass program")
	flag.BoolVar(&o.on, "on", false, "go on with a configuration after a fault was found in it")
	chosen := flag.String("moves", ".", "a regular expression: which moves the operator makes; see operator.go")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var bad error
	if o.seed, bad = seedOf(*seed); bad == nil {
		o.configurations, bad = configurations(strings.Split(*databases, ","), *redis)
	}
	if bad == nil {
		o.moves, bad = choose(*chosen)
	}
	if bad == nil && *faults != "" {
		o.faults, bad = regexp.Compile(*faults)
	}
	if bad != nil {
		fmt.Fprintln(os.Stderr, "campaign:", bad)
		os.Exit(2)
	}
	var broken bool
	var err error
	if o.faults != nil {
		_, broken, err = o.directed(ctx, os.Stdout)
	} else {
		broken, err = o.run(ctx, os.Stdout)
	}
	if broken {
		err = errors.Join(err, errors.New("the promise is broken"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		stop()
		os.Exit(1)
	}
}

// seedOf is the seed that text names; of an empty text, one by chance.
func seedOf(text string) (uint64, error) {
	if text == "" {
		return 1 + rand.Uint64N(1<<62), nil //nolint:gosec // it is no secret
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the seed is %q; want the number that an earlier run printed", text)
	}
	return seed, nil
}

// A configuration is what the instances stand on.
type configuration struct {
	database string // sqlite, mysql, mariadb or one of the topologies
	redis    bool
}

func (c configuration) String() string {
	if c.redis {
		return c.database + " and Redis"
	}
	return c.database
}

func configurations(databases []string, redis string) (all []configuration, err error) {
	for _, name := range databases {
		if _, ok := topologies[name]; !ok && name != "sqlite" && name != "mysql" && name != "mariadb" {
			return nil, fmt.Errorf("-db: no database is called %q; there are sqlite, mysql and mariadb, and the clusters %s", name,
				strings.Join(slices.Sorted(maps.Keys(topologies)), ", "))
		}
		if redis != "on" && redis != "off" && redis != "both" {
			return nil, fmt.Errorf("-redis is %q; want on, off or both", redis)
		}
		if redis != "on" {
			all = append(all, configuration{name, false})
		}
		if redis != "off" {
			all = append(all, configuration{name, true})
		}
	}
	return all, nil
}

// options say what a campaign does.
type options struct {
	configurations []configuration
	moves          []move
	length         time.Duration // of all configurations together
	bound          time.Duration
	seed           uint64
	program        string
	clock          time.Duration // see world
	on             bool
	faults         *regexp.Regexp                    // nil: what happens does so by chance
	only           func(database, fault string) bool // of the faults; nil: all
}

// run runs one configuration after the other and prints a table at the end. The
// error says what kept it from running; what the promise lacks is broken.
func (o options) run(ctx context.Context, w io.Writer) (broken bool, err error) {
	var rows []row
	defer func() { fmt.Fprint(w, table(rows, o)) }()
	for n, c := range o.configurations {
		if ctx.Err() != nil {
			return broken, ctx.Err()
		}
		r, err := o.one(ctx, c, o.length/time.Duration(len(o.configurations)), o.seed+uint64(n))
		if errors.Is(err, errAbsent) {
			fmt.Fprintf(w, "%v: skipped: %v\n", c, err)
			continue
		}
		if err != nil {
			return broken, fmt.Errorf("%v: %w", c, err)
		}
		rows = append(rows, r)
		shown := 2
		if o.on {
			shown = 20
		}
		r.explain(w, shown)
		broken = broken || len(r.Faults) > 0
	}
	return broken, nil
}
