package bench

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// nginxRounds is the number of rounds of each of the two comparisons.
var nginxRounds = testenv.Brief(5, 1)

// BenchmarkNginx compares a file that nginx serves without a check with the same
// file behind auth_request: once to flakepass, as docs/proxies/nginx.conf has it,
// and once to a location that returns 204 at once. The second is what nginx's own
// subrequest costs, whichever backend answers. nginx runs as one process, so that its CPU
// time can be counted.
func BenchmarkNginx(b *testing.B) {
	program := testenv.Program(b, "nginx")
	data := b.TempDir()
	tokens, _ := seed(b, data)
	api := startFlakepass(b, buildFlakepass(b), data)
	front := startNginx(b, program, api.addr)
	with := newLoader(b, connections, http.StatusOK)
	for _, guarded := range []struct{ name, path string }{
		{"flakepass", "/files/file.txt"}, {"204", "/nothing/file.txt"},
	} {
		b.Run(guarded.name, func(b *testing.B) {
			c := compare(b, nginxRounds,
				func() sample { return with.run(b, front, guarded.path, tokens) },
				func() sample { return with.run(b, front, "/open-files/file.txt", tokens) })
			reportHTTP(b, c, with, "the file without auth_request")
		})
	}
}

func startNginx(b *testing.B, program, api string) *httpServer {
	b.Helper()
	text, err := os.ReadFile("../../../docs/proxies/nginx.conf")
	if err != nil {
		b.Fatal(err)
	}
	files := filepath.Join(b.TempDir(), "srv", "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "file.txt"), []byte(strings.Repeat("a file\n", 100)), 0o600); err != nil {
		b.Fatal(err)
	}
	if !strings.Contains(string(text), "\n        location /files/ {") {
		b.Fatal("docs/proxies/nginx.conf has no location for files")
	}
	more := fmt.Sprintf(`
        location /open-files/ { alias %s/; }
        location = /_nothing { internal; return 204; }
        location /nothing/ { auth_request /_nothing; alias %s/; }

        location /files/ {`, files, files)
	return start(b, program, "/open-files/file.txt", func(addr, dir string) []string {
		conf := strings.NewReplacer("127.0.0.1:8080", api, "127.0.0.1:8000", addr, "/tmp/nginx", filepath.Join(dir, "nginx"),
			"root /srv", "root "+filepath.Dir(files), "access_log /dev/stdout plain", "access_log off", "error_log /dev/stderr warn", "error_log stderr warn",
			"\nhttp {", "\nhttp {\n    keepalive_requests 1000000000; # the loader connects once", "\n        location /files/ {", more, "worker_processes auto;", "worker_processes 1; master_process off;").Replace(string(text))
		path := filepath.Join(dir, "nginx.conf")
		if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
			b.Fatal(err)
		}
		directives := "daemon off;"
		if os.Geteuid() == 0 {
			directives += " user root;"
		}
		return []string{"-p", dir, "-c", path, "-e", "stderr", "-g", directives}
	})
}
