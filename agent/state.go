package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"caucus/agent/source"
	"caucus/aggregator"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// state is what this machine holds: config, ledger, shard key and dossiers. It
// knows no network.
type state struct {
	config   Config
	journal  *journal.Journal
	ledger   *privacy.Ledger
	audit    *auditLog
	shardKey []byte
	studies  dossiers
	pools    string
	sources  source.Sources
	scratch  string // files of a site's own classifier while it runs
	speed    *speed
	// party is who this agent is; it comes from the certificate. coordinator are the keys
	// that the coordinator signs with.
	party       study.PartyID
	coordinator protocol.Keys
}

// openState opens the state folder. Several processes may have it open: every
// write is whole, and the ledger takes turns.
func openState(c Config, party study.PartyID) (_ *state, err error) {
	s := &state{
		config: c, party: party,
		studies: dossiers{filepath.Join(c.State, "studies")}, pools: filepath.Join(c.State, "pools"), sources: c.Sources(),
		scratch: filepath.Join(c.State, "scratch"), speed: openSpeed(c),
	}
	for _, dir := range []string{c.State, s.studies.dir, s.pools, s.sources.Dir, s.scratch} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open state folder: %w", err)
		}
	}
	if s.shardKey, err = shardKey(filepath.Join(c.State, "shard.key")); err != nil {
		return nil, err
	}
	last, charged, err := s.studies.ledgerEntry()
	if err != nil {
		return nil, fmt.Errorf("open state folder: %w", err)
	}
	if _, err := os.Stat(LedgerFile(c)); charged && err != nil { // an empty one would forget what was spent
		return nil, fmt.Errorf("the ledger is missing, but %s holds contributions that were charged to it: restore the whole state folder from a backup: %w", s.studies.dir, err)
	}
	if s.journal, err = journal.OpenSQLite(LedgerFile(c)); err != nil {
		return nil, err
	}
	s.ledger, err = privacy.Open(s.journal, privacy.Config{Limits: c.Policy.Total, PeriodLimits: c.Policy.Year, LastSequence: last})
	if err == nil {
		s.audit, err = openAudit(c, party)
	}
	if err != nil {
		s.journal.Close()
		return nil, err
	}
	return s, nil
}

// LedgerFile is where an agent's ledger lies.
func LedgerFile(c Config) string { return filepath.Join(c.State, "ledger.db") }

// tidyScratch removes what a classifier was given when the process was killed.
func (s *state) tidyScratch() error {
	if err := os.RemoveAll(s.scratch); err != nil {
		return err
	}
	return os.MkdirAll(s.scratch, 0o700)
}

func (s *state) close() {
	s.audit.close()
	s.journal.Close()
}

// noteLedger keeps beside an upload how far the ledger is, so that an older
// ledger that is put back charges nothing (privacy.ErrBehind).
func (s *state) noteLedger(ctx context.Context, d dossier) error {
	head, err := privacy.HeadOf(ctx, s.journal)
	if err != nil {
		return err
	}
	return d.write(fileLedger, fmt.Appendln(nil, head))
}

// shardKey reads the secret from which follows where records go, to a shard or
// into a cut (study.Inputs), or makes it.
func shardKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) == sha256.Size {
		return key, nil
	}
	if err == nil {
		return nil, fmt.Errorf("read shard key %s: it has %d bytes, want %d: restore it from a backup", path, len(key), sha256.Size)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read shard key: %w", err)
	}
	key = make([]byte, sha256.Size)
	rand.Read(key)
	return key, protocol.WriteSecret(path, key)
}

// pool reads a pool that was fetched. A plan's map comes from outside: it is
// checked before it is applied.
func (s *state) pool(p study.Plan) (*auxdata.Pool, error) {
	if err := checkMap(p); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(s.poolFile(p.Pool))
	if err != nil {
		return nil, err
	}
	t, err := auxdata.ReadCSV(b, p.Pool)
	if err != nil {
		return nil, err
	}
	pool, _, err := auxdata.New(p.Schema, p.Map, t)
	return pool, err
}

// task is a plan's on its pool, which was fetched.
func (s *state) task(p study.Plan) (study.Task, error) {
	pool, err := s.pool(p)
	if err != nil {
		return nil, err
	}
	return kinds.NewTask(p, pool)
}

