package coordinator

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
)

// makeToken makes a join token and reads it as an agent would.
func makeToken(t *testing.T, c *admin.Client, o admin.TokenOptions) (protocol.Invitation,
	admin.Token) {
	t.Helper()
	text, k, err := c.MakeToken(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	v := must(protocol.ParseInvitation(text))
	if v.Role != protocol.RoleToken || v.Name != k.ID || v.Prefix != k.Prefix ||
		k.Status != admin.TokenOpen || k.Used != 0 || k.By != "operator" {
		t.Errorf("token %+v says %s %s, names %s", k, v.Role, v.Name, v.Prefix)
	}
	return v, k
}

// TestTokenRevoked: an operator revokes a stolen token, and with it the members that joined by it,
// with their calls and connections.
func TestTokenRevoked(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	options := protocol.DialOptions{Now: w.clock.Now}
	v, k := makeToken(t, w.operator, admin.TokenOptions{Quota: 10})
	_, other := makeToken(t, w.operator, admin.TokenOptions{Quota: 10})
	key := must(protocol.NewEnrolment())
	thief := w.dial(must(protocol.Join(ctx, v, key, "", options)))
	defer thief.Close()
	if _, err := thief.Studies(ctx); err != nil {
		t.Fatal(err)
	}
	w.enrol("invited")
	if gone := must(w.operator.RevokeToken(ctx, k.ID, false)); len(gone) != 0 {
		t.Errorf("revoked %v with the token", gone)
	}
	for _, e := range []protocol.Enrolment{key, must(protocol.NewEnrolment())} {
		if _, err := protocol.Join(ctx, v, e, "", options); !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("join by a revoked token: %v", err)
		}
	}
	if _, err := thief.Studies(ctx); err != nil {
		t.Errorf("who came by it was not to be revoked: %v", err)
	}
	if gone := must(w.operator.RevokeToken(ctx, k.ID, true)); len(gone) != 1 ||
		!strings.HasPrefix(gone[0], k.Prefix) {
		t.Errorf("revoked %v", gone)
	}
	if _, err := thief.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("who came by it calls: %v", err)
	}
	if _, err := w.parties["invited"].Studies(ctx); err != nil {
		t.Errorf("who was invited calls: %v", err)
	}
	if _, err := w.operator.RevokeToken(ctx, "nobodys", true); !errors.Is(err,
		protocol.ErrNotFound) {
		t.Errorf("revoke what is not there: %v", err)
	}
	statuses := map[string]string{}
	for _, k := range must(w.operator.Tokens(ctx)) {
		statuses[k.ID] = k.Status
	}
	if want := map[string]string{k.ID: admin.TokenRevoked,
		other.ID: admin.TokenOpen}; !reflect.DeepEqual(statuses, want) {
		t.Errorf("tokens are %v, want %v", statuses, want)
	}
}

// TestInvitedAnew: a name came by a token and was revoked. An operator invites a party under this
// name again. The party now belongs to no token: it stays when the token and its members are
// revoked, and may be invited again. The token's place stays taken.
func TestInvitedAnew(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	v, k := makeToken(t, w.operator, admin.TokenOptions{Quota: 1, Prefix: "dev-"})
	key := must(protocol.NewEnrolment())
	must(protocol.Join(ctx, v, key, "dev-1", protocol.DialOptions{Now: w.clock.Now}))
	must(0, w.operator.Revoke(ctx, "dev-1"))
	w.enrol("dev-1")
	for _, m := range must(w.operator.Members(ctx)) {
		if m.Token != "" {
			t.Errorf("member %+v", m)
		}
	}
	if _, _, err := inviteName(w, "dev-1"); err != nil {
		t.Errorf("invited once more: %v", err)
	}
	for _, key := range []protocol.Enrolment{key, must(protocol.NewEnrolment())} {
		if _, err := protocol.Join(ctx, v, key, "",
			protocol.DialOptions{Now: w.clock.Now}); !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("the place is free again, or the first holder is back: %v", err)
		}
	}
	if gone := must(w.operator.RevokeToken(ctx, k.ID, true)); len(gone) != 0 {
		t.Errorf("revoked %v, who was invited", gone)
	}
	if _, err := w.parties["dev-1"].Studies(ctx); err != nil {
		t.Errorf("who was invited calls: %v", err)
	}
}

// TestLongLists: a list for operators may be longer than other messages may be.
func TestLongLists(t *testing.T) {
	w := newWorld(t, nil)
	long := strings.Repeat("x", 256<<10)
	k := records.Token{Quota: 1, Created: w.clock.Now(), Expires: w.clock.Now().Add(time.Hour),
		CreatedBy: "operator", Tags: admin.Tags{"site": long}}
	must(0, w.server.store.Update(context.Background(), func(tx records.Tx) error {
		for i := range 20 {
			k.ID, k.Serial = fmt.Sprint("token", i), fmt.Sprint(i)
			if err := tx.AddToken(k); err != nil {
				return err
			}
		}
		return nil
	}))
	if all := must(w.operator.Tokens(context.Background())); len(all) != 20 ||
		all[0].Tags["site"] != long {
		t.Errorf("%d tokens", len(all))
	}
}

