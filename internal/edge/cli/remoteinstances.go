package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

type remoteInstances struct {
	JSON bool `help:"Print JSON."`
}

func (c remoteInstances) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		list, err := s.Instances(ctx)
		if err != nil {
			return err
		}
		return show(a.out, c.JSON, list, func(w io.Writer) {
			_, _ = fmt.Fprintln(w, "NAME\tWORKER\tVERSION\tUP FOR\tKNOWS ENDS UP TO\tMEMORY\tREDIS\tDATABASE\tSTATE")
			for i := range list {
				_, _ = fmt.Fprintln(w, instanceText(&list[i]))
			}
		})
	})
}

// instanceText is the line for a person. Where the tokens of the last minute were
// answered is in percent.
func instanceText(l *wire.Instance) string {
	sum := l.Answers.Memory + l.Answers.Redis + l.Answers.Database
	part := func(n uint64) string {
		if sum == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(sum))
	}
	horizon := "never"
	if l.Horizon != nil {
		horizon = fmt.Sprintf("%.1fs ago", time.Duration(*l.Horizon).Seconds())
	}
	up := l.SeenAt.Sub(l.StartedAt.Time).Round(time.Second)
	return fmt.Sprintf("%s\t%d\t%s\t%v\t%s\t%s\t%s\t%s\t%s", printable(l.Name), l.Worker, printable(l.Version), up, horizon,
		part(l.Answers.Memory), part(l.Answers.Redis), part(l.Answers.Database), printable(instanceState(l)))
}

// instanceState is what an operator should look at, or that all is well.
func instanceState(l *wire.Instance) string {
	var says []string
	if l.NotHeardOf {
		says = append(says, fmt.Sprintf("no report for %v", time.Duration(l.Silent).Round(time.Second)))
	}
	says = append(says, l.Troubles...)
	if l.Horizon == nil || *l.Horizon > l.Bound {
		says = append(says, "does not believe what it remembers")
	}
	if l.DatabaseFailed > 0 {
		says = append(says, fmt.Sprintf("the database did not take %d reports of the last minute", l.DatabaseFailed))
	}
	if l.Redis != "ok" && l.Redis != "none" {
		says = append(says, "redis "+l.Redis)
	}
	if d := time.Duration(l.ClockAhead); d > time.Second || d < -time.Second {
		says = append(says, fmt.Sprintf("its clock is %+.1fs off the database's", d.Seconds()))
	}
	if says == nil {
		return "well"
	}
	return strings.Join(says, "; ")
}