func checkMap(p study.Plan) error {
	if err := p.Map.Validate(); err != nil {
		return fmt.Errorf("%w: %w", study.ErrPlan, err)
	}
	if p.Map.Columns() != p.Schema.Dim() {
		return fmt.Errorf("%w: map: it takes %d columns, the schema encodes to %d", study.ErrPlan, p.Map.Columns(), p.Schema.Dim())
	}
	return nil
}

// hasPool says whether a pool is here, whole.
func (s *state) hasPool(d auxdata.Digest) bool {
	b, err := os.ReadFile(s.poolFile(d))
	return err == nil && sha256.Sum256(b) == d
}

func (s *state) poolFile(d auxdata.Digest) string {
	return filepath.Join(s.pools, "pool-"+d.String()+".csv")
}

// cost is what a study costs and how long it is given, from public numbers.
type cost struct {
	records  int // that the site declared
	reserved []study.Reservation
	charges  []study.Charge
	span     span
}

// costOf says what a study costs this site, or why it is refused. It follows
// from plan, pool, policy, and the declared number of records.
func (s *state) costOf(t study.Task) (c cost, err error) {
	if err := s.config.Policy.poolObjection(t.Pool()); err != nil {
		return cost{}, err
	}
	if err := study.CheckTerms(t); err != nil {
		return cost{}, err
	}
	source, err := s.sources.Of(t.Plan())
	if err != nil {
		return cost{}, err
	}
	c.records = cmp.Or(s.studies.of(t.Hash()).declared(), source.Records)
	if c.reserved, err = t.Reservations(c.records); err != nil {
		return cost{}, err
	}
	if c.charges, err = t.Charges(0); err != nil {
		return cost{}, err
	}
	w, err := t.Work(c.records)
	if err != nil {
		return cost{}, err
	}
	w.Rest += aggregator.Steps(t, c.records)
	w.Rest += study.CellSteps * float64(c.records) * source.Cells()
	draw := 0.0
	for _, r := range c.reserved {
		draw += r.Terms.Steps()
	}
	own, program, err := s.config.learnerTime(t, c.records)
	if err != nil {
		return cost{}, err
	}
	w.Shard += own
	c.span = s.config.spanOf(s.speed.step(), w, draw).with(program)
	if have, most := c.span.whole(), s.config.Policy.maxTime(); have > most || have >= longestSpan {
		return cost{}, fmt.Errorf("preparing it has to be given %v, the policy allows %v", have.Round(time.Second), most)
	}
	return c, nil
}

// draft makes the contribution of this party's records before its noise. It never
// fails: what cannot be made is not ready.
func (s *state) draft(ctx context.Context, w window) draft {
	var l late
	in := s.inputs(s.records(w.study, w.plan, w.records))
	in.Within = l.within(ctx, w.span.shard)
	failed := func(why error) { s.noVotes(w.study, why) }
	in.Voter, in.Scorer = s.voter(failed), s.scorer(failed)
	d, err := s.contribution(w, in)
	if err != nil {
		return draft{late: "all of it"}
	}
	return draft{Contribution: d, late: l.String()}
}

// records are what the study gets of this site. What was odd, or that they are empty, and why,
// is noted in its folder and nowhere else; at its moment log and audit log say it (tell).
func (s *state) records(h study.Hash, p study.Plan, n int) *dataset.Records {
	records, odd, unread := s.sources.Records(p, n, s.shardKey)
	d := s.studies.of(h)
	if len(odd) > 0 {
		_ = d.write(fileOdd, []byte(strings.Join(odd, "; ")+"\n")) // what the disk did not take is not said: only an odd file would have it said
	}
	if unread != nil {
		_ = d.write(fileUnread, []byte(unread.Error()+"\n")) // what the disk did not take changes nothing
	}
	return records
}

// noVotes notes why this site's own program gave no votes or scores, in the study's folder and
// nowhere else: it may hang on a record, and logs may leave the machine (take has the
// proof for what is noted so).
func (s *state) noVotes(h study.Hash, why error) {
	_ = s.studies.of(h).write(fileNoVotes, []byte(why.Error()+"\n")) // what the disk did not take is not said
}

