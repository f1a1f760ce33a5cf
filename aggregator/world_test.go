package aggregator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// taskOf is a party-level tally of this number of parties and classes: party i votes for class 1 on
// row i alone, so a cell above 1 in the sum is a double count.
func taskOf(parties, classes int) study.Task {
	text := "label: {column: y, classes: [" + strings.Join(strings.Split("abcdefg"[:classes], ""), ", ") + "]}\nfeatures:\n  - {column: x, kind: numeric, min: 0, max: 1}\n"
	schema := must(dataset.ParseSchema(strings.NewReader(text)))
	p := study.Plan{
		Name: "trial", Kind: "classify", Schema: schema, Map: dataset.Identity(schema),
		Unit: privacy.Party, Epsilon: 8, Delta: 1e-6, Mechanism: "tally", Noise: study.NoiseAggregators, KindTerms: []byte(`{"shards":1}`), Minimum: 2, Lambda: 1,
		Simulated: true, // allows plans that daemons refuse
	}
	for i := range parties {
		p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("p%d", i)))
	}
	rows := mat.NewDense(2*parties, schema.Dim(), nil)
	for i := range 2 * parties {
		rows.Set(i, 0, float64(i)/float64(2*parties))
	}
	pool := auxdata.NewSimulated(rows, p.Map)
	p.Pool = pool.Digest
	if err := kinds.Check(p); err != nil {
		panic(err)
	}
	return must(results.NewTask(p, pool))
}

// Receive stores the upload of one party.
func (s *Server) Receive(ctx context.Context, plan study.Hash, party study.PartyID,
	data []byte) error {
	return s.ReceiveAll(ctx, plan, []Upload{{party, data}})
}

// votes returns a party's votes, on its own row or on its other row.
func votes(t study.Task, party int, other bool) []int64 {
	classes, rows := len(t.Plan().Schema.Classes()), t.Pool().Rows()
	row := party
	if other {
		row += rows / 2
	}
	if classes == 2 {
		v := make([]int64, rows)
		v[row] = 1
		return v
	}
	v := make([]int64, rows*classes)
	for i := range rows {
		class := 0
		if i == row {
			class = 1
		}
		v[i*classes+class] = 1
	}
	return v
}

// uploadOf makes a party's upload from a vector, as uploading.Contribute makes it from records.
func uploadOf(t study.Task, party study.PartyID, vector []int64, weight int64,
	under uploading.Agreement) []byte {
	of, _ := bodies.Of(t)
	form := must(uploading.FormOf(of, weight))
	parts := must(form.Split(shares.NewProofContext(t.Hash(), string(party)), vector, rand.Reader))
	u := uploading.Upload{Weight: weight, CoordinatorPart: parts[0], Acceptance: under.Acceptance}
	u.HelperPart = must(protocol.SealShare(under.Sealing,
		u.PrepareRequest(party, nil).Binding(t.Hash(), under.Acceptance), parts[1]))
	return u.Bytes()
}

// under returns the running helper's agreement, under which a party seals its share.
func (w *world) under(t study.Task) uploading.Agreement {
	r, err := recordOf(w.servers[shares.Helper], t.Hash())
	if err != nil && !errors.Is(err, errNone) {
		w.t.Fatal(err)
	}
	return uploading.Agreement{Sealing: w.sealing.Public(), Acceptance: r.Own.Digest()}
}

// killed is the panic that ends a server's process.
type killed struct{ role shares.Role }

var errCut = errors.New("the other server is gone")

type world struct {
	t       testing.TB
	tasks   map[study.Hash]study.Task
	dirs    [2]string
	signers [2]*protocol.Signer
	sealing *server.SealingKey
	servers [2]*Server
	ledgers [2]*journal.Journal
	// point, if not nil, is called at each effect; it may panic with killed.
	point func(role shares.Role, effect string)
	said  said
}

// said holds all answers of each server, by subject.
type said struct{ all [2]map[string]string }

// note compares an answer with the server's earlier answer about the same subject.
func (s *said) note(t testing.TB, r shares.Role, what string, is any) {
	if s.all[r] == nil {
		s.all[r] = map[string]string{}
	}
	now := fmt.Sprintf("%x", is)
	if old, ok := s.all[r][what]; ok && old != now {
		t.Errorf("the %v said two things of %s", r, what)
	}
	s.all[r][what] = now
}

