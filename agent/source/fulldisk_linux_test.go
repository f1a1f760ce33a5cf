package source

import (
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// TestImportFullDisk: a full disk during an import is an error; the last import stays valid and
// nothing is left of the new one.
func TestImportFullDisk(t *testing.T) {
	w := newWard(t)
	w.put(visitsHeader + strings.Repeat("30,f,no\n", 1000))
	before := w.declared()
	w.put(visitsHeader + strings.Repeat("31,m,yes\n", 200_000))
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	old := inMemory
	defer func() { inMemory = old }()
	for _, memory := range []int{64 << 20, 100_000} {
		inMemory = memory
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE,
			&syscall.Rlimit{Cur: 1 << 20, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
		err := w.declare()
		if err2 := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err2 != nil {
			t.Fatal(err2)
		}
		if err == nil || !strings.Contains(err.Error(), "file too large") {
			t.Fatalf("on a full disk: %v", err)
		}
		d, err := w.declaration("ward")
		if err != nil || d.ImportDigest != before.ImportDigest {
			t.Errorf("%+v, %v", d, err)
		}
		if in, _, unread := w.Records(plan(d), d.Records, false); unread != nil ||
			in.Records.Len() != 1000 {
			t.Errorf("a study gets %d records, %v", in.Records.Len(), unread)
		}
	}
	if err := w.declare(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