// settle makes the body of what was drafted, or of no records where nothing was
// ready: it releases what the site releases itself, which is charged already.
//
// Repeated after a crash, publications are the same and nothing is charged
// twice; votes may differ if records or luck differ, which is harmless because
// none has left.
func (s *state) settle(ctx context.Context, w window) ([]byte, error) {
	made := w.made.Contribution
	if made.Body == nil {
		var err error
		if made, err = s.contribution(w, s.inputs(source.Empty(w.plan, w.records, s.shardKey))); err != nil {
			return nil, err
		}
	}
	released, err := study.Settle(ctx, s.ledger, w.study, made.Requests)
	if err != nil {
		return nil, err
	}
	body, err := made.Body(released)
	if err != nil {
		return nil, err
	}
	if most := w.task.MaxBody(); len(body) > most {
		return nil, fmt.Errorf("make contribution: it has %d bytes, the plan allows %d", len(body), most)
	}
	return body, nil
}

func (s *state) inputs(records *dataset.Records) study.Inputs {
	return study.Inputs{Records: records, ShardKey: s.shardKey, Rng: freshRng()}
}

// freshRng drives learners, never noise.
func freshRng() *mathrand.Rand {
	var seed [16]byte
	rand.Read(seed[:])
	return mathrand.New(mathrand.NewPCG(binary.BigEndian.Uint64(seed[:8]), binary.BigEndian.Uint64(seed[8:])))
}

// receipt is what the coordinator signed for, as this site keeps it.
type receipt struct {
	Body      string    `json:"body"` // SHA-256 of the upload
	Received  time.Time `json:"received"`
	Signed    []byte    `json:"signed"`
	Signature []byte    `json:"signature"`
	// Amendments is how many this site knew when the receipt came, the last time.
	Amendments int `json:"amendments,omitempty"`
}

func openSpeed(c Config) *speed {
	s := &speed{file: filepath.Join(c.State, "speed.json"), look: stepTime, best: map[string]time.Duration{}}
	if b, err := os.ReadFile(s.file); err != nil || json.Unmarshal(b, &s.best) != nil {
		s.best = map[string]time.Duration{} // it is measured again
	}
	maps.DeleteFunc(s.best, func(_ string, d time.Duration) bool { return d < 1 })
	return s
}

// spending is what the ledger holds, of all time and of this year.
func (s *state) spending(ctx context.Context) ([]spending, error) {
	spent, err := s.ledger.Totals(ctx)
	if err != nil {
		return nil, err
	}
	year, inYear, err := s.ledger.Period(ctx)
	if err != nil {
		return nil, err
	}
	// The next charge begins a year that has not begun.
	if now := yearOf(s.config.now(), 0); now > year {
		if year != "" {
			inYear = privacy.NewTotals()
		}
		year = now
	}
	return []spending{{"", s.config.Policy.Total, spent}, {year, s.config.Policy.Year, inYear}}, nil
}

// takeUp counts a study among this day's, before its ledger is charged; false where the day
// has as many as the policy allows. It is counted once, also after a crash. The days are
// this machine's, and none comes again where its clock is put back.
func (s *state) takeUp(d dossier, h study.Hash) (bool, error) {
	if d.has(fileRecords) { // on another day, and is prepared anew
		return true, nil
	}
	file := filepath.Join(s.config.State, "day.json")
	var t dayTaken
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read how many studies were taken up today, %s: %w: remove it if that stays so", file, err)
	}
	if today := s.config.now().UTC().Format(time.DateOnly); today > t.Day {
		t = dayTaken{Day: today}
	}
	if slices.Contains(t.Studies, h) {
		return true, nil
	}
	if len(t.Studies) >= s.config.Policy.studiesADay() {
		return false, nil
	}
	t.Studies = append(t.Studies, h)
	if b, err = json.Marshal(t); err != nil {
		return false, err
	}
	return true, protocol.WriteSecret(file, append(b, '\n'))
}

// spanOf is a window's span for a study's work and the steps of drawing what it
// releases. Before the draw there is time for the constant contribution that
// takes the place of what was late, so that it leaves at the same moment: it is
// made of as many empty records, which train no classifier.
func (c Config) spanOf(stepTime time.Duration, w study.Work, draw float64) span {
	step, least := float64(stepTime)/stepsCounted*c.Margin, float64(c.LeastWindow)
	s := span{draw: lasting(float64(leastDraw) + step*(draw+w.Rest))}
	if w.Shards > 0 {
		least /= 2 // and the other half for the classifiers
		s.shard = lasting(max(float64(leastShard), least/float64(w.Shards)) + step*w.Shard)
	}
	s.prepare = lasting(least + step*w.Rest + float64(w.Shards)*float64(s.shard))
	return s
}
