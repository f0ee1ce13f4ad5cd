// Command libraries serves a check of a session by libraries that keep sessions in Redis,
// for the benchmarks in the folder above. It is a module of its own, so that these
// libraries are no dependencies of ours.
//
//	libraries scs|gin-sessions ADDRESS REDIS FILE
//
// It makes sessions, writes their credentials into the file, one on each line, and
// answers every GET at the address: 200 if the credential behind "Bearer " is that of a
// session, and 401 if not.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/alexedwards/scs/goredisstore"
	"github.com/alexedwards/scs/v2"
	"github.com/gin-contrib/sessions"
	ginredis "github.com/gin-contrib/sessions/redis"
	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"
)

const (
	cookie = "session"
	key    = "user"
	people = 500
)

// A peer returns a handler that checks the session of a request's cookie, and the
// values of that cookie for new sessions.
type peer func(redis string) (http.Handler, []string, error)

func main() {
	peers := map[string]peer{"scs": withSCS, "gin-sessions": withGinSessions}
	if len(os.Args) != 5 || peers[os.Args[1]] == nil {
		fail(fmt.Errorf("usage: libraries scs|gin-sessions ADDRESS REDIS FILE"))
	}
	h, credentials, err := peers[os.Args[1]](os.Args[3])
	if err != nil {
		fail(err)
	}
	if err := os.WriteFile(os.Args[4], []byte(strings.Join(credentials, "\n")+"\n"), 0o600); err != nil { //nolint:gosec // the file that the caller names
		fail(err)
	}
	fail(http.ListenAndServe(os.Args[2], fromHeader(h))) //nolint:gosec // the plainest server, as of the other benchmarks
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "libraries:", err)
	os.Exit(1)
}

// fromHeader puts the credential where these libraries look for it: the load of the
// benchmarks has it in a header.
func fromHeader(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credential, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		r.AddCookie(&http.Cookie{Name: cookie, Value: credential}) //nolint:gosec // a request's: it has no attributes
		h.ServeHTTP(w, r)
	})
}

func name(i int) string { return fmt.Sprintf("person.%06d", i) }

func withSCS(address string) (http.Handler, []string, error) {
	m := scs.New()
	m.Store = goredisstore.New(redis.NewClient(&redis.Options{Addr: address}))
	credentials := make([]string, people)
	for i := range credentials {
		ctx, err := m.Load(context.Background(), "")
		if err != nil {
			return nil, nil, err
		}
		m.Put(ctx, key, name(i))
		if credentials[i], _, err = m.Commit(ctx); err != nil {
			return nil, nil, err
		}
	}
	return m.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.GetString(r.Context(), key) == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})), credentials, nil
}

func withGinSessions(address string) (http.Handler, []string, error) {
	const connections = 64 // that it keeps, as many as the load has
	store, err := ginredis.NewStore(connections, "tcp", address, "", "", []byte(strings.Repeat("k", 32)))
	if err != nil {
		return nil, nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.Use(sessions.Sessions(cookie, store))
	e.POST("/:name", func(c *gin.Context) {
		s := sessions.Default(c)
		s.Set(key, c.Param("name"))
		if err := s.Save(); err != nil {
			_ = c.AbortWithError(http.StatusInternalServerError, err)
		}
	})
	e.NoRoute(func(c *gin.Context) {
		c.Status(http.StatusOK)
		if sessions.Default(c).Get(key) == nil {
			c.Status(http.StatusUnauthorized)
		}
	})
	credentials := make([]string, people)
	for i := range credentials {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/"+name(i), http.NoBody))
		set := w.Result().Cookies()
		if w.Code != http.StatusOK || len(set) != 1 {
			return nil, nil, fmt.Errorf("a new session: status %d, %d cookies", w.Code, len(set))
		}
		credentials[i] = set[0].Value
	}
	return e, credentials, nil
}
