package flakepass

import "context"

func staticCredential(context.Context) (Token, error) { return NewToken(1 << 40), nil }
