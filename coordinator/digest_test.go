package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"caucus/coordinator/records"
	"caucus/dataset"
	"caucus/internal/testserver"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/describe"
)

// guessed is a study with noise at the coordinator, and the body of one site. A thief knows all of
// the site's records except for one label.
type guessed struct {
	plan study.Plan
	hash study.Hash
	body func(site int, label string) []byte
}

func guessedStudy(w *world, mechanism string, form int, end study.State) guessed {
	pool := poolOf(30)
	p := planOf(names(3), pool, w.clock.Now().Add(time.Hour))
	p.Form, p.Unit, p.Records, p.Epsilon, p.Mechanism = form, privacy.Record, 20, 0.5, mechanism
	p.Name = fmt.Sprintf("%s-%d-%s", mechanism, form, end)
	if mechanism == "laplace" {
		p.Kind, p.Delta, p.Where = "describe", 0, "y == yes"
		must(0, p.SetTerms(describe.Terms{Count: true}))
	}
	p = withTerms(p, pool)
	s := w.openEarlier(p, pool)
	task := must(newStudyChecker(p, pool)).task
	return guessed{p, s.Hash, func(site int, label string) []byte {
		text := "a,b,y\n"
		for r := range 60 {
			y := []string{"no", "yes"}[(r*r+site)%2]
			if r == 7 {
				y = label
			}
			text += fmt.Sprintf("%d.%d,0.%d,%s\n", r%10, r%7, 1+(r*37)%97, y)
		}
		encoded, _, err := p.Encode(p.Schema,
			must(dataset.ReadCSV(strings.NewReader(text), dataset.Format{})))
		must(0, err)
		c := must(task.Contribute(study.NewInputs(encoded, []byte{1, byte(site)})))
		return must(c.Body(nil))
	}}
}

// openEarlier opens a study. A plan of an earlier version is written to the store directly, because
// nobody may create it now.
func (w *world) openEarlier(p study.Plan, pool []byte) protocol.Study {
	if p.Form == study.FormCommitted {
		return w.open(p, pool)
	}
	canonical := must(p.Canonical())
	must(0, w.operator.UploadPool(context.Background(), p.Pool, pool))
	_, err := w.operator.CreateStudy(context.Background(), canonical, nil)
	if err == nil || !strings.Contains(err.Error(), "without a commitment") {
		w.t.Errorf("a new plan of an earlier version: %v", err)
	}
	must(0, w.server.store.Update(context.Background(), func(tx records.Tx) error {
		return tx.AddStudy(records.Study{
			Hash: study.HashOf(canonical), Name: p.Name, Plan: canonical, State: study.Draft,
			Signature: w.server.signer.Sign(protocol.PlanDocument, canonical), Created: w.clock.Now(),
		})
	}))
	w.stop()
	w.start()
	return must(w.opens(p.Name))
}

// holding lists the places that contain the text or one of three spellings of its SHA-256: the log,
// and files of a folder.
func (w *world) holding(text []byte) (in []string) {
	digest := sha256.Sum256(text)
	needles := [][]byte{text, digest[:], []byte(hex.EncodeToString(digest[:])),
		[]byte(base64.StdEncoding.EncodeToString(digest[:]))}
	look := func(name string, content []byte) {
		for _, n := range needles {
			if bytes.Contains(content, n) {
				in = append(in, name)
				return
			}
		}
	}
	must(0, filepath.WalkDir(w.config.Dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			look(e.Name(), must(os.ReadFile(path)))
		}
		return err
	}))
	look("log", []byte(w.log.String()))
	return in
}

