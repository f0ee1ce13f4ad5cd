package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
)

type remoteInstances struct {
	JSON bool `help:"Print JSON."`
}

func (c remoteInstances) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		list, err := s.Instances(ctx)
		if err != nil {
			return err
		}
		lines := make([]instanceLine, len(list))
		for i := range list {
			lines[i] = lineOf(&list[i])
		}
		return show(a.out, c.JSON, lines, func(w io.Writer) {
			_, _ = fmt.Fprintln(w, "NAME\tWORKER\tVERSION\tUP FOR\tKNOWS ENDS UP TO\tMEMORY\tREDIS\tDATABASE\tSTATE")
			for i := range lines {
				_, _ = fmt.Fprintln(w, lines[i].text())
			}
		})
	})
}

// An instanceLine is an instance as JSON has it. The names are those of the API.
type instanceLine struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Version    string    `json:"version"`
	Worker     int       `json:"worker"`
	StartedAt  time.Time `json:"started_at"`
	SeenAt     time.Time `json:"seen_at"`
	SilentMS   int64     `json:"silent_ms"`
	NotHeardOf bool      `json:"not_heard_of"`
	HorizonMS  *int64    `json:"horizon_age_ms,omitempty"`
	BoundMS    int64     `json:"revocation_bound_ms"`
	Answers    struct {
		Memory   int64 `json:"memory"`
		Redis    int64 `json:"redis"`
		Database int64 `json:"database"`
	} `json:"answers"`
	Remembered     int64    `json:"remembered_logins"`
	DatabaseMS     float64  `json:"database_ms"`
	DatabaseFailed int      `json:"database_failed"`
	Redis          string   `json:"redis"`
	RedisMS        float64  `json:"redis_ms"`
	ClockMS        int64    `json:"clock_ahead_ms"`
	Troubles       []string `json:"troubles"`
}

func lineOf(i *apiclient.Instance) instanceLine {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	l := instanceLine{
		ID: i.ID, Name: i.Name, Version: i.Version, Worker: i.Worker, StartedAt: i.StartedAt, SeenAt: i.SeenAt,
		SilentMS: i.Silent.Milliseconds(), NotHeardOf: i.NotHeardOf, BoundMS: i.Bound.Milliseconds(), Remembered: i.Remembered,
		DatabaseMS: ms(i.DatabaseTook), DatabaseFailed: i.DatabaseFailed, Redis: i.RedisState, RedisMS: ms(i.RedisTook),
		ClockMS: i.ClockAhead.Milliseconds(), Troubles: append([]string{}, i.Troubles...),
	}
	l.Answers.Memory, l.Answers.Redis, l.Answers.Database = i.Memory, i.Redis, i.Database
	if i.Horizon >= 0 {
		age := i.Horizon.Milliseconds()
		l.HorizonMS = &age
	}
	return l
}

// text is the line for a person. Where the tokens of the last minute were
// answered is in percent.
func (l *instanceLine) text() string {
	sum := l.Answers.Memory + l.Answers.Redis + l.Answers.Database
	part := func(n int64) string {
		if sum == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(sum))
	}
	horizon := "never"
	if l.HorizonMS != nil {
		horizon = fmt.Sprintf("%.1fs ago", float64(*l.HorizonMS)/1000)
	}
	up := l.SeenAt.Sub(l.StartedAt).Round(time.Second)
	return fmt.Sprintf("%s\t%d\t%s\t%v\t%s\t%s\t%s\t%s\t%s", printable(l.Name), l.Worker, printable(l.Version), up, horizon,
		part(l.Answers.Memory), part(l.Answers.Redis), part(l.Answers.Database), printable(l.state()))
}

// state is what somebody should look at, or that all is well.
func (l *instanceLine) state() string {
	var says []string
	if l.NotHeardOf {
		says = append(says, fmt.Sprintf("not heard of for %v", (time.Duration(l.SilentMS)*time.Millisecond).Round(time.Second)))
	}
	says = append(says, l.Troubles...)
	if l.HorizonMS == nil || *l.HorizonMS > l.BoundMS {
		says = append(says, "does not believe what it remembers")
	}
	if l.DatabaseFailed > 0 {
		says = append(says, fmt.Sprintf("the database did not take %d reports of the last minute", l.DatabaseFailed))
	}
	if l.Redis != "ok" && l.Redis != "none" {
		says = append(says, "redis "+l.Redis)
	}
	if d := l.ClockMS; d > 1000 || d < -1000 {
		says = append(says, fmt.Sprintf("its clock is %+.1fs off the database's", float64(d)/1000))
	}
	if says == nil {
		return "well"
	}
	return strings.Join(says, "; ")
}
