package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"gorm.io/gorm"
	gormlogger "gorm.io/gorm/logger"
)

// A logger passes on what GORM has to say, without statements and without
// values: GORM's own logger writes both to standard output.
type logger struct{ log *slog.Logger }

const slow = 500 * time.Millisecond

func (l logger) LogMode(gormlogger.LogLevel) gormlogger.Interface { return l }
func (l logger) Info(context.Context, string, ...any)             {}
func (l logger) Warn(context.Context, string, ...any)             {}
func (l logger) Error(context.Context, string, ...any)            {}

// ParamsFilter keeps values out of whatever GORM would write of a statement.
func (l logger) ParamsFilter(_ context.Context, statement string, _ ...any) (string, []any) {
	return statement, nil
}

var _ gorm.ParamsFilter = logger{}

func (l logger) Trace(ctx context.Context, begin time.Time, _ func() (string, int64), err error) {
	if l.log == nil || errors.Is(err, gorm.ErrRecordNotFound) {
		return
	}
	if took := time.Since(begin); took > slow && err == nil {
		l.log.WarnContext(ctx, "slow statement", "took", took)
	}
}
