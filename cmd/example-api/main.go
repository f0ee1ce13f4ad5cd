// Command example-api is the smallest API that flakepass protects from outside:
// it has neither flakepass' database nor its Redis.
//
//	FLAKEPASS_URL=http://127.0.0.1:8080 FLAKEPASS_KEY=fpk_... go run ./cmd/example-api
//
// FLAKEPASS_KEY is a service key with the scope verify.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
)

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	log.Fatal(run(ctx))
}

func run(ctx context.Context) error {
	remote, err := flakepass.NewRemote(flakepass.RemoteOptions{ //nolint:contextcheck // Run has it
		URL: os.Getenv("FLAKEPASS_URL"), Log: slog.Default(),
		Key: func(context.Context) (flakepass.ServiceKey, error) {
			return flakepass.ParseServiceKey(os.Getenv("FLAKEPASS_KEY"))
		},
	})
	if err != nil {
		return err
	}
	defer remote.Close()
	go remote.Run(ctx)

	guard := &flakepass.Guard{Verifier: remote}
	r := gin.New()
	r.GET("/hello", func(c *gin.Context) { //nolint:contextcheck // a request brings its own
		if req, ok := guard.Admit(c.Writer, c.Request); ok {
			who, _ := flakepass.FromContext(req.Context())
			c.String(http.StatusOK, "hello "+who.Username)
		}
	})
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", os.Getenv("LISTEN")) // empty: any port
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return server.Serve(l)
}
