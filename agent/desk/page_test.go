package desk

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"caucus/agent/site"
	"caucus/study"
)

// TestDeskEnds: a stopping agent waits neither for a file that somebody reads on the page, nor for
// a decision that is asking the coordinator.
func TestDeskEnds(t *testing.T) {
	c := site.DefaultConfig()
	c.State, c.Clock = t.TempDir(), c.Clock.Complete()
	s, err := site.Open(c, "site")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	d, err := NewPage(New(s, nil), func() error {
		s.Close()
		return nil
	}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	d.grace = time.Millisecond
	d.mu.Lock() // a file is being read
	deciding := make(chan error, 1)
	decide := d.decide(func(ctx context.Context, _ *http.Request, _ string) error {
		<-ctx.Done() // the coordinator does not answer
		deciding <- ctx.Err()
		return ctx.Err()
	})
	post := httptest.NewRequest("POST", "/study/x/approve", strings.NewReader("name=ann"))
	post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	post.SetPathValue("hash", study.Hash{}.String())
	go decide(httptest.NewRecorder(), post)
	d.Close()
	if !strings.Contains(log.String(), "the agent stops without waiting for it") {
		t.Error("it is not said that a file is still being read")
	}
	d.mu.Unlock()
	if err := <-deciding; !errors.Is(err, context.Canceled) {
		t.Errorf("a decision that waits ended with %v", err)
	}
}