func newWorld(t testing.TB, tasks ...study.Task) *world {
	w := &world{t: t, tasks: map[study.Hash]study.Task{}, sealing: must(server.NewSealingKey())}
	for _, task := range tasks {
		w.tasks[task.Hash()] = task
	}
	for r := range w.dirs {
		w.dirs[r], w.signers[r] = t.TempDir(), must(protocol.NewSigner())
	}
	for r := range w.dirs {
		must(0, Create(w.path(r, "shares.db")))
		var public []byte
		if r == 1 {
			public = w.sealing.Public()
		}
		must(0, WriteNewHead(w.head(r), public))
		must(0, w.start(shares.Role(r)))
	}
	t.Cleanup(func() {
		for r := range w.servers {
			w.stop(shares.Role(r))
		}
	})
	return w
}

func (w *world) path(r int, name string) string { return filepath.Join(w.dirs[r], name) }
func (w *world) head(r int) string              { return w.dirs[r] + ".head" }

func (w *world) config(r shares.Role) Config {
	c := Config{
		Role: r, Store: w.path(int(r), "shares.db"), Head: w.head(int(r)), Signer: w.signers[r], OtherKey: w.signers[1-r].Key(), Journal: w.ledgers[r],
		Task: func(_ context.Context, h study.Hash) (study.Task, error) {
			if t := w.tasks[h]; t != nil {
				return t, nil
			}
			return nil, errors.New("no such plan")
		},
		Checkpoint: func(effect string) {
			if w.point != nil {
				w.point(r, effect)
			}
		},
	}
	if r == shares.Helper {
		c.Sealing, c.CheckPolicy = w.sealing, func(study.Task) error { return nil }
	}
	return c
}

func (w *world) start(r shares.Role) (err error) {
	if w.servers[r] != nil {
		return nil
	}
	if w.ledgers[r], err = journal.OpenSQLite(w.path(int(r), "ledger.db")); err != nil {
		return err
	}
	w.servers[r], err = Open(context.Background(), w.config(r))
	if err != nil {
		w.ledgers[r].Close()
	}
	return err
}

func (w *world) stop(r shares.Role) {
	if s := w.servers[r]; s != nil {
		must(0, s.Close())
		must(0, w.ledgers[r].Close())
		w.servers[r] = nil
	}
}

// run runs fn on the coordinator; if its process dies meanwhile, the result is errCut.
func (w *world) run(fn func(c *Server) error) error {
	return w.alive(shares.Coordinator, func(s *Server) error { return fn(s) })
}

func (w *world) alive(r shares.Role, fn func(*Server) error) (err error) {
	if w.servers[r] == nil {
		return errCut
	}
	defer func() {
		if k, ok := recover().(killed); ok {
			if k.role != r {
				panic(k)
			}
			w.stop(r)
			err = errCut
		}
	}()
	return fn(w.servers[r])
}

// link is the connection from coordinator to helper; it notes all answers.
type link struct{ w *world }

func (l link) call(fn func(h *Server) error) error { return l.w.alive(shares.Helper, fn) }

func (l link) Accept(ctx context.Context, plan study.Hash, a Signed) (out Signed, err error) {
	l.w.said.note(l.w.t, 0, fmt.Sprint("acceptance ", plan), a.Document)
	err = l.call(func(h *Server) error { out, err = h.Accept(ctx, plan, a); return err })
	if err == nil {
		l.w.said.note(l.w.t, 1, fmt.Sprint("acceptance ", plan), out.Document)
	}
	return out, err
}

func (l link) Reveal(ctx context.Context, plan study.Hash, half [32]byte, s Signed) (out [32]byte,
	err error) {
	l.w.said.note(l.w.t, 0, fmt.Sprint("half ", plan), half)
	err = l.call(func(h *Server) error { out, err = h.Reveal(ctx, plan, half, s); return err })
	if err == nil {
		l.w.said.note(l.w.t, 1, fmt.Sprint("half ", plan), out)
	}
	return out, err
}

