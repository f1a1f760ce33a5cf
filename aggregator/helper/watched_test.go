package helper

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"caucus/protocol"
)

// TestWatched: the metrics include those of the process and the disk; a helper that is not ready
// names each cause.
func TestWatched(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "helper")
	coordinator, err := protocol.NewSigner()
	must(err)
	_, err = Init(InitOptions{Dir: dir, Listen: "127.0.0.1:0",
		Coordinator: coordinator.Key().String()})
	must(err)
	c, err := LoadConfig(dir)
	must(err)
	s, err := New(c)
	must(err)
	defer s.Close()
	pages := s.pages()
	get := func(path string) (int, string) {
		to := httptest.NewRecorder()
		pages.ServeHTTP(to, httptest.NewRequestWithContext(context.Background(), "GET", path, nil))
		return to.Code, to.Body.String()
	}
	_, says := get("/metrics")
	for _, want := range []string{"caucus_helper_disk_free_bytes ", "caucus_helper_behind 0",
		"go_goroutines ", "process_resident_memory_bytes "} {
		if !strings.Contains(says, want) {
			t.Errorf("metrics do not say %q", want)
		}
	}
	s.config.MaxPoolBytes = 1
	if code, says := get("/readyz"); code != http.StatusOK {
		t.Errorf("it is not ready: %s", says)
	}
	s.config.MaxPoolBytes = math.MaxInt
	must(s.server.Close()) // its store cannot be read
	code, says := get("/readyz")
	if code != http.StatusServiceUnavailable ||
		!strings.Contains(says, "the disk is nearly full") || strings.Count(says, "\n") != 2 {
		t.Errorf("%d %s", code, says)
	}
}
