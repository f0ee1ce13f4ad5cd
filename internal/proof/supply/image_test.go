package supply

import (
	"encoding/json"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/flakepass/flakepass/internal/server/config"
)

// An image is what the last stage of cmd/flakepass/Dockerfile makes.
type image struct {
	from, user, workdir string
	env                 map[string]string
	copies              [][]string // the words of each COPY
	ports, volumes      []string
	health              []string
	entry, cmd          []string
	stages              []string // the base of each stage
	text                string
}

// dockerfile reads it: one instruction a line once the continuations are joined.
func dockerfile(t *testing.T) image {
	t.Helper()
	img := image{text: read(t, filepath.Join(root(t), "cmd", "flakepass", "Dockerfile"))}
	for said := range strings.Lines(strings.ReplaceAll(img.text, "\\\n", " ")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
		rest = strings.TrimSpace(rest)
		switch instruction {
		case "FROM":
			img = image{from: strings.Fields(rest)[0], env: map[string]string{}, stages: append(img.stages, strings.Fields(rest)[0]), text: img.text}
		case "ENV":
			for _, pair := range strings.Fields(rest) {
				name, value, ok := strings.Cut(pair, "=")
				if !ok {
					t.Fatalf("ENV %s", pair)
				}
				img.env[name] = value
			}
		case "COPY":
			img.copies = append(img.copies, strings.Fields(rest))
		case "USER":
			img.user = rest
		case "WORKDIR":
			img.workdir = rest
		case "EXPOSE":
			img.ports = append(img.ports, strings.Fields(rest)...)
		case "VOLUME":
			img.volumes = append(img.volumes, strings.Fields(rest)...)
		case "HEALTHCHECK":
			_, check, _ := strings.Cut(rest, "CMD ")
			img.health = words(t, check)
		case "ENTRYPOINT":
			img.entry = words(t, rest)
		case "CMD":
			img.cmd = words(t, rest)
		case "RUN":
			if len(img.stages) > 1 {
				t.Errorf("the last stage runs %q, and has nothing that could", rest)
			}
		}
	}
	return img
}

// words is the form of a command that needs no shell.
func words(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Errorf("%s needs a shell: %v", text, err)
	}
	return list
}

func TestImageHasNothingButTheProgram(t *testing.T) {
	img := dockerfile(t)
	if img.from != "scratch" {
		t.Errorf("the image is built on %s, which brings more than the program", img.from)
	}
	if img.user != "65532:65532" {
		t.Errorf("it runs as %q; a number is understood where there is no list of users", img.user)
	}
	for _, c := range img.copies {
		if !slices.Contains(c, "--from=build") {
			t.Errorf("COPY %s takes files of the checkout", strings.Join(c, " "))
		}
		owned := slices.Contains(c, "--chown="+img.user)
		if data := c[len(c)-1] == img.env["FLAKEPASS_DATA_DIR"]; owned != data {
			t.Errorf("COPY %s: the data folder and nothing else belongs to whom it runs as", strings.Join(c, " "))
		}
	}
	if !slices.Equal(img.volumes, []string{img.env["FLAKEPASS_DATA_DIR"]}) || img.workdir != img.env["FLAKEPASS_DATA_DIR"] || img.env["SQLITE_TMPDIR"] != img.workdir {
		t.Errorf("volumes %v, working folder %s, settings %v", img.volumes, img.workdir, img.env)
	}
	if !slices.Equal(img.entry, []string{"flakepass"}) || !slices.Equal(img.cmd, []string{"serve"}) || !slices.Equal(img.health, []string{"flakepass", "ready"}) {
		t.Errorf("it runs %v %v and is checked by %v", img.entry, img.cmd, img.health)
	}
	cfg := load(t, img.env)
	_, api, _ := net.SplitHostPort(cfg.Listen)
	if !slices.Equal(img.ports, []string{api}) {
		t.Errorf("it exposes %v and serves the API on %s", img.ports, api)
	}
}

var goBuild = regexp.MustCompile(`CGO_ENABLED=0 go build (.*) -o \S+ (\./\S+)`)

