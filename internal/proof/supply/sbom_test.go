package supply

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A bom is what is read of a CycloneDX 1.6 document (ECMA-424).
type bom struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Component  part `json:"component"`
		Properties []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"properties"`
	} `json:"metadata"`
	Components   []part `json:"components"`
	Dependencies []struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	} `json:"dependencies"`
}

type part struct {
	Ref     string `json:"bom-ref"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// TestBillOfMaterialsIsOfThisProgram: it names the very bytes of the program,
// and each module in it at its version, and nothing else.
func TestBillOfMaterialsIsOfThisProgram(t *testing.T) {
	linked := modules(t)
	path := filepath.Join(t.TempDir(), "flakepass")
	mustRun(t, root(t), environment(), "make", "sbom", "BIN="+path, "VERSION="+stamp)
	var b bom
	if err := json.Unmarshal([]byte(read(t, path+".cdx.json")), &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Spec != "1.6" || b.Version != 1 {
		t.Errorf("it says %s %s, version %d", b.Format, b.Spec, b.Version)
	}
	if c := b.Metadata.Component; c.Type != "application" || c.Name != "github.com/flakepass/flakepass" || c.Version != "v"+stamp {
		t.Errorf("it is about %+v", c)
	}
	var of string
	for _, p := range b.Metadata.Properties {
		if p.Name == "cdx:gomod:binary:hash:SHA-256" {
			of = p.Value
		}
	}
	if want := sum(t, program(t)); of != want {
		t.Errorf("it is of the bytes %s, the program is %s", of, want)
	}

	refs := map[string]bool{b.Metadata.Component.Ref: true}
	named := make(map[string]bool)
	for _, c := range b.Components {
		if refs[c.Ref] {
			t.Errorf("%s stands there twice", c.Ref)
		}
		refs[c.Ref], named[c.Name] = true, true
		want := linked[c.Name]
		if strings.HasPrefix(c.Name, b.Metadata.Component.Name+"/") {
			want = "(devel)" // a module of ours: the sources are those of the program's version
		}
		if c.Name != "std" && c.Version != want {
			t.Errorf("%s at %q, the program has %q", c.Name, c.Version, want)
		}
		if c.Type != "library" || !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@"+c.Version) {
			t.Errorf("%s is a %s with the package URL %s", c.Name, c.Type, c.PURL)
		}
	}
	for module := range linked {
		if !named[module] {
			t.Errorf("%s is missing", module)
		}
	}
	if !named["std"] {
		t.Error("Go's standard library is missing")
	}
	for _, d := range b.Dependencies {
		for _, ref := range append(d.On, d.Ref) {
			if !refs[ref] {
				t.Errorf("a dependency names %s, which is no part", ref)
			}
		}
	}
}
