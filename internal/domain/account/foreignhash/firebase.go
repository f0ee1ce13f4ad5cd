package foreignhash

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Firebase is the parameters of a project's passwords. Its signer key is a secret.
type Firebase struct {
	signer, separator []byte
	rounds, memory    string
}

// String hides the signer key.
func (*Firebase) String() string { return "[redacted]" }

// ErrParameters means that a hash of Firebase came without the parameters of its project.
var ErrParameters = errors.New("a hash of Firebase needs the parameters of its project")

// ParseFirebase reads the parameters as the console of Firebase shows them: lines such as
// rounds: 8, with or without a comma behind them, and braces around all.
func ParseFirebase(text string) (*Firebase, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(strings.TrimSpace(line), ","), ":")
		if ok {
			values[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	fb := &Firebase{rounds: values["rounds"], memory: values["mem_cost"]}
	var err error
	if fb.signer, err = decode(base64.StdEncoding, values["base64_signer_key"], minKey, maxKey); err != nil {
		return nil, fmt.Errorf("foreignhash: base64_signer_key: %w", err)
	}
	if fb.separator, err = decode(base64.StdEncoding, values["base64_salt_separator"], 0, maxSalt); err != nil {
		return nil, fmt.Errorf("foreignhash: base64_salt_separator: %w", err)
	}
	logN, err := number(fb.memory, 1, maxLogN)
	if err != nil {
		return nil, fmt.Errorf("foreignhash: mem_cost: %w", err)
	}
	if _, _, _, err := scryptCosts("ln=" + strconv.Itoa(logN) + ",r=" + fb.rounds + ",p=1"); err != nil {
		return nil, fmt.Errorf("foreignhash: rounds and mem_cost: %w", err)
	}
	return fb, nil
}

// ofFirebase reads salt$hash, both in base64 as an export of Firebase has them.
func ofFirebase(rest string, fb *Firebase) (Imported, error) {
	if fb == nil {
		return Imported{}, ErrParameters
	}
	ordinary := strings.NewReplacer("-", "+", "_", "/")
	salt, hash, ok := strings.Cut(ordinary.Replace(rest), "$")
	if !ok {
		return Imported{}, ErrForm
	}
	random, err := decode(base64.StdEncoding, salt, 1, maxSalt)
	if err != nil {
		return Imported{}, err
	}
	sum, err := decode(base64.StdEncoding, hash, len(fb.signer), len(fb.signer))
	if err != nil {
		return Imported{}, err
	}
	for i := range sum {
		sum[i] ^= fb.signer[i]
	}
	logN, err := strconv.Atoi(fb.memory)
	if err != nil {
		return Imported{}, ErrParameters
	}
	return keep(scryptText(firebase, logN, fb.rounds, "1", append(random, fb.separator...), sum), nil)
}