// TestNoDigestConfirmsAGuess: after a study with noise at the coordinator is over, neither the
// coordinator's disk nor its log can confirm a guess of a site's exact numbers. For plans of
// earlier versions, digests and receipts are blanked, and their failed studies cannot be reopened.
func TestNoDigestConfirmsAGuess(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	for _, p := range names(3) {
		w.enrol(string(p))
	}
	for _, mechanism := range []string{"laplace", "cross"} {
		for _, form := range []int{0, study.FormCommitted} {
			for _, end := range []study.State{study.Released, study.Failed} {
				g := guessedStudy(w, mechanism, form, end)
				numbers := func(i int, label string) []byte {
					b := g.body(i, label)
					if form == study.FormCommitted {
						return b[sha256.Size:]
					}
					return b
				}
				for i, p := range names(3) {
					if end == study.Failed && i == 2 {
						break
					}
					must(w.parties[string(p)].Contribute(ctx, g.hash, g.body(i, "yes")))
				}
				if end == study.Failed {
					if len(w.holding(numbers(0, "yes"))) == 0 {
						t.Fatal("an open study's numbers are found nowhere: the test finds nothing")
					}
					must(w.operator.CancelStudy(ctx, g.hash.String(), "the protocol was amended"))
				}
				w.wait(g.plan.Name, end)
				for i := range 3 {
					for _, label := range []string{"yes", "no"} {
						var in []string
						for until :=
							time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
							if in = w.holding(numbers(i, label)); len(in) == 0 {
								break // scrubbing comes after the last state
							}
						}
						if len(in) > 0 {
							t.Errorf("%s: %v confirm site %d's numbers with label %q", g.plan.Name,
								in, i, label)
						}
					}
				}
				if kept := len(w.holding(g.body(0,
					"yes"))) > 0; kept != (form == study.FormCommitted) {
					t.Errorf("%s: the digest that was signed is kept: %t", g.plan.Name, kept)
				}
				if form == 0 {
					view := "SELECT count(*) FROM contributions WHERE study = $1 AND length(receipt) + length(signature) > 0"
					left := -1
					must(0, w.server.store.(*records.SQL).DB.Read.QueryRow(view,
						g.hash[:]).Scan(&left))
					if left != 0 {
						t.Errorf("%s: %d receipts or signatures are left", g.plan.Name, left)
					}
				}
				// a party whose receipt was lost on the way asks again
				if end == study.Released {
					_, err := w.parties["p0"].Contribute(ctx, g.hash, g.body(0, "yes"))
					if form == 0 && !errors.Is(err, study.ErrNotOpen) || form != 0 && err != nil {
						t.Errorf("%s: the same bytes after the release: %v", g.plan.Name, err)
					}
					continue
				}
				_, err := w.operator.AmendStudy(ctx, g.hash.String(),
					admin.AmendOptions{Deadline: g.plan.Deadline.Add(time.Hour)})
				if form == 0 && (err == nil || !strings.Contains(err.Error(), "make a new plan")) ||
					form != 0 && err != nil {
					t.Errorf("%s is reopened: %v", g.plan.Name, err)
				}
			}
		}
	}
}

// TestCourierWithoutReceipt: a site's answer was carried, its study was released, and its receipt
// deleted. A pack for this site says that the study is released, and claims no receipt.
func TestCourierWithoutReceipt(t *testing.T) {
	ctx := context.Background()
	for _, form := range []int{0, study.FormCommitted} {
		w := newWorld(t, nil)
		w.enrol("p0")
		w.enrol("p1")
		carried := w.certify("p2")
		g := guessedStudy(w, "laplace", form, study.Released)
		pack, _, err := w.operator.PackStudy(ctx, g.plan.Name, nil)
		must(0, err)
		must(w.operator.AcceptAnswer(ctx, carried.answer(t, pack, g.body(2, "yes"))))
		for i, p := range names(2) {
			must(w.parties[string(p)].Contribute(ctx, g.hash, g.body(i, "yes")))
		}
		w.wait(g.plan.Name, study.Released)
		pack, _, err = w.operator.PackStudy(ctx, g.plan.Name, nil)
		must(0, err)
		c := must(carried.open(pack))
		l := must(c.Studies(ctx))
		if len(l.Studies) != 1 || l.Studies[0].State != study.Released ||
			!l.Studies[0].CallerContributed {
			t.Errorf("form %d: the pack tells %+v", form, l.Studies)
		}
		if _, err := c.Release(ctx, g.hash.String()); err != nil {
			t.Errorf("form %d: the release: %v", form, err)
		}
		_, err = c.Contribute(ctx, g.hash, g.body(2, "yes"))
		if form != 0 && err != nil || form == 0 &&
			(err == nil || !strings.Contains(err.Error(), "no key to seal")) {
			t.Errorf("form %d: the receipt: %v", form, err)
		}
		w.end()
	}
}

// TestNoDigestConfirmsAGuessPostgres: while a study is open, PostgreSQL's tables confirm no guess
// either, to a reader who lacks the key of ballots.
func TestNoDigestConfirmsAGuessPostgres(t *testing.T) {
	ctx := context.Background()
	w := newWorldIn(t, testserver.Database, nil)
	for _, p := range names(3) {
		w.enrol(string(p))
	}
	g := guessedStudy(w, "laplace", study.FormCommitted, study.Open)
	body := g.body(0, "yes")
	must(w.parties["p0"].Contribute(ctx, g.hash, body))
	db := must(pgx.Connect(ctx, w.config.Store))
	defer db.Close(ctx)
	var row string
	must(0, db.QueryRow(ctx, "SELECT contributions::text FROM caucus_store.contributions").Scan(&row))
	digest, numbers := sha256.Sum256(body), sha256.Sum256(body[sha256.Size:])
	for what, held := range map[string][]byte{"digest": digest[:], "numbers' digest": numbers[:],
		"numbers": body[sha256.Size:]} {
		if found := strings.Contains(row, hex.EncodeToString(held)); found != (what == "digest") {
			t.Errorf("the row holds the %s: %t", what, found)
		}
	}
}
