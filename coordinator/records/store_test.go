package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"caucus/auxdata"
	"caucus/internal/database"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// TestStores: every Store keeps the promises of Store and Tx.
func TestStores(t *testing.T) {
	suite(t, func(t *testing.T) Store {
		return must(Create(filepath.Join(t.TempDir(), "a store?#%41.db")))
	})
}

func suite(t *testing.T, open func(t *testing.T) Store) {
	for what, test := range map[string]func(*testing.T, Store){
		"transactions": storeTransactions, "members": storeMembers, "tokens": storeTokens, "pools": storePools, "studies": storeStudies,
		"digests": storeDigests,
	} {
		t.Run(what, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			test(t, s)
		})
	}
}

// TestStoreSettings: a summed ballot is overwritten in the file, and no row refers to a missing
// one.
func TestStoreSettings(t *testing.T) {
	s := must(Create(filepath.Join(t.TempDir(), "store")))
	defer s.Close()
	for _, pragma := range []string{"secure_delete", "foreign_keys"} {
		var on int
		must(0, s.DB.Write.QueryRow("PRAGMA "+pragma).Scan(&on))
		if on != 1 {
			t.Errorf("%s is %d, want 1", pragma, on)
		}
	}
}

func update(t *testing.T, s Store, fn func(Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s Store, fn func(Tx)) {
	t.Helper()
	if err := s.View(context.Background(), func(tx Tx) error { fn(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

func storeTransactions(t *testing.T, s Store) {
	failure := errors.New("stop")
	err := s.Update(context.Background(), func(tx Tx) error {
		must(0, tx.AddMember("a", protocol.RoleParty))
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("update gives %v", err)
	}
	view(t, s, func(tx Tx) {
		if _, err := tx.Member("a"); !errors.Is(err, ErrNoRow) {
			t.Errorf("a failed transaction left something: %v", err)
		}
	})
	if err := s.View(context.Background(), func(tx Tx) error {
		return tx.AddMember("a", protocol.RoleParty)
	}); err == nil {
		t.Error("a view wrote")
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Update(gone, func(Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// Readers neither wait for a writer nor see half of a write. Writers take turns.
	update(t, s, func(tx Tx) error {
		must(0, tx.AddMember("b", protocol.RoleParty))
		view(t, s, func(tx Tx) {
			if _, err := tx.Member("b"); !errors.Is(err, ErrNoRow) {
				t.Errorf("a view sees what is not committed: %v", err)
			}
		})
		return nil
	})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := s.Update(context.Background(), func(tx Tx) error {
				before := len(must(tx.Members(time.Now())))
				must(0, tx.AddMember(fmt.Sprint("c", i), protocol.RoleParty))
				if after := len(must(tx.Members(time.Now()))); after != before+1 {
					t.Errorf("%d members, then %d", before, after)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	must(0, s.Scrub(context.Background()))
}

func storeTokens(t *testing.T, s Store) {
	now := time.UnixMilli(1e12).UTC()
	made := Token{ID: "k", Serial: "5", Prefix: "dev-", Tags: admin.Tags{"site": "ward"},
		Quota: 2, Created: now, Expires: now.Add(time.Hour), CreatedBy: "op"}
	update(t, s, func(tx Tx) error {
		must(0, tx.AddToken(made))
		must(0, tx.AddToken(Token{ID: "l", Serial: "6", Prefix: "l-", Quota: 1,
			Created: now.Add(time.Second), Expires: now.Add(time.Hour), CreatedBy: "op"}))
		must(0, tx.AddMember("dev-1", protocol.RoleParty))
		must(0, tx.SetTags("dev-1", made.Tags))
		return tx.Join("k", [32]byte{1}, "dev-1", []byte("certificate"))
	})
	for what, fn := range map[string]func(Tx) error{
		"a key that joined": func(tx Tx) error {
			must(0, tx.AddMember("dev-2", protocol.RoleParty))
			return tx.Join("k", [32]byte{1}, "dev-2", nil)
		},
		"a name that joined":         func(tx Tx) error { return tx.Join("k", [32]byte{2}, "dev-1", []byte{}) },
		"a name that joined another": func(tx Tx) error { return tx.Join("l", [32]byte{2}, "dev-1", []byte{}) },
		"a name that is nobody's":    func(tx Tx) error { return tx.Join("k", [32]byte{2}, "dev-3", []byte{}) },
		"a second serial":            func(tx Tx) error { return tx.AddToken(Token{ID: "m", Serial: "5", Quota: 1}) },
		"nobody's tags":              func(tx Tx) error { return tx.SetTags("dev-3", nil) },
		"a token that is not there":  func(tx Tx) error { return tx.RevokeToken("m") },
	} {
		if err := s.Update(context.Background(), fn); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	made.Used = 1
	view(t, s, func(tx Tx) {
		if k := must(tx.Token("k")); !reflect.DeepEqual(k, made) {
			t.Errorf("token %+v, want %+v", k, made)
		}
		if all := must(tx.Tokens()); len(all) != 2 || all[0].ID != "l" ||
			!reflect.DeepEqual(all[1], made) {
			t.Errorf("tokens %+v", all)
		}
		name, certificate, err := tx.JoinedByToken("k", [32]byte{1})
		if name != "dev-1" || string(certificate) != "certificate" || err != nil {
			t.Errorf("joined %s %s: %v", name, certificate, err)
		}
		if _, _, err := tx.JoinedByToken("l", [32]byte{1}); !errors.Is(err, ErrNoRow) {
			t.Errorf("who has not joined: %v", err)
		}
		if id := must(tx.TokenOfMember("dev-1")); id != "k" {
			t.Errorf("came by %q", id)
		}
		if err := second(tx.TokenOfMember("nobody")); !errors.Is(err, ErrNoRow) {
			t.Errorf("nobody came: %v", err)
		}
		if m := must(tx.Members(now))[0]; m.Token != "k" || m.Tags.String() != "site=ward" {
			t.Errorf("member %+v", m)
		}
		if _, err := tx.Token("m"); !errors.Is(err, ErrNoRow) {
			t.Errorf("no token: %v", err)
		}
	})
	update(t, s, func(tx Tx) error { return tx.Replace("dev-1") })
	view(t, s, func(tx Tx) {
		if err := second(tx.TokenOfMember("dev-1")); !errors.Is(err, ErrNoRow) {
			t.Errorf("who was invited anew came: %v", err)
		}
		if m := must(tx.Members(now))[0]; m.Token != "" || must(tx.Token("k")).Used != 1 {
			t.Errorf("member %+v, invited anew", m)
		}
	})
	update(t, s, func(tx Tx) error { return tx.RevokeToken("k") })
	view(t, s, func(tx Tx) {
		if k := must(tx.Token("k")); !k.Revoked || must(tx.Revision()) == 0 {
			t.Errorf("token %+v is not revoked", k)
		}
	})
}

func storeMembers(t *testing.T, s Store) {
	now := time.UnixMilli(1e12).UTC()
	update(t, s, func(tx Tx) error {
		must(0, tx.AddMember("op", protocol.RoleOperator))
		must(0, tx.AddMember("p", protocol.RoleParty))
		must(0, tx.AddInvitation(Invitation{Serial: "1", Name: "p", Expires: now.Add(time.Hour)}))
		must(0, tx.AddCertificate(Certificate{Serial: "9", Name: "op",
			Expires: now.Add(time.Hour)}))
		return nil
	})
	if err := s.Update(context.Background(), func(tx Tx) error {
		return tx.AddMember("p", protocol.RoleOperator)
	}); err == nil {
		t.Error("a name was taken twice")
	}
	update(t, s, func(tx Tx) error {
		v := must(tx.Invitation("1"))
		if v.Name != "p" || v.Role != protocol.RoleParty || v.Certificate != nil ||
			!v.Expires.Equal(now.Add(time.Hour)) {
			t.Errorf("invitation %+v", v)
		}
		must(0, tx.Redeem("1", [32]byte{7}, []byte("certificate")))
		if err := tx.Redeem("1", [32]byte{8}, []byte("another")); !errors.Is(err, ErrNoRow) {
			t.Errorf("redeemed twice: %v", err)
		}
		must(0, tx.AddCertificate(Certificate{Serial: "2", Name: "p",
			Expires: now.Add(2 * time.Hour)}))
		return nil
	})
	view(t, s, func(tx Tx) {
		if v := must(tx.Invitation("1")); v.SigningKey != [32]byte{7} ||
			string(v.Certificate) != "certificate" {
			t.Errorf("invitation %+v", v)
		}
		if c := must(tx.Certificate("2")); c.Name != "p" || c.Role != protocol.RoleParty ||
			c.Revoked {
			t.Errorf("certificate %+v", c)
		}
		for _, err := range []error{
			second(tx.Certificate("3")), second(tx.Invitation("3")), second(tx.Member("q")),
		} {
			if !errors.Is(err, ErrNoRow) {
				t.Errorf("what is not there: %v", err)
			}
		}
	})
	update(t, s, func(tx Tx) error {
		if err := tx.Revoke("q"); !errors.Is(err, ErrNoRow) {
			t.Errorf("revoked nobody: %v", err)
		}
		return tx.Revoke("p")
	})
	view(t, s, func(tx Tx) {
		if c := must(tx.Certificate("2")); !c.Revoked {
			t.Errorf("certificate %+v", c)
		}
		if v := must(tx.Invitation("1")); !v.Revoked {
			t.Errorf("invitation %+v", v)
		}
		want := []admin.Member{
			{Name: "op", Role: protocol.RoleOperator, Status: admin.StatusEnrolled,
				Expires: now.Add(time.Hour)},
			{Name: "p", Role: protocol.RoleParty, Status: admin.StatusRevoked,
				Expires: now.Add(2 * time.Hour)},
		}
		if got := must(tx.Members(now)); !reflect.DeepEqual(got, want) {
			t.Errorf("members %+v, want %+v", got, want)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func storePools(t *testing.T, s Store) {
	data := make([]byte, 2*protocol.ChunkSize+77)
	for i := range data {
		data[i] = byte(i * 31 >> 4)
	}
	for _, d := range []struct {
		digest auxdata.Digest
		data   []byte
	}{{auxdata.Digest{1}, data}, {auxdata.Digest{2}, nil}} {
		update(t, s, func(tx Tx) error { return tx.AddPool(d.digest, d.data) })
		view(t, s, func(tx Tx) {
			if n := must(tx.PoolSize(d.digest)); n != uint64(len(d.data)) {
				t.Errorf("size %d of %d", n, len(d.data))
			}
			for _, offset := range []int{0, 1, protocol.ChunkSize - 1, protocol.ChunkSize,
				protocol.ChunkSize + 5, len(d.data) - 1, len(d.data)} {
				for _, n := range []int{1, 10, protocol.ChunkSize, len(data)} {
					if offset < 0 || offset > len(d.data) {
						continue
					}
					want := d.data[offset:min(offset+n, len(d.data))]
					if got := must(tx.Pool(d.digest, uint64(offset), n)); !bytes.Equal(got, want) {
						t.Errorf("%d bytes from %d: %d bytes, or others", n, offset, len(got))
					}
				}
			}
			if _, err := tx.PoolSize(auxdata.Digest{9}); !errors.Is(err, ErrNoRow) {
				t.Errorf("unknown pool: %v", err)
			}
		})
	}
}

// storeDigests: the upgrade blanks the digests and receipts of exact numbers for studies that are
// over, and no others.
func storeDigests(t *testing.T, s Store) {
	db := s.(*SQL).DB
	var want []protocol.Receipt
	for i, c := range []struct {
		noise   study.Noise
		state   study.State
		blanked bool
	}{
		{study.NoiseCoordinator, study.Released, true}, {study.NoiseCoordinator, study.Failed, true},
		{study.NoiseCoordinator, study.Open, false}, {study.NoiseCoordinator, study.Sealed, false},
		{study.NoiseSite, study.Released, false}, {study.NoiseAggregators, study.Failed, false},
	} {
		plan := must(study.Plan{Name: fmt.Sprint(i), Unit: privacy.Record, Purpose: `"noise":"coordinator"`, Noise: c.noise}.Canonical())
		h := study.HashOf(plan)
		r := protocol.Receipt{Plan: h, Party: "a", Body: study.BodyDigest{9},
			Document: []byte("document"), Signature: []byte("signature")}
		update(t, s, func(tx Tx) error {
			must(0, tx.AddStudy(Study{Hash: h, Name: fmt.Sprint(i), Plan: plan,
				Signature: []byte{1}, State: study.Open}))
			return tx.AddContribution(r, []byte("body"))
		})
		must(db.Write.Exec("UPDATE studies SET state = $1 WHERE hash = $2", c.state, h[:]))
		if c.blanked {
			r.Body, r.Document, r.Signature = study.BodyDigest{}, nil, nil
		}
		want = append(want, r)
	}
	text := string(must(migrations.ReadFile("migrations/0013_confirming_digests.sql")))
	if s.(*SQL).Keys != nil { // PostgreSQL
		text = strings.ReplaceAll(text, " x'", ` '\x`)
	}
	must(db.Write.Exec(text))
	view(t, s, func(tx Tx) {
		for i, r := range want {
			if got := must(tx.Receipt(r.Plan, "a")); fmt.Sprint(got) != fmt.Sprint(r) {
				t.Errorf("study %d: receipt %+v, want %+v", i, got, r)
			}
		}
	})
}

func storeStudies(t *testing.T, s Store) {
	h, g := study.Hash{1}, study.Hash{2}
	row := Study{Hash: h, Name: "s", Plan: []byte("plan"), Signature: []byte("signature"),
		Created: time.UnixMilli(5).UTC(), State: study.Draft}
	other := row
	other.Hash, other.Name, other.Created = g, "t", time.UnixMilli(6).UTC()
	receipt := func(p study.PartyID) protocol.Receipt {
		return protocol.Receipt{Plan: h, Party: p, Body: study.BodyDigest{byte(len(p))},
			Document: []byte("document " + p), Signature: []byte("signature")}
	}
	stated := study.Signed{Document: []byte("forecast"), Signature: []byte("signature")}
	update(t, s, func(tx Tx) error {
		must(0, tx.AddStudy(row))
		must(0, tx.AddStudy(other))
		must(0, tx.AddForecast(h, stated))
		for _, p := range []study.PartyID{"ccc", "a", "bb"} {
			must(0, tx.AddContribution(receipt(p), []byte("body "+p)))
		}
		return tx.SetState(h, study.Draft, study.Open, "")
	})
	if err := s.Update(context.Background(), func(tx Tx) error {
		return tx.AddContribution(receipt("a"), []byte("again"))
	}); err == nil {
		t.Error("a party contributed twice")
	}
	if err := s.Update(context.Background(), func(tx Tx) error {
		return tx.AddStudy(Study{Hash: study.Hash{3}, Name: "s"})
	}); err == nil {
		t.Error("two studies have a name")
	}
	view(t, s, func(tx Tx) {
		row.State = study.Open
		if got := must(tx.Study(h)); !reflect.DeepEqual(got, row) {
			t.Errorf("study %+v", got)
		}
		if all := must(tx.Studies()); len(all) != 2 || all[0].Name != "t" || all[1].Name != "s" {
			t.Errorf("studies %+v", all)
		}
		if got := must(tx.Receipt(h, "bb")); !reflect.DeepEqual(got, receipt("bb")) {
			t.Errorf("receipt %+v", got)
		}
		if got := must(tx.Received(h)); len(got) != 3 || got["bb"] != (study.BodyDigest{2}) {
			t.Errorf("received %v", got)
		}
		if got := must(tx.Forecast(h)); !reflect.DeepEqual(got, stated) {
			t.Errorf("forecast %+v", got)
		}
		for _, err := range []error{second(tx.Forecast(g)), second(tx.Study(study.Hash{9})),
			second(tx.Receipt(h, "d")), second(tx.Release(h))} {
			if !errors.Is(err, ErrNoRow) {
				t.Errorf("what is not there: %v", err)
			}
		}
		if sum, n, err := tx.Sum(h); sum != nil || n != 0 || err != nil {
			t.Errorf("no sum is %q, %d, %v", sum, n, err)
		}
	})
	update(t, s, func(tx Tx) error {
		for i, p := range []study.PartyID{"zz", "z", "z"} {
			if first, err := tx.Decline(h, p); err != nil || first != (i < 2) {
				t.Errorf("%s declines: %v, first %v", p, err, first)
			}
		}
		return nil
	})
	view(t, s, func(tx Tx) {
		if got := must(tx.Declined(h)); len(got) != 2 || got[0] != "z" {
			t.Errorf("declined %v", got)
		}
	})
	update(t, s, func(tx Tx) error {
		first := must(tx.UnsummedContributions(h, "", 2))
		if len(first) != 2 || first[0].Party != "a" || string(first[1].Body) != "body bb" ||
			first[1].Digest != (study.BodyDigest{2}) {
			t.Errorf("batch %+v", first)
		}
		must(0, tx.SetSum(h, []byte("sum"), 2, first))
		rest := must(tx.UnsummedContributions(h, "", 9))
		if len(rest) != 1 || rest[0].Party != "ccc" {
			t.Errorf("rest %+v", rest)
		}
		return tx.SetSum(h, []byte("sum of all"), 3, rest)
	})
	view(t, s, func(tx Tx) {
		if sum, n, err := tx.Sum(h); string(sum) != "sum of all" || n != 3 || err != nil {
			t.Errorf("sum is %q of %d, %v", sum, n, err)
		}
	})
	if err := s.Update(context.Background(), func(tx Tx) error {
		return tx.SetState(h, study.Sealed, study.Summed, "")
	}); !errors.Is(err, ErrNoRow) {
		t.Errorf("a study that is open was folded: %v", err)
	}
	release := Release{Document: []byte("d"), Signature: []byte("s"), LedgerEntry: 7}
	update(t, s, func(tx Tx) error {
		must(0, tx.AddRelease(h, release))
		must(0, tx.AddContribution(protocol.Receipt{Plan: g, Party: "a", Document: []byte("d"),
			Signature: []byte("s")}, []byte("x")))
		must(0, tx.SetState(h, study.Open, study.Released, ""))
		return tx.SetState(g, study.Draft, study.Failed, "why")
	})
	view(t, s, func(tx Tx) {
		if got := must(tx.Release(h)); !reflect.DeepEqual(got, release) ||
			must(tx.LedgerEntry()) != 7 {
			t.Errorf("release %+v", got)
		}
		if _, n, _ := tx.Sum(h); n != 0 || len(must(tx.UnsummedContributions(g, "", 9))) != 0 ||
			len(must(tx.Received(g))) != 1 {
			t.Error("a study that is over keeps a sum or a ballot, or lost a receipt")
		}
		if got := must(tx.Study(g)); got.State != study.Failed || got.Reason != "why" {
			t.Errorf("study %+v", got)
		}
	})
}

// TestStoreRefuses: a store refuses a file that is no store, or that a newer version wrote.
func TestStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	must(0, os.WriteFile(text, []byte(strings.Repeat("not a database ", 99)), 0o600))
	newer := filepath.Join(dir, "newer")
	s := must(Create(newer))
	must(s.DB.Write.Exec("PRAGMA user_version = 99"))
	s.Close()
	other := filepath.Join(dir, "other")
	s = must(Create(other))
	must(s.DB.Write.Exec("PRAGMA application_id = 5"))
	s.Close()
	for path, want := range map[string]string{text: "not a Caucus store", newer: "newer program",
		other: "not a Caucus store", filepath.Join(dir, "none", "x"): "no such file"} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
}

// TestAuthoritiesEnded: a store opens although certificates of other authorities admitted parties.
// Such a certificate's holder is out, and such a token, which admits nobody by itself, admits
// nobody. All others stay.
func TestAuthoritiesEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	before := fstest.MapFS{}
	for _, name := range must(fs.Glob(migrations, "migrations/*.sql")) {
		if name < "migrations/0011" {
			before[name] = &fstest.MapFile{Data: must(migrations.ReadFile(name))}
		}
	}
	old := File
	old.Migrations = before
	must(0, database.Create(path))
	db := must(old.Open(path))
	must(db.Write.Exec(`INSERT INTO members (name, role) VALUES ('dev-1', 'party'), ('guest', 'party');
		INSERT INTO certificates (serial, name, expires) VALUES ('1', 'dev-1', 2e12), ('2', 'guest', 2e12);
		INSERT INTO tokens (id, serial, prefix, labels, quota, created, expires, made_by, authority, allowed) VALUES
			('theirs', '3', 'dev-', '{}', 5, 1e12, 2e12, 'op', 'hospital', '["dev-1"]'), ('ours', '4', 'our-', '{}', 5, 1e12, 2e12, 'op', '', '[]');
		INSERT INTO vouched (name, authority, certificate, issuer) VALUES ('dev-1', 'hospital', 'leaf', 'issuer')`))
	must(0, db.Close())
	s := must(Open(path))
	defer s.Close()
	view(t, s, func(tx Tx) {
		if theirs, ours := must(tx.Token("theirs")), must(tx.Token("ours")); !theirs.Revoked ||
			ours.Revoked {
			t.Errorf("tokens %+v and %+v", theirs, ours)
		}
		if dev, guest := must(tx.Certificate("1")), must(tx.Certificate("2")); !dev.Revoked ||
			guest.Revoked {
			t.Errorf("certificates %+v and %+v", dev, guest)
		}
	})
}

// TestCallerGoesAway: if a caller goes away in the middle of a transaction, the error does not
// count as a fault of this machine.
func TestCallerGoesAway(t *testing.T) {
	goesAway(t, must(Create(filepath.Join(t.TempDir(), "store"))))
}

func goesAway(t *testing.T, store Store) {
	defer store.Close()
	for what, goAway := range map[string]func(tx Tx, cancel func()) error{
		"before a statement": func(tx Tx, cancel func()) error {
			cancel()
			_, err := tx.Members(time.Now())
			return err
		},
		"before the commit": func(tx Tx, cancel func()) error {
			cancel()
			time.Sleep(50 * time.Millisecond) // meanwhile the transaction is rolled back
			return nil
		},
		"rolled back meanwhile": func(tx Tx, cancel func()) error {
			cancel()
			for until :=
				time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
				if err := tx.(*sqlTx).tx.Rollback(); err != nil {
					break
				}
			}
			_, err := (&sqlTx{ctx: context.Background(), tx: tx.(*sqlTx).tx}).Members(time.Now())
			return err
		},
		"in a statement": func(tx Tx, cancel func()) error {
			time.AfterFunc(50*time.Millisecond, cancel)
			var n int
			return tx.(*sqlTx).one([]any{&n}, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000) SELECT count(*) FROM c")
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		err := store.View(ctx, func(tx Tx) error { return goAway(tx, cancel) })
		cancel()
		if !errors.Is(err, context.Canceled) || protocol.Reason(err) != "CANCELLED" {
			t.Errorf("%s: %v, want that it was cancelled", what, err)
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
