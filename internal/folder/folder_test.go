package folder

import (
	"errors"
	"os"
	"testing"
)

// TestLock: a folder has one holder at a time.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrLocked) ||
		err.Error() != "another process holds it" {
		t.Errorf("a second lock: have %v, want ErrHeld", err)
	}
	release()
	again, err := Lock(dir)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again()
	if _, err := Lock(dir + "/none"); err == nil || errors.Is(err, ErrLocked) ||
		!errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// TestShare: any number may share a file, but not together with a holder.
func TestShare(t *testing.T) {
	path := t.TempDir() + "/voice"
	one, err := LockFileShared(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := LockFileShared(path)
	if err != nil {
		t.Fatal(err)
	}
	one()
	if _, err := LockFile(path); !errors.Is(err, ErrLocked) {
		t.Errorf("held while it is shared: %v", err)
	}
	two()
	release, err := LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockFileShared(path); !errors.Is(err, ErrLocked) {
		t.Errorf("shared while it is held: %v", err)
	}
	release()
}

// TestSync: an existing folder is made durable; a missing one is an error, except on Windows.
func TestSync(t *testing.T) {
	if err := Sync(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// TestFree: a volume has room, less than an impossible amount; a missing folder is an error.
func TestFree(t *testing.T) {
	if free, err := Free(t.TempDir()); err != nil || free == 0 || free > 1<<60 {
		t.Errorf("%d bytes, %v", free, err)
	}
	if _, err := Free(t.TempDir() + "/none"); err == nil {
		t.Error("there is room in a folder that is not there")
	}
}