// TestTokenIsNotKept: nothing in the coordinator's folder or log is the token's key, or enough to
// compute it.
func TestTokenIsNotKept(t *testing.T) {
	w := newWorld(t, nil)
	v, _ := makeToken(t, w.operator, admin.TokenOptions{Quota: 2})
	must(protocol.Join(context.Background(), v, must(protocol.NewEnrolment()), "",
		protocol.DialOptions{Now: w.clock.Now}))
	w.stop()
	private := must(x509.ParsePKCS8PrivateKey(v.Key)).(*ecdsa.PrivateKey)
	secret := must(private.Bytes())
	for _, path := range must(filepath.Glob(filepath.Join(w.config.Dir, "*"))) {
		if b := must(os.ReadFile(path)); bytes.Contains(b, secret) || bytes.Contains(b, v.Key) ||
			strings.Contains(string(b), v.String()) {
			t.Errorf("%s holds the token's key", path)
		}
	}
	if strings.Contains(w.log.String(), v.String()[40:80]) {
		t.Error("the log holds the token")
	}
}

// TestTokenQuota: of many parties that join at once, only as many join as the quota says, each with
// a name of its own. The others are told that all places are taken.
func TestTokenQuota(t *testing.T) {
	const quota, come = 7, 24
	w := newWorld(t, nil)
	v, k := makeToken(t, w.operator, admin.TokenOptions{Quota: quota})
	var mu sync.Mutex
	names := map[string]int{}
	var all sync.WaitGroup
	for range come {
		all.Go(func() {
			e := must(protocol.NewEnrolment())
			for range 2 { // the second time, the same key asks again
				id, err := protocol.Join(context.Background(), v, e, "",
					protocol.DialOptions{Now: w.clock.Now})
				mu.Lock()
				switch {
				case err == nil:
					names[must(id.Caller()).Name]++
				case !errors.Is(err, protocol.ErrDenied) ||
					!strings.Contains(err.Error(), fmt.Sprintf("all %d places", quota)):
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(names) != quota {
		t.Errorf("%d joined, want %d: %v", len(names), quota, names)
	}
	for name, n := range names {
		if n != 2 {
			t.Errorf("%s joined %d times, want twice", name, n)
		}
	}
	if tokens := must(w.operator.Tokens(context.Background())); tokens[0].Used != quota ||
		tokens[0].Status != admin.TokenFull || tokens[0].ID != k.ID {
		t.Errorf("tokens %+v", tokens)
	}
}

// TestTokenKilled: the coordinator is killed before and after it stores a joining party. The party
// asks again with the same key, and has one place and one certificate.
func TestTokenKilled(t *testing.T) {
	for _, kill := range []string{"before enrolled#2", "after enrolled#2"} {
		w := newWorld(t, nil)
		v, k := makeToken(t, w.operator, admin.TokenOptions{Quota: 3})
		operator := must(protocol.LoadIdentity(filepath.Join(w.config.Dir, folder.OperatorFile)))
		w.stop()
		c := startChild(t, w.config.Dir, kill)
		names, restarts := map[string]bool{}, 0
		for i := range 4 {
			e := must(protocol.NewEnrolment())
			for try := 0; ; try++ {
				id, err := protocol.Join(context.Background(), v, e, "",
					protocol.DialOptions{Coordinator: c.address, Timeout: 5 * time.Second})
				if err == nil {
					names[must(id.Caller()).Name] = true
					break
				}
				if i == 3 && errors.Is(err, protocol.ErrDenied) {
					break
				}
				if !protocol.IsRetryable(err) || try > 100 {
					t.Fatalf("killed %s: %v", kill, err)
				}
				if c.dead() {
					c.end()
					c = startChild(t, w.config.Dir, "")
					restarts++
				}
			}
		}
		if len(names) != 3 || restarts != 1 {
			t.Errorf("killed %s: %d joined after %d restarts: %v", kill, len(names), restarts,
				names)
		}
		client := must(admin.Dial(operator, protocol.DialOptions{Coordinator: c.address}))
		members := 0
		for _, m := range must(client.Members(context.Background())) {
			if m.Token == k.ID {
				members++
			}
		}
		if tokens := must(client.Tokens(context.Background())); members != 3 ||
			tokens[0].Used != 3 {
			t.Errorf("killed %s: %d members, tokens %+v", kill, members, tokens)
		}
		client.Close()
		must(0, c.cmd.Process.Signal(syscall.SIGTERM))
		c.end()
	}
}
