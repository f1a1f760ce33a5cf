package site

import (
	"path/filepath"
	"testing"
)

// TestNoSyslog: an absent syslog gets no line and stops nothing.
func TestNoSyslog(t *testing.T) {
	c := DefaultConfig()
	c.State, c.Audit.Syslog = t.TempDir(), filepath.Join(t.TempDir(), "nobody")
	a, err := openAudit(c, "site")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.forward([]byte("x")); err == nil {
		t.Error("a syslog that is not there took a line")
	}
	if err := a.RecordSource(AuditDeclared, "ward"); err != nil {
		t.Error(err)
	}
}