// TestImageIsBuiltAsMakeBuildsIt: the image has the bytes of make build, with the
// Go that go.mod names.
func TestImageIsBuiltAsMakeBuildsIt(t *testing.T) {
	img := dockerfile(t)
	made := goBuild.FindStringSubmatch(mustRun(t, root(t), environment(), "make", "-n", "build", "VERSION=v"))
	image := goBuild.FindStringSubmatch(img.text)
	if made == nil || image == nil {
		t.Fatalf("no build found: %q %q", made, image)
	}
	plain := strings.NewReplacer(`"`, "'", "$VERSION", "v")
	if made[1] != plain.Replace(image[1]) || made[2] != image[2] {
		t.Errorf("make build and the image differ:\n%s\n%s", made[0], image[0])
	}
	_, version, _ := strings.Cut(read(t, filepath.Join(root(t), "go.mod")), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	if want := "golang:" + version + "-alpine"; img.stages[0] != want {
		t.Errorf("the image is built with %s, go.mod says %s", img.stages[0], want)
	}
}

// load is how the program reads that environment. A name that no setting has is
// a mistake to it, and so is a value that cannot be used.
func load(t *testing.T, env map[string]string) config.Config {
	t.Helper()
	environ := []string{}
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	cfg, err := config.Load(config.Options{Environ: environ, ReadFile: func(path string) ([]byte, error) {
		return []byte(map[string]string{
			"/run/secrets/database_url":      "mysql://flakepass:x@mysql:3306/flakepass",
			"/run/secrets/redis_url":         "redis://:x@redis:6379",
			"/run/secrets/second_factor_key": strings.Repeat("0f", 32),
		}[path]), nil
	}})
	if err != nil {
		t.Error(err)
	}
	return cfg
}

// A composition is what is read of docker-compose.yml.
type composition struct {
	Services map[string]struct {
		Build *struct {
			Context    string `yaml:"context"`
			Dockerfile string `yaml:"dockerfile"`
		} `yaml:"build"`
		User        string            `yaml:"user"`
		ReadOnly    bool              `yaml:"read_only"`
		CapDrop     []string          `yaml:"cap_drop"`
		SecurityOpt []string          `yaml:"security_opt"`
		Grace       string            `yaml:"stop_grace_period"`
		Environment map[string]string `yaml:"environment"`
		Secrets     []string          `yaml:"secrets"`
		Networks    any               `yaml:"networks"`
		Ports       []string          `yaml:"ports"`
		Volumes     []string          `yaml:"volumes"`
		Healthcheck struct {
			Test []string `yaml:"test"`
		} `yaml:"healthcheck"`
	} `yaml:"services"`
	Volumes  map[string]any `yaml:"volumes"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
		IPAM     struct {
			Config []struct {
				Subnet netip.Prefix `yaml:"subnet"`
				Range  netip.Prefix `yaml:"ip_range"` // from which Docker gives addresses
			} `yaml:"config"`
		} `yaml:"ipam"`
	} `yaml:"networks"`
	Secrets map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
}

// TestComposeFileFitsTheImage: what docker-compose.yml says of ports, volumes,
// users and settings is what the image and the program know.
func TestComposeFileFitsTheImage(t *testing.T) {
	img := dockerfile(t)
	var c composition
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root(t), "docker-compose.yml"))), &c); err != nil {
		t.Fatal(err)
	}
	ours := 0
	taken := make(map[string]string)
	for name, s := range c.Services {
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s may gain privileges", name)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s to other machines, without TLS", name, port)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, declared := c.Volumes[source]; !declared && !strings.HasPrefix(source, "./") {
				t.Errorf("%s has a volume %s, which is not declared", name, source)
			}
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File != "./secrets/"+secret {
				t.Errorf("%s has a secret %s, which is kept in %q", name, secret, c.Secrets[secret].File)
			}
		}
		if s.Build == nil {
			continue
		}
		ours++
		if s.Build.Context != "." || s.Build.Dockerfile != "cmd/flakepass/Dockerfile" {
			t.Errorf("%s is built from %+v", name, *s.Build)
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || s.User != "" || len(s.Ports) > 0 {
			t.Errorf("%s: read-only %t, without %v, user %q, ports %v; it is to be reached through the proxy only, and the image says whom it runs as", name, s.ReadOnly, s.CapDrop, s.User, s.Ports)
		}
		if len(s.Volumes) != 1 || !strings.HasSuffix(s.Volumes[0], ":"+img.env["FLAKEPASS_DATA_DIR"]) || taken[s.Volumes[0]] != "" {
			t.Errorf("%s has the volumes %v; each instance needs a data folder of its own", name, s.Volumes)
		}
		taken[s.Volumes[0]] = name
		if want := append([]string{"CMD"}, img.health...); !slices.Equal(s.Healthcheck.Test, want) {
			t.Errorf("%s is checked by %v, the image by %v", name, s.Healthcheck.Test, want)
		}
		env := make(map[string]string)
		for k, v := range img.env {
			env[k] = v
		}
		for k, v := range s.Environment {
			env[k] = v
			if secret, ok := strings.CutPrefix(v, "/run/secrets/"); ok && !slices.Contains(s.Secrets, secret) {
				t.Errorf("%s reads %s and is not given the secret", name, v)
			}
		}
		cfg := load(t, env)
		if len(cfg.TrustedProxies) != 1 || cfg.TrustedProxies[0].Bits() != 32 || !strings.Contains(read(t, filepath.Join(root(t), "docker-compose.yml")), "ipv4_address: "+cfg.TrustedProxies[0].Addr().String()) {
			t.Errorf("%s believes %v, which is not the proxy", name, cfg.TrustedProxies)
		}
		if len(cfg.SecondFactorKeys) == 0 {
			t.Errorf("%s has no key of second factors: what it gives out in a login of two steps the other cannot read", name)
		}
		// The instances start first: the address of the proxy is none that they may get.
		if ipam, at := c.Networks["edge"].IPAM.Config, cfg.TrustedProxies[0].Addr(); len(ipam) != 1 || !ipam[0].Subnet.Contains(at) || ipam[0].Range.Contains(at) ||
			!ipam[0].Range.IsValid() || !ipam[0].Subnet.Contains(ipam[0].Range.Addr()) {
			t.Errorf("%s may be given the address of the proxy: %+v", name, ipam)
		}
		_, api, _ := net.SplitHostPort(cfg.Listen)
		if !strings.Contains(read(t, filepath.Join(root(t), "docs", "deploy", "nginx.conf")), "server "+name+":"+api) {
			t.Errorf("nginx does not know %s:%s", name, api)
		}
	}
	if ours != 2 {
		t.Errorf("%d services are built here", ours)
	}
	if !c.Networks["data"].Internal {
		t.Error("the network of the database leads outside")
	}
}
