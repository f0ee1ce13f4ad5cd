package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/client"
)

// readyCommand is a health check for where there is no shell and no other
// program, such as in an image. It needs no setting of its own: it
// reads those of the server.
type readyCommand struct {
	Timeout time.Duration `help:"How long to wait for the answer." default:"3s"`
}

// Run asks the port of the operators, which speaks plain HTTP even where the API
// speaks TLS. Exit code 0 means that the server can do all of its work.
func (c readyCommand) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	address, err := opsAddress(cfg.OpsListen)
	if err != nil {
		return err
	}
	// Never through a proxy: it is this machine that is asked.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: c.Timeout}
	server, err := client.New(client.Options{URL: "http://" + address, HTTP: direct})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, c.Timeout)
	defer cancel()
	err = server.Ready(ctx)
	if problem, ok := errors.AsType[*client.Problem](err); ok && problem.Code == client.NotReady {
		return fmt.Errorf("the server at %s is not ready: %s", address, strings.Join(problem.Reasons, "; "))
	}
	if err != nil {
		return fmt.Errorf("the server at %s did not say that it is ready: %w", address, err)
	}
	_, err = fmt.Fprintln(a.out, "ready")
	return err
}

// opsAddress is where this machine reaches what listens on address: an address
// that stands for all of them is none to connect to.
func opsAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if port == "0" {
		return "", misuse("FLAKEPASS_OPS_LISTEN has port 0, which is another at each start; give the server a port of its own")
	}
	switch ip, err := netip.ParseAddr(host); {
	case host == "":
		host = "localhost"
	case err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
