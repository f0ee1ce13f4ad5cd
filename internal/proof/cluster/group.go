//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Group is a MySQL Group Replication of three members.
type Group struct {
	nodes

	multi bool
}

// StartGroup starts one, with one primary, which is the first member, or with
// three. Its settings are those of an installed one, but for the time until a member
// that does not answer is out of the group, which is the shortest.
func StartGroup(ctx context.Context, multi bool) (_ *Group, err error) {
	g := &Group{multi: multi}
	if g.nodes, err = in(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	ports, err := freePorts(ctx, 3)
	if err != nil {
		return nil, err
	}
	for i := range 3 {
		n, err := newNode(ctx, "mysql", g.dir, fmt.Sprintf("n%d", i+1), "SET SESSION sql_log_bin = OFF;\n")
		if err := g.add(n, err); err != nil {
			return nil, err
		}
		n.process.Args = append(n.process.Args, replicationArgs(n, i+1)...)
		n.process.Args = append(n.process.Args, g.args(ports, i)...)
	}
	for i, n := range g.Nodes {
		if err := n.startAlone(ctx); err != nil {
			return nil, err
		}
		statements := []string{"CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'"}
		if i == 0 {
			statements = append(statements, "SET GLOBAL group_replication_bootstrap_group = ON")
		}
		if err := n.Exec(ctx, statements...); err != nil {
			return nil, err
		}
		if err := g.enter(ctx, n); err != nil {
			return nil, err
		}
		n.start = func(ctx context.Context) error { return errors.Join(n.startAlone(ctx), g.enter(ctx, n)) }
	}
	return g, g.Nodes[0].Exec(ctx, "SET GLOBAL group_replication_bootstrap_group = OFF", "CREATE DATABASE "+Schema+" CHARACTER SET utf8mb4")
}

// replicationArgs are what every MySQL that replicates is started with.
func replicationArgs(n *Node, id int) []string {
	_, port, _ := strings.Cut(n.Addr, ":")
	return []string{
		"--server-id=" + strconv.Itoa(id), "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-replica-updates=ON",
		"--report-host=127.0.0.1", "--report-port=" + port,
	}
}

func (g *Group) args(ports []string, i int) []string {
	set := func(name, value string) string { return "--loose-group-replication-" + name + "=" + value }
	onOff := map[bool]string{true: "ON", false: "OFF"}
	return []string{
		"--plugin-load-add=group_replication.so",
		set("group-name", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"), set("start-on-boot", "OFF"),
		set("local-address", "127.0.0.1:"+ports[i]), set("group-seeds", "127.0.0.1:"+strings.Join(ports, ",127.0.0.1:")),
		set("single-primary-mode", onOff[!g.multi]), set("enforce-update-everywhere-checks", onOff[g.multi]),
		set("recovery-get-public-key", "ON"),
		// Five more seconds are waited otherwise, on top of five, before a member that is
		// gone is out of the group.
		set("member-expel-timeout", "0"),
	}
}

// enter lets a server that runs join the group, and returns when it has everything.
func (g *Group) enter(ctx context.Context, n *Node) error {
	if err := n.Exec(ctx, "START GROUP_REPLICATION"); err != nil {
		return err
	}
	return g.awaitState(ctx, n, "ONLINE")
}

// State is what a member says of itself: ONLINE, RECOVERING, ERROR or OFFLINE.
func (g *Group) State(ctx context.Context, n *Node) (string, error) {
	return n.Text(ctx, "SELECT COALESCE(MAX(member_state), 'OFFLINE') FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid")
}

func (g *Group) awaitState(ctx context.Context, n *Node, want string) error {
	return until(ctx, func(ctx context.Context) error {
		state, err := g.State(ctx, n)
		if err == nil && state != want {
			err = errors.New(n.Name + " is " + state)
		}
		return err
	})
}

// Await waits until every member that runs sees that many that are online, and no
// other.
func (g *Group) Await(ctx context.Context, online int) error {
	for _, n := range g.Nodes {
		if !n.Running() {
			continue
		}
		err := until(ctx, func(ctx context.Context) error {
			got, err := n.Text(ctx, "SELECT CONCAT(SUM(member_state = 'ONLINE'), ' of ', COUNT(*)) FROM performance_schema.replication_group_members")
			if err == nil && got != fmt.Sprintf("%d of %d", online, online) {
				err = errors.New(n.Name + " sees online " + got)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Primary is the member that takes writes, as another says, or nil while there is
// none.
func (g *Group) Primary(ctx context.Context, as *Node) (*Node, error) {
	port, err := as.Text(ctx, "SELECT MAX(member_port) FROM performance_schema.replication_group_members WHERE member_role = 'PRIMARY' AND member_state = 'ONLINE'")
	if err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		if strings.HasSuffix(n.Addr, ":"+port) {
			return n, nil
		}
	}
	return nil, errors.New("cluster: no primary")
}

// Switch makes another member the primary, in good order.
func (g *Group) Switch(ctx context.Context, to *Node) error {
	id, err := to.Text(ctx, "SELECT @@server_uuid")
	if err != nil {
		return err
	}
	_, err = to.Text(ctx, "SELECT group_replication_set_as_primary('"+id+"')") // which takes no parameter
	return err
}
