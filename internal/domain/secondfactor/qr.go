package secondfactor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// A Picture is a QR code as the path of an SVG, one unit a module, in a square of
// Size units that includes the four light modules that every side needs (ISO/IEC
// 18004). A person who sees it can read the secret.
type Picture struct {
	hidden.Value
	Size int
	Path string
}

// Picture is the QR code of the URI.
func (u URI) Picture() (Picture, error) {
	const quiet = 4
	code, err := qr.Encode(u.Reveal(), qr.M, qr.Auto)
	if err != nil {
		return Picture{}, fmt.Errorf("secondfactor: qr: %w", ErrPicture) // the library's error may quote the text
	}
	size := code.Bounds().Dx()
	dark := func(x, y int) bool {
		if x >= size {
			return false
		}
		red, _, _, _ := code.At(x, y).RGBA() // black or white
		return red == 0
	}
	var b strings.Builder
	for y := range size {
		for x := 0; x < size; x++ {
			run := 0
			for dark(x+run, y) {
				run++
			}
			if run > 0 {
				_, _ = fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
				x += run
			}
		}
	}
	return Picture{Size: size + 2*quiet, Path: b.String()}, nil
}

// ErrPicture means that a URI does not fit into a QR code.
var ErrPicture = errors.New("the URI does not fit into a QR code")
