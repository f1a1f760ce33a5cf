package desk_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/agent/desk"
	"caucus/agent/site"
	"caucus/study"
)

// TestUnreadablePlan: a plan of an earlier version hides no other study, and is named.
func TestUnreadablePlan(t *testing.T) {
	ctx := context.Background()
	r := newSite(t, nil)
	a := ask(t, r)
	old := []byte(`{"name":"of-before","kind":"classify","was":"known once"}`)
	h := study.HashOf(old)
	dir := filepath.Join(r.Config.State, "studies", h.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, site.FilePlan), old, 0o600); err != nil {
		t.Fatal(err)
	}
	all, _, err := a.Studies(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d studies, %v, want 2", len(all), err)
	}
	for _, s := range all {
		if (s.Progress == desk.ProgressUnreadable) != (s.Plan == h) {
			t.Errorf("%s is %q", s.Study, s.Progress)
		}
		if s.Plan == h && (s.Study != "of-before" || !strings.Contains(s.ClosedReason, "was") ||
			!strings.Contains(s.ClosedReason, dir)) {
			t.Errorf("of the old plan it says: %q %q", s.Study, s.ClosedReason)
		}
	}
}
