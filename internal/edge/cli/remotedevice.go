package cli

import (
	"encoding/json"
	"os"
	"path/filepath"

	apiclient "github.com/flakepass/flakepass/api/client"
)

// A deviceFile has what shows at the next login that this machine was logged in to
// an account. It is beside the file with the token, and outlives a logout.
type deviceFile struct {
	URL        string `json:"url"`
	Username   string `json:"username"`
	Credential string `json:"device_credential"`
}

func devicePath() (string, error) {
	path, err := targetPath()
	return filepath.Join(filepath.Dir(path), "remote-device.json"), err
}

// readDevice is what was kept of that account at that server, or none: a login
// works without it.
func readDevice(url, name string) apiclient.DeviceCredential {
	var f deviceFile
	path, err := devicePath()
	if err != nil {
		return apiclient.DeviceCredential{}
	}
	b, err := os.ReadFile(path) //nolint:gosec // of this user's configuration
	if err != nil || json.Unmarshal(b, &f) != nil || f.URL != url || !sameName(f.Username, name) {
		return apiclient.DeviceCredential{}
	}
	return apiclient.NewDeviceCredential(f.Credential)
}

// writeDevice keeps what a login has brought, if the server gives such a thing.
func writeDevice(url, name string, c apiclient.DeviceCredential) error {
	path, err := devicePath()
	if err != nil || c.Reveal() == "" {
		return err
	}
	return writePrivate(path, deviceFile{url, name, c.Reveal()})
}
