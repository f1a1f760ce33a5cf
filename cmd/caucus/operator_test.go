package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/protocol"
)

// TestProfilesRenew: a profile in the last third of its life renews itself in place. An expired
// profile says how to get another.
func TestProfilesRenew(t *testing.T) {
	n := newNetwork(t, nil)
	for _, test := range []struct {
		days    int // age of the profile
		renewed bool
		says    string
	}{{10, false, ""}, {300, true, ""}, {400, false, "caucus coordinator operator old --dir"}} {
		profile := filepath.Join(n.dir, "old.yaml")
		made, err := folder.NewOperator(n.ctx, filepath.Join(n.dir, "coordinator"), "old",
			time.Now().AddDate(0, 0, -test.days))
		n.check(err)
		n.check(made.Save(profile))
		var out, errs bytes.Buffer
		code := Main(n.ctx, []string{"party", "list", "--profile", profile}, &out, &errs)
		if (code != 0) != (test.says != "") || !strings.Contains(errs.String(), test.says) {
			t.Errorf("after %d days: exit %d, says %q", test.days, code, errs.String())
		}
		now, err := protocol.LoadIdentity(profile)
		n.check(err)
		_, until, err := now.Validity()
		n.check(err)
		if left := time.Until(until); (!reflect.DeepEqual(now, made)) != test.renewed ||
			test.renewed && left < 360*24*time.Hour {
			t.Errorf("after %d days: renewed %v, %v left", test.days, !reflect.DeepEqual(now, made),
				left)
		}
	}
}

// TestInterruptedOperator: an interrupt ends a verb that waits for a silent coordinator.
func TestInterruptedOperator(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "coordinator")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := folder.Init(folder.InitOptions{Dir: dir,
		Listen: silent.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer interrupt()
	begun := time.Now()
	var out, errs bytes.Buffer
	if code := Main(ctx, []string{"study", "list", "--profile",
		filepath.Join(dir, folder.OperatorFile)}, &out, &errs); code != 1 ||
		time.Since(begun) > 5*time.Second {
		t.Errorf("exit %d after %v: %s", code, time.Since(begun), &errs)
	}
}
