package study

import (
	"context"
	"testing"
)

// TestInTime: work that ends after its time, or panics, is not done, and is not filled up once the
// time is over.
func TestInTime(t *testing.T) {
	for name, test := range map[string]struct {
		work func(context.CancelFunc)
		done bool
	}{
		"in time": {func(context.CancelFunc) {}, true},
		"late":    {func(over context.CancelFunc) { over() }, false},
		"panics":  {func(context.CancelFunc) { panic("a learner") }, false},
	} {
		ctx, over := context.WithCancel(context.Background())
		ended := 0
		in := NewInputs(nil, []byte{1})
		in.TimeLimit = func() (context.Context, func(bool)) { return ctx, func(bool) { ended++ } }
		done := in.RunInTime(func(context.Context) { test.work(over) }, nil)
		if over(); done != test.done || ended != 1 {
			t.Errorf("%s: done %t, ended %d times", name, done, ended)
		}
	}
}
