// Command example-sms is a back end that logs people in by a code that it sends to their phone.
// It proves who they are, and flakepass keeps their logins.
//
//	FLAKEPASS_URL=http://127.0.0.1:8080 FLAKEPASS_KEY=fpk_... go run ./cmd/example-sms
//
// FLAKEPASS_KEY is a service key with the scope issue. In place of an SMS it prints the code.
//
//	POST /code  {"phone":"+8613800138000"}                                        204
//	POST /login {"phone":"+8613800138000","code":"123456","request_id":"<UUID>"}  200 {"token":"fp_..."}
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	log.Fatal(run(ctx))
}

// e164 is a phone number as E.164 has it. It is the external ID of its user: no two spellings of
// one number are two users.
var e164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

func run(ctx context.Context) error {
	flake, err := client.New(client.Options{
		URL: os.Getenv("FLAKEPASS_URL"), Retries: 2,
		Key: func(context.Context) (flakepass.ServiceKey, error) {
			return flakepass.ParseServiceKey(os.Getenv("FLAKEPASS_KEY"))
		},
	})
	if err != nil {
		return err
	}
	codes := newCodes(time.Now)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /code", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Phone string }
		if !read(w, r, &in) || !e164.MatchString(in.Phone) {
			http.Error(w, "send a phone number", http.StatusBadRequest)
			return
		}
		code, ok := codes.make(in.Phone)
		if !ok {
			http.Error(w, "a code was sent just now", http.StatusTooManyRequests)
			return
		}
		fmt.Printf("SMS to %s: your code is %s\n", in.Phone, code) // here a provider sends it
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		// request_id is of the app: the same again if it has got no answer, so that a lost answer
		// leaves no second login. second_factor is for users who have one.
		var in struct {
			Phone, Code string
			RequestID   string `json:"request_id"`
			Factor      string `json:"second_factor"`
		}
		if !read(w, r, &in) {
			http.Error(w, "send phone and code", http.StatusBadRequest)
			return
		}
		proven, ok := codes.check(in.Phone, in.Code)
		if !ok {
			http.Error(w, "wrong code", http.StatusUnauthorized)
			return
		}
		login, err := flake.Issue(r.Context(), client.Issue{
			ExternalID: in.Phone, Create: true, Method: "sms", AuthTime: proven, Code: in.Factor,
			Device: wire.Device{Class: "phone"}, RequestID: requestOf(in.Phone, in.RequestID),
		})
		answer(w, login, err)
	})
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", os.Getenv("LISTEN")) // empty: any port
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return server.Serve(l)
}

// requestOf is what a request is called: two people may have one id, and no id is no request.
func requestOf(phone, id string) string {
	if id == "" {
		return ""
	}
	return phone + ":" + id
}

// answer is that of a login: the token for the app, or what the app can do about an error.
func answer(w http.ResponseWriter, login client.Issued, err error) {
	p, _ := errors.AsType[*client.Problem](err)
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(map[string]string{"token": login.Token.Reveal()})
	case errors.Is(err, client.SecondFactorRequired), errors.Is(err, client.SecondFactorInvalid):
		http.Error(w, "send the code of your authenticator app as second_factor", http.StatusUnauthorized)
	case errors.Is(err, client.AccountDisabled) && p.Status == http.StatusForbidden, // 401: the account of this back end is
		errors.Is(err, client.RoleNotIssuable):
		http.Error(w, "this account cannot log in here", http.StatusForbidden)
	default: // the code stays good, and the app tries again with the same request_id
		log.Println("login:", err)
		http.Error(w, "try again", http.StatusServiceUnavailable)
	}
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	return json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(v) == nil
}