func (l link) Prepare(ctx context.Context, plan study.Hash,
	offers []uploading.PrepareRequest) (out []PrepareReply, err error) {
	for _, o := range offers {
		l.w.said.note(l.w.t, 0, fmt.Sprint("message ", plan, o.Party), o.Message)
	}
	err = l.call(func(h *Server) error { out, err = h.Prepare(ctx, plan, offers); return err })
	if err == nil {
		for _, a := range out {
			l.w.said.note(l.w.t, 1, fmt.Sprint("message ", plan, a.Party), a)
		}
	}
	return out, err
}

func (l link) Seal(ctx context.Context, plan study.Hash, set Signed) (out []byte, err error) {
	l.w.said.note(l.w.t, 0, fmt.Sprint("set ", plan), set.Document)
	err = l.call(func(h *Server) error { out, err = h.Seal(ctx, plan, set); return err })
	if err == nil {
		l.w.said.note(l.w.t, 1, fmt.Sprint("set ", plan), out)
	}
	return out, err
}

func (l link) Share(ctx context.Context, plan study.Hash) (out Signed, err error) {
	err = l.call(func(h *Server) error { out, err = h.Share(ctx, plan); return err })
	if err == nil {
		l.w.said.note(l.w.t, 1, fmt.Sprint("share ", plan), out.Document)
	}
	return out, err
}

func (l link) Recall(ctx context.Context, share Signed) error {
	return l.call(func(h *Server) error { return h.Recall(ctx, share) })
}

func (l link) End(ctx context.Context, plan study.Hash) error {
	return l.call(func(h *Server) error { return h.End(ctx, plan) })
}

func (w *world) heldBy(r shares.Role, h study.Hash) (row sumRow) {
	w.t.Helper()
	must(0, w.servers[r].view(context.Background(), h, func(t *transaction) (err error) {
		row, err = t.sum()
		return err
	}))
	return row
}

func (w *world) sum(h study.Hash) []int64 {
	w.t.Helper()
	of, _ := bodies.Of(w.tasks[h])
	var residues [2][][2]uint64
	for r := range residues {
		share := must(shares.VectorForm{Cells: of.Statistic.Cells()}.ParseShare(
			w.heldBy(shares.Role(r),
				h).sum))
		residues[r] = append(residues[r], must(share.Residues())...)
	}
	return must(shares.Combine(residues[0], residues[1]))
}

func (w *world) charges(r shares.Role) int64 {
	return must(privacy.JournalHead(context.Background(), w.ledgers[r])).Sequence
}

// copyOf copies a server's files, and back restores them; not the head file.
func (w *world) copyOf(r shares.Role) map[string][]byte {
	running := w.servers[r] != nil
	w.stop(r)
	files := map[string][]byte{}
	for _, e := range must(os.ReadDir(w.dirs[r])) {
		files[e.Name()] = must(os.ReadFile(w.path(int(r), e.Name())))
	}
	if running {
		must(0, w.start(r))
	}
	return files
}

func (w *world) back(r shares.Role, files map[string][]byte, names ...string) {
	w.stop(r)
	for _, e := range must(os.ReadDir(w.dirs[r])) {
		if slices.Contains(names, strings.SplitN(e.Name(), "-", 2)[0]) {
			must(0, os.Remove(w.path(int(r), e.Name())))
		}
	}
	for name, data := range files {
		if slices.Contains(names, strings.SplitN(name, "-", 2)[0]) {
			must(0, os.WriteFile(w.path(int(r), name), data, 0o600))
		}
	}
}

func drawn(n int) *mathrand.Rand { return mathrand.New(mathrand.NewPCG(uint64(n), 7)) }

func bodiesOf(t study.Task) (bodies.Task, error) {
	of, ok := bodies.Of(t)
	if !ok {
		return of, errors.New("it has no statistic")
	}
	return of, nil
}

// rewritten changes a document's fields and signs it again.
func rewritten(by *protocol.Signer, kind protocol.DocumentKind, s Signed,
	change func(map[string]any)) Signed {
	m := map[string]any{}
	must(0, json.Unmarshal(s.Document, &m))
	change(m)
	b := must(json.Marshal(m))
	return Signed{Document: b, Signature: by.Sign(kind, b)}
}

func bytesOf(s shares.SecretShare, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return s.MarshalBinary()
}

func taskWith(t study.Task, noise study.Noise) study.Task {
	p := t.Plan()
	p.Noise = noise
	return must(results.NewTask(p, t.Pool()))
}

var roles = [2]shares.Role{shares.Coordinator, shares.Helper}

var newTask = results.NewTask
