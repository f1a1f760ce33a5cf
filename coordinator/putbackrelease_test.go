package coordinator

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// TestReleasePutBack: a study was released after a backup of the whole folder. The restored
// coordinator is given the release and then has it as before, whatever happened to the study since
// and however old the backup is. It makes no second release.
func TestReleasePutBack(t *testing.T) {
	t.Parallel()
	type life struct {
		name string
		// the backup is older than the study
		before bool
		since  func(*world, protocol.Study) // done at the restored coordinator
		// restored, and killed before its reconciliation
		between func(w *world, r protocol.SignedRelease)
		was     study.State
		why     string
	}
	for _, l := range []life{
		{name: "open", was: study.Open},
		{name: "another contributed", was: study.Open, since: func(w *world, s protocol.Study) {
			must(w.parties["p2"].Contribute(context.Background(), s.Hash, ballotFor(2, 4)))
		}},
		{name: "failed", was: study.Failed, since: func(w *world, s protocol.Study) {
			w.clock.add(100 * time.Minute)
			w.wait("trial", study.Failed)
		}},
		{name: "made since", before: true},
		{name: "its name is another's", before: true, why: "another study has its name",
			since: func(w *world, s protocol.Study) {
				pool := poolOf(4)
				w.open(planOf(names(3), pool, w.clock.Now().Add(2*time.Hour)), pool)
			}},
		{name: "killed in between", was: study.Open,
			between: func(w *world, _ protocol.SignedRelease) {
				w.start()
				if !w.server.scheduler.releaser.behind() {
					t.Error("a coordinator whose store names a release that its ledger lacks does not know it")
				}
				w.stop()
			}},
	} {
		t.Run(l.name, func(t *testing.T) {
			ctx := context.Background()
			w := newWorld(t, nil)
			for _, p := range names(3) {
				w.enrol(string(p))
			}
			dir, backup := w.config.Dir, filepath.Join(t.TempDir(), "backup")
			copied := func() {
				w.stop()
				must(0, os.CopyFS(backup, os.DirFS(dir)))
				w.start()
			}
			if l.before {
				copied()
			}
			pool := poolOf(4)
			s := w.open(planOf(names(3), pool, w.clock.Now().Add(time.Hour)), pool)
			receipt := must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
			if !l.before {
				copied()
			}
			must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 4)))
			must(w.operator.AmendStudy(ctx, "trial",
				admin.AmendOptions{Deadline: w.clock.Now().Add(3 * time.Hour)}))
			must(w.operator.CloseStudy(ctx, "trial"))
			w.wait("trial", study.Released)
			r := must(w.operator.Release(ctx, "trial"))
			w.stop()

			must(0, os.RemoveAll(dir))
			copyFolder(dir, backup)
			if l.since != nil {
				w.start()
				l.since(w, s)
				w.stop()
			}

			forged := r
			forged.Signature = must(protocol.NewSigner()).Sign(protocol.ReleaseDocument, r.Document)
			if _, err := folder.RestoreReleases(ctx, dir, []protocol.SignedRelease{r, forged},
				w.clock.Now()); err == nil {
				t.Fatal("a release that another signed is put back")
			}
			got := must(folder.RestoreReleases(ctx, dir, []protocol.SignedRelease{r},
				w.clock.Now()))
			if len(got) != 1 || got[0].Study != s.Hash || got[0].Name != "trial" ||
				got[0].StateBefore != l.was || !strings.Contains(got[0].Why, l.why) ||
				l.why == "" &&
					got[0].Why != "" {
				t.Fatalf("put back: %+v", got)
			}
			if l.between != nil {
				l.between(w, r)
			}
			if charged := must(folder.Reconcile(ctx, dir, r.Release.Ledger,
				nil)); len(charged) != 1 {
				t.Errorf("charged again: %v", charged)
			}
			w.start()
			if charges :=
				must(w.server.scheduler.releaser.ledger.Totals(ctx))[privacy.Party].Charges; charges != 1 {
				t.Errorf("%d charges, want 1", charges)
			}
			if l.why != "" {
				return
			}
			now := must(w.operator.Study(ctx, "trial"))
			if now.State != study.Released || now.Reason != study.SealedByOperator ||
				now.Contributed != 2 || len(now.Amendments) != 1 ||
				!slices.Equal(now.ContributedBy, []string{"p0", "p1"}) ||
				!slices.Equal(now.Missing, []string{"p2"}) {
				t.Errorf("it is %+v, of %v without %v", now.Summary, now.ContributedBy, now.Missing)
			}
			if again := must(w.operator.Release(ctx, "trial")); !bytes.Equal(again.Document,
				r.Document) || !bytes.Equal(again.Signature, r.Signature) {
				t.Error("the release is another")
			}
			if p1 := must(w.parties["p1"].Studies(ctx)).Studies[0]; !p1.CallerContributed ||
				p1.State != study.Released {
				t.Errorf("p1 is told %+v", p1)
			}
			switch same, err := w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)); {
			case !l.before && (err != nil || !bytes.Equal(same.Document, receipt.Document)):
				t.Errorf("p0 asks for its receipt: %v", err)
			case l.before && !errors.Is(err, study.ErrNotOpen):
				t.Errorf("p0 asks for a receipt that is lost: %v", err)
			}
			w.stop()
			store := must(records.Open(filepath.Join(dir, folder.StoreFile)))
			defer store.Close()
			must(0, store.View(ctx, func(tx records.Tx) error {
				for _, p := range names(3) {
					if _, err := tx.Body(s.Hash, p); !errors.Is(err, records.ErrNoRow) {
						t.Errorf("the ballot of %s is left: %v", p, err)
					}
				}
				return nil
			}))

			// Of two releases, the stored one stays, and the error says so.
			other := r
			other.Document = bytes.Replace(r.Document, []byte(`"parties":2`), []byte(`"parties":3`), 1)
			if bytes.Equal(other.Document, r.Document) {
				t.Fatal("nothing was changed")
			}
			ring := must(folder.LoadKeyring(w.config))
			other.Signature = ring.Signer.Sign(protocol.ReleaseDocument, other.Document)
			if got := must(folder.RestoreReleases(ctx, dir, []protocol.SignedRelease{r, other},
				w.clock.Now())); got[0].Why != "" ||
				!strings.Contains(got[1].Why, "another release of it") {
				t.Errorf("another release: %+v", got)
			}
		})
	}
}
