//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// A rowRule is one about rows that two nodes could break at the same moment. Its check
// makes that moment once, and returns what was wrong. The error says why nothing can
// be said.
type rowRule struct {
	name  string
	times int
	check func(w *world, ctx context.Context, n int) (wrong []string, err error)
}

// rules are held on nodes that all take writes, with an instance at each.
var rules = []rowRule{
	{"rule-empty-schema", 1, (*world).startAtOnce},
	{"rule-first-admin", 1, (*world).firstAdmin},
	{"rule-same-name", 6, (*world).sameName},
	{"rule-two-admins", 4, (*world).twoAdmins},
}

// deployments is how often a deployment begins on an empty schema.
const deployments = 2

// rulesOf tries the chosen rules, and prints a row for each. It returns their names, and
// those of the broken ones.
func (o options) rulesOf(ctx context.Context, c configuration, out io.Writer) (tried, red []string, err error) {
	chosen := slices.DeleteFunc(slices.Clone(rules), func(r rowRule) bool { return !o.chosen(c.database, r.name) })
	if c.database != "galera" || len(chosen) == 0 {
		return nil, nil, nil
	}
	d, err := openDatabase(ctx, c.database, "")
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	wrong, times := map[string][]string{}, map[string]int{}
	for n := range deployments {
		if err := o.deployment(ctx, d, n, chosen, wrong, times); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range chosen {
		tried = append(tried, r.name)
		word := "holds"
		if len(wrong[r.name]) > 0 {
			red, word = append(red, r.name), fmt.Sprintf("RED %d times: %s", len(wrong[r.name]), wrong[r.name][0])
		}
		fmt.Fprintf(out, "%-11v %-40s %d times, %s\n", c, r.name, times[r.name], word)
	}
	return tried, red, nil
}

// deployment starts instances on an empty schema, tries the rules, and ends them.
func (o options) deployment(ctx context.Context, d *database, round int, chosen []rowRule, wrong map[string][]string, times map[string]int) error {
	if err := d.site.nodes[0].Exec(ctx, "DROP DATABASE IF EXISTS "+schema, "CREATE DATABASE "+schema+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"); err != nil {
		return err
	}
	if err := d.site.whole(ctx); err != nil {
		return err
	}
	w, err := o.bare()
	defer func() { w.close() }()
	if err != nil {
		return err
	}
	w.database = d
	data := filepath.Join(w.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	for n := range d.site.at {
		if err := w.addInstance(ctx, n, w.program, data); err != nil {
			return err
		}
	}
	for _, r := range rules {
		is := func(c rowRule) bool { return c.name == r.name }
		if !slices.ContainsFunc(chosen, is) && r.name != rules[0].name {
			continue
		}
		for n := range r.times {
			found, err := r.check(w, ctx, round*r.times+n)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			times[r.name]++
			wrong[r.name] = append(wrong[r.name], found...)
		}
	}
	return nil
}

// startAtOnce starts all instances on the empty schema at once. One that ended is started
// again, as a supervisor does.
func (w *world) startAtOnce(ctx context.Context, _ int) (wrong []string, err error) {
	errs := make([]error, len(w.instances))
	var starting sync.WaitGroup
	for n, i := range w.instances {
		starting.Go(func() { errs[n] = w.start(ctx, i) })
	}
	starting.Wait()
	for n, i := range w.instances {
		if errs[n] == nil {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s did not start: %s", i.name, lastLine(i.process.LogTail())))
		if i.process.Running() {
			err = errors.Join(err, i.process.Kill())
		}
		err = errors.Join(err, w.start(ctx, i))
	}
	return wrong, err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// atOnce calls for the first two instances at once. Where n is odd the commits of both
// are held until both have come to them.
func (w *world) atOnce(ctx context.Context, n int, call func(which int, i *instance)) {
	hold := func(*faultproxy.Proxy) {}
	if n%2 == 1 {
		hold = func(p *faultproxy.Proxy) { p.HoldRequests(faultproxy.Matching("\x03COMMIT")) }
	}
	var calling sync.WaitGroup
	for which, i := range w.instances[:2] {
		hold(i.database)
		calling.Go(func() { call(which, i) })
	}
	if n%2 == 1 {
		pause(ctx, 1500*time.Millisecond) // a password takes a while; a commit is given up after three seconds
		for _, i := range w.instances[:2] {
			i.database.Heal()
		}
	}
	calling.Wait()
}

// count is the number of accounts of which that is true.
func (w *world) count(ctx context.Context, where string) (string, error) {
	return w.database.site.nodes[0].Text(ctx, "SELECT COUNT(*) FROM "+schema+".users WHERE "+where)
}

var setupLink = regexp.MustCompile(`/console/setup\?code=\S+`)

// firstAdmin sends the forms of two set-up links at once: one admin is made.
func (w *world) firstAdmin(ctx context.Context, n int) (wrong []string, err error) {
	var forms [2]url.Values
	for which, i := range w.instances[:2] {
		link, err := url.Parse(setupLink.FindString(i.process.Log()))
		if err != nil || link.Query().Get("code") == "" {
			return nil, fmt.Errorf("%s has printed no link", i.name)
		}
		forms[which] = url.Values{"code": {link.Query().Get("code")}, "username": {fmt.Sprint("first", which)}, "password": {password}}
	}
	var status [2]int
	w.atOnce(ctx, n, func(which int, i *instance) {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, i.base+"/console/setup", strings.NewReader(forms[which].Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if resp, err := w.http.Do(req); err == nil {
			status[which] = resp.StatusCode
			_ = resp.Body.Close()
		}
	})
	admins, err := w.count(ctx, "role = 'admin'")
	if err == nil && admins != "1" {
		wrong = append(wrong, fmt.Sprintf("%s first admins; answers %v", admins, status))
	}
	return append(wrong, internal(status[:])...), err
}

// internal are the answers that are never allowed.
func internal(status []int) (wrong []string) {
	if slices.Contains(status, http.StatusInternalServerError) {
		return []string{fmt.Sprintf("answers %v", status)}
	}
	return nil
}

// sameName registers one name at two instances at once: one is told that it is taken.
// Who was answered 503 asks once more.
func (w *world) sameName(ctx context.Context, n int) (wrong []string, err error) {
	body := credentials{fmt.Sprint("same", n), password, nil}
	var status [2]int
	register := func(which int, i *instance) {
		status[which] = w.ask(ctx, i, request{method: "POST", path: "/v1/register", body: body}).status
	}
	w.atOnce(ctx, n, register)
	first := status
	for which, i := range w.instances[:2] {
		if status[which] == http.StatusServiceUnavailable {
			register(which, i)
		}
	}
	slices.Sort(status[:])
	both409 := status == [2]int{409, 409} && slices.Contains(first[:], http.StatusServiceUnavailable) // the one that got 503 had made it
	if status != [2]int{201, 409} && !both409 {
		wrong = append(wrong, fmt.Sprintf("answers %v, then %v; want 201 and 409", first, status))
	}
	return append(wrong, internal(first[:])...), nil
}

// twoAdmins has two admins disable each other at once: one of them stays.
func (w *world) twoAdmins(ctx context.Context, n int) (wrong []string, err error) {
	var ids [2]string
	var admins [2]admin
	for which, i := range w.instances[:2] {
		admins[which].name = fmt.Sprintf("admin%d-%d", n, which)
		if _, _, err := w.shell(ctx, password, "user", "add", admins[which].name, "--role", "admin", "--password-stdin"); err != nil {
			return nil, err
		}
		if ids[which], err = w.database.site.nodes[0].Text(ctx, "SELECT id FROM "+schema+".users WHERE username = ?", admins[which].name); err != nil {
			return nil, err
		}
		for admins[which].in(ctx, w, i) != nil { // the node may not have the row yet
			if pause(ctx, 50*time.Millisecond); ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	var status [2]int
	w.atOnce(ctx, n, func(which int, i *instance) {
		status[which] = w.ask(ctx, i, request{method: "PATCH", path: "/v1/admin/users/" + ids[1-which], token: admins[which].token(),
			body: map[string]any{"disabled": true}}).status
	})
	enabled, err := w.count(ctx, "disabled_at IS NULL AND id IN ("+ids[0]+", "+ids[1]+")")
	if err == nil && enabled == "0" {
		wrong = append(wrong, fmt.Sprintf("both are disabled; answers %v", status))
	}
	return append(wrong, internal(status[:])...), err
}
